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
