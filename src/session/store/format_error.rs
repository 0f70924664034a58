//! Why content is not a session, and the limits on what is read.

use crate::files::safe_text::SafeText;
use crate::session::document::SCHEMA;

/// Maximum size of a document, and of a line of a journal.
pub(super) const MAX_DOCUMENT_BYTES: u64 = 64 << 20;
/// Whether a document of that many bytes is read.
pub(super) fn is_readable_length(bytes: usize) -> bool {
    (bytes as u64) < MAX_DOCUMENT_BYTES
}

/// Maximum size in bytes of the runs of a journal, each counted by its last line: the same as of a
/// document.
pub(super) const LONGEST_RUNS: u64 = MAX_DOCUMENT_BYTES;
/// Maximum number of metrics and table cells of all runs together: each takes a line, or the width
/// of its column, when printed.
pub(super) const MOST_SHOWN: usize = 500_000;
/// Maximum size of a journal: this program rewrites journals at a small fraction of it.
pub(super) const MAX_JOURNAL_BYTES: u64 = 1 << 30;
/// Maximum number of runs in one journal.
pub(super) const MAX_RUNS: usize = 10_000;

/// Why content is not a session that this program reads.
#[derive(Debug, thiserror::Error)]
pub enum SessionFormatError {
    /// The file has no content.
    #[error("it is empty")]
    Empty,
    /// It is a session of another version of the format.
    #[error("its format version is {found}")]
    OtherVersion {
        /// Its version.
        found: u64,
        /// The program that wrote it, if known.
        program: Option<SafeText>,
    },
    /// It is a document of another schema.
    #[error("its schema is {found:?}, not {SCHEMA:?}")]
    OtherSchema {
        /// The schema that it names.
        found: SafeText,
    },
    /// It is a journal without its first line.
    #[error("it begins with a run")]
    BeginsWithRun,
    /// It is not the JSON of a session.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A document, or a line of a journal, is too long.
    #[error("it is longer than {} MiB", MAX_DOCUMENT_BYTES >> 20)]
    DocumentTooLong,
    /// The journal is too long.
    #[error("it is a journal of more than {} MiB", MAX_JOURNAL_BYTES >> 20)]
    JournalTooLong,
    /// The journal holds too many runs.
    #[error("it holds more than {MAX_RUNS} runs")]
    TooManyRuns,
    /// The runs of the journal are too large together.
    #[error("its runs have more than {} MiB, or {MOST_SHOWN} metrics and cells, together",
        LONGEST_RUNS >> 20)]
    RunsTooLarge,
    /// The runs of the document have too many metrics together.
    #[error("its runs have more than {MOST_SHOWN} metrics and cells together")]
    TooManyMetrics,
}
