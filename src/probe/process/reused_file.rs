//! Files of processes that are kept open between samples, within the limit of open files.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::io::{Errno, Result};

use crate::drive::memory;
use crate::probe::text::pread_once;

/// Descriptors that are left to the rest of the program.
const RESERVED_DESCRIPTORS: u64 = 512;

/// The highest descriptor that is kept open: half of those that are free, the other half is for the
/// directories of processes. The kernel gives the lowest free number, which so tells how many are in use.
#[must_use]
pub fn highest_kept() -> RawFd {
    let limit = memory::raise_open_files().min(u64::from(u32::MAX));
    let free = limit.saturating_sub(RESERVED_DESCRIPTORS).max(limit / 4);
    RawFd::try_from(free / 2).unwrap_or(RawFd::MAX)
}

/// Makes the table of descriptors as large as it will be: to enlarge it step by step makes a process with
/// several threads wait each time (kernel fs/file.c, `expand_fdtable`).
pub fn make_room(any: BorrowedFd<'_>, count: usize, highest: RawFd) {
    let count = RawFd::try_from(count).map_or(highest, |count| count.min(highest));
    let last = count.saturating_add(RESERVED_DESCRIPTORS as RawFd);
    // Beyond the limit it fails, and the table grows as it is needed.
    drop(rustix::io::fcntl_dupfd_cloexec(any, last));
}

/// A file that is read at its beginning again and again.
#[derive(Debug, Default)]
pub enum ReusedFile {
    /// It is opened for each reading.
    #[default]
    NotOpen,
    /// It stays open.
    KeptOpen(OwnedFd),
    /// It is not read any more.
    GivenUp,
}

impl ReusedFile {
    /// Whether it stays open.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::KeptOpen(_))
    }

    /// Reads it; a file that `opened` opens stays open if its descriptor is at most `highest`.
    ///
    /// # Errors
    /// The kernel's; `EACCES` when it was given up.
    pub fn read<'b>(
        &mut self,
        highest: RawFd,
        opened: impl FnOnce() -> Result<OwnedFd>,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8]> {
        match self {
            Self::KeptOpen(file) => pread_once(file.as_fd(), buffer),
            Self::GivenUp => Err(Errno::ACCESS),
            Self::NotOpen => {
                let file = opened()?;
                let text = pread_once(file.as_fd(), buffer)?;
                if file.as_raw_fd() <= highest {
                    *self = Self::KeptOpen(file);
                }
                Ok(text)
            }
        }
    }
}
