//! What is wrong with a private directory or a file in it, and what to do about it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Why a private directory or a file in it is not used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateDirectoryError {
    /// The kernel refused.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// What was tried.
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// On the way to it others decide where the path leads.
    #[error("{} is not trusted: {reason}, so that others can replace what lies below", path.display())]
    Untrusted {
        /// The directory or symbolic link.
        path: PathBuf,
        /// Whose it is, or who can write to it.
        reason: String,
    },
    /// The name is not one single component of a path.
    #[error("{name:?} is not the name of a file in one directory")]
    InvalidName {
        /// The name.
        name: OsString,
    },
    /// A symbolic link is in the way.
    #[error("{} is a symbolic link, which is not followed here", path.display())]
    SymbolicLink {
        /// The link.
        path: PathBuf,
    },
    /// Something else than a directory.
    #[error("{} is not a directory", path.display())]
    NotDirectory {
        /// What is there.
        path: PathBuf,
    },
    /// Something else than a regular file.
    #[error("{} is not a regular file", path.display())]
    NotRegularFile {
        /// What is there.
        path: PathBuf,
    },
    /// It belongs to another user.
    #[error("{} belongs to user {owner}, not to user {user} who runs this program", path.display())]
    WrongOwner {
        /// What.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// The effective user.
        user: u32,
    },
    /// Others than its owner can write to it.
    #[error("{} is writable by other users (mode {mode:04o})", path.display())]
    WritableByOthers {
        /// What.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file has a second name somewhere.
    #[error("{} has {links} names (hard links)", path.display())]
    HardLinks {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        links: u64,
    },
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

    /// Whether it does not exist, and nothing else is wrong.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.kind() == Some(io::ErrorKind::NotFound)
    }

    /// Whether the user may not look into it.
    #[must_use]
    pub fn is_permission_denied(&self) -> bool {
        self.kind() == Some(io::ErrorKind::PermissionDenied)
    }

    /// Whether the way to it is not trusted: this program has kept nothing there.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Untrusted { .. })
    }

    /// Whether something has the name already.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.kind() == Some(io::ErrorKind::AlreadyExists)
    }

    /// What to do about it, one sentence.
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
                "look at what is in it, then take the permission away: chmod go-w {}",
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
