//! Why is it slow: evidence over a window of time in, causes out.
//!
//! [`recorder`] collects an [`EvidenceWindow`]; `analysis` sums it up; each file in `rules` decides
//! about one cause and says everything about it: thresholds, evidence, sentence, remedies. `diagnosis`
//! decides which cause is named first; `entries` prints a [`Diagnosis`].

mod analysis;
mod blame;
mod cause;
mod diagnosis;
mod entries;
mod evidence;
mod load;
pub mod recorder;
pub mod remedies;
pub mod requests;
mod rules;
pub mod suspicion;
#[cfg(test)]
mod tests;
mod wait_kind;
mod window;

pub use self::cause::{Cause, CauseKey, Certainty, NotExamined, Party, Remedy, Severity};
pub use self::diagnosis::{Diagnosis, DiagnosisDocument, RuledOut, Unexamined, diagnose};
pub use self::entries::{Entry, cause_entries, diagnosis_text, machine_entries, remainder_entries};
pub use self::evidence::{Evidence, Metric, Unit};
pub use self::window::{EvidenceWindow, WINDOW};
