//! Compares sessions metric by metric, for runs of the same benchmark with the same parameters.
//!
//! Measurements without a counterpart are listed with the reason. `docs/compare.md` describes the
//! document format.

use std::collections::{BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{
    BenchmarkRun, FigureIndex, Metric, MetricId, MetricUnit, RunState, Session, Severity, Verdict,
};
use super::stability;
use crate::safe_text::SafeText;

pub mod align;
pub mod fleet;
mod interval;
mod measurement;
pub mod overlay;
pub mod ratio;
#[cfg(test)]
pub(crate) mod sample;

pub use self::align::{DifferingParameter, ParameterDifference};
pub use self::fleet::{FleetComparison, compare_fleet};
pub use self::interval::{MissingInterval, NotDetermined};
use self::measurement::MatchedMeasurement;
pub use self::overlay::ChartOverlay;
pub use self::ratio::{BaselineRatio, BetterDirection, MetricSample, RatioJudgement};

/// Value of [`Comparison::schema`].
pub const COMPARISON_SCHEMA: &str = "diskscope-comparison";
/// Version of the document format. 2: a baseline for each benchmark and metric, the values of
/// ignored parameters, mismatches once for all sides, `no-significant-difference` separate from
/// `not-determined`.
const COMPARISON_VERSION: u32 = 2;

/// A session to compare, and its name.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonInput<'a> {
    /// Name, such as the file's.
    pub name: &'a str,
    /// The session.
    pub session: &'a Session,
}

/// A comparison of two or more sessions.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Always `diskscope-comparison`.
    pub schema: SafeText,
    /// Version of the document format.
    pub version: u32,
    /// The sessions, in the order of the command line.
    pub sessions: Vec<ComparedSession>,
    /// The comparable measurements: one entry for each benchmark and set of parameters.
    #[serde(rename = "tests")]
    pub benchmarks: Vec<ComparedBenchmark>,
    /// Measurements without a counterpart, and why.
    pub mismatches: Vec<UnmatchedMeasurement>,
}

/// One session of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedSession {
    /// Name, such as that of its file.
    pub name: SafeText,
    /// Name of the host that ran the session.
    pub host: Option<SafeText>,
    /// Start of the session, RFC 3339.
    pub started: SafeText,
    /// Program and version that wrote the session.
    pub program: SafeText,
}

/// One benchmark with one set of parameters on several sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedBenchmark {
    /// Name of the benchmark.
    #[serde(rename = "test")]
    pub benchmark: SafeText,
    /// Index of the first side that has it: the others are compared with this one.
    pub baseline: usize,
    /// The parameters that are equal on all sides, as the user writes them.
    pub parameters: Vec<SafeText>,
    /// The ignored parameters that differ, with the values of each side.
    pub differing: Vec<DifferingParameter>,
    /// The target of each side; null for a side without the benchmark.
    pub targets: Vec<Option<MeasuredTarget>>,
    /// The metrics that at least two sides have.
    #[serde(rename = "figures")]
    pub metrics: Vec<ComparedMetric>,
    /// The series of all sides on shared axes.
    pub charts: Vec<ChartOverlay>,
}

/// The target of one side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredTarget {
    /// Path of the target, as the user specified it.
    pub target: SafeText,
    /// Model of the drive.
    pub model: Option<SafeText>,
    /// Serial number of the drive.
    pub serial: Option<SafeText>,
    /// Number of repeated runs.
    pub runs: usize,
    /// Reasons to doubt the metrics: verdicts of severity warning or invalid, a run that did not
    /// finish, repeated runs that disagree.
    pub cautions: Vec<Verdict>,
}

/// One metric on all sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedMetric {
    /// Name of the metric.
    #[serde(rename = "name")]
    pub id: MetricId,
    /// Unit of the metric.
    pub unit: MetricUnit,
    /// Whether higher or lower values are better; null if neither is.
    pub better: Option<BetterDirection>,
    /// Index of the first side that has the metric: the others are compared with this one.
    pub baseline: usize,
    /// The metric on each side; null for a side without it.
    pub samples: Vec<Option<MetricSample>>,
}

impl ComparedMetric {
    /// The name for display.
    #[must_use]
    pub fn label(&self) -> String {
        self.id.label()
    }

    /// The metric of one side, for rendering.
    #[must_use]
    pub fn metric_of(&self, sample: &MetricSample) -> Metric {
        Metric {
            low: sample.low,
            high: sample.high,
            ..Metric::with_unit(self.id.clone(), sample.value, self.unit)
        }
    }
}

impl ComparedBenchmark {
    /// The pairs of sides with comparable values: the baseline and another side.
    #[must_use]
    pub fn compared_pairs(&self) -> Vec<(usize, usize)> {
        let pairs: BTreeSet<(usize, usize)> = self
            .metrics
            .iter()
            .flat_map(|figure| {
                let others = figure.samples.iter().enumerate().skip(figure.baseline + 1);
                let known = others.filter(|(_, sample)| sample.is_some());
                known.map(|(other, _)| (figure.baseline, other))
            })
            .collect();
        pairs.into_iter().collect()
    }
}

/// A measurement that some sides have and others lack. Two measurements that differ only in
/// parameters are listed once.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnmatchedMeasurement {
    /// Indices of the sides that have it.
    pub present_in: Vec<usize>,
    /// Indices of the sides that lack it: those with the most similar measurement of the same
    /// benchmark, or without a run of that benchmark.
    pub missing_in: Vec<usize>,
    /// Name of the benchmark.
    #[serde(rename = "test")]
    pub benchmark: SafeText,
    /// The parameters in which the most similar measurement of the same benchmark differs: `first`
    /// is the value on the sides in `present_in`, `other` the value on those in `missing_in`. Empty
    /// if those have no run of the benchmark.
    pub differences: Vec<ParameterDifference>,
}

