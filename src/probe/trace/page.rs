//! The pages of the kernel's ring buffer, as `per_cpu/cpuN/trace_pipe_raw` gives them
//! (kernel Documentation/trace/ring-buffer-design.rst, include/linux/ring_buffer.h,
//! kernel/trace/ring_buffer.c; described to user space by `events/header_page`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::format::{Field, parse_field};

/// In the page's length: events before it were lost.
const MISSED: u64 = 1 << 31;
/// In the page's length: their number follows the data.
const MISSED_STORED: u64 = 1 << 30;
/// Event header: 5 bits of kind or length, 27 bits of time since the event before.
const KIND_BITS: u32 = 5;
const DELTA_BITS: u32 = 27;
/// The kernel's pages are 4 to 64 KiB, and sub-buffers of several pages at most this
/// (`buffer_subbuf_size_kb`, kernel Documentation/trace/ftrace.rst).
const LARGEST: usize = 16 << 20;
/// Kinds beyond the lengths 1..=28, which are in words of 4 bytes.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// An absolute time has 59 bits; those above are the ones of the time before.
const STAMP_BITS: u32 = DELTA_BITS + 32;

/// How the kernel lays out a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageFormat {
    timestamp: Field,
    commit: Field,
    data: Field,
}

impl PageFormat {
    /// Reads `events/header_page`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let field = |wanted: &str| {
            text.lines()
                .filter_map(parse_field)
                .find(|(name, _)| name == wanted)
                .map(|(_, field)| field)
        };
        let format = Self {
            timestamp: field("timestamp")?,
            commit: field("commit")?,
            data: field("data")?,
        };
        (format.size() <= LARGEST).then_some(format)
    }

    /// Reads a file like that. It must be read at once: the kernel takes a second read for one
    /// beyond the end (`show_header` in kernel/trace/trace_events.c).
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut buffer = [0; 4096];
        let length = File::open(path)?.read(&mut buffer)?;
        Ok(Self::parse(&String::from_utf8_lossy(&buffer[..length])))
    }

    /// Size of a whole page in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.data.range().end
    }

    /// Goes through a page; `None` where it is too short to be one.
    #[must_use]
    pub fn open<'p>(&self, page: &'p [u8]) -> Option<Page<'p>> {
        let time = self.timestamp.number(page)?;
        let commit = self.commit.number(page)?;
        let length = (commit & (MISSED_STORED - 1)) as usize;
        let data = page.get(self.data.offset..)?;
        let stored = data
            .get(length..)
            .and_then(|rest| rest.get(..8))
            .and_then(|bytes| bytes.try_into().ok())
            .map(u64::from_ne_bytes);
        let lost = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => Lost::Nothing,
            (true, true) => stored.map_or(Lost::Some, Lost::Count),
            (true, false) => Lost::Some,
        };
        Some(Page {
            rest: &data[..length.min(data.len())],
            time,
            lost,
        })
    }
}

/// Whether events are missing between a page and the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// None is.
    Nothing,
    /// Some are; the kernel had no room to say how many.
    Some,
    /// So many are.
    Count(u64),
}

/// The records of one page, in order: time and bytes of each.
#[derive(Debug, Clone)]
pub struct Page<'p> {
    rest: &'p [u8],
    time: u64,
    lost: Lost,
}

impl<'p> Page<'p> {
    /// Whether events are missing before it.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// The time that its events are counted from.
    #[must_use]
    pub fn begins(&self) -> u64 {
        self.time
    }

    /// Takes four bytes.
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_ne_bytes(*word))
    }

    fn bytes(&mut self, length: usize) -> Option<&'p [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    /// A page that makes no sense must not stop the program.
    fn advance(&mut self, delta: u64) {
        self.time = self.time.wrapping_add(delta);
    }

    /// Padding: the end of a page, or an event that was reserved and given up. The kernel makes
    /// a delta of 0 into 1 when it gives one up, so that 1 does not count.
    fn skip(&mut self, delta: u64) -> Option<()> {
        if delta == 0 {
            self.rest = &[];
            return Some(());
        }
        let length = self.word()? as usize;
        self.bytes(length)?;
        if delta > 1 {
            self.advance(delta);
        }
        Some(())
    }

    /// An absolute time whose upper bits were cut off.
    fn set_time(&mut self, stamp: u64) {
        let upper = self.time & !((1 << STAMP_BITS) - 1);
        let time = upper | stamp;
        self.time = if time < self.time {
            time.wrapping_add(1 << STAMP_BITS)
        } else {
            time
        };
    }

    fn step(&mut self) -> Option<Option<(u64, &'p [u8])>> {
        let header = self.word()?;
        // The header is a C bit field: the first member is in the low bits on little-endian
        // machines and in the high bits on big-endian ones.
        let (kind, delta) = if cfg!(target_endian = "little") {
            (header & ((1 << KIND_BITS) - 1), header >> KIND_BITS)
        } else {
            (header >> DELTA_BITS, header & ((1 << DELTA_BITS) - 1))
        };
        let delta = u64::from(delta);
        match kind {
            PADDING => {
                self.skip(delta)?;
                Some(None)
            }
            TIME_EXTEND => {
                let more = u64::from(self.word()?) << DELTA_BITS;
                self.advance(more + delta);
                Some(None)
            }
            TIME_STAMP => {
                let stamp = (u64::from(self.word()?) << DELTA_BITS) + delta;
                self.set_time(stamp);
                Some(None)
            }
            _ => {
                let length = match kind {
                    // The length word counts itself, and records are filled up to whole words.
                    0 => (self.word()? as usize).checked_sub(4)?.next_multiple_of(4),
                    words => words as usize * 4,
                };
                self.advance(delta);
                let record = self.bytes(length)?;
                Some(Some((self.time, record)))
            }
        }
    }
}

