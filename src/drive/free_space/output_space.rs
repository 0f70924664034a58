//! Whether the file system of a file that grows while others work, such as a recording, its quotas, the memory
//! that it is in, and what is below it, keep their reserve.

use std::fs::{self, File};
use std::io;
use std::ops::Range;

use rustix::fs::{FallocateFlags, fallocate, fstatvfs};

use super::{LowerSpace, file_system, new_blocks, quota};
use crate::memory;
use crate::roots::SysPaths;

/// Bytes that stay free on the file system of an output, whatever its size.
const RESERVE_BYTES: u64 = 64 << 20;
/// On a small file system, only 1 in this many bytes stays free.
const RESERVE_SHARE: u64 = 20;
/// Bytes of memory that stay free for other processes, whatever its size: the kernel ends one of them when
/// there is none left. Of less than 20 GiB, only 1 in [`RESERVE_SHARE`].
const MEMORY_RESERVE_BYTES: u64 = 1 << 30;

/// 1 in this many bytes of the free swap counts as memory: swap in memory (zram) takes a part of what it frees.
const SWAP_SHARE: u64 = 2;

/// A block of most file systems.
const BLOCK_BYTES: u64 = 4096;

/// What an output takes its space of.
#[derive(Debug)]
pub struct OutputSpace {
    roots: SysPaths,
    /// The images, snapshots and pools below its file system: when one of them is full, data of others
    /// is lost that the kernel has accepted.
    lower: LowerSpace,
    /// The number of the kernel's events before that was looked for: it sends one for each snapshot that is made
    /// and for each image that is attached. `None` if it is unknown.
    events: Option<Vec<u8>>,
    /// Bytes of the output that may be in memory, and need that space when they are written back.
    unsynced_bytes: u64,
    /// Whether the file system is in memory.
    is_in_memory: bool,
    /// Whether its data can be moved to swap then.
    is_swapped: bool,
}

impl OutputSpace {
    /// What a file on a mounted file system takes its space of.
    #[must_use]
    pub fn below_file(file: &File) -> Self {
        Self::with_roots(SysPaths::default(), file)
    }

    fn with_roots(roots: SysPaths, file: &File) -> Self {
        Self {
            events: kernel_events(&roots),
            lower: LowerSpace::below_output(&roots, file),
            unsynced_bytes: 0,
            is_in_memory: file_system::is_memory_backed(&roots, file),
            is_swapped: file_system::is_swapped(&roots, file),
            roots,
        }
    }

    /// Whether the reserve is kept after another `bytes` bytes; true where the size is unknown.
    #[must_use]
    pub fn has_room(&mut self, file: &File, bytes: u64) -> bool {
        self.has_own_room(file, bytes) && self.has_lower_room(file, bytes)
    }

    /// The same for the next bytes of an output that grows fast and that nobody syncs: what was written of it
    /// needs space below as well when it is written back. Syncs the file only where that is too much, because
    /// whoever samples waits for it.
    ///
    /// # Errors
    /// When the file cannot be synced: the kernel reports once that it has lost data.
    pub fn has_room_for_next(&mut self, file: &File, bytes: u64) -> io::Result<bool> {
        if !self.has_own_room(file, bytes) {
            return Ok(false);
        }
        self.find_lower_again(file);
        let unsynced = self.unsynced_bytes.saturating_add(bytes);
        if self.has_free_below(unsynced) {
            self.unsynced_bytes = unsynced;
            return Ok(true);
        }
        file.sync_data()?;
        self.unsynced_bytes = 0;
        let has_room = self.has_free_below(bytes);
        if has_room {
            self.unsynced_bytes = bytes;
        }
        Ok(has_room)
    }

    /// Whether the file system of a file reserves space (fallocate(2)), which later writes take instead of
    /// new blocks.
    #[must_use]
    pub fn reserves_space(&self, file: &File) -> bool {
        let first = || fallocate(file, FallocateFlags::KEEP_SIZE, 0, 1);
        new_blocks::is_written_in_place(&self.roots, file) && first().is_ok()
    }

