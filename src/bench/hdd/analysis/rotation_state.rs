//! The rotation that was found, and how certain it is.

use std::time::Duration;

use crate::stats::rotation::epoch_folding::EpochFolding;

/// Minimum number of pairs for a result.
pub const MIN_PAIRS: usize = 24;

/// Result of the rotation estimate.
#[derive(Debug, Clone, PartialEq)]
pub enum RotationState {
    /// The medium rotates.
    Rotating(RevolutionEstimate),
    /// Weak periodicity.
    Doubtful(RevolutionEstimate),
    /// Nothing rotates; holds the period of highest coherence.
    NotRotating(RevolutionEstimate),
    /// Nothing rotates: the reads are faster than any platter.
    TooFast(RevolutionEstimate),
    /// No period was found, but this program waited for a CPU so long that a platter's may be hidden;
    /// holds the mean of that time per read.
    ProcessorsBusy(Duration),
    /// Completions follow a clock common to all sectors: no platter.
    PeriodicClock(RevolutionEstimate),
    /// Too few pairs; holds their number.
    TooFewPairs(usize),
}

/// The best period of all pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct RevolutionEstimate {
    /// Speed, confidence interval and coherence.
    pub epoch_folding: EpochFolding,
    /// Number of pairs of reads of the same sector.
    pub pair_count: usize,
    /// Number of pairs excluded because the cache answered.
    pub cached_pairs: usize,
    /// Coherence between different sectors: near 0 on a platter, where their angles are spread
    /// evenly.
    pub cross_sector_coherence: f64,
    /// Median latency in seconds.
    pub median_response: f64,
    /// Increase of the wake-up latency per e-fold of waiting time, in seconds: the longer
    /// processors idle, the deeper their sleep state. At least 0.
    pub wakeup_latency: f64,
    /// Standard error of `wakeup_latency`.
    pub wakeup_latency_error: f64,
    /// Latencies in seconds of reads that a cache answered.
    pub cached_responses: Vec<f64>,
    /// C(f): frequency in 1/s, coherence.
    pub spectrum: Vec<(f64, f64)>,
}

impl RevolutionEstimate {
    /// Time of one revolution in seconds.
    #[must_use]
    pub fn revolution_seconds(&self) -> f64 {
        1.0 / self.epoch_folding.frequency
    }
}
