//! The workloads with random offsets, and the percentiles that they report.

use crate::bench::{ParameterSet, framework};
use crate::engine::IoOperation;
use crate::session::document::{MetricKind, Percentile};

pub(super) const P50: Percentile = Percentile::from_tenths(500);
pub(super) const P90: Percentile = Percentile::from_tenths(900);
pub(super) const P99: Percentile = Percentile::from_tenths(990);
pub(super) const P99_9: Percentile = Percentile::from_tenths(999);

pub(super) const LATENCY_P50: MetricKind = MetricKind::LatencyPercentile(P50);
pub(super) const LATENCY_P99: MetricKind = MetricKind::LatencyPercentile(P99);

pub(super) const PERCENTILES: [Percentile; 4] = [P50, P90, P99, P99_9];

/// The requests of a benchmark with random offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RandomWorkload {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes; a parameter is the fraction of the reads.
    Mixed,
}

impl RandomWorkload {
    /// The operation of the plan.
    pub(super) fn operation(self, parameters: &ParameterSet) -> IoOperation {
        match self {
            Self::Read => IoOperation::Read,
            Self::Write => IoOperation::Write,
            Self::Mixed => IoOperation::Mixed {
                reads: parameters.get(framework::READ_FRACTION),
            },
        }
    }
}
