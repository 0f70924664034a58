//! Reads a recording up to its first damage.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::{Crc, Decompress};

use super::frame::{
    FILE_HEADER_BYTES, FORMAT_VERSION, FRAME_HEADER_BYTES, FrameHeader, FrameKind, FrameMark,
    MAGIC, decode_frame_header,
};
use super::inflate::{ByteSink, ContentError, InflateError, LineSplitter, inflate_frame};
use crate::format_version::UnsupportedVersion;
use crate::model::Snapshot;
use crate::named_file::InputError;
use crate::named_file::input;
use crate::named_file::input::InputKind;

/// Maximum number of indexed frames: three weeks at one view a second, with requests.
const MAX_FRAMES: usize = 4 << 20;
/// Maximum number of frames since the last restart of the compressed stream, all of which opening a
/// frame may have to decompress. The recorder restarts the stream after 60.
const MAX_FRAMES_SINCE_RESTART: usize = 4096;

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
    Input(#[from] InputError),
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
            "damaged at byte {}: {}; the remaining {} bytes are ignored",
            self.intact_bytes, self.reason, self.damaged_bytes
        )
    }
}

/// A frame in the index, not decompressed.
#[derive(Debug, Clone, Copy)]
struct FrameEntry {
    head: FrameHeader,
    payload_offset: u64,
}

/// A recording, open up to its first damage.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    file: File,
    entries: Vec<FrameEntry>,
    /// Indices of the entries that are views.
    view_entries: Vec<usize>,
    damage: Option<RecordingDamage>,
    stream: CompressedStream,
}

/// Position in the compressed stream.
#[derive(Debug)]
struct CompressedStream {
    decompress: Decompress,
    /// The next entry of the stream; `None` if decompression has to restart.
    next_entry: Option<usize>,
}

impl Recording {
    /// Opens a file, and verifies every frame.
    ///
    /// # Errors
    /// If the file cannot be read or is not a recording. Damage after the file header is no error.
    pub fn open(path: &Path) -> Result<Self, RecordingReadError> {
        let (file, _) = input::open_input(path, InputKind::RegularFile)?;
        Self::from_file(path, file)
    }

