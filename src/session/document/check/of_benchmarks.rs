//! Evidence of the checks that benchmarks make themselves, except those of hard disks.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;

/// Open-loop requests per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RateShortfall {
    /// Requested arrival rate.
    pub arrived_per_s: f64,
    /// Completed requests per second.
    pub completed_per_s: f64,
}

/// Requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DepthShortfall {
    /// Requested queue depth of all worker threads together.
    pub requested: f64,
    /// Mean number of requests in flight by Little's law.
    pub reached: f64,
}

/// Throughput at the begin and the end of the address range, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ZoneThroughputs {
    /// Mean of the first tenth of the zones.
    pub first_tenth: f64,
    /// Mean of the last tenth of the zones.
    pub last_tenth: f64,
}

/// A throughput that does not depend on the address.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct UniformThroughput {
    /// Mean throughput in bytes per second.
    pub throughput: f64,
}

/// Requests in the smallest zone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ZoneRequests {
    /// Number of requests in the zone.
    pub requests: u64,
    /// Queue depth.
    pub depth: u32,
}

/// Zones without a throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct UnmeasuredZones {
    /// Number of zones without a throughput.
    pub missing: u64,
    /// Number of all zones.
    pub zones: u64,
}

/// Why the number of zones of the drive is uncertain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum ZoneCountDoubt {
    /// Half of the measured zones hold too few requests.
    FewRequests {
        /// Median number of requests in a zone.
        median_requests: u64,
        /// Requests that a zone needs.
        needed_requests: u64,
    },
    /// The drive has too many zones for the number of measured ones.
    ManyZones {
        /// Zones found on the drive.
        found: usize,
        /// Measured zones.
        measured: usize,
    },
}

/// Why no best point of a sweep is determined. Points are values of the swept parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum OptimumDoubt {
    /// The benchmark ended before every point was measured twice.
    TooFewRounds,
    /// There is no significant difference between the points.
    NoDifference {
        /// The first point.
        first: f64,
        /// The last point.
        last: f64,
    },
    /// There is no significant difference between these two points.
    NotSeparated {
        /// The smaller point.
        smaller: f64,
        /// The larger point.
        larger: f64,
    },
}

/// Queue depth of the knee in each round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct KneeDepths {
    /// The depth in each round; null without a knee.
    pub depths: Vec<Option<u32>>,
}

/// Queue depths without a p90.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct UnsampledDepths {
    /// The depths.
    pub depths: Vec<u32>,
}

/// Size from which the kernel splits requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SplitLimit {
    /// Largest unsplit request in bytes.
    pub limit_bytes: f64,
}

/// Variation of the last rounds of a steady-state benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RoundVariation {
    /// Number of rounds.
    pub rounds: usize,
    /// Rounds that the steady-state criterion needs.
    pub window_rounds: usize,
    /// Range of the last rounds as a fraction of their mean; null for too few rounds.
    pub relative_range: Option<f64>,
    /// Slope over the last rounds as a fraction of their mean; null for too few rounds.
    pub relative_slope: Option<f64>,
}

/// A permanent drop of the write throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct WrittenDrop {
    /// Bytes written before the drop.
    pub written_bytes: f64,
    /// Mean throughput before the drop in bytes per second.
    pub before: f64,
    /// Mean throughput after the drop in bytes per second.
    pub after: f64,
}

/// A target without O_DIRECT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct UnsupportedDirectIo {
    /// The target.
    pub target: SafeText,
    /// Its file system, if known.
    pub file_system: Option<SafeText>,
}

/// Variants whose files were not written completely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TruncatedFiles {
    /// The variants, such as `4 KiB, direct`.
    pub variants: Vec<SafeText>,
}

/// Block sizes of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct BlockSizes {
    /// Logical block size in bytes.
    pub logical_bytes: u32,
    /// Physical block size in bytes.
    pub physical_bytes: u32,
}

/// The ratio of the IOPS of two variants, which may be 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct VariantRatio {
    /// The two variants.
    pub variants: [SafeText; 2],
    /// Lower bound of the 95 % confidence interval.
    pub low: f64,
    /// Upper bound of the 95 % confidence interval.
    pub high: f64,
}

