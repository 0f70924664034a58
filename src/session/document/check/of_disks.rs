//! Evidence of the checks that the benchmarks of hard disks make.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result for which reads are collected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProbedQuantity {
    /// The rotation speed.
    Rotation,
    /// The full-stroke seek time.
    FullStroke,
    /// The track-to-track seek time.
    TrackToTrack,
    /// The seek curve.
    SeekCurve,
    /// The geometry: length of tracks.
    Geometry,
}

/// Why there are too few reads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum ProbeShortage {
    /// Fewer usable reads than needed.
    FewReads {
        /// What they are needed for.
        quantity: ProbedQuantity,
        /// Number of usable reads.
        found: usize,
        /// Number of reads needed.
        needed: usize,
    },
    /// The benchmark ended before the length of a track was known.
    NoTrackLength,
}

/// Coherence of the completion times of pairs of reads of the same sector.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PairCoherence {
    /// Median latency of the reads in seconds.
    pub median_response_seconds: f64,
    /// Highest coherence, 0 to 1.
    pub coherence: f64,
    /// Coherence that chance alone reaches, 0 to 1.
    pub chance_coherence: f64,
    /// Number of pairs, without those that a cache served.
    pub pairs: usize,
    /// Number of pairs that a cache served.
    pub cached_pairs: usize,
}

/// Why the drive does not rotate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum NonRotation {
    /// The completion times have no common period.
    Incoherent(PairCoherence),
    /// The reads are faster than the fastest platter.
    FastReads {
        /// Median latency of the reads in seconds.
        median_response_seconds: f64,
        /// Number of pairs of reads, without those that a cache served.
        pairs: usize,
    },
    /// The completion times of all sectors are periodic.
    PeriodicClock {
        /// Frequency of the clock in hertz.
        frequency_hz: f64,
        /// Coherence of different sectors, 0 to 1.
        cross_sector_coherence: f64,
    },
}

/// Reads that waited for a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DelayedReads {
    /// Mean time per read for which this program was ready and waited for a CPU, in seconds.
    pub run_delay_seconds: f64,
}

/// The class of a rotation speed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SpeedClass {
    /// Measured speed in revolutions per minute.
    pub measured_rpm: f64,
    /// Nominal speed of the class in revolutions per minute; null for none.
    pub class_rpm: Option<f64>,
}

/// A rotation speed compared with the reported one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ReportedSpeed {
    /// Speed that the drive reports, in revolutions per minute.
    pub reported_rpm: u32,
    /// Measured speed in revolutions per minute.
    pub measured_rpm: f64,
}

/// The kernel's rotational flag, which the measurement contradicts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RotationalFlag {
    /// Value of the flag.
    pub flag: bool,
}

/// Why a seek time is doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum SeekDoubt {
    /// The revolution is estimated from too few reads.
    FewResponses {
        /// Number of reads.
        responses: usize,
        /// Number of reads that an estimate needs.
        needed: usize,
    },
    /// The rotational delays are not uniformly distributed.
    Distribution {
        /// Fraction of the reads within one revolution above the edge, 0 to 1.
        fraction_inside: f64,
        /// The edge in seconds.
        edge_seconds: f64,
        /// Anderson-Darling statistic of the distribution.
        anderson_darling: f64,
        /// Critical value of that statistic at 1 %.
        critical_value: f64,
    },
    /// Jumps do not end at the angle of the next cylinder.
    OffTrack {
        /// Fraction of the jumps that end at that angle, 0 to 1.
        fraction_on_line: f64,
        /// Fraction of these within one revolution, 0 to 1.
        fraction_inside: f64,
    },
    /// The delays are doubtful in several ranges of the seek curve.
    CurveRanges {
        /// Number of those ranges.
        ranges: usize,
    },
}

/// A wide confidence interval of a seek time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SeekMargin {
    /// Half the width of the interval as a fraction of the seek time.
    pub relative_margin: f64,
}

/// Jumps that are shorter than a cylinder.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ShortSpan {
    /// Length of a jump in bytes.
    pub span_bytes: f64,
    /// Size of a cylinder in bytes.
    pub cylinder_bytes: f64,
}

/// Pattern of the skews between tracks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SkewPattern {
    /// All skews are equal.
    Uniform,
    /// The skews show no pattern.
    Irregular,
}

/// Skews of tracks that do not show the end of a cylinder.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CylinderScan {
    /// Number of scanned tracks.
    pub tracks: usize,
    /// Pattern of the skews.
    pub skews: SkewPattern,
}

/// Why the number of surfaces is not determined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum SurfaceScan {
    /// The angles of the scanned sectors show no tracks.
    NoTracks,
    /// The skews of the tracks do not show it.
    Skews(CylinderScan),
}

/// Zones found before the end of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FoundZones {
    /// Number of zones.
    pub zones: usize,
}
