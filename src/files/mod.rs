//! What comes in from outside and goes out to files: outputs, inputs, the state directory, the configuration, text
//! from outside, quoting for a shell, and the process that waits for the one that does the work.

pub mod bounded;
pub mod config;
pub mod error;
pub mod file_id;
pub mod format_version;
pub mod input;
pub mod json;
pub mod output;
pub mod path;
pub mod printable;
pub mod safe_text;
pub mod shell;
pub mod state;
pub mod supervisor;
