//! The files of one job: found incrementally, and checked at the destination.

use std::ffi::OsStr;
use std::fs::{self, ReadDir};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::drive::mounts::split_device_number;
use crate::probe::copy_jobs::arguments::{CopyOrder, CountMethod};
use crate::probe::copy_jobs::count::FileCount;
use crate::probe::copy_jobs::counter::arrivals::ExpectedFiles;
use crate::probe::copy_jobs::counter::paths::JobPaths;

/// Directory entries per step, so that other jobs make progress too.
const MAX_ENTRIES_PER_STEP: usize = 2000;
/// Files that are remembered by name; beyond it only number and bytes are counted.
const MAX_NAMED_FILES: u64 = 200_000;
/// Directories within each other; each is open while those in it are read.
const MAX_OPEN_DIRECTORIES: usize = 64;
/// Sources, files and directories of a job. What exceeds these limits is not counted at all: any user may
/// name such sources.
const MAX_ENTRIES: u64 = 20_000_000;

/// A directory is remembered by its path in two places, and by its name.
const DIRECTORY_NAME_COPIES: usize = 3;
/// What a file that is remembered takes beside its name.
const FILE_ENTRY_BYTES: usize = 64;

/// Files of a job.
#[derive(Debug)]
pub(super) struct CopyTree {
    count_method: CountMethod,
    paths: JobPaths,
    /// Directories that are being read, the innermost last.
    open_directories: Vec<(ReadDir, PathBuf)>,
    /// Sources not read yet: path, and name below the destination.
    remaining_sources: Vec<(PathBuf, PathBuf)>,
    destination: Option<PathBuf>,
    expected_files: ExpectedFiles,
    total_count: FileCount,
    has_unnamed_files: bool,
    /// Bytes of the names that are remembered.
    name_bytes: usize,
    entries: u64,
    /// Whether it exceeds a limit.
    is_too_large: bool,
}

impl CopyTree {
    /// Creates the tree without reading it. `process` is the process's directory below `/proc`.
    pub(super) fn new(process: &Path, order: &CopyOrder) -> Self {
        let paths = JobPaths::of_process(process, order);
        let mut roots: Vec<(PathBuf, PathBuf)> = order
            .sources
            .iter()
            .zip(&order.copies_contents)
            .map(|(source, contents)| {
                let name = source.file_name().filter(|_| !contents);
                let name = name.map(PathBuf::from).unwrap_or_default();
                (paths.resolve(source), name)
            })
            .collect();
        roots.reverse();
        Self {
            count_method: order.count_method,
            open_directories: Vec::new(),
            remaining_sources: roots,
            destination: order.destination.as_deref().map(|to| paths.resolve(to)),
            expected_files: ExpectedFiles::default(),
            total_count: FileCount::default(),
            has_unnamed_files: false,
            name_bytes: 0,
            entries: 0,
            is_too_large: false,
            paths,
        }
    }

    /// Whether no more sources are looked for.
    pub(super) fn is_complete(&self) -> bool {
        self.total_count.is_complete || self.is_too_large
    }

    /// Bytes of the names that are remembered.
    pub(super) fn name_bytes(&self) -> usize {
        self.name_bytes
    }

    /// Forgets the names: only number and bytes are counted from now on.
    pub(super) fn forget_names(&mut self) {
        self.has_unnamed_files = true;
        self.expected_files = ExpectedFiles::default();
        self.name_bytes = 0;
    }

    /// Forgets everything: nothing is known of it.
    fn give_up(&mut self) {
        self.is_too_large = true;
        self.open_directories = Vec::new();
        self.remaining_sources = Vec::new();
        self.total_count = FileCount::default();
        self.forget_names();
    }

    /// The counts so far.
    pub(super) fn current_count(&self) -> FileCount {
        let (files, bytes) = self.expected_files.arrived();
        let known = self.checks_destination();
        FileCount {
            files_done: known.then_some(files),
            bytes_done: known.then_some(bytes),
            ..self.total_count
        }
    }

