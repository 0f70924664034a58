//! What makes writing impossible although nobody uses the medium: somebody protects it.

use std::fmt;

use rustix::io::Errno;

use crate::drive::ioctl;
use crate::drive::target::Medium;

/// `FS_IMMUTABLE_FL` (ioctl_iflags(2)).
const IMMUTABLE: u32 = 0x10;
/// `FS_APPEND_FL`.
const APPEND_ONLY: u32 = 0x20;

/// Why a medium cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The device refuses writing.
    ReadOnlyDevice,
    /// Its file system is mounted read-only.
    ReadOnlyMount,
    /// The file is immutable.
    Immutable,
    /// The file may only be appended to.
    AppendOnly,
    /// A program is being executed from it, or the kernel swaps to it.
    Executed,
    /// The kernel forbids it.
    Forbidden,
}

impl Obstacle {
    /// What the kernel meant when it refused to open a medium for writing; `None` where it says
    /// something else than that it is protected.
    pub(crate) fn of_error(medium: &Medium, error: Errno) -> Option<Self> {
        match error {
            Errno::ROFS if medium.device_number().is_some() => Some(Self::ReadOnlyDevice),
            Errno::ROFS => Some(Self::ReadOnlyMount),
            Errno::TXTBSY => Some(Self::Executed),
            Errno::PERM => Some(of_attributes(medium).unwrap_or(Self::Forbidden)),
            _ => None,
        }
    }

    /// What to do about it, one sentence.
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
            Self::Executed => "end the program that runs from it (see fuser FILE) first",
            Self::Forbidden => {
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
            Self::Executed => "is being executed, or swapped to",
            Self::Forbidden => "may not be opened for writing",
        })
    }
}

/// What can be told without opening it for writing.
pub(super) fn known(medium: &Medium) -> Option<Obstacle> {
    if medium.device_number().is_some() {
        let read_only = ioctl::is_read_only(medium.anchor()).unwrap_or(false);
        return read_only.then_some(Obstacle::ReadOnlyDevice);
    }
    let mount = rustix::fs::fstatvfs(medium.anchor());
    if mount.is_ok_and(|facts| facts.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY)) {
        return Some(Obstacle::ReadOnlyMount);
    }
    of_attributes(medium)
}

fn of_attributes(medium: &Medium) -> Option<Obstacle> {
    if medium.device_number().is_some() {
        return None;
    }
    let attributes = ioctl::attributes(medium.anchor()).ok()?;
    if attributes & IMMUTABLE != 0 {
        return Some(Obstacle::Immutable);
    }
    (attributes & APPEND_ONLY != 0).then_some(Obstacle::AppendOnly)
}
