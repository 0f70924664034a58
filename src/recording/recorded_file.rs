//! Finds and reads the members of one file of a recording.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

use super::member::{
    HEADER_BYTES, Header, MAX_SAMPLES, MemberIndex, SampleMark, VERSION, decode, find_header,
};
use super::stream::{MAX_LINE_BYTES, is_request, mark_of_line};
use crate::files::error::FileError;
use crate::files::file_id::FileId;
use crate::files::input::{InputKind, open_input};

/// Uncompressed bytes of a member at most: a real one ends with the line that reaches 1 MiB.
const MAX_CONTENT_BYTES: usize = MAX_LINE_BYTES + (1 << 20);
/// Bytes in which the next header is searched at a time.
const SEARCH_BYTES: usize = 1 << 16;
/// What is wrong with a member that ends early.
const CUT_OFF: &str = "it is cut off";
/// Begins of recordings of versions that were never released.
const EARLIER_MAGIC: [&[u8]; 2] = [b"DSKSCOPE", b"DSKSRING"];

/// Why a recording cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingReadError {
    /// A system call failed.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// The operation.
        tried: &'static str,
        /// The path of its file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The file cannot be opened or is no regular file.
    #[error(transparent)]
    Input(#[from] FileError),
    /// The file or directory is no recording.
    #[error("{} is not a diskscope recording: {reason}", path.display())]
    NotARecording {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A part of it is damaged; the others can be read.
    #[error(transparent)]
    Damaged(#[from] RecordingDamage),
}

/// A part of a recording that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RecordingDamage {
    /// Path of the file.
    pub path: PathBuf,
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
    /// What is wrong.
    pub reason: String,
}

impl RecordingDamage {
    /// A file that cannot be read at all.
    pub(super) fn of_file(path: PathBuf, reason: String) -> Self {
        let bytes = std::fs::metadata(&path).map_or(0, |about| about.len());
        Self {
            path,
            offset: 0,
            bytes,
            reason,
        }
    }
}

impl fmt::Display for RecordingDamage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, offset) = (self.path.display(), self.offset);
        write!(
            formatter,
            "{path} is damaged at byte {offset}: {}; {} bytes are left out",
            self.reason, self.bytes
        )
    }
}

/// A member of a file.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Where it begins.
    pub(super) offset: u64,
    /// Its length; up to the end of the file where it is not complete.
    pub(super) bytes: u64,
    /// Its samples.
    pub(super) marks: Vec<SampleMark>,
    /// Whether it has lines of requests.
    pub(super) has_requests: bool,
    /// Why it has no end; what is before that can be read.
    problem: Option<&'static str>,
}

/// One file of a recording.
#[derive(Debug)]
pub(super) struct RecordedFile {
    path: PathBuf,
    /// It can be read although the recorder deletes it meanwhile.
    file: File,
    pub(super) id: FileId,
    pub(super) members: Vec<Member>,
    pub(super) damage: Option<RecordingDamage>,
}

/// The decompressed lines of a member.
#[derive(Debug, Default)]
pub(super) struct MemberContent {
    bytes: Vec<u8>,
    /// The ends of its complete lines.
    ends: Vec<usize>,
    /// What is wrong behind these lines.
    problem: Option<&'static str>,
    /// Compressed bytes up to the end of the member, where that was found.
    consumed: Option<u64>,
}

impl MemberContent {
    /// The complete lines, without their ends.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let mut begin = 0;
        self.ends.iter().map(move |end| {
            let line = &self.bytes[begin..*end];
            begin = end + 1;
            line
        })
    }
}

impl RecordedFile {
    /// Opens a file by its path.
    pub(super) fn open(path: &Path) -> Result<Self, RecordingReadError> {
        let (file, id) = open_input(path, InputKind::RegularFile)?;
        Self::of_file(path, file, id)
    }

    /// Finds the members of a file; messages call it `path`.
    pub(super) fn of_file(path: &Path, file: File, id: FileId) -> Result<Self, RecordingReadError> {
        let mut opened = Self {
            path: path.to_owned(),
            file,
            id,
            members: Vec::new(),
            damage: None,
        };
        opened.find_members()?;
        Ok(opened)
    }