    /// As [`Recording::open`], from an open file at its begin; messages call it `path`.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn from_file(path: &Path, file: File) -> Result<Self, RecordingReadError> {
        let failed = |tried| {
            move |source| RecordingReadError::Io {
                tried,
                path: path.to_owned(),
                source,
            }
        };
        let size = file.metadata().map_err(failed("examine"))?.len();
        let mut reader = BufReader::with_capacity(1 << 18, &file);
        check_file_header(path, &mut reader)?;
        let mut scan = FrameScan {
            reader,
            intact_offset: FILE_HEADER_BYTES as u64,
            size,
            since_restart: 0,
        };
        let mut entries = Vec::new();
        let damage = loop {
            match scan.next_frame() {
                Ok(Some(_)) if entries.len() == MAX_FRAMES => {
                    break Some(RecordingDamage {
                        intact_bytes: scan.intact_offset,
                        damaged_bytes: size - scan.intact_offset,
                        reason: "it has too many frames to index",
                    });
                }
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => break None,
                Err(ScanError::Damaged(reason)) => {
                    break Some(RecordingDamage {
                        intact_bytes: scan.intact_offset,
                        damaged_bytes: size - scan.intact_offset,
                        reason,
                    });
                }
                Err(ScanError::Io(error)) => return Err(failed("read")(error)),
            }
        };
        let views = (0..entries.len())
            .filter(|index| entries[*index].head.kind == FrameKind::View)
            .collect();
        Ok(Self {
            path: path.to_owned(),
            file,
            entries,
            view_entries: views,
            damage,
            stream: CompressedStream {
                decompress: Decompress::new(false),
                next_entry: None,
            },
        })
    }

    /// Number of views.
    #[must_use]
    pub fn view_count(&self) -> usize {
        self.view_entries.len()
    }

    /// Whether there are no views.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.view_entries.is_empty()
    }

    /// The damage, if there is any.
    #[must_use]
    pub fn damage(&self) -> Option<&RecordingDamage> {
        self.damage.as_ref()
    }

    /// Whether the recording has a regular end; it has none if the recorder was killed.
    #[must_use]
    pub fn ended_cleanly(&self) -> bool {
        self.entries
            .last()
            .is_some_and(|entry| entry.head.kind == FrameKind::EndOfRecording)
    }

    /// Summary of a view, without decompressing it.
    #[must_use]
    pub fn view_mark(&self, view: usize) -> Option<FrameMark> {
        Some(self.entries[*self.view_entries.get(view)?].head.mark)
    }

    /// Summaries of all views in order.
    pub fn view_marks(&self) -> impl Iterator<Item = FrameMark> {
        self.view_entries
            .iter()
            .map(|index| self.entries[*index].head.mark)
    }

    /// Reads a view; `None` if the index is too high. Sequential access is cheapest.
    ///
    /// # Errors
    /// If the file can no longer be read, the view is of a later version of the program and cannot
    /// be parsed, or it is larger than any real view.
    pub fn read_view(&mut self, view: usize) -> Result<Option<Snapshot>, RecordingReadError> {
        let Some(index) = self.view_entries.get(view).copied() else {
            return Ok(None);
        };
        let mut content = Vec::new();
        self.inflate_entry(index, &mut |piece| {
            content.extend_from_slice(piece);
            Ok(())
        })?;
        serde_json::from_slice(&content)
            .map(Some)
            .map_err(|error| self.content_error(index, ContentError::Sample(error.to_string())))
    }

    /// Iterates over the requests recorded between the previous view and this one. `each` receives
    /// one JSON object at a time, safe to print, and returns whether to continue. Returns false if
    /// `each` ended the iteration. At most one line is held in memory.
    ///
    /// # Errors
    /// If the file can no longer be read, or a line is not a JSON object or is too long.
    pub fn for_each_request(
        &mut self,
        view: usize,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        let Some(end) = self.view_entries.get(view).copied() else {
            return Ok(true);
        };
        let begin = view
            .checked_sub(1)
            .and_then(|before| self.view_entries.get(before))
            .map_or(0, |before| before + 1);
        for index in begin..end {
            if self.entries[index].head.kind != FrameKind::Requests {
                continue;
            }
            let mut lines = LineSplitter::new(&mut *each);
            let result = self
                .inflate_entry(index, &mut |piece| lines.push_bytes(piece))
                .and_then(|()| {
                    lines
                        .finish_line()
                        .map_err(|reason| self.content_error(index, reason))
                });
            let is_over = lines.is_stopped();
            if is_over {
                self.stream.next_entry = None;
                return Ok(false);
            }
            result?;
        }
        Ok(true)
    }

    /// Whether the recording contains individual requests.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        let mut kinds = self.entries.iter().map(|entry| entry.head.kind);
        kinds.any(|kind| kind == FrameKind::Requests)
    }

    fn content_error(&self, index: usize, reason: ContentError) -> RecordingReadError {
        RecordingReadError::InvalidContent {
            path: self.path.clone(),
            index,
            reason,
        }
    }

    /// Decompresses a frame chunk by chunk. Decompresses the frames before it from the last restart
    /// of the stream, unless they were just read.
    fn inflate_entry(
        &mut self,
        index: usize,
        sink: &mut ByteSink<'_>,
    ) -> Result<(), RecordingReadError> {
        let restart = (0..=index)
            .rev()
            .find(|entry| self.entries[*entry].head.is_restart)
            .ok_or_else(|| self.content_error(index, ContentError::NoRestart))?;
        let begin = self
            .stream
            .next_entry
            .filter(|next| (restart..=index).contains(next))
            .unwrap_or(restart);
        self.stream.next_entry = None;
        for entry in begin..=index {
            let FrameEntry {
                head,
                payload_offset: payload,
            } = self.entries[entry];
            if head.is_restart {
                self.stream.decompress.reset(false);
            }
            let failed = |source| RecordingReadError::Io {
                tried: "read",
                path: self.path.clone(),
                source,
            };
            (&self.file)
                .seek(SeekFrom::Start(payload))
                .map_err(failed)?;
            let frame = (&self.file).take(head.payload_bytes as u64);
            let skip: &mut ByteSink<'_> = &mut |_| Ok(());
            let sink = if entry == index { &mut *sink } else { skip };
            match inflate_frame(&mut self.stream.decompress, frame, sink) {
                Ok(()) => {}
                Err(InflateError::Io(source)) => return Err(failed(source)),
                Err(InflateError::Content(reason)) => {
                    return Err(self.content_error(entry, reason));
                }
            }
        }
        self.stream.next_entry = Some(index + 1);
        Ok(())
    }
}

fn check_file_header(path: &Path, reader: &mut impl Read) -> Result<(), RecordingReadError> {
    let foreign = |reason: String| RecordingReadError::NotARecording {
        path: path.to_owned(),
        reason,
    };
    let mut head = [0; FILE_HEADER_BYTES];
    match reader.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(foreign("it is too short".to_owned()));
        }
        Err(source) => {
            return Err(RecordingReadError::Io {
                tried: "read",
                path: path.to_owned(),
                source,
            });
        }
    }
    let (magic, rest) = head.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(foreign("it does not begin with DSKSCOPE".to_owned()));
    }
    let version = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
    if version != FORMAT_VERSION {
        return Err(RecordingReadError::Version(UnsupportedVersion {
            path: path.to_owned(),
            content: "recording",
            found: version.into(),
            supported: FORMAT_VERSION,
            program: None,
        }));
    }
    Ok(())
}

enum ScanError {
    Damaged(&'static str),
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

/// Iterates over the frames of a file.
struct FrameScan<R> {
    reader: R,
    /// The file is intact up to this offset.
    intact_offset: u64,
    size: u64,
    /// Frames since the last restart of the compressed stream.
    since_restart: usize,
}

impl<R: Read> FrameScan<R> {
    fn next_frame(&mut self) -> Result<Option<FrameEntry>, ScanError> {
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
        Ok(Some(FrameEntry {
            head,
            payload_offset: payload,
        }))
    }

    /// Computes the checksum of a frame whose payload follows.
    fn read_checksum(&mut self, head: &[u8], length: usize) -> io::Result<u32> {
        let mut crc = Crc::new();
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
