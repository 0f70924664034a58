//! Why requests cannot be followed.

use std::io;
use std::path::{Path, PathBuf};

use crate::privilege;

/// Why requests cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The user may not.
    #[error("single requests: not permitted, {tried} {} was refused", path.display())]
    NotPermitted {
        /// What was tried.
        tried: &'static str,
        /// On what.
        path: PathBuf,
    },
    /// There is no tracefs to be had.
    #[error("single requests: n/a, tracefs is not mounted and cannot be mounted: {source}")]
    NoTracefs {
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel has no events of the block layer.
    #[error("single requests: n/a, this kernel has no event {event}")]
    NoBlockEvents {
        /// The one that was looked for.
        event: &'static str,
    },
    /// The kernel describes its buffer in a way that cannot be understood.
    #[error("single requests: n/a, {} cannot be understood", path.display())]
    UnknownFormat {
        /// The description.
        path: PathBuf,
    },
    /// Something else went wrong.
    #[error("single requests: cannot {tried} {}: {source}", path.display())]
    Io {
        /// What was tried.
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl TraceError {
    /// Sorts what the kernel said about a path.
    pub(super) fn from_io_error(
        tried: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotPermitted { tried, path },
            _ => Self::Io {
                tried,
                path,
                source,
            },
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        let text = match self {
            Self::NotPermitted { .. } => {
                return privilege::root_advice(
                    "; rates, transfers and benchmarks work without it",
                    "a container or kernel lockdown forbids it: run it on the host; rates, transfers \
                     and benchmarks work without it",
                );
            }
            Self::NoTracefs { .. } => {
                "mount it (mount -t tracefs none /sys/kernel/tracing), or use a kernel with CONFIG_FTRACE; \
                 in a container it has to be passed in; rates, transfers and benchmarks work without it"
            }
            Self::NoBlockEvents { .. } => {
                "use a kernel with CONFIG_BLK_DEV_IO_TRACE or CONFIG_EVENT_TRACING; rates, transfers \
                 and benchmarks work without it"
            }
            Self::UnknownFormat { .. } => {
                "report the file's content together with the kernel's version"
            }
            Self::Io { .. } => "rates, transfers and benchmarks work without it",
        };
        text.to_owned()
    }
}
