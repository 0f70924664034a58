//! Reads events from the per-processor buffers and sorts them by time.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::decode::{EventDecoder, TraceEvent};
use super::error::TraceError;
use super::event::{BlockEvent, RequestStep};
use super::file_event::FileEvent;
use super::names::ThreadNames;
use super::page::{LostEvents, PageFormat};
use crate::probe::text::{nonempty_lines, parse_number};

/// Events younger than this may be preceded by one that another processor is still writing.
pub(super) const SETTLE_TIME_NS: u64 = 1_000_000;

/// Counters of events that were dropped although the buffer had room.
const DROP_COUNTERS: [&[u8]; 2] = [b"commit overrun", b"dropped events"];
/// The same, and those that were overwritten.
const LOSS_COUNTERS: [&[u8]; 3] = [b"overrun", b"commit overrun", b"dropped events"];

/// The buffers of all processors.
#[derive(Debug)]
pub struct RingReader {
    pipes: Vec<SplicePipe>,
    decoder: EventDecoder,
    format: PageFormat,
    thread_names: ThreadNames,
    page_buffer: Vec<u8>,
    unsettled_events: Vec<BlockEvent>,
    unsettled_file_events: Vec<FileEvent>,
    /// As counted in the pages.
    missed_events: u64,
}

#[derive(Debug)]
struct SplicePipe {
    raw_pipe: File,
    stats_path: PathBuf,
}

