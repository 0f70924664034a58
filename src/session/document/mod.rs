//! The session document, which is saved, exported and compared: what was measured, on what, and how
//! valid the results are.
//!
//! Every number is in bytes, nanoseconds or per second, or as its `unit` says. A metric that could
//! not be determined is absent and explained by a [`Verdict`]; it is never 0.

pub mod check;
mod evidence;
mod findings;
mod invocation;
mod latency;
mod metric;
mod metric_kind;
mod metric_unit;
mod parameters;
mod record;
mod result_id;
mod run;
mod series;
mod series_kind;
mod session;
mod severity;
mod slo_result;
mod table;

pub use self::check::Verdict;
pub use self::evidence::{
    Attribution, BlockSample, DeviceHistory, DirectionCounts, DriveSetup, DriveTemperature,
    FileAllocation, LayerCounts, LayerRelation, OtherUser, PauseEvidence, ProcessorIdle,
    ProcessorLoad, RunEvidence, StallEvidence, SubmittedBytes,
};
pub use self::findings::{Findings, MetricIndex, is_nested_name};
pub use self::invocation::{FioGap, Invocation};
pub use self::latency::{LatencyByDirection, LatencySummary};
pub use self::metric::Metric;
pub use self::metric_kind::{MetricId, MetricKind, Percentile};
pub use self::metric_unit::MetricUnit;
pub use self::parameters::{CACHE_BYPASS, DATA_RANDOM, ParameterName, RunParameters, SYNC_NONE};
pub use self::record::{
    EngineRecord, KernelCounts, RunCpuTime, RunError, StageBreakdown, TargetRecord,
};
pub use self::result_id::{Kind, ResultId, VariantKey};
pub use self::run::{BenchmarkRun, RunState};
pub use self::series::{ChartAxis, Series};
pub use self::series_kind::{AxisQuantity, SeriesId, SeriesKind};
pub use self::session::{HostRecord, SCHEMA, Session, VERSION};
pub use self::severity::Severity;
pub use self::slo_result::{GoalComparison, SloResult};
pub use self::table::{MetricTable, MetricTableRow};
