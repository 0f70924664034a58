//! Why a configuration cannot be used.

use std::io;
use std::path::PathBuf;

/// An error in the configuration file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not TOML.
    #[error("{} is not valid TOML: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The parser's message.
        message: String,
    },
    /// A key that does not exist.
    #[error("{} has an unknown key {key}{suggestion}", path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// `, did you mean ...?`, or empty.
        suggestion: String,
    },
    /// A value that its key does not take.
    #[error("{}: {key}: {problem}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// What is wrong, and how to write it.
        problem: String,
    },
}
