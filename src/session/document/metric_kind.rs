//! What a metric measures: name, unit and label of every metric, each defined once.

use std::fmt;

use super::metric_unit::MetricUnit;
use super::result_id::{Kind, OwnName, ResultId, own_result};

/// Identity of a metric.
pub type MetricId = ResultId<MetricKind>;

/// Defines the kinds of metrics from the table below: variant, constant of [`MetricId`], name in the
/// document, unit, label.
macro_rules! define_metrics {
    ($($kind:ident $constant:ident $name:literal $unit:ident $label:literal;)*) => {
        /// What a metric measures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum MetricKind {
            $(
                #[doc = concat!("`", $name, "`: ", $label, ".")]
                $kind,
            )*
            /// `latency_p50`, `latency_p99.9` and so on: a percentile of the latency.
            LatencyPercentile(Percentile),
        }

        impl MetricId {
            $(
                #[doc = concat!("`", $name, "`: ", $label, ".")]
                pub const $constant: Self = own_result!(MetricKind::$kind);
            )*
        }

        impl MetricKind {
            /// All metrics except the latency percentiles.
            pub const FIXED: &[Self] = &[$(Self::$kind),*];

            /// Name, unit and label; `None` for a percentile.
            const fn row(self) -> Option<(&'static str, MetricUnit, &'static str)> {
                match self {
                    $(Self::$kind => Some(($name, MetricUnit::$unit, $label)),)*
                    Self::LatencyPercentile(_) => None,
                }
            }
        }
    };
}

