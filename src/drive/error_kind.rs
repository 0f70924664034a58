//! Classes of errors.

/// Class of an error: it determines the exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user named something that cannot be a target (exit status 2).
    Usage,
    /// The guard refused to write, to protect data (exit status 3).
    Refused,
    /// The target is valid, but an operation on it failed (exit status 1).
    Failed,
}
