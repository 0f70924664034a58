//! Which device a file lies on.

use crate::probe::SystemSample;
use crate::probe::sample::{FileKind, OpenFile};

/// Where a file lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLocation {
    /// It is a block device itself.
    Device((u32, u32)),
    /// In the file system of this number.
    FileSystem((u32, u32)),
    /// Nowhere: a pipe.
    NoDevice,
}

/// Where an open file lies.
#[must_use]
pub fn location_of(file: &OpenFile) -> FileLocation {
    match file.kind {
        FileKind::Block(number) => FileLocation::Device(number),
        FileKind::Regular => FileLocation::FileSystem(file.inode.0),
        FileKind::Pipe => FileLocation::NoDevice,
    }
}

/// Name of the block device of a place; `None` where there is none (a network, a pipe) or none is
/// known.
#[must_use]
pub fn device_at_location(sample: &SystemSample, place: FileLocation) -> Option<&str> {
    let number = match place {
        FileLocation::Device(number) => number,
        FileLocation::FileSystem(number) => file_system_device(sample, number),
        FileLocation::NoDevice => return None,
    };
    sample
        .disks
        .iter()
        .find(|disk| disk.device_number == number)
        .map(|disk| disk.name.as_str())
}

/// The device of a file system: some (btrfs, overlay) give their files a number of their own.
fn file_system_device(sample: &SystemSample, number: (u32, u32)) -> (u32, u32) {
    sample
        .file_systems
        .iter()
        .find(|file_system| file_system.device_id == number)
        .map_or(number, |file_system| file_system.block_device)
}
