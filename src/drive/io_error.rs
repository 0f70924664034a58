//! Errors of the kernel.

use std::io;

/// Whether an error of the kernel means that the process or file no longer exists.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}
