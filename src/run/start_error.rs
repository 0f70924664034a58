//! Why a run did not start.

use std::fmt;

use crate::bench::BenchError;
use crate::bench::framework::error::open_advice;
use crate::drive::{DriveError, ErrorKind, Inspection};
use crate::engine::{EngineError, OpenError};

/// A step before the first request, any of which may hang with the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartStep {
    /// The target is being opened.
    #[default]
    Open,
    /// Its contents and its users are being read, before it is overwritten.
    Inspect,
    /// The scratch file is being written.
    FillScratchFile,
}

impl fmt::Display for StartStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "opening",
            Self::Inspect => "looking at what is on",
            Self::FillScratchFile => "filling the scratch file in",
        })
    }
}

/// Why a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The target cannot be opened.
    #[error(transparent)]
    OpenTarget(#[from] OpenError),
    /// Writing is not permitted.
    #[error("{refusal}")]
    WriteRefused {
        /// The reason.
        refusal: OpenError,
        /// What the target is and what is on it, as far as that is known.
        inspection: Option<Box<Inspection>>,
    },
    /// An output file is the target.
    #[error("{target} is also an output of this command")]
    OutputIsTarget {
        /// The target, as the user named it.
        target: String,
    },
    /// The parameters do not fit the target.
    #[error(transparent)]
    InvalidParameters(#[from] BenchError),
    /// It was stopped while a write of its journal hung.
    #[error("interrupted, and the directory of the sessions does not answer")]
    JournalHangs,
    /// It was stopped before anything was measured, and the target hangs.
    #[error("interrupted while {step} {target}, which does not answer: nothing was measured")]
    TargetHangs {
        /// The step that hangs.
        step: StartStep,
        /// The target.
        target: String,
    },
}

impl From<DriveError> for StartError {
    fn from(error: DriveError) -> Self {
        Self::OpenTarget(error.into())
    }
}

impl StartError {
    /// Category of the error for the exit status.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::OpenTarget(error) | Self::WriteRefused { refusal: error, .. } => error.kind(),
            Self::OutputIsTarget { .. } => ErrorKind::Usage,
            Self::InvalidParameters(
                BenchError::InvalidParameters(_)
                | BenchError::ParameterSyntax(_)
                | BenchError::UnknownGoalMetric { .. },
            ) => ErrorKind::Usage,
            Self::InvalidParameters(BenchError::Engine(EngineError::InvalidPlan(_))) => {
                ErrorKind::Usage
            }
            Self::InvalidParameters(BenchError::SettingInUse(_)) => ErrorKind::Refused,
            Self::InvalidParameters(BenchError::Engine(_))
            | Self::JournalHangs
            | Self::TargetHangs { .. } => ErrorKind::Failed,
        }
    }

    /// What to do, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::OpenTarget(error) | Self::WriteRefused { refusal: error, .. } => {
                open_advice(error)
            }
            Self::OutputIsTarget { .. } => "name another file for the result".to_owned(),
            Self::InvalidParameters(error) => error.advice(),
            Self::JournalHangs => {
                "the journal holds what was written to it: diskscope show".to_owned()
            }
            Self::TargetHangs { .. } => "see the kernel's log (dmesg)".to_owned(),
        }
    }
}
