//! Why is it slow: evidence over a window of time in, causes out. Pure.
//!
//! [`EvidenceWindow`] holds the snapshots, scans and facts; [`analysis`] sums them up; each file in
//! `rules` decides about one cause; `ranking` decides which cause is named first. Sentences are
//! written in `report::diagnosis`.

pub mod analysis;
pub mod blame;
pub mod cause;
pub mod code;
pub mod file_server;
pub mod measurement;
pub mod mitigation;
pub mod ranking;
pub mod remedy;
pub mod requests;
mod rules;
pub mod suspicion;
#[cfg(test)]
mod tests;
pub mod wait_kind;
pub mod window;

pub use self::cause::{Cause, CauseDetail, CauseKey, Diagnosis, NotExamined, Party};
pub use self::code::{CauseCode, Certainty, Severity};
pub use self::measurement::{Measurement, Quantity, Unit};
pub use self::ranking::diagnose;
pub use self::window::{EvidenceWindow, WINDOW};
