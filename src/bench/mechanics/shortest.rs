//! The shortest seek, from a walk: the edge of its jumps less the commands between them.

use super::Clockwork;
use super::rotational::{self, Edge, RotationalPart};
use super::walk::{self, Batch, Jump, Line, Walk};
use crate::session::document::{Figure, Severity, Verdict};
use crate::stats::{confidence, robust};
use crate::units;

/// Jumps without which a batch says nothing by itself.
const ENOUGH: usize = 40;
/// Half the width of the limits, as a share of the seek, from which it is called uncertain.
const UNCERTAIN: f64 = 0.05;

/// Share of the jumps of a whole cylinder that must end where the platter brings their blocks.
const CLEAR: f64 = 0.6;

/// What a walk says of the seek.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortest {
    /// The edge from the jumps that moved the arm by one cylinder; the distribution within the
    /// revolution from all that were not aimed.
    pub part: RotationalPart,
    /// The clockwork with the command as it was between the jumps.
    pub clockwork: Clockwork,
    /// Share of the jumps that end where the platter brings a block one cylinder further.
    pub clear: f64,
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
            inside: all.inside,
            ..even
        },
        clockwork: Clockwork {
            command: walk.command(clockwork),
            ..*clockwork
        },
        clear: walk.clear(clockwork.revolution),
        margin: margin(&walk.aimed, line, clockwork),
    })
}

/// The edge of those of the jumps that moved the arm by one cylinder; of all where that does not
/// show.
fn edge<'a>(
    jumps: impl Iterator<Item = &'a Jump>,
    line: Option<Line>,
    clockwork: &Clockwork,
) -> Option<RotationalPart> {
    let turn = clockwork.revolution;
    let punctual: Vec<(u64, f64)> = jumps
        .filter(|jump| line.is_none_or(|line| jump.is_on(line, turn)))
        .map(|jump| (jump.address, jump.punctual(line, turn)))
        .collect();
    rotational::measure(&punctual, turn, Edge::Quick)
}

/// The 95 % margin of the mean of what every batch says alone.
fn margin(aimed: &[Batch], line: Option<Line>, clockwork: &Clockwork) -> Option<f64> {
    let alone = |batch: &Batch| {
        let edge = edge(batch.jumps.iter(), line, clockwork)?;
        let command = walk::typical_command(&batch.commands).unwrap_or(0.0);
        (edge.edge.inside >= ENOUGH).then_some(edge.edge.lower - command)
    };
    let values: Vec<f64> = aimed.iter().filter_map(alone).collect();
    confidence::independent(&values)?.margin()
}

impl Shortest {
    /// The seek as a figure; the block passes under the head in `passing` seconds.
    #[must_use]
    pub fn figure(&self, name: &str, passing: f64) -> Figure {
        let figure = super::seek_figure(name, &self.part, &self.clockwork, passing);
        let margin = 1e9 * self.margin.unwrap_or(0.0);
        let (low, high) = (figure.value - margin, figure.value + margin);
        let low = figure.low.map_or(low, |known| known.min(low)) - 1e9 * self.coarseness(passing);
        let high = figure.high.map_or(high, |known| known.max(high));
        figure.within(low, high)
    }

    /// How coarsely the edge is seen, in seconds. Blocks come by at distances of their passing, and each
    /// number of repeated reads before a jump shifts where among them it begins. Between two of these
    /// places nothing is seen: the quickest seeks may end anywhere from one of them down to the next.
    fn coarseness(&self, passing: f64) -> f64 {
        let command = self.clockwork.command;
        let begins = match command.repeats {
            true => 1..=walk::REPEATS,
            false => 0..=0,
        };
        let shift = |repeats: u64| (repeats as f64 * command.time).rem_euclid(passing);
        let places = robust::ascending(begins.map(shift));
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return passing;
        };
        let inner = places.windows(2).map(|two| two[1] - two[0]);
        inner.fold(first + passing - last, f64::max)
    }

    /// Says why the figure is not to be trusted: the blocks are not where a platter brings them, or
    /// its limits are wider than a figure can bear.
    #[must_use]
    pub fn doubt(&self, seek: &Figure) -> Option<Verdict> {
        if self.clear < CLEAR || self.part.inside < CLEAR {
            return Some(Verdict::new(
                "seek-doubtful",
                Severity::Warning,
                format!(
                    "{} of the jumps end where a platter brings a block one cylinder further, and {} \
                     of these within one revolution",
                    units::percent(self.clear),
                    units::percent(self.part.inside)
                ),
                "the waiting times are not those of a platter: stop other users of the drive and \
                 repeat",
            ));
        }
        let half = 0.5 * (seek.high? - seek.low?);
        let share = half / seek.value;
        (!(0.0..=UNCERTAIN).contains(&share)).then(|| {
            Verdict::new(
                "seek-uncertain",
                Severity::Warning,
                format!(
                    "the seek is known to {} only: single seeks, commands and this computer vary as much",
                    units::percent(share.abs())
                ),
                "stop what else this computer and the drive do, and repeat",
            )
        })
    }
}
