//! One run of a benchmark.

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::evidence::RunEvidence;
use super::findings::Findings;
use super::invocation::Invocation;
use super::metric::Metric;
use super::metric_kind::MetricId;
use super::metric_unit::MetricUnit;
use super::parameters::RunParameters;
use super::record::{
    EngineRecord, KernelCounts, RunCpuTime, RunError, StageBreakdown, TargetRecord,
};
use crate::files::safe_text::{self, Name, SafeText};

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Only in a journal: the run is in progress, or its process was killed.
    Running,
    /// The benchmark measured everything that it was asked for.
    Finished,
    /// Stopped by the user or a signal; the results until then are kept.
    Interrupted,
    /// Stopped by an error; the results until then are kept.
    Failed,
}

/// One run: a benchmark on a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct BenchmarkRun {
    /// Name of the benchmark, such as `random-read`.
    #[serde(deserialize_with = "safe_text::name")]
    pub test: SafeText,
    /// State of the run.
    pub state: RunState,
    /// The error that stopped the run, if `state` is `failed`.
    pub error: Option<RunError>,
    /// Start of the run, RFC 3339 with offset.
    pub started: SafeText,
    /// Duration in nanoseconds, ramp time and preparation included.
    pub elapsed_ns: u64,
    /// The target of the run.
    pub target: TargetRecord,
    /// The benchmark's parameters by name: bytes, nanoseconds, per second, or strings.
    #[serde(deserialize_with = "scalars")]
    pub parameters: BTreeMap<SafeText, Value>,
    /// Units of those parameters that have one.
    #[serde(default)]
    pub parameter_units: BTreeMap<SafeText, MetricUnit>,
    /// The engine that executed the requests.
    pub engine: EngineRecord,
    /// The results of the benchmark.
    #[serde(flatten)]
    pub findings: Findings,
    /// The device's counters over the run, if the kernel keeps any for the target.
    pub kernel: Option<KernelCounts>,
    /// Time of the requests in the block layer and in the drive, if they could be traced (root,
    /// tracefs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageBreakdown>,
    /// CPU time of the run.
    pub cpu: Option<RunCpuTime>,
    /// Evidence collected during the run: the input of the validity checks.
    #[serde(default)]
    pub evidence: RunEvidence,
    /// Command lines that repeat the run.
    pub reproduce: Invocation,
}

impl BenchmarkRun {
    /// The parameters that checks depend on.
    #[must_use]
    pub fn typed_parameters(&self) -> RunParameters<'_> {
        RunParameters(&self.parameters)
    }

    /// Whether this is the other run in another state.
    #[must_use]
    pub fn is_same_run(&self, other: &Self) -> bool {
        self.test == other.test
            && self.started == other.started
            && self.target.path == other.target.path
    }

    /// Drops series and histograms, which take most of a run's memory.
    pub fn drop_distributions(&mut self) {
        self.findings.series = Vec::new();
        let latency = &mut self.findings.latency;
        for summary in [&mut latency.read, &mut latency.write]
            .into_iter()
            .flatten()
        {
            summary.histogram = Vec::new();
        }
        self.stages = None;
    }

    /// Drops everything that a list of many drives by one metric does not need.
    pub fn keep_metric(&mut self, id: &MetricId) {
        self.drop_distributions();
        self.findings.tables = Vec::new();
        self.findings.goals = Vec::new();
        // Repeated runs are compared by all metrics with a confidence interval: keep those of the
        // benchmark itself.
        let is_needed = |run_metric: &Metric| run_metric.id == *id || !run_metric.id.is_nested();
        self.findings.metrics.retain(is_needed);
        self.findings.metrics.shrink_to_fit();
        self.reproduce = Invocation::default();
    }
}

/// Reads parameters, whose values are scalars with safe text.
fn scalars<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<SafeText, Value>, D::Error> {
    let read = BTreeMap::<Name, Value>::deserialize(deserializer)?;
    let scalar = |(name, value): (Name, Value)| match value {
        Value::Array(_) | Value::Object(_) => {
            Err(D::Error::custom("a parameter is a number, a word or null"))
        }
        Value::String(word) => Ok((name.0, String::from(SafeText::from(word)).into())),
        other => Ok((name.0, other)),
    };
    read.into_iter().map(scalar).collect()
}
