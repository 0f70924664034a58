//! Exit statuses, and the failure of a command.

use crate::alerts::command::CommandError;
use crate::engine::CancellationToken;
use crate::files::error::FileError;
use crate::recording::{RecordingReadError, RecordingWriteError};
use crate::session::store::StoreError;
use crate::trace::events::TraceError;
use crate::trace::stream::NoDevice;

/// Advice if files are too large together for a comparison.
const FEWER_FILES: &str =
    "name fewer files, or rank them by one metric: diskscope compare --by iops FILE...";

/// Exit status of the program; scripts may rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Completed.
    Success = 0,
    /// Failed; the results until then were saved and printed.
    Failed = 1,
    /// The command line is invalid.
    UsageError = 2,
    /// Refused for safety.
    Refused = 3,
    /// Completed, but a goal was missed.
    GoalMissed = 4,
    /// Completed, and a problem was found.
    ProblemFound = 5,
    /// Completed, but something became slower: `compare --fail-if-slower`.
    Slower = 6,
    /// Completed, but a check says that a result is invalid: `run --strict`.
    Invalid = 7,
    /// Interrupted; the partial result was saved and printed.
    Interrupted = 130,
}

impl ExitStatus {
    /// All statuses in order, with what they mean, for the manual page and the documentation.
    pub const MEANINGS: [(Self, &str); 9] = [
        (Self::Success, "done"),
        (
            Self::Failed,
            "failed; the partial result is saved and printed",
        ),
        (
            Self::UsageError,
            "usage error: an option, a benchmark, a target or a file that is missing or not of the \
             right kind",
        ),
        (Self::Refused, "refused for safety"),
        (Self::GoalMissed, "done, but a goal was missed"),
        (
            Self::ProblemFound,
            "done, and a problem was found (`why --exit-code`)",
        ),
        (
            Self::Slower,
            "done, but a metric is significantly worse than the baseline: compare \
             --fail-if-slower",
        ),
        (
            Self::Invalid,
            "done, but a check says that a result is invalid: run --strict",
        ),
        (
            Self::Interrupted,
            "interrupted; the partial result is saved and printed",
        ),
    ];

    /// The status of a command that did all it was to do, or that a signal ended early.
    pub(super) fn of_end(control: &CancellationToken) -> Self {
        if control.is_cancelled() {
            Self::Interrupted
        } else {
            Self::Success
        }
    }
}

/// A command that failed: the messages, and the exit status.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    pub(super) exit: ExitStatus,
    pub(super) message: String,
    /// Facts and advice, one line each.
    pub(super) details: Vec<String>,
}

impl CommandFailure {
    pub(super) fn new(exit: ExitStatus, message: impl ToString) -> Self {
        Self {
            exit,
            message: message.to_string(),
            details: Vec::new(),
        }
    }

    pub(super) fn usage_error(message: impl ToString) -> Self {
        Self::new(ExitStatus::UsageError, message)
    }

    pub(super) fn failed(message: impl ToString) -> Self {
        Self::new(ExitStatus::Failed, message)
    }

    /// Adds a line of advice.
    pub(super) fn with_advice(mut self, advice: impl ToString) -> Self {
        self.details.push(advice.to_string());
        self
    }
}

/// Result of a subcommand.
pub(super) type CommandResult = Result<ExitStatus, CommandFailure>;

/// The failure for an output that was refused before the command started.
pub(super) fn output_refused(error: FileError) -> CommandFailure {
    CommandFailure::usage_error(&error).with_advice(error.advice())
}

/// A usage error, or a failure of the command.
fn usage_if(is_usage: bool, error: impl ToString) -> CommandFailure {
    if is_usage {
        CommandFailure::usage_error(error)
    } else {
        CommandFailure::failed(error)
    }
}

/// A result that could not be written.
impl From<FileError> for CommandFailure {
    fn from(error: FileError) -> Self {
        Self::failed(&error).with_advice(error.advice())
    }
}

/// A value that cannot be written as JSON, or as CSV, which is converted from it.
impl From<serde_json::Error> for CommandFailure {
    fn from(error: serde_json::Error) -> Self {
        Self::failed(format!("cannot write JSON: {error}"))
    }
}

/// A session that cannot be loaded.
impl From<StoreError> for CommandFailure {
    fn from(error: StoreError) -> Self {
        let failure = usage_if(error.is_usage(), &error);
        if matches!(error, StoreError::TooLargeTogether { .. }) {
            return failure.with_advice(FEWER_FILES);
        }
        failure
    }
}

/// Requests that cannot be traced.
impl From<TraceError> for CommandFailure {
    fn from(error: TraceError) -> Self {
        Self::failed(&error).with_advice(error.advice())
    }
}

/// A device that cannot be traced.
impl From<NoDevice> for CommandFailure {
    fn from(error: NoDevice) -> Self {
        Self::usage_error(&error).with_advice(error.advice())
    }
}

/// A recording that cannot be read.
impl From<RecordingReadError> for CommandFailure {
    fn from(error: RecordingReadError) -> Self {
        let is_usage = match &error {
            RecordingReadError::NotARecording { .. } => true,
            RecordingReadError::Input(input) => input.is_usage(),
            _ => false,
        };
        usage_if(is_usage, error)
    }
}

/// A recording that cannot be written.
impl From<RecordingWriteError> for CommandFailure {
    fn from(error: RecordingWriteError) -> Self {
        let is_usage = matches!(
            error,
            RecordingWriteError::Output(_) | RecordingWriteError::RingSize(_)
        );
        usage_if(is_usage, &error).with_advice(error.advice())
    }
}

/// A command of `--exec` that cannot be started.
impl From<CommandError> for CommandFailure {
    fn from(error: CommandError) -> Self {
        if !matches!(error, CommandError::Untrusted { .. }) {
            return Self::usage_error(error);
        }
        Self::new(ExitStatus::Refused, error).with_advice(
            "only root and the user of the command may own or write the program and the directories of \
             its path; --exec-user names another user",
        )
    }
}
