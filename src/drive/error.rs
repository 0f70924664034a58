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
    /// The path is neither a block device nor a regular file nor a directory.
    #[error("{name} is {what}, and cannot be measured")]
    UnsupportedFileType {
        /// Name as the user gave it.
        name: String,
        /// Kind of the file, with its article.
        what: &'static str,
    },
    /// The target has a size of zero.
    #[error("{name} is empty")]
    ZeroSize {
        /// Name as the user gave it.
        name: String,
        /// Whether the target is a device rather than a file.
        device: bool,
    },
    /// The kernel refuses to open a device although its node exists.
    #[error("cannot open {name}: not permitted{root}", root = if *.root { ", even for root" } else { "" })]
    PermissionDenied {
        /// Name as the user gave it.
        name: String,
        /// Whether root was refused.
        root: bool,
    },
    /// Not enough free space for a scratch file.
    #[error(
        "not enough space for a scratch file of {wanted}{below}: {place} has {free} free, and {reserve} must stay free",
        wanted = units::format_size(*.wanted),
        below = if .place == .directory { String::new() } else { format!(" in {directory}") },
        free = units::format_size(*.free),
        reserve = units::format_size(*.reserve)
    )]
    InsufficientSpace {
        /// The directory.
        directory: String,
        /// What has too little space: the directory, or something below it.
        place: String,
        /// Free bytes.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
        /// Bytes requested.
        wanted: u64,
        /// Size of the largest file that would fit, if it would measure anything.
        fitting: Option<u64>,
    },
    /// Overwriting a file or a device would fill a file system with new blocks, a snapshot or a pool.
    #[error(
        "{missing} of {name} may get new blocks when they are written: {place} has {free} free, of which \
         {reserve} must stay free",
        missing = units::format_size(*.missing),
        place = if .place == .name { "its file system" } else { .place },
        free = units::format_size(*.free),
        reserve = units::format_size(*.reserve)
    )]
    InsufficientSpaceForHoles {
        /// The file.
        name: String,
        /// What has too little space: the file, or something below it.
        place: String,
        /// Bytes that need space.
        missing: u64,
        /// Free bytes.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
        /// Bytes that would fit.
        fitting: u64,
    },
    /// The target is no longer the one that was checked.
    #[error("{name} is no longer the target that was checked")]
    TargetChanged {
        /// Name as the user gave it.
        name: String,
    },
    /// The user cancelled the operation.
    #[error("stopped while {doing}")]
    Cancelled {
        /// The operation that was in progress.
        doing: &'static str,
    },
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
            Self::NotFound { .. } | Self::UnsupportedFileType { .. } | Self::ZeroSize { .. } => {
                ErrorKind::Usage
            }
            Self::Refused(_)
            | Self::TargetChanged { .. }
            | Self::InsufficientSpaceForHoles { .. } => ErrorKind::Refused,
            Self::PermissionDenied { .. }
            | Self::InsufficientSpace { .. }
            | Self::Cancelled { .. }
            | Self::Io { .. } => ErrorKind::Failed,
        }
    }

    /// Advice on how to resolve the error, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        let text = match self {
            Self::NotFound { .. } => "`diskscope devices` lists the drives",
            Self::UnsupportedFileType { .. } => {
                "name a block device, a regular file or a directory"
            }
            Self::ZeroSize { device: true, .. } => "insert a medium, or attach a file to it",
            Self::ZeroSize { device: false, .. } => {
                "name a file with content, or its directory: a scratch file is created there"
            }
            Self::PermissionDenied { root: true, .. } => {
                "some virtual machines protect their root disk in this way: name a directory on it \
                 instead (such as /var/tmp), a scratch file is created there and removed"
            }
            Self::PermissionDenied { root: false, .. } => {
                return text::root_advice(
                    " (sudo), or name a directory on it: a scratch file is created there",
                    "name a directory on it: a scratch file is created there",
                );
            }
            Self::InsufficientSpace {
                fitting: Some(fitting),
                ..
            } => {
                // As it is typed.
                return format!("--scratch-size {}MiB fits, or {FULL_ADVICE}", fitting >> 20);
            }
            Self::InsufficientSpace { fitting: None, .. } => FULL_ADVICE,
            Self::InsufficientSpaceForHoles { fitting, .. } => {
                return format!(
                    "write less of it ({} would fit: --window-end, --bytes), free some space, or name a target \
                     elsewhere",
                    units::format_size(*fitting)
                );
            }
            Self::TargetChanged { .. } => "check what the name refers to, then start again",
            Self::Cancelled { .. } => "start it again",
            Self::Refused(refusal) => return refusal.advice(),
            Self::Io { source, .. } => match source.raw_os_error() {
                Some(libc::EACCES | libc::EPERM) => {
                    return text::root_advice(
                        " (sudo)",
                        "a file system or a security module refuses even root: name another target",
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