impl RingReader {
    /// Opens the buffers below these directories.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn open(
        processors: &[PathBuf],
        decoder: EventDecoder,
        format: PageFormat,
        names: ThreadNames,
    ) -> Result<Self, TraceError> {
        let pipe = |directory: &PathBuf| {
            let path = directory.join("trace_pipe_raw");
            let pages = fs::OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&path)
                .map_err(TraceError::from_io_error("opening", &path))?;
            Ok(SplicePipe {
                raw_pipe: pages,
                stats_path: directory.join("stats"),
            })
        };
        Ok(Self {
            pipes: processors.iter().map(pipe).collect::<Result<_, _>>()?,
            decoder,
            page_buffer: vec![0; format.size()],
            format,
            thread_names: names,
            unsettled_events: Vec::new(),
            unsettled_file_events: Vec::new(),
            missed_events: 0,
        })
    }

    /// Reads all available events. Returns the number of events read.
    ///
    /// # Errors
    ///
    /// When the kernel refuses further reads.
    pub fn read_events(&mut self) -> io::Result<usize> {
        let before = self.unsettled_count();
        for index in 0..self.pipes.len() {
            while self.read_page(index)? {}
        }
        Ok(self.unsettled_count() - before)
    }

    fn unsettled_count(&self) -> usize {
        self.unsettled_events.len() + self.unsettled_file_events.len()
    }

    /// Reads a page of one processor; returns false when there is none.
    fn read_page(&mut self, index: usize) -> io::Result<bool> {
        let length = match self.pipes[index].raw_pipe.read(&mut self.page_buffer) {
            Ok(0) => return Ok(false),
            Ok(length) => length,
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::WouldBlock => Ok(false),
                    io::ErrorKind::Interrupted => Ok(true),
                    _ => Err(error),
                };
            }
        };
        let Some(page) = self.format.open_page(&self.page_buffer[..length]) else {
            return Ok(true);
        };
        let lost = match page.lost() {
            LostEvents::Nothing => 0,
            LostEvents::UnknownCount => 1,
            LostEvents::Count(count) => count,
        };
        if lost > 0 {
            self.missed_events += lost;
            self.unsettled_events
                .push(BlockEvent::new(RequestStep::EventsLost, page.start_time()));
        }
        for (at, record) in page {
            match self.decoder.decode_record(at, record) {
                Some(TraceEvent::Block(mut event)) => {
                    // The other events contain the name or do not need it.
                    if event.request_step == RequestStep::Dirtied {
                        event.thread_name = self.thread_names.name_of(event.pid);
                    }
                    self.unsettled_events.push(event);
                }
                Some(TraceEvent::File(event)) => self.unsettled_file_events.push(event),
                None => {}
            }
        }
        Ok(true)
    }

    /// Number of processors.
    pub(super) fn processor_count(&self) -> usize {
        self.pipes.len()
    }

    /// Reads a page of one processor and appends its events of requests; returns false when there is
    /// none.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn read_page_into(
        &mut self,
        processor: usize,
        events: &mut impl Extend<BlockEvent>,
    ) -> io::Result<bool> {
        let has_read = self.read_page(processor)?;
        events.extend(self.unsettled_events.drain(..));
        self.unsettled_file_events.clear();
        Ok(has_read)
    }

    /// Events that the kernel dropped since the start although there was room, as far as it counts
    /// them: an interrupt interrupted another one.
    pub(super) fn dropped_events(&self) -> u64 {
        self.sum_counts(&DROP_COUNTERS)
    }

    /// Delivers, in order of time, the events that no later event can precede. `started` is the
    /// time at which the last reading began; `None` delivers all.
    pub fn deliver_settled<R>(
        &mut self,
        started: Option<u64>,
        sink: impl FnOnce(&[BlockEvent], &[FileEvent]) -> R,
    ) -> R {
        let settled = started.map(|started| started.saturating_sub(SETTLE_TIME_NS));
        let blocks = settled_count(&mut self.unsettled_events, settled, |event| {
            event.timestamp_ns
        });
        let files = settled_count(&mut self.unsettled_file_events, settled, |event| {
            event.timestamp_ns
        });
        let answer = sink(
            &self.unsettled_events[..blocks],
            &self.unsettled_file_events[..files],
        );
        self.unsettled_events.drain(..blocks);
        self.unsettled_file_events.drain(..files);
        answer
    }

    /// Resumes after a pause: events that were read and not delivered are dropped, and a marker
    /// event is inserted.
    pub fn resume_at(&mut self, at: u64) {
        self.unsettled_events.clear();
        self.unsettled_file_events.clear();
        self.unsettled_events
            .push(BlockEvent::new(RequestStep::RecordingResumed, at));
    }

    /// Events lost since the start, as far as the kernel counts them: the buffer was full, or an
    /// interrupt interrupted another one.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        let counted = self.sum_counts(&LOSS_COUNTERS);
        counted.max(self.missed_events)
    }

    fn sum_counts(&self, counters: &[&[u8]]) -> u64 {
        self.pipes
            .iter()
            .filter_map(|pipe| fs::read(&pipe.stats_path).ok())
            .map(|text| sum_counters(&text, counters))
            .sum()
    }
}

/// Sorts events by time. Returns how many are not younger than `settled`; `None`: all.
fn settled_count<T>(events: &mut [T], settled: Option<u64>, time: impl Fn(&T) -> u64) -> usize {
    // The events of each processor are in order already, so this is little more than a merge.
    events.sort_by_key(&time);
    settled.map_or(events.len(), |settled| {
        events.partition_point(|event| time(event) <= settled)
    })
}

/// Sums counters of `per_cpu/cpuN/stats` (kernel Documentation/trace/ftrace.rst).
fn sum_counters(text: &[u8], counters: &[&[u8]]) -> u64 {
    nonempty_lines(text)
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let is_wanted = counters.contains(&&line[..colon]);
            is_wanted.then(|| parse_number(line[colon + 1..].trim_ascii()))?
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_events_sum_all_loss_counters() {
        let text = b"entries: 640\noverrun: 12\ncommit overrun: 1\nbytes: 26452\n\
            oldest event ts:  3565.824693\nnow ts:  3566.181329\ndropped events: 3\nread events: 0\n";
        assert_eq!(sum_counters(text, &LOSS_COUNTERS), 16);
        assert_eq!(sum_counters(text, &DROP_COUNTERS), 4);
        assert_eq!(sum_counters(b"", &LOSS_COUNTERS), 0);
    }
}
