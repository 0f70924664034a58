//! Evidence of the checks on any run: stability over time, latency distribution, goals, and repeated
//! runs.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;
use crate::session::document::metric::Metric;
use crate::session::document::metric_unit::MetricUnit;

/// A permanent drop of the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TimedDrop {
    /// Time of the drop since the start of the measurement, in nanoseconds.
    pub after_ns: f64,
    /// Bytes transferred before the drop.
    pub after_bytes: f64,
    /// Mean throughput before the drop in bytes per second.
    pub before: f64,
    /// Mean throughput after the drop in bytes per second.
    pub after: f64,
}

/// Mean throughput of the first and of the last part of a run, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ThroughputChange {
    /// Mean throughput of the first part.
    pub begin: f64,
    /// Mean throughput of the last part.
    pub end: f64,
}

/// Temperatures of a drive in degrees Celsius.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct HighTemperature {
    /// Temperature at the start.
    pub initial_celsius: f64,
    /// Highest temperature during the run.
    pub max_celsius: f64,
    /// Temperature from which the drive may throttle.
    pub throttle_celsius: f64,
}

/// A hot drive whose throughput fell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Throttling {
    /// The temperatures.
    pub temperature: HighTemperature,
    /// The throughput before and after it fell.
    pub throughput: ThroughputChange,
}

/// Direction of requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// Number of requests with a latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SampleCount {
    /// Direction of the requests.
    pub direction: Direction,
    /// Number of requests.
    pub requests: u64,
}

/// The two modes of a latency distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Bimodality {
    /// Direction of the requests.
    pub direction: Direction,
    /// Fraction of the requests in the fast mode, 0 to 1.
    pub fast_fraction: f64,
    /// Median of the fast mode in nanoseconds.
    pub fast_ns: f64,
    /// Median of the slow mode in nanoseconds.
    pub slow_ns: f64,
}

/// Synchronous writes that are too fast for the medium.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FastSync {
    /// Median write latency in nanoseconds.
    pub median_ns: f64,
    /// Half a revolution in nanoseconds.
    pub half_revolution_ns: f64,
}

/// A time in which no request completed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Stall {
    /// Number of such times.
    pub count: u64,
    /// Length of the longest in nanoseconds.
    pub longest_ns: f64,
    /// Start of the longest since the start of the run, in nanoseconds.
    pub longest_start_ns: f64,
    /// Length of all together in nanoseconds.
    pub total_ns: f64,
}

/// Random reads that are as slow as those of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DiskLikeLatency {
    /// Number of reads.
    pub reads: u64,
    /// Tenth percentile of the read latency in nanoseconds.
    pub p10_ns: f64,
    /// Median read latency in nanoseconds.
    pub median_ns: f64,
    /// 90th percentile of the read latency in nanoseconds.
    pub p90_ns: f64,
}

/// Random reads that are too fast for a disk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RotationalLatency {
    /// Number of reads.
    pub reads: u64,
    /// Median read latency in nanoseconds.
    pub median_ns: f64,
}

/// A goal between the limits of decimal and binary prefixes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PrefixAmbiguity {
    /// The goal as the user specified it.
    pub goal: SafeText,
    /// The measured value.
    pub measured: f64,
    /// Whether the goal is met as specified.
    pub met: bool,
    /// Unit of `measured` and `other_limit`.
    pub unit: MetricUnit,
    /// The specified unit, such as `MB`.
    pub prefix: SafeText,
    /// The unit of the other kind, such as `MiB`.
    pub other_prefix: SafeText,
    /// The limit with the unit of the other kind.
    pub other_limit: f64,
}

/// The lowest and the highest of repeated measurements of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RepeatedExtremes {
    /// The target, in a list of several drives.
    pub target: Option<SafeText>,
    /// Name of the benchmark.
    pub benchmark: SafeText,
    /// Number of runs.
    pub runs: usize,
    /// The metric of the run with the lowest confidence interval.
    pub lowest: Box<Metric>,
    /// The metric of the run with the highest confidence interval.
    pub highest: Box<Metric>,
}

/// A compared run that did not finish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct EndedEarly {
    /// The error, if there was one.
    pub error: Option<SafeText>,
}