/// Compares all sessions by benchmark. Runs of one benchmark with the same parameters are compared
/// whichever files they are in, each with the first file that has them. Parameters whose names are
/// in `ignored` may differ.
#[must_use]
pub fn compare_sessions(inputs: &[ComparisonInput<'_>], ignored: &[String]) -> Comparison {
    let measurements = measurement::collect_measurements(inputs, ignored);
    let together = measurements
        .iter()
        .filter(|measurement| measurement.sides().count() > 1);
    Comparison {
        schema: COMPARISON_SCHEMA.into(),
        version: COMPARISON_VERSION,
        sessions: inputs.iter().map(compared_session).collect(),
        benchmarks: together.map(compare_measurement).collect(),
        mismatches: measurement::find_mismatches(&measurements, ignored),
    }
}

fn compared_session(input: &ComparisonInput<'_>) -> ComparedSession {
    ComparedSession {
        name: input.name.into(),
        host: input.session.host.name.clone(),
        started: input.session.started.clone(),
        program: input.session.program.clone(),
    }
}

/// Repeated runs of one side.
type RepeatedRuns<'a> = Vec<&'a BenchmarkRun>;

/// Repeated runs, each with an index of its metrics.
type Indexed<'a> = Vec<(&'a BenchmarkRun, FigureIndex<'a>)>;

fn compare_measurement(measurement: &MatchedMeasurement<'_>) -> ComparedBenchmark {
    let groups = &measurement.groups;
    let runs = || groups.iter().flatten().flatten();
    let indexed: Vec<Option<Indexed<'_>>> = groups
        .iter()
        .map(|group| {
            let group = group.as_ref()?;
            Some(
                group
                    .iter()
                    .map(|run| (*run, run.findings.index()))
                    .collect(),
            )
        })
        .collect();
    let mut known: HashSet<&MetricId> = HashSet::new();
    let mut figures = Vec::new();
    for figure in runs().flat_map(|run| &run.findings.figures) {
        if known.insert(&figure.id) {
            figures.extend(compare_metric(&figure.id, figure.unit, &indexed));
        }
    }
    let (parameters, differing) = align::split_parameters(groups);
    ComparedBenchmark {
        benchmark: measurement.test(),
        baseline: measurement.sides().next().unwrap_or(0),
        parameters,
        differing,
        targets: groups
            .iter()
            .map(|group| group.as_ref().map(measured_target))
            .collect(),
        metrics: figures,
        charts: overlay::chart_overlays(groups),
    }
}

/// Compares one metric on all sides; `None` if fewer than two have it.
fn compare_metric(
    id: &MetricId,
    unit: MetricUnit,
    groups: &[Option<Indexed<'_>>],
) -> Option<ComparedMetric> {
    let of_group = |group: &Indexed<'_>| {
        let found = group.iter().filter_map(|(run, figures)| {
            let figure = figures.get(id)?;
            (figure.unit == unit).then_some((*run, figure))
        });
        ratio::pool_metrics_of_runs(&found.collect::<Vec<_>>())
    };
    let better = ratio::better_direction(id, unit);
    let mut sides: Vec<Option<MetricSample>> = groups
        .iter()
        .map(|group| group.as_ref().and_then(of_group))
        .collect();
    if sides.iter().flatten().count() < 2 {
        return None;
    }
    let baseline = sides.iter().position(Option::is_some)?;
    let first = sides[baseline].clone()?;
    for (index, sample) in sides.iter_mut().enumerate().skip(baseline + 1) {
        if let Some(sample) = sample {
            let against = ratio::ratio_to_baseline(&first, sample, better);
            sample.against_baseline = against.map(|against| {
                against.with_missing_intervals([(baseline, &first), (index, sample)])
            });
        }
    }
    Some(ComparedMetric {
        id: id.clone(),
        unit,
        better,
        baseline,
        samples: sides,
    })
}

fn measured_target(group: &RepeatedRuns<'_>) -> MeasuredTarget {
    let target = &group[0].target;
    MeasuredTarget {
        target: target.path.clone(),
        model: target.model.clone(),
        serial: target.serial.clone(),
        runs: group.len(),
        cautions: collect_cautions(group),
    }
}

/// Reasons to doubt the metrics of these runs; each code once.
fn collect_cautions(group: &RepeatedRuns<'_>) -> Vec<Verdict> {
    let mut cautions: Vec<Verdict> = Vec::new();
    let verdicts = group.iter().flat_map(|run| &run.findings.verdicts);
    let grave = verdicts
        .filter(|verdict| verdict.severity > Severity::Note)
        .cloned();
    let unfinished = group.iter().filter_map(|run| unfinished_verdict(run));
    for caution in grave
        .chain(unfinished)
        .chain(stability::stability_verdict(group))
    {
        if cautions.iter().all(|known| known.code != caution.code) {
            cautions.push(caution);
        }
    }
    cautions
}

fn unfinished_verdict(run: &BenchmarkRun) -> Option<Verdict> {
    let code = match run.state {
        RunState::Finished => return None,
        RunState::Failed => "failed",
        RunState::Interrupted | RunState::Running => "interrupted",
    };
    let evidence = run.error.as_ref().map_or_else(
        || "the run did not come to its end".to_owned(),
        |error| error.message.clone().into(),
    );
    Some(Verdict::new(
        code,
        Severity::Warning,
        evidence,
        "measure again",
    ))
}

#[cfg(test)]
mod tests;
