//! Why requests cannot be traced.

use std::io;
use std::path::{Path, PathBuf};

use crate::text;

/// Why requests cannot be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Permission denied.
    #[error("single requests: not permitted, {tried} {} was refused", path.display())]
    NotPermitted {
        /// The attempted operation.
        tried: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// tracefs is not available.
    #[error("single requests: n/a, tracefs is not mounted and cannot be mounted: {source}")]
    NoTracefs {
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel does not describe what is needed, or not in a format that is known.
    #[error("single requests: n/a, this kernel describes no {what}")]
    NotDescribed {
        /// The event, or the buffer's pages.
        what: String,
    },
    /// Another error.
    #[error("single requests: {tried} {} failed: {source}", path.display())]
    Io {
        /// The attempted operation.
        tried: &'static str,
        /// The path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

impl TraceError {
    /// Classifies the kernel's error for a path.
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

    /// Whether tracing fails for any device: it is not permitted, or the kernel cannot do it.
    #[must_use]
    pub fn concerns_all_devices(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }

    /// Advice for the user.
    #[must_use]
    pub fn advice(&self) -> String {
        let text = match self {
            Self::NotPermitted { .. } => {
                return text::root_advice(
                    "; rates, transfers and benchmarks work without it",
                    "a container or kernel lockdown forbids it: run it on the host; rates, transfers \
                     and benchmarks work without it",
                );
            }
            Self::NoTracefs { .. } => {
                "mount it (mount -t tracefs none /sys/kernel/tracing), or use a kernel with CONFIG_FTRACE; \
                 in a container, bind-mount it; rates, transfers and benchmarks work without it"
            }
            Self::NotDescribed { .. } => {
                "use a kernel with CONFIG_BLK_DEV_IO_TRACE or CONFIG_EVENT_TRACING; rates, transfers \
                 and benchmarks work without it"
            }
            Self::Io { .. } => "rates, transfers and benchmarks work without it",
        };
        text.to_owned()
    }
}
