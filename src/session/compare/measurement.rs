//! Measurements of several sessions: one benchmark with one set of parameters each.

use super::align;
use super::comparison::UnmatchedMeasurement;
use super::input::{ComparisonInput, RepeatedRuns};
use crate::files::safe_text::SafeText;
use crate::session::document::BenchmarkRun;

/// One benchmark with one set of parameters, and the runs of each side.
#[derive(Debug)]
pub(super) struct MatchedMeasurement<'a> {
    /// Any of the runs: they differ at most in ignored parameters.
    representative: &'a BenchmarkRun,
    /// The runs of each side; `None` for a side without any.
    pub(super) groups: Vec<Option<RepeatedRuns<'a>>>,
}

impl MatchedMeasurement<'_> {
    /// Name of the benchmark.
    pub(super) fn test(&self) -> SafeText {
        self.representative.test.clone()
    }

    /// Indices of the sides that have runs.
    pub(super) fn sides(&self) -> impl Iterator<Item = usize> {
        let groups = self.groups.iter().enumerate();
        groups.filter_map(|(side, group)| group.is_some().then_some(side))
    }
}

/// All measurements of all sides, in the order of their first occurrence.
pub(super) fn collect_measurements<'a>(
    inputs: &[ComparisonInput<'a>],
    ignored: &[String],
) -> Vec<MatchedMeasurement<'a>> {
    let runs = inputs.iter().enumerate();
    let runs = runs.flat_map(|(side, input)| input.session.runs.iter().map(move |run| (side, run)));
    let same = |left: &(usize, &BenchmarkRun), right: &(usize, &BenchmarkRun)| {
        align::is_same_measurement(left.1, right.1, ignored)
    };
    let measurement = |runs: Vec<(usize, &'a BenchmarkRun)>| {
        let mut groups: Vec<Option<RepeatedRuns<'a>>> = vec![None; inputs.len()];
        for (side, run) in &runs {
            groups[*side].get_or_insert_default().push(run);
        }
        MatchedMeasurement {
            representative: runs[0].1,
            groups,
        }
    };
    let groups = align::group_by(runs, same);
    groups.into_iter().map(measurement).collect()
}

/// Measurements that some sides have and others lack. A pair of measurements is listed once, not
/// once from each side.
pub(super) fn find_mismatches(
    all: &[MatchedMeasurement<'_>],
    ignored: &[String],
) -> Vec<UnmatchedMeasurement> {
    let mut pairs: Vec<(usize, Option<usize>)> = Vec::new();
    let mut mismatches: Vec<UnmatchedMeasurement> = Vec::new();
    for (index, measurement) in all.iter().enumerate() {
        let lacking = measurement.groups.iter().enumerate();
        for (side, _) in lacking.filter(|(_, group)| group.is_none()) {
            let nearest = nearest_measurement(all, (index, side), ignored);
            let pair = (index, nearest);
            if let Some(known) = pairs.iter().position(|known| *known == pair) {
                mismatches[known].missing_in.push(side);
            } else if !is_pair_listed(&pairs, pair) {
                pairs.push(pair);
                mismatches.push(UnmatchedMeasurement {
                    present_in: measurement.sides().collect(),
                    missing_in: vec![side],
                    benchmark: measurement.test(),
                    differences: nearest.map_or_else(Vec::new, |other| {
                        align::parameter_differences(
                            measurement.representative,
                            all[other].representative,
                            ignored,
                        )
                    }),
                });
            }
        }
    }
    mismatches
}

/// Whether the pair is listed from the other measurement's side.
fn is_pair_listed(
    pairs: &[(usize, Option<usize>)],
    (index, nearest): (usize, Option<usize>),
) -> bool {
    nearest.is_some_and(|nearest| pairs.contains(&(nearest, Some(index))))
}

/// The measurement of the same benchmark on that side with the fewest differing parameters.
fn nearest_measurement(
    all: &[MatchedMeasurement<'_>],
    (index, side): (usize, usize),
    ignored: &[String],
) -> Option<usize> {
    let first = all[index].representative;
    let candidates = all.iter().enumerate().filter(|(_, other)| {
        other.representative.test == first.test && other.groups[side].is_some()
    });
    candidates
        .min_by_key(|(_, other)| {
            align::parameter_differences(first, other.representative, ignored).len()
        })
        .map(|(position, _)| position)
}
