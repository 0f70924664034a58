//! What a series shows: its name and axes, and the quantities on axes, each defined once.

use std::fmt;

use super::metric_unit::MetricUnit;
use super::result_id::{Kind, ResultId, own_result};

/// Identity of a series.
pub type SeriesId = ResultId<SeriesKind>;

/// Defines the quantities on axes from the table below: variant, label, unit.
macro_rules! define_axes {
    ($($quantity:ident $label:literal $unit:ident;)*) => {
        /// A quantity on an axis of a chart.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum AxisQuantity {
            $(
                #[doc = concat!("The ", $label, ".")]
                $quantity,
            )*
        }

        impl AxisQuantity {
            /// Label and unit of the axis.
            #[must_use]
            pub const fn label_and_unit(self) -> (&'static str, MetricUnit) {
                match self {
                    $(Self::$quantity => ($label, MetricUnit::$unit),)*
                }
            }
        }
    };
}

define_axes! {
    Time "time" Nanoseconds;
    WriteTime "write" Nanoseconds;
    SyncTime "sync" Nanoseconds;
    CloseTime "close" Nanoseconds;
    Address "address" Bytes;
    BlockSize "block size" Bytes;
    RecordSize "record size" Bytes;
    ReadAhead "read-ahead" Bytes;
    BytesWritten "bytes written" Bytes;
    QueueDepth "queue depth" Count;
    ReorderBuffer "reorder buffer" Count;
    Round "round" Count;
    Reads "reads" Count;
    ReadNumber "read" Count;
    Iops "IOPS" PerSecond;
    Throughput "throughput" BytesPerSecond;
    ZoneThroughput "zone throughput" BytesPerSecond;
    Latency "latency" Nanoseconds;
    LatencyP90 "latency p90" Nanoseconds;
    Score "score" Ratio;
    DepthReached "queue depth reached" Count;
    FractionOfMaximum "fraction of maximum" Ratio;
    FractionOfRequests "fraction of requests" Ratio;
    FractionOfWrites "fraction of writes" Ratio;
    StrokeFraction "seek distance / full stroke" Ratio;
    Angle "angle" Revolution;
    Radius "radius" Ratio;
    SectorsPerTrack "sectors per track" Sectors;
    RotationalDelay "rotational delay" Revolution;
    JumpBeyondCylinder "distance beyond one cylinder" Revolution;
    RotationSpeed "rotation speed" RevolutionsPerMinute;
    Coherence "coherence" Ratio;
}

/// Defines the kinds of series from the table below: variant, constant of [`SeriesId`], name in the
/// document, x axis, y axis.
macro_rules! define_series {
    ($($kind:ident $constant:ident $name:literal $x:ident $y:ident;)*) => {
        /// What a series shows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum SeriesKind {
            $(
                #[doc = concat!("`", $name, "`.")]
                $kind,
            )*
        }

        impl SeriesId {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $constant: Self = own_result!(SeriesKind::$kind);
            )*
        }

        impl SeriesKind {
            /// All kinds of series.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// Name in the document, x axis, y axis.
            const fn row(self) -> (&'static str, [AxisQuantity; 2]) {
                match self {
                    $(Self::$kind => ($name, [AxisQuantity::$x, AxisQuantity::$y]),)*
                }
            }
        }
    };
}

