//! Benchmarks: the plans that each one runs, and the analysis of their outcomes.
//!
//! Each benchmark has its own module with a [`Description`], its plans and its analysis. The
//! launcher's form, the command line, the documentation, the JSON, the text report and the run
//! screen are generated from the description. A new benchmark needs a module and an entry in
//! [`BENCHMARKS`].

use crate::drive::Target;
use crate::engine::Plan;

pub mod basic;
pub mod cache;
pub mod contention;
pub mod framework;
pub mod hdd;
pub mod suites;
pub mod sweeps;
#[cfg(test)]
mod tests;

pub use self::framework::context::{RunContext, RunObserver, RunProgress};
pub use self::framework::fio::FioJob;
pub use self::framework::forecast::{Forecast, RunTime};
pub use self::framework::parameter::{
    ParameterError, ParameterKind, ParameterSet, ParameterSpec, ParameterValue, WindowPosition,
};
pub use self::framework::spec::BenchmarkSpec;

use crate::session::chart::ResultPresentation;
pub use crate::session::chart::{ChartShape, ChartSpec};
use crate::session::checks::Workload;
use crate::session::document::Findings;
pub use crate::session::document::FioGap;
use crate::session::document::check::CheckId;

/// All benchmarks, in listing order.
pub static BENCHMARKS: &[&dyn Benchmark] = &[
    &self::basic::sequential_read::SequentialRead,
    &self::basic::sequential_write::SequentialWrite,
    &self::basic::random_read::RandomRead,
    &self::basic::random_write::RandomWrite,
    &self::basic::mixed::MixedReadWrite,
    &self::sweeps::concurrency_read::ConcurrencyRead,
    &self::sweeps::concurrency_write::ConcurrencyWrite,
    &self::sweeps::block_size_read::BlockSizeRead,
    &self::sweeps::block_size_write::BlockSizeWrite,
    &self::cache::write_sync_close::WriteSyncCloseBenchmark,
    &self::cache::read_modify_write::ReadModifyWriteCost,
    &self::sweeps::steady_state::SteadyStateBenchmark,
    &self::cache::read_ahead::ReadAheadSweep,
    &self::contention::reorder::ReorderBenchmark,
    &self::contention::interference::InterferenceBenchmark,
    &self::cache::compression::CompressionBenchmark,
    &self::cache::write_cache::WriteCacheBenchmark,
    &self::suites::quartet::QuartetSuite,
    &self::hdd::rotation::RotationSpeed,
    &self::hdd::full_stroke::FullStrokeSeek,
    &self::hdd::track_to_track::TrackToTrack,
    &self::hdd::seek_curve::SeekCurveBenchmark,
    &self::hdd::geometry::GeometryBenchmark,
    &self::suites::survey::SurveySuite,
];

/// Looks up a benchmark by name or alias.
#[must_use]
pub fn find_benchmark(name: &str) -> Option<&'static dyn Benchmark> {
    let known = |test: &&&'static dyn Benchmark| {
        let description = test.description();
        description.name == name || description.aliases.contains(&name)
    };
    BENCHMARKS.iter().find(known).copied()
}

/// A benchmark: its plans and their analysis.
pub trait Benchmark: Sync + Send {
    /// Static description.
    fn description(&self) -> &'static Description;

    /// Whether the benchmark writes to the target with these parameters, and so needs consent.
    fn writes(&self, parameters: &ParameterSet) -> bool {
        let _ = parameters;
        self.description().may_write
    }

    /// Predicts run time, bytes read and bytes written with these parameters.
    ///
    /// # Errors
    /// When the parameters do not fit the target or each other.
    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError>;

    /// Executes the plans and analyses their outcomes. After a stop or a failure (see
    /// [`RunContext::is_stopped`]) it analyses the data measured so far and returns.
    ///
    /// # Errors
    /// When nothing could be measured.
    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError>;

