//! The tests: which plans each needs, and what their outcomes mean.
//!
//! A test is one file: its [`Description`] (from which the launcher's form, the command line,
//! the documentation, the JSON, the text report and the run screen are made), its plans, and its
//! analysis. Adding one adds that file and a line in [`TESTS`].

use crate::drive::Target;
use crate::engine::Plan;

pub mod beside;
mod block_size;
pub mod block_size_read;
pub mod block_size_write;
pub mod budget;
pub mod common;
pub mod compression;
mod concurrency;
pub mod concurrency_read;
pub mod concurrency_write;
mod confidence;
pub mod effort;
pub mod fio;
pub mod forecast;
pub mod full_stroke;
pub mod geometry;
pub mod interference;
pub mod job;
pub mod mechanics;
pub mod metrics;
pub mod mixed;
pub mod parameter;
mod part;
mod passes;
pub mod quartet;
mod random;
pub mod random_read;
pub mod random_write;
pub mod read_ahead;
pub mod read_modify_write;
pub mod reorder;
pub mod rotation;
mod rounds;
pub mod runner;
pub mod seek_curve;
mod sequential;
pub mod sequential_read;
pub mod sequential_write;
pub mod steady_state;
pub mod survey;
mod sweep;
#[cfg(test)]
mod tests;
pub mod track_to_track;
pub mod write_cache;
pub mod write_sync_close;

pub use fio::FioJob;
pub use forecast::{Forecast, RunTime};
pub use job::Job;
pub use parameter::{Kind, Parameter, ParameterError, Parameters, Position, Value};
pub use runner::{Bench, Observer, Progress};

use crate::session::chart::Presentation;
pub use crate::session::chart::{Chart, Shape};
pub use crate::session::document::FioGap;

/// Every test, in the order in which they are listed.
pub static TESTS: &[&dyn Test] = &[
    &sequential_read::SequentialRead,
    &sequential_write::SequentialWrite,
    &random_read::RandomRead,
    &random_write::RandomWrite,
    &mixed::Mixed,
    &concurrency_read::ConcurrencyRead,
    &concurrency_write::ConcurrencyWrite,
    &block_size_read::BlockSizeRead,
    &block_size_write::BlockSizeWrite,
    &write_sync_close::WriteSyncClose,
    &read_modify_write::ReadModifyWrite,
    &steady_state::SteadyState,
    &read_ahead::ReadAhead,
    &reorder::Reorder,
    &interference::Interference,
    &compression::Compression,
    &write_cache::WriteCache,
    &quartet::Quartet,
    &rotation::RotationSpeed,
    &full_stroke::FullStroke,
    &track_to_track::TrackToTrack,
    &seek_curve::SeekDistance,
    &geometry::Geometry,
    &survey::Survey,
];

/// The test of that name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Test> {
    let known = |test: &&&'static dyn Test| {
        let description = test.description();
        description.name == name || description.aliases.contains(&name)
    };
    TESTS.iter().find(known).copied()
}

/// A benchmark: plans and an analysis.
pub trait Test: Sync + Send {
    /// What it is, as data.
    fn description(&self) -> &'static Description;

    /// Whether it writes with these parameters: what it needs consent for.
    fn writes(&self, parameters: &Parameters) -> bool {
        let _ = parameters;
        self.description().writes
    }

    /// What it will do with these parameters.
    ///
    /// # Errors
    /// When the parameters do not fit the target or each other.
    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError>;

    /// Executes its plans and says what they mean, as far as it gets: after a stop or a failure
    /// (see [`Bench::stopped`]) it analyses what there is and returns.
    ///
    /// # Errors
    /// When nothing could be measured at all.
    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError>;

    /// The fio job that does the same with these parameters.
    ///
    /// # Errors
    /// What fio cannot do of it.
    fn fio(&self, target: &Target, parameters: &Parameters) -> Result<FioJob, FioGap>;
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
    pub writes: bool,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// The metrics that it can yield, as [`metrics::includes`] reads them.
    pub metrics: &'static [&'static str],
    /// The charts of its result, the most telling first.
    pub charts: &'static [Chart],
    /// Figures to put first, in this order.
    pub headline: &'static [&'static str],
}

impl Description {
    /// How its result wants to be presented.
    #[must_use]
    pub fn presentation(&self) -> Presentation {
        Presentation {
            summary: self.summary,
            headline: self.headline,
            charts: self.charts,
        }
    }
}

/// What went wrong with a test.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The parameters do not fit: how to mend them.
    #[error("{0}")]
    Parameters(String),
    /// A goal for a metric that the benchmark does not yield.
    #[error("--goal {goal:?}: {test} does not yield that metric{suggestion}")]
    Goal {
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
    Parameter(#[from] ParameterError),
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
            Self::Parameters(_) | Self::Parameter(_) => {
                "`diskscope tests` lists the parameters of every test".to_owned()
            }
            Self::Goal { metrics, .. } => format!("set a goal for one of {metrics}"),
            Self::Engine(error) => error.advice(),
            Self::SettingInUse(error) => error.advice(),
        }
    }
}

/// Checks that a plan's window holds at least one block.
pub(crate) fn check_window(plan: &Plan) -> Result<(), BenchError> {
    let block = u64::from(plan.block_size.largest());
    if plan.window.end.saturating_sub(plan.window.start) < block {
        return Err(BenchError::Parameters(format!(
            "the window from byte {} to byte {} does not hold one block of {block} bytes: widen it \
             with --window-begin and --window-end, or choose a smaller --block-size",
            plan.window.start, plan.window.end
        )));
    }
    Ok(())
}
