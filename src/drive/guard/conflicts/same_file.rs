//! Compares two files for identity. An overlay shows a file under its own numbers (those of the
//! lower file after copy-up, encoded ones with `xino`). Its numbers prove nothing, but its size and
//! times are those of the real file.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, MemfdFlags, Mode, OFlags, StatxFlags};

use crate::drive::medium::FileId;
use crate::foreign_tree::ForeignTree;
use crate::roots::SysPaths;

/// Maximum number of attempts to compare a file that is being written.
const COMPARE_ATTEMPTS: usize = 50;

/// Result of comparing two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileSameness {
    /// The same file, or indistinguishable from it.
    Same,
    /// Different files.
    Different,
    /// One of them cannot be examined.
    Unknown,
}

/// Attributes that an overlay file shares with its underlying file. No user can set the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    size: u64,
    modified: (i64, u32),
    changed: (i64, u32),
}

/// `st_dev` of files in memory that have no mount; `None` if the kernel makes none.
pub(super) fn memory_files_device() -> Option<u64> {
    let file = rustix::fs::memfd_create("diskscope", MemfdFlags::CLOEXEC).ok()?;
    Some(rustix::fs::fstat(file).ok()?.st_dev)
}

impl FileStamp {
    /// Of an open file, which may be open with `O_PATH`.
    pub(super) fn of_file(file: &File) -> Option<Self> {
        Self::read(file, Path::new(""), AtFlags::EMPTY_PATH)
    }

    /// Of the file at a path.
    pub(super) fn of_path(path: &Path) -> Option<Self> {
        Self::read(CWD, path, AtFlags::empty())
    }

    /// Its size in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    fn read(base: impl AsFd, path: &Path, flags: AtFlags) -> Option<Self> {
        let flags = flags | AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
        let wanted = StatxFlags::BASIC_STATS;
        let facts = rustix::fs::statx(base, path, flags, wanted).ok()?;
        Some(Self {
            size: facts.stx_size,
            modified: (facts.stx_mtime.tv_sec, facts.stx_mtime.tv_nsec),
            changed: (facts.stx_ctime.tv_sec, facts.stx_ctime.tv_nsec),
        })
    }
}

/// Compares two files that may be written concurrently. They differ only if the first did not
/// change while the second was examined.
pub(super) fn compare_file_stamps(
    one: &dyn Fn() -> Option<FileStamp>,
    other: &dyn Fn() -> Option<FileStamp>,
) -> FileSameness {
    for _ in 0..COMPARE_ATTEMPTS {
        let (Some(before), Some(seen), Some(after)) = (one(), other(), one()) else {
            return FileSameness::Unknown;
        };
        if before == seen || after == seen {
            return FileSameness::Same;
        }
        if before == after {
            return FileSameness::Different;
        }
    }
    FileSameness::Unknown
}

/// The path that an open file has by now; `None` where /proc is not mounted.
pub(super) fn path_of(roots: &SysPaths, file: &File) -> Option<PathBuf> {
    std::fs::read_link(roots.proc.join(format!("self/fd/{}", file.as_raw_fd()))).ok()
}

/// Opens the file at a path if it has that identity, with `O_PATH`, so that it does not count as an
/// opener.
pub(super) fn open_identified_path(tree: &ForeignTree, path: &Path, id: FileId) -> Option<File> {
    let file = File::from(tree.find(path).ok()?.into_handle());
    (FileId::of_metadata(&file.metadata().ok()?) == id).then_some(file)
}

/// Reopens a file with `O_PATH`.
pub(super) fn reopen_as_path(file: &File) -> io::Result<File> {
    reopen_with_flags(file, OFlags::PATH)
}

/// Reopens a file for reading.
pub(super) fn reopen_for_reading(file: &File) -> io::Result<File> {
    reopen_with_flags(file, OFlags::RDONLY | OFlags::NONBLOCK)
}

/// Reopens a file for writing, or where that is not possible for reading. Does not wait for the
/// holder of a lease.
pub(in crate::drive::guard) fn reopen_for_locking(file: &File) -> io::Result<File> {
    let nonblocking = OFlags::NONBLOCK;
    reopen_with_flags(file, OFlags::RDWR | nonblocking)
        .or_else(|_| reopen_with_flags(file, OFlags::RDONLY | nonblocking))
}

fn reopen_with_flags(file: &File, flags: OFlags) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn stamp(changed: i64) -> Option<FileStamp> {
        Some(FileStamp {
            size: 1,
            modified: (0, 0),
            changed: (changed, 0),
        })
    }

    #[test]
    fn file_changing_during_comparison_is_unknown() {
        assert_eq!(
            compare_file_stamps(&|| stamp(1), &|| stamp(1)),
            FileSameness::Same
        );
        assert_eq!(
            compare_file_stamps(&|| stamp(1), &|| stamp(2)),
            FileSameness::Different
        );
        assert_eq!(
            compare_file_stamps(&|| stamp(1), &|| None),
            FileSameness::Unknown
        );
        let now = Cell::new(10);
        let changing = || {
            now.set(now.get() + 1);
            stamp(now.get())
        };
        assert_eq!(
            compare_file_stamps(&changing, &|| stamp(0)),
            FileSameness::Unknown
        );
    }
}
