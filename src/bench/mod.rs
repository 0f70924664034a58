//! Benchmarks: the plans that each one runs, and the analysis of their outcomes.
//!
//! Each benchmark has its own module with a [`Description`], its plans and its analysis. The
//! launcher's form, the command line, the documentation, the JSON, the text report and the run
//! screen are generated from the description. A new benchmark needs a module and an entry in
//! [`BENCHMARKS`].

pub mod basic;
pub mod cache;
pub mod contention;
pub mod framework;
pub mod hdd;
mod registry;
pub mod suites;
pub mod sweeps;
#[cfg(test)]
pub(crate) mod tests;

pub use self::framework::benchmark::{Benchmark, BenchmarkGroup, Description};
pub use self::framework::context::RunContext;
pub use self::framework::error::BenchError;
pub use self::framework::fio::FioJob;
pub use self::framework::forecast::{Forecast, RunTime};
pub use self::framework::parameter::{
    AnyParameter, Keyword, Parameter, ParameterError, ParameterKind, ParameterSet, ParameterType,
    ParameterValue, SizeRange, WindowPosition,
};
pub use self::framework::phases::{Phase, PhaseGroup, Phases, Repetition, Sharing};
pub use self::framework::request::{RequestedTarget, RunRequest};
pub use self::framework::run_event::{RunEvent, RunProgress, RunSink, RunStart};
pub use self::registry::{BENCHMARKS, find_benchmark, suggest_benchmark};
pub use crate::session::chart::{ChartShape, ChartSpec};
pub use crate::session::document::FioGap;
