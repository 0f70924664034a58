//! The table itself: a line for each binding, context by context.

use super::{Binding, Command, Context};
use crate::app::Screen;
use crate::app::key::{Code, Key};
use crate::app::text::TextEdit;

const fn bind(
    context: Context,
    keys: &'static [Key],
    command: Command,
    help: &'static str,
    hint: &'static str,
) -> Binding {
    Binding {
        context,
        keys,
        command,
        help,
        hint,
    }
}

const UP: &[Key] = &[Key::new(Code::Up), Key::char('k')];
const DOWN: &[Key] = &[Key::new(Code::Down), Key::char('j')];
const PAGE_UP: &[Key] = &[Key::new(Code::PageUp)];
const PAGE_DOWN: &[Key] = &[Key::new(Code::PageDown)];
const HOME: &[Key] = &[Key::new(Code::Home), Key::char('g')];
const END: &[Key] = &[Key::new(Code::End), Key::char('G')];
const LEFT: &[Key] = &[Key::new(Code::Left)];
const RIGHT: &[Key] = &[Key::new(Code::Right)];
const TAB: &[Key] = &[Key::new(Code::Tab)];
const BACK_TAB: &[Key] = &[Key::new(Code::BackTab)];
const ENTER: &[Key] = &[Key::new(Code::Enter)];
const ESC: &[Key] = &[Key::new(Code::Esc)];

