//! What a test is pointed at, and the way to a descriptor of it.

mod identity;
mod open;
mod open_medium;
#[cfg(test)]
mod tests;

use super::identity::BlockDevice;

pub use self::identity::{IdentityChange, MediumIdentity};
pub use self::open::{describe_directory, open_target, strip_trailing_slash};
pub use self::open_medium::{FileId, MediumAccess, OpenMedium, WriteDurability, WriteMode};

/// What stands behind a target's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A block device.
    BlockDevice,
    /// An existing regular file.
    File,
    /// A file made for the test in a directory and gone afterwards.
    ScratchFile,
    /// A drive made of arithmetic.
    Simulated,
}

impl TargetKind {
    /// The word used in documents.
    #[must_use]
    pub fn document_name(self) -> &'static str {
        match self {
            Self::BlockDevice => "block-device",
            Self::File => "file",
            Self::ScratchFile => "scratch",
            Self::Simulated => "simulated",
        }
    }
}

/// What a test is pointed at: plain facts, no descriptor.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// As the user named it.
    pub name: String,
    /// What it is.
    pub kind: TargetKind,
    /// Size in bytes (BLKGETSIZE64, or the file's length).
    pub size_bytes: u64,
    /// Smallest request in bytes that the kernel takes with `O_DIRECT`.
    pub logical_block_bytes: u32,
    /// Smallest request in bytes that the medium does without read-modify-write.
    pub physical_block_bytes: u32,
    /// Alignment of buffers in bytes for `O_DIRECT` (STATX_DIOALIGN).
    pub buffer_alignment: u32,
    /// Whether `O_DIRECT` is possible on it at all (tmpfs before kernel 6.6: no).
    pub supports_direct_io: bool,
    /// The drive: the target itself, or the one that its file system lies on, where one is known.
    pub drive: Option<BlockDevice>,
    /// Type of the file system that a file lies on.
    pub file_system: Option<String>,
}

impl Target {
    /// An ordinary drive of 1 TB with 4 KiB sectors that says nothing else: what a parameter's
    /// default is shown for when no target was named.
    #[must_use]
    pub fn example_drive() -> Self {
        Self {
            name: String::new(),
            kind: TargetKind::BlockDevice,
            size_bytes: 1_000_000_000_000,
            logical_block_bytes: 512,
            physical_block_bytes: 4096,
            buffer_alignment: 512,
            supports_direct_io: true,
            drive: None,
            file_system: None,
        }
    }

    /// What the kernel says of rotation, where it is known.
    #[must_use]
    pub fn is_rotational(&self) -> Option<bool> {
        self.drive.as_ref().and_then(|drive| drive.rotational)
    }
}
