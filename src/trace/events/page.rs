//! The pages of the kernel's ring buffer, as `per_cpu/cpuN/trace_pipe_raw` gives them
//! (kernel Documentation/trace/ring-buffer-design.rst, include/linux/ring_buffer.h,
//! kernel/trace/ring_buffer.c; described to user space by `events/header_page`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::decode::{FieldFormat, parse_field};

/// In the page's length: events before the page were lost.
const MISSED_FLAG: u64 = 1 << 31;
/// In the page's length: the number of lost events follows the data.
const MISSED_COUNT_STORED_FLAG: u64 = 1 << 30;
/// Event header: 5 bits of kind or length, 27 bits of time since the previous event.
const KIND_BITS: u32 = 5;
const DELTA_BITS: u32 = 27;
/// The kernel's pages are 4 to 64 KiB, and sub-buffers of several pages at most this
/// (`buffer_subbuf_size_kb`, kernel Documentation/trace/ftrace.rst).
const MAX_PAGE_BYTES: usize = 16 << 20;
/// Kinds beyond the lengths 1..=28, which are in words of 4 bytes.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// An absolute time has 59 bits; the upper ones are those of the previous time.
const STAMP_BITS: u32 = DELTA_BITS + 32;

/// The kernel's page layout: the time in 64 bits, the length as a word of the machine, the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageFormat {
    data: FieldFormat,
}

impl PageFormat {
    /// Parses `events/header_page`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.lines().filter_map(parse_field);
        let (_, data) = fields.find(|(name, _)| *name == "data")?;
        let format = Self { data };
        (format.size() <= MAX_PAGE_BYTES).then_some(format)
    }

    /// Reads and parses such a file. It must be read at once: the kernel treats a second read as
    /// one beyond the end (`show_header` in kernel/trace/trace_events.c).
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut buffer = [0; 4096];
        let length = File::open(path)?.read(&mut buffer)?;
        Ok(Self::parse(&String::from_utf8_lossy(&buffer[..length])))
    }

    /// Size of a whole page in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.data.byte_range().end
    }

    /// Opens a page; `None` where it is too short.
    #[must_use]
    pub fn open_page<'p>(&self, page: &'p [u8]) -> Option<RingPage<'p>> {
        let field = |offset: usize, size| FieldFormat { offset, size }.read_number(page);
        let time = field(0, 8)?;
        let commit = field(8, self.data.offset.checked_sub(8)?)?;
        let length = (commit & (MISSED_COUNT_STORED_FLAG - 1)) as usize;
        let data = page.get(self.data.offset..)?;
        let stored = data.get(length..).and_then(<[u8]>::first_chunk);
        let lost_events = if commit & MISSED_FLAG == 0 {
            0
        } else if commit & MISSED_COUNT_STORED_FLAG == 0 {
            1
        } else {
            stored.map_or(1, |bytes| u64::from_ne_bytes(*bytes))
        };
        Some(RingPage {
            remaining: &data[..length.min(data.len())],
            time,
            lost_events,
        })
    }
}

/// The records of one page, in order: time and bytes of each.
#[derive(Debug, Clone)]
pub struct RingPage<'p> {
    remaining: &'p [u8],
    /// The time that the next event is relative to.
    pub time: u64,
    /// Events that were lost between it and the previous page; 1 where the kernel had no room for the count.
    pub lost_events: u64,
}

impl<'p> RingPage<'p> {
    /// Takes four bytes.
    fn next_word(&mut self) -> Option<u32> {
        let (word, rest) = self.remaining.split_first_chunk()?;
        self.remaining = rest;
        Some(u32::from_ne_bytes(*word))
    }

