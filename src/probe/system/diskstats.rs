//! `/proc/diskstats` (kernel Documentation/admin-guide/iostats.rst).

use procfs::DiskStat;

use crate::probe::sample::{DiskCounters, FlushCounters, RequestCounters};
use crate::probe::text::nonempty_lines;

/// Parses every valid line, in the kernel's order.
///
/// Eleven counters follow the name in every kernel since 2.6, four more (discards) since 4.18, two
/// more (flushes) since 5.5; further fields are ignored. Invalid lines (partitions before 2.6.25
/// had four counters) are omitted: `procfs::DiskStats` would fail as a whole, so that each line is
/// parsed apart.
#[must_use]
pub fn parse(text: &[u8]) -> Vec<DiskCounters> {
    nonempty_lines(text).filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<DiskCounters> {
    let disk = DiskStat::from_line(&String::from_utf8_lossy(line)).ok()?;
    Some(DiskCounters {
        device_number: (
            u32::try_from(disk.major).ok()?,
            u32::try_from(disk.minor).ok()?,
        ),
        reads: RequestCounters {
            completed: disk.reads,
            merged: disk.merged,
            sectors: disk.sectors_read,
            time_ms: disk.time_reading,
        },
        writes: RequestCounters {
            completed: disk.writes,
            merged: disk.writes_merged,
            sectors: disk.sectors_written,
            time_ms: disk.time_writing,
        },
        in_flight: disk.in_progress,
        busy_ms: disk.time_in_progress,
        weighted_ms: disk.weighted_time_in_progress,
        discards: discard_counters(&disk),
        flushes: disk
            .flushes
            .zip(disk.time_flushing)
            .map(|(completed, time_ms)| FlushCounters { completed, time_ms }),
        name: disk.name,
    })
}

/// `None` where one of the four counters is missing.
fn discard_counters(disk: &DiskStat) -> Option<RequestCounters> {
    Some(RequestCounters {
        completed: disk.discards?,
        merged: disk.discards_merged?,
        sectors: disk.sectors_discarded?,
        time_ms: disk.time_discarding?,
    })
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
}
