//! Why a configuration cannot be used.

use std::io;
use std::path::PathBuf;

use super::keys::ConfigKey;
use crate::units::UnitError;

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
    /// A line that cannot be used.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: LineError,
    },
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It is not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// A key that does not exist.
    #[error("unknown key {key}{}", nearest.map_or_else(
        || format!("; keys are {}", ConfigKey::ALL.map(ConfigKey::word).join(", ")),
        |nearest| format!(", did you mean {nearest}?"),
    ))]
    UnknownKey {
        /// The key.
        key: String,
        /// The known key that is nearest, if one is similar.
        nearest: Option<&'static str>,
    },
    /// A value that its key does not take.
    #[error("{}: {problem}", key.word())]
    Value {
        /// The key.
        key: ConfigKey,
        /// What is wrong with the value.
        problem: ValueError,
    },
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// It is none of the words that are known.
    #[error("{value:?} is none of {}{}", known.join(", "),
        nearest.map_or_else(String::new, |nearest| format!("; did you mean {nearest}?")))]
    UnknownWord {
        /// The value.
        value: String,
        /// The words.
        known: Vec<&'static str>,
        /// The known word that is nearest, if one is similar.
        nearest: Option<&'static str>,
    },
    /// It is not text.
    #[error("the value must be text in quotes, such as \"{0}\"")]
    NotText(&'static str),
    /// It is empty.
    #[error("the value is empty; leave the key out for the default")]
    Empty,
    /// It is not a list.
    #[error("the value must be a list, such as {0}")]
    NotList(&'static str),
    /// It is not a time.
    #[error("the value must be a time, such as \"500ms\", or a number of seconds")]
    NotTime,
    /// It is a time that cannot be read.
    #[error(transparent)]
    Time(#[from] UnitError),
    /// It is too short for an interval.
    #[error("the shortest interval is 100ms")]
    ShortInterval,
}
