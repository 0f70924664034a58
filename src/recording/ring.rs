//! A ring: a directory of recordings of which the oldest is deleted.
//!
//! `samples-NUMBER.ndjson.gz` are recordings one after the other, `trigger-NUMBER.ndjson.gz` is a line
//! with what is known of a trigger, and its requests. The numbers count up, whatever the clock does. A
//! recorder that is started again begins a new file.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::RecordingWriteError;
use super::stream::{AppendResult, MemberStream, is_no_space};
use super::sync_thread::SyncThread;
use super::trigger::TriggerRecord;
use super::writer::{Recorder, line_of};
use crate::files::error::FileError;
use crate::files::json;
use crate::files::output;
use crate::files::state::PrivateDirectory;

/// Bytes of a ring: a file of the smallest has room for the largest snapshots of a busy machine.
const RING_BYTES: RangeInclusive<u64> = 4_000_000..=64_000_000_000;
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

/// A file of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RingFile {
    /// Files are numbered in the order in which they were begun.
    number: u64,
    /// Whether it is that of a trigger.
    pub(super) is_trigger: bool,
    pub(super) bytes: u64,
}

impl RingFile {
    /// `None` for another name.
    fn parse(name: &OsStr, bytes: u64) -> Option<Self> {
        let text = name.to_str()?;
        let digits = text.split_once('-')?.1.strip_suffix(".ndjson.gz")?;
        let file = Self {
            number: digits.parse().ok()?,
            is_trigger: text.starts_with("trigger-"),
            bytes,
        };
        (file.name() == text).then_some(file)
    }

    /// Its name.
    pub(super) fn name(self) -> String {
        let kind = if self.is_trigger {
            "trigger"
        } else {
            "samples"
        };
        format!("{kind}-{:08}.ndjson.gz", self.number)
    }
}

/// A file that is written.
type CurrentFile = (RingFile, MemberStream);

/// A ring in progress.
#[derive(Debug)]
pub struct RingRecorder {
    path: PathBuf,
    directory: PrivateDirectory,
    size: u64,
    /// The files before the current one, the oldest first.
    files: VecDeque<RingFile>,
    /// The file of samples that is written.
    current: Option<CurrentFile>,
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
        if !RING_BYTES.contains(&size) {
            return Err(RecordingWriteError::RingSize(size));
        }
        // A name such as "." has no parent of its own.
        let whole = std::path::absolute(path).ok();
        let parts = whole
            .as_ref()
            .and_then(|it| Some((it.parent()?, it.file_name()?)));
        let (around, name) = parts.ok_or_else(|| FileError::InvalidName(path.to_owned()))?;
        let directory = PrivateDirectory::create(around, Path::new(name))?;
        // Until the descriptor is closed.
        match flock(directory.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let reason = "another recorder writes it";
                return Err(FileError::WrongState(path.to_owned(), reason).into());
            }
            Err(error) => return Err(FileError::io("lock", path, error).into()),
        }
        let (files, others) = ring_files(path)?;
        if files.is_empty() && others > 0 {
            let reason = "it is no ring: it holds other files";
            return Err(FileError::WrongState(path.to_owned(), reason).into());
        }
        let last = files.last().map_or(0, |last| last.number);
        Ok(Self {
            path: path.to_owned(),
            directory,
            size,
            next_number: last.saturating_add(1),
            files: files.into(),
            current: None,
            freed_bytes: 0,
            sync: SyncThread::start().map_err(|error| RecordingWriteError::write(path, error))?,
        })
    }

    /// How many requests of a trigger are kept at most: half of what a file of samples takes.
    #[must_use]
    pub fn max_trigger_requests(&self) -> usize {
        let fitting = self.size / FILE_SHARE / 2 / REQUEST_BYTES;
        fitting.min(MAX_TRIGGER_REQUESTS) as usize
    }

    /// Begins a file.
    fn begin(&mut self, is_trigger: bool) -> Result<CurrentFile, RecordingWriteError> {
        let file = RingFile {
            number: self.next_number,
            is_trigger,
            bytes: 0,
        };
        let name = file.name();
        self.next_number = self.next_number.saturating_add(1);
        while self.files.len() >= MAX_FILES {
            self.delete_oldest()?;
        }
        loop {
            match self.directory.create_new(name.as_ref()) {
                Err(FileError::Io { source, .. })
                    if is_no_space(&source) && self.delete_oldest()? => {}
                made => {
                    let path = self.path.join(name);
                    return Ok((file, MemberStream::new(path, made?)));
                }
            }
        }
    }

    /// Completes a file. Where that fails, a reader decompresses its last member to its end.
    fn complete(&mut self, (file, mut stream): CurrentFile) {
        // An error is that of a later write.
        let _ = stream.complete();
        let _ = self.sync.request(stream.file());
        let bytes = stream.file_bytes();
        self.files.push_back(RingFile { bytes, ..file });
    }

    /// The oldest file, or the oldest one of a trigger.
    fn oldest(&self, is_trigger: bool) -> Option<usize> {
        let mut files = self.files.iter();
        files.position(|file| file.is_trigger == is_trigger)
    }

    /// Deletes the oldest file, those of triggers last; false if there is none but what is written now.
    fn delete_oldest(&mut self) -> Result<bool, RecordingWriteError> {
        match self.oldest(false).or(self.oldest(true)) {
            Some(index) => self.delete(index).map(|()| true),
            None => Ok(false),
        }
    }

    fn delete(&mut self, index: usize) -> Result<(), RecordingWriteError> {
        let Some(file) = self.files.remove(index) else {
            return Ok(());
        };
        self.freed_bytes += file.bytes;
        match self.directory.unlink(file.name().as_ref()) {
            Err(error) if error.is_not_found() => Ok(()),
            done => Ok(done?),
        }
    }

    /// Deletes the oldest files until a file that is not among them can grow by so many bytes.
    fn make_room(
        &mut self,
        file: &File,
        end: u64,
        growth: u64,
    ) -> Result<AppendResult, RecordingWriteError> {
        while self.size_bytes() + end > self.size
            || (self.freed_bytes < growth && !output::has_room(file, growth))
        {
            if !self.delete_oldest()? {
                return Ok(AppendResult::NoRoom);
            }
        }
        self.freed_bytes = self.freed_bytes.saturating_sub(growth);
        Ok(AppendResult::Written)
    }

    /// Appends to a file that is not among the others of the ring.
    fn append_to(
        &mut self,
        stream: &mut MemberStream,
        lines: &[u8],
    ) -> Result<AppendResult, RecordingWriteError> {
        let begin = stream.file_bytes();
        for _ in 0..2 {
            let permit = |file: &File, end| self.make_room(file, end, end - begin);
            if stream.append(lines, permit)? == AppendResult::Written {
                return Ok(AppendResult::Written);
            }
            // Another program has taken what this one has freed: once more.
            self.freed_bytes = 0;
        }
        Ok(AppendResult::NoRoom)
    }
}

