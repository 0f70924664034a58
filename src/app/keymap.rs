//! The key table: which key means what, where. The help, the bottom line and `docs/keys.md` are
//! drawn from it.

use super::Screen;
use super::key::{Code, Key};

/// Where a binding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere, unless the context binds the key itself or takes text.
    Anywhere,
    /// The Live screen.
    Live,
    /// The Live screen showing a recording; what is not bound here is as in [`Context::Live`].
    Replay,
    /// Typing the filter of a list.
    Filter,
    /// The launcher, its lists of targets and tests.
    Launcher,
    /// The launcher's form.
    Form,
    /// Typing a value or a path.
    Field,
    /// A benchmark that runs.
    Running,
    /// The result of a run.
    Result,
    /// The Requests screen.
    Requests,
    /// The list of saved sessions.
    Sessions,
    /// The help.
    Help,
    /// A question that wants yes or no.
    Question,
    /// A list to choose from.
    Choice,
}

impl Context {
    /// Every context, in the order in which the help lists them.
    pub const ALL: [Self; 14] = [
        Self::Anywhere,
        Self::Live,
        Self::Replay,
        Self::Filter,
        Self::Launcher,
        Self::Form,
        Self::Field,
        Self::Running,
        Self::Result,
        Self::Requests,
        Self::Sessions,
        Self::Help,
        Self::Question,
        Self::Choice,
    ];

    /// Its heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Anywhere => "Everywhere",
            Self::Live => "Live",
            Self::Replay => "Live, replaying a recording",
            Self::Filter => "Typing a filter",
            Self::Launcher => "Bench, choosing",
            Self::Form => "Bench, parameters",
            Self::Field => "Bench, typing",
            Self::Running => "Bench, running",
            Self::Result => "Result",
            Self::Requests => "Requests",
            Self::Sessions => "Sessions",
            Self::Help => "Help",
            Self::Question => "Questions",
            Self::Choice => "Choosing what to do to a process",
        }
    }

    /// Whether characters are typed into a text here, so that the keys of [`Context::Anywhere`]
    /// hold only together with Ctrl.
    #[must_use]
    pub fn takes_text(self) -> bool {
        matches!(self, Self::Filter | Self::Field)
    }

    /// Whether nothing but its own keys and those with Ctrl hold here.
    #[must_use]
    fn is_modal(self) -> bool {
        self.takes_text() || matches!(self, Self::Help | Self::Question | Self::Choice)
    }
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Leave the program.
    Quit,
    /// Open or close the help.
    Help,
    /// Stop the program as a job of the shell.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Go to a screen.
    Show(Screen),
    /// Go to the launcher.
    Launch,
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first line.
    First,
    /// To the last line.
    Last,
    /// To the next pane, column or chart.
    Next,
    /// To the previous pane, column or chart.
    Previous,
    /// The other order.
    Reverse,
    /// Type a filter.
    Filter,
    /// To the next view of a recording.
    NextView,
    /// To the previous view of a recording.
    PreviousView,
    /// Many views forwards.
    FarForward,
    /// Many views back.
    FarBack,
    /// To the first view of a recording.
    FirstView,
    /// To the last view of a recording.
    LastView,
    /// To the busiest view of a recording.
    Busiest,
    /// Take no more samples, or go on.
    Pause,
    /// A longer interval.
    Slower,
    /// A shorter interval.
    Faster,
    /// Show or hide devices that are idle.
    Idle,
    /// Show or hide processes that move nothing.
    All,
    /// Take what is selected or typed.
    Accept,
    /// Leave without taking it.
    Cancel,
    /// Start the benchmark.
    Start,
    /// Type a path.
    Path,
    /// The next of the words that a parameter takes.
    NextWord,
    /// The previous of the words that a parameter takes.
    PreviousWord,
    /// Back to the default value.
    Default,
    /// Stop the benchmark.
    Stop,
    /// Write the session to a file.
    Export,
    /// Read the list again.
    Reload,
    /// Between the lists of devices and processes.
    Switch,
    /// What processes moved since they were seen first, or their rates.
    Totals,
    /// Processes below their parents, or in order.
    Tree,
    /// Show or hide threads.
    Threads,
    /// Memory, pressure and growing files.
    Memory,
    /// What the selected process has open.
    Files,
    /// Deleted files that hold space.
    Deleted,
    /// Only processes on the selected device.
    OfDevice,
    /// Give the selected process another I/O class.
    Class,
    /// Send the selected process a signal.
    Signal,
    /// Switch delay accounting on, or back.
    Accounting,
    /// The choice of that number.
    Pick(u8),
    /// Yes.
    Yes,
    /// No.
    No,
}

