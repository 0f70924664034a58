//! The tests: which plans each needs, and what their outcomes mean.
//!
//! A test is one file: its [`Description`] (from which the launcher's form, the command line,
//! the documentation, the JSON, the text report and the run screen are made), its plans, and its
//! analysis. Adding one adds that file and a line in [`TESTS`].

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
pub use crate::session::document::FioGap;

/// Every test, in the order in which they are listed.
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

/// The test of that name or alias.
#[must_use]
pub fn find_benchmark(name: &str) -> Option<&'static dyn Benchmark> {
    let known = |test: &&&'static dyn Benchmark| {
        let description = test.description();
        description.name == name || description.aliases.contains(&name)
    };
    BENCHMARKS.iter().find(known).copied()
}

/// A benchmark: plans and an analysis.
pub trait Benchmark: Sync + Send {
    /// What it is, as data.
    fn description(&self) -> &'static Description;

    /// Whether it writes with these parameters: what it needs consent for.
    fn writes(&self, parameters: &ParameterSet) -> bool {
        let _ = parameters;
        self.description().may_write
    }

    /// What it will do with these parameters.
    ///
    /// # Errors
    /// When the parameters do not fit the target or each other.
    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError>;

    /// Executes its plans and says what they mean, as far as it gets: after a stop or a failure
    /// (see [`Bench::stopped`]) it analyses what there is and returns.
    ///
    /// # Errors
    /// When nothing could be measured at all.
    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError>;

    /// The fio job that does the same with these parameters.
    ///
    /// # Errors
    /// What fio cannot do of it.
    fn fio(&self, target: &Target, parameters: &ParameterSet) -> Result<FioJob, FioGap>;
}

/// What a test is.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Name, as in `diskscope run NAME`.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What it measures, one line.
    pub summary: &'static str,
    /// What it does, how to read its chart, what it costs: paragraphs for the info pane and for
    /// `docs/tests.md`.
    pub explanation: &'static str,
    /// Whether it may write to the target; [`Test::writes`] knows for given parameters.
    pub may_write: bool,
    /// What can be set.
    pub parameters: &'static [ParameterSpec],
    /// The metrics that it can yield, as [`metrics::includes`] reads them.
    pub metrics: &'static [&'static str],
    /// The charts of its result, the most telling first.
    pub charts: &'static [ChartSpec],
    /// Figures to put first, in this order.
    pub headline_metrics: &'static [&'static str],
}

impl Description {
    /// How its result wants to be presented.
    #[must_use]
    pub fn presentation(&self) -> ResultPresentation {
        ResultPresentation {
            summary: self.summary,
            headline: self.headline_metrics,
            charts: self.charts,
        }
    }
}

/// What went wrong with a test.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The parameters do not fit: how to mend them.
    #[error("{0}")]
    InvalidParameters(String),
    /// A goal for a metric that the benchmark does not yield.
    #[error("--goal {goal:?}: {test} does not yield that metric{suggestion}")]
    UnknownGoalMetric {
        /// The goal as it was written.
        goal: String,
        /// Name of the benchmark.
        test: &'static str,
        /// The nearest metric, if any is near.
        suggestion: String,
        /// What it yields.
        metrics: String,
    },
    /// A parameter could not be read.
    #[error(transparent)]
    ParameterSyntax(#[from] ParameterError),
    /// The engine could not do it.
    #[error(transparent)]
    Engine(#[from] crate::engine::EngineError),
    /// Another process changes the setting that is to be measured: whatever is measured beside it
    /// is not worth anything.
    #[error(transparent)]
    SettingInUse(crate::drive::settings::SettingError),
}

impl BenchError {
    /// What to do about it, one sentence.
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