    /// Whether the file system itself, the memory that it is in and its quotas keep their reserve.
    fn has_own_room(&self, file: &File, bytes: u64) -> bool {
        let Ok(facts) = fstatvfs(file) else {
            return true;
        };
        // A byte more than what a block holds takes a whole block.
        let block = facts.f_frsize.max(1);
        let needed = bytes.next_multiple_of(block).saturating_add(block);
        let total = facts.f_blocks.saturating_mul(facts.f_frsize);
        let free = facts.f_bavail.saturating_mul(facts.f_frsize);
        // An unlimited file system in memory, and some in user space, report no sizes.
        let has_own = total == 0 || free >= needed.saturating_add(reserve_bytes(total));
        // An image that counts for the same quota loses data as below a full file system.
        let quotas = || quota::quota_rooms(&self.roots, file).into_iter();
        has_own
            && self.has_memory(needed)
            && quotas().all(|room| room.has_free(needed, RESERVE_BYTES))
    }

    /// Whether the reserve is kept after `bytes` bytes of a range are written whose space was reserved
    /// (fallocate(2)). It is reserved in the file system only, not below it, and no longer where the range
    /// shares blocks with a copy; a file system that writes nothing in place needs the space again.
    #[must_use]
    pub fn has_room_in_reserved(&mut self, file: &File, range: Range<u64>, bytes: u64) -> bool {
        match new_blocks::unreserved_bytes(&self.roots, file, range) {
            0 => self.has_lower_room(file, bytes),
            _ => self.has_room(file, bytes),
        }
    }

    /// Bytes of the first `bytes` of a file for which its file system has reserved no blocks.
    #[must_use]
    pub fn hole_bytes(file: &File, bytes: u64) -> u64 {
        new_blocks::hole_bytes(file, bytes)
    }

    /// Whether what is below the file system keeps its reserve after another `bytes` bytes.
    fn has_lower_room(&mut self, file: &File, bytes: u64) -> bool {
        self.find_lower_again(file);
        self.has_free_below(bytes)
    }

    /// Looks for what is below again, where it may have changed.
    fn find_lower_again(&mut self, file: &File) {
        let events = kernel_events(&self.roots);
        if events.is_none() || events != self.events {
            self.lower = LowerSpace::below_output(&self.roots, file);
            self.events = events;
        }
    }

    /// Whether that many bytes, and the block that they begin in, are free below beside the reserve.
    fn has_free_below(&self, bytes: u64) -> bool {
        let needed = bytes.saturating_add(BLOCK_BYTES);
        self.lower.has_free(&self.roots, needed, RESERVE_BYTES)
    }

    /// Whether the memory and its control groups keep their reserve, if the file is in memory. Where a part of it
    /// can be moved to swap, the kernel ends no process for it.
    fn has_memory(&self, bytes: u64) -> bool {
        let limits = || memory::memory_limits(&self.roots).into_iter();
        !self.is_in_memory
            || limits().all(|limit| {
                let reserve = MEMORY_RESERVE_BYTES.min(limit.total_bytes / RESERVE_SHARE);
                let swap = match self.is_swapped {
                    true => limit.swap_bytes / SWAP_SHARE,
                    false => 0,
                };
                limit.available_bytes.saturating_add(swap) >= bytes.saturating_add(reserve)
            })
    }
}

fn kernel_events(roots: &SysPaths) -> Option<Vec<u8>> {
    fs::read(roots.sys.join("kernel/uevent_seqnum")).ok()
}

