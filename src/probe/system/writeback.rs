//! Dirty memory by device, from debugfs: root only, and only where it is mounted.

use std::path::Path;

use crate::probe::sample::{DeviceWriteback, DiskCounters, MemoryCounters};
use crate::probe::text::{nonempty_lines, parse_number, read_file, split_fields};
use crate::roots::SysPaths;

/// Bytes dirty or under writeback from which on the devices are read: the kernel walks a device's
/// list of dirty inodes for each reading.
const MIN_READ_BYTES: u64 = 16 << 20;

/// Dirty memory of the devices that have been written to. Empty where the machine has little of it,
/// or debugfs cannot be read.
#[must_use]
pub fn read_device_writeback(
    roots: &SysPaths,
    memory: &MemoryCounters,
    disks: &[DiskCounters],
) -> Vec<DeviceWriteback> {
    let unwritten = memory
        .dirty
        .unwrap_or(0)
        .saturating_add(memory.writeback.unwrap_or(0));
    let directory = roots.sys.join("kernel/debug/bdi");
    if unwritten < MIN_READ_BYTES || !directory.is_dir() {
        return Vec::new();
    }
    let written = disks.iter().filter(|disk| disk.writes.completed > 0);
    written
        .filter_map(|disk| read_device(&directory, disk.device_number))
        .collect()
}

/// `None` for a partition: its dirty memory is counted with its disk.
fn read_device(directory: &Path, (major, minor): (u32, u32)) -> Option<DeviceWriteback> {
    let text = read_file(&directory.join(format!("{major}:{minor}/stats")))?;
    let (dirty_bytes, writeback_bytes) = parse_writeback(&text)?;
    Some(DeviceWriteback {
        device_number: (major, minor),
        dirty_bytes,
        writeback_bytes,
    })
}

/// `BdiReclaimable` and `BdiWriteback` in bytes.
#[must_use]
pub fn parse_writeback(text: &[u8]) -> Option<(u64, u64)> {
    let (mut dirty, mut writeback) = (None, None);
    for line in nonempty_lines(text) {
        let mut words = split_fields(line);
        let slot = match words.next()? {
            b"BdiReclaimable:" => &mut dirty,
            b"BdiWriteback:" => &mut writeback,
            _ => continue,
        };
        *slot = words.next().and_then(parse_number)?.checked_mul(1024);
    }
    dirty.zip(writeback)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::sample::RequestCounters;

    const STATS: &str = "BdiWriteback:                4 kB\nBdiReclaimable:           1016 kB\n\
        BdiDirtyThresh:        4366552 kB\nDirtyThresh:           4366552 kB\n\
        BackgroundThresh:      2180608 kB\nBdiDirtied:          670592060 kB\n\
        BdiWritten:          422937872 kB\nBdiWriteBandwidth:         804 kBps\n\
        b_dirty:                   386\nb_io:                        0\nstate:  5\n";

    fn disk(device_number: (u32, u32), written: u64) -> DiskCounters {
        DiskCounters {
            device_number,
            writes: RequestCounters {
                completed: written,
                ..RequestCounters::default()
            },
            ..DiskCounters::default()
        }
    }

    #[test]
    fn written_devices_are_read_when_there_is_dirty_memory() {
        let root = tempfile::tempdir().unwrap();
        for number in ["254:0", "7:0"] {
            let directory = root.path().join("sys/kernel/debug/bdi").join(number);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("stats"), STATS).unwrap();
        }
        let roots = SysPaths::under_root(root.path());
        let disks = [disk((254, 0), 5), disk((254, 1), 5), disk((7, 0), 0)];
        let mut memory = MemoryCounters {
            dirty: Some(MIN_READ_BYTES),
            ..MemoryCounters::default()
        };
        let expected = DeviceWriteback {
            device_number: (254, 0),
            dirty_bytes: 1016 * 1024,
            writeback_bytes: 4096,
        };
        assert_eq!(read_device_writeback(&roots, &memory, &disks), [expected]);
        memory.dirty = Some(MIN_READ_BYTES - 1);
        assert_eq!(read_device_writeback(&roots, &memory, &disks), []);
    }

    #[test]
    fn incomplete_statistics_are_unknown() {
        assert_eq!(parse_writeback(b"BdiWriteback: 4 kB\n"), None);
        assert_eq!(
            parse_writeback(b"BdiWriteback: x\nBdiReclaimable: 1 kB\n"),
            None
        );
    }
}
