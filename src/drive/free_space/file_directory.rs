//! The directory of an open file.

use std::fs::File;
use std::os::fd::AsRawFd;

use rustix::fs::{CWD, Mode, OFlags};

/// The directory that an open file is in, or was in when its name was removed; `None` if it cannot be opened.
pub(super) fn directory_of(file: &File) -> Option<File> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(CWD, path.parent()?, flags, Mode::empty()).ok()?;
    Some(directory.into())
}
