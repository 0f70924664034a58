//! Free space for what a run writes. It is checked once, before the run: what others write meanwhile may still
//! fill the file system, which ends the run with the kernel's error and the result so far.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FileType, fstatfs, fstatvfs};

use super::error::DriveError;
use super::extents::allocated_extents;
use super::guard;
use super::identity::block_device_name;
use super::medium::OpenMedium;
use super::mounts::{self, split_device_number};
use super::stores::{self, FreeSpace};
use crate::drive::memory;
use crate::roots::SysPaths;
use crate::units;

/// Sizes are multiples of this, which is a multiple of every drive's block size.
pub(super) const SIZE_GRANULARITY: u64 = 4096;
/// Most bytes that have to stay free on a file system.
const RESERVE_BYTES: u64 = 1 << 30;
/// On a small file system, 1 in this many bytes.
const RESERVE_DIVISOR: u64 = 20;
/// Default size of a scratch file, if there is enough space.
const DEFAULT_SCRATCH_BYTES: u64 = 1 << 30;
/// A smaller file fits into the cache of the drive, so its results say nothing about the medium.
const MIN_SCRATCH_BYTES: u64 = 16 << 20;
/// Bytes of a snapshot or a pool that a request of 4 KiB at a random place takes: a chunk of 64 KiB.
const CHUNKS_PER_REQUEST: u64 = 16;

/// Types of file systems that a server or a process stores.
const SERVED: [&str; 8] = [
    "fuse", "nfs", "cifs", "smb", "9p", "ceph", "virtiofs", "afs",
];
/// Size of the unit of `st_blocks` (stat(2)).
const BLOCK_BYTES: u64 = 512;
/// File system types, as statfs(2) reports them.
const TMPFS_MAGIC: u32 = 0x0102_1994;
const RAMFS_MAGIC: u32 = 0x8584_58f6;
const BTRFS_MAGIC: u32 = 0x9123_683e;

impl FreeSpace {
    /// Bytes that stay free of it: 5 % of its size, at most 1 GiB.
    fn reserve_bytes(&self) -> u64 {
        RESERVE_BYTES.min(self.total_bytes / RESERVE_DIVISOR)
    }

    fn usable_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.reserve_bytes())
    }

    /// Size of the largest scratch file: it leaves the reserve, and as much as its own size.
    fn largest_scratch_bytes(&self) -> u64 {
        let largest = self.usable_bytes().min(self.free_bytes / 2);
        largest - largest % SIZE_GRANULARITY
    }
}

/// The size of a scratch file, if there is enough space for it: the one wanted, or 1 GiB, or half of what fits if
/// that is less.
pub(super) fn scratch_size(
    roots: &SysPaths,
    directory: &File,
    name: &str,
    wanted: Option<u64>,
) -> Result<u64, DriveError> {
    let mut spaces = own_spaces(roots, directory, name);
    spaces.extend(stores_below(roots, directory));
    spaces.sort_by_key(FreeSpace::largest_scratch_bytes);
    let tightest = spaces.first();
    let size = wanted.unwrap_or_else(|| {
        let largest = tightest.map_or(u64::MAX, FreeSpace::largest_scratch_bytes);
        (largest / 2).clamp(MIN_SCRATCH_BYTES, DEFAULT_SCRATCH_BYTES)
    });
    let size = size
        .checked_next_multiple_of(SIZE_GRANULARITY)
        .unwrap_or(size);
    let Some(space) = tightest.filter(|space| size > space.largest_scratch_bytes()) else {
        return Ok(size);
    };
    let fitting = space.largest_scratch_bytes();
    Err(DriveError::InsufficientSpace {
        wanted: format!("a scratch file of {} in {name}", units::format_size(size)),
        place: space.place.clone(),
        free: space.free_bytes,
        reserve: space.reserve_bytes().max(size),
        fitting: (fitting >= MIN_SCRATCH_BYTES).then_some(fitting),
        is_scratch: true,
    })
}

/// Refuses to overwrite a part of an existing file or of a block device if the new blocks that it gets would not
/// leave the reserve free: those of a file with holes, and those of a snapshot or a pool below. `most` is the
/// maximum number of bytes written, if known.
///
/// # Errors
/// [`DriveError::InsufficientSpace`].
pub fn check_room(
    medium: &OpenMedium,
    window: Range<u64>,
    most: Option<u64>,
) -> Result<(), DriveError> {
    let (roots, file) = (medium.roots(), medium.file());
    let length = window.end.saturating_sub(window.start);
    let most = most.unwrap_or(length);
    let new_blocks = new_block_bytes(&file, window).min(most);
    let in_stores = length.min(most.saturating_mul(CHUNKS_PER_REQUEST));
    let own = own_spaces(roots, &file, "its file system").into_iter();
    let stores = stores_below(roots, &file).into_iter();
    let mut spaces = own
        .map(|space| (space, new_blocks))
        .chain(stores.map(|space| (space, in_stores)));
    let Some((space, missing)) = spaces.find(|(space, missing)| *missing > space.usable_bytes())
    else {
        return Ok(());
    };
    let (missing, name) = (units::format_size(missing), &medium.target.name);
    Err(DriveError::InsufficientSpace {
        wanted: format!("{missing} of {name}, which may get new blocks"),
        fitting: Some(space.usable_bytes()),
        free: space.free_bytes,
        reserve: space.reserve_bytes(),
        place: space.place,
        is_scratch: false,
    })
}

/// Whether writing to a medium takes space of a snapshot or a pool below it.
#[must_use]
pub fn needs_space_below(medium: &OpenMedium) -> bool {
    !stores_below(medium.roots(), &medium.file()).is_empty()
}

