//! Reads the headers of frames and verifies their checksums, without decompressing them.

use std::io::{self, Read};

use super::frame::{FRAME_HEADER_BYTES, FrameHeader, begin_checksum, decode_frame_header};

/// Maximum number of frames since the last restart of the compressed stream, all of which opening a
/// frame may have to decompress. The recorder restarts the stream after 60.
const MAX_FRAMES_SINCE_RESTART: usize = 4096;

/// A frame in the index, not decompressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameEntry {
    /// Its header.
    pub(super) head: FrameHeader,
    /// Where its payload begins in the file.
    pub(super) payload_offset: u64,
}

/// Why the next frame cannot be read.
#[derive(Debug)]
pub(super) enum ScanError {
    /// It is damaged, or missing.
    Damaged(&'static str),
    /// The file cannot be read.
    Io(io::Error),
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Damaged("the file is truncated"),
            _ => Self::Io(error),
        }
    }
}

/// Iterates over the frames of a file, or of a segment of a ring.
#[derive(Debug)]
pub(super) struct FrameScan<R> {
    /// Reads from `intact_offset` on.
    pub(super) reader: R,
    /// The file is intact up to this offset.
    pub(super) intact_offset: u64,
    /// Offset at which the frames end.
    pub(super) size: u64,
    /// Frames since the last restart of the compressed stream.
    pub(super) since_restart: usize,
    /// In a ring, the checksum of the frame before.
    pub(super) previous: Option<u32>,
}

impl<R: Read> FrameScan<R> {
    /// Reads and verifies the next frame; `None` at the end.
    pub(super) fn next_frame(&mut self) -> Result<Option<FrameEntry>, ScanError> {
        if self.intact_offset >= self.size {
            return Ok(None);
        }
        let mut bytes = [0; FRAME_HEADER_BYTES];
        self.reader.read_exact(&mut bytes)?;
        let (head, sum) =
            decode_frame_header(&bytes).ok_or(ScanError::Damaged("the frame header is invalid"))?;
        let payload = self.intact_offset + FRAME_HEADER_BYTES as u64;
        let end = payload + head.payload_bytes as u64;
        if end > self.size {
            return Err(ScanError::Damaged("the file is truncated"));
        }
        if self.read_checksum(&bytes[..FRAME_HEADER_BYTES - 4], head.payload_bytes)? != sum {
            return Err(ScanError::Damaged("the checksum is wrong"));
        }
        self.since_restart = match head.is_restart {
            true => 0,
            false => self.since_restart + 1,
        };
        if self.since_restart > MAX_FRAMES_SINCE_RESTART {
            return Err(ScanError::Damaged(
                "the compressed stream is never restarted",
            ));
        }
        self.intact_offset = end;
        self.previous = self.previous.map(|_| sum);
        Ok(Some(FrameEntry {
            head,
            payload_offset: payload,
        }))
    }

    /// Computes the checksum of a frame whose payload follows.
    fn read_checksum(&mut self, head: &[u8], length: usize) -> io::Result<u32> {
        let mut crc = begin_checksum(self.previous);
        crc.update(head);
        let mut piece = [0; 16 << 10];
        let mut left = length;
        while left > 0 {
            let next = left.min(piece.len());
            self.reader.read_exact(&mut piece[..next])?;
            crc.update(&piece[..next]);
            left -= next;
        }
        Ok(crc.sum())
    }
}
