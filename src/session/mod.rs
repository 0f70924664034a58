//! Saved data: the session document, its journal, service level goals, validity checks and
//! comparison. Independent of how metrics are measured.

pub mod chart;
pub mod checks;
pub mod compare;
pub mod document;
#[cfg(test)]
mod schema_tests;
pub mod slo;
pub mod stability;
pub mod store;
