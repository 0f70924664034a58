//! Files that a process reads through memory mappings after it has closed their descriptors.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::descriptors::MIN_FILE_BYTES;
use crate::probe::sample::{FileHandle, FileKind, OpenFile};
use crate::probe::text::{nonempty_lines, open_relative, parse_number, pread_all, split_fields};
use crate::stats::sorting::SortList as _;

/// Bytes from devices in one sample that no read system call explains, from which on the mappings are
/// examined.
const MIN_UNEXPLAINED_BYTES: u64 = 1 << 20;
/// The mappings are listed again after this many samples.
const REFRESH_SAMPLES: u32 = 8;

/// The mapped files of one process.
#[derive(Debug, Default)]
pub(crate) struct MappedFiles {
    files: Vec<OpenFile>,
    /// Samples until the mappings may be listed again.
    pause_samples: u32,
}

/// Whether a process with these bytes in a sample reads through mappings.
pub(crate) fn reads_mappings(by_calls: u64, from_devices: u64) -> bool {
    from_devices.saturating_sub(by_calls) >= MIN_UNEXPLAINED_BYTES
}

impl MappedFiles {
    /// Processes a sample: lists the mappings now and then, while the process reads through them or
    /// did so before.
    pub(crate) fn update(&mut self, reads_mappings: bool, proc: BorrowedFd<'_>, pid: u32) {
        self.pause_samples = self.pause_samples.saturating_sub(1);
        if self.pause_samples > 0 || (!reads_mappings && self.files.is_empty()) {
            return;
        }
        self.pause_samples = REFRESH_SAMPLES;
        self.files = open_relative(proc, format!("{pid}/maps"))
            .ok()
            .and_then(|file| {
                let mut text = Vec::new();
                pread_all(file.as_fd(), &mut text).ok()?;
                Some(parse_mappings(&text))
            })
            .unwrap_or_default();
    }

    /// The open files, and after them those that are only mapped.
    pub(crate) fn added_to(&self, open: Arc<[OpenFile]>) -> Arc<[OpenFile]> {
        if self.files.is_empty() {
            return open;
        }
        let is_open = |mapped: &&OpenFile| !open.iter().any(|file| file.inode == mapped.inode);
        let mapped = self.files.iter().filter(is_open);
        open.iter().chain(mapped).cloned().collect()
    }
}

/// The large files in `/proc/PID/maps` that hold no code, by their first address. The size of a file
/// is the end of its last mapped byte.
#[must_use]
pub fn parse_mappings(text: &[u8]) -> Vec<OpenFile> {
    let mut found: BTreeMap<((u32, u32), u64), OpenFile> = BTreeMap::new();
    let mut code = Vec::new();
    for line in nonempty_lines(text) {
        let Some(mapping) = parse_mapping(line) else {
            continue;
        };
        if mapping.is_code {
            code.push(mapping.file.inode);
        }
        let known = found.entry(mapping.file.inode);
        let known = known.or_insert_with(|| mapping.file.clone());
        known.size = known.size.max(mapping.file.size);
        known.writable |= mapping.file.writable;
    }
    let mut files: Vec<OpenFile> = found
        .into_values()
        .filter(|file| !code.contains(&file.inode) && file.size >= Some(MIN_FILE_BYTES))
        .collect();
    files.sort_list_by_key(|file| file.handle);
    for file in &mut files {
        file.allocated_bytes = file.size.unwrap_or(0);
    }
    files
}

struct Mapping {
    file: OpenFile,
    is_code: bool,
}

/// `7f00-7f01 r--s 00000000 08:01 4711    /path`; `None` for memory without a file.
fn parse_mapping(line: &[u8]) -> Option<Mapping> {
    let mut words = split_fields(line);
    let (from, to) = words.next().and_then(|range| split_hex(range, b'-'))?;
    let permissions = words.next()?;
    let offset = parse_hex(words.next()?)?;
    let (major, minor) = split_hex(words.next()?, b':')?;
    let inode = parse_number(words.next()?).filter(|inode| *inode > 0)?;
    let path = &line[line.iter().position(|byte| *byte == b'/')?..];
    let end = offset.saturating_add(to.checked_sub(from)?);
    Some(Mapping {
        is_code: permissions.contains(&b'x'),
        file: OpenFile {
            handle: FileHandle::Mapping(from),
            path: path.into(),
            kind: FileKind::Regular,
            inode: (
                (u32::try_from(major).ok()?, u32::try_from(minor).ok()?),
                inode,
            ),
            position: 0,
            readable: permissions.contains(&b'r'),
            // A private mapping is written to memory only.
            writable: permissions.contains(&b'w') && permissions.contains(&b's'),
            size: Some(end),
            allocated_bytes: 0,
        },
    })
}

fn split_hex(word: &[u8], separator: u8) -> Option<(u64, u64)> {
    let at = word.iter().position(|byte| *byte == separator)?;
    Some((parse_hex(&word[..at])?, parse_hex(&word[at + 1..])?))
}

fn parse_hex(word: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &[u8] = b"\
55d0c0000000-55d0c0200000 r--p 00000000 fe:00 11                         /usr/bin/reader
55d0c0200000-55d0c0400000 r-xp 00200000 fe:00 11                         /usr/bin/reader
7f0000000000-7f0010000000 r--s 00000000 fe:00 4711                       /srv/data set.bin
7f0010000000-7f0020000000 r--s 10000000 fe:00 4711                       /srv/data set.bin
7f0030000000-7f0030001000 r--p 00000000 fe:00 12                         /usr/lib/locale/x
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
";

    #[test]
    fn large_mapped_file_is_found_and_code_is_not() {
        let files = parse_mappings(MAPS);
        assert_eq!(files.len(), 1, "{files:?}");
        let file = &files[0];
        assert_eq!(&*file.path, b"/srv/data set.bin");
        assert_eq!(file.size, Some(0x2000_0000));
        assert_eq!(file.inode, ((254, 0), 4711));
        assert_eq!(file.handle, FileHandle::Mapping(0x7f00_0000_0000));
        assert!(file.readable && !file.writable);
    }

    #[test]
    fn mapping_of_open_file_is_not_listed_twice() {
        let mapped = MappedFiles {
            files: parse_mappings(MAPS),
            pause_samples: 0,
        };
        let mut open = mapped.files[0].clone();
        open.handle = FileHandle::Descriptor(3);
        assert_eq!(mapped.added_to(vec![open].into()).len(), 1);
        assert_eq!(mapped.added_to(Arc::default()).len(), 1);
    }

    #[test]
    fn damaged_mappings_are_skipped() {
        for line in [
            &b"7f00"[..],
            b"7f00-7e00 r--s 0 fe:00 5 /a",
            b"x-y r--s 0 fe:00 5 /a",
            b"7f00-7f01 r--s 0 fe:00 5",
        ] {
            assert!(parse_mapping(line).is_none());
        }
    }
}
