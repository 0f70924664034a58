//! Files that grow.

use std::collections::BTreeMap;

use crate::probe::sample::FileKind;
use crate::safe_text::SafeText;

use super::interval::Interval;
use super::live::GrowingFile;

/// Files that are listed at most.
const MOST: usize = 20;

/// The files that grew between two samples, the fastest first; each once, whoever writes it.
#[must_use]
pub fn files(interval: &Interval<'_>) -> Vec<GrowingFile> {
    let Some(seconds) = interval.seconds() else {
        return Vec::new();
    };
    let mut found = BTreeMap::new();
    for pair in &interval.pairs {
        let process = pair.now;
        for file in process.files.iter() {
            if !file.writable || file.kind != FileKind::Regular {
                continue;
            }
            let was = pair.file_before(file).and_then(|file| file.size);
            let (Some(was), Some(is)) = (was, file.size) else {
                continue;
            };
            if is > was {
                found.entry(file.inode).or_insert_with(|| GrowingFile {
                    path: SafeText::of_bytes(&file.path),
                    pid: process.identity.pid,
                    command: SafeText::of_bytes(&process.identity.name),
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
