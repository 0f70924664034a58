//! Exit statuses, and the failure of a command.

use crate::engine::CancellationToken;
use crate::files::error::FileError;
use crate::session::store::StoreError;

/// Advice if files are too large together for a comparison.
pub(super) const FEWER_FILES: &str =
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
    /// Interrupted; the partial result was saved and printed.
    Interrupted = 130,
}

impl ExitStatus {
    /// All statuses, in order.
    pub const ALL: [Self; 8] = [
        Self::Success,
        Self::Failed,
        Self::UsageError,
        Self::Refused,
        Self::GoalMissed,
        Self::ProblemFound,
        Self::Slower,
        Self::Interrupted,
    ];

    /// The status of a command that did all it was to do, or that a signal ended early.
    pub(super) fn of_end(control: &CancellationToken) -> Self {
        if control.is_cancelled() {
            Self::Interrupted
        } else {
            Self::Success
        }
    }

    /// What the status means, for the manual page and the documentation.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "done",
            Self::Failed => "failed; the partial result is saved and printed",
            Self::UsageError => {
                "usage error: an option, a benchmark, a target or a file that is missing or not of \
                 the right kind"
            }
            Self::Refused => "refused for safety",
            Self::GoalMissed => "done, but a goal was missed",
            Self::ProblemFound => "done, and a problem was found (`why --exit-code`)",
            Self::Slower => {
                "done, but a metric is significantly worse than the baseline: compare \
                 --fail-if-slower"
            }
            Self::Interrupted => "interrupted; the partial result is saved and printed",
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

/// A result that could not be written.
impl From<FileError> for CommandFailure {
    fn from(error: FileError) -> Self {
        Self::failed(&error).with_advice(error.advice())
    }
}

/// Result of a subcommand.
pub(super) type CommandResult = Result<ExitStatus, CommandFailure>;

/// The failure for an output that was refused before the command started.
pub(super) fn output_refused(error: FileError) -> CommandFailure {
    CommandFailure::usage_error(&error).with_advice(error.advice())
}

/// The failure for a session that cannot be loaded.
pub(super) fn session_load_failure(error: StoreError) -> CommandFailure {
    match error.is_usage() {
        true if matches!(error, StoreError::TooLargeTogether { .. }) => {
            CommandFailure::usage_error(error).with_advice(FEWER_FILES)
        }
        true => CommandFailure::usage_error(error),
        false => CommandFailure::failed(error),
    }
}
