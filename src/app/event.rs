//! Input events of the state, and the effects that the state requests.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::comparison::ComparisonState;
use super::key::KeyPress;
use super::live::{ProcessAction, ProcessId};
use super::replay::{Frame, Seek};
use crate::bench::{BenchmarkSpec, RunEvent};
use crate::drive::OverwriteImpact;
use crate::drive::Target;
use crate::model::Snapshot;
use crate::model::files::{DeletedView, FileView};
use crate::model::requests::RequestsView;
use crate::safe_text::SafeText;
use crate::session::document::{BenchmarkRun, Session};

/// An input event.
#[derive(Debug, Clone)]
pub enum AppEvent {
    /// A key was pressed.
    Key(KeyPress),
    /// Text was pasted.
    Paste(String),
    /// The mouse wheel was turned.
    Wheel {
        /// Whether it was turned upwards.
        up: bool,
    },
    /// A service sent a message.
    Message(Message),
}

/// A message from a service.
#[derive(Debug, Clone)]
pub enum Message {
    /// A sample was taken.
    Snapshot(Arc<Snapshot>),
    /// A view of a recording.
    Frame(Box<Frame>),
    /// The recording cannot be read further; the reason.
    ReplayFailed(String),
    /// The requests of the traced device; only the latest view is kept.
    Requests(Arc<RequestsView>),
    /// Requests cannot be traced.
    FollowFailed {
        /// Why.
        message: String,
        /// What to do.
        advice: String,
    },
    /// An event of the benchmark; only the latest is kept.
    BenchmarkEvent(Arc<RunEvent>),
    /// The benchmark ended, successfully or not.
    BenchmarkEnded(Box<Result<SavedRun, String>>),
    /// The targets that can be measured, the default first.
    Targets(Vec<TargetChoice>),
    /// The target at a typed path, or why it cannot be measured.
    TargetInspected(Box<Result<TargetChoice, String>>),
    /// What a benchmark would overwrite at that path, or why that cannot be determined.
    OverwriteImpact(String, Result<OverwriteImpact, String>),
    /// The saved sessions, the latest first.
    Sessions(Result<Vec<SessionEntry>, String>),
    /// A saved session was read.
    SessionOpened(Box<Result<(PathBuf, Session), String>>),
    /// Saved sessions were compared.
    SessionsCompared(Box<Result<ComparisonState, String>>),
    /// A session was exported to this file, as JSON or as a report.
    SessionExported(Result<PathBuf, String>),
    /// The open files of a process, or why they cannot be listed.
    OpenFiles(u32, Result<Vec<FileView>, String>),
    /// Deleted files that still occupy space.
    DeletedFiles(Vec<DeletedView>),
    /// Result of an action on a process or on the system.
    ProcessActionDone(Result<String, String>),
    /// Whether this program has switched delay accounting on, or what went wrong.
    AccountingChanged(Result<bool, String>),
}

/// A finished run and the path of its session.
#[derive(Debug, Clone)]
pub struct SavedRun {
    /// What was measured.
    pub run: BenchmarkRun,
    /// The file that the session is saved in; `None` where it could not be saved.
    pub path: Option<PathBuf>,
    /// Errors outside the benchmark, such as a session that could not be saved.
    pub save_errors: Vec<String>,
}

/// Origin of a choice in the launcher's list of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetGroup {
    /// A scratch file in a directory.
    Directory,
    /// A block device.
    Drive,
    /// A regular file.
    File,
}

/// A target that can be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetChoice {
    /// Path, as it goes into the job.
    pub name: String,
    /// Where it comes from.
    pub group: TargetGroup,
    /// Model, or the file system that it is on.
    pub label: String,
    /// Size of the drive, or free space of the file system, in bytes.
    pub size_bytes: Option<u64>,
    /// Kind of target, one or two words: `NVMe`, `disk`, `ext4`.
    pub kind: String,
    /// Users of the target; empty if there are none.
    pub used_by: String,
    /// The facts that parameters and forecast depend on, or why it cannot be measured.
    pub target: Result<Target, String>,
}

/// One saved session in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// Its file.
    pub path: PathBuf,
    /// When it began, RFC 3339.
    pub started: SafeText,
    /// Its benchmarks and their targets.
    pub summary: SafeText,
    /// The most significant metric, such as `83.9k IOPS`.
    pub headline: SafeText,
    /// How its last run ended.
    pub state: SafeText,
}

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
    /// Write the current view of the recording to a file.
    ExportFrame,
    /// Trace the requests of this device, or stop tracing.
    FollowRequests(Option<SafeText>),
    /// List threads too.
    ShowThreads(bool),
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
    /// Determine what would be lost if this path were overwritten.
    InspectImpact(String),
    /// Start a benchmark.
    StartBenchmark(Box<BenchmarkSpec>),
    /// Stop the benchmark and keep the metrics measured so far.
    StopBenchmark,
    /// List the saved sessions.
    ListSessions,
    /// Read a saved session.
    OpenSession(PathBuf),
    /// Compare these saved sessions; parameters of these names may differ.
    CompareSessions(Vec<PathBuf>, Vec<String>),
    /// Copy the saved session to the user's working directory.
    ExportSession(PathBuf),
    /// Write an HTML report of these saved sessions to the user's working directory; parameters of
    /// these names may differ.
    WriteReport(Vec<PathBuf>, Vec<String>),
}
