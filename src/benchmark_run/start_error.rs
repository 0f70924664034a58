//! Why a run did not start.

use std::fmt;

use crate::bench::BenchError;
use crate::bench::framework::error::open_advice;
use crate::drive::{DriveError, ErrorKind, Inspection, Target};
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
    /// The scratch file cannot be filled, and its file system may keep its space in use.
    #[error("{error}")]
    LostSpace {
        /// The reason.
        error: DriveError,
        /// What to do about the space.
        advice: &'static str,
    },
    /// Writing is not permitted.
    #[error("{refusal}")]
    WriteRefused {
        /// The reason.
        refusal: OpenError,
        /// What the target is, what is on it and who uses it, as far as that is known.
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

/// Whether the error is that of a drive that fails or was removed.
fn is_of_drive(error: &std::io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::EIO
                | libc::ENXIO
                | libc::ENODEV
                | libc::ENOMEDIUM
                | libc::EROFS
                | libc::ESHUTDOWN
        )
    )
}

impl From<DriveError> for StartError {
    fn from(error: DriveError) -> Self {
        Self::OpenTarget(error.into())
    }
}

impl StartError {
    /// The error of a scratch file that could not be filled.
    pub(super) fn of_scratch_file(error: DriveError, target: &Target) -> Self {
        match (&error, target.lost_space_advice()) {
            (DriveError::Io { source, .. }, Some(advice)) if is_of_drive(source) => {
                Self::LostSpace { error, advice }
            }
            _ => error.into(),
        }
    }

    /// Category of the error for the exit status.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::OpenTarget(error) | Self::WriteRefused { refusal: error, .. } => error.kind(),
            Self::LostSpace { error, .. } => error.kind(),
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
            Self::LostSpace { error, advice } => with_lost_space(error.advice(), Some(advice)),
            Self::OutputIsTarget { .. } => "name another file for the result".to_owned(),
            Self::InvalidParameters(error) => error.advice(),
            Self::JournalHangs => {
                "the journal holds what was written to it: diskscope show".to_owned()
            }
            Self::TargetHangs { .. } => "see the kernel's log (dmesg)".to_owned(),
        }
    }
}

/// Advice on an error, and on the space that a scratch file may have lost by it.
pub(super) fn with_lost_space(advice: String, lost_space: Option<&str>) -> String {
    match lost_space {
        Some(lost_space) => advice + "; " + lost_space,
        None => advice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::TargetKind;

    #[test]
    fn advice_on_a_scratch_file_names_the_space_that_a_removed_drive_keeps_in_use() {
        let advice = |file_system: &str, error| {
            let target = Target {
                kind: TargetKind::ScratchFile,
                file_system: Some(file_system.to_owned()),
                ..Target::example_drive()
            };
            StartError::of_scratch_file(error, &target).advice()
        };
        let failed = || DriveError::Io {
            tried: "fill the scratch file in",
            name: "/media/stick".to_owned(),
            source: std::io::Error::from_raw_os_error(libc::EIO),
        };
        let doing = "the scratch file was filled";
        assert!(advice("vfat", failed()).contains("fsck"));
        assert!(!advice("ext4", failed()).contains("fsck"));
        assert!(!advice("vfat", DriveError::Cancelled { doing }).contains("fsck"));
    }
}