/// The files of a ring in their order, and how many others the directory holds.
pub(super) fn ring_files(path: &Path) -> Result<(Vec<RingFile>, usize), FileError> {
    let failed = |error| FileError::io("list", path, error);
    let (mut files, mut others) = (Vec::new(), 0);
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // The recorder may delete it meanwhile.
        let bytes = entry.metadata().map_or(0, |about| about.len());
        match RingFile::parse(&entry.file_name(), bytes) {
            Some(file) => files.push(file),
            None => others += 1,
        }
    }
    files.sort();
    Ok((files, others))
}

impl Recorder for RingRecorder {
    fn append(&mut self, lines: &[u8]) -> Result<AppendResult, RecordingWriteError> {
        if let Some(full) = self
            .current
            .take_if(|(_, stream)| stream.file_bytes() >= self.size / FILE_SHARE)
        {
            self.complete(full);
        }
        let mut current = match self.current.take() {
            Some(current) => current,
            None => self.begin(false)?,
        };
        let appended = self.append_to(&mut current.1, lines);
        let synced = self.sync.request(current.1.file());
        let synced = synced.map_err(|error| current.1.failed(error));
        if matches!(appended, Ok(AppendResult::NoRoom)) && current.1.file_bytes() > 0 {
            // The next sample takes its place.
            self.complete(current);
        } else {
            self.current = Some(current);
        }
        synced.and(appended)
    }

    /// The oldest triggers go where all of them exceed their share.
    fn append_trigger(
        &mut self,
        trigger: &TriggerRecord,
        requests: &[u8],
    ) -> Result<AppendResult, RecordingWriteError> {
        let lines = [&line_of(json::to_string(trigger))?, requests].concat();
        let mut file = self.begin(true)?;
        let appended = self.append_to(&mut file.1, &lines);
        self.complete(file);
        loop {
            let triggers = self.files.iter().filter(|file| file.is_trigger);
            let bytes: u64 = triggers.clone().map(|file| file.bytes).sum();
            let exceeds = bytes > self.size / TRIGGER_SHARE || triggers.count() > MAX_TRIGGERS;
            match self.oldest(true).filter(|_| exceeds) {
                Some(oldest) => self.delete(oldest)?,
                None => return appended,
            }
        }
    }

    fn end(&mut self) -> Result<(), RecordingWriteError> {
        let Some(mut current) = self.current.take() else {
            return Ok(());
        };
        let ended = current.1.end();
        self.complete(current);
        ended
    }

    fn size_bytes(&self) -> u64 {
        let current = self.current.as_ref().map_or(0, |(_, it)| it.file_bytes());
        current + self.files.iter().map(|file| file.bytes).sum::<u64>()
    }
}
