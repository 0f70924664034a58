//! The table: one line per binding, grouped by context.

use crate::app::key::{KeyPress, KeySymbol};
use crate::app::keymap::binding::KeyBinding;
use crate::app::keymap::command::KeyCommand;
use crate::app::keymap::context::KeyContext;
use crate::app::screen::Screen;
use crate::app::text::TextEdit;

const fn binding(
    context: KeyContext,
    keys: &'static [KeyPress],
    command: KeyCommand,
    help: &'static str,
    hint: &'static str,
) -> KeyBinding {
    KeyBinding {
        context,
        keys,
        command,
        help,
        hint,
    }
}

const UP: &[KeyPress] = &[KeyPress::new(KeySymbol::Up), KeyPress::char('k')];
const DOWN: &[KeyPress] = &[KeyPress::new(KeySymbol::Down), KeyPress::char('j')];
const PAGE_UP: &[KeyPress] = &[KeyPress::new(KeySymbol::PageUp)];
const PAGE_DOWN: &[KeyPress] = &[KeyPress::new(KeySymbol::PageDown)];
const HOME: &[KeyPress] = &[KeyPress::new(KeySymbol::Home), KeyPress::char('g')];
const END: &[KeyPress] = &[KeyPress::new(KeySymbol::End), KeyPress::char('G')];
const LEFT: &[KeyPress] = &[KeyPress::new(KeySymbol::Left)];
const RIGHT: &[KeyPress] = &[KeyPress::new(KeySymbol::Right)];
const TAB: &[KeyPress] = &[KeyPress::new(KeySymbol::Tab)];
const BACK_TAB: &[KeyPress] = &[KeyPress::new(KeySymbol::BackTab)];
const ENTER: &[KeyPress] = &[KeyPress::new(KeySymbol::Enter)];
const ESC: &[KeyPress] = &[KeyPress::new(KeySymbol::Esc)];