/// What a medium takes space of, of which this program does not know how much is left: a server, a file system in
/// user space, a loop device's image. `None` where nothing of that kind is known.
#[must_use]
pub fn unknown_space(medium: &OpenMedium) -> Option<String> {
    let (roots, file) = (medium.roots(), &*medium.file());
    let mut names = Vec::new();
    if let Some(kind) = &medium.target.file_system
        && SERVED.iter().any(|known| kind.starts_with(known))
    {
        names.push(format!("what serves the file system ({kind})"));
    }
    for device in devices_of(roots, file) {
        names.extend(stores::unknown_store(roots, &device));
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// The space of the file system of a file, and of the memory that it is in; empty for a device, and where it is
/// unknown, as of some file systems in user space.
fn own_spaces(roots: &SysPaths, file: &File, place: &str) -> Vec<FreeSpace> {
    if is_device(file) {
        return Vec::new();
    }
    let mut spaces = Vec::new();
    if let Some(facts) = fstatvfs(file).ok().filter(|facts| facts.f_blocks > 0) {
        spaces.push(FreeSpace {
            place: place.to_owned(),
            free_bytes: facts.f_bavail.saturating_mul(facts.f_frsize),
            total_bytes: facts.f_blocks.saturating_mul(facts.f_frsize),
        });
    }
    if matches!(file_system_magic(file), Some(TMPFS_MAGIC | RAMFS_MAGIC)) {
        spaces.extend(memory_spaces(roots));
    }
    spaces
}

/// What the machine and the control groups leave of the memory.
fn memory_spaces(roots: &SysPaths) -> impl Iterator<Item = FreeSpace> {
    let limits = memory::memory_limits(roots).into_iter();
    limits.map(|limit| FreeSpace {
        place: format!("the memory, limited by {},", limit.limit_name),
        free_bytes: limit.available_bytes,
        total_bytes: limit.total_bytes,
    })
}

/// The snapshots, pools and memory that writes to a file or a device take space of.
fn stores_below(roots: &SysPaths, file: &File) -> Vec<FreeSpace> {
    let devices = devices_of(roots, file);
    let mut found = stores::stores(roots, &devices);
    let is_memory = |name: &String| name.starts_with("zram") || name.starts_with("ram");
    if devices.iter().any(is_memory) {
        found.extend(memory_spaces(roots));
    }
    found
}

/// The block device that a file is on, or that it is, with what is below it; none where it is unknown.
fn devices_of(roots: &SysPaths, file: &File) -> Vec<String> {
    let number = match file.metadata() {
        Ok(facts) if is_device(file) => Some(split_device_number(facts.rdev())),
        _ => mounts::mount_of_file(roots, file).and_then(|mount| mount.block_device(roots)),
    };
    let name = number.and_then(|number| block_device_name(roots, number));
    name.map_or_else(Vec::new, |name| guard::devices_below(roots, &name))
}

fn is_device(file: &File) -> bool {
    let mode = file.metadata().map(|facts| facts.mode());
    mode.is_ok_and(|mode| FileType::from_raw_mode(mode) == FileType::BlockDevice)
}

/// Bytes of a range of a file that get new blocks when they are written: holes, what its file system compresses or
/// shares with other files, and all of it on btrfs, which writes nothing in place. Where the file system does not
/// tell its extents (tmpfs), as many as the file has holes.
fn new_block_bytes(file: &File, range: Range<u64>) -> u64 {
    let length = range.end.saturating_sub(range.start);
    if is_device(file) {
        return 0;
    }
    if file_system_magic(file) == Some(BTRFS_MAGIC) {
        return length;
    }
    match allocated_extents(file, range) {
        Ok(found) => found.hole_bytes + found.encoded_bytes + found.shared_bytes,
        Err(_) => file.metadata().map_or(0, |facts| {
            let allocated = facts.blocks().saturating_mul(BLOCK_BYTES);
            facts.len().saturating_sub(allocated).min(length)
        }),
    }
}

fn file_system_magic(file: &File) -> Option<u32> {
    fstatfs(file).ok().map(|found| found.f_type as u32)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn file_in_memory_leaves_a_part_of_each_memory_limit() {
        let file = File::from(memfd_create("diskscope", MemfdFlags::CLOEXEC).unwrap());
        // MemAvailable and what is left of memory.max of 400 MiB, in MiB; the largest scratch file.
        for (available, left, largest) in [
            (2048, 400, 190),
            (2048, 100, 49),
            (300, 400, 149),
            (60, 400, 0),
        ] {
            let available_kb = available << 10;
            let meminfo = format!("MemTotal: 1048576 kB\nMemAvailable: {available_kb} kB\n");
            let mounts = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
            let current = format!("{}\n", (400 - left) * MIB);
            let (_root, roots) = SysPaths::with_files(&[
                ("proc/meminfo", &meminfo),
                ("proc/self/cgroup", "0::/job\n"),
                ("proc/self/mountinfo", mounts),
                ("sys/fs/cgroup/job/memory.max", "419430400\n"),
                ("sys/fs/cgroup/job/memory.current", &current),
            ]);
            let size = |wanted| scratch_size(&roots, &file, "/tmp", Some(wanted));
            let fits = |mib: u64| mib > 0 && size(mib * MIB).is_ok();
            assert_eq!(fits(largest), largest > 0, "{available} {left}");
            let refusal = size((largest + 12) * MIB).unwrap_err().to_string();
            assert!(refusal.contains("the memory, limited by"), "{refusal}");
        }
    }
}
