//! Facts about a medium, shown when the user is asked whether it may be overwritten.

use std::os::unix::fs::MetadataExt;

use crate::drive::guard::conflicts::medium_usage::SearchDepth;
use crate::drive::guard::conflicts::use_conflict::UseConflict;
use crate::drive::guard::contents::MediumContents;
use crate::drive::guard::medium_reader::MediumReader;
use crate::drive::guard::partition_table::PartitionRange;
use crate::drive::guard::refusal::Refusal;
use crate::drive::guard::{conflicts, history};
use crate::drive::identity;
use crate::drive::identity::{BlockDevice, DeviceUse, DriveKind, sanitized};
use crate::drive::medium::open_medium::OpenMedium;
use crate::roots::SysPaths;
use crate::units;

/// Maximum number of partitions listed in the short form.
const MAX_LISTED_PARTITIONS: usize = 8;

/// A partition of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetPartition {
    /// Kernel name, such as `sda1`, or `partition 1` if the kernel does not report it.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Its format, from its bytes or from udev.
    pub signature: Option<String>,
    /// Its mount points.
    pub mounted_at: Vec<String>,
    /// Time and mount point of the last mount, if its file system records them.
    pub last_mount: Option<String>,
}

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
    /// Partitions on it.
    pub partitions: Vec<TargetPartition>,
    /// File systems, volumes and partition tables, from its bytes or from udev.
    pub contents: MediumContents,
    /// Time and mount point of the last mount of a file system on the whole medium, if recorded.
    pub last_mount: Option<String>,
    /// Its users: any of these forbids writing.
    pub conflicts: Vec<UseConflict>,
}

/// Collects the facts about a medium.
///
/// # Errors
/// When its users cannot be determined.
pub fn inspect_target(roots: &SysPaths, medium: &OpenMedium) -> Result<Inspection, Refusal> {
    describe_medium(roots, medium, MediumContents::read(roots, medium))
}

/// As above, for a medium whose contents are known.
pub(super) fn describe_medium(
    roots: &SysPaths,
    medium: &OpenMedium,
    contents: MediumContents,
) -> Result<Inspection, Refusal> {
    let target = &medium.target;
    let itself = medium.device_number().and(target.drive.as_ref());
    let resolved = medium.resolved_path().map(std::path::Path::to_string_lossy);
    let number = medium.device_number();
    let reader = MediumReader::new(medium);
    let partitions = partitions(roots, &reader, itself, &contents);
    let last_mount = history::read_last_mount(&reader, 0);
    // A second descriptor of the file would count as a reader.
    drop(reader);
    Ok(Inspection {
        name: sanitized(&target.name),
        resolved: resolved
            .filter(|path| *path != target.name)
            .map(|path| sanitized(&path)),
        device: itself.map(|drive| drive.name.clone()).zip(number),
        model: itself.and_then(|drive| drive.model.clone()),
        serial: itself.and_then(|drive| drive.serial.clone()),
        size_bytes: target.size_bytes,
        name_count: medium.anchor().metadata().map_or(0, |facts| facts.nlink()),
        partitions,
        last_mount,
        contents,
        conflicts: conflicts::find_medium_usage(roots, medium, SearchDepth::Full, &[])?.conflicts,
    })
}

/// The partitions from the bytes of a medium, with the kernel's names where available.
fn partitions(
    roots: &SysPaths,
    reader: &MediumReader<'_>,
    whole: Option<&BlockDevice>,
    contents: &MediumContents,
) -> Vec<TargetPartition> {
    let known = whole.map_or_else(Vec::new, |whole| kernel_partitions(roots, whole));
    let part = |range: &PartitionRange| {
        let known = known.iter().find(|(number, _)| *number == range.number);
        let drive = known.map(|(_, drive)| drive);
        let signatures = contents.formats_on_partition(range.start).join(", ");
        let signature = Some(signatures).filter(|text| !text.is_empty());
        TargetPartition {
            name: drive.map_or_else(
                || format!("partition {}", range.number),
                |drive| format!("partition {}", drive.name),
            ),
            size_bytes: range.length,
            signature: signature.or_else(|| drive?.signature.clone()),
            mounted_at: drive.map_or_else(Vec::new, |drive| {
                drive.users.iter().filter_map(use_mount_point).collect()
            }),
            last_mount: history::read_last_mount(reader, range.start),
        }
    };
    contents.partitions.iter().map(part).collect()
}

