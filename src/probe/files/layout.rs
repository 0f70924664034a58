//! In how many pieces a file that a process reads lies on its device.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::fs::OFlags;

use crate::drive::extents::{FileExtent, file_extents};
use crate::drive::mounts::split_device_number;
use crate::probe::process::open_files::open_foreign_descriptor;
use crate::roots::SysPaths;

/// Descriptors of a process that are looked at.
const MAX_DESCRIPTORS: usize = 1024;

/// How a file lies on its device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileLayout {
    /// The process that reads it.
    pub pid: u32,
    /// Its path, as the process has it open.
    pub path: String,
    /// Number of the device of its file system.
    pub device_number: (u32, u32),
    /// Bytes that have a place on the device.
    pub bytes: u64,
    /// Extents that do not continue the one before them on the device.
    pub pieces: u64,
}

/// Reads the layout of a regular file that a process has open, if it is on one of these devices;
/// `None` if it is not, if the file is not open any more, if this user may not read it, and if its
/// file system has no device of its own (FUSE, NFS, Btrfs) or does not report extents.
#[must_use]
pub fn read_layout(
    roots: &SysPaths,
    (pid, path): (u32, &str),
    devices: &[(u32, u32)],
) -> Option<FileLayout> {
    let descriptors = fs::read_dir(roots.proc.join(format!("{pid}/fd"))).ok()?;
    let is_it = |link: &std::path::Path| fs::read_link(link).is_ok_and(|it| it.as_os_str() == path);
    let descriptor = descriptors
        .flatten()
        .take(MAX_DESCRIPTORS)
        .map(|entry| entry.path())
        .find(|link| is_it(link))?;
    // The link leads to the file itself, whatever has been mounted or renamed since.
    let metadata = fs::metadata(&descriptor).ok()?;
    let device_number = split_device_number(metadata.dev());
    if !metadata.is_file() || !devices.contains(&device_number) {
        return None;
    }
    let opened = open_foreign_descriptor(&descriptor, OFlags::empty()).ok()?;
    let mut extents = file_extents(&opened).ok()?;
    extents.retain(FileExtent::has_place);
    Some(FileLayout {
        pid,
        path: path.to_owned(),
        device_number,
        bytes: extents.iter().map(|extent| extent.length).sum(),
        pieces: pieces(&extents),
    })
}

/// Extents that do not continue the one before them on the device.
fn pieces(extents: &[FileExtent]) -> u64 {
    let continues =
        |pair: &[FileExtent]| pair[0].physical.saturating_add(pair[0].length) == pair[1].physical;
    let joined = extents.windows(2).filter(|pair| continues(pair)).count();
    (extents.len() - joined) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_that_continue_each_other_are_one_piece() {
        let extent = |logical, physical, length| {
            let mut extent = FileExtent::default();
            (extent.logical, extent.physical, extent.length) = (logical, physical, length);
            extent
        };
        assert_eq!(pieces(&[]), 0);
        let joined = [extent(0, 8000, 100), extent(100, 8100, 50)];
        assert_eq!(pieces(&joined), 1);
        let apart = [
            extent(0, 8000, 100),
            extent(100, 8100, 50),
            extent(150, 4000, 50),
            extent(200, 9000, 50),
        ];
        assert_eq!(pieces(&apart), 3);
    }
}
