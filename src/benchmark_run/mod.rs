//! A run of one benchmark, from the opened target to the saved session, without a terminal.

mod detached;
pub(crate) mod evidence;
pub(crate) mod machine;
mod open_session;
pub mod overwrite_consent;
mod run_record;
mod run_recorder;
mod run_spec;
mod runner;
mod shared_session;
mod start_error;

pub use self::detached::run_detached;
pub use self::run_spec::{RunReport, RunSpec, SaveError};
pub use self::runner::run_benchmark;
pub use self::start_error::{StartError, StartStep};
