//! One benchmark run, from the opened target to the saved session, without a terminal.

pub(crate) mod detached;
pub(crate) mod evidence;
pub(crate) mod machine;
pub mod output;
pub mod overwrite_consent;
pub mod runner;
pub(crate) mod session_recorder;
