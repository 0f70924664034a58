//! Appends lines to a file, compressed in members.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::error::RecordingWriteError;
use super::line::{is_request, mark_of_line};
use super::member::{MAX_SAMPLES, MemberIndex, TRAILER_BYTES, encode_trailer};
use crate::files::output::append_whole;

/// Uncompressed bytes after which a member is completed.
const MEMBER_CONTENT_BYTES: usize = 1 << 20;
/// Uncompressed bytes that are appended at a time at most.
pub(super) const MAX_APPENDED_BYTES: usize = 32 << 20;

/// Whether something was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendResult {
    /// It is in the recording.
    Written,
    /// The recording would exceed its limit: left out.
    LimitReached,
    /// The file system is almost full: left out.
    NoRoom,
}

/// A file of a recording that is written. Each append is one write(2) and ends at a byte boundary of the
/// compressed data: what was appended can be read whatever happens to this process afterwards.
#[derive(Debug)]
pub(super) struct MemberStream {
    path: PathBuf,
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
    /// What it has compressed is taken out of it at once.
    encoder: DeflateEncoder<Vec<u8>>,
    /// Of what is in the file.
    content: Crc,
    /// Whether the compressor has seen what is not in the file: nothing may follow in this member.
    is_stale: bool,
}

impl OpenMember {
    fn new(begin: u64) -> Self {
        Self {
            begin,
            index: MemberIndex::default(),
            encoder: DeflateEncoder::new(Vec::new(), Compression::default()),
            content: Crc::new(),
            is_stale: false,
        }
    }

    fn goes_on(&self) -> bool {
        self.index.marks.len() < MAX_SAMPLES
            && (self.content.amount() as usize) < MEMBER_CONTENT_BYTES
            && !self.is_stale
    }

    /// Compresses lines up to a byte boundary.
    fn compress(&mut self, lines: &[u8]) -> io::Result<Vec<u8>> {
        self.is_stale = true;
        self.encoder.write_all(lines)?;
        self.encoder.flush()?;
        Ok(std::mem::take(self.encoder.get_mut()))
    }

    /// Notes what was written: a line of a sample or trigger, those of requests, or both.
    fn note(&mut self, lines: &[u8]) {
        self.is_stale = false;
        self.content.update(lines);
        let mut each = lines.split_inclusive(|byte| *byte == b'\n');
        if let Some(first) = each.next().filter(|line| !is_request(line)) {
            self.index.marks.push(mark_of_line(first));
        }
        self.index.has_requests |= is_request(each.next_back().unwrap_or(lines));
    }
}

impl MemberStream {
    /// For a file that is empty.
    pub(super) fn new(path: PathBuf, file: File) -> Self {
        Self {
            path,
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

    /// An error of the file.
    pub(super) fn failed(&self, error: impl Into<io::Error>) -> RecordingWriteError {
        RecordingWriteError::write(&self.path, error)
    }

    /// Appends whole lines, all of them or none: one of a sample or trigger, those of requests, or both.
    /// `permit` is asked before whether the file may grow to so many bytes.
    ///
    /// # Errors
    /// If they are too long or cannot be written. A full file system is no error.
    pub(super) fn append(
        &mut self,
        lines: &[u8],
        permit: impl FnOnce(&File, u64) -> Result<AppendResult, RecordingWriteError>,
    ) -> Result<AppendResult, RecordingWriteError> {
        if lines.len() > MAX_APPENDED_BYTES {
            return Err(self.failed(io::ErrorKind::FileTooLarge));
        }
        let packed = self.pack(lines);
        let (begun, bytes) = packed.map_err(|error| self.failed(error))?;
        let end = self.end + bytes.len() as u64;
        let permitted = permit(&self.file, end + TRAILER_BYTES as u64)?;
        if permitted != AppendResult::Written {
            return Ok(permitted);
        }
        match append_whole(&self.file, &bytes, self.end) {
            Ok(()) => {}
            Err(error) if is_no_space(&error) => return Ok(AppendResult::NoRoom),
            Err(error) => return Err(self.failed(error)),
        }
        self.end = end;
        if let Some(begun) = begun {
            let (begin, ended) = (begun.begin, self.member.replace(begun));
            self.write_index(ended, begin);
        }
        if let Some(member) = &mut self.member {
            member.note(lines);
        }
        Ok(AppendResult::Written)
    }

    /// Compresses lines; returns the member that they begin, and what is to be written.
    fn pack(&mut self, lines: &[u8]) -> io::Result<(Option<OpenMember>, Vec<u8>)> {
        let mut bytes = match &mut self.member {
            Some(member) if member.goes_on() => return Ok((None, member.compress(lines)?)),
            Some(ended) => encode_trailer(&ended.content),
            None => Vec::new(),
        };
        let mut begun = OpenMember::new(self.end + bytes.len() as u64);
        bytes.extend(begun.index.encode());
        bytes.extend(begun.compress(lines)?);
        Ok((Some(begun), bytes))
    }

    /// Completes the last member.
    ///
    /// # Errors
    /// That of write(2); the recording then ends like that of a killed recorder.
    pub(super) fn complete(&mut self) -> Result<(), RecordingWriteError> {
        let Some(member) = self.member.take() else {
            return Ok(());
        };
        let trailer = encode_trailer(&member.content);
        append_whole(&self.file, &trailer, self.end).map_err(|error| self.failed(error))?;
        self.end += trailer.len() as u64;
        self.write_index(Some(member), self.end);
        Ok(())
    }

    /// Writes the index of a member that is complete in its header.
    fn write_index(&self, member: Option<OpenMember>, end: u64) {
        if let Some(mut member) = member {
            // A reader decompresses a member that has no index.
            member.index.member_bytes = u32::try_from(end - member.begin).unwrap_or(0);
            let _ = self.file.write_all_at(&member.index.encode(), member.begin);
        }
    }

    /// The same, and waits until all of the file is on the medium.
    ///
    /// # Errors
    /// Those of write(2) and fdatasync(2).
    pub(super) fn end(&mut self) -> Result<(), RecordingWriteError> {
        self.complete()?;
        self.file.sync_data().map_err(|error| self.failed(error))
    }
}

/// Whether a write failed because the file system, or the user's share of it, is full.
pub(super) fn is_no_space(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}
