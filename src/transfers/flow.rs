//! I/O on each open file between two samples.

use super::kind::works_in_place;
use crate::probe::SystemSample;
use crate::probe::interval::{ProcessPair, SampleInterval};
use crate::probe::sample::{FileKind, OpenFile, ProcessIo, ProcessSample};

/// File descriptor of standard error (stdin(3)).
const STANDARD_ERROR: u32 = 2;
/// Counters and offsets are read one after the other, and the process runs on between: an advance
/// may exceed the counted bytes by half ...
const COUNTED_SLACK_DIVISOR: u64 = 2;
/// ... and by this many bytes.
const COUNTED_SLACK_BYTES: u64 = 1 << 20;
/// Up to this many counted bytes in an interval a process transfers by calls that the kernel does not
/// count: splice(2) between a file and a pipe.
const MAX_COUNTED_OF_SPLICE: u64 = 64 << 10;
/// What an offset did between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// It stayed.
    Unmoved,
    /// It advanced by this many bytes, which were read or written.
    Sequential(u64),
    /// It advanced by more bytes than can have been read or written (lseek(2)).
    Skipped(u64),
    /// It went back.
    Back,
}

/// The movement of an offset from `before` to the file's present one.
///
/// `counted` are the bytes that its process transferred in the meantime; `None` if unknown: then each
/// advance counts as a transfer. `is_spliced` is whether it may use calls that are not counted.
#[must_use]
pub fn movement(before: u64, file: &OpenFile, counted: Option<u64>, is_spliced: bool) -> Movement {
    let possible = counted.map_or(u64::MAX, |counted| {
        counted
            .saturating_add(counted / COUNTED_SLACK_DIVISOR)
            .saturating_add(COUNTED_SLACK_BYTES)
    });
    // A seek to the end is how programs determine the size of a file or device.
    let sought_end = before == 0 && file.size.is_some_and(|size| file.position >= size);
    match file.position.checked_sub(before) {
        None => Movement::Back,
        Some(0) => Movement::Unmoved,
        Some(bytes) if bytes <= possible || (is_spliced && !sought_end) => {
            Movement::Sequential(bytes)
        }
        Some(bytes) => Movement::Skipped(bytes),
    }
}

/// Bytes that a process can have moved through a file, at most: those of system calls, or those of
/// devices where the calls are not counted (io_uring).
#[must_use]
pub fn counted_bytes(io: &ProcessIo) -> u64 {
    read_bytes(io).saturating_add(io.wchar.max(io.write_bytes))
}

/// Bytes that it has read, at most, by the same counters.
#[must_use]
pub fn read_bytes(io: &ProcessIo) -> u64 {
    io.rchar.max(io.read_bytes)
}

/// An open file of a process, and its changes since the previous sample.
#[derive(Debug, Clone, Copy)]
pub struct FileFlow<'s> {
    /// Its current state.
    pub file: &'s OpenFile,
    /// What its offset did.
    pub movement: Movement,
    /// Bytes by which the file, or its allocated size, grew.
    pub grown: u64,
}

impl FileFlow<'_> {
    /// Bytes by which the offset advanced by reading or writing; a seek is no advance.
    #[must_use]
    pub fn advanced(&self) -> u64 {
        match self.movement {
            Movement::Sequential(bytes) => bytes,
            Movement::Unmoved | Movement::Skipped(_) | Movement::Back => 0,
        }
    }

    /// Bytes that were written through this descriptor, as far as can be determined.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.advanced().max(self.grown)
    }

    /// Whether it grew without its offset: written by copy_file_range(2), pwrite(2), mmap(2).
    #[must_use]
    pub fn grew_unpositioned(&self) -> bool {
        self.file.writable && self.advanced() == 0 && self.grown > 0
    }

    /// Whether it was written through this descriptor, as far as can be determined.
    #[must_use]
    pub fn is_written(&self) -> bool {
        // Open for both and advancing without growth: more likely read than written.
        let is_source_like = self.file.readable && self.file.kind == FileKind::Regular;
        // Messages go to standard error; a log that grows there is no copy.
        self.file.descriptor != STANDARD_ERROR
            && self.file.writable
            && self.file.kind != FileKind::Pipe
            && (self.grown > 0 || (self.advanced() > 0 && !is_source_like))
    }

    /// Whether it has at least this size.
    #[must_use]
    pub fn is_large(&self, min_bytes: u64) -> bool {
        self.file.kind != FileKind::Pipe && self.file.size.is_some_and(|size| size >= min_bytes)
    }

    /// Whether it can be the source of a transfer of at least this many bytes.
    #[must_use]
    pub fn can_be_source(&self, min_bytes: u64) -> bool {
        self.file.readable && self.is_large(min_bytes) && !self.is_written()
    }
}

