//! Open files of a process: links and offsets of its descriptors.
//!
//! Listing and following descriptors is most of a naive sampler's cost. Therefore a process is
//! examined only while its counters or one of its files advance. One examination lists at most one
//! buffer of descriptors and continues from there the next time. A file whose link was read once is
//! recognised by its inode number.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, RawDir, SeekFrom, StatxFlags, readlinkat, seek, statx};
use rustix::path::DecInt;

use super::stat::{DescriptorInfo, parse_descriptor_info};
use crate::probe::sample::{FileKind, OpenFile};
use crate::probe::text::{open_relative, parse_number, read_small_file, read_word};
use crate::roots::SysPaths;

/// Smallest regular file that is reported if it is not written.
pub(super) const MIN_FILE_BYTES: u64 = 1 << 20;
/// Holds about 63 entries: the maximum number of descriptors per examination.
const LISTING_BUFFER_BYTES: usize = 2048;
/// Number of idle samples for which descriptors are kept for comparison: programs do I/O in bursts,
/// and an offset is meaningful only relative to an earlier one.
const KEEP_IDLE_SAMPLES: u32 = 4;
/// Number of samples for which files that once advanced are examined although their process is
/// idle.
const FOLLOW_IDLE_SAMPLES: u32 = 300;
/// A file that has not advanced for this many samples is examined once in as many.
const IDLE_RECHECK_INTERVAL: u32 = 8;

/// The descriptors of one process.
#[derive(Debug)]
pub struct ProcessDescriptors {
    fd_directory: OwnedFd,
    fdinfo_directory: OwnedFd,
    entries: BTreeMap<u32, DescriptorEntry>,
    /// Number of the current pass over the listing; a pass may take several examinations.
    listing_pass: u64,
    /// Samples since the process, or a file that has advanced before, was active.
    idle_samples: u32,
    /// Those that can be part of a transfer, as of the last examination.
    pub(super) files: Arc<[OpenFile]>,
    /// Regular files that were written and have been closed, as of the last examination before.
    closed_files: Vec<OpenFile>,
}

#[derive(Debug)]
struct DescriptorEntry {
    file: OpenFile,
    seen_in_pass: u64,
    /// Whether offset or size has changed since the first examination.
    has_moved: bool,
}

impl ProcessDescriptors {
    /// Opens the directories of a process; `None` where that is not permitted or the process has
    /// ended.
    #[must_use]
    pub fn open(proc: BorrowedFd<'_>, pid: u32) -> Option<Self> {
        Some(Self {
            fd_directory: open_relative(proc, format!("{pid}/fd")).ok()?,
            fdinfo_directory: open_relative(proc, format!("{pid}/fdinfo")).ok()?,
            entries: BTreeMap::new(),
            listing_pass: 0,
            idle_samples: 0,
            files: Arc::default(),
            closed_files: Vec::new(),
        })
    }

    /// Whether one of its files advanced while it was examined.
    #[must_use]
    pub fn any_moved(&self) -> bool {
        self.entries.values().any(|entry| entry.has_moved)
    }

    /// Regular files that were written and have been closed since the last call.
    pub fn take_closed(&mut self) -> Vec<OpenFile> {
        std::mem::take(&mut self.closed_files)
    }

    /// All files that were written, when the process has ended and closed them.
    #[must_use]
    pub fn into_closed(mut self) -> Vec<OpenFile> {
        for entry in std::mem::take(&mut self.entries).into_values() {
            self.record_closed(&entry);
        }
        self.closed_files
    }

    fn record_closed(&mut self, entry: &DescriptorEntry) {
        if entry.has_moved && entry.file.writable && entry.file.kind == FileKind::Regular {
            self.closed_files.push(entry.file.clone());
        }
    }

