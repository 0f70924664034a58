//! Properties of a target, and names of targets as the user writes them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::drive::identity::BlockDevice;

/// Kind of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A block device.
    BlockDevice,
    /// An existing regular file.
    File,
    /// A temporary file created in a directory for the benchmark.
    ScratchFile,
    /// A simulated drive.
    Simulated,
}

impl TargetKind {
    /// Name of the kind in reports.
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

/// Properties of the target of a benchmark, without a descriptor.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Name as the user gave it.
    pub name: String,
    /// Kind of the target.
    pub kind: TargetKind,
    /// Size in bytes (BLKGETSIZE64, or the file's length).
    pub size_bytes: u64,
    /// Minimum request size in bytes with `O_DIRECT`.
    pub logical_block_bytes: u32,
    /// Minimum request size in bytes that the medium handles without read-modify-write.
    pub physical_block_bytes: u32,
    /// Buffer alignment in bytes for `O_DIRECT` (STATX_DIOALIGN).
    pub buffer_alignment: u32,
    /// Whether it supports `O_DIRECT` (tmpfs before kernel 6.6: no).
    pub supports_direct_io: bool,
    /// The drive: the target itself, or the drive that holds its file system, if known.
    pub drive: Option<BlockDevice>,
    /// Type of the file system that holds the file.
    pub file_system: Option<String>,
}

impl Target {
    /// A generic drive of 1 TB with 4 KiB sectors. The defaults of parameters are computed for it
    /// when no target is named.
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

    /// Whether the drive is rotational, if known.
    #[must_use]
    pub fn is_rotational(&self) -> Option<bool> {
        self.drive.as_ref().and_then(|drive| drive.rotational)
    }
}

/// Prefix of the name of every simulated drive.
pub const SIMULATED_PREFIX: &str = "sim:";

/// Whether this is the name of a simulated drive, and not the path of a file or device.
#[must_use]
pub fn is_simulated_name(name: &str) -> bool {
    name.starts_with(SIMULATED_PREFIX)
}

/// The path of a file or device without a trailing slash, which only a directory may have.
#[must_use]
pub fn strip_trailing_slash(path: &Path) -> PathBuf {
    let not_a_directory = rustix::io::Errno::NOTDIR.raw_os_error();
    let slash =
        fs::metadata(path).is_err_and(|error| error.raw_os_error() == Some(not_a_directory));
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/');
    match end {
        Some(end) if slash => PathBuf::from(OsStr::from_bytes(&bytes[..=end])),
        _ => path.to_owned(),
    }
}
