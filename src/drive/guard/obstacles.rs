//! Write protection: reasons why a medium that is not in use cannot be written.

use rustix::io::Errno;

use crate::drive::guard::obstacle::Obstacle;
use crate::drive::ioctl;
use crate::drive::medium::open_medium::OpenMedium;

/// `FS_IMMUTABLE_FL` (ioctl_iflags(2)).
const FS_IMMUTABLE_FL: u32 = 0x10;
/// `FS_APPEND_FL`.
const FS_APPEND_FL: u32 = 0x20;
/// `FS_VERITY_FL` (kernel Documentation/filesystems/fsverity.rst).
const FS_VERITY_FL: u32 = 0x0010_0000;

/// Obstacles that are visible without opening the medium for writing.
pub(super) fn find_obstacle(medium: &OpenMedium) -> Option<Obstacle> {
    if medium.device_number().is_some() {
        let read_only = ioctl::is_read_only(medium.anchor()).unwrap_or(false);
        return read_only.then_some(Obstacle::ReadOnlyDevice);
    }
    let mount = rustix::fs::fstatvfs(medium.anchor());
    if mount.is_ok_and(|facts| facts.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY)) {
        return Some(Obstacle::ReadOnlyMount);
    }
    obstacle_from_attributes(medium)
}

/// Interprets the error of opening a medium for writing; `None` if the error is not about write
/// protection.
pub(super) fn obstacle_of_open_error(medium: &OpenMedium, error: Errno) -> Option<Obstacle> {
    match error {
        Errno::ROFS if medium.device_number().is_some() => Some(Obstacle::ReadOnlyDevice),
        Errno::ROFS => Some(Obstacle::ReadOnlyMount),
        Errno::TXTBSY => Some(Obstacle::TextBusy),
        Errno::PERM => Some(obstacle_from_attributes(medium).unwrap_or(Obstacle::PermissionDenied)),
        _ => None,
    }
}

fn obstacle_from_attributes(medium: &OpenMedium) -> Option<Obstacle> {
    if medium.device_number().is_some() {
        return None;
    }
    let attributes = ioctl::inode_flags(medium.anchor()).ok()?;
    if attributes & FS_IMMUTABLE_FL != 0 {
        return Some(Obstacle::Immutable);
    }
    if attributes & FS_APPEND_FL != 0 {
        return Some(Obstacle::AppendOnly);
    }
    (attributes & FS_VERITY_FL != 0).then_some(Obstacle::Verity)
}
