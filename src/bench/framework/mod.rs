//! Shared by all benchmarks: parameters, plans, metrics and descriptions.

pub mod background_load;
pub mod benchmark;
pub mod budget;
pub mod context;
pub mod cpu_usage;
mod describe;
pub mod error;
pub mod fio;
pub mod forecast;
pub(crate) mod intervals;
pub mod metric_families;
mod metrics;
pub mod operation;
mod options;
pub mod parameter;
pub mod phases;
mod plan_builder;
pub mod progress;
pub mod request;
pub(crate) mod rounds;
pub mod run;
pub mod run_event;
mod speed;
pub(crate) mod sweep;
mod wakeup;

pub use self::describe::*;
pub use self::metrics::*;
pub use self::options::*;
pub use self::plan_builder::*;