/// One line of the key table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Where it holds.
    pub context: Context,
    /// Any of these keys.
    pub keys: &'static [Key],
    /// What it does.
    pub command: Command,
    /// One line for the help.
    pub help: &'static str,
    /// A word for the bottom line; empty: not there.
    pub hint: &'static str,
}

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
    bind(Context::Launcher, &[Key::char('/')], Command::Path, "type a path to measure", "type a path"),
    bind(Context::Launcher, &[Key::char('r')], Command::Reload, "look for drives again", ""),
    bind(Context::Launcher, UP, Command::Up, "one line up", ""),
    bind(Context::Launcher, DOWN, Command::Down, "one line down", ""),
    bind(Context::Launcher, HOME, Command::First, "to the first line", ""),
    bind(Context::Launcher, END, Command::Last, "to the last line", ""),

    bind(Context::Form, ENTER, Command::Accept, "change this parameter", "change"),
    bind(Context::Form, RIGHT, Command::NextWord, "the next choice", ""),
    bind(Context::Form, LEFT, Command::PreviousWord, "the previous choice", ""),
    bind(Context::Form, &[Key::char('d'), Key::new(Code::Delete)], Command::Default, "back to the default", "default"),
    bind(Context::Form, TAB, Command::Next, "to the list of targets", "next list"),
    bind(Context::Form, BACK_TAB, Command::Previous, "to the list of tests", ""),
    bind(Context::Form, &[Key::char('s')], Command::Start, "start the benchmark", "start"),
    bind(Context::Form, UP, Command::Up, "one parameter up", ""),
    bind(Context::Form, DOWN, Command::Down, "one parameter down", ""),
    bind(Context::Form, HOME, Command::First, "to the first parameter", ""),
    bind(Context::Form, END, Command::Last, "to the last parameter", ""),
    bind(Context::Form, ESC, Command::Cancel, "to the list of tests", ""),

    bind(Context::Field, ENTER, Command::Accept, "take what was typed", "take"),
    bind(Context::Field, ESC, Command::Cancel, "leave it as it was", "leave"),

    bind(Context::Running, &[Key::new(Code::Esc), Key::char('x')], Command::Stop, "stop; what was measured is kept", "stop and keep what was measured"),

    bind(Context::Result, &[Key::char('e')], Command::Export, "write the session as JSON here", "export JSON"),
    bind(Context::Result, &[Key::new(Code::Right), Key::new(Code::Tab)], Command::Next, "the next chart", "chart"),
    bind(Context::Result, &[Key::new(Code::Left), Key::new(Code::BackTab)], Command::Previous, "the previous chart", ""),
    bind(Context::Result, UP, Command::Up, "scroll the figures up", ""),
    bind(Context::Result, DOWN, Command::Down, "scroll the figures down", ""),
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
    bind(Context::Requests, ESC, Command::Cancel, "forget the filter", ""),

    bind(Context::Sessions, ENTER, Command::Accept, "open the session", "open"),
    bind(Context::Sessions, UP, Command::Up, "one session up", ""),
    bind(Context::Sessions, DOWN, Command::Down, "one session down", ""),
    bind(Context::Sessions, HOME, Command::First, "to the first session", ""),
    bind(Context::Sessions, END, Command::Last, "to the last session", ""),
    bind(Context::Sessions, &[Key::char('r')], Command::Reload, "read the list again", "read again"),

    bind(Context::Help, &[Key::new(Code::Esc), Key::char('?'), Key::char('q'), Key::new(Code::Enter)], Command::Cancel, "close the help", "close"),
    bind(Context::Help, UP, Command::Up, "scroll up", ""),
    bind(Context::Help, DOWN, Command::Down, "scroll down", "scroll"),

    bind(Context::Question, &[Key::char('y'), Key::new(Code::Enter)], Command::Yes, "yes", "yes"),
    bind(Context::Question, &[Key::char('n'), Key::new(Code::Esc)], Command::No, "no", "no"),

    bind(Context::Choice, &[Key::char('1')], Command::Pick(1), "the first", ""),
    bind(Context::Choice, &[Key::char('2')], Command::Pick(2), "the second", ""),
    bind(Context::Choice, &[Key::char('3')], Command::Pick(3), "the third", ""),
    bind(Context::Choice, &[Key::char('4')], Command::Pick(4), "the fourth", ""),
    bind(Context::Choice, &[Key::char('5')], Command::Pick(5), "the fifth", ""),
    bind(Context::Choice, ESC, Command::Cancel, "nothing", "nothing"),
];

