//! What happens to the state, and what the state wants done outside.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::comparison::ComparisonState;
use super::key::KeyPress;
use super::live::{ProcessAction, ProcessId};
use super::replay::{Frame, Seek};
use crate::bench::{BenchmarkSpec, RunProgress};
use crate::drive::OverwriteImpact;
use crate::drive::Target;
use crate::model::Snapshot;
use crate::model::files::{DeletedView, FileView};
use crate::model::requests::RequestsView;
use crate::safe_text::SafeText;
use crate::session::document::{BenchmarkRun, KernelCounts, Session, StageBreakdown};

/// Something happened.
#[derive(Debug, Clone)]
pub enum AppEvent {
    /// A key was pressed.
    Key(KeyPress),
    /// Text was pasted.
    Paste(String),
    /// The wheel of the mouse was turned: up, or down.
    Wheel {
        /// Whether upwards.
        up: bool,
    },
    /// The services have something to tell.
    Message(Message),
}

/// What the services tell.
#[derive(Debug, Clone)]
pub enum Message {
    /// A sample was taken.
    Snapshot(Arc<Snapshot>),
    /// A view of a recording.
    Frame(Box<Frame>),
    /// The recording cannot be read on, and why.
    ReplayFailed(String),
    /// The requests of the device that is followed; the latest only.
    Requests(Arc<RequestsView>),
    /// Requests cannot be followed: why, and what to do.
    FollowFailed {
        /// Why.
        message: String,
        /// What to do.
        advice: String,
    },
    /// How the benchmark is getting on; the latest only.
    BenchmarkProgress(Arc<RunSnapshot>),
    /// The benchmark ended, however it did.
    BenchmarkEnded(Box<Result<SavedRun, String>>),
    /// What can be measured, the default first.
    Targets(Vec<TargetChoice>),
    /// A path that was typed: what it is, or why it cannot be measured.
    TargetInspected(Box<Result<TargetChoice, String>>),
    /// What a test would overwrite at that path, or why that cannot be told.
    OverwriteImpact(String, Result<OverwriteImpact, String>),
    /// The saved sessions, the latest first.
    Sessions(Result<Vec<SessionEntry>, String>),
    /// A saved session was read.
    SessionOpened(Box<Result<(PathBuf, Session), String>>),
    /// Saved sessions were compared.
    SessionsCompared(Box<Result<ComparisonState, String>>),
    /// A session was exported to that file, as JSON or as a report.
    SessionExported(Result<PathBuf, String>),
    /// What a process has open, or why that cannot be told.
    OpenFiles(u32, Result<Vec<FileView>, String>),
    /// Deleted files that hold space.
    DeletedFiles(Vec<DeletedView>),
    /// What came of something that was done to a process or to the system.
    ProcessActionDone(Result<String, String>),
    /// Whether delay accounting is switched on from here now, or what went wrong.
    AccountingChanged(Result<bool, String>),
}

/// What a running benchmark shows.
#[derive(Debug, Clone, Default)]
pub struct RunSnapshot {
    /// Bytes of the scratch file that are filled, and how many shall be; `None` afterwards.
    pub scratch_fill: Option<(u64, u64)>,
    /// The test itself.
    pub progress: RunProgress,
    /// The device's own counts since the test began, where the kernel keeps any.
    pub kernel_counts: Option<KernelCounts>,
    /// Where the requests' time went, where the kernel could be asked.
    pub stages: Option<StageBreakdown>,
}

/// A run that ended and where it is kept.
#[derive(Debug, Clone)]
pub struct SavedRun {
    /// What was measured.
    pub run: BenchmarkRun,
    /// The file that the session is saved in; `None` where it could not be saved.
    pub path: Option<PathBuf>,
    /// What went wrong beside the test, such as a session that could not be saved.
    pub save_errors: Vec<String>,
}

/// Where a choice of the launcher comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetGroup {
    /// A scratch file in a directory.
    Directory,
    /// A block device.
    Drive,
    /// A regular file.
    File,
}

/// Something that can be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetChoice {
    /// As it goes into the job: a path.
    pub name: String,
    /// Where it comes from.
    pub group: TargetGroup,
    /// Model, or what file system it lies on.
    pub label: String,
    /// Size in bytes of the drive, or free space of the file system.
    pub size_bytes: Option<u64>,
    /// What kind it is, one or two words: `NVMe`, `disk`, `ext4`.
    pub kind: String,
    /// Who uses it; empty: nobody.
    pub used_by: String,
    /// The facts that parameters and forecast rest on, or why it cannot be measured.
    pub target: Result<Target, String>,
}

/// One saved session in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// Its file.
    pub path: PathBuf,
    /// When it began, RFC 3339.
    pub started: SafeText,
    /// Its tests, with what they were run on.
    pub summary: SafeText,
    /// The most telling figure, such as `83.9k IOPS`.
    pub headline: SafeText,
    /// How its last run ended.
    pub state: SafeText,
}

/// What shall be done outside.
#[derive(Debug, Clone)]
pub enum Effect {
    /// End the program.
    Quit,
    /// Stop as a job of the shell.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Sample at this interval.
    SetInterval(Duration),
    /// Stop sampling, or go on.
    SetPaused(bool),
    /// List all processes, or those that move something.
    ShowAllProcesses(bool),
    /// Go to another view of the recording.
    Seek(Seek),
    /// Write the view of the recording to a file.
    ExportFrame,
    /// Follow the requests of this device, or of none.
    FollowRequests(Option<SafeText>),
    /// List threads too.
    ShowThreads(bool),
    /// List what a process has open.
    ListOpenFiles(u32),
    /// Look for deleted files that hold space.
    ListDeletedFiles,
    /// Do something to a process.
    ApplyProcessAction(ProcessId, ProcessAction),
    /// Switch delay accounting on, or put it back.
    SetAccounting(bool),
    /// Look for what can be measured.
    ListTargets,
    /// See what this path is.
    InspectTarget(String),
    /// See what would be lost if that path were overwritten.
    InspectImpact(String),
    /// Start a benchmark.
    StartBenchmark(Box<BenchmarkSpec>),
    /// Stop the benchmark and keep what was measured.
    StopBenchmark,
    /// List the saved sessions.
    ListSessions,
    /// Read a saved session.
    OpenSession(PathBuf),
    /// Compare these saved sessions; parameters of these names may differ.
    CompareSessions(Vec<PathBuf>, Vec<String>),
    /// Copy the saved session to where the user is.
    ExportSession(PathBuf),
    /// Write an HTML report of these saved sessions to where the user is; parameters of these names
    /// may differ.
    WriteReport(Vec<PathBuf>, Vec<String>),
}