    /// The equivalent fio job with these parameters.
    ///
    /// # Errors
    /// Why fio cannot run an equivalent job.
    fn fio(&self, target: &Target, parameters: &ParameterSet) -> Result<FioJob, FioGap>;
}

/// Static description of a benchmark.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Name, as in `diskscope run NAME`.
    pub name: &'static str,
    /// Alternative names.
    pub aliases: &'static [&'static str],
    /// One-line summary of what it measures.
    pub summary: &'static str,
    /// Paragraphs for the info pane and `docs/tests.md`: method, how to read the chart, cost.
    pub explanation: &'static str,
    /// Whether it can write to the target at all; [`Benchmark::writes`] answers for given
    /// parameters.
    pub may_write: bool,
    /// Accepted parameters.
    pub parameters: &'static [ParameterSpec],
    /// Patterns of the metrics that it can yield, as read by
    /// [`matches_any`](framework::metric_names::matches_any).
    pub metrics: &'static [&'static str],
    /// Checks that the benchmark itself makes, beside those that apply to every run.
    pub checks: &'static [CheckId],
    /// What the checks of every run need to know about its load.
    pub workload: Workload,
    /// Charts of the result, most important first.
    pub charts: &'static [ChartSpec],
    /// Names of the metrics to show first, in this order.
    pub headline_metrics: &'static [&'static str],
}

impl Description {
    /// In a debug build, panics on findings with a check that the benchmark does not declare.
    pub(crate) fn assert_checks_declared(&self, findings: &Findings) {
        // Those of nested benchmarks are checked with their own description.
        let own = findings.verdicts.iter();
        for verdict in own.filter(|verdict| verdict.code.benchmark.is_none()) {
            let is_declared = verdict.id().is_some_and(|id| self.checks.contains(&id));
            debug_assert!(
                is_declared,
                "{} does not declare {}",
                self.name, verdict.code
            );
        }
    }

    /// How to present the result.
    #[must_use]
    pub fn presentation(&self) -> ResultPresentation {
        ResultPresentation {
            summary: self.summary,
            headline: self.headline_metrics,
            charts: self.charts,
        }
    }
}

/// Why a benchmark could not run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The parameters are invalid; the text says how to correct them.
    #[error("{0}")]
    InvalidParameters(String),
    /// A goal names a metric that the benchmark does not yield.
    #[error("--goal {goal:?}: {test} does not yield that metric{suggestion}")]
    UnknownGoalMetric {
        /// The goal as written by the user.
        goal: String,
        /// Name of the benchmark.
        test: &'static str,
        /// Suggestion of a similar metric; empty if none is similar.
        suggestion: String,
        /// Metrics that the benchmark yields.
        metrics: String,
    },
    /// A parameter could not be parsed.
    #[error(transparent)]
    ParameterSyntax(#[from] ParameterError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] crate::engine::EngineError),
    /// Another process changes the setting under test, which would invalidate the measurement.
    #[error(transparent)]
    SettingInUse(crate::drive::settings::SettingError),
}

impl BenchError {
    /// One sentence of advice to the user.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::InvalidParameters(_) | Self::ParameterSyntax(_) => {
                "`diskscope tests` lists the parameters of every test".to_owned()
            }
            Self::UnknownGoalMetric { metrics, .. } => format!("set a goal for one of {metrics}"),
            Self::Engine(error) => error.advice(),
            Self::SettingInUse(error) => error.advice(),
        }
    }
}

/// Checks that a plan's window holds at least one block.
pub(crate) fn check_window(plan: &Plan) -> Result<(), BenchError> {
    let block = u64::from(plan.block_size.max_bytes());
    if plan.window.end.saturating_sub(plan.window.start) < block {
        return Err(BenchError::InvalidParameters(format!(
            "the window from byte {} to byte {} does not hold one block of {block} bytes: widen it \
             with --window-begin and --window-end, or choose a smaller --block-size",
            plan.window.start, plan.window.end
        )));
    }
    Ok(())
}
