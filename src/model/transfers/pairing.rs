//! Pairs of source and destination files.

use crate::probe::sample::{FileKind, OpenFile};

use super::flow::{FileFlow, ProcessFlows};

/// Standard error often refers to a file that other processes extend; it is never a copy.
const STANDARD_ERROR: u32 = 2;
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
    let file = all[source.process].flows[source.flow].file;
    destination_in_process(all, source.process, file)
        .or_else(|| destination_through_pipe(all, source.process, file, MAX_PIPELINE_LENGTH))
        .or_else(|| destination_in_related_process(all, source.process, file))
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

/// The destination in one process: of several files the one with the same name, else the one that
/// received most bytes.
fn destination_in_process(
    all: &[ProcessFlows<'_>],
    process: usize,
    source: &OpenFile,
) -> Option<FileIndex> {
    let flows = &all[process].flows;
    (0..flows.len())
        .filter(|index| {
            let flow = &flows[*index];
            flow.is_written()
                && flow.file.inode != source.inode
                && flow.file.descriptor != STANDARD_ERROR
        })
        .max_by_key(|index| {
            let flow = &flows[*index];
            let same_name = base_name(&flow.file.path) == base_name(&source.path);
            (same_name, flow.advanced_bytes().max(flow.grown_bytes()))
        })
        .map(|flow| FileIndex { process, flow })
}

fn destination_through_pipe(
    all: &[ProcessFlows<'_>],
    process: usize,
    source: &OpenFile,
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

fn destination_in_related_process(
    all: &[ProcessFlows<'_>],
    process: usize,
    source: &OpenFile,
) -> Option<FileIndex> {
    let wanted = base_name(&source.path);
    let name = &all[process].process.identity.name;
    for (other, candidate) in all.iter().enumerate() {
        if other == process || candidate.process.identity.name != *name {
            continue;
        }
        let found = candidate.flows.iter().position(|flow| {
            let own = base_name(&flow.file.path);
            flow.is_written()
                && flow.file.inode != source.inode
                && (own == wanted || without_temporary_suffix(own) == Some(wanted))
        });
        if let Some(flow) = found {
            return Some(FileIndex {
                process: other,
                flow,
            });
        }
    }
    None
}

/// The final name of a file: rsync writes `.NAME.XXXXXX` (mkstemp(3)) and renames it when it is
/// complete.
#[must_use]
pub fn final_path(path: &[u8]) -> Vec<u8> {
    let name = base_name(path);
    match without_temporary_suffix(name) {
        Some(lasting) => [&path[..path.len() - name.len()], lasting].concat(),
        None => path.to_vec(),
    }
}

fn without_temporary_suffix(name: &[u8]) -> Option<&[u8]> {
    let inner = name.strip_prefix(b".")?;
    let (lasting, suffix) = inner.split_at_checked(inner.len().checked_sub(7)?)?;
    let random = suffix.strip_prefix(b".")?;
    (!lasting.is_empty() && random.iter().all(u8::is_ascii_alphanumeric)).then_some(lasting)
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rsync_temporary_name_maps_to_final_name() {
        assert_eq!(final_path(b"/b/.vm.raw.aB3dE9"), b"/b/vm.raw");
        assert_eq!(final_path(b"/b/vm.raw"), b"/b/vm.raw");
        assert_eq!(final_path(b"/b/.hidden"), b"/b/.hidden");
        assert_eq!(final_path(b".x.123456"), b"x");
        assert_eq!(final_path(b""), b"");
    }
}
