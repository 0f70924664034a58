//! A run of one benchmark, from the opened target to the saved session, without a terminal.

pub mod consent;
mod detached;
pub(crate) mod evidence;
mod execute;
pub(crate) mod machine;
mod record;
mod recorded_run;
mod session;
mod start_error;

pub use self::detached::run_detached;
pub use self::execute::run_benchmark;
pub use self::session::{RunReport, SaveError};
pub use self::start_error::{StartError, StartStep};
