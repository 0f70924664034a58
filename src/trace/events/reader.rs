//! Reads events from the per-processor buffers and sorts them by time.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::decode::EventDecoder;
use super::error::TraceError;
use super::event::{Event, EventKind, ThreadName};
use super::page::PageFormat;
use crate::probe::text::{nonempty_lines, parse_number, read_file};

/// Thread ids are reused after a while.
const NAMES_LIFETIME: Duration = Duration::from_secs(1);
/// Counters of events that were dropped although the buffer had room: an interrupt interrupted another one.
const DROP_COUNTERS: &[&[u8]] = &[b"commit overrun", b"dropped events"];

/// The buffers of all processors.
#[derive(Debug)]
pub(crate) struct RingReader {
    /// Of each processor the buffer, and its directory.
    buffers: Vec<(File, PathBuf)>,
    decoder: EventDecoder,
    format: PageFormat,
    names: ThreadNames,
    page: Vec<u8>,
    events: Vec<Event>,
    /// Events that were overwritten before they were read, as the pages tell.
    pub(super) missed_events: u64,
}

impl RingReader {
    /// Opens the buffers of the processors, which have a directory each in this one.
    pub(super) fn open(
        per_cpu: &Path,
        decoder: EventDecoder,
        format: PageFormat,
        names: ThreadNames,
    ) -> Result<Self, TraceError> {
        let mut buffers = Vec::new();
        let processors = fs::read_dir(per_cpu);
        let processors = processors.map_err(TraceError::refused("listing", per_cpu))?;
        for processor in processors.flatten() {
            let path = processor.path().join("trace_pipe_raw");
            let mut options = fs::OpenOptions::new();
            options.read(true).custom_flags(libc::O_NONBLOCK);
            let file = options.open(&path);
            let file = file.map_err(TraceError::refused("opening", &path))?;
            buffers.push((file, processor.path()));
        }
        Ok(Self {
            buffers,
            decoder,
            page: vec![0; format.size()],
            format,
            names,
            events: Vec::new(),
            missed_events: 0,
        })
    }

    /// Reads all available events. Returns whether there were any.
    ///
    /// # Errors
    /// When the kernel refuses further reads.
    pub(crate) fn read_events(&mut self) -> Result<bool, TraceError> {
        let before = self.events.len();
        for index in 0..self.buffers.len() {
            while self.read_page(index)? {}
        }
        Ok(self.events.len() > before)
    }

    /// Reads a page of one processor; returns false when there is none.
    fn read_page(&mut self, index: usize) -> Result<bool, TraceError> {
        let (buffer, directory) = &mut self.buffers[index];
        let length = match buffer.read(&mut self.page) {
            Ok(0) => return Ok(false),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(TraceError::refused("reading", directory)(error)),
        };
        let Some(page) = self.format.open_page(&self.page[..length]) else {
            return Ok(true);
        };
        if page.lost() > 0 {
            self.missed_events = self.missed_events.saturating_add(page.lost());
            let marker = Event::new(EventKind::EventsLost, page.start_time());
            self.events.push(marker);
        }
        for (at, record) in page {
            if let Some(mut event) = self.decoder.decode_record(at, record) {
                // The other events contain the name or do not need it.
                if event.kind == EventKind::Dirtied {
                    event.thread_name = self.names.name_of(event.pid);
                }
                self.events.push(event);
            }
        }
        Ok(true)
    }

    /// Delivers the events up to a time in order, or all.
    pub(crate) fn deliver<R>(&mut self, until: Option<u64>, sink: impl FnOnce(&[Event]) -> R) -> R {
        // The events of each processor are in order already, so this is little more than a merge.
        self.events.sort_by_key(|event| event.at);
        let until = until.unwrap_or(u64::MAX);
        let count = self.events.partition_point(|event| event.at <= until);
        let answer = sink(&self.events[..count]);
        self.events.drain(..count);
        answer
    }

    /// Resumes after a pause: events that were read and not delivered are dropped, and a marker is inserted.
    pub(super) fn resume_at(&mut self, at: u64) {
        self.events.clear();
        self.events
            .push(Event::new(EventKind::RecordingResumed, at));
    }

    /// Events that the kernel dropped since the start although there was room, as far as it counts them.
    pub(crate) fn dropped_events(&self) -> u64 {
        let texts = self.buffers.iter().map(|(_, directory)| {
            let text = fs::read(directory.join("stats")).unwrap_or_default();
            sum_drop_counters(&text)
        });
        texts.sum()
    }
}

/// Sums the counters of `per_cpu/cpuN/stats` (kernel Documentation/trace/ftrace.rst).
fn sum_drop_counters(text: &[u8]) -> u64 {
    let counts = nonempty_lines(text).filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let is_wanted = DROP_COUNTERS.contains(&&line[..colon]);
        is_wanted.then(|| parse_number(line[colon + 1..].trim_ascii()))?
    });
    counts.sum()
}

/// Names of threads of which an event contains only the id.
#[derive(Debug)]
pub(super) struct ThreadNames {
    proc: PathBuf,
    saved_cmdlines: PathBuf,
    /// The latest, and when it was found: a thread dirties many files, and ids are reused after a while.
    latest: Option<(u32, ThreadName, Instant)>,
}

impl ThreadNames {
    /// Searches procfs first, then the names of ended threads in tracefs.
    pub(super) fn new(proc: &Path, tracefs: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            saved_cmdlines: tracefs.join("saved_cmdlines"),
            latest: None,
        }
    }

    /// The name of a thread; empty where it is unknown.
    fn name_of(&mut self, pid: u32) -> ThreadName {
        if let Some((known, name, since)) = self.latest
            && known == pid
            && since.elapsed() < NAMES_LIFETIME
        {
            return name;
        }
        let name = self.find_name(pid).unwrap_or_default();
        self.latest = Some((pid, name, Instant::now()));
        name
    }

    fn find_name(&self, pid: u32) -> Option<ThreadName> {
        if let Some(text) = read_file(&self.proc.join(pid.to_string()).join("comm")) {
            return Some(ThreadName::from_field(text.trim_ascii_end()));
        }
        // Lines of an id and a name.
        let saved = read_file(&self.saved_cmdlines)?;
        nonempty_lines(&saved).find_map(|line| {
            let line = line.trim_ascii_start();
            let space = line.iter().position(|byte| *byte == b' ')?;
            let is_wanted = parse_number(&line[..space]) == Some(u64::from(pid));
            is_wanted.then(|| ThreadName::from_field(&line[space + 1..]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_events_sum_their_counters() {
        let text = b"entries: 640\noverrun: 12\ncommit overrun: 1\nbytes: 26452\n\
            oldest event ts:  3565.824693\nnow ts:  3566.181329\ndropped events: 3\nread events: 0\n";
        assert_eq!(sum_drop_counters(text), 4);
        assert_eq!(sum_drop_counters(b""), 0);
    }

    #[test]
    fn name_of_ended_thread_is_found_in_tracefs() {
        let directory = tempfile::tempdir().unwrap();
        let (proc, tracefs) = (directory.path().join("proc"), directory.path());
        fs::create_dir_all(proc.join("7")).unwrap();
        fs::write(proc.join("7/comm"), "dd\n").unwrap();
        fs::write(tracefs.join("saved_cmdlines"), "7 old\n 9 cp a b\n").unwrap();
        let mut names = ThreadNames::new(&proc, tracefs);
        let mut name = |pid| names.name_of(pid).as_bytes().to_vec();
        assert_eq!(
            (name(7), name(9), name(8)),
            (b"dd".to_vec(), b"cp a b".to_vec(), vec![])
        );
    }
}
