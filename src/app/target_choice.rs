//! Targets that the launcher offers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::TargetError;
use crate::drive::Target;

/// Origin of a choice in the launcher's list of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetGroup {
    /// A scratch file in a directory.
    Directory,
    /// A block device.
    Drive,
    /// A regular file.
    File,
}

/// A target that can be measured.
#[derive(Debug, Clone)]
pub struct TargetChoice {
    /// The path as text that can be printed.
    pub name: String,
    /// The path, byte for byte, as the benchmark gets it. Two paths may have the same name.
    pub path: PathBuf,
    /// Where it comes from.
    pub group: TargetGroup,
    /// Model, or the file system that it is on.
    pub label: String,
    /// Size of the drive, or free space of the file system, in bytes.
    pub size_bytes: Option<u64>,
    /// Kind of target, one or two words: `NVMe`, `disk`, `ext4`.
    pub kind: String,
    /// Users of the target; empty if there are none.
    pub used_by: String,
    /// The facts that parameters and forecast depend on, or why it cannot be measured.
    pub target: Result<Target, Arc<TargetError>>,
}

impl TargetChoice {
    /// Whether it has this path, byte for byte: `/dev/./sda` is not `/dev/sda`.
    #[must_use]
    pub fn is_same_path(&self, path: &Path) -> bool {
        self.path.as_os_str() == path.as_os_str()
    }
}