/// The partitions that the kernel reports, with their numbers.
fn kernel_partitions(roots: &SysPaths, whole: &BlockDevice) -> Vec<(u32, BlockDevice)> {
    let directory = roots.sys.join("class/block").join(&whole.name);
    let numbered = |name: String| {
        let number = std::fs::read_to_string(directory.join(&name).join("partition")).ok()?;
        let drive = identity::read_block_device(roots, &name)?;
        let number = number.trim().parse().ok()?;
        (drive.kind == DriveKind::Partition).then_some((number, drive))
    };
    let names = identity::sysfs::directory_entries(&directory);
    names.into_iter().filter_map(numbered).collect()
}

impl Inspection {
    /// The facts and the users, as lines for display.
    #[must_use]
    pub fn description_lines(&self) -> Vec<String> {
        let mut lines = self.summary_lines();
        lines.extend(self.conflicts.iter().map(ToString::to_string));
        lines
    }

    /// Identity and contents, as lines for display: the most important first, and the first few of
    /// many partitions.
    #[must_use]
    pub fn summary_lines(&self) -> Vec<String> {
        let what = match &self.resolved {
            Some(_) => format!("{} {}", self.name, self.location_line()),
            None => self.location_line(),
        };
        let mut lines = vec![what, self.drive_line(), self.contents_line()];
        lines.extend(self.last_mount.clone());
        lines.extend(
            self.partitions
                .iter()
                .take(MAX_LISTED_PARTITIONS)
                .map(partition_line),
        );
        if let Some(more @ 1..) = self.partitions.len().checked_sub(MAX_LISTED_PARTITIONS) {
            lines.push(format!("+{more} more partitions"));
        }
        lines
    }

    /// The same below a heading with the name, with all partitions, and without the line that lists
    /// the signatures.
    #[must_use]
    pub fn detail_lines(&self) -> Vec<String> {
        let mut lines = vec![self.location_line(), self.drive_line()];
        lines.extend(self.last_mount.clone());
        lines.extend(self.partitions.iter().map(partition_line));
        lines
    }

    /// The resolved path if different, the device, and the size.
    fn location_line(&self) -> String {
        let size = units::format_size(self.size_bytes);
        let path = match &self.resolved {
            Some(path) => format!("-> {path}"),
            None => self.name.clone(),
        };
        let device = match &self.device {
            Some((name, (major, minor))) => format!(", {name} ({major}:{minor})"),
            None => String::new(),
        };
        format!("{path}{device}, {size}")
    }

    /// Model and serial number of a device; the names of a file, if there are several.
    fn drive_line(&self) -> String {
        let known = |what: &Option<String>| what.clone().unwrap_or_else(|| "unknown".to_owned());
        match self.device {
            Some(_) => format!(
                "model {}, serial {}",
                known(&self.model),
                known(&self.serial)
            ),
            None if self.name_count > 1 => format!(
                "regular file with {} names (hard links), whose content changes under each",
                self.name_count
            ),
            None => "regular file".to_owned(),
        }
    }

    fn contents_line(&self) -> String {
        match self.contents.summary().as_slice() {
            [] => "no known signature in its bytes".to_owned(),
            items => format!("holds {}", items.join("; ")),
        }
    }
}

/// Describes one partition in one line.
fn partition_line(part: &TargetPartition) -> String {
    let size = units::format_size(part.size_bytes);
    let words = [part.signature.as_ref(), part.last_mount.as_ref()];
    let words = words.into_iter().flatten();
    let words: String = words.map(|word| format!(", {word}")).collect();
    format!("{}, {size}{words}", part.name)
}

fn use_mount_point(user: &DeviceUse) -> Option<String> {
    match user {
        DeviceUse::Mounted { at, .. } => Some(at.clone()),
        DeviceUse::Swap | DeviceUse::HeldBy { .. } => None,
    }
}
