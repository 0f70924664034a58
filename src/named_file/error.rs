//! Why an output file cannot be written, or an input not be read.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Why an output cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// It leads to something that no output goes to.
    #[error("{} is {what}: no output is written there", path.display())]
    UnsupportedFileType {
        /// As the user named it.
        path: PathBuf,
        /// What it is, with its article.
        what: &'static str,
    },
    /// The same command reads it.
    #[error("{} is also an input of this command, which would be lost", path.display())]
    IsInput {
        /// As the user named it.
        path: PathBuf,
    },
    /// Its bytes are those of a device or file system, or that cannot be found out.
    #[error("{} is not written: {reason}", path.display())]
    InUse {
        /// As the user named it.
        path: PathBuf,
        /// Who uses it, and how.
        reason: String,
    },
    /// Somebody else decides where it leads.
    #[error("{} is not written: {reason}", path.display())]
    UntrustedPath {
        /// As the user named it.
        path: PathBuf,
        /// Who could redirect it, and how.
        reason: String,
    },
    /// A name that the program made is not the name of one file.
    #[error("{name:?} is not the name of a file in {}", directory.display())]
    Name {
        /// Where it was to be made.
        directory: PathBuf,
        /// The name.
        name: String,
    },
    /// A file that must be new is there already.
    #[error("{} exists already", path.display())]
    AlreadyExists {
        /// Which.
        path: PathBuf,
    },
    /// The name leads to another file than when the output was prepared.
    #[error("{} is another file now than at the start: it is left alone", path.display())]
    PathChanged {
        /// As the user named it.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// What was tried.
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl OutputError {
    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::UnsupportedFileType { .. } | Self::IsInput { .. } => {
                "name a regular file, a new one or one to replace; - is stdout".to_owned()
            }
            Self::InUse { .. } => {
                "name another file; if this one may really go, detach, unmount or swapoff it first"
                    .to_owned()
            }
            Self::UntrustedPath { .. } => {
                "name the file by its real path, or write to a directory of your own".to_owned()
            }
            Self::AlreadyExists { .. } | Self::Name { .. } => "name a new file".to_owned(),
            Self::PathChanged { .. } => {
                "find out who else writes it, or name another file".to_owned()
            }
            Self::Io { source, path, .. } => io_error_advice(source, path),
        }
    }

    pub(super) fn io(tried: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        Self::Io {
            tried,
            path: path.to_owned(),
            source: error.into(),
        }
    }

    pub(super) fn unsuitable(path: &Path, what: &'static str) -> Self {
        Self::UnsupportedFileType {
            path: path.to_owned(),
            what,
        }
    }

    pub(super) fn changed(path: &Path) -> Self {
        Self::PathChanged {
            path: path.to_owned(),
        }
    }
}

fn io_error_advice(error: &io::Error, path: &Path) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => "make the directory first".to_owned(),
        Some(Errno::NXIO) => {
            format!("start a program that reads {} first", path.display())
        }
        Some(Errno::FBIG) => "raise the file size limit (ulimit -f)".to_owned(),
        Some(Errno::NOSPC | Errno::DQUOT) => "make room, or name another file".to_owned(),
        Some(Errno::ROFS) => "the file system is mounted read-only: name another file".to_owned(),
        _ => "name a file that you may write".to_owned(),
    }
}

/// Why an input cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It leads to something that is no regular file.
    #[error("{} is {what}, and no file that can be read", path.display())]
    UnsupportedFileType {
        /// As the user named it.
        path: PathBuf,
        /// What it is, with its article.
        what: &'static str,
    },
    /// A system call failed.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// What was tried.
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl InputError {
    /// Whether the name itself is wrong, and not the reading of the file failed.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::UnsupportedFileType { .. } => true,
            Self::Io { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::IsADirectory
                    | io::ErrorKind::InvalidInput
            ),
        }
    }
}