/// Every binding.
#[rustfmt::skip]
pub static KEY_BINDINGS: &[KeyBinding] = &[
    binding(KeyContext::Global, &[KeyPress::char('1')], KeyCommand::ShowScreen(Screen::Live), "Live: devices and processes", ""),
    binding(KeyContext::Global, &[KeyPress::char('2')], KeyCommand::ShowScreen(Screen::Bench), "Bench: run benchmarks", ""),
    binding(KeyContext::Global, &[KeyPress::char('3')], KeyCommand::ShowScreen(Screen::Requests), "Requests: trace the requests of a device", ""),
    binding(KeyContext::Global, &[KeyPress::char('4')], KeyCommand::ShowScreen(Screen::Sessions), "Sessions: saved results", ""),
    binding(KeyContext::Global, &[KeyPress::char('5')], KeyCommand::ShowScreen(Screen::Why), "Why: who waits, and because of whom", ""),
    binding(KeyContext::Global, &[KeyPress::char('b')], KeyCommand::ShowLauncher, "go to the benchmark launcher", "benchmark"),
    binding(KeyContext::Global, &[KeyPress::char('?'), KeyPress::new(KeySymbol::Function(1))], KeyCommand::ToggleHelp, "show this help", "all keys"),
    binding(KeyContext::Global, &[KeyPress::char('q'), KeyPress::control('c')], KeyCommand::Quit, "quit", ""),
    binding(KeyContext::Global, &[KeyPress::control('z')], KeyCommand::Suspend, "suspend; fg resumes", ""),
    binding(KeyContext::Global, &[KeyPress::control('l')], KeyCommand::Redraw, "redraw the screen", ""),

    binding(KeyContext::Live, &[KeyPress::char('/')], KeyCommand::EditFilter, "filter the focused list by text", "filter"),
    binding(KeyContext::Live, &[KeyPress::char('s'), KeyPress::new(KeySymbol::Right)], KeyCommand::Next, "sort the focused list by the next column", "sort"),
    binding(KeyContext::Live, &[KeyPress::char('S'), KeyPress::new(KeySymbol::Left)], KeyCommand::Previous, "sort it by the previous column", ""),
    binding(KeyContext::Live, &[KeyPress::char('r')], KeyCommand::ReverseSort, "reverse the sort order", ""),
    binding(KeyContext::Live, &[KeyPress::char(' ')], KeyCommand::TogglePause, "pause or resume sampling", ""),
    binding(KeyContext::Live, &[KeyPress::char('+'), KeyPress::char('=')], KeyCommand::LongerInterval, "lengthen the interval", ""),
    binding(KeyContext::Live, &[KeyPress::char('-')], KeyCommand::ShorterInterval, "shorten the interval", ""),
    binding(KeyContext::Live, &[KeyPress::char('i')], KeyCommand::ToggleIdleDevices, "show or hide idle loop devices, layers", ""),
    binding(KeyContext::Live, &[KeyPress::char('a')], KeyCommand::ToggleAllProcesses, "show or hide processes without I/O", ""),
    binding(KeyContext::Live, TAB, KeyCommand::SwitchList, "next list: devices, transfers, processes", "list"),
    binding(KeyContext::Live, ENTER, KeyCommand::Accept, "details of the selection", "details"),
    binding(KeyContext::Live, &[KeyPress::char('f')], KeyCommand::ShowOpenFiles, "open files of the selected process", "files"),
    binding(KeyContext::Live, &[KeyPress::char('d')], KeyCommand::ShowDeletedFiles, "deleted files that still occupy space", ""),
    binding(KeyContext::Live, &[KeyPress::char('m')], KeyCommand::ShowMemory, "memory, pressure, growing files", "memory"),
    binding(KeyContext::Live, &[KeyPress::char('u')], KeyCommand::ShowUnits, "services and containers", "units"),
    binding(KeyContext::Live, &[KeyPress::char('M')], KeyCommand::ShowMounts, "mounted file systems, NFS and FUSE", ""),
    binding(KeyContext::Live, &[KeyPress::char('F')], KeyCommand::ShowHotFiles, "hot files and fsync calls (root)", ""),
    binding(KeyContext::Live, &[KeyPress::char('t')], KeyCommand::ToggleTotals, "totals since the first sample, or rates", ""),
    binding(KeyContext::Live, &[KeyPress::char('T')], KeyCommand::ToggleTree, "process tree, or sort order", ""),
    binding(KeyContext::Live, &[KeyPress::char('H')], KeyCommand::ToggleThreads, "show or hide threads", ""),
    binding(KeyContext::Live, &[KeyPress::char('o')], KeyCommand::FilterByDevice, "only processes on the selected device", ""),
    binding(KeyContext::Live, &[KeyPress::char('c')], KeyCommand::ChooseIoClass, "set the I/O class (not in a recording)", "class"),
    binding(KeyContext::Live, &[KeyPress::char('x')], KeyCommand::ChooseSignal, "send a signal (not in a recording)", "signal"),
    binding(KeyContext::Live, &[KeyPress::char('w')], KeyCommand::ToggleAccounting, "delay accounting (not in a recording)", ""),
    binding(KeyContext::Live, UP, KeyCommand::Up, "one line up", ""),
    binding(KeyContext::Live, DOWN, KeyCommand::Down, "one line down", ""),
    binding(KeyContext::Live, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::Live, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::Live, HOME, KeyCommand::GoToFirst, "to the first line", ""),
    binding(KeyContext::Live, END, KeyCommand::GoToLast, "to the last line", ""),
    binding(KeyContext::Live, ESC, KeyCommand::Cancel, "back; clear filter and selection", ""),

    binding(KeyContext::LivePane, ESC, KeyCommand::Cancel, "back to the lists", "back"),
    binding(KeyContext::LivePane, DOWN, KeyCommand::Down, "scroll down", "scroll"),
    binding(KeyContext::LivePane, UP, KeyCommand::Up, "scroll up", ""),
    binding(KeyContext::LivePane, PAGE_DOWN, KeyCommand::PageDown, "one page down", "page"),
    binding(KeyContext::LivePane, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::LivePane, &[KeyPress::char('f')], KeyCommand::ShowOpenFiles, "open files of the selected process", "files"),
    binding(KeyContext::LivePane, &[KeyPress::char('F')], KeyCommand::ShowHotFiles, "hot files of what is shown (root)", "hot files"),
    binding(KeyContext::LivePane, &[KeyPress::char('c')], KeyCommand::ChooseIoClass, "set the I/O class of the process", "class"),
    binding(KeyContext::LivePane, &[KeyPress::char('x')], KeyCommand::ChooseSignal, "send the process a signal", "signal"),
    binding(KeyContext::LivePane, &[KeyPress::char('o')], KeyCommand::FilterByDevice, "only processes on the selected device", ""),

    binding(KeyContext::Units, ENTER, KeyCommand::Accept, "processes of the unit", "processes"),
    binding(KeyContext::Units, &[KeyPress::char('/')], KeyCommand::EditFilter, "filter units by text", "filter"),
    binding(KeyContext::Units, &[KeyPress::char('s'), KeyPress::new(KeySymbol::Right)], KeyCommand::Next, "sort by the next column", "sort"),
    binding(KeyContext::Units, &[KeyPress::char('S'), KeyPress::new(KeySymbol::Left)], KeyCommand::Previous, "sort by the previous column", ""),
    binding(KeyContext::Units, ESC, KeyCommand::Cancel, "clear the filter; back to the lists", "back"),

    binding(KeyContext::HotFiles, ESC, KeyCommand::Cancel, "end the trace and go back", "back"),
    binding(KeyContext::HotFiles, TAB, KeyCommand::SwitchList, "files, or fsync and similar calls", "list"),
    binding(KeyContext::HotFiles, &[KeyPress::char('r')], KeyCommand::ReloadList, "restart the trace", "restart"),
    binding(KeyContext::HotFiles, UP, KeyCommand::Up, "one line up", ""),
    binding(KeyContext::HotFiles, DOWN, KeyCommand::Down, "one line down", ""),
    binding(KeyContext::HotFiles, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::HotFiles, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::HotFiles, HOME, KeyCommand::GoToFirst, "to the first line", ""),
    binding(KeyContext::HotFiles, END, KeyCommand::GoToLast, "to the last line", ""),

    binding(KeyContext::HotFilesUnavailable, ESC, KeyCommand::Cancel, "back", "back"),
    binding(KeyContext::HotFilesUnavailable, &[KeyPress::char('r')], KeyCommand::ReloadList, "try to trace again", "try again"),

    binding(KeyContext::Replay, &[KeyPress::new(KeySymbol::Right), KeyPress::char('.')], KeyCommand::NextFrame, "next snapshot", "next"),
    binding(KeyContext::Replay, &[KeyPress::new(KeySymbol::Left), KeyPress::char(',')], KeyCommand::PreviousFrame, "previous snapshot", "previous"),
    binding(KeyContext::Replay, &[KeyPress::char(']'), KeyPress::char('>')], KeyCommand::SkipForward, "60 snapshots forward", "+60"),
    binding(KeyContext::Replay, &[KeyPress::char('['), KeyPress::char('<')], KeyCommand::SkipBack, "60 snapshots back", "-60"),
    binding(KeyContext::Replay, &[KeyPress::char('{')], KeyCommand::FirstFrame, "first snapshot", ""),
    binding(KeyContext::Replay, &[KeyPress::char('}')], KeyCommand::LastFrame, "last snapshot", ""),
    binding(KeyContext::Replay, &[KeyPress::char('m')], KeyCommand::BusiestFrame, "snapshot with the highest throughput", "busiest"),
    binding(KeyContext::Replay, &[KeyPress::char(')')], KeyCommand::NextTrigger, "next trigger of the flight recorder", ""),
    binding(KeyContext::Replay, &[KeyPress::char('(')], KeyCommand::PreviousTrigger, "previous trigger of the flight recorder", ""),
    binding(KeyContext::Replay, &[KeyPress::char('F')], KeyCommand::FindFrame, "search I/O of a process or device", "find"),
    binding(KeyContext::Replay, &[KeyPress::char('n')], KeyCommand::FindNext, "next match of the search", ""),
    binding(KeyContext::Replay, &[KeyPress::char('N')], KeyCommand::FindPrevious, "previous match of the search", ""),
    binding(KeyContext::Replay, &[KeyPress::char('@')], KeyCommand::GoToTime, "go to a time, HH:MM:SS", "time"),
    binding(KeyContext::Replay, &[KeyPress::char(' ')], KeyCommand::TogglePause, "play or pause", "play"),
    binding(KeyContext::Replay, &[KeyPress::char('e')], KeyCommand::ExportSession, "export this snapshot as a JSON file", "export JSON"),

    binding(KeyContext::ReplayField, ENTER, KeyCommand::Accept, "go to the time or the first match", "go"),
    binding(KeyContext::ReplayField, ESC, KeyCommand::Cancel, "cancel", "cancel"),

    binding(KeyContext::Filter, ENTER, KeyCommand::Accept, "apply the filter", "apply"),
    binding(KeyContext::Filter, ESC, KeyCommand::Cancel, "clear the filter", "clear"),

    binding(KeyContext::Launcher, ENTER, KeyCommand::Accept, "select; on a BENCHMARK: start it", "select, start"),
    binding(KeyContext::Launcher, &[KeyPress::new(KeySymbol::Tab), KeyPress::new(KeySymbol::Right)], KeyCommand::Next, "next list", "next list"),
    binding(KeyContext::Launcher, &[KeyPress::new(KeySymbol::BackTab), KeyPress::new(KeySymbol::Left)], KeyCommand::Previous, "previous list", ""),
    binding(KeyContext::Launcher, &[KeyPress::char('s')], KeyCommand::Start, "start the benchmark", "start"),
    binding(KeyContext::Launcher, &[KeyPress::char('/')], KeyCommand::Search, "search both lists, or type /path", "search"),
    binding(KeyContext::Launcher, &[KeyPress::char('r')], KeyCommand::ReloadList, "reload the list of targets", ""),
    binding(KeyContext::Launcher, UP, KeyCommand::Up, "one line up", ""),
    binding(KeyContext::Launcher, DOWN, KeyCommand::Down, "one line down", ""),
    binding(KeyContext::Launcher, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::Launcher, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::Launcher, HOME, KeyCommand::GoToFirst, "to the first line", ""),
    binding(KeyContext::Launcher, END, KeyCommand::GoToLast, "to the last line", ""),

    binding(KeyContext::Search, ENTER, KeyCommand::Accept, "select the match, or use the /path", "select"),
    binding(KeyContext::Search, ESC, KeyCommand::Cancel, "cancel the search", "cancel"),
    binding(KeyContext::Search, &[KeyPress::new(KeySymbol::Down)], KeyCommand::Down, "next match", "next"),
    binding(KeyContext::Search, &[KeyPress::new(KeySymbol::Up)], KeyCommand::Up, "previous match", "previous"),
    binding(KeyContext::Search, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::Search, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::Search, &[KeyPress::new(KeySymbol::Home)], KeyCommand::GoToFirst, "to the first match", ""),
    binding(KeyContext::Search, &[KeyPress::new(KeySymbol::End)], KeyCommand::GoToLast, "to the last match", ""),

    binding(KeyContext::Form, ENTER, KeyCommand::Accept, "edit the value", "edit"),
    binding(KeyContext::Form, RIGHT, KeyCommand::NextChoice, "next choice", ""),
    binding(KeyContext::Form, LEFT, KeyCommand::PreviousChoice, "previous choice", ""),
    binding(KeyContext::Form, &[KeyPress::char('d'), KeyPress::new(KeySymbol::Delete)], KeyCommand::ResetToDefault, "reset to the default", "default"),
    binding(KeyContext::Form, TAB, KeyCommand::Next, "go to TARGET", "next list"),
    binding(KeyContext::Form, BACK_TAB, KeyCommand::Previous, "go to BENCHMARK", ""),
    binding(KeyContext::Form, &[KeyPress::char('/')], KeyCommand::Search, "search both lists, or type /path", "search"),
    binding(KeyContext::Form, &[KeyPress::char('s')], KeyCommand::Start, "start the benchmark", "start"),
    binding(KeyContext::Form, UP, KeyCommand::Up, "one parameter up", ""),
    binding(KeyContext::Form, DOWN, KeyCommand::Down, "one parameter down", ""),
    binding(KeyContext::Form, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::Form, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::Form, HOME, KeyCommand::GoToFirst, "to the first parameter", ""),
    binding(KeyContext::Form, END, KeyCommand::GoToLast, "to the last parameter", ""),
    binding(KeyContext::Form, ESC, KeyCommand::Cancel, "go to BENCHMARK", "back"),

    binding(KeyContext::Field, ENTER, KeyCommand::Accept, "accept the typed value", "accept"),
    binding(KeyContext::Field, ESC, KeyCommand::Cancel, "discard the typed value", "discard"),
    binding(KeyContext::Field, &[KeyPress::new(KeySymbol::Up)], KeyCommand::EditText(TextEdit::Start), "to the start of the text", ""),
    binding(KeyContext::Field, &[KeyPress::new(KeySymbol::Down)], KeyCommand::EditText(TextEdit::End), "to the end of the text", ""),

    binding(KeyContext::OverwriteConsent, ENTER, KeyCommand::Accept, "start, if the typed path equals TARGET", "start, once the path is typed"),
    binding(KeyContext::OverwriteConsent, &[KeyPress::new(KeySymbol::Down)], KeyCommand::Down, "scroll down what would be lost", "scroll"),
    binding(KeyContext::OverwriteConsent, &[KeyPress::new(KeySymbol::Up)], KeyCommand::Up, "scroll up", ""),
    binding(KeyContext::OverwriteConsent, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::OverwriteConsent, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::OverwriteConsent, &[KeyPress::new(KeySymbol::Home)], KeyCommand::GoToFirst, "to the first line", ""),
    binding(KeyContext::OverwriteConsent, &[KeyPress::new(KeySymbol::End)], KeyCommand::GoToLast, "to the last line", ""),
    binding(KeyContext::OverwriteConsent, ESC, KeyCommand::Cancel, "cancel; nothing is written", "cancel"),

    binding(KeyContext::OverwriteRefused, ESC, KeyCommand::Cancel, "back; nothing is written", "back"),

    binding(KeyContext::TextEditing, LEFT, KeyCommand::EditText(TextEdit::Left), "one character to the left", "edit"),
    binding(KeyContext::TextEditing, RIGHT, KeyCommand::EditText(TextEdit::Right), "one character to the right", ""),
    binding(KeyContext::TextEditing, &[KeyPress::new(KeySymbol::Home), KeyPress::control('a')], KeyCommand::EditText(TextEdit::Start), "to the start of the text", ""),
    binding(KeyContext::TextEditing, &[KeyPress::new(KeySymbol::End), KeyPress::control('e')], KeyCommand::EditText(TextEdit::End), "to the end of the text", ""),
    binding(KeyContext::TextEditing, &[KeyPress::new(KeySymbol::Backspace)], KeyCommand::EditText(TextEdit::DeleteBefore), "delete before the cursor", "delete"),
    binding(KeyContext::TextEditing, &[KeyPress::new(KeySymbol::Delete)], KeyCommand::EditText(TextEdit::DeleteUnder), "delete under the cursor", ""),
    binding(KeyContext::TextEditing, &[KeyPress::control('u')], KeyCommand::EditText(TextEdit::DeleteToStart), "delete to the start of the text", "clear"),

    binding(KeyContext::Running, &[KeyPress::new(KeySymbol::Esc), KeyPress::char('x')], KeyCommand::Stop, "stop; the partial result is saved", "stop, save the partial result"),

    binding(KeyContext::Result, &[KeyPress::char('e')], KeyCommand::ExportSession, "export the session as a JSON file", "export JSON"),
    binding(KeyContext::Result, &[KeyPress::char('h')], KeyCommand::WriteReport, "write an HTML report", "HTML report"),
    binding(KeyContext::Result, &[KeyPress::new(KeySymbol::Right), KeyPress::new(KeySymbol::Tab)], KeyCommand::Next, "next page: chart, latency, block layer", "next page"),
    binding(KeyContext::Result, &[KeyPress::new(KeySymbol::Left), KeyPress::new(KeySymbol::BackTab)], KeyCommand::Previous, "previous page", ""),
    binding(KeyContext::Result, UP, KeyCommand::Up, "scroll up", ""),
    binding(KeyContext::Result, DOWN, KeyCommand::Down, "scroll down", ""),
    binding(KeyContext::Result, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::Result, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::Result, HOME, KeyCommand::GoToFirst, "to the first line", ""),
    binding(KeyContext::Result, END, KeyCommand::GoToLast, "to the last line", ""),
    binding(KeyContext::Result, &[KeyPress::new(KeySymbol::Esc), KeyPress::new(KeySymbol::Enter)], KeyCommand::Cancel, "back", "back"),

    binding(KeyContext::Requests, ENTER, KeyCommand::Accept, "stages and flags of the request", "stages"),
    binding(KeyContext::Requests, &[KeyPress::char('s')], KeyCommand::SortByTotal, "slowest (Q2C) first, or newest first", "slowest first"),
    binding(KeyContext::Requests, &[KeyPress::new(KeySymbol::Right), KeyPress::new(KeySymbol::Tab)], KeyCommand::Next, "trace the next device", "device"),
    binding(KeyContext::Requests, &[KeyPress::new(KeySymbol::Left), KeyPress::new(KeySymbol::BackTab)], KeyCommand::Previous, "trace the previous device", ""),
    binding(KeyContext::Requests, &[KeyPress::char('F')], KeyCommand::ShowHotFiles, "files that the requests belong to", "hot files"),
    binding(KeyContext::Requests, &[KeyPress::char(' ')], KeyCommand::TogglePause, "freeze or resume the display", "freeze"),
    binding(KeyContext::Requests, &[KeyPress::char('/')], KeyCommand::EditFilter, "filter requests by text", "filter"),
    binding(KeyContext::Requests, &[KeyPress::char('r')], KeyCommand::ReloadList, "restart the trace", "restart"),
    binding(KeyContext::Requests, UP, KeyCommand::Up, "one request up", ""),
    binding(KeyContext::Requests, DOWN, KeyCommand::Down, "one request down", ""),
    binding(KeyContext::Requests, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::Requests, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::Requests, HOME, KeyCommand::GoToFirst, "to the first request", ""),
    binding(KeyContext::Requests, END, KeyCommand::GoToLast, "to the last request", ""),
    binding(KeyContext::Requests, ESC, KeyCommand::Cancel, "close the stages; clear the filter", "back"),

    binding(KeyContext::RequestsAwaited, &[KeyPress::new(KeySymbol::Right), KeyPress::new(KeySymbol::Tab)], KeyCommand::Next, "trace the next device", "device"),
    binding(KeyContext::RequestsAwaited, &[KeyPress::new(KeySymbol::Left), KeyPress::new(KeySymbol::BackTab)], KeyCommand::Previous, "trace the previous device", ""),
    binding(KeyContext::RequestsAwaited, &[KeyPress::char('F')], KeyCommand::ShowHotFiles, "files that the requests belong to", "hot files"),
    binding(KeyContext::RequestsAwaited, &[KeyPress::char('r')], KeyCommand::ReloadList, "restart the trace", "restart"),
    binding(KeyContext::RequestsUnavailable, &[KeyPress::char('r')], KeyCommand::ReloadList, "try to trace again", "try again"),

    binding(KeyContext::Why, &[KeyPress::new(KeySymbol::Right), KeyPress::new(KeySymbol::Tab)], KeyCommand::Next, "next cause", "cause"),
    binding(KeyContext::Why, &[KeyPress::new(KeySymbol::Left), KeyPress::new(KeySymbol::BackTab)], KeyCommand::Previous, "previous cause", ""),
    binding(KeyContext::Why, &[KeyPress::char('t')], KeyCommand::ToggleTrace, "trace the busiest device as proof (root)", "trace"),
    binding(KeyContext::Why, &[KeyPress::char(' ')], KeyCommand::TogglePause, "freeze or resume the display", "freeze"),
    binding(KeyContext::Why, UP, KeyCommand::Up, "scroll up", ""),
    binding(KeyContext::Why, DOWN, KeyCommand::Down, "scroll down", "scroll"),
    binding(KeyContext::Why, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::Why, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::Why, HOME, KeyCommand::GoToFirst, "to the first line", ""),
    binding(KeyContext::Why, END, KeyCommand::GoToLast, "to the last line", ""),
    binding(KeyContext::Why, ESC, KeyCommand::Cancel, "to the first cause", ""),

    binding(KeyContext::Sessions, ENTER, KeyCommand::Accept, "open the session", "open"),
    binding(KeyContext::Sessions, &[KeyPress::char(' ')], KeyCommand::ToggleMark, "mark for comparison; baseline first", "mark"),
    binding(KeyContext::Sessions, &[KeyPress::char('c')], KeyCommand::CompareMarked, "compare the marked sessions", "compare"),
    binding(KeyContext::Sessions, &[KeyPress::char('h')], KeyCommand::WriteReport, "HTML report: marked or selected session", "report"),
    binding(KeyContext::Sessions, &[KeyPress::char('/')], KeyCommand::EditFilter, "filter sessions by text", "filter"),
    binding(KeyContext::Sessions, &[KeyPress::char('n')], KeyCommand::EditNote, "edit the note", "note"),
    binding(KeyContext::Sessions, &[KeyPress::char('d'), KeyPress::new(KeySymbol::Delete)], KeyCommand::DeleteItem, "delete the session", "delete"),
    binding(KeyContext::Sessions, UP, KeyCommand::Up, "one session up", ""),
    binding(KeyContext::Sessions, DOWN, KeyCommand::Down, "one session down", ""),
    binding(KeyContext::Sessions, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::Sessions, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::Sessions, HOME, KeyCommand::GoToFirst, "to the first session", ""),
    binding(KeyContext::Sessions, END, KeyCommand::GoToLast, "to the last session", ""),
    binding(KeyContext::Sessions, &[KeyPress::char('r')], KeyCommand::ReloadList, "reload the list", ""),
    binding(KeyContext::Sessions, ESC, KeyCommand::Cancel, "clear the filter", ""),

    binding(KeyContext::Note, ENTER, KeyCommand::Accept, "save the note; empty removes it", "save"),
    binding(KeyContext::Note, ESC, KeyCommand::Cancel, "keep the previous note", "cancel"),

    binding(KeyContext::Deletion, &[KeyPress::char('y')], KeyCommand::Confirm, "delete the session permanently", "delete"),
    binding(KeyContext::Deletion, &[KeyPress::char('n'), KeyPress::new(KeySymbol::Esc)], KeyCommand::Decline, "cancel; so does any other key", "cancel"),

    binding(KeyContext::Comparison, &[KeyPress::new(KeySymbol::Right), KeyPress::new(KeySymbol::Tab)], KeyCommand::Next, "next chart", "chart"),
    binding(KeyContext::Comparison, &[KeyPress::new(KeySymbol::Left), KeyPress::new(KeySymbol::BackTab)], KeyCommand::Previous, "previous chart", ""),
    binding(KeyContext::Comparison, &[KeyPress::char('n')], KeyCommand::NextBenchmark, "next benchmark", "benchmark"),
    binding(KeyContext::Comparison, &[KeyPress::char('o')], KeyCommand::NextPair, "next pair of sessions", "pair"),
    binding(KeyContext::Comparison, &[KeyPress::char('i')], KeyCommand::ToggleIgnoredParameters, "ignore / require equal parameters", "ignore"),
    binding(KeyContext::Comparison, &[KeyPress::char('h')], KeyCommand::WriteReport, "write an HTML report", "HTML report"),
    binding(KeyContext::Comparison, UP, KeyCommand::Up, "scroll up", ""),
    binding(KeyContext::Comparison, DOWN, KeyCommand::Down, "scroll down", ""),
    binding(KeyContext::Comparison, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::Comparison, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::Comparison, HOME, KeyCommand::GoToFirst, "to the first line", ""),
    binding(KeyContext::Comparison, END, KeyCommand::GoToLast, "to the last line", ""),
    binding(KeyContext::Comparison, &[KeyPress::new(KeySymbol::Esc), KeyPress::new(KeySymbol::Enter)], KeyCommand::Cancel, "back", "back"),

    binding(KeyContext::Help, &[KeyPress::new(KeySymbol::Esc), KeyPress::char('?'), KeyPress::char('q'), KeyPress::new(KeySymbol::Enter)], KeyCommand::Cancel, "close the help", "close"),
    binding(KeyContext::Help, &[KeyPress::char('/')], KeyCommand::EditFilter, "search the keys", "search"),
    binding(KeyContext::Help, UP, KeyCommand::Up, "scroll up", ""),
    binding(KeyContext::Help, DOWN, KeyCommand::Down, "scroll down", "scroll"),
    binding(KeyContext::Help, PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(KeyContext::Help, PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(KeyContext::Help, HOME, KeyCommand::GoToFirst, "to the first line", ""),
    binding(KeyContext::Help, END, KeyCommand::GoToLast, "to the last line", ""),

    binding(KeyContext::HelpSearch, ENTER, KeyCommand::Accept, "apply the search", "apply"),
    binding(KeyContext::HelpSearch, ESC, KeyCommand::Cancel, "clear the search", "clear"),

    binding(KeyContext::Question, &[KeyPress::char('y'), KeyPress::new(KeySymbol::Enter)], KeyCommand::Confirm, "confirm", "confirm"),
    binding(KeyContext::Question, &[KeyPress::char('n'), KeyPress::new(KeySymbol::Esc)], KeyCommand::Decline, "cancel; so does any other key", "cancel"),

    binding(KeyContext::DestructiveQuestion, &[KeyPress::char('y')], KeyCommand::Confirm, "confirm; Enter does not", "confirm"),
    binding(KeyContext::DestructiveQuestion, &[KeyPress::char('n'), KeyPress::new(KeySymbol::Esc)], KeyCommand::Decline, "cancel; so does any other key", "cancel"),

    binding(KeyContext::ChoiceList, &[KeyPress::char('1')], KeyCommand::PickChoice(1), "first choice", ""),
    binding(KeyContext::ChoiceList, &[KeyPress::char('2')], KeyCommand::PickChoice(2), "second choice", ""),
    binding(KeyContext::ChoiceList, &[KeyPress::char('3')], KeyCommand::PickChoice(3), "third choice", ""),
    binding(KeyContext::ChoiceList, &[KeyPress::char('4')], KeyCommand::PickChoice(4), "fourth choice", ""),
    binding(KeyContext::ChoiceList, &[KeyPress::char('5')], KeyCommand::PickChoice(5), "fifth choice", ""),
    binding(KeyContext::ChoiceList, ESC, KeyCommand::Cancel, "cancel; so does any other key", "cancel"),
];
