//! The file: a head, then frames, each of which stands or falls by its checksum.
//!
//! ```text
//! file    "DSKSCOPE" version:u32 zero:u32
//! frame   kind:u8 flags:u8 zero:u16 length:u32 time_ms:u64 bytes_per_s:u64 checksum:u32 payload
//! ```
//!
//! Numbers are little-endian. The checksum is the CRC-32 of zlib over the frame's head before it
//! and the payload. Payloads are one stream of raw deflate (RFC 1951), flushed to a byte boundary
//! after each frame, which begins anew at frames with the flag [`RESTART`]: successive views are
//! much alike, and one costs a tenth of what it would alone. Uncompressed they are lines of JSON:
//! of a view the object of `watch --json`, of requests those of `trace --json`.

use flate2::Crc;

/// First bytes of a file.
pub const MAGIC: [u8; 8] = *b"DSKSCOPE";
/// Version of the layout that is written.
pub const VERSION: u32 = 1;
/// Length of the file's head.
pub const FILE_HEAD: usize = 16;
/// Length of a frame's head.
pub const FRAME_HEAD: usize = 28;
/// Flag of a frame whose compression needs nothing before it.
pub const RESTART: u8 = 1;
/// No frame's content is longer than this, compressed or not.
pub const LONGEST: usize = 64 << 20;
/// Stands for a rate that is not known.
const UNKNOWN: u64 = u64::MAX;

/// What a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A view.
    View,
    /// Requests since the frame before.
    Requests,
    /// The recording ended here as it should; its content says why.
    End,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::View => 1,
            Self::Requests => 2,
            Self::End => 3,
        }
    }

    fn of(byte: u8) -> Option<Self> {
        [Self::View, Self::Requests, Self::End]
            .into_iter()
            .find(|kind| kind.byte() == byte)
    }
}

/// What is known of a frame without opening it: enough to draw a time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Calendar time in milliseconds since 1970.
    pub time_ms: u64,
    /// Bytes per second that the drives moved; `None` where that is not known.
    pub bytes_per_s: Option<u64>,
}

/// Head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// What it holds.
    pub kind: Kind,
    /// Whether its compression begins anew.
    pub is_restart: bool,
    /// Length of the payload.
    pub length: usize,
    /// What is known of it.
    pub mark: Mark,
}

/// The head of a file.
#[must_use]
pub fn file_head() -> [u8; FILE_HEAD] {
    let mut head = [0; FILE_HEAD];
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head
}

/// A whole frame.
#[must_use]
pub fn encode(kind: Kind, is_restart: bool, mark: Mark, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_HEAD + payload.len());
    frame.extend([kind.byte(), if is_restart { RESTART } else { 0 }, 0, 0]);
    // Payloads are at most `LONGEST`.
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend(mark.time_ms.to_le_bytes());
    frame.extend(mark.bytes_per_s.unwrap_or(UNKNOWN).to_le_bytes());
    let sum = checksum(&frame, payload);
    frame.extend(sum.to_le_bytes());
    frame.extend(payload);
    frame
}

/// Reads a frame's head and the checksum in it; `None` where it is none.
#[must_use]
pub fn decode(bytes: &[u8; FRAME_HEAD]) -> Option<(Head, u32)> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes[at..at + 4].try_into().ok()?));
    let long = |at: usize| Some(u64::from_le_bytes(bytes[at..at + 8].try_into().ok()?));
    let length = word(4)? as usize;
    let rate = long(16)?;
    let head = Head {
        kind: Kind::of(bytes[0])?,
        is_restart: bytes[1] & RESTART != 0,
        length,
        mark: Mark {
            time_ms: long(8)?,
            bytes_per_s: (rate != UNKNOWN).then_some(rate),
        },
    };
    (length <= LONGEST).then_some((head, word(24)?))
}

/// Checksum of a frame's head up to the checksum, and its payload.
#[must_use]
pub fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut crc = Crc::new();
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
        fn a_head_is_read_as_it_was_written(
            time_ms: u64, rate in proptest::option::of(0..u64::MAX), is_restart: bool,
            payload in proptest::collection::vec(any::<u8>(), 0..50)
        ) {
            let mark = Mark { time_ms, bytes_per_s: rate };
            let frame = encode(Kind::Requests, is_restart, mark, &payload);
            let bytes: &[u8; FRAME_HEAD] = frame[..FRAME_HEAD].try_into().unwrap();
            let (head, sum) = decode(bytes).unwrap();
            prop_assert_eq!(head.kind, Kind::Requests);
            prop_assert_eq!((head.is_restart, head.mark), (is_restart, mark));
            prop_assert_eq!(head.length, payload.len());
            prop_assert_eq!(sum, checksum(&frame[..24], &payload));
        }

        #[test]
        fn no_head_makes_it_stumble(bytes: [u8; FRAME_HEAD]) {
            if let Some((head, _)) = decode(&bytes) {
                prop_assert!(head.length <= LONGEST);
            }
        }
    }
}