define_metrics! {
    // Rates and latencies of a timed measurement.
    Iops IOPS "iops" PerSecond "IOPS";
    Throughput THROUGHPUT "throughput" BytesPerSecond "throughput";
    Latency LATENCY "latency" Nanoseconds "latency";
    LatencyMean LATENCY_MEAN "latency_mean" Nanoseconds "latency mean";
    LatencyMax LATENCY_MAX "latency_max" Nanoseconds "latency max";
    DepthReached DEPTH_REACHED "depth_reached" Count "queue depth reached";
    WakeupCost WAKEUP_COST "wakeup_cost" Nanoseconds "waking up";
    ShareSlower SHARE_SLOWER "share_slower" Ratio "fraction slower";
    // Throughput over the address range.
    ThroughputMean THROUGHPUT_MEAN "throughput_mean" BytesPerSecond "throughput mean";
    ThroughputMin THROUGHPUT_MIN "throughput_min" BytesPerSecond "throughput min";
    ThroughputMax THROUGHPUT_MAX "throughput_max" BytesPerSecond "throughput max";
    ThroughputMinOffset THROUGHPUT_MIN_OFFSET "throughput_min_offset" Bytes "throughput min offset";
    ThroughputMaxOffset THROUGHPUT_MAX_OFFSET "throughput_max_offset" Bytes "throughput max offset";
    Zones ZONES "zones" Count "zones";
    FullCopyTime FULL_COPY_TIME "full_copy_time" Nanoseconds "full copy time";
    // Queue depth.
    OptimalDepth OPTIMAL_DEPTH "optimal_depth" Count "optimal queue depth";
    OptimalDepthIops OPTIMAL_DEPTH_IOPS "optimal_depth_iops" PerSecond "IOPS at optimal depth";
    OptimalDepthP90 OPTIMAL_DEPTH_P90 "optimal_depth_p90" Nanoseconds "p90 at optimal depth";
    IopsMax IOPS_MAX "iops_max" PerSecond "max IOPS";
    IopsMaxDepth IOPS_MAX_DEPTH "iops_max_depth" Count "queue depth of max IOPS";
    IopsMaxP90 IOPS_MAX_P90 "iops_max_p90" Nanoseconds "p90 at max IOPS";
    Speedup SPEEDUP "speedup" Ratio "speedup";
    KneeDepth KNEE_DEPTH "knee_depth" Count "knee queue depth";
    // Block size.
    AccessTime ACCESS_TIME "access_time" Nanoseconds "access time";
    MediaThroughput MEDIA_THROUGHPUT "media_throughput" BytesPerSecond "media throughput";
    BalancedBlockSize BALANCED_BLOCK_SIZE "balanced_block_size" Bytes "balanced block size";
    BtreeNodeSize BTREE_NODE_SIZE "btree_node_size" Bytes "B-tree node size";
    BtreeLookupTime BTREE_LOOKUP_TIME "btree_lookup_time" Nanoseconds "B-tree lookup time";
    CrossingBlockSize CROSSING_BLOCK_SIZE "crossing_block_size" Bytes "crossing block size";
    // Steady state (SNIA).
    SteadyStateIops STEADY_STATE_IOPS "steady_state_iops" PerSecond "steady-state IOPS";
    SteadyStateRound STEADY_STATE_ROUND "steady_state_round" Count "steady-state round";
    SteadyStateRange STEADY_STATE_RANGE "steady_state_range" Ratio "steady-state range";
    SteadyStateSlope STEADY_STATE_SLOPE "steady_state_slope" Ratio "steady-state slope";
    CacheBytes CACHE_BYTES "cache_bytes" Bytes "write cache size";
    // Caches and their settings.
    BestReadAheadSize BEST_READ_AHEAD_SIZE "best_read_ahead_size" Bytes "best read-ahead";
    BestReadAheadThroughput BEST_READ_AHEAD_THROUGHPUT "best_read_ahead_throughput" BytesPerSecond "throughput, best read-ahead";
    PresentReadAheadSize PRESENT_READ_AHEAD_SIZE "present_read_ahead_size" Bytes "present read-ahead";
    PresentReadAheadThroughput PRESENT_READ_AHEAD_THROUGHPUT "present_read_ahead_throughput" BytesPerSecond "throughput, present read-ahead";
    ReadAheadGain READ_AHEAD_GAIN "read_ahead_gain" Ratio "read-ahead gain";
    PenaltyBuffered PENALTY_BUFFERED "penalty_buffered" Ratio "penalty, buffered";
    PenaltyDirect PENALTY_DIRECT "penalty_direct" Ratio "penalty, direct";
    SyncPenalty SYNC_PENALTY "sync_penalty" Ratio "sync penalty";
    FlushPenalty FLUSH_PENALTY "flush_penalty" Ratio "flush penalty";
    CompressionRatio COMPRESSION_RATIO "compression_ratio" Ratio "compression ratio";
    DeduplicationRatio DEDUPLICATION_RATIO "deduplication_ratio" Ratio "deduplication ratio";
    WriteTime WRITE_TIME "write_time" Nanoseconds "write time";
    SyncTime SYNC_TIME "sync_time" Nanoseconds "sync time";
    CloseTime CLOSE_TIME "close_time" Nanoseconds "close time";
    // Contention.
    IopsAlone IOPS_ALONE "iops_alone" PerSecond "IOPS alone";
    IopsDisturbed IOPS_DISTURBED "iops_disturbed" PerSecond "IOPS disturbed";
    Interference INTERFERENCE "interference" Ratio "interference";
    JobThroughput JOB_THROUGHPUT "job_throughput" BytesPerSecond "job throughput";
    ReorderGain REORDER_GAIN "reorder_gain" Ratio "reorder gain";
    UnorderedIops UNORDERED_IOPS "unordered_iops" PerSecond "IOPS unordered";
    OrderedIops ORDERED_IOPS "ordered_iops" PerSecond "IOPS ordered";
    BestBatch BEST_BATCH "best_batch" Count "best batch";
    BestBatchIops BEST_BATCH_IOPS "best_batch_iops" PerSecond "IOPS, best batch";
    // Mechanics of rotational disks.
    RotationSpeed ROTATION_SPEED "rotation_speed" RevolutionsPerMinute "rotation speed";
    RevolutionTime REVOLUTION_TIME "revolution_time" Nanoseconds "revolution time";
    RotationCoherence ROTATION_COHERENCE "rotation_coherence" Ratio "rotation coherence";
    FullStrokeSeek FULL_STROKE_SEEK "full_stroke_seek" Nanoseconds "full-stroke seek";
    TrackToTrackSeek TRACK_TO_TRACK_SEEK "track_to_track_seek" Nanoseconds "track-to-track seek";
    AverageSeek AVERAGE_SEEK "average_seek" Nanoseconds "average seek";
    CylinderSize CYLINDER_SIZE "cylinder_size" Bytes "cylinder size";
    SectorsPerTrackOuter SECTORS_PER_TRACK_OUTER "sectors_per_track_outer" Sectors "sectors per outer track";
    SectorsPerTrackInner SECTORS_PER_TRACK_INNER "sectors_per_track_inner" Sectors "sectors per inner track";
    Surfaces SURFACES "surfaces" Count "surfaces";
    HeadSkew HEAD_SKEW "head_skew" Revolution "head skew";
    CylinderSkew CYLINDER_SKEW "cylinder_skew" Revolution "cylinder skew";
    TrackSkew TRACK_SKEW "track_skew" Revolution "track skew";
}

const PERCENTILE_PREFIX: &str = "latency_p";

