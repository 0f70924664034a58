//! Targets that the launcher offers.

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
    /// Path, as the benchmark gets it.
    pub name: String,
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
