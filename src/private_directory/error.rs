//! Errors of a private directory and its files, and advice for each.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Reason why a private directory or a file in it is rejected.
#[derive(Debug, thiserror::Error)]
pub enum PrivateDirectoryError {
    /// A system call failed.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// The operation.
        tried: &'static str,
        /// The path it was applied to.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// Others control a component of the path to it.
    #[error("{} is not trusted: {reason}, so that others decide what the path leads to", path.display())]
    Untrusted {
        /// The directory or symbolic link.
        path: PathBuf,
        /// Its owner, or who can write to it.
        reason: String,
    },
    /// The name is not a single path component.
    #[error("{name:?} is not the name of a file in one directory")]
    InvalidName {
        /// The name.
        name: OsString,
    },
    /// A component is a symbolic link.
    #[error("{} is a symbolic link, which is not followed here", path.display())]
    SymbolicLink {
        /// The link.
        path: PathBuf,
    },
    /// Not a directory.
    #[error("{} is not a directory", path.display())]
    NotDirectory {
        /// The path.
        path: PathBuf,
    },
    /// Not a regular file.
    #[error("{} is not a regular file", path.display())]
    NotRegularFile {
        /// The path.
        path: PathBuf,
    },
    /// It belongs to another user.
    #[error("{} belongs to user {owner}, not to user {user} who runs this program", path.display())]
    WrongOwner {
        /// The path.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The effective user.
        user: u32,
    },
    /// Users other than its owner can write to it.
    #[error("{} is writable by other users (mode {mode:04o})", path.display())]
    WritableByOthers {
        /// The path.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file has several hard links.
    #[error("{} has {links} names (hard links)", path.display())]
    HardLinks {
        /// The file.
        path: PathBuf,
        /// Number of links.
        links: u64,
    },
}

/// Whether the kernel may report this because the file is open: a server with Windows neither removes nor
/// renames such a file.
#[must_use]
pub fn is_for_open_file(error: Errno) -> bool {
    matches!(
        error,
        Errno::BUSY | Errno::TXTBSY | Errno::ACCESS | Errno::PERM
    )
}

impl PrivateDirectoryError {
    pub(super) fn io<'a>(
        tried: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |source| Self::Io {
            tried,
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn errno<'a>(
        tried: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(Errno) -> Self + use<'a> {
        move |error| Self::io(tried, path)(error.into())
    }

    fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether the only problem is that it does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.kind() == Some(io::ErrorKind::NotFound)
    }

    /// Whether the reason may be that the file is open.
    #[must_use]
    pub(super) fn is_for_open_file(&self) -> bool {
        match self {
            Self::Io { source, .. } => Errno::from_io_error(source).is_some_and(is_for_open_file),
            _ => false,
        }
    }

    /// Whether the user may not search it.
    #[must_use]
    pub fn is_permission_denied(&self) -> bool {
        self.kind() == Some(io::ErrorKind::PermissionDenied)
    }

    /// Whether the path to it is not trusted, so that this program has stored nothing there.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Untrusted { .. })
    }

    /// Whether the name already exists.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.kind() == Some(io::ErrorKind::AlreadyExists)
    }

    /// Advice on how to resolve the error, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Io { source, path, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    format!("check the permissions of {}", parent_display(path))
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    format!("free space in {}", parent_display(path))
                }
                io::ErrorKind::ReadOnlyFilesystem => {
                    "set XDG_STATE_HOME to a directory that is writable".to_owned()
                }
                _ => format!("check {}", path.display()),
            },
            Self::Untrusted { .. } => "set XDG_STATE_HOME to a directory below which only you and \
                                       root can write (sudo -H, without -E)"
                .to_owned(),
            Self::InvalidName { .. } => "use a name without a slash".to_owned(),
            Self::SymbolicLink { path }
            | Self::NotDirectory { path }
            | Self::NotRegularFile { path } => {
                format!("find out who made {}, and remove it", path.display())
            }
            Self::WrongOwner { path, .. } => format!(
                "find out who made {}, and remove it; under sudo keep root's own HOME and \
                 XDG_STATE_HOME (sudo -H, without -E)",
                path.display()
            ),
            Self::WritableByOthers { path, .. } => format!(
                "check the contents of {}, then take the permission to write from its group and others",
                path.display()
            ),
            Self::HardLinks { path, .. } => {
                format!("remove the other names of {}, or the file", path.display())
            }
        }
    }
}

fn parent_display(path: &Path) -> std::path::Display<'_> {
    path.parent().unwrap_or(path).display()
}

impl From<PrivateDirectoryError> for io::Error {
    fn from(error: PrivateDirectoryError) -> Self {
        match error {
            PrivateDirectoryError::Io { ref source, .. } => Self::new(source.kind(), error),
            other => Self::new(io::ErrorKind::PermissionDenied, other),
        }
    }
}
