//! File format of a ring: a header and segments of equal size, each of which can be read alone.
//!
//! ```text
//! file      "DSKSRING" version:u32 segment_bytes:u32 segments:u32 checksum:u32, zeros up to 4096
//! segment   "SEGM" zero:u32 sequence:u64 checksum:u32 frames
//! ```
//!
//! The header is written once. A segment is begun by writing its header over the oldest segment,
//! which ends that one: the checksum of each frame covers the checksum before it, the first one that
//! of the segment's header with its sequence number, so that what remains of the earlier frames is
//! not valid. The frames of a segment end where the next one is not valid. A segment that is followed
//! by another one ends with a [`FrameKind::SegmentEnd`]; without it, something was lost. The order of
//! the segments is that of their sequence numbers, not that in the file.
//!
//! Every frame leaves room for the end of its segment. One that does not is not valid: what continues
//! the segment never writes past it.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use flate2::Crc;

use super::frame::{FRAME_HEADER_BYTES, FrameKind};
use super::scan::{FrameEntry, FrameScan, ScanError};

/// Magic number: the first bytes of a ring.
pub const RING_MAGIC: [u8; 8] = *b"DSKSRING";
/// Version of the format of a ring that this program writes.
pub const RING_FORMAT_VERSION: u32 = 1;
/// Space of the header of the file in bytes.
pub const RING_HEADER_BYTES: u64 = 4096;
/// Size of the used part of that header in bytes.
pub const RING_HEADER_FIELDS_BYTES: usize = 24;
/// Size of the header of a segment in bytes.
pub const SEGMENT_HEADER_BYTES: usize = 20;
/// Size of the end of a segment in bytes: a frame without content.
pub(super) const SEGMENT_END_BYTES: u64 = FRAME_HEADER_BYTES as u64;
/// The largest sequence number of a ring that is continued. At one segment per millisecond it is
/// reached after 8,900 years.
pub(super) const MAX_SEQUENCE: u64 = 1 << 48;
/// Number of segments: the oldest 3 % of a ring are overwritten at a time.
pub const SEGMENTS: u32 = 32;
/// The smallest ring in bytes: a segment has room for the largest snapshots of a busy machine.
pub const MIN_RING_BYTES: u64 = 4_000_000;
/// The largest ring in bytes.
pub const MAX_RING_BYTES: u64 = 64_000_000_000;

/// Compressed size of a request in bytes, about.
const REQUEST_BYTES: usize = 48;
/// Maximum number of requests of a trigger.
const MAX_TRIGGER_REQUESTS: usize = 30_000;
const SEGMENT_MAGIC: [u8; 4] = *b"SEGM";
/// Maximum number of segments that a reader accepts.
const MAX_SEGMENTS: u32 = 4096;

/// Division of a ring into segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingGeometry {
    /// Size of a segment in bytes.
    pub segment_bytes: u32,
    /// Number of segments.
    pub segment_count: u32,
}

impl RingGeometry {
    /// The division of a file of at most `size` bytes; `None` if that is too small or too large.
    #[must_use]
    pub fn of_size(size: u64) -> Option<Self> {
        if !(MIN_RING_BYTES..=MAX_RING_BYTES).contains(&size) {
            return None;
        }
        let segment = (size - RING_HEADER_BYTES) / u64::from(SEGMENTS) / 4096 * 4096;
        Some(Self {
            segment_bytes: u32::try_from(segment).ok()?,
            segment_count: SEGMENTS,
        })
    }

    /// How many requests of a trigger fit into their share of a segment.
    #[must_use]
    pub fn max_trigger_requests(self) -> usize {
        (self.segment_bytes as usize / 2 / REQUEST_BYTES).min(MAX_TRIGGER_REQUESTS)
    }

    /// Size of the file in bytes.
    #[must_use]
    pub fn file_bytes(self) -> u64 {
        RING_HEADER_BYTES + u64::from(self.segment_bytes) * u64::from(self.segment_count)
    }

    /// Offset of a segment in the file.
    #[must_use]
    pub fn segment_offset(self, segment: usize) -> u64 {
        RING_HEADER_BYTES + u64::from(self.segment_bytes) * segment as u64
    }

