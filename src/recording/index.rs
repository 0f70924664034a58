//! Finds the frames of a recording.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::frame::{FILE_HEADER_BYTES, FORMAT_VERSION, MAGIC};
use super::inflate::ContentError;
use super::ring::{
    RING_FORMAT_VERSION, RING_HEADER_FIELDS_BYTES, RING_MAGIC, RingGeometry, ScannedRing,
    scan_ring, version_of,
};
use super::scan::{FrameEntry, FrameScan, ScanError};
use crate::files::error::FileError;
use crate::files::format_version::UnsupportedVersion;

/// Maximum number of indexed frames: three weeks at one view a second, with requests.
const MAX_FRAMES: usize = 4 << 20;

/// Why a recording cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingReadError {
    /// A file system operation failed.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// The operation.
        tried: &'static str,
        /// The path of its file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The file cannot be opened or is not a regular file.
    #[error(transparent)]
    Input(#[from] FileError),
    /// The file is a recording of another version of the format.
    #[error(transparent)]
    Version(#[from] UnsupportedVersion),
    /// The file is not a recording.
    #[error("{} is not a diskscope recording: {reason}", path.display())]
    NotARecording {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with its content.
        reason: String,
    },
    /// A frame has unexpected content.
    #[error("frame {index} of {} cannot be parsed: {reason}", path.display())]
    InvalidContent {
        /// Path of the file.
        path: PathBuf,
        /// Index of the frame, from 0.
        index: usize,
        /// What is wrong with its content.
        reason: ContentError,
    },
}

/// Where and how a recording is damaged; everything before is intact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingDamage {
    /// Size of the intact part in bytes.
    pub intact_bytes: u64,
    /// Number of bytes from there to the end of the file.
    pub damaged_bytes: u64,
    /// What is wrong.
    pub reason: &'static str,
}

impl fmt::Display for RecordingDamage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "damaged at byte {}: {}; {} bytes from there on are ignored",
            self.intact_bytes, self.reason, self.damaged_bytes
        )
    }
}

/// The frames of a recording, and its damage.
pub(super) struct FrameIndex {
    /// In the order in which they were recorded.
    pub(super) entries: Vec<FrameEntry>,
    /// The first damage, if there is any.
    pub(super) damage: Option<RecordingDamage>,
}

/// Finds the frames of a file and verifies every one.
///
/// # Errors
/// If the file cannot be read or is not a recording. Damage after the file header is no error.
pub(super) fn index_file(path: &Path, file: &File) -> Result<FrameIndex, RecordingReadError> {
    let failed = |source| RecordingReadError::Io {
        tried: "read",
        path: path.to_owned(),
        source,
    };
    let mut head = [0; RING_HEADER_FIELDS_BYTES];
    let length = read_up_to(file, &mut head).map_err(failed)?;
    if length >= RING_MAGIC.len() && head[..8] == RING_MAGIC {
        let geometry = check_ring_header(path, &head[..length])?;
        let size = file.metadata().map_err(failed)?.len();
        let ring = scan_ring(file, geometry, MAX_FRAMES).map_err(failed)?;
        return Ok(index_ring(geometry, size, ring));
    }
    check_file_header(path, &head[..length])?;
    index_log(file).map_err(failed)
}

fn read_up_to(mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Finds the frames of a recording without a ring, up to the first damage.
fn index_log(mut file: &File) -> io::Result<FrameIndex> {
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(FILE_HEADER_BYTES as u64))?;
    let mut scan = FrameScan {
        reader: BufReader::with_capacity(1 << 18, file),
        intact_offset: FILE_HEADER_BYTES as u64,
        size,
        since_restart: 0,
        previous: None,
    };
    let mut entries = Vec::new();
    let reason = loop {
        match scan.next_frame() {
            Ok(Some(_)) if entries.len() == MAX_FRAMES => {
                break Some("it has too many frames to index");
            }
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => break None,
            Err(ScanError::Damaged(reason)) => break Some(reason),
            Err(ScanError::Io(error)) => return Err(error),
        }
    };
    let damage = reason.map(|reason| RecordingDamage {
        intact_bytes: scan.intact_offset,
        damaged_bytes: size.saturating_sub(scan.intact_offset),
        reason,
    });
    Ok(FrameIndex { entries, damage })
}

/// The frames of all segments in their order. Damage in one of them does not affect the others.
fn index_ring(geometry: RingGeometry, size: u64, ring: ScannedRing) -> FrameIndex {
    let segment_bytes = u64::from(geometry.segment_bytes);
    let damage_at = |offset: u64, end: u64, reason| RecordingDamage {
        intact_bytes: offset,
        damaged_bytes: end.saturating_sub(offset),
        reason,
    };
    let cut_off = (size < geometry.file_bytes())
        .then(|| damage_at(size, geometry.file_bytes(), "the file is truncated"));
    let invalid = ring.invalid_segments.first().map(|offset| {
        damage_at(
            *offset,
            offset + segment_bytes,
            "the header of a segment is invalid",
        )
    });
    let newest = ring.segments.last().map(|segment| segment.sequence);
    let mut ends = ring.segments.iter();
    let unfinished = ends
        .find(|segment| !segment.is_ended && Some(segment.sequence) != newest)
        .map(|segment| {
            let end = geometry.segment_offset(segment.index) + segment_bytes;
            damage_at(segment.end_offset, end, "a frame of a segment is invalid")
        });
    let mut entries: Vec<FrameEntry> = Vec::new();
    for segment in ring.segments {
        entries.extend(segment.entries);
    }
    // The newest frames count. Those before a restart cannot be read without what is dropped.
    let excess = entries.len().saturating_sub(MAX_FRAMES);
    let mut kept = entries[excess..].iter();
    let restart = kept.position(|entry| entry.head.is_restart);
    entries.drain(..restart.map_or(entries.len(), |restart| excess + restart));
    FrameIndex {
        entries,
        damage: cut_off.or(invalid).or(unfinished),
    }
}

fn foreign(path: &Path, reason: &str) -> RecordingReadError {
    RecordingReadError::NotARecording {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

fn other_version(
    path: &Path,
    content: &'static str,
    found: u32,
    supported: u32,
) -> RecordingReadError {
    RecordingReadError::Version(UnsupportedVersion {
        path: path.to_owned(),
        content,
        found: found.into(),
        supported,
        program: None,
    })
}

fn check_ring_header(path: &Path, head: &[u8]) -> Result<RingGeometry, RecordingReadError> {
    let head = head
        .try_into()
        .map_err(|_| foreign(path, "it is too short"))?;
    match version_of(head) {
        RING_FORMAT_VERSION => {
            RingGeometry::decode(head).ok_or_else(|| foreign(path, "its header is damaged"))
        }
        version => Err(other_version(
            path,
            "ring recording",
            version,
            RING_FORMAT_VERSION,
        )),
    }
}

fn check_file_header(path: &Path, head: &[u8]) -> Result<(), RecordingReadError> {
    let Some((magic, rest)) = head
        .get(..FILE_HEADER_BYTES)
        .and_then(|head| head.split_at_checked(MAGIC.len()))
    else {
        return Err(foreign(path, "it is too short"));
    };
    if magic != MAGIC {
        return Err(foreign(path, "it does not begin with DSKSCOPE"));
    }
    match u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]) {
        FORMAT_VERSION => Ok(()),
        version => Err(other_version(path, "recording", version, FORMAT_VERSION)),
    }
}
