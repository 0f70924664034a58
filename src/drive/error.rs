//! Errors of a target, and the exit status that each maps to.

use std::io;

use crate::text;
use crate::units;

/// Advice where a file system is full.
const FULL_ADVICE: &str = "free some space, or name another directory";
/// Advice where a quota is used up.
pub(crate) const QUOTA_ADVICE: &str =
    "a quota is used up: free some space, or choose a smaller size (--scratch-size, --window-end)";

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

/// Reason why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The path does not exist.
    #[error("{name} does not exist")]
    NotFound {
        /// Name as the user gave it.
        name: String,
    },
    /// What the path names cannot be measured.
    #[error("{name} is {what}")]
    Unsuitable {
        /// Name as the user gave it.
        name: String,
        /// What it is: `a pipe`, `empty`.
        what: &'static str,
        /// What to name instead.
        advice: &'static str,
    },
    /// Too little free space for a scratch file, or for new blocks of what is overwritten.
    #[error(
        "not enough space for {wanted}: {place} has {free} free, and {reserve} must stay free",
        free = units::format_size(*.free),
        reserve = units::format_size(*.reserve)
    )]
    InsufficientSpace {
        /// What needs space, with its size.
        wanted: String,
        /// What has too little of it: a directory, a file system, a pool.
        place: String,
        /// Free bytes.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
        /// Bytes that would fit; `None` for a scratch file too small to measure anything.
        fitting: Option<u64>,
        /// Whether it is for a scratch file.
        is_scratch: bool,
    },
    /// The target is no longer the one that was checked.
    #[error("{name} is no longer the target that was checked")]
    TargetChanged {
        /// Name as the user gave it.
        name: String,
    },
    /// The user cancelled the operation.
    #[error("stopped while the scratch file was filled")]
    Cancelled,
    /// The guard refused the write.
    #[error(transparent)]
    Refused(#[from] super::guard::Refusal),
    /// A system call failed.
    #[error("cannot {tried} {name}: {source}")]
    Io {
        /// The object of the operation.
        tried: &'static str,
        /// The object of the operation.
        name: String,
        /// The error of the kernel.
        source: io::Error,
    },
}

impl DriveError {
    /// Class of the error, which determines the exit status.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } | Self::Unsuitable { .. } => ErrorKind::Usage,
            Self::Refused(_)
            | Self::TargetChanged { .. }
            | Self::InsufficientSpace {
                is_scratch: false, ..
            } => ErrorKind::Refused,
            Self::InsufficientSpace { .. } | Self::Cancelled | Self::Io { .. } => ErrorKind::Failed,
        }
    }

    /// Advice on how to resolve the error, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        let text = match self {
            Self::NotFound { .. } => "`diskscope devices` lists the drives",
            Self::Unsuitable { advice, .. } => advice,
            Self::InsufficientSpace {
                fitting: Some(fitting),
                is_scratch,
                ..
            } => {
                // As it is typed.
                return if *is_scratch {
                    format!("--scratch-size {}MiB fits, or {FULL_ADVICE}", fitting >> 20)
                } else {
                    let fitting = units::format_size(*fitting);
                    format!(
                        "write less ({fitting} would fit: --window-end, --bytes), or {FULL_ADVICE}"
                    )
                };
            }
            Self::InsufficientSpace { fitting: None, .. } => FULL_ADVICE,
            Self::TargetChanged { .. } => "check what the name refers to, then start again",
            Self::Cancelled => "start it again",
            Self::Refused(refusal) => return refusal.advice(),
            Self::Io { source, .. } => match source.raw_os_error() {
                Some(libc::EACCES | libc::EPERM) => {
                    return text::root_advice(
                        " (sudo), or name a directory: a scratch file is created there",
                        "even root is refused, as by some virtual machines for their root disk: name a directory on it \
                         instead (such as /var/tmp), a scratch file is created there and removed",
                    );
                }
                Some(libc::EROFS) => "name a directory on a file system that can be written",
                Some(libc::EBUSY) => "end the program that holds it, then start again",
                Some(libc::EINVAL) => "try --cache keep",
                Some(libc::ENOSPC) => FULL_ADVICE,
                Some(libc::EDQUOT) => QUOTA_ADVICE,
                Some(libc::ENOMEDIUM) => "insert a medium",
                Some(libc::ENXIO | libc::ENODEV) => "the drive is gone: check cable and power",
                _ => "see the kernel's log (dmesg)",
            },
        };
        text.to_owned()
    }
}

/// Whether an error of the kernel means that the process or file no longer exists.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// Adds context to an I/O error: `.map_err(io_error_context("open", name))`.
pub(crate) fn io_error_context<E: Into<io::Error>>(
    tried: &'static str,
    name: &str,
) -> impl FnOnce(E) -> DriveError {
    let name = name.to_owned();
    move |source| DriveError::Io {
        tried,
        name,
        source: source.into(),
    }
}
