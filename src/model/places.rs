//! Which device a file lies on.

use crate::probe::Sample;
use crate::probe::sample::{FileKind, OpenFile};

/// Where a file lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is a block device itself.
    Device((u32, u32)),
    /// In the file system of this number.
    FileSystem((u32, u32)),
    /// Nowhere: a pipe.
    Nowhere,
}

/// Where an open file lies.
#[must_use]
pub fn place_of(file: &OpenFile) -> Place {
    match file.kind {
        FileKind::Block(number) => Place::Device(number),
        FileKind::Regular => Place::FileSystem(file.inode.0),
        FileKind::Pipe => Place::Nowhere,
    }
}

/// Name of the block device of a place; `None` where there is none (a network, a pipe) or none is
/// known.
#[must_use]
pub fn device_at(sample: &Sample, place: Place) -> Option<&str> {
    let number = match place {
        Place::Device(number) => number,
        Place::FileSystem(number) => device_below(sample, number),
        Place::Nowhere => return None,
    };
    sample
        .disks
        .iter()
        .find(|disk| disk.number == number)
        .map(|disk| disk.name.as_str())
}

/// The device of a file system: some (btrfs, overlay) give their files a number of their own.
fn device_below(sample: &Sample, number: (u32, u32)) -> (u32, u32) {
    sample
        .file_systems
        .iter()
        .find(|file_system| file_system.number == number)
        .map_or(number, |file_system| file_system.device)
}