/// Every binding.
#[rustfmt::skip]
pub static KEYS: &[Binding] = &[
    bind(Context::Anywhere, &[Key::char('1')], Command::Show(Screen::Live), "Live: what uses the disks", ""),
    bind(Context::Anywhere, &[Key::char('2')], Command::Show(Screen::Bench), "Bench: measure a drive", ""),
    bind(Context::Anywhere, &[Key::char('3')], Command::Show(Screen::Requests), "Requests: single requests of a device", ""),
    bind(Context::Anywhere, &[Key::char('4')], Command::Show(Screen::Sessions), "Sessions: what was measured before", ""),
    bind(Context::Anywhere, &[Key::char('b')], Command::Launch, "to the launcher of benchmarks", ""),
    bind(Context::Anywhere, &[Key::char('?'), Key::new(Code::Function(1))], Command::Help, "this help", ""),
    bind(Context::Anywhere, &[Key::char('q'), Key::control('c')], Command::Quit, "quit", ""),
    bind(Context::Anywhere, &[Key::control('z')], Command::Suspend, "suspend; fg comes back", ""),
    bind(Context::Anywhere, &[Key::control('l')], Command::Redraw, "draw the screen anew", ""),

    bind(Context::Live, &[Key::char('/')], Command::Filter, "show only processes with this text", "filter"),
    bind(Context::Live, &[Key::char('s'), Key::new(Code::Right)], Command::Next, "sort processes by the next column", "sort"),
    bind(Context::Live, &[Key::char('S'), Key::new(Code::Left)], Command::Previous, "sort processes by the previous column", ""),
    bind(Context::Live, &[Key::char('r')], Command::Reverse, "reverse the order", "reverse"),
    bind(Context::Live, &[Key::char(' ')], Command::Pause, "pause sampling, or go on", "pause"),
    bind(Context::Live, &[Key::char('+'), Key::char('=')], Command::Slower, "longer interval", "longer"),
    bind(Context::Live, &[Key::char('-')], Command::Faster, "shorter interval", "shorter"),
    bind(Context::Live, &[Key::char('i')], Command::Idle, "show or hide idle devices", "idle"),
    bind(Context::Live, &[Key::char('a')], Command::All, "show or hide processes that move nothing", "all"),
    bind(Context::Live, TAB, Command::Switch, "between devices and processes", "devices"),
    bind(Context::Live, ENTER, Command::Accept, "details of what is selected", "details"),
    bind(Context::Live, &[Key::char('f')], Command::Files, "what the selected process has open", "files"),
    bind(Context::Live, &[Key::char('d')], Command::Deleted, "deleted files that still hold space", "deleted"),
    bind(Context::Live, &[Key::char('m')], Command::Memory, "memory, pressure, files that grow", "memory"),
    bind(Context::Live, &[Key::char('t')], Command::Totals, "totals since the beginning, or rates", "totals"),
    bind(Context::Live, &[Key::char('T')], Command::Tree, "processes below their parents", ""),
    bind(Context::Live, &[Key::char('H')], Command::Threads, "show or hide threads", ""),
    bind(Context::Live, &[Key::char('o')], Command::OfDevice, "only processes on the selected device", ""),
    bind(Context::Live, &[Key::char('c')], Command::Class, "another I/O class for the process", ""),
    bind(Context::Live, &[Key::char('x')], Command::Signal, "send the selected process a signal", ""),
    bind(Context::Live, &[Key::char('w')], Command::Accounting, "count I/O wait, or put it back", ""),
    bind(Context::Live, UP, Command::Up, "one line up", ""),
    bind(Context::Live, DOWN, Command::Down, "one line down", ""),
    bind(Context::Live, PAGE_UP, Command::PageUp, "one page up", ""),
    bind(Context::Live, PAGE_DOWN, Command::PageDown, "one page down", ""),
    bind(Context::Live, HOME, Command::First, "to the first line", ""),
    bind(Context::Live, END, Command::Last, "to the last line", ""),
    bind(Context::Live, ESC, Command::Cancel, "back; forget filter and selection", ""),

    bind(Context::Replay, &[Key::new(Code::Right), Key::char('.')], Command::NextView, "to the next view", "next"),
    bind(Context::Replay, &[Key::new(Code::Left), Key::char(',')], Command::PreviousView, "to the previous view", "previous"),
    bind(Context::Replay, &[Key::char(']'), Key::char('>')], Command::FarForward, "60 views forwards", "far"),
    bind(Context::Replay, &[Key::char('['), Key::char('<')], Command::FarBack, "60 views back", "back"),
    bind(Context::Replay, &[Key::char('{')], Command::FirstView, "to the first view", ""),
    bind(Context::Replay, &[Key::char('}')], Command::LastView, "to the last view", ""),
    bind(Context::Replay, &[Key::char('m')], Command::Busiest, "to the busiest view", "busiest"),
    bind(Context::Replay, &[Key::char(' ')], Command::Pause, "play, or stop playing", "play"),
    bind(Context::Replay, &[Key::char('e')], Command::Export, "write this view as JSON here", "export JSON"),

    bind(Context::Filter, ENTER, Command::Accept, "keep the filter", "keep"),
    bind(Context::Filter, ESC, Command::Cancel, "forget the filter", "forget"),

    bind(Context::Launcher, ENTER, Command::Accept, "take it; on a test: start", "take, start"),
    bind(Context::Launcher, &[Key::new(Code::Tab), Key::new(Code::Right)], Command::Next, "to the next list", "next list"),
    bind(Context::Launcher, &[Key::new(Code::BackTab), Key::new(Code::Left)], Command::Previous, "to the previous list", ""),
    bind(Context::Launcher, &[Key::char('s')], Command::Start, "start the benchmark", "start"),
    bind(Context::Launcher, &[Key::char('/')], Command::Search, "search benchmarks and targets, or /path", "search"),
    bind(Context::Launcher, &[Key::char('r')], Command::Reload, "look for drives again", ""),
    bind(Context::Launcher, UP, Command::Up, "one line up", ""),
    bind(Context::Launcher, DOWN, Command::Down, "one line down", ""),
    bind(Context::Launcher, PAGE_UP, Command::PageUp, "one page up", ""),
    bind(Context::Launcher, PAGE_DOWN, Command::PageDown, "one page down", ""),
    bind(Context::Launcher, HOME, Command::First, "to the first line", ""),
    bind(Context::Launcher, END, Command::Last, "to the last line", ""),

    bind(Context::Search, ENTER, Command::Accept, "take what is selected, or the /path", "take"),
    bind(Context::Search, ESC, Command::Cancel, "leave it as it was", "leave"),
    bind(Context::Search, &[Key::new(Code::Down)], Command::Down, "the next match", "next"),
    bind(Context::Search, &[Key::new(Code::Up)], Command::Up, "the previous match", "previous"),
    bind(Context::Search, PAGE_UP, Command::PageUp, "one page up", ""),
    bind(Context::Search, PAGE_DOWN, Command::PageDown, "one page down", ""),
    bind(Context::Search, &[Key::new(Code::Home)], Command::First, "to the first match", ""),
    bind(Context::Search, &[Key::new(Code::End)], Command::Last, "to the last match", ""),

    bind(Context::Form, ENTER, Command::Accept, "change this parameter", "change"),
    bind(Context::Form, RIGHT, Command::NextWord, "the next choice", ""),
    bind(Context::Form, LEFT, Command::PreviousWord, "the previous choice", ""),
    bind(Context::Form, &[Key::char('d'), Key::new(Code::Delete)], Command::Default, "back to the default", "default"),
    bind(Context::Form, TAB, Command::Next, "to the list of targets", "next list"),
    bind(Context::Form, BACK_TAB, Command::Previous, "to the list of tests", ""),
    bind(Context::Form, &[Key::char('/')], Command::Search, "search benchmarks and targets, or /path", "search"),
    bind(Context::Form, &[Key::char('s')], Command::Start, "start the benchmark", "start"),
    bind(Context::Form, UP, Command::Up, "one parameter up", ""),
    bind(Context::Form, DOWN, Command::Down, "one parameter down", ""),
    bind(Context::Form, PAGE_UP, Command::PageUp, "one page up", ""),
    bind(Context::Form, PAGE_DOWN, Command::PageDown, "one page down", ""),
    bind(Context::Form, HOME, Command::First, "to the first parameter", ""),
    bind(Context::Form, END, Command::Last, "to the last parameter", ""),
    bind(Context::Form, ESC, Command::Cancel, "to the list of tests", ""),

    bind(Context::Field, ENTER, Command::Accept, "take what was typed", "take"),
    bind(Context::Field, ESC, Command::Cancel, "leave it as it was", "leave"),
    bind(Context::Field, &[Key::new(Code::Up)], Command::Edit(TextEdit::Start), "to the beginning of the text", ""),
    bind(Context::Field, &[Key::new(Code::Down)], Command::Edit(TextEdit::End), "to the end of the text", ""),

    bind(Context::Consent, ENTER, Command::Accept, "start, if that is the path of the target", "start, once the path is typed"),
    bind(Context::Consent, ESC, Command::Cancel, "leave everything as it is", "leave everything as it is"),

    bind(Context::Text, LEFT, Command::Edit(TextEdit::Left), "one character to the left", "edit"),
    bind(Context::Text, RIGHT, Command::Edit(TextEdit::Right), "one character to the right", ""),
    bind(Context::Text, &[Key::new(Code::Home), Key::control('a')], Command::Edit(TextEdit::Start), "to the beginning of the text", ""),
    bind(Context::Text, &[Key::new(Code::End), Key::control('e')], Command::Edit(TextEdit::End), "to the end of the text", ""),
    bind(Context::Text, &[Key::new(Code::Backspace)], Command::Edit(TextEdit::DeleteBefore), "delete before the cursor", "delete"),
    bind(Context::Text, &[Key::new(Code::Delete)], Command::Edit(TextEdit::DeleteUnder), "delete under the cursor", ""),
    bind(Context::Text, &[Key::control('u')], Command::Edit(TextEdit::DeleteToStart), "delete everything before the cursor", "clear"),

    bind(Context::Running, &[Key::new(Code::Esc), Key::char('x')], Command::Stop, "stop; what was measured is kept", "stop and keep what was measured"),

    bind(Context::Result, &[Key::char('e')], Command::Export, "write the session as JSON here", "export JSON"),
    bind(Context::Result, &[Key::char('h')], Command::Report, "write an HTML report here", "HTML report"),
    bind(Context::Result, &[Key::new(Code::Right), Key::new(Code::Tab)], Command::Next, "the next chart", "chart"),
    bind(Context::Result, &[Key::new(Code::Left), Key::new(Code::BackTab)], Command::Previous, "the previous chart", ""),
    bind(Context::Result, UP, Command::Up, "scroll up", ""),
    bind(Context::Result, DOWN, Command::Down, "scroll down", ""),
    bind(Context::Result, PAGE_UP, Command::PageUp, "one page up", ""),
    bind(Context::Result, PAGE_DOWN, Command::PageDown, "one page down", ""),
    bind(Context::Result, HOME, Command::First, "to the first line", ""),
    bind(Context::Result, END, Command::Last, "to the last line", ""),
    bind(Context::Result, &[Key::new(Code::Esc), Key::new(Code::Enter)], Command::Cancel, "back", "back"),

    bind(Context::Requests, &[Key::new(Code::Right), Key::new(Code::Tab)], Command::Next, "follow the next device", "device"),
    bind(Context::Requests, &[Key::new(Code::Left), Key::new(Code::BackTab)], Command::Previous, "follow the previous device", ""),
    bind(Context::Requests, &[Key::char(' ')], Command::Pause, "hold the screen, or go on", "hold"),
    bind(Context::Requests, &[Key::char('/')], Command::Filter, "list only requests with this text", "filter"),
    bind(Context::Requests, &[Key::char('r')], Command::Reload, "begin anew", "anew"),
    bind(Context::Requests, UP, Command::Up, "one request up", ""),
    bind(Context::Requests, DOWN, Command::Down, "one request down", ""),
    bind(Context::Requests, PAGE_UP, Command::PageUp, "one page up", ""),
    bind(Context::Requests, PAGE_DOWN, Command::PageDown, "one page down", ""),
    bind(Context::Requests, HOME, Command::First, "to the newest request", ""),
    bind(Context::Requests, END, Command::Last, "to the oldest request", ""),
    bind(Context::Requests, ESC, Command::Cancel, "forget the filter", ""),

    bind(Context::Sessions, ENTER, Command::Accept, "open the session", "open"),
    bind(Context::Sessions, &[Key::char(' ')], Command::Mark, "mark for a comparison; the first is A", "mark"),
    bind(Context::Sessions, &[Key::char('c')], Command::Compare, "compare the marked sessions", "compare"),
    bind(Context::Sessions, &[Key::char('h')], Command::Report, "HTML report of the marked or selected", "HTML report"),
    bind(Context::Sessions, UP, Command::Up, "one session up", ""),
    bind(Context::Sessions, DOWN, Command::Down, "one session down", ""),
    bind(Context::Sessions, PAGE_UP, Command::PageUp, "one page up", ""),
    bind(Context::Sessions, PAGE_DOWN, Command::PageDown, "one page down", ""),
    bind(Context::Sessions, HOME, Command::First, "to the first session", ""),
    bind(Context::Sessions, END, Command::Last, "to the last session", ""),
    bind(Context::Sessions, &[Key::char('r')], Command::Reload, "read the list again", "read again"),

    bind(Context::Comparison, &[Key::new(Code::Right), Key::new(Code::Tab)], Command::Next, "the next chart", "chart"),
    bind(Context::Comparison, &[Key::new(Code::Left), Key::new(Code::BackTab)], Command::Previous, "the previous chart", ""),
    bind(Context::Comparison, &[Key::char('n')], Command::NextTest, "the next test", "test"),
    bind(Context::Comparison, &[Key::char('o')], Command::NextSide, "another pair of sessions", "pair"),
    bind(Context::Comparison, &[Key::char('i')], Command::Ignore, "ignore parameters that differ, or not", "ignore"),
    bind(Context::Comparison, &[Key::char('h')], Command::Report, "write an HTML report here", "HTML report"),
    bind(Context::Comparison, UP, Command::Up, "scroll up", ""),
    bind(Context::Comparison, DOWN, Command::Down, "scroll down", ""),
    bind(Context::Comparison, PAGE_UP, Command::PageUp, "one page up", ""),
    bind(Context::Comparison, PAGE_DOWN, Command::PageDown, "one page down", ""),
    bind(Context::Comparison, HOME, Command::First, "to the first line", ""),
    bind(Context::Comparison, END, Command::Last, "to the last line", ""),
    bind(Context::Comparison, &[Key::new(Code::Esc), Key::new(Code::Enter)], Command::Cancel, "back", "back"),

    bind(Context::Help, &[Key::new(Code::Esc), Key::char('?'), Key::char('q'), Key::new(Code::Enter)], Command::Cancel, "close the help", "close"),
    bind(Context::Help, UP, Command::Up, "scroll up", ""),
    bind(Context::Help, DOWN, Command::Down, "scroll down", "scroll"),
    bind(Context::Help, PAGE_UP, Command::PageUp, "one page up", ""),
    bind(Context::Help, PAGE_DOWN, Command::PageDown, "one page down", ""),
    bind(Context::Help, HOME, Command::First, "to the first line", ""),
    bind(Context::Help, END, Command::Last, "to the last line", ""),

    bind(Context::Question, &[Key::char('y'), Key::new(Code::Enter)], Command::Yes, "yes", "yes"),
    bind(Context::Question, &[Key::char('n'), Key::new(Code::Esc)], Command::No, "no", "no"),

    bind(Context::Choice, &[Key::char('1')], Command::Pick(1), "the first", ""),
    bind(Context::Choice, &[Key::char('2')], Command::Pick(2), "the second", ""),
    bind(Context::Choice, &[Key::char('3')], Command::Pick(3), "the third", ""),
    bind(Context::Choice, &[Key::char('4')], Command::Pick(4), "the fourth", ""),
    bind(Context::Choice, &[Key::char('5')], Command::Pick(5), "the fifth", ""),
    bind(Context::Choice, ESC, Command::Cancel, "nothing", "nothing"),
];
