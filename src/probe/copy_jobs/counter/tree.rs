//! The files of one job: found incrementally, and checked at the destination.

use std::fs::{self, ReadDir};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::probe::copy_jobs::arguments::{CopyOrder, CountMethod};
use crate::probe::copy_jobs::count::FileCount;

/// Directory entries per step, so that other jobs make progress too.
const MAX_ENTRIES_PER_STEP: usize = 2000;
/// Files that are remembered by name; beyond it only number and bytes are counted.
const MAX_NAMED_FILES: usize = 200_000;
/// This many missing files in a row end a check: programs copy in the order of the directory, or
/// sorted, so later files are missing too.
const MAX_MISSING_IN_ROW: usize = 64;
/// Files further on that are checked in rotation.
const FURTHER_CHECKS: usize = 256;

/// Files of a job.
#[derive(Debug)]
pub(super) struct CopyTree {
    count_method: CountMethod,
    /// Directories that are being read, the innermost last.
    open_directories: Vec<(ReadDir, PathBuf)>,
    /// Sources not read yet: path, and name below the destination.
    remaining_sources: Vec<(PathBuf, PathBuf)>,
    destination: Option<PathBuf>,
    /// Names of the files below the destination with their sizes, as long as they are not complete.
    missing: Vec<(PathBuf, u64)>,
    next_check: usize,
    total_count: FileCount,
    arrived_count: (u64, u64),
    partial_bytes: u64,
    has_unnamed_files: bool,
}

impl CopyTree {
    /// Creates the tree without reading it. `process` is the process's directory below `/proc`.
    pub(super) fn new(process: &Path, order: &CopyOrder) -> Self {
        let own = |path: &Path| match (path.strip_prefix("/"), &order.directory) {
            (Ok(below), _) => process.join("root").join(below),
            (Err(_), Some(base)) => match base.strip_prefix("/") {
                Ok(below) => process.join("root").join(below).join(path),
                Err(_) => process.join("cwd").join(base).join(path),
            },
            (Err(_), None) => process.join("cwd").join(path),
        };
        let mut roots: Vec<(PathBuf, PathBuf)> = order
            .sources
            .iter()
            .zip(&order.copies_contents)
            .map(|(source, contents)| {
                let name = source.file_name().filter(|_| !contents);
                (own(source), name.map(PathBuf::from).unwrap_or_default())
            })
            .collect();
        roots.reverse();
        Self {
            count_method: order.count_method,
            open_directories: Vec::new(),
            remaining_sources: roots,
            destination: order.destination.as_deref().map(own),
            missing: Vec::new(),
            next_check: 0,
            total_count: FileCount::default(),
            arrived_count: (0, 0),
            partial_bytes: 0,
            has_unnamed_files: false,
        }
    }

    /// Whether all sources were found.
    pub(super) fn is_complete(&self) -> bool {
        self.total_count.is_complete
    }

    /// The counts so far.
    pub(super) fn current_count(&self) -> FileCount {
        let known = self.count_method == CountMethod::DestinationFiles && !self.has_unnamed_files;
        FileCount {
            files_done: known.then_some(self.arrived_count.0),
            bytes_done: known.then_some(self.arrived_count.1 + self.partial_bytes),
            ..self.total_count
        }
    }

    /// Performs one step: reads directory entries and checks the destination.
    pub(super) fn next_step(&mut self) {
        for _ in 0..MAX_ENTRIES_PER_STEP {
            if self.total_count.is_complete || !self.read_next_entry() {
                self.total_count.is_complete = true;
                break;
            }
        }
        if self.count_method == CountMethod::DestinationFiles && !self.has_unnamed_files {
            self.check_destination();
        }
    }

    /// Reads one entry; returns `false` when there are no more.
    fn read_next_entry(&mut self) -> bool {
        let (path, name) = match self.open_directories.last_mut() {
            Some((directory, below)) => match directory.next() {
                Some(Ok(entry)) => (entry.path(), below.join(entry.file_name())),
                Some(Err(_)) => return true,
                None => {
                    self.open_directories.pop();
                    return true;
                }
            },
            None => match self.remaining_sources.pop() {
                Some(root) => root,
                None => return false,
            },
        };
        // Some programs follow a link that is named as a source; none follows a link within a tree.
        let metadata = if self.open_directories.is_empty() {
            fs::metadata(&path)
        } else {
            fs::symlink_metadata(&path)
        };
        let Ok(metadata) = metadata else {
            return true;
        };
        if metadata.is_dir() {
            if let Ok(directory) = fs::read_dir(&path) {
                self.open_directories.push((directory, name));
            }
        } else if metadata.is_file() {
            self.total_count.files += 1;
            self.total_count.bytes += metadata.size();
            if self.missing.len() < MAX_NAMED_FILES {
                self.missing.push((name, metadata.size()));
            } else {
                self.has_unnamed_files = true;
            }
        }
        true
    }

