//! Compares many drives of many hosts by one metric, and finds outliers.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::align;
use super::caution::collect_cautions;
use super::input::{ComparisonInput, RepeatedRuns};
use super::ratio::{BetterDirection, better_direction, pool_metrics};
use crate::files::safe_text::SafeText;
use crate::session::document::{BenchmarkRun, Metric, MetricId, MetricUnit, Verdict};
use crate::session::stability;
use crate::stats::general::robust::{median, median_absolute_deviation};
use crate::stats::sorting::SortList as _;

/// Value of [`FleetComparison::schema`].
pub const FLEET_SCHEMA: &str = "diskscope-fleet";
/// Below this number of drives of a model, outliers are not determined.
const MIN_PEERS: usize = 5;
/// A modified z-score beyond this marks an outlier (Iglewicz and Hoaglin, How to Detect and Handle
/// Outliers, 1993).
const OUTLIER_SCORE: f64 = 3.5;
/// For a normal distribution the median absolute deviation is 0.6745 of the standard deviation.
const MAD_TO_SIGMA: f64 = 0.6745;
/// Minimum relative distance of an outlier from the median, however small the spread of the others.
const MIN_OUTLIER_DISTANCE: f64 = 0.05;

/// One metric of many sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FleetComparison {
    /// Always `diskscope-fleet`.
    pub schema: SafeText,
    /// Version of the document format.
    pub version: u32,
    /// Name of the metric.
    #[serde(rename = "figure")]
    pub metric: MetricId,
    /// One table for each benchmark and set of parameters.
    pub tables: Vec<FleetTable>,
    /// Sessions that are in no table, and why.
    pub excluded: Vec<ExcludedSession>,
    /// Drives with several runs whose results disagree.
    pub unstable: Vec<Verdict>,
}

/// A session that is in no table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ExcludedSession {
    /// Name of the session.
    pub name: SafeText,
    /// Why it is in no table.
    pub reason: SafeText,
}

/// The drives that ran one benchmark with one set of parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FleetTable {
    /// Name of the benchmark.
    #[serde(rename = "test")]
    pub benchmark: SafeText,
    /// The parameters that are equal for all drives, as the user writes them.
    pub parameters: Vec<SafeText>,
    /// Unit of the metric.
    pub unit: MetricUnit,
    /// Whether higher or lower values are better; null if neither is.
    pub better: Option<BetterDirection>,
    /// The drives, best value first; lowest value first if neither direction is better.
    pub rows: Vec<FleetRow>,
}

/// One drive of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FleetRow {
    /// Name of the session.
    pub name: SafeText,
    /// Host name.
    pub host: Option<SafeText>,
    /// Path of the target, as the user specified it.
    pub target: SafeText,
    /// Model of the drive.
    pub model: Option<SafeText>,
    /// Serial number of the drive.
    pub serial: Option<SafeText>,
    /// The ignored parameters that differ between the drives, with this drive's values.
    pub parameters: Vec<SafeText>,
    /// Value of the metric; the mean of repeated runs.
    pub value: f64,
    /// Lower bound of the 95 % confidence interval; null if not determined.
    pub low: Option<f64>,
    /// Upper bound of the 95 % confidence interval; null if not determined.
    pub high: Option<f64>,
    /// Comparison with the other drives of the same model; null if there are too few.
    pub peers: Option<PeerGroup>,
    /// Codes of the verdicts that make the metric doubtful.
    pub cautions: Vec<SafeText>,
}

/// A drive compared with all drives of its model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PeerGroup {
    /// Number of drives of the model, this one included.
    pub count: usize,
    /// Median of their values.
    pub median: f64,
    /// Distance from the median as a fraction of the median: -0.38 is 38 % below.
    pub relative_distance: f64,
    /// Whether the drive is an outlier: more than 3.5 standard deviations (estimated from the
    /// median absolute deviation) and more than 5 % from the median.
    pub outlier: bool,
}

