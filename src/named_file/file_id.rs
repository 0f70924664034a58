//! What makes two names the same file.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use rustix::fs::{FileType, Stat, major, minor};

/// What makes two names the same thing: of a block device its number, whatever node leads there;
/// of a file the file system and the inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileId {
    /// A block device, by major and minor number.
    Device(u32, u32),
    /// Anything else, by `st_dev` and inode.
    Inode(u64, u64),
}

impl FileId {
    /// The identity of what a descriptor or path leads to.
    #[must_use]
    pub fn of_metadata(metadata: &Metadata) -> Self {
        if metadata.file_type().is_block_device() {
            Self::Device(major(metadata.rdev()), minor(metadata.rdev()))
        } else {
            Self::Inode(metadata.dev(), metadata.ino())
        }
    }

    /// The same of what the kernel's `stat` gave.
    #[must_use]
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the fields' types differ between processors"
    )]
    pub(super) fn of_stat(stat: &Stat) -> Self {
        if FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice {
            Self::Device(major(stat.st_rdev as u64), minor(stat.st_rdev as u64))
        } else {
            Self::Inode(stat.st_dev as u64, stat.st_ino as u64)
        }
    }
}
