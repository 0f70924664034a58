//! I/O on each open file between two samples.

use std::time::Duration;

use crate::model::interval::{ProcessPair, SampleInterval};
use crate::probe::sample::{FileKind, OpenFile, ProcessIo, ProcessSample};

/// File descriptor of standard error (stdin(3)).
const STANDARD_ERROR: u32 = 2;

/// A benchmark moves back and forth in a file without an end, and has its own screen.
const OWN_PROGRAM_NAME: &[u8] = b"diskscope";

/// An open file of a process, and its changes since the previous sample.
#[derive(Debug, Clone, Copy)]
pub struct FileFlow<'s> {
    /// Its current state.
    pub file: &'s OpenFile,
    /// Its previous state; `None` when it was not open before.
    pub previous: Option<&'s OpenFile>,
}

impl FileFlow<'_> {
    /// Bytes by which the offset advanced.
    #[must_use]
    pub fn advanced_bytes(&self) -> u64 {
        self.previous.map_or(0, |earlier| {
            self.file.position.saturating_sub(earlier.position)
        })
    }

    /// Bytes by which the file, or its allocated size, grew.
    #[must_use]
    pub fn grown_bytes(&self) -> u64 {
        let Some(earlier) = self.previous else {
            return 0;
        };
        let longer = match (self.file.size, earlier.size) {
            (Some(now), Some(before)) => now.saturating_sub(before),
            _ => 0,
        };
        longer.max(
            self.file
                .allocated_bytes
                .saturating_sub(earlier.allocated_bytes),
        )
    }

    /// Whether it grew without its offset: written by copy_file_range(2), pwrite(2), mmap(2).
    #[must_use]
    pub fn grew_unpositioned(&self) -> bool {
        self.file.writable && self.advanced_bytes() == 0 && self.grown_bytes() > 0
    }

    /// Whether it was written through this descriptor, as far as can be determined.
    #[must_use]
    pub fn is_written(&self) -> bool {
        // Messages go to standard error; a log that grows there is no copy.
        self.file.descriptor != STANDARD_ERROR
            && self.file.writable
            && self.file.kind != FileKind::Pipe
            && (self.grown_bytes() > 0 || (self.advanced_bytes() > 0 && !self.is_source_like()))
    }

    /// Open for both and advancing without growth: more likely read than written.
    fn is_source_like(&self) -> bool {
        self.file.readable && self.file.kind == FileKind::Regular
    }

    /// Whether it can be the source of a transfer of at least `smallest` bytes.
    #[must_use]
    pub fn can_be_source(&self, smallest: u64) -> bool {
        self.file.readable
            && self.file.kind != FileKind::Pipe
            && self.file.size.is_some_and(|size| size >= smallest)
            && !self.is_written()
    }
}

/// A process with its open files.
#[derive(Debug)]
pub struct ProcessFlows<'s> {
    /// The process.
    pub process: &'s ProcessSample,
    /// Its files, sorted by descriptor.
    pub flows: Vec<FileFlow<'s>>,
    /// Its I/O in the interval.
    pub io_delta: Option<(ProcessIo, Duration)>,
}

/// The processes whose open files are known.
#[must_use]
pub fn collect_flows<'s>(interval: &SampleInterval<'s>) -> Vec<ProcessFlows<'s>> {
    let flows = |pair: &ProcessPair<'s>| {
        let files = pair.current.files.iter();
        files
            .map(|file| FileFlow {
                file,
                previous: pair.previous_file(file),
            })
            .collect()
    };
    interval
        .process_pairs
        .iter()
        .filter(|pair| {
            !pair.current.files.is_empty() && pair.current.identity.name != OWN_PROGRAM_NAME
        })
        .map(|pair| ProcessFlows {
            process: pair.current,
            flows: flows(pair),
            io_delta: pair.io_delta(),
        })
        .collect()
}
