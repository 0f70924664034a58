//! The document that is saved, exported and compared: what was measured, on what, and how far
//! it may be believed.
//!
//! Every number is in bytes, nanoseconds or per second, or as its `unit` says. A figure that
//! could not be determined is absent and explained by a [`Verdict`]; it is never 0.

use std::collections::BTreeMap;

use crate::safe_text::SafeText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod evidence;
mod findings;
mod invocation;
mod latency;
mod metric;
mod read;
mod record;
mod series;
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
pub use self::metric::{Metric, MetricUnit};
pub use self::record::{
    EngineRecord, KernelCounts, RunCpuTime, RunError, StageBreakdown, TargetRecord,
};
pub use self::series::{ChartAxis, Series};
pub use self::table::{MetricTable, MetricTableRow};
pub use self::verdict::{Severity, SloResult, Verdict};

/// What [`Session::schema`] always says.
pub const SCHEMA: &str = "diskscope-session";
/// The version of the document's shape that this program writes.
pub const VERSION: u32 = 1;

/// One saved session: the host, and the runs made on it in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Always `diskscope-session`.
    pub schema: SafeText,
    /// Version of the document's shape.
    pub version: u32,
    /// Program and version that wrote it, such as `diskscope 0.1.0`.
    pub program: SafeText,
    /// When the session began, RFC 3339 with offset.
    pub started: SafeText,
    /// The machine that it was measured on.
    pub host: HostRecord,
    /// The runs, in the order in which they were made.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 10_000>")]
    pub runs: Vec<BenchmarkRun>,
}

/// The machine that a session was measured on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostRecord {
    /// Host name.
    pub name: Option<SafeText>,
    /// Kernel release, as `uname -r` says.
    pub kernel: Option<SafeText>,
    /// Machine architecture, as `uname -m` says.
    pub architecture: Option<SafeText>,
    /// Processors that this program may run on.
    pub processors: Option<u32>,
    /// Main memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Name of the hypervisor or container, where the machine tells.
    pub virtualization: Option<SafeText>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Only in a journal: the run goes on, or its program was killed.
    Running,
    /// Everything that the test asks for was measured.
    Finished,
    /// Stopped by the user or a signal; what was measured until then is here.
    Interrupted,
    /// Stopped by an error; what was measured until then is here.
    Failed,
}

/// One test on one target.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BenchmarkRun {
    /// Name of the test, such as `random-read`.
    pub test: SafeText,
    /// How it ended.
    pub state: RunState,
    /// What stopped it, where `state` is `failed`.
    pub error: Option<RunError>,
    /// When it began, RFC 3339 with offset.
    pub started: SafeText,
    /// How long it took, ramps and preparation included.
    pub elapsed_ns: u64,
    /// What was measured.
    pub target: TargetRecord,
    /// The test's parameters by name: bytes, nanoseconds, per second, or words.
    pub parameters: BTreeMap<SafeText, serde_json::Value>,
    /// Units of those parameters that have one.
    #[serde(default)]
    pub parameter_units: BTreeMap<SafeText, MetricUnit>,
    /// What executed the requests.
    pub engine: EngineRecord,
    /// What the test found.
    #[serde(flatten)]
    pub findings: Findings,
    /// The device's own counts over the run, where the kernel keeps any for the target.
    pub kernel: Option<KernelCounts>,
    /// Where the requests' time went, where the kernel could be asked (root, tracefs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageBreakdown>,
    /// Processor time of the run.
    pub cpu: Option<RunCpuTime>,
    /// What was seen around the run: that from which verdicts follow.
    #[serde(default)]
    pub evidence: RunEvidence,
    /// How to do the same again.
    pub reproduce: Invocation,
}

impl BenchmarkRun {
    /// Forgets curves and histograms: most of what a run takes in memory.
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

    /// Forgets all that a list of many drives by one figure does not need.
    pub fn keep_figure(&mut self, name: &str) {
        self.drop_distributions();
        self.findings.tables = Vec::new();
        self.findings.goals = Vec::new();
        // Repeated runs are judged by all figures with limits: those of the test itself stay.
        let is_needed = |figure: &Metric| figure.name == name || !is_nested_name(&figure.name);
        self.findings.figures.retain(is_needed);
        self.findings.figures.shrink_to_fit();
        self.reproduce = Invocation::default();
    }
}
