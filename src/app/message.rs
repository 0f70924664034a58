//! Input events of the state.

use std::path::PathBuf;
use std::sync::Arc;

use super::consent::QuestionNumber;
use super::error::{
    ArchiveError, BenchmarkError, OpenFilesError, ProcessActionError, ReplayError, TargetError,
};
use super::key::KeyPress;
use super::process_action::ProcessActionOutcome;
use super::replay::{FoundItem, Frame};
use super::result::SavedRun;
use super::shown_frame::DrawnFrame;
use super::target_choice::TargetChoice;
use crate::bench::RunEvent;
use crate::drive::settings::SettingError;
use crate::drive::{DriveError, OverwriteImpact};
use crate::snapshot::Snapshot;
use crate::snapshot::files::{DeletedView, FileView};
use crate::trace::hot_files::view::HotFilesView;
use crate::tui::screens::requests::TraceUnavailable;
use crate::tui::screens::requests::view::RequestsView;
use crate::tui::screens::sessions::ComparisonState;
use crate::tui::screens::sessions::{OpenedSession, SessionEdit, SessionEntry};
use crate::tui::screens::why::WatchedDiagnosis;

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
    /// A frame was drawn, after all input that was typed before it.
    FrameShown(DrawnFrame),
    /// What was drawn is no longer on the terminal: it has another size, or showed something else.
    ScreenLost,
    /// A service sent a message.
    Message(Message),
}

/// A message from a service.
#[derive(Debug, Clone)]
pub enum Message {
    /// A sample was taken.
    Snapshot(Arc<Snapshot>),
    /// A snapshot of a recording.
    Frame(Box<Frame>),
    /// The search in the recording ended: what was found in the frame that is shown now, or
    /// nothing.
    FrameFound(Option<FoundItem>),
    /// The recording cannot be read further.
    ReplayFailed(Arc<ReplayError>),
    /// The requests of the traced device; only the latest view is kept.
    Requests(Arc<RequestsView>),
    /// The diagnosis of the last seconds; only the latest is kept.
    Diagnosis(Arc<WatchedDiagnosis>),
    /// Requests cannot be traced.
    FollowFailed(TraceUnavailable),
    /// The files that the requests belong to, or why they cannot be traced.
    HotFiles(Result<Arc<HotFilesView>, TraceUnavailable>),
    /// Progress of the benchmark; only the latest is kept.
    BenchmarkEvent(Arc<RunEvent>),
    /// The benchmark ended, successfully or not.
    BenchmarkEnded(Box<Result<SavedRun, Arc<BenchmarkError>>>),
    /// The targets that can be measured, the default first.
    Targets(Vec<TargetChoice>),
    /// The target at a typed path, or why it cannot be measured.
    TargetInspected {
        /// The path as it was typed.
        path: String,
        /// The target.
        result: Box<Result<TargetChoice, Arc<TargetError>>>,
    },
    /// What a benchmark would overwrite, or why that cannot be determined.
    OverwriteImpact {
        /// The question that asked for it.
        question: QuestionNumber,
        /// What would be lost.
        impact: Result<OverwriteImpact, Arc<DriveError>>,
    },
    /// The saved sessions, the latest first.
    Sessions(Result<Vec<SessionEntry>, Arc<ArchiveError>>),
    /// A saved session was changed, so that the list has to be read again.
    SessionEdited(Result<SessionEdit, Arc<ArchiveError>>),
    /// A saved session was read.
    SessionOpened(Box<Result<OpenedSession, Arc<ArchiveError>>>),
    /// Saved sessions were compared.
    SessionsCompared(Box<Result<ComparisonState, Arc<ArchiveError>>>),
    /// A session was exported to this file, as JSON or as a report.
    SessionExported(Result<PathBuf, Arc<ArchiveError>>),
    /// The open files of a process, or why they cannot be listed.
    OpenFiles {
        /// Process id.
        pid: u32,
        /// Its files.
        files: Result<Vec<FileView>, Arc<OpenFilesError>>,
    },
    /// Deleted files that still occupy space.
    DeletedFiles(Vec<DeletedView>),
    /// Result of an action on a process.
    ProcessActionDone(Result<ProcessActionOutcome, Arc<ProcessActionError>>),
    /// Whether this program has switched delay accounting on, or what went wrong.
    AccountingChanged(Result<bool, Arc<SettingError>>),
}
