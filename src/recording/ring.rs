//! A ring: a directory of recordings of which the oldest is deleted.
//!
//! `samples-NUMBER.ndjson.gz` are recordings one after the other, `trigger-NUMBER.ndjson.gz` is a line
//! with what is known of a trigger, and its requests. The numbers count up, whatever the clock does. A
//! recorder that is started again begins a new file.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fmt;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::member::SampleMark;
use super::stream::{MemberStream, line_chunks};
use super::sync_thread::SyncThread;
use super::trigger::TriggerRecord;
use super::writer::{
    AppendResult, MAX_RING_BYTES, MIN_RING_BYTES, REQUEST_CHUNK_BYTES, Recorder,
    RecordingWriteError, io_failure, is_no_space, line_of,
};
use crate::files::error::FileError;
use crate::files::json;
use crate::files::output;
use crate::files::state::PrivateDirectory;

/// A file of samples takes 1 in this many of the ring's bytes.
const FILE_SHARE: u64 = 32;
/// Triggers take at most 1 in this many of the ring's bytes.
const TRIGGER_SHARE: u64 = 4;
/// Files at most, however small they are: a reader has all of them open.
const MAX_FILES: usize = 500;
/// Triggers that are kept at most.
const MAX_TRIGGERS: usize = 250;
/// Compressed size of a request in bytes, about.
const REQUEST_BYTES: u64 = 48;
/// Requests of a trigger at most.
const MAX_TRIGGER_REQUESTS: u64 = 30_000;

/// The name of a file of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RingFileName {
    /// Files are numbered in the order in which they were begun.
    pub(super) number: u64,
    /// Whether it is that of a trigger.
    pub(super) is_trigger: bool,
}

impl RingFileName {
    /// `None` for another name.
    pub(super) fn parse(name: &OsStr) -> Option<Self> {
        let text = name.to_str()?;
        let digits = text.split_once('-')?.1.strip_suffix(".ndjson.gz")?;
        let name = Self {
            number: digits.parse().ok()?,
            is_trigger: text.starts_with("trigger-"),
        };
        (name.to_string() == text).then_some(name)
    }
}

impl fmt::Display for RingFileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_trigger {
            "trigger"
        } else {
            "samples"
        };
        write!(formatter, "{kind}-{:08}.ndjson.gz", self.number)
    }
}

/// A file of the ring that is complete, or was left by an earlier recorder.
#[derive(Debug, Clone, Copy)]
struct RingFile {
    name: RingFileName,
    bytes: u64,
}

/// A ring in progress.
#[derive(Debug)]
pub struct RingRecorder {
    path: PathBuf,
    directory: PrivateDirectory,
    size: u64,
    /// The files before the current one, the oldest first.
    files: VecDeque<RingFile>,
    /// The file of samples that is written.
    current: Option<(RingFileName, MemberStream)>,
    next_number: u64,
    /// Bytes of files that this recorder has deleted and not written again: they are its to take, however
    /// full the file system is.
    freed_bytes: u64,
    sync: SyncThread,
}

impl RingRecorder {
    /// Opens a ring of at most `size` bytes, or makes its directory for this user only. An existing ring
    /// is continued, with this size.
    ///
    /// # Errors
    /// If the directory holds other files, is another user's, is written by another process, or cannot
    /// be made.
    pub fn open(path: &Path, size: u64) -> Result<Self, RecordingWriteError> {
        if !(MIN_RING_BYTES..=MAX_RING_BYTES).contains(&size) {
            return Err(RecordingWriteError::RingSize(size));
        }
        // A name such as "." has no parent of its own.
        let whole = std::path::absolute(path).map_err(|error| io_failure(path, "find", error))?;
        let (Some(around), Some(name)) = (whole.parent(), whole.file_name()) else {
            let error = std::io::ErrorKind::InvalidInput.into();
            return Err(io_failure(path, "make a ring of", error));
        };
        let directory = PrivateDirectory::create(around, Path::new(name))?;
        // Until the descriptor is closed.
        match flock(directory.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(RecordingWriteError::OtherRecorder(path.into())),
            Err(error) => return Err(io_failure(path, "lock", error.into())),
        }
        let files = list_files(path, &directory)?;
        let sync =
            SyncThread::start().map_err(|source| io_failure(path, "start a thread for", source))?;
        Ok(Self {
            path: path.to_owned(),
            directory,
            size,
            next_number: files
                .back()
                .map_or(1, |last| last.name.number.saturating_add(1)),
            files,
            current: None,
            freed_bytes: 0,
            sync,
        })
    }

