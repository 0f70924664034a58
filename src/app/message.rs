//! Input events of the state.

use std::path::PathBuf;
use std::sync::Arc;

use super::comparison::ComparisonState;
use super::key::KeyPress;
use super::replay::Frame;
use super::result::SavedRun;
use super::running::RunSnapshot;
use super::sessions::SessionEntry;
use super::target_choice::TargetChoice;
use crate::drive::OverwriteImpact;
use crate::model::Snapshot;
use crate::model::files::{DeletedView, FileView};
use crate::model::requests::RequestsView;
use crate::session::document::Session;

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
    /// Progress of the benchmark; only the latest is kept.
    BenchmarkProgress(Arc<RunSnapshot>),
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
