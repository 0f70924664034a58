//! File format: a header, then frames with one checksum each.
//!
//! ```text
//! file    "DSKSCOPE" version:u32 zero:u32
//! frame   kind:u8 flags:u8 zero:u16 length:u32 time_ms:u64 bytes_per_s:u64 checksum:u32 payload
//! ```
//!
//! Numbers are little-endian. The checksum is the CRC-32 of zlib over the frame's header before it
//! and the payload. Payloads are one stream of raw deflate (RFC 1951), flushed to a byte boundary
//! after each frame. The stream restarts at frames with the flag [`RESTART_FLAG`]. Successive views
//! are similar, so that a view in the stream takes a tenth of the bytes of a view compressed alone.
//! Uncompressed, a payload consists of lines of JSON: for a view the object of `watch --json`, for
//! requests those of `trace --json`.
//!
//! [`super::ring`] describes the file of a ring, which consists of the same frames. There the
//! checksum also covers the checksum of the frame before, so that a frame of an earlier round is
//! never taken for one of this round.

use flate2::Crc;

/// Magic number: the first bytes of a file.
pub const MAGIC: [u8; 8] = *b"DSKSCOPE";
/// Version of the format that this program writes.
pub const FORMAT_VERSION: u32 = 1;
/// Size of the file header in bytes.
pub const FILE_HEADER_BYTES: usize = 16;
/// Size of a frame header in bytes.
pub const FRAME_HEADER_BYTES: usize = 28;
/// Flag of a frame that can be decompressed without the frames before it.
pub const RESTART_FLAG: u8 = 1;
/// Maximum size of a frame's content in bytes, compressed or not.
pub const MAX_CONTENT_BYTES: usize = 64 << 20;
/// Represents an unknown rate.
const UNKNOWN_RATE: u64 = u64::MAX;

/// Content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// A view.
    View,
    /// Requests since the previous frame.
    Requests,
    /// The regular end of the recording; the content is the reason.
    EndOfRecording,
    /// Requests around a trigger, whose frame follows them; only in a ring.
    TriggerRequests,
    /// A trigger; only in a ring.
    Trigger,
    /// The end of a segment; only in a ring.
    SegmentEnd,
}

impl FrameKind {
    const ALL: [Self; 6] = [
        Self::View,
        Self::Requests,
        Self::EndOfRecording,
        Self::TriggerRequests,
        Self::Trigger,
        Self::SegmentEnd,
    ];

    fn to_byte(self) -> u8 {
        match self {
            Self::View => 1,
            Self::Requests => 2,
            Self::EndOfRecording => 3,
            Self::TriggerRequests => 4,
            Self::Trigger => 5,
            Self::SegmentEnd => 6,
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.to_byte() == byte)
    }
}

/// Summary of a frame that can be read without decompressing it; sufficient for a time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameMark {
    /// Wall-clock time in milliseconds since 1970.
    pub time_ms: u64,
    /// Throughput of the drives in bytes per second; `None` if unknown.
    pub bytes_per_s: Option<u64>,
}

/// Header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Content of the frame.
    pub kind: FrameKind,
    /// Whether the compressed stream restarts at this frame.
    pub is_restart: bool,
    /// Size of the payload in bytes.
    pub payload_bytes: usize,
    /// Summary of the frame.
    pub mark: FrameMark,
}

/// Encodes the header of a file.
#[must_use]
pub fn encode_file_header() -> [u8; FILE_HEADER_BYTES] {
    let mut head = [0; FILE_HEADER_BYTES];
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    head
}

/// Encodes a whole frame; `previous` is the checksum of the frame before, in a ring.
#[must_use]
pub fn encode_frame(
    kind: FrameKind,
    is_restart: bool,
    mark: FrameMark,
    payload: &[u8],
    previous: Option<u32>,
) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_HEADER_BYTES + payload.len());
    frame.extend([
        kind.to_byte(),
        if is_restart { RESTART_FLAG } else { 0 },
        0,
        0,
    ]);
    // Payloads are at most `MAX_CONTENT_BYTES` long.
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend(mark.time_ms.to_le_bytes());
    frame.extend(mark.bytes_per_s.unwrap_or(UNKNOWN_RATE).to_le_bytes());
    let sum = frame_checksum(previous, &frame, payload);
    frame.extend(sum.to_le_bytes());
    frame.extend(payload);
    frame
}

/// Decodes a frame's header and its checksum; `None` if it is invalid.
#[must_use]
pub fn decode_frame_header(bytes: &[u8; FRAME_HEADER_BYTES]) -> Option<(FrameHeader, u32)> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes[at..at + 4].try_into().ok()?));
    let long = |at: usize| Some(u64::from_le_bytes(bytes[at..at + 8].try_into().ok()?));
    let length = word(4)? as usize;
    let rate = long(16)?;
    let head = FrameHeader {
        kind: FrameKind::from_byte(bytes[0])?,
        is_restart: bytes[1] & RESTART_FLAG != 0,
        payload_bytes: length,
        mark: FrameMark {
            time_ms: long(8)?,
            bytes_per_s: (rate != UNKNOWN_RATE).then_some(rate),
        },
    };
    (length <= MAX_CONTENT_BYTES).then_some((head, word(24)?))
}

/// Begins the checksum of a frame; in a ring it covers the checksum of the frame before.
#[must_use]
pub fn begin_checksum(previous: Option<u32>) -> Crc {
    let mut crc = Crc::new();
    if let Some(previous) = previous {
        crc.update(&previous.to_le_bytes());
    }
    crc
}

/// Checksum of a frame's header up to the checksum, and of its payload.
#[must_use]
pub fn frame_checksum(previous: Option<u32>, head: &[u8], payload: &[u8]) -> u32 {
    let mut crc = begin_checksum(previous);
    crc.update(head);
    crc.update(payload);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frame_header_round_trips(
            time_ms: u64, rate in proptest::option::of(0..u64::MAX), is_restart: bool,
            payload in proptest::collection::vec(any::<u8>(), 0..50),
            previous in proptest::option::of(any::<u32>())
        ) {
            let mark = FrameMark { time_ms, bytes_per_s: rate };
            let frame = encode_frame(FrameKind::Requests, is_restart, mark, &payload, previous);
            let bytes: &[u8; FRAME_HEADER_BYTES] = frame[..FRAME_HEADER_BYTES].try_into().unwrap();
            let (head, sum) = decode_frame_header(bytes).unwrap();
            prop_assert_eq!(head.kind, FrameKind::Requests);
            prop_assert_eq!((head.is_restart, head.mark), (is_restart, mark));
            prop_assert_eq!(head.payload_bytes, payload.len());
            prop_assert_eq!(sum, frame_checksum(previous, &frame[..24], &payload));
        }

        #[test]
        fn arbitrary_frame_header_does_not_panic(bytes: [u8; FRAME_HEADER_BYTES]) {
            if let Some((head, _)) = decode_frame_header(&bytes) {
                prop_assert!(head.payload_bytes <= MAX_CONTENT_BYTES);
            }
        }
    }
}
