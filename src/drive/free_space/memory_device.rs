//! Block devices whose bytes are memory of the machine: zram, brd, and null_blk with `memory_backed`. They get
//! memory when they are written, which their size does not tell: the kernel ends other processes when
//! there is none left.

use std::path::Path;

use super::FreeSpace;
use crate::drive::identity::sysfs::{read_device_number, read_line, read_number};
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

    /// Bytes of memory that it may still get when it is written.
    pub(super) fn new_bytes(&self, roots: &SysPaths) -> u64 {
        let directory = roots.sys.join("class/block").join(&self.name);
        let sectors: u64 = read_number(&directory.join("size")).unwrap_or(0);
        let size = sectors.saturating_mul(SECTOR_BYTES);
        let (most, stored) = match self.kind {
            MemoryDeviceKind::Zram => zram_bytes(&directory, size),
            MemoryDeviceKind::RamDisk => {
                let path = roots.sys.join("kernel/debug/ramdisk_pages");
                let pages: u64 = read_number(&path.join(&self.name)).unwrap_or(0);
                let page_bytes = rustix::param::page_size() as u64;
                (size, pages.saturating_mul(page_bytes))
            }
            MemoryDeviceKind::NullBlock => (size, 0),
        };
        most.saturating_sub(stored)
    }

    /// What is left of the machine's memory; control groups do not count what a device has. `None` if it is
    /// unknown.
    pub(super) fn room(roots: &SysPaths) -> Option<FreeSpace> {
        memory::machine_limit(roots).map(FreeSpace::of_memory)
    }
}

/// The bytes of memory that a zram device of `size` bytes may have, and those that it has: data that is
/// written over data of the same size may be less compressible.
fn zram_bytes(directory: &Path, size: u64) -> (u64, u64) {
    // ORIGINAL COMPRESSED USED LIMIT ..., in bytes.
    let line = read_line(&directory.join("mm_stat")).unwrap_or_default();
    let mut numbers = line.split_ascii_whitespace().skip(1);
    let mut next = || numbers.next()?.parse::<u64>().ok();
    let (compressed, _used, limit) = (next().unwrap_or(0), next(), next().unwrap_or(0));
    let most = if limit == 0 { size } else { size.min(limit) };
    (most, compressed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_in_memory_gets_what_it_has_not_got_yet() {
        let page = rustix::param::page_size() as u64;
        let (_root, roots) = SysPaths::with_files(&[
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
        let new_bytes = |name| Some(MemoryDevice::of_device(&roots, name)?.new_bytes(&roots));
        assert_eq!(new_bytes("zram0"), Some((1 << 20) - 100_000));
        assert_eq!(new_bytes("zram1"), Some(299_000), "it has a limit");
        assert_eq!(new_bytes("ram0"), Some((1 << 20) - 16 * page));
        assert_eq!(new_bytes("ram1"), Some(1 << 20));
        assert_eq!(new_bytes("nullb0"), Some(1 << 20));
        for name in ["nullb1", "sda", "ram0p1", "absent"] {
            assert_eq!(new_bytes(name), None, "{name}");
        }
    }
}
