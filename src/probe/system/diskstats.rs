//! `/proc/diskstats` (kernel Documentation/admin-guide/iostats.rst).

use crate::probe::sample::{DiskCounters, FlushCounters, RequestCounters};
use crate::probe::text::{nonempty_lines, parse_number, split_fields};

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
    let major = u32::try_from(parse_number(words.next()?)?).ok()?;
    let minor = u32::try_from(parse_number(words.next()?)?).ok()?;
    let name = words.next()?;
    let mut counters = [0_u64; 17];
    let mut count = 0;
    for (slot, word) in counters.iter_mut().zip(words) {
        *slot = parse_number(word)?;
        count += 1;
    }
    (count >= 11).then(|| DiskCounters {
        name: String::from_utf8_lossy(name).into_owned(),
        device_number: (major, minor),
        reads: request_counters(&counters[0..4]),
        writes: request_counters(&counters[4..8]),
        in_flight: counters[8],
        busy_ms: counters[9],
        weighted_ms: counters[10],
        discards: (count >= 15).then(|| request_counters(&counters[11..15])),
        flushes: (count >= 17).then_some(FlushCounters {
            completed: counters[15],
            time_ms: counters[16],
        }),
    })
}

fn request_counters(counters: &[u64]) -> RequestCounters {
    RequestCounters {
        completed: counters[0],
        merged: counters[1],
        sectors: counters[2],
        time_ms: counters[3],
    }
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
        let text = b"8 1 sda1 1 2 3 4\nnonsense\n8 0 sda 1 2 3 4 5 6 7 8 9 x 11\n\n";
        assert_eq!(parse(text), Vec::new());
    }
}
