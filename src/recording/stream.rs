//! Appends lines to a file, compressed in members.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use flate2::{Compress, Compression, Crc, FlushCompress};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::member::{MAX_SAMPLES, MemberIndex, SampleMark, TRAILER_BYTES, encode_trailer};
use crate::files::output::append_whole;

/// Uncompressed bytes after which a member is completed.
const MEMBER_CONTENT_BYTES: usize = 1 << 20;
/// Uncompressed bytes of a line at most.
pub(super) const MAX_LINE_BYTES: usize = 32 << 20;

/// A file of a recording that is written. Each append is one write(2) and ends at a byte boundary of the
/// compressed data: what was appended can be read whatever happens to this process afterwards.
#[derive(Debug)]
pub(super) struct MemberStream {
    file: Arc<File>,
    /// Length of the file.
    end: u64,
    member: Option<OpenMember>,
}

/// The member that is written.
#[derive(Debug)]
struct OpenMember {
    begin: u64,
    index: MemberIndex,
    compress: Compress,
    /// Of what is in the file.
    content: Crc,
    /// Whether the compressor has seen what is not in the file: nothing may follow in this member.
    is_stale: bool,
}

/// Compressed lines that are not in the file yet.
#[derive(Debug)]
pub(super) struct Piece {
    bytes: Vec<u8>,
    /// The member that they begin.
    begun: Option<OpenMember>,
}

impl Piece {
    /// How much the file grows with it, up to the end of its member.
    pub(super) fn needed_bytes(&self) -> u64 {
        (self.bytes.len() + TRAILER_BYTES) as u64
    }
}

impl OpenMember {
    fn new(begin: u64) -> Self {
        Self {
            begin,
            index: MemberIndex::default(),
            compress: Compress::new(Compression::default(), false),
            content: Crc::new(),
            is_stale: false,
        }
    }

    fn is_full(&self) -> bool {
        let content_bytes = self.content.amount() as usize;
        self.index.marks.len() == MAX_SAMPLES || content_bytes >= MEMBER_CONTENT_BYTES
    }
}

impl MemberStream {
    /// For a file that is empty.
    pub(super) fn new(file: File) -> Self {
        Self {
            file: Arc::new(file),
            end: 0,
            member: None,
        }
    }

    /// The file.
    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Length of the file in bytes.
    pub(super) fn file_bytes(&self) -> u64 {
        self.end
    }

    /// Compresses whole lines. Unless [`Self::write`] follows, they are not part of the recording.
    ///
    /// # Errors
    /// If they are too long, or the compressor fails.
    pub(super) fn pack(&mut self, lines: &[u8]) -> io::Result<Piece> {
        if lines.len() > MAX_LINE_BYTES {
            let message = format!("{} bytes at a time are too many", lines.len());
            return Err(io::Error::other(message));
        }
        let mut bytes = Vec::with_capacity(lines.len() / 4 + 2048);
        if let Some(member) = &mut self.member
            && !member.is_full()
            && !member.is_stale
        {
            member.is_stale = true;
            compress(&mut member.compress, lines, &mut bytes)?;
            return Ok(Piece { bytes, begun: None });
        }
        if let Some(member) = &self.member {
            bytes.extend(encode_trailer(&member.content));
        }
        let mut begun = OpenMember::new(self.end + bytes.len() as u64);
        bytes.extend(begun.index.encode());
        compress(&mut begun.compress, lines, &mut bytes)?;
        Ok(Piece {
            bytes,
            begun: Some(begun),
        })
    }

    /// Appends a piece, which was packed last: all of it, or nothing.
    ///
    /// # Errors
    /// That of write(2).
    pub(super) fn write(
        &mut self,
        piece: Piece,
        lines: &[u8],
        mark: Option<SampleMark>,
    ) -> io::Result<()> {
        append_whole(&self.file, &piece.bytes, self.end)?;
        self.end += piece.bytes.len() as u64;
        if let Some(begun) = piece.begun {
            let (begin, ended) = (begun.begin, self.member.replace(begun));
            self.write_index(ended, begin);
        }
        if let Some(member) = &mut self.member {
            member.is_stale = false;
            member.content.update(lines);
            match mark {
                Some(mark) => member.index.marks.push(mark),
                None => member.index.has_requests = true,
            }
        }
        Ok(())
    }

