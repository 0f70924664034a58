//! Recognised contents of a medium that an overwrite would destroy.

use std::fs;

use crate::drive::guard::bytes::{ReadAt, ReadFailure, RegionReader};
use crate::drive::guard::medium_reader::MediumReader;
use crate::drive::guard::partition_table::{PartitionRange, PartitionTable};
use crate::drive::guard::signatures::Signature;
use crate::drive::guard::{partition_table, siblings, signatures};
use crate::drive::identity::sysfs::{directory_entries, read_line};
use crate::drive::medium::open_medium::OpenMedium;
use crate::roots::SysPaths;
use crate::stats::sorting::SortList as _;

/// Contents of a medium, as far as they were recognised.
///
/// Two values are equal only if the same bytes were read. A file system that was recreated, or only
/// mounted, in between makes them differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediumContents {
    /// Formats on the medium, followed by those on its partitions.
    pub signatures: Vec<Signature>,
    /// Partitions from the table on the medium, or from the kernel if it reports more.
    pub partitions: Vec<PartitionRange>,
    /// Whether the table has more partitions than were examined.
    pub truncated: bool,
    /// The first location that could not be read: its contents are unknown.
    pub read_failure: Option<ReadFailure>,
    /// Digest of all bytes read.
    digest: u64,
}

impl MediumContents {
    /// Examines the bytes on a medium, bypassing the page cache where possible.
    pub(super) fn read(roots: &SysPaths, medium: &OpenMedium) -> Self {
        siblings::write_back_aliases(roots, medium);
        let size = medium.identity().size_bytes;
        let sector = u64::from(medium.target.logical_block_bytes);
        let is_device = medium.device_number().is_some();
        let known = if is_device {
            kernel_partitions(roots, medium)
        } else {
            Vec::new()
        };
        let sector = if is_device { sector } else { 512 };
        let mut contents = Self::inspect(&MediumReader::new(medium), size, sector, &known);
        let drive = medium.target.drive.as_ref().filter(|_| is_device);
        let by_udev = drive.and_then(|drive| drive.signature.clone());
        let by_table = drive.and_then(|drive| content_by_table(roots, &drive.name, sector));
        for name in by_udev.into_iter().chain(by_table.map(str::to_owned)) {
            if !contents.has_format(&name) {
                contents.signatures.push(Signature {
                    name,
                    offset: None,
                    partition: None,
                });
            }
        }
        contents
    }

    /// Examines bytes in memory, as for an image file.
    #[must_use]
    pub fn inspect_bytes(bytes: &[u8]) -> Self {
        Self::inspect(&bytes, bytes.len() as u64, 512, &[])
    }

    fn inspect(source: &dyn ReadAt, size: u64, sector: u64, known: &[PartitionRange]) -> Self {
        let reader = RegionReader::new(source, size);
        let whole = reader.whole_medium();
        let own = signatures::find_signatures(whole);
        let has = |wanted: &str| own.iter().any(|(name, _)| *name == wanted);
        let mut table = match (has("gpt"), has("dos")) {
            (true, _) => partition_table::read_gpt(&whole),
            (false, true) => partition_table::read_mbr(&whole, sector),
            (false, false) => PartitionTable::default(),
        };
        for range in known {
            if !table
                .partitions
                .iter()
                .any(|part| part.start == range.start)
            {
                table.partitions.push(*range);
            }
        }
        let signature = |partition: Option<PartitionRange>| {
            move |(name, offset): (&str, u64)| Signature {
                name: name.to_owned(),
                offset: Some(partition.map_or(0, |part| part.start) + offset),
                partition: partition.map(|part| part.number),
            }
        };
        let mut signatures: Vec<_> = own.into_iter().map(signature(None)).collect();
        for part in &table.partitions {
            let found = signatures::find_signatures(reader.region(part.start, part.length));
            signatures.extend(found.into_iter().map(signature(Some(*part))));
        }
        Self {
            signatures,
            partitions: table.partitions,
            truncated: table.truncated,
            read_failure: reader.failure(),
            digest: reader.digest(),
        }
    }

    /// Whether the medium itself has a format of that name.
    fn has_format(&self, name: &str) -> bool {
        let own = |signature: &&Signature| signature.partition.is_none();
        let mut names = self.signatures.iter().filter(own).map(|one| &one.name);
        names.any(|known| known == name)
    }

