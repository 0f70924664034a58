//! Write protection: reasons why a medium that is not in use cannot be written.

use std::fmt;

use rustix::io::Errno;

use crate::drive::ioctl;
use crate::drive::medium::OpenMedium;

/// `FS_IMMUTABLE_FL` (ioctl_iflags(2)).
const FS_IMMUTABLE_FL: u32 = 0x10;
/// `FS_APPEND_FL`.
const FS_APPEND_FL: u32 = 0x20;

/// Reason why a medium cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The device is read-only.
    ReadOnlyDevice,
    /// Its file system is mounted read-only.
    ReadOnlyMount,
    /// The file is immutable.
    Immutable,
    /// The file is append-only.
    AppendOnly,
    /// It is being executed, or the kernel swaps to it.
    TextBusy,
    /// The kernel denies permission.
    PermissionDenied,
}

impl Obstacle {
    /// Interprets the error of opening a medium for writing; `None` if the error is not about write
    /// protection.
    pub(crate) fn from_open_error(medium: &OpenMedium, error: Errno) -> Option<Self> {
        match error {
            Errno::ROFS if medium.device_number().is_some() => Some(Self::ReadOnlyDevice),
            Errno::ROFS => Some(Self::ReadOnlyMount),
            Errno::TXTBSY => Some(Self::TextBusy),
            Errno::PERM => Some(obstacle_from_attributes(medium).unwrap_or(Self::PermissionDenied)),
            _ => None,
        }
    }

    /// Advice on how to remove the obstacle, one sentence.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::ReadOnlyDevice => {
                "lift the write protection (blockdev --setrw, or a switch on the medium) if its \
                 content may really go"
            }
            Self::ReadOnlyMount => "name it below a mount that may be written",
            Self::Immutable => "chattr -i lifts that, if its content may really go",
            Self::AppendOnly => "chattr -a lifts that, if its content may really go",
            Self::TextBusy => "end the program that runs from it (see fuser FILE) first",
            Self::PermissionDenied => {
                "some virtual machines guard their root disk like this: name a directory, a scratch \
                 file is made there"
            }
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ReadOnlyDevice => "is read-only",
            Self::ReadOnlyMount => "lies on a file system that is mounted read-only",
            Self::Immutable => "is immutable (chattr +i)",
            Self::AppendOnly => "may only be appended to (chattr +a)",
            Self::TextBusy => "is being executed, or swapped to",
            Self::PermissionDenied => "may not be opened for writing",
        })
    }
}

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

fn obstacle_from_attributes(medium: &OpenMedium) -> Option<Obstacle> {
    if medium.device_number().is_some() {
        return None;
    }
    let attributes = ioctl::inode_flags(medium.anchor()).ok()?;
    if attributes & FS_IMMUTABLE_FL != 0 {
        return Some(Obstacle::Immutable);
    }
    (attributes & FS_APPEND_FL != 0).then_some(Obstacle::AppendOnly)
}
