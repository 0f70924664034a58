//! The facts that stand next to the question whether a medium may be overwritten.

use super::conflicts::{SearchDepth, UseConflict};
use super::medium_reader::MediumReader;
use super::{MediumContents, PartitionRange, Refusal, conflicts, history};
use crate::drive::identity;
use crate::drive::identity::{BlockDevice, DeviceUse, DriveKind, sanitized};
use crate::drive::medium::OpenMedium;
use crate::roots::SysPaths;
use crate::units;

/// Partitions that are listed where space is short.
const MAX_LISTED_PARTITIONS: usize = 8;

/// A partition of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetPartition {
    /// Kernel's name, such as `sda1`, or `partition 1` where the kernel does not show it.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// What its bytes or udev tell of it.
    pub signature: Option<String>,
    /// Where it is mounted.
    pub mounted_at: Vec<String>,
    /// When and where its file system was last mounted, where that remembers.
    pub last_mount: Option<String>,
}

/// What is known of a medium that is about to be overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// As the user named it.
    pub name: String,
    /// The path that the name leads to, where that is another one.
    pub resolved: Option<String>,
    /// Kernel's name and number of the block device, if it is one.
    pub device: Option<(String, (u32, u32))>,
    /// Model of the drive, as far as it says.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Partitions on it.
    pub partitions: Vec<TargetPartition>,
    /// File systems, volumes and tables found in its bytes or by udev.
    pub contents: MediumContents,
    /// When and where a file system on the whole of it was last mounted, where that remembers.
    pub last_mount: Option<String>,
    /// Who uses it: with any of these, writing is refused.
    pub conflicts: Vec<UseConflict>,
}

/// Collects the facts about a medium.
///
/// # Errors
/// When it cannot be found out who uses it.
pub fn inspect_target(roots: &SysPaths, medium: &OpenMedium) -> Result<Inspection, Refusal> {
    describe_medium(roots, medium, MediumContents::read(roots, medium))
}

/// The same for a medium whose contents are known.
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
    // A second descriptor of a file would count as somebody who reads it.
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
        partitions,
        last_mount,
        contents,
        conflicts: conflicts::find_medium_usage(roots, medium, SearchDepth::Full, &[])?.conflicts,
    })
}

/// The partitions in a medium's bytes, by the kernel's names where it has any.
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

/// The partitions that the kernel shows, with their numbers.
fn kernel_partitions(roots: &SysPaths, whole: &BlockDevice) -> Vec<(u32, BlockDevice)> {
    let directory = roots.sys.join("class/block").join(&whole.name);
    let numbered = |name: String| {
        let number = std::fs::read_to_string(directory.join(&name).join("partition")).ok()?;
        let drive = identity::read_block_device(roots, &name)?;
        let number = number.trim().parse().ok()?;
        (drive.kind == DriveKind::Partition).then_some((number, drive))
    };
    let names = identity::directory_entries(&directory);
    names.into_iter().filter_map(numbered).collect()
}

impl Inspection {
    /// The facts as lines for a person who has to decide, and who uses it.
    #[must_use]
    pub fn description_lines(&self) -> Vec<String> {
        let mut lines = self.summary_lines();
        lines.extend(self.conflicts.iter().map(ToString::to_string));
        lines
    }

    /// What it is and what is on it, as lines for a person who has to decide: the most important
    /// first, and of many partitions the first few.
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

    /// The same below a heading that tells the name, with all partitions, and without the line
    /// that lists the signatures.
    #[must_use]
    pub fn detail_lines(&self) -> Vec<String> {
        let mut lines = vec![self.location_line(), self.drive_line()];
        lines.extend(self.last_mount.clone());
        lines.extend(self.partitions.iter().map(partition_line));
        lines
    }

    /// What the name leads to where that is another path, the device, and the size.
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

    /// Model and serial number of a device; a file has none.
    fn drive_line(&self) -> String {
        let known = |what: &Option<String>| what.clone().unwrap_or_else(|| "unknown".to_owned());
        match self.device {
            Some(_) => format!(
                "model {}, serial {}",
                known(&self.model),
                known(&self.serial)
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

/// A partition on a line.
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
