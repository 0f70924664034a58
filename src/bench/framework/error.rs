//! Why a benchmark could not run, with the command-line options that correct it.

use super::parameter::ParameterError;
use crate::drive::QUOTA_ADVICE;
use crate::engine::{EngineError, OpenError};
use crate::text;

/// Why a benchmark could not run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The parameters do not fit the benchmark, the target or each other: which ones and why.
    #[error("{0}")]
    InvalidParameters(String),
    /// A goal names a metric that the benchmark does not yield.
    #[error("--goal {goal:?}: {test} does not yield that metric{suggestion}")]
    UnknownGoalMetric {
        /// The goal as written by the user.
        goal: String,
        /// Name of the benchmark.
        test: &'static str,
        /// Suggestion of a similar metric; empty if none is similar.
        suggestion: String,
        /// Metrics that the benchmark yields.
        metrics: String,
    },
    /// A parameter could not be parsed.
    #[error(transparent)]
    ParameterSyntax(#[from] ParameterError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Another process changes the setting under test, which would invalidate the measurement.
    #[error(transparent)]
    SettingInUse(crate::drive::settings::SettingError),
}

impl BenchError {
    /// One sentence of advice to the user.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::InvalidParameters(_) | Self::ParameterSyntax(_) => {
                "`diskscope tests` lists the parameters of every benchmark".to_owned()
            }
            Self::UnknownGoalMetric { metrics, .. } => format!("set a goal for one of {metrics}"),
            Self::Engine(error) => engine_advice(error),
            Self::SettingInUse(error) => error.advice(),
        }
    }
}

/// A remedy for an engine error, as one sentence.
fn engine_advice(error: &EngineError) -> String {
    let text = match error {
        EngineError::NothingMeasured => "raise --bytes or --requests, or make --ramp shorter",
        EngineError::InvalidPlan(error) => error.advice,
        EngineError::EngineStart { source, .. }
            if source.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            return text::root_advice(
                " (sudo)",
                "a security module or a container forbids it: try --engine pread",
            );
        }
        EngineError::FlushFailed { .. } => "see the kernel's log (dmesg)",
        EngineError::EngineStart { .. } => {
            "try --engine pread, or fewer workers and a smaller depth"
        }
        // The kernel reports size 0 for a drive that it has taken offline.
        EngineError::RequestFailed { source, .. }
            if source.kind() == std::io::ErrorKind::UnexpectedEof =>
        {
            "the drive or its medium is gone: check cable and power; or another process truncated the \
             file"
        }
        EngineError::RequestFailed { source, .. } => match source.raw_os_error() {
            Some(libc::EIO | libc::ENODATA | libc::EREMOTEIO) => {
                "the drive failed: see the kernel's log (dmesg) and the drive's SMART \
                 values, and back up its data"
            }
            Some(libc::ENODEV | libc::ENXIO | libc::ENOTCONN | libc::ECONNABORTED) => {
                "the drive is gone: check cable and power, or the program that serves it"
            }
            Some(libc::ENOSPC) => "free some space, or choose a smaller size",
            Some(libc::EDQUOT) => QUOTA_ADVICE,
            Some(libc::EINVAL) => "try a larger --block-size, or --cache keep",
            _ => "see the kernel's log (dmesg)",
        },
        EngineError::OpenMedium(error) => return error.advice(),
        EngineError::WorkerPanicked => "report it together with the output",
    };
    text.to_owned()
}

/// A remedy for a target that cannot be opened, as one sentence.
#[must_use]
pub fn open_advice(error: &OpenError) -> String {
    match error {
        OpenError::Medium(error) => error.advice(),
        OpenError::Simulated(_) => {
            "write for example sim:constant,latency=100us,size=10GB".to_owned()
        }
        OpenError::Engine { .. } => "use --engine auto or --engine pread".to_owned(),
    }
}
