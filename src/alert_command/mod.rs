//! The command that triggers of conditions start: `watch --on CONDITION --exec COMMAND`.
//!
//! It is started without a shell, as the user who invoked the program, in a session of its own, with
//! facts as environment variables. At most one process per condition runs at a time, each on a
//! thread that starts it, waits for it and ends it when it takes too long: neither a program on a
//! hanging file system nor one that never ends delays a sample.

mod account;
mod child;
mod command_line;
mod environment;
mod facts;
mod identity;
mod runner;
mod supervision;

pub use self::command_line::{AlertProgram, CommandLineError};
pub use self::facts::VARIABLES;
pub use self::identity::{ExecIdentity, IdentityError, Invoker};
pub use self::runner::{AlertCommand, CommandRunner, RunLimits};
pub use self::supervision::{CommandEvent, CommandOutcome};