    /// Examines the next part of the listing, and again everything that has advanced before.
    pub fn examine_next(&mut self, roots: &SysPaths) {
        self.idle_samples = 0;
        let (listed, complete) = self.list_next();
        for descriptor in &listed {
            self.examine(*descriptor, roots);
        }
        self.refresh_moved_except(&listed, roots);
        if complete {
            let is_open = |entry: &DescriptorEntry| entry.seen_in_pass == self.listing_pass;
            let entries = std::mem::take(&mut self.entries).into_iter();
            let (open, gone): (BTreeMap<_, _>, BTreeMap<_, _>) =
                entries.partition(|(_, entry)| is_open(entry));
            self.entries = open;
            gone.values().for_each(|entry| self.record_closed(entry));
            self.listing_pass += 1;
        }
        self.publish();
    }

    /// Handles a sample in which the process itself was idle: examines again what has advanced
    /// before, because the kernel or another process may move it. `None` when it need not be kept.
    #[must_use]
    pub fn refresh_idle(mut self, roots: &SysPaths) -> Option<Self> {
        self.idle_samples = self.idle_samples.saturating_add(1);
        let is_due = self.idle_samples < IDLE_RECHECK_INTERVAL
            || self.idle_samples.is_multiple_of(IDLE_RECHECK_INTERVAL);
        let followed = self.any_moved();
        if followed && is_due {
            self.refresh_moved_except(&[], roots);
            self.publish();
        }
        let longest = if followed {
            FOLLOW_IDLE_SAMPLES
        } else {
            KEEP_IDLE_SAMPLES
        };
        (self.idle_samples <= longest).then_some(self)
    }

    /// The next descriptors, and whether these are the last ones.
    fn list_next(&self) -> (Vec<u32>, bool) {
        let mut buffer = [MaybeUninit::<u8>::uninit(); LISTING_BUFFER_BYTES];
        let mut listing = RawDir::new(&self.fd_directory, &mut buffer);
        let mut found = Vec::new();
        let mut used = 0;
        while let Some(Ok(entry)) = listing.next() {
            let name = entry.file_name().to_bytes();
            // struct linux_dirent64: 19 bytes and the name, in units of 8.
            used += (19 + name.len() + 1).next_multiple_of(8);
            found.extend(parse_number(name).and_then(|number| u32::try_from(number).ok()));
            if listing.is_buffer_empty() {
                break;
            }
        }
        // An entry of maximum length no longer fits: there may be more.
        let complete = used + 32 <= LISTING_BUFFER_BYTES;
        if complete {
            // A failure needs no handling: the next listing is empty, and the one after it
            // complete.
            let _ = seek(&self.fd_directory, SeekFrom::Start(0));
        }
        (found, complete)
    }

    fn refresh_moved_except(&mut self, done: &[u32], roots: &SysPaths) {
        let moved = self.entries.iter().filter(|(_, entry)| entry.has_moved);
        let moved: Vec<u32> = moved.map(|(descriptor, _)| *descriptor).collect();
        for descriptor in moved.into_iter().filter(|it| !done.contains(it)) {
            self.examine(descriptor, roots);
        }
    }

    /// Examines one descriptor and remembers its file.
    fn examine(&mut self, descriptor: u32, roots: &SysPaths) {
        let mut known = self.entries.remove(&descriptor);
        let target = self.file_facts(descriptor);
        let identity = target.as_ref().map(|it| (it.inode, it.kind));
        let is_other = |it: &mut DescriptorEntry| Some((it.file.inode, it.file.kind)) != identity;
        if let Some(other) = known.take_if(is_other) {
            self.record_closed(&other);
        }
        let Some(target) = target else {
            return;
        };
        let entry = match known {
            Some(entry) => self.examine_known(descriptor, entry, &target),
            None => self.examine_new(descriptor, &target, roots),
        };
        if let Some(mut entry) = entry {
            entry.seen_in_pass = self.listing_pass;
            self.entries.insert(descriptor, entry);
        }
    }

