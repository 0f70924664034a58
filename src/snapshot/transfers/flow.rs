//! I/O on each open file between two samples.

use std::time::Duration;

use super::movement::{Movement, counted_bytes, movement, read_bytes, written_bytes};
use crate::probe::SystemSample;
use crate::probe::sample::{FileHandle, FileKind, OpenFile, ProcessIo, ProcessSample};
use crate::snapshot::interval::{ProcessPair, SampleInterval};

/// File descriptor of standard error (stdin(3)).
const STANDARD_ERROR: FileHandle = FileHandle::Descriptor(2);

/// Programs that read and write in place without an end, by the beginning of the kernel's name for
/// them: benchmarks, and virtual machines with their disk images. This program's benchmarks have a
/// screen of their own.
const IN_PLACE_PROGRAMS: [&[u8]; 9] = [
    b"diskscope",
    b"fio",
    b"qemu-system",
    b"qemu-kvm",
    b"qemu-nbd",
    b"firecracker",
    b"cloud-hyperviso",
    b"VBoxHeadless",
    b"vmware-vmx",
];

/// Whether a program with this name reads and writes in place instead of copying.
#[must_use]
pub fn works_in_place(name: &[u8]) -> bool {
    IN_PLACE_PROGRAMS
        .iter()
        .any(|program| name.starts_with(program))
}

/// An open file of a process, and its changes since the previous sample.
#[derive(Debug, Clone, Copy)]
pub struct FileFlow<'s> {
    /// Its current state.
    pub file: &'s OpenFile,
    /// Its previous state; `None` when it was not open before.
    pub previous: Option<&'s OpenFile>,
    /// Bytes that its process transferred in the interval, over all files; `None` if unknown.
    pub counted_bytes: Option<u64>,
    /// Whether its process has a pipe open.
    pub has_pipe: bool,
}

impl FileFlow<'_> {
    /// Bytes by which the offset advanced by reading or writing; a seek is no advance.
    #[must_use]
    pub fn advanced_bytes(&self) -> u64 {
        match self.movement() {
            Movement::Sequential(bytes) => bytes,
            Movement::Unmoved | Movement::Restarted | Movement::Jumped => 0,
        }
    }

    fn movement(&self) -> Movement {
        self.previous.map_or(Movement::Unmoved, |earlier| {
            movement(
                earlier.position,
                self.file,
                self.counted_bytes,
                self.has_pipe,
            )
        })
    }

    /// Bytes that were written through this descriptor, as far as can be determined.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.advanced_bytes().max(self.grown_bytes())
    }

    /// Bytes by which the file, or its allocated size, grew. A file that is extended without data
    /// (ftruncate(2)) has grown by its allocated bytes only.
    #[must_use]
    pub fn grown_bytes(&self) -> u64 {
        let Some(earlier) = self.previous else {
            return 0;
        };
        let longer = match (self.file.size, earlier.size) {
            (Some(now), Some(before)) => now.saturating_sub(before),
            _ => 0,
        };
        let allocated = self
            .file
            .allocated_bytes
            .saturating_sub(earlier.allocated_bytes);
        let extended = allocated < longer / 2
            && self
                .counted_bytes
                .is_some_and(|counted| counted < longer / 2);
        if extended {
            allocated
        } else {
            longer.max(allocated)
        }
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
        !self.is_standard_error()
            && self.file.writable
            && self.file.kind != FileKind::Pipe
            && (self.grown_bytes() > 0 || (self.advanced_bytes() > 0 && !self.is_source_like()))
    }

    /// Whether it is standard error, which often refers to a file that other processes extend.
    #[must_use]
    pub fn is_standard_error(&self) -> bool {
        self.file.handle == STANDARD_ERROR
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
    /// Process id of its topmost ancestor that runs the same program: rsync has a process for either
    /// end, and one between.
    pub family: u32,
}

/// A process that copies writes between this fraction of what it reads and its inverse.
const MIN_COPIED_FRACTION: f64 = 0.5;

impl ProcessFlows<'_> {
    /// Whether it reads and writes at this rate in bytes per second, about as much of one as of the other.
    #[must_use]
    pub fn copies_at_least(&self, bytes_per_s: f64) -> bool {
        self.io_delta.is_some_and(|(io, elapsed)| {
            let least = bytes_per_s * elapsed.as_secs_f64();
            let (read, written) = (read_bytes(&io) as f64, written_bytes(&io) as f64);
            read.min(written) >= least.max(read.max(written) * MIN_COPIED_FRACTION)
        })
    }
}

/// The processes whose open files are known.
#[must_use]
pub fn collect_flows<'s>(interval: &SampleInterval<'s>) -> Vec<ProcessFlows<'s>> {
    interval
        .process_pairs
        .iter()
        .filter(|pair| {
            !pair.current.files.is_empty()
                && !works_in_place(&pair.current.identity.name)
                && !waits_for_child_with_its_files(interval, pair)
        })
        .map(|pair| {
            let io_delta = pair.io_delta();
            ProcessFlows {
                process: pair.current,
                flows: flows_of(pair, io_delta, parent_with_same_program(interval, pair)),
                io_delta,
                family: family_of(interval.current, pair.current),
            }
        })
        .collect()
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
    let is_same = |file: &OpenFile| {
        let mut inherited = own
            .files
            .iter()
            .filter(|other| other.kind != FileKind::Pipe);
        inherited.any(|other| (other.handle, other.inode) == (file.handle, file.inode))
    };
    interval.process_pairs.iter().any(|other| {
        other.current.identity.parent_pid == own.identity.pid
            && other.current.files.iter().any(is_same)
    })
}

fn flows_of<'s>(
    pair: &ProcessPair<'s>,
    io_delta: Option<(ProcessIo, Duration)>,
    parent: Option<&ProcessSample>,
) -> Vec<FileFlow<'s>> {
    let has_pipe = has_pipe(pair.current);
    // A child that was forked for a part of the work has its parent's files, with one common offset
    // (`dpkg-deb`): they are the parent's.
    let is_of_parent = |file: &&OpenFile| {
        let mut files = parent.iter().flat_map(|it| it.files.iter());
        file.kind != FileKind::Pipe
            && files.any(|it| (it.handle, it.inode) == (file.handle, file.inode))
    };
    let counted = io_delta.map(|(io, _)| counted_bytes(&io));
    let flow = |file| FileFlow {
        file,
        previous: pair.previous_file(file),
        counted_bytes: counted,
        has_pipe,
    };
    let files = pair.current.files.iter();
    files.filter(|file| !is_of_parent(file)).map(flow).collect()
}

/// The parent of a process, where it runs the same program and transfers something itself.
fn parent_with_same_program<'s>(
    interval: &SampleInterval<'s>,
    pair: &ProcessPair<'s>,
) -> Option<&'s ProcessSample> {
    let own = &pair.current.identity;
    let parent = interval.current.process(own.parent_pid);
    let parent = parent.filter(|parent| parent.identity.name == own.name)?;
    let mut pairs = interval.process_pairs.iter();
    let parent = pairs.find(|it| std::ptr::eq(it.current, parent))?;
    let transfers = parent
        .io_delta()
        .is_some_and(|(io, _)| counted_bytes(&io) > 0);
    transfers.then_some(parent.current)
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
    let mut topmost = process.identity.pid;
    let mut parent = process.identity.parent_pid;
    for _ in 0..MAX_GENERATIONS {
        match sample.process(parent).map(|other| &other.identity) {
            Some(identity) if identity.name == process.identity.name => {
                (topmost, parent) = (identity.pid, identity.parent_pid);
            }
            _ => break,
        }
    }
    topmost
}
