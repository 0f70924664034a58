//! The rotational delay in latencies: its lower edge, its width, and whether it has the
//! uniform distribution of a platter.

use serde_json::json;

use super::checks::SEEK_DOUBTFUL;
use super::drive_timing::DriveTiming;
use super::prober::SECTOR_BYTES;
use crate::session::document::{Metric, MetricId, Series, SeriesKind, Verdict};
use crate::stats::general::anderson_darling::{CRITICAL_1_PERCENT, a_squared};
use crate::stats::general::robust;
use crate::stats::rotation::uniform::UniformLaw;
use crate::stats::rotation::{threshold, uniform};

/// Sample size of the uniformity test: large enough to detect other distributions, small enough to
/// tolerate the deviations of every real drive at the edges.
const REFERENCE_OBSERVATIONS: f64 = 300.0;
/// Minimum fraction of responses that must follow the distribution.
const MIN_FRACTION_INSIDE: f64 = 0.7;
/// Maximum command overhead of a drive in seconds.
const MAX_COMMAND_SECONDS: f64 = 0.4e-3;
/// Bytes per second of the slowest interface: a block from the cache takes that long to transfer,
/// while a block from the medium is transferred as it is read.
const MIN_INTERFACE_RATE: f64 = 300e6;

/// The rotational delay of a set of responses.
#[derive(Debug, Clone, PartialEq)]
pub struct RotationalDelay {
    /// Lower edge: everything except the rotation, in seconds.
    pub lower_edge: UniformLaw,
    /// Fraction of responses within one revolution above the edge.
    pub fraction_inside: f64,
    /// A² of Anderson and Darling, scaled down to at most 300 responses, so that irrelevant
    /// deviations do not fail a large sample.
    pub anderson_darling: f64,
    /// Positions within the revolution of the responses inside it, ascending, 0 to 1.
    pub rotational_positions: Vec<f64>,
}

/// Which quantile of the varying times before the rotational delay is the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEdge {
    /// Lower quartile: for seeks of one distance, which may be late but never early.
    LowerQuartile,
    /// Median: for seeks of slightly different distances.
    Median,
}

impl RotationalDelay {
    /// Finds the rotational delay in responses, in seconds. `None` for too few of them.
    pub fn find(responses: &[f64], revolution: f64) -> Option<Self> {
        let ascending = robust::sorted_finite(responses.iter().copied());
        let edge = uniform::uniform_of_known_width(&ascending, revolution)?;
        let positions = edge.relative_positions(&ascending);
        let scale = (REFERENCE_OBSERVATIONS / positions.len() as f64).min(1.0);
        Some(Self {
            fraction_inside: edge.observations_inside as f64 / ascending.len() as f64,
            anderson_darling: a_squared(&positions)? * scale,
            rotational_positions: positions,
            lower_edge: edge,
        })
    }

    /// Like [`Self::find`], with an edge and a confidence interval that account for the variation of
    /// single seeks.
    pub fn measure(responses: &[f64], revolution: f64, which: WaitEdge) -> Option<Self> {
        let mut part = Self::find(responses, revolution)?;
        let ascending = robust::sorted_finite(responses.iter().copied());
        let found = threshold::threshold_of_band(&ascending, revolution)?;
        (part.lower_edge.lower, part.lower_edge.lower_interval) = match which {
            WaitEdge::LowerQuartile => (found.lower_quartile, found.seek_interval),
            WaitEdge::Median => (found.median, found.median_interval),
        };
        Some(part)
    }

    /// The seek time as a metric: the edge of the latencies, minus the command overhead and the
    /// `passing` time of the block (in seconds). The spread of the command overhead widens the
    /// confidence interval, as does the wake-up latency, which is as uncertain as it is long. An
    /// unknown command overhead remains in the metric; the lower bound then excludes it.
    pub fn seek_metric(&self, id: MetricId, timing: &DriveTiming, passing: f64) -> Metric {
        let edge = &self.lower_edge;
        let (electronics, spread) = timing.fixed_overhead(edge.lower);
        let net = |seconds: f64| 1e9 * (seconds - electronics - passing);
        let known = timing.command_overhead;
        let unknown = known.map_or(MAX_COMMAND_SECONDS, |_| 0.0);
        let wire = SECTOR_BYTES / MIN_INTERFACE_RATE;
        let (low, high) = edge.lower_interval;
        Metric::new(id, net(edge.lower))
            .with_interval(net(low - spread - unknown), net(high + spread + wire))
            .with_observations(edge.observations_inside as u64)
    }

    /// Histogram of the rotational delay over the revolution, with a bar per twentieth. The bars of a
    /// platter are about equally high.
    pub fn distribution(&self) -> Series {
        const BAR_COUNT: usize = 20;
        let mut counts = [0_u32; BAR_COUNT];
        for share in &self.rotational_positions {
            counts[((share * BAR_COUNT as f64) as usize).min(BAR_COUNT - 1)] += 1;
        }
        let middle = |index: usize| (index as f64 + 0.5) / BAR_COUNT as f64;
        let bars = counts.iter().enumerate();
        let bars = bars.map(|(index, count)| [middle(index), f64::from(*count)]);
        Series::new(SeriesKind::RotationalPart, bars.collect())
    }

    /// Why the result is not reliable; `None` if no problem is detected.
    pub fn check_plausibility(&self) -> Option<Verdict> {
        let is_uneven = self.anderson_darling > CRITICAL_1_PERCENT;
        if !is_uneven && self.fraction_inside >= MIN_FRACTION_INSIDE {
            return None;
        }
        Some(SEEK_DOUBTFUL.found(
            format!(
                "{:.0} % of the reads are within one revolution above {:.3} ms; the Anderson-Darling \
                 statistic of their distribution is {:.1} (critical value {CRITICAL_1_PERCENT})",
                100.0 * self.fraction_inside,
                1e3 * self.lower_edge.lower,
                self.anderson_darling,
            ),
            "the rotational delays are not those of a disk: stop other users of the drive, and check \
             that every jump leaves the cylinder",
            json!({
                "reason": "distribution",
                "fraction_inside": self.fraction_inside,
                "edge_seconds": self.lower_edge.lower,
                "anderson_darling": self.anderson_darling,
                "critical_value": CRITICAL_1_PERCENT,
            }),
        ))
    }
}