    /// Checks files at the destination: from the first missing one on, and some further ones.
    fn check_destination(&mut self) {
        let Some(destination) = self.destination.clone() else {
            return;
        };
        let mut in_a_row = 0;
        let mut partial = 0;
        let turn = self.next_check;
        let mut place = 0;
        let (mut files, mut bytes) = (0, 0);
        self.missing.retain(|(name, size)| {
            let near = in_a_row < MAX_MISSING_IN_ROW;
            let elsewhere = (turn..turn + FURTHER_CHECKS).contains(&place);
            place += 1;
            if !near && !elsewhere {
                return true;
            }
            let length = arrived_bytes(&destination, name);
            if length.is_some_and(|length| length >= *size) {
                (in_a_row, files, bytes) = (0, files + 1, bytes + size);
                return false;
            }
            in_a_row += 1;
            partial += length.unwrap_or(0);
            true
        });
        self.arrived_count.0 += files;
        self.arrived_count.1 += bytes;
        self.partial_bytes = partial;
        self.next_check = if turn + FURTHER_CHECKS >= place {
            0
        } else {
            turn + FURTHER_CHECKS
        };
    }
}

/// Length of a file at the destination: below it under its name, or the destination itself, as cp
/// decides by whether it was a directory before.
fn arrived_bytes(destination: &Path, name: &Path) -> Option<u64> {
    let length = |path: &Path| {
        let metadata = fs::symlink_metadata(path).ok()?;
        metadata.is_file().then(|| metadata.size())
    };
    let mut inner = name.components();
    inner.next();
    let renamed = inner.as_path();
    length(&destination.join(name)).or_else(|| {
        if renamed.as_os_str().is_empty() {
            length(destination)
        } else {
            length(&destination.join(renamed))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process's directory below `/proc` with its root and working directory.
    fn process_directory(root: &Path) -> PathBuf {
        let process = root.join("proc/7");
        fs::create_dir_all(&process).unwrap();
        std::os::unix::fs::symlink(root, process.join("cwd")).unwrap();
        std::os::unix::fs::symlink("/", process.join("root")).unwrap();
        process
    }

    fn write_file(path: PathBuf, bytes: usize) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![1; bytes]).unwrap();
    }

    #[test]
    fn copy_tree_counts_arrived_files() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for (name, bytes) in [("a", 100), ("b", 200), ("deep/c", 300), ("empty", 0)] {
            write_file(root.join("source").join(name), bytes);
        }
        let line = b"cp\0-a\0source\0copy\0";
        let order = crate::probe::copy_jobs::arguments::parse_copy_order(b"cp", line).unwrap();
        let mut tree = CopyTree::new(&process_directory(root), &order);
        assert_eq!(tree.current_count().files, 0);
        tree.next_step();
        assert!(tree.is_complete());
        let count = tree.current_count();
        assert_eq!((count.files, count.bytes), (4, 600));
        assert_eq!((count.files_done, count.bytes_done), (Some(0), Some(0)));
        // cp created the directory itself, so the files are directly in it.
        write_file(root.join("copy/a"), 100);
        write_file(root.join("copy/deep/c"), 50);
        tree.next_step();
        let count = tree.current_count();
        assert_eq!((count.files_done, count.bytes_done), (Some(1), Some(150)));
        write_file(root.join("copy/deep/c"), 300);
        tree.next_step();
        assert_eq!(tree.current_count().bytes_done, Some(400));
    }

    #[test]
    fn copy_tree_into_existing_directory_finds_files_below_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        write_file(root.join("source/a"), 100);
        write_file(root.join("copy/source/a"), 100);
        let order =
            crate::probe::copy_jobs::arguments::parse_copy_order(b"cp", b"cp\0-a\0source\0copy\0")
                .unwrap();
        let mut tree = CopyTree::new(&process_directory(root), &order);
        tree.next_step();
        assert_eq!(tree.current_count().files_done, Some(1));
    }

    #[test]
    fn copy_tree_of_archive_has_size_without_progress() {
        let directory = tempfile::tempdir().unwrap();
        write_file(directory.path().join("source/a"), 100);
        let order =
            crate::probe::copy_jobs::arguments::parse_copy_order(b"tar", b"tar\0cf\0out\0source\0")
                .unwrap();
        let mut tree = CopyTree::new(&process_directory(directory.path()), &order);
        tree.next_step();
        let count = tree.current_count();
        assert_eq!(
            (count.bytes, count.files_done, count.bytes_done),
            (100, None, None)
        );
    }
}
