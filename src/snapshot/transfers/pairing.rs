//! Pairs of source and destination files.

use super::flow::{FileFlow, ProcessFlows};
use crate::probe::copy_jobs::temporary_name::{base_name, without_temporary_suffix};
use crate::probe::sample::{FileKind, OpenFile};

/// A file that receives a smaller fraction of the bytes that are read is a log: compressors reach
/// about one thousandth.
const MAX_COMPRESSION: u64 = 2000;
/// A destination receives at least this many bytes in an interval.
const MIN_RECEIVED_BYTES: u64 = 4096;
/// Longer pipelines are not followed to their end.
const MAX_PIPELINE_LENGTH: usize = 4;

/// An open file of a process, by indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIndex {
    /// Index of the process.
    pub process: usize,
    /// Index of the file among the process's.
    pub flow: usize,
}

/// Finds the file that data read from `source` is written to: in the same process, at the other end
/// of a pipe, or in a related process of the same name (rsync has a process for either end).
#[must_use]
pub fn find_destination(all: &[ProcessFlows<'_>], source: FileIndex) -> Option<FileIndex> {
    let from = &all[source.process].flows[source.flow];
    destination_in_process(all, source.process, from)
        .or_else(|| destination_through_pipe(all, source.process, from, MAX_PIPELINE_LENGTH))
        .or_else(|| destination_in_related_process(all, source.process, from))
}

/// The source of a copy without offsets (copy_file_range(2)): open for reading only, not moving,
/// and the only one of its kind or with the same name.
#[must_use]
pub fn find_unmoved_source(
    process: &ProcessFlows<'_>,
    destination: &OpenFile,
    smallest: u64,
) -> Option<usize> {
    let fits = |flow: &FileFlow<'_>| {
        flow.can_be_source(smallest)
            && !flow.file.writable
            && flow.advanced_bytes() == 0
            && flow.file.inode != destination.inode
            && flow.file.size >= destination.size
    };
    let mut fitting = (0..process.flows.len()).filter(|index| fits(&process.flows[*index]));
    let first = fitting.next()?;
    match fitting.next() {
        None => Some(first),
        Some(second) => [first, second].into_iter().chain(fitting).find(|index| {
            base_name(&process.flows[*index].file.path) == base_name(&destination.path)
        }),
    }
}

/// The only large file that a process can only read and the only one that it can write, by index, where
/// the offset of neither moves.
#[must_use]
pub fn find_unmoved_pair(process: &ProcessFlows<'_>, smallest: u64) -> Option<(usize, usize)> {
    let only = |fits: &dyn Fn(&FileFlow<'_>) -> bool| {
        let mut fitting = (0..process.flows.len()).filter(|index| fits(&process.flows[*index]));
        fitting.next().filter(|_| fitting.next().is_none())
    };
    let is_large = |flow: &FileFlow<'_>| {
        flow.file.kind != FileKind::Pipe && flow.file.size.is_some_and(|size| size >= smallest)
    };
    let source = only(&|flow| is_large(flow) && flow.file.readable && !flow.file.writable)?;
    let destination = only(&|flow| is_large(flow) && flow.file.writable)?;
    let is_unmoved = |index: usize| {
        let flow = &process.flows[index];
        flow.previous.is_some() && flow.advanced_bytes() == 0
    };
    let differ = process.flows[source].file.inode != process.flows[destination].file.inode;
    (differ && is_unmoved(source) && is_unmoved(destination)).then_some((source, destination))
}

/// Whether a file receives what is read from a source.
fn receives(flow: &FileFlow<'_>, source: &FileFlow<'_>) -> bool {
    let received = flow.received_bytes();
    flow.is_written()
        && flow.file.inode != source.file.inode
        && received >= MIN_RECEIVED_BYTES
        && received.saturating_mul(MAX_COMPRESSION) >= source.advanced_bytes()
}

/// The destination in one process: of several files the one with the same name, else the one that
/// received most bytes.
fn destination_in_process(
    all: &[ProcessFlows<'_>],
    process: usize,
    source: &FileFlow<'_>,
) -> Option<FileIndex> {
    let flows = &all[process].flows;
    (0..flows.len())
        .filter(|index| receives(&flows[*index], source))
        .max_by_key(|index| {
            let flow = &flows[*index];
            let same_name = base_name(&flow.file.path) == base_name(&source.file.path);
            (same_name, flow.received_bytes())
        })
        .map(|flow| FileIndex { process, flow })
}

fn destination_through_pipe(
    all: &[ProcessFlows<'_>],
    process: usize,
    source: &FileFlow<'_>,
    further: usize,
) -> Option<FileIndex> {
    let further = further.checked_sub(1)?;
    let pipes = all[process]
        .flows
        .iter()
        .filter(|flow| flow.file.kind == FileKind::Pipe && flow.file.writable);
    for pipe in pipes {
        let readers = (0..all.len()).filter(|other| {
            *other != process
                && all[*other].flows.iter().any(|flow| {
                    flow.file.kind == FileKind::Pipe
                        && flow.file.readable
                        && flow.file.inode == pipe.file.inode
                })
        });
        for reader in readers {
            let found = destination_in_process(all, reader, source)
                .or_else(|| destination_through_pipe(all, reader, source, further));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// The destination in another process of the same program: the file with the source's name, or the
/// only one that is written by a process of the same family.
fn destination_in_related_process(
    all: &[ProcessFlows<'_>],
    process: usize,
    source: &FileFlow<'_>,
) -> Option<FileIndex> {
    let wanted = base_name(&source.file.path);
    let own = &all[process];
    let same_name = |flow: &FileFlow<'_>| {
        let name = base_name(&flow.file.path);
        name == wanted || without_temporary_suffix(name) == Some(wanted)
    };
    let candidates: Vec<FileIndex> = (0..all.len())
        .filter(|other| {
            *other != process && all[*other].process.identity.name == own.process.identity.name
        })
        .flat_map(|process| {
            let flows = 0..all[process].flows.len();
            flows.map(move |flow| FileIndex { process, flow })
        })
        .filter(|file_index| receives(flow_at(all, *file_index), source))
        .collect();
    let in_family = |file_index: &&FileIndex| all[file_index.process].family == own.family;
    let named = |file_index: &&FileIndex| same_name(flow_at(all, **file_index));
    let family: Vec<&FileIndex> = candidates.iter().filter(in_family).collect();
    let found = family.iter().copied().find(named);
    let only = || match family[..] {
        [only] => Some(only),
        _ => None,
    };
    found
        .or_else(only)
        .or_else(|| candidates.iter().find(named))
        .copied()
}

fn flow_at<'a, 's>(all: &'a [ProcessFlows<'s>], file_index: FileIndex) -> &'a FileFlow<'s> {
    &all[file_index.process].flows[file_index.flow]
}
