//! Commands that keys are bound to.

use crate::app::Screen;
use crate::app::text::TextEdit;

/// A command that a key is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyCommand {
    /// Leave the program.
    Quit,
    /// Open or close the help.
    ToggleHelp,
    /// Stop the program with job control of the shell.
    Suspend,
    /// Redraw the whole screen.
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
    /// Reverse the sort order.
    ReverseSort,
    /// Sort by total time, or by age.
    SortByTotal,
    /// Type a filter.
    EditFilter,
    /// To the next snapshot of a recording.
    NextFrame,
    /// To the previous snapshot of a recording.
    PreviousFrame,
    /// Skip many snapshots forwards.
    SkipForward,
    /// Skip many snapshots backwards.
    SkipBack,
    /// To the first snapshot of a recording.
    FirstFrame,
    /// To the last snapshot of a recording.
    LastFrame,
    /// Type the time to go to in a recording.
    GoToTime,
    /// Type what to search in a recording.
    FindFrame,
    /// To the next snapshot that the search finds.
    FindNext,
    /// To the previous snapshot that the search finds.
    FindPrevious,
    /// To the busiest snapshot of a recording.
    BusiestFrame,
    /// To the next trigger of a recording.
    NextTrigger,
    /// To the previous trigger of a recording.
    PreviousTrigger,
    /// Pause or resume sampling.
    TogglePause,
    /// A longer interval.
    LongerInterval,
    /// A shorter interval.
    ShorterInterval,
    /// Show or hide devices that are idle.
    ToggleIdleDevices,
    /// Show or hide processes without I/O.
    ToggleAllProcesses,
    /// Accept the selection or the typed text.
    Accept,
    /// Leave without accepting.
    Cancel,
    /// Start the benchmark.
    Start,
    /// Search benchmarks and targets, or type a path.
    Search,
    /// Change the text that is typed.
    EditText(TextEdit),
    /// The next valid word of a parameter.
    NextChoice,
    /// The previous valid word of a parameter.
    PreviousChoice,
    /// Back to the default value.
    ResetToDefault,
    /// Stop the benchmark.
    Stop,
    /// Write the session to a file.
    ExportSession,
    /// Write a report to a file.
    WriteReport,
    /// Type a note.
    EditNote,
    /// Delete the selected item, after a question.
    DeleteItem,
    /// Mark the session, or remove the mark.
    ToggleMark,
    /// Compare the marked sessions.
    CompareMarked,
    /// To the next benchmark of a comparison.
    NextBenchmark,
    /// Show the next pair of sessions.
    NextPair,
    /// Ignore parameters that differ, or require equal parameters.
    ToggleIgnoredParameters,
    /// Read the list again.
    ReloadList,
    /// Go to the next of the lists: devices, transfers, processes.
    SwitchList,
    /// Show totals since the first sample, or rates.
    ToggleTotals,
    /// Show processes as a tree, or in sort order.
    ToggleTree,
    /// Show or hide threads.
    ToggleThreads,
    /// Trace requests as proof of a cause, or stop tracing.
    ToggleTrace,
    /// Memory, pressure and growing files.
    ShowMemory,
    /// Services and containers.
    ShowUnits,
    /// Mounted file systems.
    ShowMounts,
    /// The files that the requests belong to.
    ShowHotFiles,
    /// Open files of the selected process.
    ShowOpenFiles,
    /// Deleted files that still occupy space.
    ShowDeletedFiles,
    /// Only processes on the selected device.
    FilterByDevice,
    /// Change the I/O class of the selected process.
    ChooseIoClass,
    /// Send the selected process a signal.
    ChooseSignal,
    /// Switch delay accounting on, or restore its state.
    ToggleAccounting,
    /// The choice with this number.
    PickChoice(u8),
    /// Confirm a question.
    Confirm,
    /// Decline a question.
    Decline,
}

impl KeyCommand {
    /// Whether it changes or examines processes or settings of the machine that the program runs on.
    #[must_use]
    pub fn needs_machine(self) -> bool {
        matches!(
            self,
            Self::ChooseIoClass
                | Self::ChooseSignal
                | Self::ToggleAccounting
                | Self::ShowOpenFiles
                | Self::ShowDeletedFiles
        )
    }
}