impl<'p> Iterator for Page<'p> {
    type Item = (u64, &'p [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            match self.step() {
                Some(Some(record)) => return Some(record),
                Some(None) => {}
                // A page that breaks off: nothing after this can be trusted.
                None => self.rest = &[],
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = include_str!("../../../tests/traces/6.1/events/header_page");

    fn format() -> PageFormat {
        PageFormat::parse(HEADER).unwrap()
    }

    fn page(time: u64, flags: u64, data: &[u8]) -> Vec<u8> {
        let mut page = time.to_ne_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_ne_bytes());
        page.extend(data);
        page
    }

    fn header(kind: u32, delta: u32) -> [u8; 4] {
        (kind | delta << KIND_BITS).to_le_bytes()
    }

    #[test]
    fn the_kernel_says_how_long_a_page_is() {
        assert_eq!(format().size(), 4096);
        assert_eq!(PageFormat::parse("nonsense"), None);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn times_add_up_over_every_kind_of_entry() {
        let mut data = Vec::new();
        data.extend(header(1, 5));
        data.extend(*b"one.");
        data.extend(header(TIME_EXTEND, 1));
        data.extend(2_u32.to_le_bytes());
        data.extend(header(0, 3));
        data.extend(9_u32.to_le_bytes());
        data.extend(*b"twotw...");
        // Given up: eight bytes, and a delta that counts.
        data.extend(header(PADDING, 4));
        data.extend(4_u32.to_le_bytes());
        data.extend([0xff; 4]);
        // Given up with no delta of its own.
        data.extend(header(PADDING, 1));
        data.extend(0_u32.to_le_bytes());
        data.extend(header(1, 1));
        data.extend(*b"thre");
        data.extend(header(TIME_STAMP, 7));
        data.extend((1_u32 << 20).to_le_bytes());
        data.extend(header(1, 0));
        data.extend(*b"four");
        data.extend(header(PADDING, 0));
        data.extend([0xee; 16]);
        let page = page(1000, 0, &data);
        let opened = format().open(&page).unwrap();
        assert_eq!(opened.lost(), Lost::Nothing);
        let extended = 1005 + (2 << DELTA_BITS) + 1 + 3;
        let records: Vec<_> = opened.collect();
        assert_eq!(
            records,
            [
                (1005, &b"one."[..]),
                (extended, &b"twotw..."[..]),
                (extended + 5, &b"thre"[..]),
                ((1 << 47) + 7, &b"four"[..]),
            ]
        );
    }

    #[test]
    fn an_absolute_time_keeps_the_bits_that_do_not_fit() {
        let mut page = Page {
            rest: &[],
            time: (3 << STAMP_BITS) + 100,
            lost: Lost::Nothing,
        };
        page.set_time(200);
        assert_eq!(page.time, (3 << STAMP_BITS) + 200);
        page.set_time(10);
        assert_eq!(page.time, (4 << STAMP_BITS) + 10);
    }

    #[test]
    fn lost_events_are_counted_where_the_kernel_does() {
        let mut stored = page(0, MISSED | MISSED_STORED, b"");
        stored.extend(42_u64.to_ne_bytes());
        assert_eq!(format().open(&stored).unwrap().lost(), Lost::Count(42));
        let unknown = page(0, MISSED, b"");
        assert_eq!(format().open(&unknown).unwrap().lost(), Lost::Some);
        assert!(format().open(&[0; 12]).is_none());
    }

    proptest! {
        #[test]
        fn no_page_makes_it_stumble(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some(page) = format().open(&bytes) {
                let length: usize = page.map(|(_, record)| record.len()).sum();
                prop_assert!(length <= bytes.len());
            }
        }

        #[test]
        fn data_of_any_kind_ends(data in proptest::collection::vec(any::<u8>(), 0..300)) {
            let page = page(u64::from(u32::MAX), 0, &data);
            let length: usize = format().open(&page).unwrap().map(|(_, record)| record.len()).sum();
            prop_assert!(length <= data.len());
        }
    }
}
