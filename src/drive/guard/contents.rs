//! What is on a medium that an overwrite would destroy.

use std::fs::File;

use rustix::fs::Advice;

use crate::drive::guard::regions::{ReadFailure, Reader};
use crate::drive::guard::signatures::{Signature, find_formats};
use crate::drive::identity::sysfs::{directory_entries, read_number};
use crate::drive::medium::OpenMedium;
use crate::roots::SysPaths;

/// Unit of `start` and `size` in sysfs.
const SECTOR_BYTES: u64 = 512;

/// A partition of the medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionRange {
    /// Kernel name, such as `sda1`.
    pub name: String,
    /// Start in bytes.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
}

/// Contents of a medium, as far as they are recognised.
///
/// Two values are equal only if the same bytes were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediumContents {
    /// Formats on the medium, followed by those on its partitions.
    pub signatures: Vec<Signature>,
    /// Partitions that the kernel reports.
    pub partitions: Vec<PartitionRange>,
    /// The first place that could not be read: what is there is unknown.
    pub read_failure: Option<ReadFailure>,
    /// Whether nothing is recognised, and not all bytes that were read are zero.
    pub is_unrecognised: bool,
    /// Digest of the bytes at the edges of all regions.
    digest: u64,
}

impl MediumContents {
    /// Reads the contents of an open medium.
    pub(super) fn read(roots: &SysPaths, medium: &OpenMedium) -> Self {
        let file = medium.file();
        let size = medium.identity().size_bytes;
        let device = medium.target.drive.as_ref();
        let device = device.filter(|_| medium.device_number().is_some());
        let partitions = device.map_or_else(Vec::new, |it| partitions_of(roots, &it.name));
        // A partition has a page cache of its own: what the disk's holds may be out of date.
        let _ = rustix::fs::fadvise(&*file, 0, None, Advice::DontNeed);
        let mut contents = Self::of_file(&file, size, partitions);
        if let Some(name) = device.and_then(|device| device.signature.clone())
            && !contents.signatures.iter().any(|own| own.name == name)
        {
            contents.signatures.push(Signature {
                name,
                partition: None,
            });
        }
        contents
    }

    /// The contents of a file or device of that size.
    #[must_use]
    pub fn of_file(file: &File, size: u64, partitions: Vec<PartitionRange>) -> Self {
        let reader = Reader::new(file);
        let whole = reader.region(0, size);
        let name_whole = |name: &&str| Signature {
            name: (*name).to_owned(),
            partition: None,
        };
        let mut signatures: Vec<Signature> = find_formats(&whole).iter().map(name_whole).collect();
        let mut is_zero = whole.edges_are_zero();
        for part in &partitions {
            let length = part.length.min(size.saturating_sub(part.start));
            let region = reader.region(part.start, length);
            let found = find_formats(&region).into_iter();
            signatures.extend(found.map(|name| Signature {
                name: name.to_owned(),
                partition: Some(part.name.clone()),
            }));
            is_zero &= region.edges_are_zero();
        }
        Self {
            is_unrecognised: signatures.is_empty() && !is_zero,
            signatures,
            partitions,
            read_failure: reader.failure(),
            digest: reader.digest(),
        }
    }

    /// Names of the formats on a partition.
    #[must_use]
    pub fn formats_on(&self, partition: &str) -> Vec<&str> {
        let own = self.signatures.iter();
        own.filter(|it| it.partition.as_deref() == Some(partition))
            .map(|it| it.name.as_str())
            .collect()
    }

    /// Whether overwriting needs a second consent: something was recognised, or not everything could be read.
    #[must_use]
    pub fn needs_acknowledgement(&self) -> bool {
        !self.signatures.is_empty() || self.read_failure.is_some()
    }

    /// What an overwrite would destroy, one item for each format, such as `gpt`, `ext4 (sda1, sda2)`.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        let mut items: Vec<String> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for signature in &self.signatures {
            if names.contains(&signature.name.as_str()) {
                continue;
            }
            names.push(&signature.name);
            let same = self
                .signatures
                .iter()
                .filter(|it| it.name == signature.name);
            let places: Vec<&str> = same.filter_map(|it| it.partition.as_deref()).collect();
            items.push(if places.is_empty() {
                signature.name.clone()
            } else {
                format!("{} ({})", signature.name, places.join(", "))
            });
        }
        if let Some(failure) = self.read_failure {
            items.push(format!("unknown contents ({failure})"));
        }
        items
    }
}

/// The partitions that the kernel reports for a device, in order of their starts.
fn partitions_of(roots: &SysPaths, device: &str) -> Vec<PartitionRange> {
    let directory = roots.sys.join("class/block").join(device);
    let range = |name: String| {
        let own = directory.join(&name);
        read_number::<u32>(&own.join("partition"))?;
        let bytes = |file| read_number::<u64>(&own.join(file))?.checked_mul(SECTOR_BYTES);
        Some(PartitionRange {
            start: bytes("start")?,
            length: bytes("size")?,
            name,
        })
    };
    let names = directory_entries(&directory);
    let mut found: Vec<PartitionRange> = names.into_iter().filter_map(range).collect();
    found.sort_by_key(|part| part.start);
    found
}