/// Compares one metric of all sessions. Parameters whose names are in `ignored` may differ.
#[must_use]
pub fn compare_fleet(
    inputs: &[ComparisonInput<'_>],
    metric: &MetricId,
    ignored: &[String],
) -> FleetComparison {
    let mut drives: Vec<MeasuredDrive<'_>> = Vec::new();
    let mut excluded = Vec::new();
    for input in inputs {
        let known = drives.len();
        let groups = align::group_repeated_runs(&input.session.runs, ignored);
        drives.extend(
            groups
                .into_iter()
                .filter_map(|group| measured_drive(input, group, metric)),
        );
        if drives.len() == known {
            excluded.push(ExcludedSession {
                name: input.name.into(),
                reason: format!("none of its runs has {metric}").into(),
            });
        }
    }
    let tables = align::group_by(drives, |left, right| {
        left.unit == right.unit && align::is_same_measurement(left.runs[0], right.runs[0], ignored)
    });
    FleetComparison {
        schema: FLEET_SCHEMA.into(),
        version: 1,
        metric: metric.clone(),
        tables: tables
            .into_iter()
            .map(|drives| fleet_table(metric, drives))
            .collect(),
        excluded,
        unstable: unstable_verdicts(inputs),
    }
}

/// A drive with the runs that it is based on.
struct MeasuredDrive<'a> {
    unit: MetricUnit,
    row: FleetRow,
    runs: RepeatedRuns<'a>,
}

fn measured_drive<'a>(
    input: &ComparisonInput<'_>,
    runs: RepeatedRuns<'a>,
    metric: &MetricId,
) -> Option<MeasuredDrive<'a>> {
    let metrics: Vec<&Metric> = runs
        .iter()
        .filter_map(|run| run.findings.metric(metric))
        .collect();
    let sample = pool_metrics(&metrics)?;
    let target = &runs[0].target;
    let cautions = collect_cautions(&runs).into_iter();
    let row = FleetRow {
        name: input.name.into(),
        host: input.session.host.name.clone(),
        target: target.path.clone(),
        model: target.model.clone(),
        serial: target.serial.clone(),
        parameters: Vec::new(),
        value: sample.value,
        low: sample.low,
        high: sample.high,
        peers: None,
        cautions: cautions.map(|caution| caution.code).collect(),
    };
    Some(MeasuredDrive {
        unit: metrics[0].unit,
        row,
        runs,
    })
}

/// The table of drives that ran the same. The parameters that all share are in its heading, the
/// others with each drive.
fn fleet_table(metric: &MetricId, drives: Vec<MeasuredDrive<'_>>) -> FleetTable {
    let (benchmark, unit) = (drives[0].runs[0].test.clone(), drives[0].unit);
    let groups: Vec<_> = drives
        .iter()
        .map(|drive| Some(drive.runs.clone()))
        .collect();
    let (parameters, differing) = align::split_parameters(&groups);
    let mut rows: Vec<FleetRow> = drives.into_iter().map(|drive| drive.row).collect();
    for (index, row) in rows.iter_mut().enumerate() {
        let values = differing.iter().filter_map(|it| it.value_of(index));
        row.parameters = values.collect();
    }
    compare_with_peers(&mut rows);
    let mut table = FleetTable {
        benchmark,
        parameters,
        unit,
        better: better_direction(metric, unit),
        rows,
    };
    sort_rows(&mut table);
    table
}

fn sort_rows(table: &mut FleetTable) {
    table
        .rows
        .sort_list_by(|left, right| left.value.total_cmp(&right.value));
    if table.better == Some(BetterDirection::HigherIsBetter) {
        table.rows.reverse();
    }
}

/// Compares every drive with those of its model, if there are enough.
fn compare_with_peers(rows: &mut [FleetRow]) {
    let known: Vec<(Option<SafeText>, f64)> = rows
        .iter()
        .map(|row| (row.model.clone(), row.value))
        .collect();
    for row in rows {
        let values: Vec<f64> = known
            .iter()
            .filter(|(model, _)| *model == row.model)
            .map(|(_, value)| *value)
            .collect();
        row.peers = peer_group(row.value, &values);
    }
}

fn peer_group(value: f64, all: &[f64]) -> Option<PeerGroup> {
    if all.len() < MIN_PEERS {
        return None;
    }
    let middle = median(all.iter().copied()).filter(|middle| *middle > 0.0)?;
    let deviation = median_absolute_deviation(all)?;
    let distance = value / middle - 1.0;
    let far = MAD_TO_SIGMA * (value - middle).abs() > OUTLIER_SCORE * deviation;
    Some(PeerGroup {
        count: all.len(),
        median: middle,
        relative_distance: distance,
        outlier: far && distance.abs() > MIN_OUTLIER_DISTANCE,
    })
}

