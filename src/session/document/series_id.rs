//! Identity of a series, and the quantities on its axes, each defined once.

use std::borrow::Cow;
use std::fmt;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::metric_unit::MetricUnit;
use crate::files::safe_text::{self, SafeText};

macro_rules! define_axes {
    ($($quantity:ident $label:literal $unit:ident;)*) => {
        /// The quantity on a chart's axis.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum AxisQuantity {
            $(
                #[doc = concat!("The ", $label, ".")]
                $quantity,
            )*
        }

        impl AxisQuantity {
            /// All quantities.
            pub const ALL: &[Self] = &[$(Self::$quantity),*];

            /// Label of the axis.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$quantity => $label,)*
                }
            }

            /// Unit of the quantity.
            #[must_use]
            pub const fn unit(self) -> MetricUnit {
                match self {
                    $(Self::$quantity => MetricUnit::$unit,)*
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

impl AxisQuantity {
    /// Whether the quantity is a size of blocks or buffers, which is displayed in binary units.
    #[must_use]
    pub fn is_block_size(self) -> bool {
        matches!(self, Self::BlockSize | Self::RecordSize | Self::ReadAhead)
    }

    /// The quantity with this label.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.label() == label)
    }
}

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

        impl SeriesKind {
            /// All series.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The series with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$kind),)*
                    _ => None,
                }
            }

            /// The name in the document.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Quantities of the horizontal and the vertical axis.
            #[must_use]
            pub const fn axes(self) -> [AxisQuantity; 2] {
                match self {
                    $(Self::$kind => [AxisQuantity::$x, AxisQuantity::$y],)*
                }
            }
        }

        impl SeriesId {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $constant: Self = Self {
                    benchmark: None,
                    shown: ShownSeries::Known(SeriesKind::$kind),
                };
            )*
        }
    };
}

/// Identity of a series: what it shows, and the nested benchmark that yielded it.
///
/// In a document it is a name: `iops-over-time`, `random-read/iops-over-time`. A name from
/// elsewhere that is none of ours is kept as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SeriesId {
    benchmark: Option<Cow<'static, str>>,
    shown: ShownSeries,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ShownSeries {
    Known(SeriesKind),
    Other(SafeText),
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

impl SeriesId {
    /// The series of the benchmark itself.
    #[must_use]
    pub const fn of(kind: SeriesKind) -> Self {
        Self {
            benchmark: None,
            shown: ShownSeries::Known(kind),
        }
    }

    /// The series of a nested benchmark, such as `random-read/iops-over-time`.
    #[must_use]
    pub const fn of_nested(benchmark: &'static str, kind: SeriesKind) -> Self {
        Self {
            benchmark: Some(Cow::Borrowed(benchmark)),
            shown: ShownSeries::Known(kind),
        }
    }

    /// Reads a name, such as `random-read/iops-over-time`.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        let (benchmark, own) = match name.rsplit_once('/') {
            Some((benchmark, own)) => (Some(SafeText::from(benchmark).into()), own),
            None => (None, name),
        };
        Self {
            benchmark,
            shown: SeriesKind::from_name(own)
                .map_or_else(|| ShownSeries::Other(own.into()), ShownSeries::Known),
        }
    }

    /// The same series as a result of a nested benchmark.
    #[must_use]
    pub fn nested_in(&self, benchmark: &str) -> Self {
        let path = match &self.benchmark {
            Some(inner) => format!("{benchmark}/{inner}"),
            None => benchmark.to_owned(),
        };
        Self {
            benchmark: Some(path.into()),
            ..self.clone()
        }
    }

    /// The series within its nested benchmark, without the name of that benchmark.
    #[must_use]
    pub fn within_benchmark(&self) -> Self {
        Self {
            benchmark: None,
            ..self.clone()
        }
    }

    /// What the series shows; `None` for a name from elsewhere.
    #[must_use]
    pub const fn kind(&self) -> Option<SeriesKind> {
        match self.shown {
            ShownSeries::Known(kind) => Some(kind),
            ShownSeries::Other(_) => None,
        }
    }

    /// The nested benchmark that yielded the series, if any.
    #[must_use]
    pub fn benchmark(&self) -> Option<&str> {
        self.benchmark.as_deref()
    }
}

/// The name in the document.
impl fmt::Display for SeriesId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = match &self.shown {
            ShownSeries::Known(kind) => kind.name(),
            ShownSeries::Other(name) => name,
        };
        match &self.benchmark {
            Some(benchmark) => formatter.pad(&format!("{benchmark}/{own}")),
            None => formatter.pad(own),
        }
    }
}

impl Serialize for SeriesId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SeriesId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&safe_text::name(deserializer)?))
    }
}

#[cfg(test)]
impl JsonSchema for SeriesId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SeriesId".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_name_reads_back_as_same_id() {
        for kind in SeriesKind::ALL {
            let id = SeriesId::of(*kind);
            for id in [id.nested_in("survey"), id] {
                assert_eq!(SeriesId::parse(&id.to_string()), id);
            }
        }
        let foreign = SeriesId::parse("their/own series");
        assert_eq!(
            (foreign.to_string().as_str(), foreign.kind()),
            ("their/own series", None)
        );
    }

    #[test]
    fn axis_labels_are_distinct() {
        for quantity in AxisQuantity::ALL {
            assert_eq!(AxisQuantity::from_label(quantity.label()), Some(*quantity));
        }
    }
}
