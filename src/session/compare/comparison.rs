//! The document of a comparison.

use std::collections::BTreeSet;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::align::{DifferingParameter, ParameterDifference};
use super::overlay::ChartOverlay;
use super::ratio::{BetterDirection, MetricSample, RatioJudgement};
use crate::files::safe_text::SafeText;
use crate::session::document::{Metric, MetricId, MetricUnit, Verdict};

/// Value of [`Comparison::schema`].
pub const COMPARISON_SCHEMA: &str = "diskscope-comparison";
/// Version of the document format. 2: a baseline for each benchmark and metric, the values of
/// ignored parameters, mismatches once for all sides, `no-significant-difference` separate from
/// `not-determined`.
pub(super) const COMPARISON_VERSION: u32 = 2;

/// A comparison of two or more sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
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

impl Comparison {
    /// Whether a metric of a side is significantly worse than that of its baseline.
    #[must_use]
    pub fn has_slower_metric(&self) -> bool {
        let metrics = self.benchmarks.iter().flat_map(|it| &it.metrics);
        let mut samples = metrics.flat_map(|metric| metric.samples.iter().flatten());
        samples.any(|sample| {
            let ratio = sample.against_baseline.as_ref();
            ratio.and_then(|ratio| ratio.judgement) == Some(RatioJudgement::Slower)
        })
    }
}

/// One benchmark with one set of parameters on several sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
            .flat_map(|metric| {
                let others = metric.samples.iter().enumerate().skip(metric.baseline + 1);
                let known = others.filter(|(_, sample)| sample.is_some());
                known.map(|(other, _)| (metric.baseline, other))
            })
            .collect();
        pairs.into_iter().collect()
    }
}

/// A measurement that some sides have and others lack. Two measurements that differ only in
/// parameters are listed once.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
