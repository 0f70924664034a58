//! Why is it slow: evidence over a window of time in, causes out.
//!
//! [`recorder`] collects an [`EvidenceWindow`]; [`analysis`] sums it up; each file in `rules` decides
//! about one cause and says everything about it: thresholds, evidence, sentence, remedies. `ranking`
//! decides which cause is named first; `entries`, `text` and `document` print a [`Diagnosis`].

pub mod analysis;
mod blame;
mod cause;
mod device_load;
mod document;
mod entries;
mod evidence;
mod file_server;
mod parties;
mod ranking;
pub mod recorder;
pub mod remedies;
pub mod requests;
mod rule;
mod rules;
pub mod suspicion;
#[cfg(test)]
mod tests;
mod text;
mod wait_kind;
mod window;

pub use self::cause::{
    Cause, CauseKey, Certainty, Diagnosis, NotExamined, Party, Remedy, RemedyReach, Severity,
};
pub use self::document::DiagnosisDocument;
pub use self::entries::{Entry, EntryKind, cause_entries, evidence_entries, remainder_entries};
pub use self::evidence::{Evidence, Metric, Unit};
pub use self::ranking::diagnose;
pub use self::rules::unmount_command;
pub use self::text::diagnosis_text;
pub use self::window::{EvidenceWindow, WINDOW};
