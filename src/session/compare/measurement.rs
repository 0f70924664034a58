//! What was measured in several sessions: one test with one set of parameters.

use super::{Group, Input, Mismatch, align};
use crate::safe_text::SafeText;
use crate::session::document::Run;

/// One test with one set of parameters, and the runs of each side that measured it.
#[derive(Debug)]
pub(super) struct Measurement<'a> {
    /// Any of the runs: they differ in ignored parameters at most.
    first: &'a Run,
    /// The runs of each side; `None` where a side has none.
    pub(super) groups: Vec<Option<Group<'a>>>,
}

impl Measurement<'_> {
    /// Name of the test.
    pub(super) fn test(&self) -> SafeText {
        self.first.test.clone()
    }

    /// The sides that have it.
    pub(super) fn sides(&self) -> impl Iterator<Item = usize> {
        let groups = self.groups.iter().enumerate();
        groups.filter_map(|(side, group)| group.is_some().then_some(side))
    }
}

/// All measurements of all sides, in the order in which they are found.
pub(super) fn measurements<'a>(inputs: &[Input<'a>], ignored: &[String]) -> Vec<Measurement<'a>> {
    let mut all: Vec<Measurement<'a>> = Vec::new();
    for (side, input) in inputs.iter().enumerate() {
        for group in align::grouped(&input.session.runs, ignored) {
            let same = |known: &&mut Measurement<'_>| {
                known.first.test == group[0].test
                    && align::differences(known.first, group[0], ignored).is_empty()
            };
            if let Some(known) = all.iter_mut().find(same) {
                known.groups[side] = Some(group);
                continue;
            }
            let mut groups = vec![None; inputs.len()];
            let first = group[0];
            groups[side] = Some(group);
            all.push(Measurement { first, groups });
        }
    }
    all
}

/// What some sides have and others lack. A pair of measurements is listed once, not again from the
/// other one's side.
pub(super) fn mismatches(all: &[Measurement<'_>], ignored: &[String]) -> Vec<Mismatch> {
    let mut pairs: Vec<(usize, Option<usize>)> = Vec::new();
    let mut mismatches: Vec<Mismatch> = Vec::new();
    for (index, measurement) in all.iter().enumerate() {
        let lacking = measurement.groups.iter().enumerate();
        for (side, _) in lacking.filter(|(_, group)| group.is_none()) {
            let nearest = nearest(all, (index, side), ignored);
            let pair = (index, nearest);
            if let Some(known) = pairs.iter().position(|known| *known == pair) {
                mismatches[known].lacking.push(side);
            } else if !is_listed(&pairs, pair) {
                pairs.push(pair);
                mismatches.push(Mismatch {
                    sides: measurement.sides().collect(),
                    lacking: vec![side],
                    test: measurement.test(),
                    differences: nearest.map_or_else(Vec::new, |other| {
                        align::differences(measurement.first, all[other].first, ignored)
                    }),
                });
            }
        }
    }
    mismatches
}

/// Whether the pair is listed from the other measurement's side.
fn is_listed(pairs: &[(usize, Option<usize>)], (index, nearest): (usize, Option<usize>)) -> bool {
    nearest.is_some_and(|nearest| pairs.contains(&(nearest, Some(index))))
}

/// The measurement of the same test on that side that differs least.
fn nearest(
    all: &[Measurement<'_>],
    (index, side): (usize, usize),
    ignored: &[String],
) -> Option<usize> {
    let first = all[index].first;
    let candidates = all
        .iter()
        .enumerate()
        .filter(|(_, other)| other.first.test == first.test && other.groups[side].is_some());
    candidates
        .min_by_key(|(_, other)| align::differences(first, other.first, ignored).len())
        .map(|(place, _)| place)
}
