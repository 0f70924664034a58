//! Names under which benchmarks without `phases` import their forecast.

pub use super::phases::PlannedPhases;
pub use super::run_time::{Forecast, RunTime};