/// Bytes that stay free on a file system of this size.
fn reserve_bytes(total: u64) -> u64 {
    RESERVE_BYTES.min(total / RESERVE_SHARE)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::drive::mounts::split_device_number;
    use crate::requirement::{Requirement, skip};

    const MIB: u64 = 1 << 20;

    #[test]
    fn output_in_memory_leaves_a_part_of_each_memory_limit() {
        let file = tempfile::tempfile().unwrap();
        let has_room_with_swap = |available_mib: u64, group_mib: u64, swap_mib: u64, kind| {
            let (is_in_memory, is_swapped) = kind;
            let machine = format!(
                "MemTotal: {} kB\nMemAvailable: {} kB\nSwapFree: {} kB\n",
                64 << 20,
                available_mib << 10,
                swap_mib << 10
            );
            let usage = (400 - group_mib) * MIB;
            let (_root, roots) = SysPaths::with_files(&[
                ("proc/meminfo", &machine),
                ("proc/self/cgroup", "0::/job\n"),
                (
                    "proc/self/mountinfo",
                    "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                ),
                ("sys/fs/cgroup/job/memory.max", "419430400\n"),
                ("sys/fs/cgroup/job/memory.current", &format!("{usage}\n")),
            ]);
            let mut space = OutputSpace {
                is_in_memory,
                is_swapped,
                ..OutputSpace::with_roots(roots, &file)
            };
            space.has_room(&file, MIB)
        };
        let has_room = |available_mib, group_mib, is_in_memory| {
            has_room_with_swap(available_mib, group_mib, 0, (is_in_memory, false))
        };
        assert!(has_room(2048, 30, true));
        assert!(!has_room(2048, 20, true), "5 % of the group stay free");
        assert!(!has_room(1024, 30, true), "1 GiB of the machine stays free");
        assert!(has_room(1024, 20, false), "the file is on a drive");
        let with_swap =
            |swap_mib, is_swapped| has_room_with_swap(0, 0, swap_mib, (true, is_swapped));
        assert!(with_swap(2100, true), "tmpfs is moved to swap");
        assert!(!with_swap(2000, true), "half of the swap counts");
        assert!(!with_swap(2100, false), "ramfs is not");
    }

    #[test]
    fn what_comes_below_an_output_while_it_grows_is_found() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (major, minor) = split_device_number(file.metadata().unwrap().dev());
        if major == 0 {
            return skip(Requirement::Files, "its file system has no block device");
        }
        let (root, roots) = SysPaths::with_files(&[
            ("sys/class/block/loop0/dev", &format!("{major}:{minor}\n")),
            ("sys/kernel/uevent_seqnum", "1\n"),
        ]);
        let mut space = OutputSpace::with_roots(roots.clone(), &file);
        assert!(space.has_lower_room(&file, MIB));
        let image = root.path().join("image");
        File::create(&image).unwrap().set_len(MIB).unwrap();
        let device = root.path().join("sys/class/block/loop0/loop");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("backing_file"), image.to_str().unwrap()).unwrap();
        assert!(space.has_lower_room(&file, u64::MAX), "no event yet");
        fs::write(root.path().join("sys/kernel/uevent_seqnum"), "2\n").unwrap();
        assert!(!space.has_lower_room(&file, u64::MAX));
        assert!(space.lower.is_needed(&roots));
    }

    #[test]
    fn bytes_of_an_output_count_below_it_until_they_are_synced() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        // A device in memory, with 64 MiB beside what each look needs.
        let (_root, roots) = SysPaths::with_files(&[
            ("sys/class/block/ram0/dev", "1:0\n"),
            ("sys/class/block/ram0/size", "9999999\n"),
            ("sys/kernel/uevent_seqnum", "1\n"),
            (
                "proc/meminfo",
                &format!("MemTotal: 9999999 kB\nMemAvailable: {} kB\n", 70 << 10),
            ),
        ]);
        let lower = LowerSpace::below_device(&roots, (1, 0));
        let mut space = OutputSpace {
            lower,
            ..OutputSpace::with_roots(roots, &file)
        };
        let mut counted = || {
            let has_room = space.has_room_for_next(&file, 2 * MIB).unwrap();
            has_room.then_some(space.unsynced_bytes / MIB)
        };
        // The third look would leave less than 64 MiB if nothing were synced.
        assert_eq!([counted(), counted()], [Some(2), Some(4)]);
        assert_eq!(counted(), Some(2));
        assert!(!space.has_room_for_next(&file, 6 * MIB).unwrap());
        space.lower = LowerSpace::default();
        for _ in 0..8 {
            assert!(space.has_room_for_next(&file, 2 * MIB).unwrap());
        }
        assert!(space.unsynced_bytes >= 16 * MIB, "{space:?}");
    }
}
