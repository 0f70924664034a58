//! A diagnosis as sentences: for text, JSON and the screen.

mod entries;
mod headline;
mod json;
mod parties;
mod remedies;
mod sentences;
mod text;
mod values;

pub use self::entries::{Entry, EntryKind, cause_entries, evidence_entries, remainder_entries};
pub use self::headline::headline;
pub use self::json::DiagnosisDocument;
pub use self::remedies::{RemedyText, remedy_text};
pub use self::sentences::{cause_sentence, conclusion, not_examined_reason, verdict};
pub use self::text::diagnosis_text;
pub use self::values::measurement_text;
