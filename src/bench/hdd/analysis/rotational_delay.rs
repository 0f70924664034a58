//! The rotational delay in latencies: its lower edge, its width, and whether it has the
//! uniform distribution of a platter.

use serde_json::json;

use super::checks::SEEK_DOUBTFUL;
use crate::session::document::Verdict;
use crate::stats::general::anderson_darling::CRITICAL_1_PERCENT;
use crate::stats::general::robust;
use crate::stats::rotation::uniform::UniformLaw;
use crate::stats::rotation::{threshold, uniform};

/// Sample size of the uniformity test: large enough to detect other distributions, small enough to
/// tolerate the deviations of every real drive at the edges.
const REFERENCE_OBSERVATIONS: usize = 300;
/// The same if the revolution is estimated from these responses too: it must detect a band that is
/// a tenth too wide because the seek distances differ.
const MIN_OBSERVATIONS: usize = 1000;
/// Number of responses from which a revolution can be estimated: of slices of the recordings in
/// `tests/recorded_drives` with 500 or 1000 reads one in ten is wrong by 5 to 55 % and as uniform
/// as that of a platter.
const ENOUGH_ALONE: usize = 2 * MIN_OBSERVATIONS;
/// Minimum fraction of responses that must follow the distribution.
const MIN_FRACTION_INSIDE: f64 = 0.7;

/// The rotational delay of a set of responses.
#[derive(Debug, Clone, PartialEq)]
pub struct RotationalDelay {
    /// Lower edge: everything except the rotation, in seconds.
    pub lower_edge: UniformLaw,
    /// Fraction of responses within one revolution above the edge.
    pub fraction_inside: f64,
    /// A² of Anderson and Darling, scaled to at most 300 responses.
    pub anderson_darling: f64,
    /// Positions within the revolution of the responses inside it, ascending, 0 to 1.
    pub rotational_positions: Vec<f64>,
    /// Number of responses, if the revolution is estimated from too few for a uniformity test.
    pub too_few: Option<usize>,
}

/// Finds the rotational delay in `(address, response in seconds)`. An unknown revolution is
/// estimated from the responses alone, which requires more of them. `None` for too few responses.
#[must_use]
pub fn analyse_rotational_delay(
    responses: &[(u64, f64)],
    revolution: Option<f64>,
) -> Option<RotationalDelay> {
    let ascending = robust::sorted_finite(responses.iter().map(|(_, response)| *response));
    let width = match revolution {
        Some(known) => known,
        None => estimate_revolution(responses)?,
    };
    let observations = match revolution {
        Some(_) => REFERENCE_OBSERVATIONS,
        None => MIN_OBSERVATIONS,
    };
    let edge = uniform::uniform_of_known_width(&ascending, width)?;
    Some(RotationalDelay {
        fraction_inside: edge.observations_inside as f64 / ascending.len() as f64,
        anderson_darling: edge.anderson_darling(&ascending, observations)?,
        rotational_positions: edge.relative_positions(&ascending),
        too_few: (revolution.is_none() && ascending.len() < ENOUGH_ALONE)
            .then_some(ascending.len()),
        lower_edge: edge,
    })
}

/// Which quantile of the varying times before the rotational delay is the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEdge {
    /// Lower quartile: for seeks of one distance, which may be late but never early.
    LowerQuartile,
    /// Median: for seeks of slightly different distances.
    Median,
}

/// Like [`analyse_rotational_delay`], with an edge and a confidence interval that account for
/// the variation of single seeks.
#[must_use]
pub fn measure_rotational_delay(
    responses: &[(u64, f64)],
    revolution: f64,
    which: WaitEdge,
) -> Option<RotationalDelay> {
    let part = analyse_rotational_delay(responses, Some(revolution))?;
    let ascending = robust::sorted_finite(responses.iter().map(|(_, response)| *response));
    let found = threshold::threshold_of_band(&ascending, revolution)?;
    let (lower, limits) = match which {
        WaitEdge::LowerQuartile => (found.lower_quartile, found.seek_interval),
        WaitEdge::Median => (found.median, found.median_interval),
    };
    Some(RotationalDelay {
        lower_edge: UniformLaw {
            lower,
            lower_interval: limits,
            ..part.lower_edge
        },
        ..part
    })
}

/// Estimates the revolution in seconds from latencies alone: the width of their distribution,
/// by quarters of the address range, because seek times differ between outer and inner tracks.
fn estimate_revolution(responses: &[(u64, f64)]) -> Option<f64> {
    let mut by_address = responses.to_vec();
    by_address.sort_by_key(|(address, _)| *address);
    let quarter = by_address.len().div_ceil(4).max(1);
    let width = |part: &[(u64, f64)]| {
        let ascending = robust::sorted_finite(part.iter().map(|(_, response)| *response));
        uniform::uniform_of_unknown_width(&ascending).map(|law| law.width)
    };
    robust::median(by_address.chunks(quarter).filter_map(width))
}

impl RotationalDelay {
    /// Why the result is not reliable; `None` if no problem is detected.
    #[must_use]
    pub fn check_plausibility(&self) -> Option<Verdict> {
        if let Some(responses) = self.too_few {
            return Some(SEEK_DOUBTFUL.found(
                format!("the revolution is estimated from {responses} reads"),
                format!("an estimate without a known revolution needs {ENOUGH_ALONE} reads"),
                json!({ "reason": "few-responses", "responses": responses, "needed": ENOUGH_ALONE }),
            ));
        }
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
