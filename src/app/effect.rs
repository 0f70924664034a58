//! Effects that the state requests.

use std::path::PathBuf;
use std::time::Duration;

use super::consent::QuestionNumber;
use super::process_action::{ProcessAction, ProcessId};
use super::seek::Seek;
use crate::bench::RunRequest;
use crate::files::safe_text::SafeText;

/// An effect that the state requests from the event loop.
#[derive(Debug, Clone)]
pub enum Effect {
    /// End the program.
    Quit,
    /// Stop the program with job control of the shell.
    Suspend,
    /// Redraw the whole screen.
    Redraw,
    /// Sample at this interval.
    SetInterval(Duration),
    /// Pause or resume sampling.
    SetPaused(bool),
    /// List all processes, or only those with I/O.
    ShowAllProcesses(bool),
    /// Seek in the recording.
    Seek(Seek),
    /// Seek to the next view of the recording with a process or a device that matches a text.
    FindFrame {
        /// The text.
        text: String,
        /// Forwards, or backwards.
        forward: bool,
    },
    /// Write the current view of the recording to a file.
    ExportFrame,
    /// Trace the requests of this device, or stop tracing.
    FollowRequests(Option<SafeText>),
    /// Examine the samples for causes all the time, because the Why screen is shown, or only while
    /// somebody waits.
    WatchCauses(bool),
    /// Trace the requests of the busiest device as proof of a cause, or stop tracing.
    TraceCauses(bool),
    /// List threads too.
    ShowThreads(bool),
    /// Trace which files the requests belong to, from now on, or stop tracing.
    TraceFiles(bool),
    /// Sample mounted file systems too.
    ShowMounts(bool),
    /// Sample control groups too.
    ShowUnits(bool),
    /// List the open files of a process.
    ListOpenFiles(u32),
    /// Look for deleted files that still occupy space.
    ListDeletedFiles,
    /// Apply an action to a process.
    ApplyProcessAction(ProcessId, ProcessAction),
    /// Switch delay accounting on, or restore its state.
    SetAccounting(bool),
    /// List the targets that can be measured.
    ListTargets,
    /// Inspect the target at this path.
    InspectTarget(String),
    /// Determine what would be lost if this path were overwritten, for this question.
    InspectImpact {
        /// The question.
        question: QuestionNumber,
        /// Path of the target, byte for byte.
        path: PathBuf,
    },
    /// Start a benchmark.
    StartBenchmark(Box<RunRequest>),
    /// Stop the benchmark and keep the metrics measured so far.
    StopBenchmark,
    /// List the saved sessions.
    ListSessions,
    /// Read a saved session.
    OpenSession(PathBuf),
    /// Delete a saved session.
    DeleteSession(PathBuf),
    /// Store a note in a saved session; an empty one removes it.
    SetSessionNote(PathBuf, String),
    /// Compare these saved sessions; parameters of these names may differ.
    CompareSessions(Vec<PathBuf>, Vec<String>),
    /// Copy the saved session to the user's working directory.
    ExportSession(PathBuf),
    /// Write an HTML report of these saved sessions to the user's working directory; parameters of
    /// these names may differ.
    WriteReport(Vec<PathBuf>, Vec<String>),
}