    /// Performs one step: reads directory entries and checks the destination.
    pub(super) fn next_step(&mut self) {
        if self.is_too_large {
            return;
        }
        for _ in 0..MAX_ENTRIES_PER_STEP {
            if self.total_count.is_complete || !self.read_next_entry() {
                self.total_count.is_complete = true;
                break;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES || self.open_directories.len() > MAX_OPEN_DIRECTORIES {
                return self.give_up();
            }
        }
        self.total_count.destination_file_system = self.destination_file_system();
        if self.checks_destination()
            && let Some(destination) = &self.destination
            && self.paths.process_exists()
        {
            self.expected_files.check(destination);
        }
    }

    /// The counts after the end of the process; `None` where they cannot be determined.
    pub(super) fn last_look(&mut self) -> Option<FileCount> {
        let possible =
            self.total_count.is_complete && self.checks_destination() && self.paths.are_lasting();
        let destination = self.destination.as_ref().filter(|_| possible)?;
        self.expected_files.check_each_file(destination);
        Some(self.current_count())
    }

    fn checks_destination(&self) -> bool {
        self.count_method == CountMethod::DestinationFiles && !self.has_unnamed_files
    }

    /// Number of the file system that is written: that of the destination, or of the directory in
    /// which it will be created.
    fn destination_file_system(&self) -> Option<(u32, u32)> {
        if self.total_count.destination_file_system.is_some() {
            return self.total_count.destination_file_system;
        }
        let destination = self.destination.as_ref()?;
        let device = |path: &Path| Some(split_device_number(fs::metadata(path).ok()?.dev()));
        device(destination).or_else(|| device(destination.parent()?))
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
        let total = &mut self.total_count;
        total
            .source_file_system
            .get_or_insert_with(|| split_device_number(metadata.dev()));
        total.archive_bytes += archive_bytes(&name, &metadata);
        if metadata.is_dir() {
            if let Ok(directory) = fs::read_dir(&path) {
                if !self.has_unnamed_files {
                    self.name_bytes += DIRECTORY_NAME_COPIES * name.as_os_str().len();
                    self.expected_files.add_directory(&name);
                }
                self.open_directories.push((directory, name));
            }
        } else if metadata.is_file() {
            total.files += 1;
            total.bytes += metadata.size();
            if total.files > MAX_NAMED_FILES {
                self.forget_names();
            } else if !self.has_unnamed_files {
                self.name_bytes += name.file_name().map_or(0, OsStr::len) + FILE_ENTRY_BYTES;
                self.expected_files.add_file(&name, metadata.size());
            }
        }
        true
    }
}

/// Bytes that a file or directory takes in an archive (tar(5), GNU format).
fn archive_bytes(name: &Path, metadata: &fs::Metadata) -> u64 {
    const BLOCK: u64 = 512;
    /// Longer names take a header and a block of their own.
    const MAX_NAME_BYTES: usize = 100;
    let long_name = name.as_os_str().len() > MAX_NAME_BYTES;
    let header = if long_name { 3 * BLOCK } else { BLOCK };
    let content = if metadata.is_file() {
        metadata.size().next_multiple_of(BLOCK)
    } else {
        0
    };
    header + content
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
    fn copy_tree_of_deeply_nested_directories_is_given_up_with_what_it_remembers() {
        let directory = tempfile::tempdir().unwrap();
        let mut deep = directory.path().join("source");
        for _ in 0..MAX_OPEN_DIRECTORIES + 1 {
            deep.push("d");
        }
        write_file(deep.join("file"), 100);
        let order =
            crate::probe::copy_jobs::arguments::parse_copy_order(b"cp", b"cp\0-a\0source\0copy\0")
                .unwrap();
        let mut tree = CopyTree::new(&process_directory(directory.path()), &order);
        tree.next_step();
        assert!(tree.is_complete() && tree.open_directories.is_empty());
        assert_eq!(
            (tree.current_count(), tree.name_bytes()),
            (FileCount::default(), 0)
        );
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
        // Two headers, and a block of content.
        assert_eq!(count.archive_bytes, 3 * 512);
    }
}
