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
pub(super) const MAX_COUNTED_OF_SPLICE: u64 = 64 << 10;
/// What an offset did between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// It stayed.
    Unmoved,
    /// It advanced by this many bytes, which were read or written.
    Sequential(u64),
    /// It went back, no further from the start of the file than can have been read since.
    Restarted,
    /// It was set (lseek(2)): no transfer explains it.
    Jumped,
}

/// The movement of an offset from `before` to the file's present one.
///
/// `counted` are the bytes that its process transferred in the meantime; `None` if unknown: then each
/// advance counts as a transfer. `has_pipe` is whether the process has a pipe, without which it cannot
/// use splice(2).
#[must_use]
pub fn movement(before: u64, file: &OpenFile, counted: Option<u64>, has_pipe: bool) -> Movement {
    let after = file.position;
    let possible = counted.map_or(u64::MAX, |counted| {
        counted
            .saturating_add(counted / COUNTED_SLACK_DIVISOR)
            .saturating_add(COUNTED_SLACK_BYTES)
    });
    if after == before {
        return Movement::Unmoved;
    }
    let Some(bytes) = after.checked_sub(before) else {
        return if after <= possible {
            Movement::Restarted
        } else {
            Movement::Jumped
        };
    };
    // A seek to the end is how programs determine the size of a file or device.
    let sought_end = before == 0 && file.size.is_some_and(|size| after >= size);
    let spliced =
        has_pipe && !sought_end && counted.is_some_and(|counted| counted <= MAX_COUNTED_OF_SPLICE);
    if bytes <= possible || spliced {
        Movement::Sequential(bytes)
    } else {
        Movement::Jumped
    }
}

/// Bytes that a process can have moved through a file, at most: those of system calls, or those of
/// devices where the calls are not counted (io_uring).
#[must_use]
pub fn counted_bytes(io: &ProcessIo) -> u64 {
    read_bytes(io).saturating_add(written_bytes(io))
}

/// Bytes that it has read, by the same counters.
#[must_use]
pub fn read_bytes(io: &ProcessIo) -> u64 {
    io.rchar.max(io.read_bytes)
}

/// Bytes that it has written, by the same counters.
#[must_use]
pub fn written_bytes(io: &ProcessIo) -> u64 {
    io.wchar.max(io.write_bytes)
}

/// An open file of a process, and its changes since the previous sample.
#[derive(Debug, Clone, Copy)]
pub struct FileFlow<'s> {
    /// Its current state.
    pub file: &'s OpenFile,
    /// Bytes by which the offset advanced by reading or writing; a seek is no advance.
    pub advanced: u64,
    /// Bytes by which the file, or its allocated size, grew.
    pub grown: u64,
}

impl<'s> FileFlow<'s> {
    fn new(pair: &ProcessPair<'s>, file: &'s OpenFile, counted: Option<u64>) -> Self {
        let previous = pair.previous_file(file);
        let moved =
            |earlier: &OpenFile| movement(earlier.position, file, counted, has_pipe(pair.current));
        Self {
            file,
            advanced: match previous.map(moved) {
                Some(Movement::Sequential(bytes)) => bytes,
                _ => 0,
            },
            grown: previous.map_or(0, |earlier| grown_bytes(earlier, file, counted)),
        }
    }

    /// Bytes that were written through this descriptor, as far as can be determined.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.advanced.max(self.grown)
    }

    /// Whether it grew without its offset: written by copy_file_range(2), pwrite(2), mmap(2).
    #[must_use]
    pub fn grew_unpositioned(&self) -> bool {
        self.file.writable && self.advanced == 0 && self.grown > 0
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
            && (self.grown > 0 || (self.advanced > 0 && !is_source_like))
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
    let is_extended = allocated < longer / 2 && counted.is_some_and(|counted| counted < longer / 2);
    if is_extended {
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
    /// Process id of its topmost ancestor that runs the same program: rsync has a process for either
    /// end, and one between.
    pub family: u32,
}

/// The processes whose open files are known.
#[must_use]
pub fn collect_flows<'s>(interval: &SampleInterval<'s>) -> Vec<ProcessFlows<'s>> {
    let pairs = interval.process_pairs.iter();
    pairs
        .filter(|pair| {
            !pair.current.files.is_empty()
                && !works_in_place(&pair.current.identity.name)
                && !waits_for_child_with_its_files(interval, pair)
        })
        .map(|pair| {
            let counted = pair.io_delta().map(|(io, _)| counted_bytes(&io));
            let files = pair.current.files.iter();
            ProcessFlows {
                process: pair.current,
                flows: files
                    .map(|file| FileFlow::new(pair, file, counted))
                    .collect(),
                family: family_of(interval.current, pair.current),
            }
        })
        .collect()
}

/// Whether a file is one of these under the same descriptor: a child has inherited it.
fn is_one_of(file: &OpenFile, files: &[OpenFile]) -> bool {
    let is_same = |it: &OpenFile| (it.descriptor, it.inode) == (file.descriptor, file.inode);
    file.kind != FileKind::Pipe && files.iter().any(is_same)
}

/// Whether a process transfers nothing itself and has a child with the same file under the same
/// descriptor. Their offset is one: a shell may redirect its own descriptors before it starts its last
/// program (`sh -c "pg_dump db > dump.sql"` with dash).
fn waits_for_child_with_its_files(interval: &SampleInterval<'_>, pair: &ProcessPair<'_>) -> bool {
    let own = pair.current;
    let bytes_of = |process: &ProcessSample| process.io.value().map(|io| counted_bytes(&io));
    let before = pair.previous.and_then(bytes_of);
    if before.is_none() || bytes_of(own) != before {
        return false;
    }
    interval.process_pairs.iter().any(|other| {
        let files = &other.current.files;
        other.current.identity.parent_pid == own.identity.pid
            && files.iter().any(|file| is_one_of(file, &own.files))
    })
}

/// Whether a process has a pipe open.
#[must_use]
pub fn has_pipe(process: &ProcessSample) -> bool {
    process.files.iter().any(|file| file.kind == FileKind::Pipe)
}

/// The topmost ancestor of a process with the same name.
fn family_of(sample: &SystemSample, process: &ProcessSample) -> u32 {
    /// A longer chain of parents is a cycle.
    const MAX_GENERATIONS: usize = 8;
    let mut topmost = &process.identity;
    for _ in 0..MAX_GENERATIONS {
        let parent = sample.process(topmost.parent_pid).map(|it| &it.identity);
        match parent.filter(|parent| parent.name == topmost.name) {
            Some(parent) => topmost = parent,
            None => break,
        }
    }
    topmost.pid
}