    /// Encodes the header of the file.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let mut head = RING_MAGIC.to_vec();
        head.extend(RING_FORMAT_VERSION.to_le_bytes());
        head.extend(self.segment_bytes.to_le_bytes());
        head.extend(self.segment_count.to_le_bytes());
        head.extend(checksum(&head).to_le_bytes());
        head
    }

    /// Decodes the header of the file after its magic number and its version, which the caller has
    /// compared; `None` if it is damaged.
    #[must_use]
    pub fn decode(head: &[u8; RING_HEADER_FIELDS_BYTES]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(head[at..at + 4].try_into().ok()?));
        let geometry = Self {
            segment_bytes: word(12)?,
            segment_count: word(16)?,
        };
        let is_plausible = geometry.segment_bytes as usize > SEGMENT_HEADER_BYTES
            && (1..=MAX_SEGMENTS).contains(&geometry.segment_count);
        (is_plausible && word(20)? == checksum(&head[..20])).then_some(geometry)
    }
}

/// Version in the header of a ring.
#[must_use]
pub fn version_of(head: &[u8; RING_HEADER_FIELDS_BYTES]) -> u32 {
    u32::from_le_bytes([head[8], head[9], head[10], head[11]])
}

/// Encodes the header of a segment. The second value is its checksum.
#[must_use]
pub fn encode_segment_header(sequence: u64) -> ([u8; SEGMENT_HEADER_BYTES], u32) {
    let mut head = [0; SEGMENT_HEADER_BYTES];
    head[..4].copy_from_slice(&SEGMENT_MAGIC);
    head[8..16].copy_from_slice(&sequence.to_le_bytes());
    let sum = checksum(&head[..16]);
    head[16..].copy_from_slice(&sum.to_le_bytes());
    (head, sum)
}

/// Decodes the header of a segment: its sequence number and its checksum; `None` if it is invalid.
#[must_use]
pub fn decode_segment_header(head: &[u8; SEGMENT_HEADER_BYTES]) -> Option<(u64, u32)> {
    let sequence = u64::from_le_bytes(head[8..16].try_into().ok()?);
    let (valid, sum) = encode_segment_header(sequence);
    (valid == *head && sequence > 0).then_some((sequence, sum))
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A segment as it was found in a file.
#[derive(Debug)]
pub(super) struct ScannedSegment {
    /// Its number in the file, from 0.
    pub(super) index: usize,
    /// Its sequence number.
    pub(super) sequence: u64,
    /// Its frames, without the end of the segment.
    pub(super) entries: Vec<FrameEntry>,
    /// Offset in the file at which the valid frames end.
    pub(super) end_offset: u64,
    /// Checksum of the last frame, or of the segment's header.
    pub(super) last_checksum: u32,
    /// Whether the segment was ended before the next one was begun.
    pub(super) is_ended: bool,
}

/// What was found in the file of a ring.
#[derive(Debug, Default)]
pub(super) struct ScannedRing {
    /// The segments in the order of their sequence numbers.
    pub(super) segments: Vec<ScannedSegment>,
    /// Offsets of segments with an invalid header; unused ones are not among them.
    pub(super) invalid_segments: Vec<u64>,
}

/// Finds the valid frames of all segments, or of the newest that have `max_frames` together.
///
/// # Errors
/// If the file cannot be read. A file that is too short is no error.
pub(super) fn scan_ring(
    file: &File,
    geometry: RingGeometry,
    max_frames: usize,
) -> io::Result<ScannedRing> {
    let (mut headers, invalid_segments) = read_segment_headers(file, geometry)?;
    // The newest first.
    headers.sort_by_key(|header| std::cmp::Reverse((header.sequence, header.index)));
    let mut segments = Vec::new();
    let mut frames = 0;
    for header in headers {
        if frames >= max_frames {
            break;
        }
        let segment = scan_segment(file, geometry, header, max_frames)?;
        frames += segment.entries.len();
        segments.push(segment);
    }
    segments.reverse();
    Ok(ScannedRing {
        segments,
        invalid_segments,
    })
}

/// A valid header of a segment.
#[derive(Debug, Clone, Copy)]
struct SegmentHeader {
    index: usize,
    sequence: u64,
    checksum: u32,
}

/// The valid headers of segments, and the offsets of the invalid ones.
fn read_segment_headers(
    file: &File,
    geometry: RingGeometry,
) -> io::Result<(Vec<SegmentHeader>, Vec<u64>)> {
    let (mut headers, mut invalid) = (Vec::new(), Vec::new());
    for index in 0..geometry.segment_count as usize {
        let offset = geometry.segment_offset(index);
        let mut head = [0; SEGMENT_HEADER_BYTES];
        match file.read_exact_at(&mut head, offset) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
            Err(error) => return Err(error),
        }
        match decode_segment_header(&head) {
            Some((sequence, checksum)) => headers.push(SegmentHeader {
                index,
                sequence,
                checksum,
            }),
            None if head.iter().all(|byte| *byte == 0) => {}
            None => invalid.push(offset),
        }
    }
    Ok((headers, invalid))
}

