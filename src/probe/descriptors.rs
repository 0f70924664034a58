//! What a process has open: links and positions of its descriptors.
//!
//! Listing and following descriptors is most of a naive sampler's cost. So a process is looked at
//! only while its counters move or something that it has open does; a look lists at most one
//! buffer of descriptors and goes on from there the next time, and a file whose link was read once
//! is recognised by its inode number.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, RawDir, SeekFrom, StatxFlags, readlinkat, seek, statx};
use rustix::path::DecInt;

use super::process::descriptor_info;
use super::sample::{FileKind, OpenFile};
use super::text::{open, pread_once, read_word};
use crate::roots::Roots;

/// Smallest regular file worth a mention if nobody writes to it.
const SMALLEST_BYTES: u64 = 1 << 20;
/// Takes about 63 entries: the most descriptors that one look examines.
const LISTING_BYTES: usize = 2048;
/// For so many samples without movement descriptors are kept to compare with: programs move in
/// bursts, and a position says something only beside an earlier one.
const KEPT_STILL: u32 = 4;
/// For so many samples what has moved once is looked at although its process moves nothing.
const FOLLOWED_STILL: u32 = 300;
/// What has not moved for so many samples is looked at once in as many.
const SELDOM: u32 = 8;

/// The descriptors of one process.
#[derive(Debug)]
pub struct Descriptors {
    links: OwnedFd,
    infos: OwnedFd,
    entries: BTreeMap<u32, Entry>,
    /// Number of the present pass over the listing; a pass may take several looks.
    pass: u64,
    /// Samples since the process, or anything that has moved before, moved.
    still: u32,
    published: Arc<[OpenFile]>,
}

#[derive(Debug)]
struct Entry {
    file: OpenFile,
    seen_in_pass: u64,
    /// Whether position or size has changed since it was first seen.
    moved: bool,
}

impl Descriptors {
    /// Opens the directories of a process; `None` where that is not permitted or it is gone.
    #[must_use]
    pub fn open(proc: BorrowedFd<'_>, pid: u32) -> Option<Self> {
        Some(Self {
            links: open(proc, format!("{pid}/fd")).ok()?,
            infos: open(proc, format!("{pid}/fdinfo")).ok()?,
            entries: BTreeMap::new(),
            pass: 0,
            still: 0,
            published: Arc::default(),
        })
    }

    /// Whether something that it has open moved while it was watched.
    #[must_use]
    pub fn any_moved(&self) -> bool {
        self.entries.values().any(|entry| entry.moved)
    }

    /// The files as of the last look.
    #[must_use]
    pub fn files(&self) -> Arc<[OpenFile]> {
        Arc::clone(&self.published)
    }

    /// Looks at the next part of the listing, and again at everything that has moved before.
    pub fn look(&mut self, roots: &Roots) {
        self.still = 0;
        let (listed, complete) = self.list();
        for descriptor in &listed {
            self.examine(*descriptor, roots);
        }
        self.refresh_except(&listed, roots);
        if complete {
            let pass = self.pass;
            self.entries.retain(|_, entry| entry.seen_in_pass == pass);
            self.pass += 1;
        }
        self.publish();
    }

    /// A sample in which the process itself moved nothing: looks again at what has moved before,
    /// for the kernel or another process may move it. `false` when it is not worth keeping.
    pub fn rest(&mut self, roots: &Roots) -> bool {
        self.still = self.still.saturating_add(1);
        let followed = self.any_moved();
        if followed && (self.still < SELDOM || self.still.is_multiple_of(SELDOM)) {
            self.refresh(roots);
        }
        self.still <= if followed { FOLLOWED_STILL } else { KEPT_STILL }
    }

    /// Looks again at what has moved before, and at nothing else.
    fn refresh(&mut self, roots: &Roots) {
        self.refresh_except(&[], roots);
        self.publish();
    }

