//! Errors of a target, and the exit status that each maps to.

use std::io;

use crate::drive::error_kind::ErrorKind;
use crate::drive::space_limit::SpaceLimit;
use crate::text;

/// Advice where a file system is full.
const FULL_ADVICE: &str = "free some space, choose a smaller size, or name another directory";
/// Advice where a quota refuses data: one that the kernel tells was checked before.
pub(crate) const QUOTA_ADVICE: &str = "a quota is used up (on a network file system that of its server, \
     where as much as the scratch file, at most 1 GiB, has to stay free for others): free some space, or \
     choose a smaller size (--scratch-size, --window-end)";

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
        "{directory} {free}, and {reserve} must stay free: not enough space for a scratch file of {wanted}",
        free = describe_free_space(.limit.as_ref(), *.free),
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
        /// Bytes requested.
        wanted: u64,
        /// Bytes that others have written, not among the free ones: they may need the space later.
        unwritten: u64,
        /// What determines the free space, if not the file system of the directory.
        limit: Option<SpaceLimit>,
    },
    /// Overwriting a file or a device would fill a file system with new blocks, a snapshot or a pool.
    #[error(
        "{missing} of {name} {reason} when they are written: {place} {free}, and {reserve} must \
         stay free",
        reason = if matches!(.limit, Some(SpaceLimit::Store(_))) {
            "are copied, or get new blocks,"
        } else {
            "may get new blocks"
        },
        free = describe_free_space(.limit.as_ref(), *.free),
        reserve = crate::units::format_size(*.reserve),
        place = match .limit {
            Some(_) => "it",
            None => "its file system",
        },
        missing = crate::units::format_size(*.missing)
    )]
    InsufficientSpaceForHoles {
        /// The file.
        name: String,
        /// Bytes that need space.
        missing: u64,
        /// Free bytes.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
        /// Bytes that others have written, not among the free ones: they may need the space later.
        unwritten: u64,
        /// What determines the free space, if not the file system of the file.
        limit: Option<SpaceLimit>,
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

/// Describes the free space of a file system, or what a limit leaves of it.
fn describe_free_space(limit: Option<&SpaceLimit>, bytes: u64) -> String {
    let bytes = crate::units::format_size(bytes);
    match limit {
        Some(SpaceLimit::Memory(limit)) => {
            format!("is in memory, of which {limit} leaves {bytes}")
        }
        Some(SpaceLimit::MemoryDevice(device)) => {
            format!("is in the memory of {device}, whose limit (mem_limit) leaves {bytes}")
        }
        Some(SpaceLimit::Quota(owner)) => {
            format!("counts for {owner}, which has {bytes} left")
        }
        Some(SpaceLimit::Image(path)) => {
            format!("may need space below the image {path}, whose file system has {bytes} free")
        }
        Some(SpaceLimit::Store(store)) => {
            format!("may need space in {store}, which has {bytes} left")
        }
        None => format!("has {bytes} free"),
    }
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
                wanted: bytes,
                free,
                reserve,
                unwritten,
                ..
            }
            | Self::InsufficientSpaceForHoles {
                missing: bytes,
                free,
                reserve,
                unwritten,
                ..
            } if *unwritten > 0
                && bytes.saturating_add(*reserve) <= free.saturating_add(*unwritten) =>
            {
                let unwritten = crate::units::format_size(*unwritten);
                return format!(
                    "run `sync` and start again: {unwritten} that programs have written may need \
                     this space until the kernel has written them back"
                );
            }
            Self::InsufficientSpace {
                limit: Some(SpaceLimit::Store(_)),
                ..
            }
            | Self::InsufficientSpaceForHoles {
                limit: Some(SpaceLimit::Store(_)),
                ..
            } => {
                "name a target elsewhere, or extend the snapshot or the pool (lvextend, zpool add)"
            }
            Self::InsufficientSpace { .. } => FULL_ADVICE,
            Self::InsufficientSpaceForHoles { .. } => {
                "free some space, choose a smaller --window-end or --scratch-size, or name a target elsewhere"
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
            unwritten: 0,
            limit,
        }
        .to_string();
        assert!(
            text.contains("has 357 MB free, and 1 GiB must stay free"),
            "{text}"
        );
    }
}
