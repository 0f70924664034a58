//! The keys of the Live screen, of hot files and of recordings.

use crate::app::key::{KeyPress, KeySymbol};
use crate::tui::keys::common::{DOWN, ENTER, ESC, TAB};
use crate::tui::keys::{KeyCommand, KeyList, binding};

/// The Live screen.
pub static LIVE: KeyList = KeyList::commands("Live", &[
    binding(&[KeyPress::char('/')], KeyCommand::EditFilter, "filter the focused list by text", "filter"),
    binding(&[KeyPress::char('s'), KeyPress::new(KeySymbol::Right)], KeyCommand::Next, "sort the focused list by the next column", "sort"),
    binding(&[KeyPress::char('S'), KeyPress::new(KeySymbol::Left)], KeyCommand::Previous, "sort it by the previous column", ""),
    binding(&[KeyPress::char('r')], KeyCommand::ReverseSort, "reverse the sort order", ""),
    binding(&[KeyPress::char(' ')], KeyCommand::TogglePause, "pause or resume sampling", ""),
    binding(&[KeyPress::char('+'), KeyPress::char('=')], KeyCommand::LongerInterval, "lengthen the interval", ""),
    binding(&[KeyPress::char('-')], KeyCommand::ShorterInterval, "shorten the interval", ""),
    binding(&[KeyPress::char('i')], KeyCommand::ToggleIdleDevices, "show or hide idle loop devices, layers", ""),
    binding(&[KeyPress::char('a')], KeyCommand::ToggleAllProcesses, "show or hide processes without I/O", ""),
    binding(TAB, KeyCommand::SwitchList, "next list: devices, transfers, processes", "list"),
    binding(ENTER, KeyCommand::Accept, "details of the selection", "details"),
    binding(&[KeyPress::char('f')], KeyCommand::ShowOpenFiles, "open files of the selected process", "files"),
    binding(&[KeyPress::char('d')], KeyCommand::ShowDeletedFiles, "deleted files that still occupy space", ""),
    binding(&[KeyPress::char('m')], KeyCommand::ShowMemory, "memory, pressure, growing files", "memory"),
    binding(&[KeyPress::char('u')], KeyCommand::ShowUnits, "services and containers", "units"),
    binding(&[KeyPress::char('M')], KeyCommand::ShowMounts, "mounted file systems, NFS and FUSE", ""),
    binding(&[KeyPress::char('F')], KeyCommand::ShowHotFiles, "hot files (root)", ""),
    binding(&[KeyPress::char('t')], KeyCommand::ToggleTotals, "totals since the first sample, or rates", ""),
    binding(&[KeyPress::char('T')], KeyCommand::ToggleTree, "process tree, or sort order", ""),
    binding(&[KeyPress::char('H')], KeyCommand::ToggleThreads, "show or hide threads", ""),
    binding(&[KeyPress::char('o')], KeyCommand::FilterByDevice, "only processes on the selected device", ""),
    binding(&[KeyPress::char('c')], KeyCommand::ChooseIoClass, "set the I/O class (not in a recording)", "class"),
    binding(&[KeyPress::char('x')], KeyCommand::ChooseSignal, "send a signal (not in a recording)", "signal"),
    binding(&[KeyPress::char('w')], KeyCommand::ToggleAccounting, "delay accounting (not in a recording)", ""),
    binding(ESC, KeyCommand::Cancel, "back; clear filter and selection", ""),
]).with_movement();

/// A pane of the Live screen, before those of the screen.
pub static PANE: KeyList = KeyList::commands("Live: panes", &[
    binding(ESC, KeyCommand::Cancel, "back to the lists", "back"),
    binding(DOWN, KeyCommand::Down, "scroll", "scroll"),
    binding(&[KeyPress::char('f')], KeyCommand::ShowOpenFiles, "open files of the selected process", "files"),
    binding(&[KeyPress::char('F')], KeyCommand::ShowHotFiles, "hot files of what is shown (root)", "hot files"),
    binding(&[KeyPress::char('c')], KeyCommand::ChooseIoClass, "set the I/O class of the process", "class"),
    binding(&[KeyPress::char('x')], KeyCommand::ChooseSignal, "send the process a signal", "signal"),
    binding(&[KeyPress::char('o')], KeyCommand::FilterByDevice, "only processes on the selected device", ""),
]).with_movement();

/// The list of units, before those of the screen.
pub static UNITS: KeyList = KeyList::commands("Live: services and containers", &[
    binding(ENTER, KeyCommand::Accept, "processes of the unit", "processes"),
    binding(&[KeyPress::char('/')], KeyCommand::EditFilter, "filter units by text", "filter"),
    binding(&[KeyPress::char('s'), KeyPress::new(KeySymbol::Right)], KeyCommand::Next, "sort by the next column", "sort"),
    binding(&[KeyPress::char('S'), KeyPress::new(KeySymbol::Left)], KeyCommand::Previous, "sort by the previous column", ""),
    binding(ESC, KeyCommand::Cancel, "clear the filter; back to the lists", "back"),
]).with_movement();

/// The pane of hot files.
pub static HOT_FILES: KeyList = KeyList::commands("Hot files", &[
    binding(ESC, KeyCommand::Cancel, "end the trace and go back", "back"),
    binding(&[KeyPress::char('r')], KeyCommand::ReloadList, "restart the trace", "restart"),
]).with_movement();

/// A recording, before those of the screen.
pub static REPLAY: KeyList = KeyList::commands("Replay of a recording", &[
    binding(&[KeyPress::new(KeySymbol::Right), KeyPress::char('.')], KeyCommand::NextFrame, "next snapshot", "next"),
    binding(&[KeyPress::new(KeySymbol::Left), KeyPress::char(',')], KeyCommand::PreviousFrame, "previous snapshot", "previous"),
    binding(&[KeyPress::char(']'), KeyPress::char('>')], KeyCommand::SkipForward, "60 snapshots forward", "+60"),
    binding(&[KeyPress::char('['), KeyPress::char('<')], KeyCommand::SkipBack, "60 snapshots back", "-60"),
    binding(&[KeyPress::char('{')], KeyCommand::FirstFrame, "first snapshot", ""),
    binding(&[KeyPress::char('}')], KeyCommand::LastFrame, "last snapshot", ""),
    binding(&[KeyPress::char('m')], KeyCommand::BusiestFrame, "snapshot with the highest throughput", "busiest"),
    binding(&[KeyPress::char(')')], KeyCommand::NextTrigger, "next trigger of the flight recorder", ""),
    binding(&[KeyPress::char('(')], KeyCommand::PreviousTrigger, "previous trigger of the flight recorder", ""),
    binding(&[KeyPress::char('F')], KeyCommand::FindFrame, "search I/O of a process or device", "find"),
    binding(&[KeyPress::char('n')], KeyCommand::FindNext, "next match of the search", ""),
    binding(&[KeyPress::char('N')], KeyCommand::FindPrevious, "previous match of the search", ""),
    binding(&[KeyPress::char('@')], KeyCommand::GoToTime, "go to a time, HH:MM:SS", "time"),
    binding(&[KeyPress::char(' ')], KeyCommand::TogglePause, "play or pause", "play"),
    binding(&[KeyPress::char('e')], KeyCommand::ExportSession, "export this snapshot as a JSON file", "export JSON"),
]).with_movement();

/// Typing the time to go to, or what to search, in a recording.
pub static REPLAY_FIELD: KeyList = KeyList::text("Replay: time or search", &[
    binding(ENTER, KeyCommand::Accept, "go to the time or the first match", "go"),
    binding(ESC, KeyCommand::Cancel, "cancel", "cancel"),
]);