/// Verdicts on drives that ran the benchmark in several sessions.
fn unstable_verdicts(inputs: &[ComparisonInput<'_>]) -> Vec<Verdict> {
    let runs: Vec<(Option<&str>, &BenchmarkRun)> = inputs
        .iter()
        .flat_map(|input| {
            let host = input.session.host.name.as_deref();
            input.session.runs.iter().map(move |run| (host, run))
        })
        .collect();
    stability::group_repeats(&runs)
        .into_iter()
        .filter_map(|group| {
            let target = group.first().map(|run| &run.target.path);
            stability::find_instability(&group, target)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample::{sample_run, sample_session};
    use crate::session::document::Session;

    fn fleet_sessions(values: &[f64]) -> Vec<(String, Session)> {
        let host = |index: usize| format!("web-{index:02}");
        values
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let mut run = sample_run("iops", *value, 10.0);
                run.target.serial = Some(format!("S{index}").into());
                (
                    format!("{}.json", host(index)),
                    sample_session(&host(index), vec![run]),
                )
            })
            .collect()
    }

    fn fleet_of(sessions: &[(String, Session)]) -> FleetComparison {
        let inputs: Vec<ComparisonInput<'_>> = sessions
            .iter()
            .map(|(name, session)| ComparisonInput { name, session })
            .collect();
        compare_fleet(&inputs, &MetricId::IOPS, &[])
    }

    #[test]
    fn slow_drive_in_fleet_is_outlier_and_sorted_last() {
        let fleet = fleet_of(&fleet_sessions(&[
            1000.0, 1010.0, 620.0, 990.0, 1005.0, 1020.0,
        ]));
        let rows = &fleet.tables[0].rows;
        let outliers: Vec<_> = rows
            .iter()
            .filter(|row| row.peers.as_ref().unwrap().outlier)
            .collect();
        assert_eq!(outliers.len(), 1);
        assert_eq!(outliers[0].host.as_deref(), Some("web-02"));
        assert_eq!(rows.last().unwrap().host.as_deref(), Some("web-02"));
        // The median of the six values is 1002.5.
        assert!((outliers[0].peers.as_ref().unwrap().relative_distance + 0.381_5).abs() < 1e-3);
    }

    #[test]
    fn uniform_or_small_fleet_has_no_outliers() {
        let even = fleet_of(&fleet_sessions(&[1000.0, 1000.0, 1000.0, 1000.0, 1030.0]));
        assert!(
            even.tables[0]
                .rows
                .iter()
                .all(|row| !row.peers.as_ref().unwrap().outlier)
        );
        let few = fleet_of(&fleet_sessions(&[1000.0, 1000.0, 1000.0, 10.0]));
        assert!(few.tables[0].rows.iter().all(|row| row.peers.is_none()));
    }

    #[test]
    fn fleet_drives_are_compared_with_same_model() {
        let mut mixed = fleet_sessions(&[1000.0, 1001.0, 999.0, 1000.0, 1002.0, 100.0]);
        mixed[5].1.runs[0].target.model = Some("ST8000NM000A".into());
        let fleet = fleet_of(&mixed);
        assert!(fleet.tables[0].rows.last().unwrap().peers.is_none());
        assert_eq!(fleet.tables[0].rows[0].peers.as_ref().unwrap().count, 5);
    }

    #[test]
    fn differing_parameters_split_fleet_tables_and_missing_metric_is_reported() {
        let mut all = fleet_sessions(&[1000.0, 900.0, 800.0]);
        all[1].1.runs[0].parameters.insert("depth".into(), 1.into());
        all[2].1.runs.clear();
        let fleet = fleet_of(&all);
        assert_eq!(fleet.tables.len(), 2);
        assert_eq!(fleet.excluded[0].name, "web-02.json");
    }

    #[test]
    fn ignored_parameters_are_listed_per_drive_not_in_heading() {
        let mut all = fleet_sessions(&[1000.0, 900.0]);
        all[1].1.runs[0].parameters.insert("depth".into(), 1.into());
        let inputs: Vec<ComparisonInput<'_>> = all
            .iter()
            .map(|(name, session)| ComparisonInput { name, session })
            .collect();
        let fleet = compare_fleet(&inputs, &MetricId::IOPS, &["depth".to_owned()]);
        assert_eq!(fleet.tables[0].parameters, ["block-size 4KiB", "seed 1"]);
        let rows = fleet.tables[0].rows.iter();
        let own: Vec<_> = rows.map(|row| row.parameters.join(", ")).collect();
        assert_eq!(own, ["depth 32", "depth 1"]);
    }

    #[test]
    fn drive_with_differing_repeats_gets_unstable_verdict() {
        let mut all = fleet_sessions(&[1000.0, 500.0]);
        all[1].1.host.name = all[0].1.host.name.clone();
        all[1].1.runs[0].target.serial = Some("S0".into());
        assert_eq!(fleet_of(&all).unstable.len(), 1);
        assert_eq!(fleet_of(&fleet_sessions(&[1000.0, 500.0])).unstable, []);
    }
}
