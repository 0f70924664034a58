//! Files that grow.

use std::collections::BTreeMap;

use super::view::GrowingFile;
use crate::files::safe_text::SafeText;
use crate::probe::interval::SampleInterval;
use crate::probe::sample::FileKind;
use crate::stats::sorting::SortList as _;

/// Files that are listed at most.
const MAX_LISTED_FILES: usize = 20;

/// The files that grew between two samples, the fastest first; a file with several writers is
/// listed once.
#[must_use]
pub fn growing_files(interval: &SampleInterval<'_>) -> Vec<GrowingFile> {
    let Some(seconds) = interval.seconds() else {
        return Vec::new();
    };
    let mut found = BTreeMap::new();
    for pair in &interval.process_pairs {
        let process = pair.current;
        for file in process.files.iter() {
            if !file.writable || file.kind != FileKind::Regular {
                continue;
            }
            let was = pair.previous_file(file).and_then(|file| file.size);
            let (Some(was), Some(is)) = (was, file.size) else {
                continue;
            };
            if is > was {
                found.entry(file.inode).or_insert_with(|| GrowingFile {
                    path: SafeText::from_bytes(&file.path),
                    pid: process.identity.pid,
                    command: SafeText::from_bytes(&process.identity.name),
                    size_bytes: is,
                    growth_bytes_per_s: (is - was) as f64 / seconds,
                });
            }
        }
    }
    let mut files: Vec<GrowingFile> = found.into_values().collect();
    files.sort_list_by(|a, b| b.growth_bytes_per_s.total_cmp(&a.growth_bytes_per_s));
    files.truncate(MAX_LISTED_FILES);
    files
}
