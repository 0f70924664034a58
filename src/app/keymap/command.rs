//! What keys ask for.

use crate::app::Screen;
use crate::app::text::TextEdit;

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
    /// Search benchmarks and targets, or type a path.
    Search,
    /// Change the text that is typed.
    Edit(TextEdit),
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
    /// Write a report to a file.
    Report,
    /// Mark it, or take the mark away.
    Mark,
    /// Compare what is marked.
    Compare,
    /// To the next test of a comparison.
    NextTest,
    /// Another session against the first.
    NextSide,
    /// Compare although parameters differ, or only what is alike.
    Ignore,
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