/// A setting that could not be changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SettingObstacle {
    /// Whether it failed after some values were measured; otherwise only the current value was.
    pub during_sweep: bool,
    /// Why it could not be changed.
    pub cause: ObstacleCause,
}

/// Why a setting could not be changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum ObstacleCause {
    /// An operation failed.
    Error {
        /// The error.
        message: SafeText,
        /// What to do about it.
        advice: SafeText,
    },
    /// The target does not have the setting.
    NotSupported,
}

/// A setting that could not be restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SettingFailure {
    /// The error.
    pub error: SafeText,
}

/// Throughput of other data patterns as a ratio to random data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DataRatios {
    /// Ratio for zeros.
    pub zero_ratio: f64,
    /// Ratio for a repeated block.
    pub repeat_ratio: f64,
}

/// Writes of random data without a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct StarvedWrites {
    /// The ratios of the other data patterns.
    pub ratios: DataRatios,
    /// Mean number of requests in flight with random data.
    pub in_flight: f64,
    /// Requested queue depth.
    pub depth: f64,
}

/// Lowest and highest throughput in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ThroughputRange {
    /// Lowest throughput.
    pub lowest: f64,
    /// Highest throughput.
    pub highest: f64,
}

/// Lowest and highest IOPS.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RateRange {
    /// Lowest rate in requests per second.
    pub lowest: f64,
    /// Highest rate in requests per second.
    pub highest: f64,
}

/// IOPS of the foreground load with and without the background load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ForegroundLoss {
    /// IOPS without the background load.
    pub alone_iops: f64,
    /// IOPS with the background load.
    pub disturbed_iops: f64,
    /// Throughput of the background load in bytes per second.
    pub background_throughput: f64,
}

/// Why there was no background load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MissingLoad {
    /// The clock of the simulated drive is virtual.
    VirtualTime,
    /// The foreground load ended before the background load was due.
    ForegroundEnded,
    /// The drive completed no request of the background load.
    NoRequestCompleted,
}

/// A benchmark without the background load that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MissingBackgroundLoad {
    /// Why it is missing.
    pub cause: MissingLoad,
}

/// The active I/O scheduler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ActiveScheduler {
    /// Its name.
    pub scheduler: SafeText,
}

/// Sequential read throughput at two queue depths, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct QueueThroughputs {
    /// Throughput at depth 8.
    pub depth_8: f64,
    /// Throughput at depth 1.
    pub depth_1: f64,
}

/// A nested benchmark that could not be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SkippedBenchmark {
    /// The error.
    pub error: SafeText,
    /// What to do about it.
    pub advice: SafeText,
}

/// Benchmarks that apply to rotational disks only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SkippedMechanics {
    /// Names of the skipped benchmarks.
    pub benchmarks: Vec<SafeText>,
}

/// A throughput above that of the medium.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ImplausibleThroughput {
    /// Name of the metric.
    pub metric: SafeText,
    /// Its value in bytes per second.
    pub throughput: f64,
    /// Highest throughput of the medium in bytes per second.
    pub medium: f64,
}

/// IOPS and latency at a queue depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DepthPoint {
    /// The queue depth.
    pub depth: f64,
    /// Requests per second.
    pub iops: f64,
    /// p90 latency in nanoseconds, if known.
    pub p90_ns: Option<f64>,
}

/// The queue depths to use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DepthAdvice {
    /// The depth with low latency.
    pub optimal: DepthPoint,
    /// The depth with significantly more IOPS, if there is one.
    pub max_iops: Option<DepthPoint>,
}

/// The block sizes to use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct BlockSizeAdvice {
    /// Access time in nanoseconds.
    pub access_ns: f64,
    /// Block size at which access and transfer take equal time, in bytes.
    pub balanced_bytes: f64,
    /// Node size of the fastest B-tree in bytes.
    pub btree_node_bytes: f64,
}

/// Duration of a copy of the whole drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CopyAdvice {
    /// Mean read throughput in bytes per second.
    pub throughput: f64,
    /// Duration in nanoseconds.
    pub copy_ns: f64,
}
