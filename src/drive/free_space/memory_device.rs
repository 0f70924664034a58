//! Block devices whose bytes are memory of the machine: zram, brd, and null_blk with `memory_backed`. They get
//! memory when they are written, which their size does not tell: the kernel ends other processes when
//! there is none left. One of zram may have a limit, beyond which it fails writes.

use std::fs;
use std::path::Path;

use super::{FreeSpace, store_reserve_bytes};
use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::{read_device_number, read_line, read_number};
use crate::drive::space_limit::SpaceLimit;
use crate::memory;
use crate::roots::SysPaths;

/// Bytes of a sector in sysfs.
const SECTOR_BYTES: u64 = 512;
/// `RAMDISK_MAJOR` (include/uapi/linux/major.h), of brd.
const RAM_DISK_MAJOR: u32 = 1;

/// A block device whose bytes are memory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MemoryDevice {
    name: String,
    kind: MemoryDeviceKind,
}

/// What tells how much memory such a device has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemoryDeviceKind {
    /// `mm_stat` (kernel Documentation/admin-guide/blockdev/zram.rst).
    Zram,
    /// The number of its pages, in debugfs.
    RamDisk,
    /// Nothing.
    NullBlock,
}

impl MemoryDevice {
    /// The device of that name, if its bytes are memory.
    pub(super) fn of_device(roots: &SysPaths, name: &str) -> Option<Self> {
        let directory = roots.sys.join("class/block").join(name);
        // The device that it is on is below it.
        if directory.join("partition").exists() {
            return None;
        }
        let null_block = roots.sys.join("kernel/config/nullb").join(name);
        let kind = if directory.join("mm_stat").exists() {
            MemoryDeviceKind::Zram
        } else if read_device_number(&directory).is_some_and(|(major, _)| major == RAM_DISK_MAJOR) {
            MemoryDeviceKind::RamDisk
        } else if read_line(&null_block.join("memory_backed")).as_deref() == Some("1") {
            MemoryDeviceKind::NullBlock
        } else {
            return None;
        };
        let name = name.to_owned();
        Some(Self { name, kind })
    }

    /// What is left of what its bytes take space of, each with the bytes that a write may still take of it: the
    /// memory of the machine (control groups do not count what a device has), and its own limit. What is unknown
    /// is missing.
    pub(super) fn rooms(&self, roots: &SysPaths) -> Vec<(FreeSpace, u64)> {
        let directory = roots.sys.join("class/block").join(&self.name);
        let sectors: u64 = read_number(&directory.join("size")).unwrap_or(0);
        let size = sectors.saturating_mul(SECTOR_BYTES);
        let machine = memory::machine_limit(roots).map(FreeSpace::of_memory);
        let (new_bytes, limit) = match self.kind {
            MemoryDeviceKind::Zram => {
                let memory = ZramMemory::read(&directory);
                // Data that is written over data of the same size may be less compressible.
                let new_bytes = size.saturating_sub(memory.compressed_bytes);
                (new_bytes, memory.limit_room(&self.name))
            }
            MemoryDeviceKind::RamDisk => {
                let path = roots.sys.join("kernel/debug/ramdisk_pages");
                let pages: u64 = read_number(&path.join(&self.name)).unwrap_or(0);
                let page_bytes = rustix::param::page_size() as u64;
                let stored = pages.saturating_mul(page_bytes);
                (size.saturating_sub(stored), None)
            }
            MemoryDeviceKind::NullBlock => (size, None),
        };
        let left = limit.as_ref().map_or(u64::MAX, |room| room.free_bytes);
        let of_machine = machine.map(|room| (room, new_bytes.min(left)));
        let of_limit = limit.map(|room| (room, new_bytes));
        of_machine.into_iter().chain(of_limit).collect()
    }
}

/// The memory of a zram device in bytes, of its `mm_stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ZramMemory {
    compressed_bytes: u64,
    /// What it has of the memory: more than the compressed data, because of fragmentation.
    used_bytes: u64,
    /// What it may have at most; 0 without a limit.
    limit_bytes: u64,
}

impl ZramMemory {
    /// Reads it; what is unknown is 0.
    fn read(directory: &Path) -> Self {
        // ORIGINAL COMPRESSED USED LIMIT ..., in bytes.
        let line = fs::read_to_string(directory.join("mm_stat")).unwrap_or_default();
        let mut numbers = line.split_ascii_whitespace().skip(1);
        let mut next = || numbers.next().and_then(|number| number.parse().ok());
        Self {
            compressed_bytes: next().unwrap_or(0),
            used_bytes: next().unwrap_or(0),
            limit_bytes: next().unwrap_or(0),
        }
    }