    /// How many requests of a trigger are kept at most: half of what a file of samples takes.
    #[must_use]
    pub fn max_trigger_requests(&self) -> usize {
        let fitting = self.size / FILE_SHARE / 2 / REQUEST_BYTES;
        fitting.min(MAX_TRIGGER_REQUESTS) as usize
    }

    fn failed(&self, name: RingFileName, source: std::io::Error) -> RecordingWriteError {
        io_failure(&self.path.join(name.to_string()), "write to", source)
    }

    /// Begins a file.
    fn begin(
        &mut self,
        is_trigger: bool,
    ) -> Result<(RingFileName, MemberStream), RecordingWriteError> {
        let name = RingFileName {
            number: self.next_number,
            is_trigger,
        };
        self.next_number = self.next_number.saturating_add(1);
        while self.files.len() >= MAX_FILES {
            self.delete_oldest()?;
        }
        loop {
            match self.directory.create_new(name.to_string().as_ref()) {
                Err(FileError::Io { source, .. })
                    if is_no_space(&source) && self.delete_oldest()? => {}
                made => return Ok((name, MemberStream::new(made?))),
            }
        }
    }

    /// Completes a file. Where that fails, a reader decompresses its last member to its end.
    fn complete(&mut self, name: RingFileName, mut stream: MemberStream) {
        let _ = stream.complete();
        // The error is that of a later request.
        let _ = self.sync.request(stream.file());
        self.files.push_back(RingFile {
            name,
            bytes: stream.file_bytes(),
        });
    }

    /// Bytes of the files of triggers, and their number.
    fn triggers(&self) -> (u64, usize) {
        let triggers = self.files.iter().filter(|file| file.name.is_trigger);
        triggers.fold((0, 0), |(bytes, count), file| {
            (bytes + file.bytes, count + 1)
        })
    }

    /// Deletes the oldest file, those of triggers last; false if there is none but what is written now.
    fn delete_oldest(&mut self) -> Result<bool, RecordingWriteError> {
        let samples = self.files.iter().position(|file| !file.name.is_trigger);
        let Some(oldest) = self.files.remove(samples.unwrap_or(0)) else {
            return Ok(false);
        };
        self.delete(oldest)?;
        self.freed_bytes += oldest.bytes;
        Ok(true)
    }

    fn delete_oldest_trigger(&mut self) -> Result<(), RecordingWriteError> {
        let trigger = self.files.iter().position(|file| file.name.is_trigger);
        let oldest = trigger.and_then(|trigger| self.files.remove(trigger));
        oldest.map_or(Ok(()), |oldest| self.delete(oldest))
    }

    fn delete(&self, file: RingFile) -> Result<(), RecordingWriteError> {
        match self.directory.unlink(file.name.to_string().as_ref()) {
            Err(error) if error.is_not_found() => Ok(()),
            done => Ok(done?),
        }
    }

