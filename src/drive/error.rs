//! What went wrong with a target, and how it counts for the exit status.

use std::io;

use crate::privilege;

/// How an error counts: the exit status of the program depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user named something that cannot be a target (exit status 2).
    Usage,
    /// Writing was refused to keep data safe (exit status 3).
    Refused,
    /// The target is right, but something failed on it (exit status 1).
    Failed,
}

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The name leads nowhere.
    #[error("{name} does not exist")]
    NotFound {
        /// As the user named it.
        name: String,
    },
    /// The name leads to something that is neither block device, regular file nor directory.
    #[error("{name} is {what}, and cannot be measured")]
    UnsupportedFileType {
        /// As the user named it.
        name: String,
        /// What it is, with its article.
        what: &'static str,
    },
    /// There is nothing to read or write on it.
    #[error("{name} is empty")]
    ZeroSize {
        /// As the user named it.
        name: String,
        /// Whether it is a device, and not a file.
        device: bool,
    },
    /// The kernel does not let a device be opened although its node exists.
    #[error("the system does not let {name} be opened{root}", root = if *.root { ", not even by root" } else { "" })]
    PermissionDenied {
        /// As the user named it.
        name: String,
        /// Whether root was refused.
        root: bool,
    },
    /// No room for a scratch file.
    #[error(
        "{directory} {free}, and {reserve} have to stay free: no room for a scratch file of {wanted}",
        free = describe_free_space(.limit.as_deref(), *.free),
        reserve = crate::units::format_size(*.reserve),
        wanted = crate::units::format_size(*.wanted)
    )]
    InsufficientSpace {
        /// The directory.
        directory: String,
        /// Free bytes.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
        /// Bytes asked for.
        wanted: u64,
        /// The limit of memory that leaves no more, where the directory lies in memory.
        limit: Option<String>,
    },
    /// Overwriting a file would fill its file system: it has holes.
    #[error(
        "{missing} of {name} are holes or compressed and need room when they are written: its file \
         system {free}, and {reserve} have to stay free",
        free = describe_free_space(.limit.as_deref(), *.free),
        reserve = crate::units::format_size(*.reserve),
        missing = crate::units::format_size(*.missing)
    )]
    InsufficientSpaceForHoles {
        /// The file.
        name: String,
        /// Bytes without a place on the medium.
        missing: u64,
        /// Free bytes.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
        /// The limit of memory that leaves no more, where the file lies in memory.
        limit: Option<String>,
    },
    /// The target is another one than before.
    #[error("{name} is not the target any more that was checked")]
    TargetChanged {
        /// As the user named it.
        name: String,
    },
    /// The user stopped it.
    #[error("stopped while {doing}")]
    Cancelled {
        /// What was going on.
        doing: &'static str,
    },
    /// Safety forbids writing.
    #[error(transparent)]
    Refused(#[from] super::guard::Refusal),
    /// The kernel said no.
    #[error("cannot {tried} {name}: {source}")]
    Io {
        /// What was tried, such as `open`.
        tried: &'static str,
        /// On what.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// What a file system has free: by its own account, or by that limit of memory.
fn describe_free_space(limit: Option<&str>, bytes: u64) -> String {
    let bytes = crate::units::format_size(bytes);
    match limit {
        Some(limit) => format!("lies in memory, of which {limit} leaves {bytes}"),
        None => format!("has {bytes} free"),
    }
}

impl DriveError {
    /// How it counts.
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

    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        let text = match self {
            Self::NotFound { .. } => "see `diskscope devices` for the drives that are here",
            Self::UnsupportedFileType { .. } => {
                "name a block device, a regular file or a directory"
            }
            Self::ZeroSize { device: true, .. } => "put a medium in, or attach a file to it",
            Self::ZeroSize { device: false, .. } => {
                "name a file with content, or its directory: a scratch file is made there"
            }
            Self::PermissionDenied { root: true, .. } => {
                "some virtual machines guard their root disk like this: name a directory on it \
                 instead (such as /var/tmp), a scratch file is made there and removed"
            }
            Self::PermissionDenied { root: false, .. } => {
                return privilege::root_advice(
                    " (sudo), or name a directory on it: a scratch file is made there",
                    "name a directory on it: a scratch file is made there",
                );
            }
            Self::InsufficientSpace { .. } => {
                "make room, choose a smaller size, or name another directory"
            }
            Self::InsufficientSpaceForHoles { .. } => {
                "make room, choose a smaller --window-end, or name a file without holes"
            }
            Self::TargetChanged { .. } => "look again what is behind the name, then start again",
            Self::Cancelled { .. } => "start it again when it suits",
            Self::Refused(refusal) => return refusal.advice(),
            Self::Io { source, .. } => match source.raw_os_error() {
                Some(libc::EACCES | libc::EPERM) => {
                    return privilege::root_advice(
                        " (sudo)",
                        "a file system or a security module refuses even root: name another target",
                    );
                }
                Some(libc::EROFS) => "name a directory on a file system that can be written",
                Some(libc::EBUSY) => "end the program that holds it, then start again",
                Some(libc::EINVAL) => "try --cache keep",
                Some(libc::ENOMEDIUM) => "put a medium in",
                Some(libc::ENXIO | libc::ENODEV) => "the drive is gone: check cable and power",
                _ => "see the kernel's log (dmesg)",
            },
        };
        text.to_owned()
    }
}

/// Gives an I/O error its context: `.map_err(failed("open", name))`.
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

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn insufficient_space_error_excludes_reserve_from_free_bytes() {
        let free = 357_000_000;
        let reserve = 1 << 30;
        let (name, limit) = ("/srv/image".to_owned(), None);
        let text = DriveError::InsufficientSpaceForHoles {
            name,
            missing: 1 << 30,
            free,
            reserve,
            limit,
        }
        .to_string();
        assert!(
            text.contains("has 357 MB free, and 1 GiB have to stay free"),
            "{text}"
        );
    }
}
