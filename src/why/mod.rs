//! Why is it slow: evidence over a window of time in, causes out.
//!
//! [`recorder`] collects an [`EvidenceWindow`]; `analysis` sums it up; each file in `rules` decides
//! about one cause and says everything about it: thresholds, evidence, sentence, remedies. `ranking`
//! decides which cause is named first; `entries` prints a [`Diagnosis`].

mod analysis;
mod blame;
mod cause;
mod device_load;
mod entries;
mod evidence;
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
mod wait_kind;
mod window;

pub use self::cause::{
    Cause, CauseKey, Certainty, Diagnosis, DiagnosisDocument, NotExamined, Party, Remedy,
    RemedyReach, RuledOut, Severity, Unexamined,
};
pub use self::entries::{
    Entry, cause_entries, diagnosis_text, evidence_entries, remainder_entries,
};
pub use self::evidence::{Evidence, Metric, Unit};
pub use self::ranking::diagnose;
pub use self::rules::unmount_command;
pub use self::window::{EvidenceWindow, WINDOW};
