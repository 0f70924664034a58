//! The shortest seek, from a walk: the edge of its jumps minus the command overhead between them.

use serde_json::json;

use super::checks::SEEK_DOUBTFUL;
use super::drive_timing::DriveTiming;
use super::rotational_delay::{RotationalDelay, WaitEdge};
use super::seek_walk;
use super::seek_walk::{JumpBatch, JumpLine, SeekJump, SeekWalk};
use crate::session::document::check::Check;
use crate::session::document::{Metric, MetricId, Verdict};
use crate::stats::general::{confidence, robust};
use crate::units;

/// A wide confidence interval.
pub const SEEK_UNCERTAIN: Check = Check::warning(
    "seek-uncertain",
    "Half the width of the 95 % CI is more than 5 % of the seek time.",
);

/// Minimum number of jumps for an estimate from one batch.
const MIN_JUMPS_PER_BATCH: usize = 40;
/// Half-width of the confidence interval, as a fraction of the seek time, above which it is
/// uncertain.
const MAX_RELATIVE_MARGIN: f64 = 0.05;

/// Minimum fraction of whole-cylinder jumps that must end at the predicted angle.
const MIN_FRACTION_ON_LINE: f64 = 0.6;

/// Seek time estimate from a walk.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackToTrackEstimate {
    /// The edge from the jumps that moved the actuator by one cylinder; the distribution within the
    /// revolution from all jumps that were not aimed.
    pub rotational_delay: RotationalDelay,
    /// Drive timing with the command overhead measured between the jumps.
    pub drive_timing: DriveTiming,
    /// Fraction of jumps that end at the angle predicted for the next cylinder.
    pub fraction_on_line: f64,
    /// Error of the seek time in seconds, from the disagreement of its batches: an intermittently
    /// busy computer delays some of them more than others. `None` for too few batches.
    pub batch_margin: Option<f64>,
}

/// The edge of the jumps that moved the actuator by one cylinder; of all jumps if these cannot be
/// identified.
fn single_cylinder_edge<'a>(
    jumps: impl Iterator<Item = &'a SeekJump>,
    line: Option<JumpLine>,
    revolution: f64,
) -> Option<RotationalDelay> {
    let punctual = |jump: &SeekJump| match line {
        Some(line) => jump
            .lies_on_line(line, revolution)
            .then(|| jump.punctual(line, revolution)),
        None => Some(jump.response),
    };
    let responses: Vec<f64> = jumps.filter_map(punctual).collect();
    RotationalDelay::measure(&responses, revolution, WaitEdge::LowerQuartile)
}

/// The 95 % margin of the mean of the estimates of single batches.
fn margin_between_batches(
    aimed: &[JumpBatch],
    line: Option<JumpLine>,
    revolution: f64,
) -> Option<f64> {
    let alone = |batch: &JumpBatch| {
        let edge = single_cylinder_edge(batch.jumps.iter(), line, revolution)?.lower_edge;
        let command = seek_walk::command_quantile(&batch.command_responses).unwrap_or(0.0);
        (edge.observations_inside >= MIN_JUMPS_PER_BATCH).then_some(edge.lower - command)
    };
    let values: Vec<f64> = aimed.iter().filter_map(alone).collect();
    confidence::independent_mean_estimate(&values)?.margin_of_error()
}

impl TrackToTrackEstimate {
    /// The estimate from the walk so far; `None` for too few jumps.
    pub fn from_walk(walk: &SeekWalk, timing: &DriveTiming) -> Option<Self> {
        let turn = timing.revolution;
        let uniform = seek_walk::all_jumps(&walk.uniform_batches);
        let responses: Vec<f64> = uniform.map(|jump| jump.response).collect();
        let mut rotational_delay = RotationalDelay::find(&responses, turn)?;
        let line = walk.jump_line(turn);
        let jumps = walk.batches().flat_map(|batch| &batch.jumps);
        let edge = single_cylinder_edge(jumps, line, turn)?;
        rotational_delay.lower_edge = edge.lower_edge;
        rotational_delay.fraction_inside = edge.fraction_inside;
        Some(Self {
            rotational_delay,
            drive_timing: DriveTiming {
                command_overhead: walk.command_overhead(timing),
                ..*timing
            },
            fraction_on_line: walk.fraction_on_line(turn),
            batch_margin: margin_between_batches(&walk.edge_batches, line, turn),
        })
    }

    /// The seek time as a metric; the block passes under the head in `passing` seconds.
    pub fn seek_metric(&self, passing: f64) -> Metric {
        let id = MetricId::TRACK_TO_TRACK_SEEK;
        let metric = self
            .rotational_delay
            .seek_metric(id, &self.drive_timing, passing);
        let margin = 1e9 * self.batch_margin.unwrap_or(0.0);
        let (low, high) = (metric.value - margin, metric.value + margin);
        let low =
            metric.low.map_or(low, |known| known.min(low)) - 1e9 * self.edge_resolution(passing);
        let high = metric.high.map_or(high, |known| known.max(high));
        metric.with_interval(low, high)
    }

    /// Resolution of the edge in seconds. Blocks arrive at intervals of their passage time, and the
    /// number of repeated reads before a jump shifts the phase of the start. Between two of these
    /// phases nothing is observable: the fastest seeks may end anywhere within the interval.
    fn edge_resolution(&self, passing: f64) -> f64 {
        let Some(command) = self.drive_timing.command_overhead else {
            return passing;
        };
        let shift = |repeats| (repeats as f64 * command.median_seconds).rem_euclid(passing);
        let shifts = robust::sorted_finite((1..=seek_walk::MAX_REPEATS).map(shift));
        let after_last = shifts.first().map(|first| first + passing);
        let next = shifts.iter().skip(1).copied().chain(after_last);
        let gaps = shifts.iter().zip(next).map(|(shift, next)| next - shift);
        gaps.fold(0.0, f64::max)
    }

    /// The check for an unreliable metric: the blocks are not at the predicted angles, or the
    /// confidence interval is too wide.
    pub fn check_plausibility(&self, seek: &Metric) -> Option<Verdict> {
        let fraction_inside = self.rotational_delay.fraction_inside;
        if self.fraction_on_line < MIN_FRACTION_ON_LINE || fraction_inside < MIN_FRACTION_ON_LINE {
            return Some(SEEK_DOUBTFUL.found(
                format!(
                    "{} of the jumps end at the angle of the next cylinder, and {} of these within one \
                     revolution",
                    units::format_percent(self.fraction_on_line),
                    units::format_percent(fraction_inside)
                ),
                "the rotational delays are not those of a disk: stop other users of the drive and \
                 repeat the run",
                json!({
                    "reason": "off-track",
                    "fraction_on_line": self.fraction_on_line,
                    "fraction_inside": fraction_inside,
                }),
            ));
        }
        let margin = 0.5 * (seek.high? - seek.low?) / seek.value;
        if (0.0..=MAX_RELATIVE_MARGIN).contains(&margin) {
            return None;
        }
        Some(SEEK_UNCERTAIN.found(
            format!(
                "the margin of the seek time is {}: single seeks, commands and this computer vary by as \
                 much",
                units::format_percent(margin.abs())
            ),
            "stop other programs and other users of the drive, and repeat the run",
            json!({ "relative_margin": margin.abs() }),
        ))
    }
}
