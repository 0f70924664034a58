//! Checks whether repeated runs agree.
//!
//! A confidence interval states the uncertainty of a metric if the drive stays as it was during the
//! run. If runs of the same benchmark on the same drive differ by more, then something else affects
//! the result, such as temperature, a cache, or another user of the same array.

use super::compare::align::{group_by, is_same_measurement};
use super::compare::ratio::pool_metrics;
use super::document::check::Check;
use super::document::{BenchmarkRun, Metric, MetricId, MetricIndex, Verdict};
use crate::files::safe_text::SafeText;
use crate::units;

/// Made where runs are repeated or compared.
pub const UNSTABLE: Check = Check::warning(
    "unstable",
    "Repeated runs differ by more than their confidence intervals.",
);

/// One metric over repeated runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatedMetric {
    /// The mean with its 95 % confidence interval: with three or more runs computed from their
    /// spread, with two covering the intervals of both.
    pub mean: Metric,
    /// The lowest value of all runs.
    pub lowest: Metric,
    /// The highest value of all runs.
    pub highest: Metric,
}

/// The metrics of repeated runs over all of them, in the order of the first run; metrics of nested
/// benchmarks are omitted.
#[must_use]
pub fn summarize_repeats(repeats: &[&BenchmarkRun]) -> Vec<RepeatedMetric> {
    let indexes = indexed(repeats);
    let own = repeats.iter().take(1).flat_map(|run| &run.findings.metrics);
    own.filter(|metric| !metric.id.is_nested())
        .filter_map(|metric| summarize_metric(&metric.id, &indexes))
        .collect()
}

fn indexed<'a>(repeats: &[&'a BenchmarkRun]) -> Vec<MetricIndex<'a>> {
    repeats.iter().map(|run| run.findings.index()).collect()
}