fn scan_segment(
    mut file: &File,
    geometry: RingGeometry,
    header: SegmentHeader,
    max_frames: usize,
) -> io::Result<ScannedSegment> {
    let begin = geometry.segment_offset(header.index);
    let first = begin + SEGMENT_HEADER_BYTES as u64;
    file.seek(SeekFrom::Start(first))?;
    let mut scan = FrameScan {
        reader: BufReader::with_capacity(1 << 17, file),
        intact_offset: first,
        size: begin + u64::from(geometry.segment_bytes),
        since_restart: 0,
        previous: Some(header.checksum),
    };
    let mut segment = ScannedSegment {
        index: header.index,
        sequence: header.sequence,
        entries: Vec::new(),
        end_offset: first,
        last_checksum: header.checksum,
        is_ended: false,
    };
    while segment.entries.len() < max_frames {
        match scan.next_frame() {
            Ok(Some(entry)) if entry.head.kind == FrameKind::SegmentEnd => {
                segment.is_ended = true;
                break;
            }
            // The stream of a segment restarts at its first frame.
            Ok(Some(entry)) if segment.entries.is_empty() && !entry.head.is_restart => break,
            Ok(Some(_)) if scan.intact_offset + SEGMENT_END_BYTES > scan.size => break,
            Ok(Some(entry)) => {
                segment.entries.push(entry);
                segment.end_offset = scan.intact_offset;
                segment.last_checksum = scan.previous.unwrap_or(header.checksum);
            }
            Ok(None) | Err(ScanError::Damaged(_)) => break,
            Err(ScanError::Io(error)) => return Err(error),
        }
    }
    Ok(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_never_exceeds_the_given_size() {
        assert_eq!(RingGeometry::of_size(MIN_RING_BYTES - 1), None);
        assert_eq!(RingGeometry::of_size(MAX_RING_BYTES + 1), None);
        for size in [MIN_RING_BYTES, 50_000_000, 50_000_001, MAX_RING_BYTES] {
            let geometry = RingGeometry::of_size(size).unwrap();
            assert!(geometry.file_bytes() <= size, "{size}: {geometry:?}");
            assert!(
                geometry.file_bytes() + 200_000 > size,
                "{size}: {geometry:?}"
            );
        }
    }

    #[test]
    fn ring_header_with_any_flipped_bit_is_invalid() {
        let geometry = RingGeometry::of_size(MIN_RING_BYTES).unwrap();
        let head: [u8; RING_HEADER_FIELDS_BYTES] = geometry.encode().try_into().unwrap();
        assert_eq!(RingGeometry::decode(&head), Some(geometry));
        for bit in 12 * 8..head.len() * 8 {
            let mut flipped = head;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(RingGeometry::decode(&flipped), None, "bit {bit}");
        }
    }

    #[test]
    fn segment_header_with_any_flipped_bit_is_invalid() {
        let (head, sum) = encode_segment_header(77);
        assert_eq!(decode_segment_header(&head), Some((77, sum)));
        for bit in 0..head.len() * 8 {
            let mut flipped = head;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode_segment_header(&flipped), None, "bit {bit}");
        }
        assert_eq!(decode_segment_header(&encode_segment_header(0).0), None);
    }
}
