//! `/proc/diskstats` (kernel Documentation/admin-guide/iostats.rst).

use super::sample::{Disk, Flushes, Requests};
use super::text::{fields, lines, number};

/// Every line that can be understood, in the kernel's order.
///
/// Eleven counters follow the name in every kernel since 2.6, four more (discards) since 4.18, two
/// more (flushes) since 5.5; what comes after them one day is passed over. A line that is no line
/// of that kind (partitions before 2.6.25 had four counters) is left out.
#[must_use]
pub fn parse(text: &[u8]) -> Vec<Disk> {
    lines(text).filter_map(line).collect()
}

fn line(line: &[u8]) -> Option<Disk> {
    let mut words = fields(line);
    let major = u32::try_from(number(words.next()?)?).ok()?;
    let minor = u32::try_from(number(words.next()?)?).ok()?;
    let name = words.next()?;
    let mut counters = [0_u64; 17];
    let mut count = 0;
    for (slot, word) in counters.iter_mut().zip(words) {
        *slot = number(word)?;
        count += 1;
    }
    (count >= 11).then(|| Disk {
        name: String::from_utf8_lossy(name).into_owned(),
        number: (major, minor),
        reads: requests(&counters[0..4]),
        writes: requests(&counters[4..8]),
        in_flight: counters[8],
        busy_ms: counters[9],
        weighted_ms: counters[10],
        discards: (count >= 15).then(|| requests(&counters[11..15])),
        flushes: (count >= 17).then_some(Flushes {
            completed: counters[15],
            ms: counters[16],
        }),
    })
}

fn requests(counters: &[u64]) -> Requests {
    Requests {
        completed: counters[0],
        merged: counters[1],
        sectors: counters[2],
        ms: counters[3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_that_kernels_have_written_is_read() {
        let eleven = b"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n";
        let disk = &parse(eleven)[0];
        assert_eq!(disk.name, "sda");
        assert_eq!(disk.number, (8, 0));
        assert_eq!((disk.reads.completed, disk.reads.merged), (1, 2));
        assert_eq!((disk.reads.sectors, disk.reads.ms), (3, 4));
        assert_eq!((disk.writes.completed, disk.writes.ms), (5, 8));
        assert_eq!(
            (disk.in_flight, disk.busy_ms, disk.weighted_ms),
            (9, 10, 11)
        );
        assert_eq!((disk.discards, disk.flushes), (None, None));

        let fifteen = b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15";
        let disk = &parse(fifteen)[0];
        assert_eq!(disk.discards.unwrap().completed, 12);
        assert_eq!(disk.discards.unwrap().ms, 15);
        assert_eq!(disk.flushes, None);

        let twenty = b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20";
        let flushes = parse(twenty)[0].flushes.unwrap();
        assert_eq!((flushes.completed, flushes.ms), (16, 17));
    }

    #[test]
    fn a_line_that_cannot_be_understood_is_left_out() {
        let text = b"8 1 sda1 1 2 3 4\nnonsense\n8 0 sda 1 2 3 4 5 6 7 8 9 x 11\n\n";
        assert_eq!(parse(text), Vec::new());
    }
}
