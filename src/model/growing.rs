//! Files that grow.

use std::collections::BTreeMap;

use crate::printable::printable;
use crate::probe::Sample;
use crate::probe::sample::FileKind;

use super::live::GrowingFile;
use super::processes::same;
use super::transfers::open_file;

/// Files that are listed at most.
const MOST: usize = 20;

/// The files that grew between two samples, the fastest first; each once, whoever writes it.
#[must_use]
pub fn files(before: Option<&Sample>, now: &Sample) -> Vec<GrowingFile> {
    let Some((before, seconds)) = before.and_then(|before| {
        let elapsed = now.at.checked_sub(before.at)?.as_secs_f64();
        (elapsed > 0.0).then_some((before, elapsed))
    }) else {
        return Vec::new();
    };
    let mut found = BTreeMap::new();
    for process in &now.processes {
        let Some(earlier) = same(before, process) else {
            continue;
        };
        for file in process.files.iter() {
            if !file.writable || file.kind != FileKind::Regular {
                continue;
            }
            let was = open_file(earlier, file.descriptor, file.inode).and_then(|file| file.size);
            let (Some(was), Some(is)) = (was, file.size) else {
                continue;
            };
            if is > was {
                found.entry(file.inode).or_insert_with(|| GrowingFile {
                    path: printable(&file.path),
                    pid: process.identity.pid,
                    command: printable(&process.identity.name),
                    size_bytes: is,
                    growth_bytes_per_s: (is - was) as f64 / seconds,
                });
            }
        }
    }
    let mut files: Vec<GrowingFile> = found.into_values().collect();
    files.sort_by(|a, b| b.growth_bytes_per_s.total_cmp(&a.growth_bytes_per_s));
    files.truncate(MOST);
    files
}