    fn file_facts(&self, descriptor: u32) -> Option<FileFacts> {
        let flags = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::SIZE | StatxFlags::BLOCKS;
        // A server that does not respond must not block the sampler: cached attributes suffice.
        let at = AtFlags::STATX_DONT_SYNC;
        let found = statx(&self.fd_directory, DecInt::new(descriptor), at, flags).ok()?;
        let kind = match FileType::from_raw_mode(found.stx_mode.into()) {
            FileType::RegularFile => FileKind::Regular,
            FileType::BlockDevice => FileKind::Block((found.stx_rdev_major, found.stx_rdev_minor)),
            FileType::Fifo => FileKind::Pipe,
            _ => return None,
        };
        Some(FileFacts {
            kind,
            inode: ((found.stx_dev_major, found.stx_dev_minor), found.stx_ino),
            size: found.stx_size,
            allocated: found.stx_blocks.saturating_mul(512),
        })
    }

    fn examine_new(
        &self,
        descriptor: u32,
        target: &FileFacts,
        roots: &SysPaths,
    ) -> Option<DescriptorEntry> {
        let name = DecInt::new(descriptor);
        let path = readlinkat(&self.fd_directory, name, Vec::new()).ok()?;
        let info = self.descriptor_info(descriptor)?;
        let (readable, writable) = access_mode(info.flags)?;
        let size = match target.kind {
            FileKind::Regular => Some(target.size),
            FileKind::Block(number) => device_capacity(number, roots),
            FileKind::Pipe => None,
        };
        Some(DescriptorEntry {
            file: OpenFile {
                descriptor,
                path: path.into_bytes().into(),
                kind: target.kind,
                inode: target.inode,
                position: info.position,
                readable,
                writable,
                size,
                allocated_bytes: target.allocated,
            },
            seen_in_pass: self.listing_pass,
            has_moved: false,
        })
    }

    /// Examines a known file: its link is known, and its offset is read where it matters.
    fn examine_known(
        &mut self,
        descriptor: u32,
        mut entry: DescriptorEntry,
        target: &FileFacts,
    ) -> Option<DescriptorEntry> {
        let file = &mut entry.file;
        let mut moved = false;
        if target.kind == FileKind::Regular {
            moved = file.writable
                && (file.size != Some(target.size) || file.allocated_bytes != target.allocated);
            file.size = Some(target.size);
            file.allocated_bytes = target.allocated;
        }
        if can_be_transfer(file) && file.kind != FileKind::Pipe {
            let position = self.descriptor_info(descriptor)?.position;
            moved |= file.position != position;
            file.position = position;
        }
        entry.has_moved |= moved;
        if moved {
            self.idle_samples = 0;
        }
        Some(entry)
    }

    fn descriptor_info(&self, descriptor: u32) -> Option<DescriptorInfo> {
        let mut buffer = [0; 512];
        let name = DecInt::new(descriptor);
        parse_descriptor_info(read_small_file(&self.fdinfo_directory, name, &mut buffer)?)
    }

    fn publish(&mut self) {
        self.files = self
            .entries
            .values()
            .filter(|entry| can_be_transfer(&entry.file))
            .map(|entry| entry.file.clone())
            .collect();
    }
}

/// Attributes of the file behind a descriptor, from stat.
struct FileFacts {
    kind: FileKind,
    inode: ((u32, u32), u64),
    size: u64,
    allocated: u64,
}

/// Whether the file can be part of a transfer.
fn can_be_transfer(file: &OpenFile) -> bool {
    file.kind != FileKind::Regular
        || file.writable
        || file.size.is_some_and(|size| size >= MIN_FILE_BYTES)
}

/// Readable and writable by the flags of open(2); `None` for a descriptor that only refers to a
/// path (O_PATH).
fn access_mode(flags: u32) -> Option<(bool, bool)> {
    let flags = i32::try_from(flags).ok()?;
    if flags & libc::O_PATH != 0 {
        return None;
    }
    let access = flags & libc::O_ACCMODE;
    let read = access == libc::O_RDONLY || access == libc::O_RDWR;
    let written = access == libc::O_WRONLY || access == libc::O_RDWR;
    (read || written).then_some((read, written))
}

/// Capacity of a block device in bytes; sysfs counts sectors of 512 bytes.
fn device_capacity((major, minor): (u32, u32), roots: &SysPaths) -> Option<u64> {
    let file = roots.sys.join(format!("dev/block/{major}:{minor}/size"));
    read_word(&file)?.parse::<u64>().ok()?.checked_mul(512)
}
