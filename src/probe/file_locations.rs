//! The device that a file is on.

use crate::probe::SystemSample;
use crate::probe::sample::{FileKind, OpenFile};

/// Location of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLocation {
    /// The file is a block device.
    Device((u32, u32)),
    /// In the file system with this device number.
    FileSystem((u32, u32)),
    /// No device: a pipe.
    NoDevice,
}

/// The location of an open file.
#[must_use]
pub fn location_of(file: &OpenFile) -> FileLocation {
    match file.kind {
        FileKind::Block(number) => FileLocation::Device(number),
        FileKind::Regular => FileLocation::FileSystem(file.inode.0),
        FileKind::Pipe => FileLocation::NoDevice,
    }
}

/// Name of the block device of a location; `None` where there is none (a network, a pipe) or none
/// is known.
#[must_use]
pub fn device_at_location(sample: &SystemSample, location: FileLocation) -> Option<&str> {
    let number = match location {
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

/// The device of a file system: some (btrfs, overlay) report a device number of their own for their
/// files.
fn file_system_device(sample: &SystemSample, number: (u32, u32)) -> (u32, u32) {
    sample
        .file_systems
        .iter()
        .find(|file_system| file_system.device_id == number)
        .map_or(number, |file_system| file_system.block_device)
}