    /// Whether its last member is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.members
            .last()
            .is_some_and(|last| last.problem.is_none())
    }

    /// Goes from header to header. What has no index is decompressed; what is no member is skipped.
    fn find_members(&mut self) -> Result<(), RecordingReadError> {
        let path = self.path.clone();
        let failed = |source| read_failure(&path, source);
        let size = self.file.metadata().map_err(failed)?.len();
        let mut offset = 0;
        while offset < size {
            let header = read_header(&self.file, offset).map_err(failed)?;
            let mut member = match header {
                Some(Header::Indexed(index)) if offset + u64::from(index.member_bytes) <= size => {
                    indexed_member(offset, index)
                }
                Some(Header::OtherVersion(version)) => {
                    let reason = format!("its format has version {version}, and this is {VERSION}");
                    return Err(self.not_a_recording(reason));
                }
                Some(_) => read_unindexed(&self.file, offset, size).map_err(failed)?,
                None => {
                    let next = find_member(&self.file, offset + 1, size).map_err(failed)?;
                    if offset == 0 && next == size {
                        return Err(self.foreign());
                    }
                    self.note_damage(offset, next, "no member begins there");
                    offset = next;
                    continue;
                }
            };
            if let Some(reason) = member.problem {
                let next = find_member(&self.file, offset + 1, size).map_err(failed)?;
                member.bytes = next - offset;
                // At the end of the file it is what the recorder was writing.
                if next < size || reason != CUT_OFF {
                    self.note_damage(offset, next, reason);
                }
            }
            offset += member.bytes;
            self.members.push(member);
        }
        Ok(())
    }

    fn note_damage(&mut self, offset: u64, end: u64, reason: &'static str) {
        let damage = || RecordingDamage {
            path: self.path.clone(),
            offset,
            bytes: end - offset,
            reason: reason.to_owned(),
        };
        self.damage.get_or_insert_with(damage);
    }

    fn foreign(&self) -> RecordingReadError {
        let mut begin = [0; 8];
        let read = self.file.read_exact_at(&mut begin, 0);
        let reason = if read.is_ok() && EARLIER_MAGIC.contains(&&begin[..]) {
            "an earlier diskscope has written it; record again"
        } else {
            "it does not begin with a gzip member of one"
        };
        self.not_a_recording(reason.to_owned())
    }

    fn not_a_recording(&self, reason: String) -> RecordingReadError {
        RecordingReadError::NotARecording {
            path: self.path.clone(),
            reason,
        }
    }

    /// Decompresses a member.
    ///
    /// # Errors
    /// If it is damaged, or cannot be read. The content of a member that was not completed is what
    /// could be read.
    pub(super) fn read(&self, member: usize) -> Result<MemberContent, RecordingReadError> {
        let member = &self.members[member];
        let content = decompress(&self.file, member.offset, member.bytes)
            .map_err(|source| read_failure(&self.path, source))?;
        match content.problem {
            Some(reason) if member.problem.is_none() => Err(self.damaged(member, reason)),
            _ => Ok(content),
        }
    }

    /// The error for a member with a line that is none of a recording.
    pub(super) fn invalid_line(&self, member: usize, reason: &str) -> RecordingReadError {
        self.damaged(&self.members[member], reason)
    }

    fn damaged(&self, member: &Member, reason: &str) -> RecordingReadError {
        RecordingReadError::Damaged(RecordingDamage {
            path: self.path.clone(),
            offset: member.offset,
            bytes: member.bytes,
            reason: reason.to_owned(),
        })
    }
}

fn read_failure(path: &Path, source: io::Error) -> RecordingReadError {
    RecordingReadError::Io {
        tried: "read",
        path: path.to_owned(),
        source,
    }
}

fn indexed_member(offset: u64, index: MemberIndex) -> Member {
    Member {
        offset,
        bytes: index.member_bytes.into(),
        marks: index.marks,
        has_requests: index.has_requests,
        problem: None,
    }
}

/// The header at that offset; `None` if there is none.
fn read_header(file: &File, offset: u64) -> io::Result<Option<Header>> {
    let mut bytes = [0; HEADER_BYTES];
    match file.read_exact_at(&mut bytes, offset) {
        Ok(()) => Ok(decode(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// A member whose index is missing, damaged, or points beyond the end of the file.
fn read_unindexed(file: &File, offset: u64, size: u64) -> io::Result<Member> {
    let content = decompress(file, offset, size - offset)?;
    let samples = content.lines().filter(|line| !is_request(line));
    let marks = samples.take(MAX_SAMPLES).map(mark_of_line).collect();
    Ok(Member {
        offset,
        bytes: content.consumed.unwrap_or(size - offset),
        marks,
        has_requests: content.lines().any(is_request),
        problem: content.problem,
    })
}

/// Where the next member begins, or the end of the file.
fn find_member(file: &File, from: u64, size: u64) -> io::Result<u64> {
    let mut block = vec![0; SEARCH_BYTES];
    let mut offset = from;
    while offset < size {
        let count = file.read_at(&mut block, offset)?;
        if let Some(found) = find_header(&block[..count]) {
            return Ok(offset + found as u64);
        }
        if count < SEARCH_BYTES {
            break;
        }
        // A header may begin at the end of the block.
        offset += (SEARCH_BYTES - HEADER_BYTES) as u64;
    }
    Ok(size)
}

/// Decompresses the member that begins at an offset and has at most so many bytes.
fn decompress(mut file: &File, offset: u64, bytes: u64) -> io::Result<MemberContent> {
    file.seek(SeekFrom::Start(offset))?;
    let mut decoder = GzDecoder::new(BufReader::new(file.take(bytes)));
    let mut content = MemberContent::default();
    let read = (&mut decoder)
        .take(MAX_CONTENT_BYTES as u64 + 1)
        .read_to_end(&mut content.bytes);
    content.problem = match read {
        Ok(_) if content.bytes.len() > MAX_CONTENT_BYTES => Some("it is too large"),
        Ok(_) => {
            let compressed = decoder.into_inner();
            let left = compressed.buffer().len() as u64 + compressed.get_ref().limit();
            content.consumed = Some(bytes - left);
            None
        }
        Err(error) => Some(match error.kind() {
            io::ErrorKind::UnexpectedEof => CUT_OFF,
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                "its compressed data or their checksum are wrong"
            }
            _ => return Err(error),
        }),
    };
    let bytes = content.bytes.iter().enumerate();
    let ends = bytes.filter(|(_, byte)| **byte == b'\n');
    content.ends = ends.map(|(end, _)| end).collect();
    Ok(content)
}