    /// The next descriptors, and whether these were the last ones.
    fn list(&self) -> (Vec<u32>, bool) {
        let mut buffer = [MaybeUninit::<u8>::uninit(); LISTING_BYTES];
        let mut listing = RawDir::new(&self.links, &mut buffer);
        let mut found = Vec::new();
        let mut used = 0;
        while let Some(Ok(entry)) = listing.next() {
            let name = entry.file_name().to_bytes();
            // struct linux_dirent64: 19 bytes and the name, in units of 8.
            used += (19 + name.len() + 1).next_multiple_of(8);
            if let Some(number) = super::text::number(name)
                && let Ok(number) = u32::try_from(number)
            {
                found.push(number);
            }
            if listing.is_buffer_empty() {
                break;
            }
        }
        // A longest entry did not fit any more: there may be others.
        let complete = used + 32 <= LISTING_BYTES;
        if complete {
            // Nothing to do about a failure: the next listing is empty, and the one after it full.
            let _ = seek(&self.links, SeekFrom::Start(0));
        }
        (found, complete)
    }

    fn refresh_except(&mut self, done: &[u32], roots: &Roots) {
        let moved: Vec<u32> = self
            .entries
            .iter()
            .filter(|(descriptor, entry)| entry.moved && !done.contains(descriptor))
            .map(|(descriptor, _)| *descriptor)
            .collect();
        for descriptor in moved {
            self.examine(descriptor, roots);
        }
    }

    /// Looks at one descriptor and remembers what it leads to.
    fn examine(&mut self, descriptor: u32, roots: &Roots) {
        let known = self.entries.remove(&descriptor);
        let Some(target) = self.target(descriptor) else {
            return;
        };
        let known = known
            .filter(|entry| entry.file.inode == target.inode && entry.file.kind == target.kind);
        let entry = match known {
            Some(entry) => self.again(entry, &target),
            None => self.first(descriptor, &target, roots),
        };
        if let Some(mut entry) = entry {
            entry.seen_in_pass = self.pass;
            self.entries.insert(descriptor, entry);
        }
    }

