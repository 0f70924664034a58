//! What keys ask for.

use crate::app::Screen;
use crate::app::text::TextEdit;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyCommand {
    /// Leave the program.
    Quit,
    /// Open or close the help.
    ToggleHelp,
    /// Stop the program as a job of the shell.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Go to a screen.
    ShowScreen(Screen),
    /// Go to the launcher.
    ShowLauncher,
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first line.
    GoToFirst,
    /// To the last line.
    GoToLast,
    /// To the next pane, column or chart.
    Next,
    /// To the previous pane, column or chart.
    Previous,
    /// The other order.
    ReverseSort,
    /// Type a filter.
    EditFilter,
    /// To the next view of a recording.
    NextFrame,
    /// To the previous view of a recording.
    PreviousFrame,
    /// Many views forwards.
    SkipForward,
    /// Many views back.
    SkipBack,
    /// To the first view of a recording.
    FirstFrame,
    /// To the last view of a recording.
    LastFrame,
    /// To the busiest view of a recording.
    BusiestFrame,
    /// Take no more samples, or go on.
    TogglePause,
    /// A longer interval.
    LongerInterval,
    /// A shorter interval.
    ShorterInterval,
    /// Show or hide devices that are idle.
    ToggleIdleDevices,
    /// Show or hide processes that move nothing.
    ToggleAllProcesses,
    /// Take what is selected or typed.
    Accept,
    /// Leave without taking it.
    Cancel,
    /// Start the benchmark.
    Start,
    /// Search benchmarks and targets, or type a path.
    Search,
    /// Change the text that is typed.
    EditText(TextEdit),
    /// The next of the words that a parameter takes.
    NextChoice,
    /// The previous of the words that a parameter takes.
    PreviousChoice,
    /// Back to the default value.
    ResetToDefault,
    /// Stop the benchmark.
    Stop,
    /// Write the session to a file.
    ExportSession,
    /// Write a report to a file.
    WriteReport,
    /// Mark it, or take the mark away.
    ToggleMark,
    /// Compare what is marked.
    CompareMarked,
    /// To the next test of a comparison.
    NextBenchmark,
    /// Another session against the first.
    NextPair,
    /// Compare although parameters differ, or only what is alike.
    ToggleIgnoredParameters,
    /// Read the list again.
    ReloadList,
    /// Between the lists of devices and processes.
    SwitchList,
    /// What processes moved since they were seen first, or their rates.
    ToggleTotals,
    /// Processes below their parents, or in order.
    ToggleTree,
    /// Show or hide threads.
    ToggleThreads,
    /// Memory, pressure and growing files.
    ShowMemory,
    /// What the selected process has open.
    ShowOpenFiles,
    /// Deleted files that hold space.
    ShowDeletedFiles,
    /// Only processes on the selected device.
    FilterByDevice,
    /// Give the selected process another I/O class.
    ChooseIoClass,
    /// Send the selected process a signal.
    ChooseSignal,
    /// Switch delay accounting on, or back.
    ToggleAccounting,
    /// The choice of that number.
    PickChoice(u8),
    /// Yes.
    Yes,
    /// No.
    No,
}

impl KeyCommand {
    /// Whether it changes processes or settings of the machine that the program runs on.
    #[must_use]
    pub fn changes_machine(self) -> bool {
        matches!(
            self,
            Self::ChooseIoClass | Self::ChooseSignal | Self::ToggleAccounting
        )
    }
}