/// Lines that the table takes as a list with a heading and a gap for each context.
#[must_use]
pub fn lines() -> usize {
    KEYS.len() + 2 * Context::ALL.len()
}

/// The bindings of a context, in order.
pub fn of(context: Context) -> impl Iterator<Item = &'static Binding> {
    KEYS.iter()
        .filter(move |binding| binding.context == context)
}

/// What a key means in a context: its own binding, or the one that holds everywhere.
#[must_use]
pub fn find(context: Context, key: Key) -> Option<Command> {
    let bound = |context| {
        of(context)
            .find(|binding| binding.keys.contains(&key))
            .map(|binding| binding.command)
    };
    let below = (context == Context::Replay).then(|| bound(Context::Live));
    bound(context).or(below.flatten()).or_else(|| {
        let reaches = key.control || !context.is_modal();
        reaches.then(|| bound(Context::Anywhere)).flatten()
    })
}

/// The keys of a binding as people read them: `q, Ctrl-C`.
#[must_use]
pub fn names(binding: &Binding) -> String {
    let names: Vec<_> = binding.keys.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// The whole table as a Markdown document: `docs/keys.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "# Keys\n\nThe same list is on the screen with `?`. It is made from the key table in \
         `src/app/keymap.rs`;\na test compares the two.\n",
    );
    for context in Context::ALL {
        text.push_str(&format!(
            "\n## {}\n\n| key | does |\n|---|---|\n",
            context.title()
        ));
        for binding in of(context) {
            text.push_str(&format!("| `{}` | {} |\n", names(binding), binding.help));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_key_is_bound_twice_in_a_context() {
        let mut seen = HashSet::new();
        for binding in KEYS {
            for key in binding.keys {
                assert!(seen.insert((binding.context, *key)), "{binding:?}: {key}");
            }
        }
    }

    #[test]
    fn a_text_takes_letters_but_control_keys_still_hold() {
        assert_eq!(find(Context::Filter, Key::char('q')), None);
        assert_eq!(
            find(Context::Filter, Key::control('c')),
            Some(Command::Quit)
        );
        assert_eq!(find(Context::Live, Key::char('q')), Some(Command::Quit));
    }

    #[test]
    fn a_context_hides_what_holds_everywhere() {
        assert_eq!(find(Context::Help, Key::char('q')), Some(Command::Cancel));
        assert_eq!(find(Context::Question, Key::char('1')), None);
    }

    #[test]
    fn the_document_holds_the_table() {
        let document = include_str!("../../docs/keys.md");
        assert_eq!(
            document,
            markdown(),
            "write docs/keys.md anew from app::keymap::markdown()"
        );
    }
}