    /// Completes the last member.
    ///
    /// # Errors
    /// That of write(2); the recording then ends like that of a killed recorder.
    pub(super) fn complete(&mut self) -> io::Result<()> {
        if let Some(member) = self.member.take() {
            let trailer = encode_trailer(&member.content);
            append_whole(&self.file, &trailer, self.end)?;
            self.end += trailer.len() as u64;
            self.write_index(Some(member), self.end);
        }
        Ok(())
    }

    /// Writes the index of a member that is complete in its header.
    fn write_index(&self, member: Option<OpenMember>, end: u64) {
        let Some(OpenMember { begin, index, .. }) = member else {
            return;
        };
        let Ok(member_bytes) = u32::try_from(end - begin) else {
            return;
        };
        let header = MemberIndex {
            member_bytes,
            ..index
        };
        // A reader decompresses a member that has no index.
        let _ = self.file.write_all_at(&header.encode(), begin);
    }
}

/// Compresses all of the input up to a byte boundary.
fn compress(compress: &mut Compress, input: &[u8], output: &mut Vec<u8>) -> io::Result<()> {
    let begin = compress.total_in();
    loop {
        let done = (compress.total_in() - begin) as usize;
        compress
            .compress_vec(&input[done..], output, FlushCompress::Sync)
            .map_err(io::Error::other)?;
        let done = (compress.total_in() - begin) as usize;
        // If the output buffer is not full, the compressor holds no more output.
        if done == input.len() && output.len() < output.capacity() {
            return Ok(());
        }
        output.reserve(output.capacity().max(1024));
    }
}

/// Whole lines of at most `limit` bytes together, unless one line is longer.
pub(super) fn line_chunks(mut lines: &[u8], limit: usize) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    while !lines.is_empty() {
        let is_end = |byte: &u8| *byte == b'\n';
        let within = lines.get(..limit).unwrap_or(lines);
        let last = within.iter().rposition(is_end);
        let end = last.or_else(|| lines.iter().position(is_end));
        let (chunk, rest) = lines.split_at(end.map_or(lines.len(), |end| end + 1));
        chunks.push(chunk);
        lines = rest;
    }
    chunks
}

/// What a line of a sample or of a trigger says about itself.
#[derive(Default, Deserialize)]
struct MarkedLine {
    time: String,
    #[serde(default)]
    devices: Vec<DeviceRates>,
}

#[derive(Deserialize)]
struct DeviceRates {
    parent: Option<IgnoredAny>,
    read_bytes_per_s: Option<f64>,
    write_bytes_per_s: Option<f64>,
}

/// The mark of a line: its time, and the bytes per second of the devices without devices below them.
/// Both are unknown if it is no sample and no trigger.
pub(super) fn mark_of_line(line: &[u8]) -> SampleMark {
    let line: MarkedLine = serde_json::from_slice(line).unwrap_or_default();
    let time: Option<jiff::Timestamp> = line.time.parse().ok();
    let time_ms = time.and_then(|time| u64::try_from(time.as_millisecond()).ok());
    let drives = line.devices.iter().filter(|device| device.parent.is_none());
    let rates: Vec<f64> = drives
        .filter_map(|drive| Some(drive.read_bytes_per_s? + drive.write_bytes_per_s?))
        .collect();
    SampleMark {
        time_ms: time_ms.unwrap_or(0),
        bytes_per_s: (!rates.is_empty()).then(|| rates.iter().sum::<f64>() as u64),
    }
}

/// Whether a line is a request, as `trace --json` prints it: its time counts from the begin of the trace.
pub(super) fn is_request(line: &[u8]) -> bool {
    line.starts_with(b"{\"time_ns\":")
}