/// A file that is extended without data (ftruncate(2)) has grown by its allocated bytes only.
fn grown_bytes(earlier: &OpenFile, file: &OpenFile, counted: Option<u64>) -> u64 {
    let longer = match (file.size, earlier.size) {
        (Some(now), Some(before)) => now.saturating_sub(before),
        _ => 0,
    };
    let allocated = file.allocated_bytes.saturating_sub(earlier.allocated_bytes);
    if counted.is_some_and(|counted| counted < longer / 2) {
        allocated
    } else {
        longer.max(allocated)
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
    pub io: Option<ProcessIo>,
    /// Whether it may transfer by calls that the kernel does not count: splice(2) between a file and a
    /// pipe.
    pub is_spliced: bool,
    /// Process id of its topmost ancestor that runs the same program: rsync has a process for either
    /// end, and one between.
    pub family: u32,
}

impl<'s> ProcessFlows<'s> {
    fn new(pair: &ProcessPair<'s>, sample: &SystemSample) -> Self {
        let process = pair.current;
        let io = pair.io_delta().map(|(io, _)| io);
        let counted = io.map(|io| counted_bytes(&io));
        let has_pipe = process.files.iter().any(|file| file.kind == FileKind::Pipe);
        let is_spliced = has_pipe && counted.is_some_and(|it| it <= MAX_COUNTED_OF_SPLICE);
        let flows = process.files.iter().map(|file| {
            let earlier = pair.previous_file(file);
            FileFlow {
                file,
                movement: earlier.map_or(Movement::Unmoved, |earlier| {
                    movement(earlier.position, file, counted, is_spliced)
                }),
                grown: earlier.map_or(0, |earlier| grown_bytes(earlier, file, counted)),
            }
        });
        Self {
            process,
            flows: flows.collect(),
            io,
            is_spliced,
            family: family_of(sample, process),
        }
    }

    /// Whether it transfers nothing: a shell whose programs have inherited its files.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.io.is_some_and(|io| counted_bytes(&io) == 0)
    }
}

/// The processes whose open files are known.
#[must_use]
pub fn collect_flows<'s>(interval: &SampleInterval<'s>) -> Vec<ProcessFlows<'s>> {
    let pairs = interval.process_pairs.iter();
    let moving = pairs.filter(|pair| {
        !pair.current.files.is_empty() && !works_in_place(&pair.current.identity.name)
    });
    moving
        .map(|pair| ProcessFlows::new(pair, interval.current))
        .collect()
}

/// The topmost ancestor of a process with the same name.
fn family_of(sample: &SystemSample, process: &ProcessSample) -> u32 {
    /// A longer chain of parents is a cycle.
    const MAX_GENERATIONS: usize = 8;
    let parent = |process: &&'_ ProcessSample| {
        let parent = sample.process(process.identity.parent_pid);
        parent.filter(|parent| parent.identity.name == process.identity.name)
    };
    let generations = std::iter::successors(Some(process), parent);
    let topmost = generations.take(MAX_GENERATIONS).last();
    topmost.unwrap_or(process).identity.pid
}