fn summarize_metric(id: &MetricId, repeats: &[MetricIndex<'_>]) -> Option<RepeatedMetric> {
    let all: Vec<&Metric> = repeats
        .iter()
        .filter_map(|metrics| metrics.get(id))
        .collect();
    let by_value = |one: &&&Metric, other: &&&Metric| one.value.total_cmp(&other.value);
    let (lowest, highest) = (all.iter().min_by(by_value)?, all.iter().max_by(by_value)?);
    let sample = pool_metrics(&all)?;
    Some(RepeatedMetric {
        mean: Metric {
            low: sample.low,
            high: sample.high,
            ..Metric::with_unit(id.clone(), sample.value, lowest.unit)
        },
        lowest: (*lowest).clone(),
        highest: (*highest).clone(),
    })
}

/// [`UNSTABLE`] about the metric whose repeated measurements differ most, if they differ by more than
/// their confidence intervals. `None` if they agree, and if there are no confidence intervals.
/// `target` is named where there are several.
#[must_use]
pub fn find_instability(repeats: &[&BenchmarkRun], target: Option<&SafeText>) -> Option<Verdict> {
    let first = repeats.first()?;
    let indexes = indexed(repeats);
    let metrics = first.findings.metrics.iter();
    let (difference, [lowest, highest]) = metrics
        .filter_map(|metric| disjoint_extremes(&metric.id, &indexes))
        .max_by(|left, right| left.0.total_cmp(&right.0))?;
    let value = |metric: &Metric| match metric.interval_text() {
        Some(interval) => format!("{} ({interval})", metric.value_text()),
        None => metric.value_text(),
    };
    let prefix = target.map_or_else(String::new, |target| format!("{target}: "));
    Some(UNSTABLE.found(
        format!(
            "{prefix}{} of {} runs of {} is between {} and {}: a difference of {}",
            lowest.label(),
            repeats.len(),
            first.test,
            value(lowest),
            value(highest),
            units::format_percent(difference)
        ),
        "measure longer and more often, check for other users of the drive and its temperature, and do \
         not rely on a single run",
        serde_json::json!({
            "target": target, "benchmark": first.test, "runs": repeats.len(), "lowest": lowest,
            "highest": highest,
        }),
    ))
}

/// The lowest and the highest value of a metric, if their confidence intervals do not overlap, and
/// the difference of the values as a fraction of the lower.
fn disjoint_extremes<'a>(
    id: &MetricId,
    repeats: &[MetricIndex<'a>],
) -> Option<(f64, [&'a Metric; 2])> {
    let metrics = || repeats.iter().filter_map(|metrics| metrics.get(id));
    let ceiling = |metric: &&Metric| metric.high.unwrap_or(f64::INFINITY);
    let floor = |metric: &&Metric| metric.low.unwrap_or(f64::NEG_INFINITY);
    let low = metrics().min_by(|left, right| ceiling(left).total_cmp(&ceiling(right)))?;
    let high = metrics().max_by(|left, right| floor(left).total_cmp(&floor(right)))?;
    (low.high? < high.low? && low.value > 0.0).then(|| (high.value / low.value - 1.0, [low, high]))
}

/// Groups runs that measured the same on the same drive of the same host. Each run comes with the
/// name of its host.
#[must_use]
pub fn group_repeats<'a>(
    runs: &[(Option<&'a str>, &'a BenchmarkRun)],
) -> Vec<Vec<&'a BenchmarkRun>> {
    let groups = group_by(runs.iter().copied(), |left, right| {
        left.0 == right.0
            && is_same_drive(left.1, right.1)
            && is_same_measurement(left.1, right.1, &[])
    });
    let runs =
        |group: Vec<(Option<&str>, &'a BenchmarkRun)>| group.into_iter().map(|it| it.1).collect();
    groups.into_iter().map(runs).collect()
}

fn is_same_drive(left: &BenchmarkRun, right: &BenchmarkRun) -> bool {
    let (left, right) = (&left.target, &right.target);
    let by_number = left.serial.is_some() && left.serial == right.serial;
    let by_name = left.serial == right.serial && left.path == right.path;
    left.kind == right.kind && (by_number || by_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample::sample_run;

    #[test]
    fn repeats_with_disjoint_intervals_are_unstable() {
        let (slow, fast) = (
            sample_run("iops", 800.0, 20.0),
            sample_run("iops", 1100.0, 20.0),
        );
        let between = sample_run("iops", 1000.0, 500.0);
        let found = find_instability(&[&slow, &fast, &between], None).unwrap();
        assert_eq!(found.facts["runs"], 3);
        assert_eq!(found.facts["lowest"]["value"], 800.0);
        assert_eq!(found.facts["highest"]["value"], 1100.0);
        assert!(
            found.evidence.ends_with("a difference of 38 %"),
            "{}",
            found.evidence
        );
    }

    #[test]
    fn repeats_with_overlapping_or_missing_intervals_are_stable() {
        let agreeing = [
            sample_run("iops", 990.0, 20.0),
            sample_run("iops", 1010.0, 20.0),
        ];
        assert_eq!(find_instability(&[&agreeing[0], &agreeing[1]], None), None);
        let mut unsure = [
            sample_run("iops", 10.0, 1.0),
            sample_run("iops", 1000.0, 1.0),
        ];
        unsure[0].findings.metrics[0].high = None;
        assert_eq!(find_instability(&[&unsure[0], &unsure[1]], None), None);
        assert_eq!(find_instability(&[&agreeing[0]], None), None);
        assert_eq!(find_instability(&[], None), None);
    }

    #[test]
    fn repeats_require_same_drive_and_host() {
        let one = sample_run("iops", 1.0, 0.1);
        let mut other_drive = one.clone();
        other_drive.target.serial = Some("other".into());
        let mut other_depth = one.clone();
        other_depth.parameters.insert("depth".into(), 64.into());
        let groups = group_repeats(&[
            (Some("a"), &one),
            (Some("a"), &other_drive),
            (Some("b"), &one),
            (Some("a"), &other_depth),
            (Some("a"), &one),
        ]);
        let sizes: Vec<_> = groups.iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 1, 1, 1]);
    }
}
