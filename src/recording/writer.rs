//! Appends views to a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::{Compress, Compression, FlushCompress, Status};

use super::frame::{FRAME_HEAD, Kind, LONGEST, Mark, encode, file_head};
use crate::model::Live;
use crate::named_file::{self, OutputError};

/// Compression begins anew after so many frames: whoever jumps into the file has to work through
/// that many at most.
const RESTART_EVERY: u32 = 60;
/// Characters of the reason for the end.
const LONGEST_REASON: usize = 40;
/// Room kept for the frame with that reason: its head, up to 4 bytes a character, and what
/// compression adds to what cannot be compressed.
const END_ROOM: u64 = (FRAME_HEAD + 4 * LONGEST_REASON + 64) as u64;

/// Bytes that stay free on the file system of a recording, whatever its size.
const RESERVE_BYTES: u64 = 64 << 20;
/// Where that is more than 1 in this many of a small one, this share stays free.
const RESERVE_SHARE: u64 = 20;

/// Why something could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file cannot be made, or there is one already.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The file system said no.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// What was tried.
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A view is too large or cannot be put into words.
    #[error("cannot record a view: {reason}")]
    Content {
        /// What is wrong with it.
        reason: String,
    },
}

impl WriteError {
    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Output(OutputError::Exists { .. }) => {
                "name a new file: a recording is never written over".to_owned()
            }
            Self::Output(error) => error.advice(),
            Self::Io { .. } => "what was recorded until then can be replayed".to_owned(),
            Self::Content { .. } => {
                "report it together with the output of `watch --json`".to_owned()
            }
        }
    }
}

/// Whether a frame found room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// It is in the file.
    Yes,
    /// It would have gone over the limit, and was left out.
    Full,
    /// The file system has almost no room left: it was left out.
    NoRoom,
}

/// A recording that goes on. Every frame is handed to the kernel at once: a kill of the program
/// loses none of them.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: File,
    limit: u64,
    written: u64,
    compress: Compress,
    since_restart: u32,
}

impl Recorder {
    /// Begins a recording that becomes no larger than `limit` bytes; only its owner may read it.
    ///
    /// # Errors
    /// When there is such a file already, or it cannot be made.
    pub fn create(path: &Path, limit: Option<u64>) -> Result<Self, WriteError> {
        let mut recorder = Self {
            file: named_file::create_private(path)?,
            path: path.to_owned(),
            limit: limit.unwrap_or(u64::MAX),
            written: 0,
            compress: Compress::new(Compression::default(), false),
            since_restart: 0,
        };
        recorder.write(&file_head())?;
        Ok(recorder)
    }

    /// Bytes in the file.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.written
    }

    /// Appends a view.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn view(&mut self, live: &Live) -> Result<Appended, WriteError> {
        let line = serde_json::to_vec(live).map_err(|error| WriteError::Content {
            reason: error.to_string(),
        })?;
        self.append(Kind::View, mark(live), &line)
    }

    /// Appends requests, each a line of JSON, that were completed since the frame before.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn requests(&mut self, mark: Mark, lines: &[u8]) -> Result<Appended, WriteError> {
        self.append(Kind::Requests, mark, lines)
    }

    fn append(&mut self, kind: Kind, mark: Mark, content: &[u8]) -> Result<Appended, WriteError> {
        if content.len() > LONGEST {
            return Err(WriteError::Content {
                reason: format!("{} bytes are too many", content.len()),
            });
        }
        let is_restart = self.since_restart == 0;
        if is_restart {
            self.compress.reset();
        }
        let payload = deflate(&mut self.compress, content)?;
        let frame = encode(kind, is_restart, mark, &payload);
        if self.written + frame.len() as u64 + END_ROOM > self.limit {
            // What was compressed is not in the file: nothing may refer to it.
            self.since_restart = 0;
            return Ok(Appended::Full);
        }
        if !self.has_room(frame.len() as u64 + END_ROOM) {
            self.since_restart = 0;
            return Ok(Appended::NoRoom);
        }
        self.since_restart = (self.since_restart + 1) % RESTART_EVERY;
        self.write(&frame)?;
        Ok(Appended::Yes)
    }

    /// Whether the file system keeps its reserve after so many bytes more. Where it does not tell, it
    /// has.
    fn has_room(&self, bytes: u64) -> bool {
        let Ok(facts) = rustix::fs::fstatvfs(&self.file) else {
            return true;
        };
        // A file system in memory without a limit, and some in user space, tell no sizes.
        if facts.f_blocks == 0 {
            return true;
        }
        let total = facts.f_blocks.saturating_mul(facts.f_frsize);
        let free = facts.f_bavail.saturating_mul(facts.f_frsize);
        free >= bytes.saturating_add(RESERVE_BYTES.min(total / RESERVE_SHARE))
    }

    /// Appends a whole frame, or nothing of it: half a one would be damage.
    fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.file.write_all(bytes).map_err(|source| {
            // The error that matters is that of the write. Nothing may refer to what is lost.
            let _ = self.file.set_len(self.written);
            self.since_restart = 0;
            WriteError::Io {
                tried: "write to",
                path: self.path.clone(),
                source,
            }
        })?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Notes why the recording ends, and waits until all of it is on the medium.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self, time_ms: u64, reason: &str) -> Result<(), WriteError> {
        self.compress.reset();
        let reason: String = reason.chars().take(LONGEST_REASON).collect();
        let payload = deflate(&mut self.compress, reason.as_bytes())?;
        let mark = Mark {
            time_ms,
            bytes_per_s: None,
        };
        self.write(&encode(Kind::End, true, mark, &payload))?;
        self.file.sync_data().map_err(|source| WriteError::Io {
            tried: "write",
            path: self.path.clone(),
            source,
        })
    }
}

/// The next piece of the compressed stream, complete to the byte.
fn deflate(compress: &mut Compress, content: &[u8]) -> Result<Vec<u8>, WriteError> {
    let wrong = |reason: &dyn std::fmt::Display| WriteError::Content {
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
        // Room left over says that nothing waits inside.
        if done == content.len() && piece.len() < piece.capacity() {
            return Ok(piece);
        }
        if status == Status::StreamEnd {
            return Err(wrong(&"ended early"));
        }
        piece.reserve(piece.capacity().max(1024));
    }
}

/// What a time line shows of a view: the bytes per second of the devices that lie on no other.
#[must_use]
pub fn mark(live: &Live) -> Mark {
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
    Mark {
        time_ms,
        bytes_per_s: any.then_some(sum as u64),
    }
}
