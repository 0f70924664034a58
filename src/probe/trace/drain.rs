//! Takes events out of the per-processor buffers and puts them in order of time.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::decode::Decoder;
use super::error::TraceError;
use super::event::{BlockEvent, Step};
use super::names::Names;
use super::page::{Lost, PageFormat};
use crate::probe::text::{lines, number};

/// Events younger than this may be overtaken by one that another processor is still writing.
pub(super) const SETTLED: u64 = 1_000_000;

/// The buffers of all processors.
#[derive(Debug)]
pub struct Drain {
    pipes: Vec<Pipe>,
    decoder: Decoder,
    format: PageFormat,
    names: Names,
    page: Vec<u8>,
    events: Vec<BlockEvent>,
    /// Counted in the pages.
    missed: u64,
}

#[derive(Debug)]
struct Pipe {
    pages: File,
    stats: PathBuf,
}

impl Drain {
    /// Opens the buffers below these directories.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn open(
        processors: &[PathBuf],
        decoder: Decoder,
        format: PageFormat,
        names: Names,
    ) -> Result<Self, TraceError> {
        let pipe = |directory: &PathBuf| {
            let path = directory.join("trace_pipe_raw");
            let pages = fs::OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&path)
                .map_err(TraceError::of("opening", &path))?;
            Ok(Pipe {
                pages,
                stats: directory.join("stats"),
            })
        };
        Ok(Self {
            pipes: processors.iter().map(pipe).collect::<Result<_, _>>()?,
            decoder,
            page: vec![0; format.size()],
            format,
            names,
            events: Vec::new(),
            missed: 0,
        })
    }

    /// Reads what there is. Returns the number of events read.
    ///
    /// # Errors
    /// When the kernel refuses to go on.
    pub fn read(&mut self) -> io::Result<usize> {
        let before = self.events.len();
        for index in 0..self.pipes.len() {
            while self.read_page(index)? {}
        }
        Ok(self.events.len() - before)
    }

    /// Reads a page of one processor; false when it has none.
    fn read_page(&mut self, index: usize) -> io::Result<bool> {
        let length = match self.pipes[index].pages.read(&mut self.page) {
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
        let Some(page) = self.format.open(&self.page[..length]) else {
            return Ok(true);
        };
        let lost = match page.lost() {
            Lost::Nothing => 0,
            Lost::Some => 1,
            Lost::Count(count) => count,
        };
        if lost > 0 {
            self.missed += lost;
            self.events.push(BlockEvent::new(Step::Lost, page.begins()));
        }
        for (at, record) in page {
            if let Some(mut event) = self.decoder.decode(at, record) {
                // The other events carry the name or do not need it.
                if event.step == Step::Dirtied {
                    event.name = self.names.of(event.pid);
                }
                self.events.push(event);
            }
        }
        Ok(true)
    }

    /// Hands over, in order of time, the events that nothing can come before any more. `started`
    /// is the time at which the last reading began; `None` hands over all.
    pub fn settle<R>(&mut self, started: Option<u64>, sink: impl FnOnce(&[BlockEvent]) -> R) -> R {
        // Each processor's events are in order already, which makes this little more than a merge.
        self.events.sort_by_key(|event| event.at);
        let end = started.map_or(self.events.len(), |started| {
            let settled = started.saturating_sub(SETTLED);
            self.events.partition_point(|event| event.at <= settled)
        });
        let answer = sink(&self.events[..end]);
        self.events.drain(..end);
        answer
    }

    /// After a rest: what was read and not handed over is forgotten, and a mark says so.
    pub fn resume(&mut self, at: u64) {
        self.events.clear();
        self.events.push(BlockEvent::new(Step::Resumed, at));
    }

    /// Events lost since the beginning, as far as the kernel counts them: the buffer was full, or
    /// an interrupt came in an interrupt.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let counted: u64 = self
            .pipes
            .iter()
            .filter_map(|pipe| fs::read(&pipe.stats).ok())
            .map(|text| lost_in(&text))
            .sum();
        counted.max(self.missed)
    }
}

/// Reads `per_cpu/cpuN/stats` (kernel Documentation/trace/ftrace.rst).
fn lost_in(text: &[u8]) -> u64 {
    lines(text)
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let counts = matches!(
                &line[..colon],
                b"overrun" | b"commit overrun" | b"dropped events"
            );
            counts.then(|| number(line[colon + 1..].trim_ascii()))?
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_of_losing_events_count() {
        let text = b"entries: 640\noverrun: 12\ncommit overrun: 1\nbytes: 26452\n\
            oldest event ts:  3565.824693\nnow ts:  3566.181329\ndropped events: 3\nread events: 0\n";
        assert_eq!(lost_in(text), 16);
        assert_eq!(lost_in(b""), 0);
    }
}
