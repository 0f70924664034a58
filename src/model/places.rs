//! Which device a file lies on.

use crate::probe::Sample;
use crate::probe::sample::{FileKind, OpenFile};

/// Name of the block device that a file lies on, or is; `None` where there is none (a network, a
/// pipe) or none is known.
#[must_use]
pub fn device_of<'s>(sample: &'s Sample, file: &OpenFile) -> Option<&'s str> {
    device_at(sample, file.kind, file.inode)
}

/// The same by the kind of a file and its number.
#[must_use]
pub fn device_at(sample: &Sample, kind: FileKind, inode: ((u32, u32), u64)) -> Option<&str> {
    let number = match kind {
        FileKind::Block(number) => number,
        FileKind::Regular => device_below(sample, inode.0),
        FileKind::Pipe => return None,
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
