//! Identity of a file: whether two names lead to the same file.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use rustix::fs::{FileType, Stat, major, minor};

/// Identity of a file: for a block device its number, regardless of the node; for any other file
/// its file system and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileId {
    /// A block device, by major and minor number.
    Device(u32, u32),
    /// Any other file, by `st_dev` and inode.
    Inode(u64, u64),
}

impl FileId {
    /// Identity of the file behind a descriptor or path.
    #[must_use]
    pub fn of_metadata(metadata: &Metadata) -> Self {
        if metadata.file_type().is_block_device() {
            Self::Device(major(metadata.rdev()), minor(metadata.rdev()))
        } else {
            Self::Inode(metadata.dev(), metadata.ino())
        }
    }

    /// As above, from the result of `stat`.
    #[must_use]
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the fields' types differ between processors"
    )]
    pub(crate) fn of_stat(stat: &Stat) -> Self {
        if FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice {
            Self::Device(major(stat.st_rdev as u64), minor(stat.st_rdev as u64))
        } else {
            Self::Inode(stat.st_dev as u64, stat.st_ino as u64)
        }
    }
}