impl MetricId {
    /// The median of the latency.
    pub const LATENCY_P50: Self = own_result!(MetricKind::percentile_of_tenths(500));
    /// The latency that 95 % of the requests do not exceed.
    pub const LATENCY_P95: Self = own_result!(MetricKind::percentile_of_tenths(950));
    /// The latency that 99 % of the requests do not exceed.
    pub const LATENCY_P99: Self = own_result!(MetricKind::percentile_of_tenths(990));
    /// The latency that 99.9 % of the requests do not exceed.
    pub const LATENCY_P99_9: Self = own_result!(MetricKind::percentile_of_tenths(999));

    /// The latency percentile for `percent`.
    #[must_use]
    pub fn latency_percentile(percent: f64) -> Self {
        let percentile = Percentile::from_percent(percent);
        Self::of(MetricKind::LatencyPercentile(percentile))
    }
}

impl MetricKind {
    const fn percentile_of_tenths(tenths: u32) -> Self {
        Self::LatencyPercentile(Percentile::from_tenths(tenths))
    }

    /// Unit of the metric.
    #[must_use]
    pub fn unit(self) -> MetricUnit {
        self.row()
            .map_or(MetricUnit::Nanoseconds, |(_, unit, _)| unit)
    }

    /// Label for display, such as `latency p99`.
    #[must_use]
    pub fn label(self) -> String {
        match (self, self.row()) {
            (Self::LatencyPercentile(percentile), _) => format!("latency p{percentile}"),
            (_, row) => row.map_or_else(String::new, |(_, _, label)| label.to_owned()),
        }
    }

    /// Whether the metric is a size of blocks or buffers, which is displayed in binary units.
    #[must_use]
    pub fn is_block_size(self) -> bool {
        matches!(
            self,
            Self::BalancedBlockSize
                | Self::BtreeNodeSize
                | Self::CrossingBlockSize
                | Self::BestReadAheadSize
                | Self::PresentReadAheadSize
                | Self::CylinderSize
        )
    }
}

impl MetricId {
    /// Unit of the metric; `None` for a name from elsewhere.
    #[must_use]
    pub fn unit(&self) -> Option<MetricUnit> {
        self.kind().map(MetricKind::unit)
    }

    /// Label for display, such as `random-read/write latency p99`.
    #[must_use]
    pub fn label(&self) -> String {
        let own = match &self.own {
            OwnName::Known(kind) => kind.label(),
            OwnName::Other(name) => name.replace('_', " "),
        };
        let own = match &self.variant {
            Some(variant) => format!("{} {own}", variant.to_string().replace('_', " ")),
            None => own,
        };
        match &self.benchmark {
            Some(benchmark) => format!("{benchmark}/{own}"),
            None => own,
        }
    }
}

impl From<MetricKind> for MetricId {
    fn from(kind: MetricKind) -> Self {
        Self::of(kind)
    }
}

impl Kind for MetricKind {
    fn from_name(name: &str) -> Option<Self> {
        let is_named = |kind: &&Self| kind.row().is_some_and(|(own, ..)| own == name);
        let fixed = Self::FIXED.iter().find(is_named).copied();
        fixed.or_else(|| {
            let percentile = Percentile::parse(name.strip_prefix(PERCENTILE_PREFIX)?)?;
            Some(Self::LatencyPercentile(percentile))
        })
    }
}

/// The name in the document.
impl fmt::Display for MetricKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.row()) {
            (Self::LatencyPercentile(percentile), _) => {
                write!(formatter, "{PERCENTILE_PREFIX}{percentile}")
            }
            (_, row) => formatter.write_str(row.map_or("", |(name, ..)| name)),
        }
    }
}

/// A percentile, such as 99.9, in millionths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percentile(u32);

const MILLIONTHS: u32 = 1_000_000;

impl Percentile {
    /// Creates a percentile from tenths of a percent: 999 is p99.9.
    #[must_use]
    pub const fn from_tenths(tenths: u32) -> Self {
        Self(tenths * (MILLIONTHS / 10))
    }

    /// Creates a percentile from a number between 0 and 100, exact to a millionth.
    #[must_use]
    pub fn from_percent(percent: f64) -> Self {
        Self((percent.clamp(0.0, 100.0) * f64::from(MILLIONTHS)).round() as u32)
    }

    /// The percentile in percent.
    #[must_use]
    pub fn percent(self) -> f64 {
        f64::from(self.0) / f64::from(MILLIONTHS)
    }

    /// Parses a number as [`Display`](fmt::Display) writes it; `None` for anything else, so that a
    /// name is never changed by being read.
    fn parse(text: &str) -> Option<Self> {
        let percent = text
            .parse()
            .ok()
            .filter(|percent| (0.0..=100.0).contains(percent))?;
        let percentile = Self::from_percent(percent);
        (percentile.to_string() == text).then_some(percentile)
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.percent())
    }
}
