//! Why requests cannot be traced.

use std::io;
use std::path::{Path, PathBuf};

use crate::text;

/// Why requests cannot be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
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
    /// The kernel refused.
    #[error("single requests: {tried} {} failed: {source}", path.display())]
    Refused {
        /// The attempted operation.
        tried: &'static str,
        /// The path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

impl TraceError {
    /// The error of an operation on a path.
    pub(super) fn refused(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Refused {
            tried,
            path,
            source,
        }
    }

    fn is_not_permitted(&self) -> bool {
        matches!(self, Self::Refused { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Whether tracing fails for any device: it is not permitted, or the kernel cannot do it.
    #[must_use]
    pub fn concerns_all_devices(&self) -> bool {
        !matches!(self, Self::Refused { .. }) || self.is_not_permitted()
    }

    /// Advice for the user.
    #[must_use]
    pub fn advice(&self) -> String {
        const WITHOUT: &str = "rates, transfers and benchmarks work without it";
        let advice = match self {
            Self::NoTracefs { .. } => {
                "mount it (mount -t tracefs none /sys/kernel/tracing), or use a kernel with CONFIG_FTRACE; \
                 in a container, bind-mount it; "
            }
            Self::NotDescribed { .. } => {
                "use a kernel with CONFIG_BLK_DEV_IO_TRACE or CONFIG_EVENT_TRACING; "
            }
            Self::Refused { .. } if self.is_not_permitted() => {
                let in_container = "a container or kernel lockdown forbids it: run it on the host";
                return text::root_advice("", in_container) + "; " + WITHOUT;
            }
            Self::Refused { .. } => "",
        };
        advice.to_owned() + WITHOUT
    }
}