    fn next_bytes(&mut self, length: usize) -> Option<&'p [u8]> {
        let (bytes, rest) = self.remaining.split_at_checked(length)?;
        self.remaining = rest;
        Some(bytes)
    }

    /// Padding: the end of a page, or an event that was reserved and discarded. The kernel changes
    /// a delta of 0 to 1 when it discards an event, so a delta of 1 does not count.
    fn skip_padding(&mut self, delta: u64) -> Option<()> {
        if delta == 0 {
            self.remaining = &[];
            return Some(());
        }
        let length = self.next_word()? as usize;
        self.next_bytes(length)?;
        if delta > 1 {
            self.time = self.time.wrapping_add(delta);
        }
        Some(())
    }

    /// An absolute time whose upper bits are truncated.
    fn set_time(&mut self, stamp: u64) {
        let upper = self.time & !((1 << STAMP_BITS) - 1);
        let time = upper | stamp;
        self.time = if time < self.time {
            time.wrapping_add(1 << STAMP_BITS)
        } else {
            time
        };
    }

    /// The next record; `Some(None)` for an entry without one, `None` where the page is truncated. An invalid
    /// page must not stop the program: times wrap around.
    fn next_record(&mut self) -> Option<Option<(u64, &'p [u8])>> {
        let header = self.next_word()?;
        // The header is a C bit field: the first member is in the low bits on little-endian
        // machines and in the high bits on big-endian ones.
        let (kind, delta) = if cfg!(target_endian = "little") {
            (header & ((1 << KIND_BITS) - 1), header >> KIND_BITS)
        } else {
            (header >> DELTA_BITS, header & ((1 << DELTA_BITS) - 1))
        };
        let delta = u64::from(delta);
        match kind {
            PADDING => self.skip_padding(delta)?,
            TIME_EXTEND => {
                let more = u64::from(self.next_word()?) << DELTA_BITS;
                self.time = self.time.wrapping_add(more + delta);
            }
            TIME_STAMP => {
                let stamp = (u64::from(self.next_word()?) << DELTA_BITS) + delta;
                self.set_time(stamp);
            }
            words => {
                let length = match words {
                    // The length word includes itself, and records are padded to whole words.
                    0 => (self.next_word()? as usize)
                        .checked_sub(4)?
                        .next_multiple_of(4),
                    words => words as usize * 4,
                };
                self.time = self.time.wrapping_add(delta);
                return Some(Some((self.time, self.next_bytes(length)?)));
            }
        }
        Some(None)
    }
}

impl<'p> Iterator for RingPage<'p> {
    type Item = (u64, &'p [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.remaining.is_empty() {
            match self.next_record() {
                Some(Some(record)) => return Some(record),
                Some(None) => {}
                // A truncated page: nothing after this can be trusted.
                None => self.remaining = &[],
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    #[cfg(target_endian = "little")]
    fn ring_page_timestamps_accumulate_over_all_entry_kinds() {
        let mut data = Vec::new();
        data.extend(header(1, 5));
        data.extend(*b"one.");
        data.extend(header(TIME_EXTEND, 1));
        data.extend(2_u32.to_le_bytes());
        data.extend(header(0, 3));
        data.extend(9_u32.to_le_bytes());
        data.extend(*b"twotw...");
        // Discarded: eight bytes, and a delta that counts.
        data.extend(header(PADDING, 4));
        data.extend(4_u32.to_le_bytes());
        data.extend([0xff; 4]);
        // Discarded without a delta of its own.
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
        let opened = format().open_page(&page).unwrap();
        assert_eq!(opened.lost_events, 0);
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
    fn absolute_timestamp_keeps_upper_bits() {
        let mut page = RingPage {
            remaining: &[],
            time: (3 << STAMP_BITS) + 100,
            lost_events: 0,
        };
        page.set_time(200);
        assert_eq!(page.time, (3 << STAMP_BITS) + 200);
        page.set_time(10);
        assert_eq!(page.time, (4 << STAMP_BITS) + 10);
    }

    #[test]
    fn ring_page_reports_lost_event_count() {
        let mut stored = page(0, MISSED_FLAG | MISSED_COUNT_STORED_FLAG, b"");
        stored.extend(42_u64.to_ne_bytes());
        assert_eq!(format().open_page(&stored).unwrap().lost_events, 42);
        let unknown = page(0, MISSED_FLAG, b"");
        assert_eq!(format().open_page(&unknown).unwrap().lost_events, 1);
        assert!(format().open_page(&[0; 12]).is_none());
    }
}
