//! Counters of block devices: `/proc/diskstats` (kernel Documentation/admin-guide/iostats.rst), and
//! dirty memory by device from debugfs, root only and where it is mounted.

use crate::probe::sample::{DiskCounters, FlushCounters, MemoryCounters, RequestCounters};
use crate::probe::text::{named_numbers, nonempty_lines, parse_number, read_file, split_fields};
use crate::roots::SysPaths;

/// Bytes dirty or under writeback from which on the devices are read: the kernel walks a device's
/// list of dirty inodes for each reading.
const MIN_READ_BYTES: u64 = 16 << 20;

/// Parses every valid line, in the kernel's order.
///
/// Eleven counters follow the name in every kernel since 2.6, four more (discards) since 4.18, two
/// more (flushes) since 5.5; further fields are ignored. Invalid lines (partitions before 2.6.25
/// had four counters) are omitted.
#[must_use]
pub fn parse(text: &[u8]) -> Vec<DiskCounters> {
    nonempty_lines(text).filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<DiskCounters> {
    let mut words = split_fields(line);
    let mut part = || u32::try_from(parse_number(words.next()?)?).ok();
    let device_number = (part()?, part()?);
    let name = String::from_utf8_lossy(words.next()?).into_owned();
    let counters: Vec<u64> = words.map_while(parse_number).collect();
    let requests = |at: usize| {
        let counters = counters.get(at..at + 4)?;
        Some(RequestCounters {
            completed: counters[0],
            merged: counters[1],
            sectors: counters[2],
            time_ms: counters[3],
        })
    };
    let flushes = |counters: &[u64]| FlushCounters {
        completed: counters[0],
        time_ms: counters[1],
    };
    Some(DiskCounters {
        name,
        device_number,
        reads: requests(0)?,
        writes: requests(4)?,
        in_flight: *counters.get(8)?,
        busy_ms: *counters.get(9)?,
        weighted_ms: *counters.get(10)?,
        discards: requests(11),
        flushes: counters.get(15..17).map(flushes),
        dirty_bytes: None,
        writeback_bytes: None,
    })
}

/// Adds the dirty memory of the devices that were written, where there is enough of it to matter.
pub fn read_dirty_bytes(roots: &SysPaths, memory: &MemoryCounters, disks: &mut [DiskCounters]) {
    let (dirty, writeback) = (memory.dirty.unwrap_or(0), memory.writeback.unwrap_or(0));
    let directory = roots.sys.join("kernel/debug/bdi");
    if dirty.saturating_add(writeback) < MIN_READ_BYTES || !directory.is_dir() {
        return;
    }
    for disk in disks.iter_mut().filter(|disk| disk.writes.completed > 0) {
        let (major, minor) = disk.device_number;
        let text = read_file(&directory.join(format!("{major}:{minor}/stats")));
        if let Some((dirty, writeback)) = text.and_then(|text| parse_writeback(&text)) {
            disk.dirty_bytes = Some(dirty);
            disk.writeback_bytes = Some(writeback);
        }
    }
}

/// Dirty bytes and those under writeback, from the statistics of a device (mm/backing-dev.c,
/// `bdi_debug_stats_show`).
#[must_use]
pub fn parse_writeback(text: &[u8]) -> Option<(u64, u64)> {
    let bytes = named_numbers(text, ["BdiReclaimable", "BdiWriteback"]);
    let [dirty, writeback] = bytes.map(|kib| kib?.checked_mul(1024));
    dirty.zip(writeback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diskstats_lines_of_every_width_are_parsed() {
        let eleven = b"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n";
        let disk = &parse(eleven)[0];
        assert_eq!(disk.name, "sda");
        assert_eq!(disk.device_number, (8, 0));
        assert_eq!((disk.reads.completed, disk.reads.merged), (1, 2));
        assert_eq!((disk.reads.sectors, disk.reads.time_ms), (3, 4));
        assert_eq!((disk.writes.completed, disk.writes.time_ms), (5, 8));
        assert_eq!(
            (disk.in_flight, disk.busy_ms, disk.weighted_ms),
            (9, 10, 11)
        );
        assert_eq!((disk.discards, disk.flushes), (None, None));

        let fifteen = b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15";
        let disk = &parse(fifteen)[0];
        assert_eq!(disk.discards.unwrap().completed, 12);
        assert_eq!(disk.discards.unwrap().time_ms, 15);
        assert_eq!(disk.flushes, None);

        let twenty = b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20";
        let flushes = parse(twenty)[0].flushes.unwrap();
        assert_eq!((flushes.completed, flushes.time_ms), (16, 17));
    }

    #[test]
    fn malformed_diskstats_lines_are_skipped() {
        let text = b"8 1 sda1 1 2 3 4\nnonsense\n8 0 sda 1 2 3 4 5 6 7 8 9 x 11\n\n\
            8 -1 sda 1 2 3 4 5 6 7 8 9 10 11\n";
        assert_eq!(parse(text), Vec::new());

        // The lines around them count, and a device name that is not UTF-8 is readable.
        let text = b"nonsense\n8 0 s\xff 1 2 3 4 5 6 7 8 9 10 11 12 13 14\n";
        let disks = parse(text);
        assert_eq!(disks[0].name, "s\u{fffd}");
        assert_eq!((disks.len(), disks[0].discards), (1, None));
    }

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
        let dirty = |memory: &MemoryCounters| {
            let mut disks = disks.clone();
            read_dirty_bytes(&roots, memory, &mut disks);
            disks.map(|disk| disk.dirty_bytes.zip(disk.writeback_bytes))
        };
        let mut memory = MemoryCounters {
            dirty: Some(MIN_READ_BYTES),
            ..MemoryCounters::default()
        };
        assert_eq!(dirty(&memory), [Some((1016 * 1024, 4096)), None, None]);
        memory.dirty = Some(MIN_READ_BYTES - 1);
        assert_eq!(dirty(&memory), [None; 3]);
    }
}
