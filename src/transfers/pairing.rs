//! Pairs of source and destination files.

use super::flow::{FileFlow, Movement, ProcessFlows};
use crate::probe::process::closed_files::{base_name, without_temporary_suffix};
use crate::probe::sample::FileKind;

/// A file that receives a smaller fraction of the bytes that are read is a log: compressors reach
/// about one thousandth.
const MAX_COMPRESSION: u64 = 2000;
/// A destination receives at least this many bytes in an interval.
const MIN_RECEIVED_BYTES: u64 = 4096;
/// Longer pipelines are not followed to their end.
const MAX_PIPELINE_LENGTH: usize = 4;

/// An open file of a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct End<'f> {
    pub(super) process: &'f ProcessFlows<'f>,
    pub(super) flow: &'f FileFlow<'f>,
}

/// The files of a process.
pub(super) fn ends_of<'f>(process: &'f ProcessFlows<'f>) -> impl Iterator<Item = End<'f>> {
    process.flows.iter().map(move |flow| End { process, flow })
}

/// Finds the file that data read from `source` is written to: in the same process, at the other end
/// of a pipe, or in a related process of the same name (rsync has a process for either end).
pub(super) fn find_destination<'f>(
    all: &'f [ProcessFlows<'f>],
    source: End<'f>,
) -> Option<End<'f>> {
    destination_in_process(source.process, source.flow)
        .or_else(|| destination_through_pipe(all, source.process, source.flow, MAX_PIPELINE_LENGTH))
        .or_else(|| destination_in_related_process(all, source))
}

/// The source of a copy without offsets (copy_file_range(2)): open for reading only, not moving,
/// and the only one of its kind.
pub(super) fn find_unmoved_source<'f>(destination: End<'f>, min_bytes: u64) -> Option<End<'f>> {
    let to = destination.flow.file;
    let fits = |flow: &FileFlow<'_>| {
        flow.can_be_source(min_bytes)
            && !flow.file.writable
            && flow.movement == Movement::Unmoved
            && flow.file.inode != to.inode
            && flow.file.size >= to.size
    };
    let mut fitting = ends_of(destination.process).filter(|end| fits(end.flow));
    fitting.next().filter(|_| fitting.next().is_none())
}

/// Whether a file receives what is read from a source.
fn receives(flow: &FileFlow<'_>, source: &FileFlow<'_>) -> bool {
    let received = flow.received();
    flow.is_written()
        && flow.file.inode != source.file.inode
        && received >= MIN_RECEIVED_BYTES
        && received.saturating_mul(MAX_COMPRESSION) >= source.advanced()
}

/// The destination in one process: of several files the one with the same name, else the one that
/// received most bytes.
fn destination_in_process<'f>(
    process: &'f ProcessFlows<'f>,
    source: &FileFlow<'_>,
) -> Option<End<'f>> {
    let receiving = ends_of(process).filter(|end| receives(end.flow, source));
    receiving.max_by_key(|end| {
        let has_same_name = base_name(&end.flow.file.path) == base_name(&source.file.path);
        (has_same_name, end.flow.received())
    })
}

fn destination_through_pipe<'f>(
    all: &'f [ProcessFlows<'f>],
    process: &ProcessFlows<'f>,
    source: &FileFlow<'_>,
    further: usize,
) -> Option<End<'f>> {
    let further = further.checked_sub(1)?;
    let is_pipe = |flow: &&FileFlow<'_>| flow.file.kind == FileKind::Pipe;
    let written = process.flows.iter().filter(is_pipe);
    for pipe in written.filter(|flow| flow.file.writable) {
        let reads_pipe = |other: &&ProcessFlows<'_>| {
            let mut pipes = other.flows.iter().filter(is_pipe);
            other.process.identity.pid != process.process.identity.pid
                && pipes.any(|it| it.file.readable && it.file.inode == pipe.file.inode)
        };
        for reader in all.iter().filter(reads_pipe) {
            let found = destination_in_process(reader, source)
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
fn destination_in_related_process<'f>(
    all: &'f [ProcessFlows<'f>],
    source: End<'f>,
) -> Option<End<'f>> {
    let wanted = base_name(&source.flow.file.path);
    let own = source.process;
    let has_same_name = |end: &&End<'_>| {
        let name = base_name(&end.flow.file.path);
        name == wanted || without_temporary_suffix(name) == Some(wanted)
    };
    let (own_id, name) = (own.process.identity.pid, &own.process.identity.name);
    let candidates = all
        .iter()
        .map(|other| (other, &other.process.identity))
        .filter(|(_, identity)| identity.pid != own_id && identity.name == *name)
        .flat_map(|(other, _)| ends_of(other))
        .filter(|end| receives(end.flow, source.flow));
    let (family, others): (Vec<End<'f>>, Vec<End<'f>>) =
        candidates.partition(|end| end.process.family == own.family);
    let named = family.iter().find(has_same_name);
    let only = family.first().filter(|_| family.len() == 1);
    let found = named.or(only).or_else(|| others.iter().find(has_same_name));
    found.copied()
}
