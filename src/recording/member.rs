//! The header of a gzip member (RFC 1952), whose extra field is the index of its samples.
//!
//! ```text
//! header   1f 8b 08 04 mtime:u32 00 03 extra_bytes:u16 'D' 'S' field_bytes:u16 field
//! field    version:u8 has_requests:u8 samples:u16 member_bytes:u32
//!          60 times (time_ms:u64 bytes_per_s:u64), crc32:u32 of the field before it
//! ```
//!
//! Numbers are little-endian. `member_bytes` is the length of the whole member, as in BGZF: with it a
//! reader goes from header to header and decompresses nothing. It is 0 while the member is written.

use flate2::Crc;

/// Samples of a member at most.
pub(super) const MAX_SAMPLES: usize = 60;
/// Size of a header in bytes.
pub(super) const HEADER_BYTES: usize = FIELD_OFFSET + FIELD_BYTES;
/// What ends a member: an empty last block, the CRC-32 and the length of the content.
pub(super) const TRAILER_BYTES: usize = 10;

/// Version of the extra field.
const VERSION: u8 = 1;
/// Begin of a header: gzip, deflate, with an extra field.
const MAGIC: [u8; 4] = [0x1f, 0x8b, 8, 4];
/// Identifies the subfield of the extra field.
const SUBFIELD: [u8; 2] = *b"DS";
const FIELD_OFFSET: usize = 16;
const MARK_BYTES: usize = 16;
const MARKS_OFFSET: usize = 8;
const CHECKSUM_OFFSET: usize = MARKS_OFFSET + MAX_SAMPLES * MARK_BYTES;
const FIELD_BYTES: usize = CHECKSUM_OFFSET + 4;
/// A last block of deflate without content (RFC 1951, fixed codes, end of block).
const EMPTY_LAST_BLOCK: [u8; 2] = [3, 0];
/// Stands for a rate that is not known.
const UNKNOWN_RATE: u64 = u64::MAX;

/// What is known of a sample without decompressing it: enough for a time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleMark {
    /// Wall-clock time in milliseconds since 1970.
    pub time_ms: u64,
    /// Throughput of the drives in bytes per second; `None` if unknown.
    pub bytes_per_s: Option<u64>,
}

/// The index of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MemberIndex {
    /// Its samples.
    pub(super) marks: Vec<SampleMark>,
    /// Whether it also has lines of requests.
    pub(super) has_requests: bool,
    /// Length of the member; 0 while it is written.
    pub(super) member_bytes: u32,
}

impl MemberIndex {
    /// Encodes the header.
    pub(super) fn encode(&self) -> Vec<u8> {
        let first_ms = self.marks.first().map_or(0, |mark| mark.time_ms);
        let mut header = MAGIC.to_vec();
        header.extend(u32::try_from(first_ms / 1000).unwrap_or(0).to_le_bytes());
        header.extend([0, 3]);
        header.extend(((FIELD_BYTES + 4) as u16).to_le_bytes());
        header.extend(SUBFIELD);
        header.extend((FIELD_BYTES as u16).to_le_bytes());
        header.extend([VERSION, u8::from(self.has_requests)]);
        header.extend((self.marks.len() as u16).to_le_bytes());
        header.extend(self.member_bytes.to_le_bytes());
        for mark in &self.marks {
            header.extend(mark.time_ms.to_le_bytes());
            header.extend(mark.bytes_per_s.unwrap_or(UNKNOWN_RATE).to_le_bytes());
        }
        header.resize(FIELD_OFFSET + CHECKSUM_OFFSET, 0);
        let sum = checksum(&header[FIELD_OFFSET..]);
        header.extend(sum.to_le_bytes());
        header
    }

    /// Decodes the header of a complete member; `None` where there is none, it is damaged or of another
    /// version.
    pub(super) fn decode(header: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (fixed, field) = header.split_at(FIELD_OFFSET);
        let (content, sum) = field.split_at(CHECKSUM_OFFSET);
        let is_valid = number(sum) == u64::from(checksum(content));
        let samples = number(&content[2..4]) as usize;
        let member_bytes = number(&content[4..8]) as u32;
        let is_complete = member_bytes as usize >= HEADER_BYTES + TRAILER_BYTES;
        if fixed[..4] != MAGIC
            || fixed[12..14] != SUBFIELD
            || content[0] != VERSION
            || !is_valid
            || !is_complete
            || samples > MAX_SAMPLES
        {
            return None;
        }
        let marks = content[MARKS_OFFSET..].chunks_exact(MARK_BYTES);
        let mark = |bytes: &[u8]| SampleMark {
            time_ms: number(&bytes[..8]),
            bytes_per_s: Some(number(&bytes[8..])).filter(|rate| *rate != UNKNOWN_RATE),
        };
        Some(Self {
            marks: marks.take(samples).map(mark).collect(),
            has_requests: content[1] != 0,
            member_bytes,
        })
    }
}

/// What ends a member with this content. The compressed data before it end at a byte boundary.
pub(super) fn encode_trailer(content: &Crc) -> Vec<u8> {
    let mut trailer = EMPTY_LAST_BLOCK.to_vec();
    trailer.extend(content.sum().to_le_bytes());
    trailer.extend(content.amount().to_le_bytes());
    trailer
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A little-endian number of up to 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    let digits = bytes.iter().rev();
    digits.fold(0, |number, byte| number << 8 | u64::from(*byte))
}
