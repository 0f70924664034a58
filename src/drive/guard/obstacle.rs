//! Reasons why a medium that is not in use cannot be written.

use std::fmt;

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
    /// fs-verity protects its content.
    Verity,
    /// It is being executed, or the kernel swaps to it.
    TextBusy,
    /// The kernel denies permission.
    PermissionDenied,
}

impl Obstacle {
    /// Advice on how to remove the obstacle, one sentence.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::ReadOnlyDevice => {
                "remove the write protection (blockdev --setrw, or a switch on the medium) if its content may be lost"
            }
            Self::ReadOnlyMount => "name it below a writable mount",
            Self::Immutable => "chattr -i removes that, if its content may be lost",
            Self::AppendOnly => "chattr -a removes that, if its content may be lost",
            Self::Verity => "name another file: this one can only be read or deleted",
            Self::TextBusy => "end the program that runs from it (see fuser FILE) first",
            Self::PermissionDenied => {
                "some virtual machines protect their root disk in this way: name a directory, a scratch file is created there"
            }
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ReadOnlyDevice => "is read-only",
            Self::ReadOnlyMount => "is on a file system that is mounted read-only",
            Self::Immutable => "is immutable (chattr +i)",
            Self::AppendOnly => "is append-only (chattr +a)",
            Self::Verity => "is protected by fs-verity",
            Self::TextBusy => "is being executed, or swapped to",
            Self::PermissionDenied => "may not be opened for writing",
        })
    }
}
