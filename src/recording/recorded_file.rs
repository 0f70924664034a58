//! Finds and reads the members of one file of a recording.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::GzDecoder;

use super::error::{RecordingDamage, RecordingReadError};
use super::line::{is_request, mark_of_line};
use super::member::{HEADER_BYTES, MemberIndex, SampleMark};
use super::stream::MAX_APPENDED_BYTES;
use crate::files::error::FileError;
use crate::files::file_id::FileId;
use crate::files::input::{InputKind, open_input};

/// Uncompressed bytes of a member at most: a real one ends with the lines that reach 1 MiB.
const MAX_CONTENT_BYTES: usize = MAX_APPENDED_BYTES + (1 << 20);
/// What is wrong with a member that ends early.
const CUT_OFF: &str = "it is cut off";

/// One file of a recording.
#[derive(Debug)]
pub(super) struct RecordedFile {
    path: PathBuf,
    /// It can be read although the recorder deletes it meanwhile.
    file: File,
    pub(super) id: FileId,
}

/// A member of a file.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) file: Arc<RecordedFile>,
    offset: u64,
    /// Its length; up to the end of the file where it is not complete.
    bytes: u64,
    /// Its samples.
    pub(super) marks: Vec<SampleMark>,
    /// Whether it has lines of requests.
    pub(super) has_requests: bool,
    /// Why it has no end; what is before that can be read.
    problem: Option<&'static str>,
}

/// The decompressed lines of a member.
#[derive(Debug, Default)]
pub(super) struct MemberContent {
    /// Its complete lines.
    bytes: Vec<u8>,
    /// What is wrong behind these lines.
    problem: Option<&'static str>,
    /// Compressed bytes up to the end of the member, where that was found.
    consumed: Option<u64>,
}

impl MemberContent {
    /// The complete lines, without their ends.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let lines = self.bytes.split_inclusive(|byte| *byte == b'\n');
        lines.map(|line| &line[..line.len() - 1])
    }
}

impl Member {
    /// Whether the recorder has completed it.
    pub(super) fn is_complete(&self) -> bool {
        self.problem.is_none()
    }

    /// Decompresses it.
    ///
    /// # Errors
    /// If it is damaged, or cannot be read. The content of a member that was not completed is what
    /// could be read.
    pub(super) fn read(&self) -> Result<MemberContent, RecordingReadError> {
        let read = self.file.decompress(self.offset, self.bytes);
        let content = read.map_err(|error| FileError::io("read", &self.file.path, error))?;
        match content.problem.filter(|_| self.is_complete()) {
            Some(reason) => Err(self.damage(reason).into()),
            None => Ok(content),
        }
    }

    /// What is said where it, or a line of it, cannot be read.
    pub(super) fn damage(&self, reason: &str) -> RecordingDamage {
        RecordingDamage {
            path: self.file.path.clone(),
            offset: self.offset,
            bytes: self.bytes,
            reason: reason.to_owned(),
        }
    }
}

/// The members of a file, and the first damage.
pub(super) type FoundMembers = (Vec<Member>, Option<RecordingDamage>);

/// Opens a file by its path and finds its members.
pub(super) fn open_members(path: &Path) -> Result<FoundMembers, RecordingReadError> {
    let (file, id) = open_input(path, InputKind::RegularFile)?;
    members_of(path, file, id)
}

/// Finds the members of a file; messages call it `path`. Goes from header to header, up to a member that has no end:
/// what the recorder was writing, or damage.
pub(super) fn members_of(
    path: &Path,
    file: File,
    id: FileId,
) -> Result<FoundMembers, RecordingReadError> {
    let path = path.to_owned();
    let file = Arc::new(RecordedFile { path, file, id });
    let failed = |error| FileError::io("read", &file.path, error);
    let size = file.file.metadata().map_err(failed)?.len();
    let (mut members, mut damage, mut offset) = (Vec::new(), None, 0);
    while offset < size {
        let member = file.member_at(offset, size - offset).map_err(failed)?;
        offset += member.bytes;
        if let Some(reason) = member.problem.filter(|reason| *reason != CUT_OFF) {
            damage = Some(member.damage(reason));
        }
        members.push(member);
    }
    let has_lines = |member: &Member| !member.marks.is_empty() || member.has_requests;
    if damage.is_some() && !members.iter().any(has_lines) {
        let reason = "it does not begin with a gzip member of one";
        return Err(RecordingReadError::NotARecording(file.path.clone(), reason));
    }
    Ok((members, damage))
}

impl RecordedFile {
    /// The member at that offset, behind which the file has so many bytes. One without an index is decompressed.
    fn member_at(self: &Arc<Self>, offset: u64, rest: u64) -> io::Result<Member> {
        let mut header = [0; HEADER_BYTES];
        let index = match self.file.read_exact_at(&mut header, offset) {
            Ok(()) => MemberIndex::decode(&header),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        let file = Arc::clone(self);
        if let Some(index) = index.filter(|index| u64::from(index.member_bytes) <= rest) {
            return Ok(Member {
                file,
                offset,
                bytes: index.member_bytes.into(),
                marks: index.marks,
                has_requests: index.has_requests,
                problem: None,
            });
        }
        let content = self.decompress(offset, rest)?;
        let samples = content.lines().filter(|line| !is_request(line));
        Ok(Member {
            file,
            offset,
            bytes: content.consumed.unwrap_or(rest),
            marks: samples.map(mark_of_line).collect(),
            has_requests: content.lines().any(is_request),
            problem: content.problem,
        })
    }

    /// Decompresses the member that begins at an offset and has at most so many bytes.
    fn decompress(&self, offset: u64, bytes: u64) -> io::Result<MemberContent> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))?;
        let mut decoder = GzDecoder::new(BufReader::new(file.take(bytes)));
        let mut content = MemberContent::default();
        let read = (&mut decoder)
            .take(MAX_CONTENT_BYTES as u64 + 1)
            .read_to_end(&mut content.bytes);
        content.problem = match read.map_err(|error| (error.kind(), error)) {
            Ok(_) if content.bytes.len() > MAX_CONTENT_BYTES => Some("it is too large"),
            Ok(_) => {
                let compressed = decoder.into_inner();
                let left = compressed.buffer().len() as u64 + compressed.get_ref().limit();
                content.consumed = Some(bytes - left);
                None
            }
            Err((io::ErrorKind::UnexpectedEof, _)) => Some(CUT_OFF),
            Err((io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData, _)) => {
                Some("its compressed data or their checksum are wrong")
            }
            Err((_, error)) => return Err(error),
        };
        let mut bytes = content.bytes.iter();
        let complete = bytes
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        content.bytes.truncate(complete);
        Ok(content)
    }
}
