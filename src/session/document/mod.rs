//! The session document, which is saved, exported and compared: what was measured, on what, and how
//! valid the results are.
//!
//! Every number is in bytes, nanoseconds or per second, or as its `unit` says. A metric that could
//! not be determined is absent and explained by a [`Verdict`]; it is never 0.

use std::collections::BTreeMap;

use crate::safe_text::SafeText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod evidence;
mod findings;
mod invocation;
mod latency;
mod metric;
mod metric_id;
mod metric_kind;
mod metric_unit;
mod read;
mod record;
mod series;
mod series_id;
mod slo_result;
mod table;
mod verdict;

pub use self::evidence::{
    Attribution, BlockSample, DirectionCounts, DriveSetup, DriveTemperature, FileAllocation,
    LayerCounts, LayerRelation, OtherUser, PauseEvidence, ProcessorLoad, RunEvidence,
    SubmittedBytes,
};
pub use self::findings::{FigureIndex, Findings, is_nested_name};
pub use self::invocation::{FioGap, Invocation};
pub use self::latency::{LatencyByDirection, LatencySummary};
pub use self::metric::Metric;
pub use self::metric_id::{MetricId, VariantKey};
pub use self::metric_kind::{MetricKind, Percentile};
pub use self::metric_unit::MetricUnit;
pub use self::record::{
    EngineRecord, KernelCounts, RunCpuTime, RunError, StageBreakdown, TargetRecord,
};
pub use self::series::{ChartAxis, Series};
pub use self::series_id::{AxisQuantity, SeriesId, SeriesKind};
pub use self::slo_result::{BytePrefix, GoalComparison, SloResult};
pub use self::table::{MetricTable, MetricTableRow};
pub use self::verdict::{Severity, Verdict};

/// Value of [`Session::schema`].
pub const SCHEMA: &str = "diskscope-session";
/// Version of the document format that this program writes.
pub const VERSION: u32 = 1;

/// A saved session: the host, and the runs on it in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Always `diskscope-session`.
    pub schema: SafeText,
    /// Version of the document format.
    pub version: u32,
    /// Program and version that wrote the document, such as `diskscope 0.1.0`.
    pub program: SafeText,
    /// Start of the session, RFC 3339 with offset.
    pub started: SafeText,
    /// The machine that ran the session.
    pub host: HostRecord,
    /// The runs in chronological order.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 10_000>")]
    pub runs: Vec<BenchmarkRun>,
}

/// The machine that ran a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostRecord {
    /// Host name.
    pub name: Option<SafeText>,
    /// Kernel release, as in `uname -r`.
    pub kernel: Option<SafeText>,
    /// Machine architecture, as in `uname -m`.
    pub architecture: Option<SafeText>,
    /// Number of CPUs that this program may use.
    pub processors: Option<u32>,
    /// Main memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Name of the hypervisor or container, if the machine reports one.
    pub virtualization: Option<SafeText>,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BenchmarkRun {
    /// Name of the benchmark, such as `random-read`.
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
    pub parameters: BTreeMap<SafeText, serde_json::Value>,
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
        let is_needed = |figure: &Metric| figure.id == *id || !figure.id.is_nested();
        self.findings.figures.retain(is_needed);
        self.findings.figures.shrink_to_fit();
        self.reproduce = Invocation::default();
    }
}
