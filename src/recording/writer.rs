//! Writes a recording.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use flate2::{Compress, Compression, FlushCompress, Status};

use super::frame::{
    FRAME_HEADER_BYTES, FrameKind, FrameMark, MAX_CONTENT_BYTES, encode_file_header, encode_frame,
};
use super::ring::{MAX_RING_BYTES, MIN_RING_BYTES};
use crate::files::error::FileError;
use crate::files::format_version::UnsupportedVersion;
use crate::files::output;
use crate::snapshot::Snapshot;
use crate::units;

/// Number of frames after which the compressed stream restarts: the maximum number of frames to
/// decompress after a seek.
pub(super) const RESTART_INTERVAL_FRAMES: u32 = 60;
/// Maximum length of the reason for the end, in characters.
const MAX_REASON_CHARS: usize = 40;
/// Space reserved for the frame with that reason: its header, up to 4 bytes per character, and the
/// overhead of deflate for incompressible data.
const END_FRAME_RESERVE: u64 = (FRAME_HEADER_BYTES + 4 * MAX_REASON_CHARS + 64) as u64;

/// Why something could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordingWriteError {
    /// The file cannot be created, or exists already.
    #[error(transparent)]
    Output(#[from] FileError),
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
    /// An existing file is no ring.
    #[error("{} is no recording made with --ring: {reason}", path.display())]
    NotARing {
        /// Path of the file.
        path: PathBuf,
        /// What it is instead.
        reason: &'static str,
    },
    /// The file is a ring of another version of the format.
    #[error(transparent)]
    Version(#[from] UnsupportedVersion),
    /// An existing ring has another size.
    #[error(
        "{} is a ring of {}, and --ring makes one of {}",
        path.display(), units::format_capacity(*found as f64), units::format_capacity(*wanted as f64)
    )]
    OtherRingSize {
        /// Path of the file.
        path: PathBuf,
        /// Its size in bytes.
        found: u64,
        /// The size of a ring as it was requested.
        wanted: u64,
    },
    /// The size is not one of a ring.
    #[error("a ring of {bytes} bytes is not possible")]
    RingSize {
        /// The size.
        bytes: u64,
    },
    /// Another process writes the ring.
    #[error("another recorder writes {}", path.display())]
    OtherRecorder {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file system has no room for the ring.
    #[error(
        "{} needs {}, and its file system is almost full",
        path.display(), units::format_capacity(*bytes as f64)
    )]
    NoRoomForRing {
        /// Path of the file.
        path: PathBuf,
        /// Size of the ring.
        bytes: u64,
    },
    /// A view is too large or cannot be serialized.
    #[error("cannot record a view: {reason}")]
    InvalidContent {
        /// What is wrong with it.
        reason: String,
    },
}

impl RecordingWriteError {
    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Output(FileError::AlreadyExists(_)) => {
                "name a new file: an existing recording is never overwritten".to_owned()
            }
            Self::Output(error) => error.advice(),
            Self::NotARing { .. } | Self::Version(_) => {
                "name a new file: only a ring is continued".to_owned()
            }
            Self::OtherRingSize { .. } => {
                "give the size that it was made with to continue it, or name a new file".to_owned()
            }
            Self::RingSize { .. } => format!(
                "a ring has {} to {}, such as --ring 50MB",
                units::format_capacity(MIN_RING_BYTES as f64),
                units::format_capacity(MAX_RING_BYTES as f64)
            ),
            Self::OtherRecorder { .. } => "stop it first, or name another file".to_owned(),
            Self::NoRoomForRing { .. } => {
                "free some space, name a file on another file system, or a smaller ring".to_owned()
            }
            Self::Io { .. } => "the part recorded so far can be replayed".to_owned(),
            Self::InvalidContent { .. } => {
                "report it together with the output of `watch --json`".to_owned()
            }
        }
    }
}

/// Whether a frame was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendResult {
    /// The frame is in the file.
    Written,
    /// The frame would exceed the size limit, and was omitted.
    LimitReached,
    /// The file system, or the memory, is almost full: the frame was omitted.
    NoRoom,
    /// The frame is larger than a segment of the ring, and was omitted.
    TooLarge,
}

/// A recording in progress. Every frame is passed to the kernel at once: killing the program loses
/// none of them. Its file is removed if it ends without one.
#[derive(Debug)]
pub struct RecordingWriter {
    path: PathBuf,
    file: File,
    max_bytes: u64,
    written_bytes: u64,
    compress: Compress,
    since_restart: u32,
    has_frames: bool,
}

impl Drop for RecordingWriter {
    fn drop(&mut self) {
        if !self.has_frames {
            output::remove_created(&self.path, &self.file);
        }
    }
}

impl RecordingWriter {
    /// Creates a recording of at most `limit` bytes; only its owner may read it.
    ///
    /// # Errors
    /// If the file exists already, or cannot be created.
    pub fn create(path: &Path, limit: Option<u64>) -> Result<Self, RecordingWriteError> {
        let file = output::create_private(path)?;
        let mut recorder = Self {
            file,
            path: path.to_owned(),
            max_bytes: limit.unwrap_or(u64::MAX),
            written_bytes: 0,
            compress: Compress::new(Compression::default(), false),
            since_restart: 0,
            has_frames: false,
        };
        recorder.write_all(&encode_file_header())?;
        Ok(recorder)
    }

