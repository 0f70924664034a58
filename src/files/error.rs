//! Why a file is not read or written, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

/// Why a file is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
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
    /// The path leads to a kind of file that is not used here; its kind, with an article.
    #[error("{path} is {what}", path = .0.display(), what = .1)]
    WrongKind(PathBuf, &'static str),
    /// The same command reads the output.
    #[error("{} is also an input of this command, which would be lost", .0.display())]
    IsInput(PathBuf),
    /// Another user decides what the path leads to, or can read or change what is there; how.
    #[error("{path} is not used: {reason}", path = .0.display(), reason = .1)]
    Untrusted(PathBuf, String),
    /// A directory or file of the program is not what it made, or others can change it; why.
    #[error("{path} is not used: {reason}", path = .0.display(), reason = .1)]
    WrongState(PathBuf, &'static str),
    /// A file that must be new exists.
    #[error("{} exists already", .0.display())]
    AlreadyExists(PathBuf),
    /// The name leads to another file than when the output was checked.
    #[error("{} is no longer the same file as at the start: it is not changed", .0.display())]
    PathChanged(PathBuf),
    /// A file that grows would take the last space of its file system.
    #[error("cannot write to {}: its file system is almost full", .0.display())]
    AlmostFull(PathBuf),
    /// A name that is no single component of a path.
    #[error("{0:?} is not the name of a file in one directory")]
    InvalidName(PathBuf),
}

impl FileError {
    pub(crate) fn io(tried: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        Self::Io {
            tried,
            path: path.to_owned(),
            source: error.into(),
        }
    }

    /// Advice on how to resolve the error, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::WrongKind(..) | Self::IsInput(_) => {
                "name a regular file, a new one or one to replace; - is stdout"
            }
            Self::Untrusted(..) => {
                "name the file by its real path, in a directory that only you and root can change; for \
                 the program's own files set XDG_STATE_HOME to one (sudo -H, without -E)"
            }
            Self::WrongState(..) => "find out who made or changed it, then remove it",
            Self::AlreadyExists(_) | Self::InvalidName(_) => "name a new file",
            Self::PathChanged(_) => "find out which other program writes it, or name another file",
            Self::AlmostFull(_) => {
                "what was written until then is kept; free some space, or name another file"
            }
            Self::Io { source, path, .. } => match Errno::from_io_error(source) {
                Some(Errno::NXIO) => {
                    return format!("start a program that reads {} first", path.display());
                }
                Some(Errno::NOENT) => "create the directory first",
                Some(Errno::FBIG) => "raise the file size limit (ulimit -f)",
                Some(Errno::NOSPC | Errno::DQUOT) => "free some space, or name another file",
                _ => "name a file that you may write",
            },
        }
        .to_owned()
    }

    fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether the name of an input itself is wrong, as opposed to a failure to read the file.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        use io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, NotFound};
        let of_name = [NotFound, NotADirectory, IsADirectory, InvalidInput];
        matches!(self, Self::WrongKind(..)) || self.kind().is_some_and(|it| of_name.contains(&it))
    }

    /// Whether the only problem is that it does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.kind() == Some(io::ErrorKind::NotFound)
    }

    /// Whether the user may not search or read it.
    #[must_use]
    pub fn is_permission_denied(&self) -> bool {
        self.kind() == Some(io::ErrorKind::PermissionDenied)
    }

    /// Whether the name exists already.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.kind() == Some(io::ErrorKind::AlreadyExists)
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        Self::new(
            error.kind().unwrap_or(io::ErrorKind::PermissionDenied),
            error,
        )
    }
}

/// Kind of a file, with its article.
pub(crate) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a directory",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        FileType::Symlink | FileType::Unknown => "no file, pipe or device",
    }
}
