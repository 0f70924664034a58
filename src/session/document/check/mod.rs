//! Validity checks: their identifiers, and the measured values that each one reports. The sentences
//! about them are written by `report::checks`.

mod catalog;
mod code;
mod of_benchmarks;
mod of_disks;
mod of_runs;
mod of_setup;
mod of_traffic;

pub use self::catalog::{CheckEvidence, CheckId};
pub use self::code::{CheckCode, CheckName};
pub use self::of_benchmarks::*;
pub use self::of_disks::*;
pub use self::of_runs::*;
pub use self::of_setup::*;
pub use self::of_traffic::*;
