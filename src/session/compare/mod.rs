//! Compares sessions metric by metric, for runs of the same benchmark with the same parameters.
//!
//! Measurements without a counterpart are listed with the reason. `docs/compare.md` describes the
//! document format.

pub mod align;
mod caution;
mod comparison;
pub mod fleet;
mod input;
mod interval;
mod measurement;
pub mod overlay;
pub mod ratio;
#[cfg(test)]
#[path = "test_sample.rs"]
pub(crate) mod sample;
mod sessions;
#[cfg(test)]
mod tests;

pub use self::align::{DifferingParameter, ParameterDifference, format_parameters};
pub use self::caution::{FAILED, INTERRUPTED};
pub use self::comparison::{
    COMPARISON_SCHEMA, ComparedBenchmark, ComparedMetric, ComparedSession, Comparison,
    MeasuredTarget, UnmatchedMeasurement,
};
pub use self::fleet::{FleetComparison, compare_fleet};
pub use self::input::ComparisonInput;
pub use self::interval::{MissingInterval, NotDetermined};
pub use self::overlay::ChartOverlay;
pub use self::ratio::{BaselineRatio, BetterDirection, MetricSample, RatioJudgement};
pub use self::sessions::compare_sessions;