    /// Whether a view or requests were recorded.
    #[must_use]
    pub fn has_frames(&self) -> bool {
        self.has_frames
    }

    /// Size of the file in bytes.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Appends a view.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_view(&mut self, live: &Snapshot) -> Result<AppendResult, RecordingWriteError> {
        let line = to_json(live)?;
        self.append_frame(FrameKind::View, mark_of_view(live), &line)
    }

    /// Appends requests that completed since the previous frame, as one line of JSON each.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_requests(
        &mut self,
        mark: FrameMark,
        lines: &[u8],
    ) -> Result<AppendResult, RecordingWriteError> {
        self.append_frame(FrameKind::Requests, mark, lines)
    }

    fn append_frame(
        &mut self,
        kind: FrameKind,
        mark: FrameMark,
        content: &[u8],
    ) -> Result<AppendResult, RecordingWriteError> {
        if content.len() > MAX_CONTENT_BYTES {
            return Err(RecordingWriteError::InvalidContent {
                reason: format!("{} bytes are too many", content.len()),
            });
        }
        let is_restart = self.since_restart == 0;
        if is_restart {
            self.compress.reset();
        }
        let payload = compress_frame(&mut self.compress, content)?;
        let frame = encode_frame(kind, is_restart, mark, &payload, None);
        if self.written_bytes + frame.len() as u64 + END_FRAME_RESERVE > self.max_bytes {
            // The compressed data is not in the file: later frames must not refer to it.
            self.since_restart = 0;
            return Ok(AppendResult::LimitReached);
        }
        let needed = frame.len() as u64 + END_FRAME_RESERVE;
        if !output::has_room(&self.file, needed) {
            self.since_restart = 0;
            return Ok(AppendResult::NoRoom);
        }
        self.since_restart = (self.since_restart + 1) % RESTART_INTERVAL_FRAMES;
        self.write_all(&frame)?;
        self.has_frames = true;
        Ok(AppendResult::Written)
    }

    /// Appends a whole frame, or nothing: a partial frame would be damage.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), RecordingWriteError> {
        let appended = output::append_whole(&self.file, bytes, self.written_bytes);
        appended.map_err(|source| {
            // Later frames must not refer to the lost data.
            self.since_restart = 0;
            RecordingWriteError::Io {
                tried: "write to",
                path: self.path.clone(),
                source,
            }
        })?;
        self.written_bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes the reason for the end, and syncs the file to the medium.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end_recording(mut self, time_ms: u64, reason: &str) -> Result<(), RecordingWriteError> {
        self.compress.reset();
        let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
        let payload = compress_frame(&mut self.compress, reason.as_bytes())?;
        let mark = FrameMark {
            time_ms,
            bytes_per_s: None,
        };
        self.write_all(&encode_frame(
            FrameKind::EndOfRecording,
            true,
            mark,
            &payload,
            None,
        ))?;
        self.file
            .sync_data()
            .map_err(|source| RecordingWriteError::Io {
                tried: "write",
                path: self.path.clone(),
                source,
            })
    }
}

/// The error of a system call on a recording.
pub(super) fn io_failure(
    path: &Path,
    tried: &'static str,
) -> impl FnOnce(io::Error) -> RecordingWriteError {
    let path = path.to_owned();
    move |source| RecordingWriteError::Io {
        tried,
        path,
        source,
    }
}

/// Compresses the next part of the stream, flushed to a byte boundary.
pub(super) fn compress_frame(
    compress: &mut Compress,
    content: &[u8],
) -> Result<Vec<u8>, RecordingWriteError> {
    let wrong = |reason: &dyn std::fmt::Display| RecordingWriteError::InvalidContent {
        reason: format!("compression: {reason}"),
    };
    let mut piece = Vec::with_capacity(content.len() / 4 + 128);
    let begin = compress.total_in();
    loop {
        let done = (compress.total_in() - begin) as usize;
        let status = compress
            .compress_vec(&content[done..], &mut piece, FlushCompress::Sync)
            .map_err(|error| wrong(&error))?;
        let done = (compress.total_in() - begin) as usize;
        // If the output buffer is not full, the compressor holds no more output.
        if done == content.len() && piece.len() < piece.capacity() {
            return Ok(piece);
        }
        if status == Status::StreamEnd {
            return Err(wrong(&"ended early"));
        }
        piece.reserve(piece.capacity().max(1024));
    }
}

/// Throughput of a view for the time line: the bytes per second of the devices without devices
/// below them.
#[must_use]
pub fn mark_of_view(live: &Snapshot) -> FrameMark {
    let time_ms = live
        .time
        .parse::<jiff::Timestamp>()
        .map_or(0, |time| u64::try_from(time.as_millisecond()).unwrap_or(0));
    let rates = live
        .devices
        .iter()
        .filter(|device| device.parent.is_none())
        .filter_map(|device| Some(device.read_bytes_per_s? + device.write_bytes_per_s?));
    let mut any = false;
    let sum: f64 = rates.inspect(|_| any = true).sum();
    FrameMark {
        time_ms,
        bytes_per_s: any.then_some(sum as u64),
    }
}

/// A value as one line of JSON.
pub(super) fn to_json(value: &impl serde::Serialize) -> Result<Vec<u8>, RecordingWriteError> {
    serde_json::to_vec(value).map_err(|error| RecordingWriteError::InvalidContent {
        reason: error.to_string(),
    })
}