    /// What its limit leaves; `None` without one. Beyond it the device fails writes, also of data that the
    /// kernel has accepted from others.
    fn limit_room(self, name: &str) -> Option<FreeSpace> {
        (self.limit_bytes > 0).then(|| FreeSpace {
            free_bytes: self.limit_bytes.saturating_sub(self.used_bytes),
            reserve_bytes: store_reserve_bytes(self.limit_bytes),
            limit: Some(SpaceLimit::MemoryDevice(sanitized(name))),
            unwritten_bytes: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_in_memory_gets_what_it_has_not_got_yet() {
        let page = rustix::param::page_size() as u64;
        let (_root, roots) = SysPaths::with_files(&[
            ("proc/meminfo", "MemTotal: 8192 kB\nMemAvailable: 4096 kB\n"),
            ("sys/class/block/zram0/dev", "253:0\n"),
            ("sys/class/block/zram0/size", "2048\n"),
            (
                "sys/class/block/zram0/mm_stat",
                " 500000 100000 120000 0 130000 7 0 0 0\n",
            ),
            ("sys/class/block/zram1/size", "2048\n"),
            (
                "sys/class/block/zram1/mm_stat",
                "0 1000 4096 300000 4096 0 0\n",
            ),
            ("sys/class/block/ram0/dev", "1:0\n"),
            ("sys/class/block/ram0/size", "2048\n"),
            ("sys/kernel/debug/ramdisk_pages/ram0", "16\n"),
            ("sys/class/block/ram1/dev", "1:1\n"),
            ("sys/class/block/ram1/size", "2048\n"),
            ("sys/class/block/nullb0/dev", "252:0\n"),
            ("sys/class/block/nullb0/size", "2048\n"),
            ("sys/kernel/config/nullb/nullb0/memory_backed", "1\n"),
            ("sys/class/block/nullb1/dev", "252:1\n"),
            ("sys/kernel/config/nullb/nullb1/memory_backed", "0\n"),
            ("sys/class/block/sda/dev", "8:0\n"),
            ("sys/class/block/ram0p1/dev", "1:256\n"),
            ("sys/class/block/ram0p1/partition", "1\n"),
        ]);
        let new_bytes = |name| {
            let rooms = MemoryDevice::of_device(&roots, name)?.rooms(&roots);
            let (room, bytes) = rooms.into_iter().next()?;
            assert_eq!(room.free_bytes, 4 << 20, "{name}");
            Some(bytes)
        };
        assert_eq!(new_bytes("zram0"), Some((1 << 20) - 100_000));
        assert_eq!(new_bytes("zram1"), Some(295_904), "it has a limit");
        assert_eq!(new_bytes("ram0"), Some((1 << 20) - 16 * page));
        assert_eq!(new_bytes("ram1"), Some(1 << 20));
        assert_eq!(new_bytes("nullb0"), Some(1 << 20));
        for name in ["nullb1", "sda", "ram0p1", "absent"] {
            assert_eq!(new_bytes(name), None, "{name}");
        }
    }

    #[test]
    fn limit_of_a_device_in_memory_is_a_room_of_its_own() {
        const MIB: u64 = 1 << 20;
        let limit_room = |used_mib: u64, limit_mib: u64| {
            let numbers = [0, 20, used_mib, limit_mib].map(|mib| (mib * MIB).to_string());
            let (_root, roots) = SysPaths::with_files(&[
                ("sys/class/block/zram0/dev", "253:0\n"),
                ("sys/class/block/zram0/size", "8388608\n"),
                // The kernel pads small numbers.
                ("sys/class/block/zram0/mm_stat", &numbers.join("        ")),
            ]);
            let device = MemoryDevice::of_device(&roots, "zram0").unwrap();
            // The memory of the machine is unknown.
            let room = device.rooms(&roots).into_iter().next();
            room.map(|(room, bytes)| {
                let limit = Some(SpaceLimit::MemoryDevice("zram0".to_owned()));
                assert_eq!(room.limit, limit);
                [room.free_bytes, room.reserve_bytes, bytes].map(|bytes| bytes / MIB)
            })
        };
        assert_eq!(limit_room(33, 256), Some([223, 64, 4076]));
        assert_eq!(limit_room(33, 64), Some([31, 32, 4076]), "half of it stays");
        assert_eq!(limit_room(70, 64), Some([0, 32, 4076]), "it is used up");
        assert_eq!(limit_room(33, 0), None, "it has no limit");
    }
}
