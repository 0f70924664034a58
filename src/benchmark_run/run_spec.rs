//! What to run, and what a run returns.

use std::path::PathBuf;
use std::sync::Arc;

use crate::bench::BenchmarkSpec;
use crate::files::file_id::FileId;
use crate::files::safe_text::SafeText;
use crate::session::document::Session;
use crate::session::store::StoreError;

/// Specification of a run.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// The benchmark, its target and parameters.
    pub spec: BenchmarkSpec,
    /// Number of repeats, one after the other.
    pub repeat_count: u32,
    /// Directory of journal and session file; `None` keeps nothing on disk.
    pub session_directory: Option<PathBuf>,
    /// Files that the result is written to at the end; none of them may be the target.
    pub output_files: Vec<FileId>,
}

/// Result of a run.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// The session: one benchmark run per repeat, complete or not.
    pub session: Session,
    /// Where it was saved.
    pub saved_path: Option<PathBuf>,
    /// Errors outside the benchmark.
    pub save_errors: Vec<SaveError>,
    /// Whether it was stopped because the target came into use while it was written.
    pub write_refused: bool,
}

/// Why a session is not saved, or not all of it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SaveError {
    /// There is no directory for sessions.
    #[error("neither XDG_STATE_HOME nor HOME is set: the session is not saved")]
    NoDirectory,
    /// The journal could not be created, or not be replaced by the session file.
    #[error("the session is not saved: {0}")]
    NotSaved(Arc<StoreError>),
    /// The session is saved, but its journal could not be written for a while.
    #[error("the journal was incomplete for a while: {0}")]
    JournalIncomplete(Arc<StoreError>),
    /// The file system of the session does not respond.
    #[error("saving the session takes too long: until it is saved, {} holds it", journal.display())]
    Pending {
        /// The journal.
        journal: PathBuf,
    },
    /// The target did not respond when the run was stopped.
    #[error(
        "{target} did not answer when the run was stopped: the result is that of its last journal entry"
    )]
    LastJournalEntry {
        /// The target.
        target: SafeText,
    },
}