    fn target(&self, descriptor: u32) -> Option<FileFacts> {
        let flags = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::SIZE | StatxFlags::BLOCKS;
        // A server that does not answer must not hold up the sampler: cached attributes will do.
        let at = AtFlags::STATX_DONT_SYNC;
        let found = statx(&self.links, DecInt::new(descriptor), at, flags).ok()?;
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

    fn first(&self, descriptor: u32, target: &FileFacts, roots: &Roots) -> Option<Entry> {
        let name = DecInt::new(descriptor);
        let path = readlinkat(&self.links, name, Vec::new()).ok()?;
        let info = self.info(descriptor)?;
        let (readable, writable) = access(info.flags)?;
        let size = match target.kind {
            FileKind::Regular => Some(target.size),
            FileKind::Block(number) => capacity(number, roots),
            FileKind::Pipe => None,
        };
        Some(Entry {
            file: OpenFile {
                descriptor,
                path: path.into_bytes().into(),
                kind: target.kind,
                inode: target.inode,
                position: info.position,
                readable,
                writable,
                size,
                allocated: target.allocated,
            },
            seen_in_pass: self.pass,
            moved: false,
        })
    }

    /// A file seen before: its link is known, and its position is asked for where it matters.
    fn again(&mut self, mut entry: Entry, target: &FileFacts) -> Option<Entry> {
        let file = &mut entry.file;
        let mut moved = false;
        if target.kind == FileKind::Regular {
            moved = file.writable
                && (file.size != Some(target.size) || file.allocated != target.allocated);
            file.size = Some(target.size);
            file.allocated = target.allocated;
        }
        if matters(file) && file.kind != FileKind::Pipe {
            let position = self.info(file.descriptor)?.position;
            moved |= file.position != position;
            file.position = position;
        }
        entry.moved |= moved;
        if moved {
            self.still = 0;
        }
        Some(entry)
    }

    fn info(&self, descriptor: u32) -> Option<super::process::DescriptorInfo> {
        let file = open(&self.infos, DecInt::new(descriptor)).ok()?;
        let mut buffer = [0; 512];
        descriptor_info(pread_once(file.as_fd(), &mut buffer).ok()?)
    }

    fn publish(&mut self) {
        self.published = self
            .entries
            .values()
            .filter(|entry| matters(&entry.file))
            .map(|entry| entry.file.clone())
            .collect();
    }
}

/// What stat tells of the file behind a descriptor.
struct FileFacts {
    kind: FileKind,
    inode: ((u32, u32), u64),
    size: u64,
    allocated: u64,
}

/// Whether a transfer could go through it.
fn matters(file: &OpenFile) -> bool {
    file.kind != FileKind::Regular
        || file.writable
        || file.size.is_some_and(|size| size >= SMALLEST_BYTES)
}

/// Readable and writable by the flags of open(2); `None` where it is open as a name only (O_PATH).
fn access(flags: u32) -> Option<(bool, bool)> {
    let flags = i32::try_from(flags).ok()?;
    if flags & libc::O_PATH != 0 {
        return None;
    }
    match flags & libc::O_ACCMODE {
        libc::O_RDONLY => Some((true, false)),
        libc::O_WRONLY => Some((false, true)),
        libc::O_RDWR => Some((true, true)),
        _ => None,
    }
}

/// Capacity of a block device in bytes; sysfs counts sectors of 512 bytes.
fn capacity((major, minor): (u32, u32), roots: &Roots) -> Option<u64> {
    let file = roots.sys.join(format!("dev/block/{major}:{minor}/size"));
    read_word(&file)?.parse::<u64>().ok()?.checked_mul(512)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    fn of_self() -> Descriptors {
        let proc = open(rustix::fs::CWD, "/proc").unwrap();
        Descriptors::open(proc.as_fd(), std::process::id()).unwrap()
    }

    #[test]
    fn a_file_of_ones_own_is_found_and_followed() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 5000]).unwrap();
        let path = file.path().to_owned();
        let find = |descriptors: &Descriptors| {
            descriptors
                .files()
                .iter()
                .find(|file| *file.path == *path.as_os_str().as_encoded_bytes())
                .cloned()
        };
        let mut descriptors = of_self();
        let roots = Roots::default();
        // Other tests have files open in this process too, and one look lists but some of them.
        let look_until = |descriptors: &mut Descriptors, position: u64| {
            for _ in 0..1000 {
                descriptors.look(&roots);
                if find(descriptors).is_some_and(|file| file.position == position) {
                    break;
                }
            }
        };
        look_until(&mut descriptors, 5000);
        let first = find(&descriptors).expect("the file is open");
        assert_eq!((first.position, first.size), (5000, Some(5000)));
        assert!(first.writable && first.readable);

        file.rewind().unwrap();
        look_until(&mut descriptors, 0);
        assert_eq!(find(&descriptors).unwrap().position, 0);
        assert!(descriptors.any_moved());

        drop(file);
        descriptors.refresh(&roots);
        assert_eq!(find(&descriptors), None);
    }

    #[test]
    fn what_moves_in_bursts_is_kept_from_burst_to_burst() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let proc = open(rustix::fs::CWD, "/proc").unwrap();
        let mut descriptors = Descriptors::open(proc.as_fd(), child.id()).unwrap();
        let roots = Roots::default();
        let mut rests = || (0..20).take_while(|_| descriptors.rest(&roots)).count();
        assert_eq!(rests(), KEPT_STILL as usize);
        descriptors.look(&roots);
        let mut rests = || (0..20).take_while(|_| descriptors.rest(&roots)).count();
        assert_eq!(rests(), KEPT_STILL as usize, "it moved again");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn access_follows_the_flags() {
        assert_eq!(access(0o100_000), Some((true, false)));
        assert_eq!(access(0o100_001), Some((false, true)));
        assert_eq!(access(0o2), Some((true, true)));
        assert_eq!(access(0o10_000_000), None);
    }
}