define_series! {
    IopsOverTime IOPS_OVER_TIME "iops-over-time" Time Iops;
    ThroughputOverTime THROUGHPUT_OVER_TIME "throughput-over-time" Time Throughput;
    JobIopsOverTime JOB_IOPS_OVER_TIME "job-iops-over-time" Time Iops;
    ThroughputOverAddress THROUGHPUT_OVER_ADDRESS "throughput-over-address" Address Throughput;
    ZonesOverAddress ZONES_OVER_ADDRESS "zones-over-address" Address ZoneThroughput;
    LatencyRead LATENCY_READ "latency-read" Latency FractionOfRequests;
    LatencyWrite LATENCY_WRITE "latency-write" Latency FractionOfRequests;
    IopsAgainstDepth IOPS_AGAINST_DEPTH "iops-against-depth" QueueDepth Iops;
    P90AgainstDepth P90_AGAINST_DEPTH "p90-against-depth" QueueDepth LatencyP90;
    ScoreAgainstDepth SCORE_AGAINST_DEPTH "score-against-depth" QueueDepth Score;
    DepthReached DEPTH_REACHED "depth-reached" QueueDepth DepthReached;
    ThroughputAgainstBlockSize THROUGHPUT_AGAINST_BLOCK_SIZE "throughput-against-block-size" BlockSize Throughput;
    IopsAgainstBlockSize IOPS_AGAINST_BLOCK_SIZE "iops-against-block-size" BlockSize Iops;
    ResponseAgainstBlockSize RESPONSE_AGAINST_BLOCK_SIZE "response-against-block-size" BlockSize Latency;
    ResponseModel RESPONSE_MODEL "response-model" BlockSize Latency;
    ThroughputShare THROUGHPUT_SHARE "throughput-share" BlockSize FractionOfMaximum;
    IopsShare IOPS_SHARE "iops-share" BlockSize FractionOfMaximum;
    IopsByRound IOPS_BY_ROUND "iops-by-round" Round Iops;
    CorridorHigh CORRIDOR_HIGH "corridor-high" Round Iops;
    CorridorLow CORRIDOR_LOW "corridor-low" Round Iops;
    CorridorSlope CORRIDOR_SLOPE "corridor-slope" Round Iops;
    ThroughputAgainstWritten THROUGHPUT_AGAINST_WRITTEN "throughput-against-written" BytesWritten Throughput;
    ThroughputRandom THROUGHPUT_RANDOM "throughput-random" Round Throughput;
    ThroughputZero THROUGHPUT_ZERO "throughput-zero" Round Throughput;
    ThroughputRepeat THROUGHPUT_REPEAT "throughput-repeat" Round Throughput;
    ThroughputAgainstReadAhead THROUGHPUT_AGAINST_READ_AHEAD "throughput-against-read-ahead" ReadAhead Throughput;
    TimesBuffered4096 TIMES_BUFFERED_4096 "times-buffered-4096" Latency FractionOfWrites;
    TimesBuffered4000 TIMES_BUFFERED_4000 "times-buffered-4000" Latency FractionOfWrites;
    TimesDirect4096 TIMES_DIRECT_4096 "times-direct-4096" Latency FractionOfWrites;
    TimesDirect512 TIMES_DIRECT_512 "times-direct-512" Latency FractionOfWrites;
    WriteTimeAgainstRecordSize WRITE_TIME_AGAINST_RECORD_SIZE "write-time-against-record-size" RecordSize WriteTime;
    SyncTimeAgainstRecordSize SYNC_TIME_AGAINST_RECORD_SIZE "sync-time-against-record-size" RecordSize SyncTime;
    CloseTimeAgainstRecordSize CLOSE_TIME_AGAINST_RECORD_SIZE "close-time-against-record-size" RecordSize CloseTime;
    ThroughputBuffered THROUGHPUT_BUFFERED "throughput-buffered" RecordSize Throughput;
    ThroughputDirect THROUGHPUT_DIRECT "throughput-direct" RecordSize Throughput;
    IopsAgainstBatch IOPS_AGAINST_BATCH "iops-against-batch" ReorderBuffer Iops;
    StrokeResponses STROKE_RESPONSES "stroke-responses" ReadNumber Latency;
    StrokeEdge STROKE_EDGE "stroke-edge" ReadNumber Latency;
    RotationalPart ROTATIONAL_PART "rotational-part" RotationalDelay Reads;
    SeekResponses SEEK_RESPONSES "seek-responses" StrokeFraction Time;
    SeekEnvelope SEEK_ENVELOPE "seek-envelope" StrokeFraction Time;
    SeekCurve SEEK_CURVE "seek-curve" StrokeFraction Time;
    JumpResponses JUMP_RESPONSES "jump-responses" JumpBeyondCylinder Latency;
    SectorsPerTrack SECTORS_PER_TRACK "sectors-per-track" Address SectorsPerTrack;
    AngleOverAddress ANGLE_OVER_ADDRESS "angle-over-address" Address Angle;
    Platter PLATTER "platter" Angle Radius;
    CoherenceSpectrum COHERENCE_SPECTRUM "coherence-spectrum" RotationSpeed Coherence;
}

impl SeriesKind {
    /// The quantities on the x axis and the y axis.
    #[must_use]
    pub const fn axes(self) -> [AxisQuantity; 2] {
        self.row().1
    }
}

impl Kind for SeriesKind {
    fn from_name(name: &str) -> Option<Self> {
        let mut kinds = Self::ALL.iter().copied();
        kinds.find(|kind| kind.row().0 == name)
    }
}

/// The name in the document.
impl fmt::Display for SeriesKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.row().0)
    }
}
