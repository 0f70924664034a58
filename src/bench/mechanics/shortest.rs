//! The shortest seek, from a walk: the edge of its jumps less the commands between them.

use super::walk::{self, Batch, Jump, Walk};
use super::{Clockwork, RotationalPart, rotational};
use crate::session::document::{Figure, Severity, Verdict};
use crate::stats::confidence;
use crate::units;

/// Jumps without which a batch says nothing by itself.
const ENOUGH: usize = 40;
/// Half the width of the limits, as a share of the seek, from which it is called uncertain.
const UNCERTAIN: f64 = 0.05;

/// What a walk says of the seek.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortest {
    /// The edge from all jumps; how even the law is from those that were not aimed.
    pub part: RotationalPart,
    /// The clockwork with the command as it was between the jumps.
    pub clockwork: Clockwork,
    /// How far the seek may be off, in seconds, as its batches disagree: a computer that is busy
    /// now and then delays some of them more than others. `None` for too few.
    pub margin: Option<f64>,
}

/// What the walk says so far; `None` for too few jumps.
#[must_use]
pub fn analyse(walk: &Walk, clockwork: &Clockwork) -> Option<Shortest> {
    let raw: Vec<_> = walk::jumps(&walk.even)
        .map(|jump| (jump.address, jump.response))
        .collect();
    let even = rotational::analyse(&raw, Some(clockwork.revolution))?;
    let line = walk.line(clockwork.revolution);
    let all = edge(
        walk.batches().flat_map(|batch| &batch.jumps),
        line,
        clockwork,
    )?;
    Some(Shortest {
        part: RotationalPart {
            edge: all.edge,
            ..even
        },
        clockwork: Clockwork {
            command: walk.command(clockwork),
            ..*clockwork
        },
        margin: margin(&walk.aimed, line, clockwork),
    })
}

/// The edge of some jumps.
fn edge<'a>(
    jumps: impl Iterator<Item = &'a Jump>,
    line: Option<f64>,
    clockwork: &Clockwork,
) -> Option<RotationalPart> {
    let turn = clockwork.revolution;
    let punctual: Vec<(u64, f64)> = jumps
        .map(|jump| (jump.address, jump.punctual(line, turn)))
        .collect();
    rotational::analyse_blurred(&punctual, turn, walk::QUANTILE)
}

/// The 95 % margin of the mean of what every batch says alone.
fn margin(aimed: &[Batch], line: Option<f64>, clockwork: &Clockwork) -> Option<f64> {
    let alone = |batch: &Batch| {
        let edge = edge(batch.jumps.iter(), line, clockwork)?.edge.lower;
        Some(edge - walk::typical_command(&batch.commands).unwrap_or(0.0))
    };
    let values: Vec<f64> = aimed
        .iter()
        .filter(|batch| batch.jumps.len() >= ENOUGH)
        .filter_map(alone)
        .collect();
    confidence::independent(&values)?.margin()
}

impl Shortest {
    /// The seek as a figure; the block passes under the head in `passing` seconds.
    #[must_use]
    pub fn figure(&self, name: &str, passing: f64) -> Figure {
        let figure = super::seek_figure(name, &self.part, &self.clockwork, passing);
        let margin = 1e9 * self.margin.unwrap_or(0.0);
        let (low, high) = (figure.value - margin, figure.value + margin);
        let low = figure.low.map_or(low, |known| known.min(low));
        let high = figure.high.map_or(high, |known| known.max(high));
        figure.within(low, high)
    }

    /// Says that the batches disagree by more than the figure can bear.
    #[must_use]
    pub fn doubt(&self, seek: &Figure) -> Option<Verdict> {
        let share = 1e9 * self.margin? / seek.value;
        (!(0.0..=UNCERTAIN).contains(&share)).then(|| {
            Verdict::new(
                "seek-uncertain",
                Severity::Warning,
                format!(
                    "parts of the walk disagree: the seek is known to {} only",
                    units::percent(share.abs())
                ),
                "this computer sees answers now early, now late: stop what else it does and repeat",
            )
        })
    }
}
