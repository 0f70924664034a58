//! What is on a medium that an overwrite would destroy.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::Advice;

use crate::drive::guard::signatures::{Signature, find_formats};
use crate::drive::identity::sysfs::{directory_entries, read_number};
use crate::drive::medium::OpenMedium;
use crate::roots::SysPaths;

/// Bytes read at the start and at the end of each region. What differs there is other content.
const EDGE_BYTES: u64 = 256 << 10;
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

/// A place that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadFailure {
    /// Offset on the medium, in bytes.
    pub offset: u64,
    /// The error of the kernel, such as `EIO`.
    pub errno: i32,
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
            read_failure: reader.failure.get(),
            digest: reader.digest.borrow().finish(),
        }
    }

    /// Names of the formats on a partition.
    pub(super) fn formats_on(&self, partition: &str) -> Vec<&str> {
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

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = io::Error::from_raw_os_error(self.errno);
        write!(f, "byte {} cannot be read: {error}", self.offset)
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

/// Reads a medium; keeps the first failure, and a digest of the edges of regions.
struct Reader<'f> {
    file: &'f File,
    failure: Cell<Option<ReadFailure>>,
    digest: RefCell<DefaultHasher>,
}

/// A part of a medium, with its first and last bytes.
pub(super) struct Region<'r> {
    reader: &'r Reader<'r>,
    start: u64,
    /// Length in bytes.
    pub(super) length: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl<'f> Reader<'f> {
    fn new(file: &'f File) -> Self {
        Self {
            file,
            failure: Cell::new(None),
            digest: RefCell::default(),
        }
    }

    fn region(&self, start: u64, length: u64) -> Region<'_> {
        let edge = length.min(EDGE_BYTES);
        let head = self.read(start, edge as usize);
        let tail = self.read(start + length - edge, edge as usize);
        let mut digest = self.digest.borrow_mut();
        digest.write(&head);
        digest.write(&tail);
        Region {
            reader: self,
            start,
            length,
            head,
            tail,
        }
    }

    /// Up to so many bytes; fewer at the end, and after a failure.
    fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            match self.file.read_at(&mut bytes[done..], at) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(libc::EIO);
                    let failure = ReadFailure { offset: at, errno };
                    self.failure.set(self.failure.get().or(Some(failure)));
                    break;
                }
            }
        }
        bytes.truncate(done);
        bytes
    }
}

impl Region<'_> {
    /// Up to so many bytes of the region; fewer at its end.
    pub(super) fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let end = offset + length as u64;
        if end <= self.head.len() as u64 {
            return self.head[offset as usize..end as usize].to_vec();
        }
        let tail_start = self.length - self.tail.len() as u64;
        if offset >= tail_start && end <= self.length {
            let from = (offset - tail_start) as usize;
            return self.tail[from..from + length].to_vec();
        }
        let left = self.length.saturating_sub(offset);
        let length = usize::try_from(left).map_or(length, |left| left.min(length));
        self.reader.read(self.start + offset, length)
    }

    /// Whether these bytes are there.
    pub(super) fn holds(&self, offset: u64, bytes: &[u8]) -> bool {
        self.read(offset, bytes.len()) == bytes
    }

    fn edges_are_zero(&self) -> bool {
        self.head.iter().chain(&self.tail).all(|byte| *byte == 0)
    }
}