    /// Deletes the oldest files until so many bytes fit into the ring and into the file system; false if
    /// they do not.
    fn make_room(
        &mut self,
        stream: &MemberStream,
        needed: u64,
    ) -> Result<bool, RecordingWriteError> {
        while self.size_bytes() + stream.file_bytes() + needed > self.size
            || (self.freed_bytes < needed && !output::has_room(stream.file(), needed))
        {
            if !self.delete_oldest()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends to a file that is not among the others of the ring.
    fn append_to(
        &mut self,
        name: RingFileName,
        stream: &mut MemberStream,
        lines: &[u8],
        mark: Option<SampleMark>,
    ) -> Result<AppendResult, RecordingWriteError> {
        let mut has_failed = false;
        loop {
            let piece = stream
                .pack(lines)
                .map_err(|error| self.failed(name, error))?;
            let needed = piece.needed_bytes();
            if !self.make_room(stream, needed)? {
                return Ok(AppendResult::NoRoom);
            }
            match stream.write(piece, lines, mark) {
                Ok(()) => {
                    self.freed_bytes = self.freed_bytes.saturating_sub(needed);
                    return Ok(AppendResult::Written);
                }
                Err(error) if !is_no_space(&error) => return Err(self.failed(name, error)),
                // Some file systems free the space of a deleted file only later: one is enough now.
                Err(_) if has_failed || !self.delete_oldest()? => return Ok(AppendResult::NoRoom),
                Err(_) => has_failed = true,
            }
        }
    }

    /// Writes the file of a trigger.
    fn write_trigger(
        &mut self,
        trigger: &TriggerRecord,
        requests: &[u8],
    ) -> Result<AppendResult, RecordingWriteError> {
        let line = line_of(json::to_string(trigger))?;
        let mark = SampleMark {
            time_ms: trigger.first.time_ms,
            bytes_per_s: None,
        };
        let (name, mut stream) = self.begin(true)?;
        let mut appended = self.append_to(name, &mut stream, &line, Some(mark))?;
        for chunk in line_chunks(requests, REQUEST_CHUNK_BYTES) {
            if appended == AppendResult::Written {
                appended = self.append_to(name, &mut stream, chunk, None)?;
            }
        }
        self.complete(name, stream);
        Ok(appended)
    }
}

/// The files of a ring in their order. A directory with other files only is none.
fn list_files(
    path: &Path,
    directory: &PrivateDirectory,
) -> Result<VecDeque<RingFile>, RecordingWriteError> {
    let names = directory.entry_names()?;
    let mut files = Vec::new();
    for (name, parsed) in names.iter().map(|name| (name, RingFileName::parse(name))) {
        if let Some(parsed) = parsed {
            let file = directory.open_file(name)?;
            let about = file.metadata();
            files.push(RingFile {
                name: parsed,
                bytes: about
                    .map_err(|source| io_failure(path, "examine", source))?
                    .len(),
            });
        }
    }
    if files.is_empty() && !names.is_empty() {
        return Err(RecordingWriteError::NotARing(path.to_owned()));
    }
    files.sort_by_key(|file| file.name);
    Ok(files.into())
}

impl Recorder for RingRecorder {
    fn append(
        &mut self,
        lines: &[u8],
        mark: Option<SampleMark>,
    ) -> Result<AppendResult, RecordingWriteError> {
        let is_full = |stream: &MemberStream| stream.file_bytes() >= self.size / FILE_SHARE;
        let (name, mut stream) = match self.current.take() {
            Some((name, stream)) if is_full(&stream) => {
                self.complete(name, stream);
                self.begin(false)?
            }
            Some(current) => current,
            None => self.begin(false)?,
        };
        let appended = self.append_to(name, &mut stream, lines, mark);
        let synced = self.sync.request(stream.file());
        if matches!(appended, Ok(AppendResult::NoRoom)) && stream.file_bytes() > 0 {
            // The next sample takes its place.
            self.complete(name, stream);
        } else {
            self.current = Some((name, stream));
        }
        synced.map_err(|error| self.failed(name, error))?;
        appended
    }

    /// Its requests are left out where they exceed the share of all triggers.
    fn append_trigger(
        &mut self,
        mut trigger: TriggerRecord,
        requests: &[u8],
    ) -> Result<AppendResult, RecordingWriteError> {
        let share = self.size / TRIGGER_SHARE;
        let mut appended = self.write_trigger(&trigger, requests)?;
        let is_too_large = self.files.back().is_some_and(|file| file.bytes > share);
        if (is_too_large || appended != AppendResult::Written)
            && let Some(written) = self.files.pop_back()
        {
            self.delete(written)?;
            trigger.requests.left_out += std::mem::take(&mut trigger.requests.kept);
            appended = self.write_trigger(&trigger, &[])?;
        }
        while self.triggers().0 > share || self.triggers().1 > MAX_TRIGGERS {
            self.delete_oldest_trigger()?;
        }
        Ok(appended)
    }

    fn end(&mut self) -> Result<(), RecordingWriteError> {
        let Some((name, mut stream)) = self.current.take() else {
            return Ok(());
        };
        let ended = stream.complete().and_then(|()| stream.file().sync_data());
        self.files.push_back(RingFile {
            name,
            bytes: stream.file_bytes(),
        });
        ended.map_err(|error| self.failed(name, error))
    }

    fn size_bytes(&self) -> u64 {
        let current = self.current.as_ref().map_or(0, |(_, it)| it.file_bytes());
        current + self.files.iter().map(|file| file.bytes).sum::<u64>()
    }
}
