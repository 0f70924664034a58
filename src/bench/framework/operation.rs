//! The direction of a benchmark that either reads or writes.

use crate::engine::IoOperation;

/// Read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
}

impl Operation {
    /// Whether it writes.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write)
    }

    /// `reads` or `writes`.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
        }
    }
}

impl From<Operation> for IoOperation {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read => Self::Read,
            Operation::Write => Self::Write,
        }
    }
}
