//! Facts about a medium, shown when the user is asked whether it may be overwritten.

use std::os::unix::fs::MetadataExt;

use crate::drive::guard::contents::MediumContents;
use crate::drive::identity::sanitized;
use crate::drive::medium::OpenMedium;
use crate::roots::SysPaths;

/// Facts about a medium that is about to be overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Name as the user gave it.
    pub name: String,
    /// The path that the name resolves to, if different.
    pub resolved: Option<String>,
    /// Kernel name and number of the block device, if it is one.
    pub device: Option<(String, (u32, u32))>,
    /// Model of the drive, if reported.
    pub model: Option<String>,
    /// Serial number, if reported.
    pub serial: Option<String>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Names (hard links) that a file has, also in other directories; 0 where that is unknown.
    pub name_count: u64,
    /// File systems, volumes and partitions.
    pub contents: MediumContents,
}

/// Collects the facts about a medium.
#[must_use]
pub fn inspect_target(roots: &SysPaths, medium: &OpenMedium) -> Inspection {
    describe_medium(medium, MediumContents::read(roots, medium))
}

/// As above, for a medium whose contents are known.
pub(super) fn describe_medium(medium: &OpenMedium, contents: MediumContents) -> Inspection {
    let target = &medium.target;
    let device = medium.device_number().and(target.drive.as_ref());
    let resolved = medium.resolved_path().map(std::path::Path::to_string_lossy);
    let facts = medium.file().metadata();
    Inspection {
        name: sanitized(&target.name),
        resolved: resolved
            .filter(|path| *path != target.name)
            .map(|path| sanitized(&path)),
        device: device.map(|it| (it.name.clone(), it.number)),
        model: device.and_then(|it| it.model.clone()),
        serial: device.and_then(|it| it.serial.clone()),
        size_bytes: target.size_bytes,
        name_count: facts.map_or(0, |facts| facts.nlink()),
        contents,
    }
}