    /// Names of the formats on a partition that starts at that offset.
    #[must_use]
    pub fn formats_on_partition(&self, start: u64) -> Vec<&str> {
        let part = self.partitions.iter().find(|part| part.start == start);
        let on_it = |signature: &&Signature| {
            part.is_some() && signature.partition == part.map(|part| part.number)
        };
        let signatures = self.signatures.iter().filter(on_it);
        signatures
            .map(|signature| signature.name.as_str())
            .collect()
    }

    /// Whether overwriting needs explicit consent to these contents: something was recognised, or
    /// not everything could be examined.
    #[must_use]
    pub fn needs_acknowledgement(&self) -> bool {
        !self.signatures.is_empty() || self.truncated || self.read_failure.is_some()
    }

    /// What an overwrite would destroy, one item for each format and for each part that could not
    /// be examined, such as `gpt`, `ext4 (partitions 1, 2)`.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        let mut names: Vec<&str> = Vec::new();
        for signature in &self.signatures {
            if !names.contains(&signature.name.as_str()) {
                names.push(&signature.name);
            }
        }
        let mut items: Vec<String> = names
            .iter()
            .map(|name| self.describe_format(name))
            .collect();
        if self.truncated {
            items.push("unknown contents of further partitions".to_owned());
        }
        if let Some(failure) = self.read_failure {
            items.push(format!("unknown contents ({failure})"));
        }
        items
    }

    /// One format and its location.
    fn describe_format(&self, name: &str) -> String {
        let named = self.signatures.iter().filter(|one| one.name == name);
        let places: Vec<Option<u32>> = named.map(|one| one.partition).collect();
        let numbers: Vec<u32> = places.iter().flatten().copied().collect();
        let own = places.contains(&None);
        match (own, numbers.as_slice()) {
            (_, []) => name.to_owned(),
            (false, [number]) => format!("{name} (partition {number})"),
            (false, numbers) => format!("{name} (partitions {})", format_number_ranges(numbers)),
            (true, numbers) => format!(
                "{name} (also on partition {})",
                format_number_ranges(numbers)
            ),
        }
    }
}

/// Numbers with consecutive ones joined: `1-3, 7`.
fn format_number_ranges(numbers: &[u32]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut joined: Vec<(u32, u32)> = Vec::new();
    for number in sorted {
        match joined.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => joined.push((number, number)),
        }
    }
    let words = joined.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// What is on a partition by its type in the table of its disk, where that alone tells it. `sector`: logical block
/// size of the disk in bytes.
fn content_by_table(roots: &SysPaths, name: &str, sector: u64) -> Option<&'static str> {
    let devices = roots.sys.join("class/block");
    let directory = devices.join(name);
    let number: u32 = read_line(&directory.join("partition"))?.parse().ok()?;
    let disk = siblings::whole_disk_name(&directory)?;
    let sectors: u64 = read_line(&devices.join(&disk).join("size"))?.parse().ok()?;
    let file = siblings::open_device_by_name(roots, &disk)?;
    let reader = RegionReader::new(&file, sectors.checked_mul(512)?);
    let whole = reader.whole_medium();
    let gpt = partition_table::read_gpt(&whole);
    let table = match gpt.partitions.is_empty() {
        true => partition_table::read_mbr(&whole, sector),
        false => gpt,
    };
    let mut partitions = table.partitions.into_iter();
    let part = partitions.find(|part| part.number == number)?;
    part.partition_type?.known_content()
}

/// The partitions that the kernel reports for a whole device, in bytes from its start.
fn kernel_partitions(roots: &SysPaths, medium: &OpenMedium) -> Vec<PartitionRange> {
    let Some(drive) = &medium.target.drive else {
        return Vec::new();
    };
    let directory = roots.sys.join("class/block").join(&drive.name);
    let number =
        |path: std::path::PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let range = |name: String| {
        let part = directory.join(name);
        Some(PartitionRange {
            number: u32::try_from(number(part.join("partition"))?).ok()?,
            start: number(part.join("start"))?.checked_mul(512)?,
            length: number(part.join("size"))?.checked_mul(512)?,
            partition_type: None,
        })
    };
    let names = directory_entries(&directory);
    let mut found: Vec<_> = names.into_iter().filter_map(range).collect();
    found.sort_list_by_key(|part| part.number);
    found
}

#[cfg(test)]
#[path = "tests/contents.rs"]
mod tests;
