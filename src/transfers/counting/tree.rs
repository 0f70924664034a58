//! The files of one job: found step by step, and looked for at the destination.
//!
//! No directory stays open between two steps, and none is opened after the end of the process: somebody
//! may want to unmount its file system then.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::{Errno, Result};

use super::arrivals::ExpectedFiles;
use super::paths::JobPaths;
use crate::drive::foreign_tree::{FileStatus, ForeignFile};
use crate::transfers::arguments::{CopyOrder, CountMethod};

/// Directory entries after which a step ends, so that other jobs make progress too.
const ENTRIES_PER_STEP: u64 = 2000;
/// Entries that are looked at before the process is looked for again.
const ENTRIES_PER_LOOK: usize = 64;
/// Directories within each other.
const MAX_DEPTH: usize = 64;
/// Sources, files and directories of a job. What exceeds these limits is not counted at all: any user may
/// name such sources.
const MAX_ENTRIES: u64 = 20_000_000;
/// What a remembered file or directory takes beside its name.
const ENTRY_BYTES: usize = 64;

/// Files and bytes of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileCount {
    /// Regular files to copy, as far as they were found.
    pub files: u64,
    /// Their bytes; for tar those of the archive, with a header for each file and directory.
    pub bytes: u64,
    /// Whether all of them were found; otherwise the counts still grow.
    pub is_complete: bool,
    /// Files that are copied completely; `None` if unknown.
    pub files_done: Option<u64>,
    /// Bytes copied, including those of the current file; `None` if unknown.
    pub bytes_done: Option<u64>,
    /// Device number of the file system that is read; `None` until a source was found.
    pub source_file_system: Option<(u32, u32)>,
    /// Device number of the file system that is written; `None` if unknown.
    pub destination_file_system: Option<(u32, u32)>,
}

/// A directory of a source.
#[derive(Debug)]
struct SourceDirectory {
    /// Index of the source.
    source: usize,
    /// Path below it.
    below: PathBuf,
}

/// Files of a job.
#[derive(Debug)]
pub(super) struct CopyTree {
    order: Arc<CopyOrder>,
    paths: JobPaths,
    /// Number of sources that were looked at.
    examined_sources: usize,
    /// Directories that were found and not read yet.
    unread: Vec<SourceDirectory>,
    /// Files that are looked for at the destination; `None` where only number and bytes are counted.
    expected_files: Option<ExpectedFiles>,
    /// Bytes of the names that are remembered.
    name_bytes: usize,
    total: FileCount,
    entries: u64,
    /// Why the total is not known, so that the files are shown one by one: a limit is exceeded
    /// (`TOOBIG`); the copy enters another mount or a subvolume, where reading a directory may mount
    /// something or wait for another machine (`XDEV`); a path leads through a link of procfs, which
    /// depends on who follows it (`LOOP`); a directory cannot be read without an effect on its time of
    /// access (`PERM`).
    unknown_total: Option<Errno>,
}

impl CopyTree {
    /// Creates the tree without reading it. `process` is the process's directory below `/proc`.
    pub(super) fn new(process: &Path, order: Arc<CopyOrder>) -> Self {
        let is_looked_for = order.count_method == CountMethod::DestinationFiles;
        Self {
            paths: JobPaths::of_process(process, &order),
            expected_files: is_looked_for.then(ExpectedFiles::default),
            order,
            examined_sources: 0,
            unread: Vec::new(),
            name_bytes: 0,
            total: FileCount::default(),
            entries: 0,
            unknown_total: None,
        }
    }

    /// Whether no more sources are looked for.
    pub(super) fn is_complete(&self) -> bool {
        self.total.is_complete || self.unknown_total.is_some()
    }

    /// The counts so far.
    pub(super) fn current_count(&self) -> FileCount {
        let arrived = self.expected_files.as_ref().map(ExpectedFiles::arrived);
        FileCount {
            files_done: arrived.map(|(files, _)| files),
            bytes_done: arrived.map(|(_, bytes)| bytes),
            ..self.total
        }
    }

    /// Performs one step: reads directories and checks the destination. Names take at most this many
    /// bytes.
    pub(super) fn next_step(&mut self, max_name_bytes: usize) {
        if self.unknown_total.is_some() || !self.paths.process_exists() {
            return;
        }
        let mut result = Ok(());
        if !self.total.is_complete {
            result = self.read_sources();
        }
        if self.name_bytes > max_name_bytes {
            result = Err(Errno::TOOBIG);
        }
        if let Err(reason) = result.and_then(|()| self.check_destination()) {
            self.unknown_total = Some(reason);
            self.expected_files = None;
            self.unread = Vec::new();
            self.total = FileCount::default();
        }
    }

    /// The counts after the end of the process; `None` where they cannot be determined.
    pub(super) fn last_look(&mut self) -> Option<FileCount> {
        let destination = self.paths.absolute(self.order.destination.as_ref()?);
        let destination = self.paths.lasting_path(&destination)?;
        let name = self.name_of_source(0);
        let is_renamed = self.may_rename() && FileStatus::of_path(&destination.join(name)).is_err();
        let expected = self.expected_files.as_mut()?;
        if !self.total.is_complete {
            return None;
        }
        expected.check_each_file(&destination, is_renamed);
        Some(self.current_count())
    }

    fn check_destination(&mut self) -> Result<()> {
        let Some(destination) = &self.order.destination else {
            return Ok(());
        };
        let path = self.paths.absolute(destination);
        let found = match self.paths.find(&path) {
            Ok(found) => found,
            Err(Errno::LOOP) => return Err(Errno::LOOP),
            Err(_) => return Ok(()),
        };
        // What is written to a device or a pipe is in no file system.
        if found.status().is_regular() || found.status().is_directory() {
            self.total.destination_file_system = Some(found.status().device());
        }
        let name = self.name_of_source(0);
        let is_renamed = self.may_rename() && found.status_of(name).is_err();
        if let Some(expected) = &mut self.expected_files {
            expected.check(&found, is_renamed, &|| self.paths.process_exists());
        }
        Ok(())
    }

    /// Whether the content of the only source may be directly in the destination: `cp -r TREE NEW`.
    fn may_rename(&self) -> bool {
        self.order.sources.len() == 1 && self.order.sources[0].file_name().is_some()
    }

    /// Reads as much of the sources as belongs to one step.
    fn read_sources(&mut self) -> Result<()> {
        let last = self.entries + ENTRIES_PER_STEP;
        while self.entries < last && self.paths.process_exists() {
            if let Some(directory) = self.unread.pop() {
                self.name_bytes -= directory_bytes(&directory);
                self.read_directory(&directory)?;
            } else if self.examined_sources < self.order.sources.len() {
                self.look_at_source(self.examined_sources)?;
                self.examined_sources += 1;
            } else {
                self.total.is_complete = true;
                return Ok(());
            }
        }
        Ok(())
    }

    fn find_source(&self, source: usize) -> Result<ForeignFile> {
        let path = self.paths.absolute(&self.order.sources[source]);
        self.paths.find(&path)
    }

    /// Some programs follow a link that is named as a source; none follows a link within a tree.
    fn look_at_source(&mut self, source: usize) -> Result<()> {
        let found = match self.find_source(source) {
            // The copy does not find it, either.
            Err(Errno::NOENT | Errno::NOTDIR) => {
                self.entries += 1;
                return Ok(());
            }
            found => found?,
        };
        let below = PathBuf::new();
        self.add_entry(SourceDirectory { source, below }, found.status(), true)
    }

    /// Reads a directory. One that does not exist any more, or that the copy may not read either, is
    /// empty.
    fn read_directory(&mut self, directory: &SourceDirectory) -> Result<()> {
        if directory.below.components().count() > MAX_DEPTH {
            return Err(Errno::TOOBIG);
        }
        let place = self.find_source(directory.source);
        let place = place.and_then(|source| source.below_in_mount(&directory.below));
        let (place, entries) = match place.and_then(|place| Ok((place.entries()?, place))) {
            Ok((entries, place)) => (place, entries),
            Err(error @ (Errno::XDEV | Errno::PERM)) => return Err(error),
            Err(_) => return Ok(()),
        };
        let device = place.status().device();
        for (index, entry) in entries.enumerate() {
            if index % ENTRIES_PER_LOOK == 0 && !self.paths.process_exists() {
                return Ok(());
            }
            let Ok(status) = place.status_of(&entry.name) else {
                self.entries += 1;
                continue;
            };
            let is_left_out = status.is_directory() && status.is_outside_of(device);
            // The copy compares the numbers of the file systems.
            if is_left_out && !(self.order.stays_on_file_system && status.device() != device) {
                return Err(Errno::XDEV);
            }
            let below = directory.below.join(&entry.name);
            let source = directory.source;
            self.add_entry(SourceDirectory { source, below }, &status, !is_left_out)?;
        }
        Ok(())
    }

    fn add_entry(
        &mut self,
        entry: SourceDirectory,
        status: &FileStatus,
        is_entered: bool,
    ) -> Result<()> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(Errno::TOOBIG);
        }
        let name = self.name_below_destination(&entry);
        let total = &mut self.total;
        total
            .source_file_system
            .get_or_insert_with(|| status.device());
        if self.order.count_method == CountMethod::ArchiveBytes {
            total.bytes += archive_bytes(&name, status);
        } else if status.is_regular() {
            total.bytes += status.size();
        }
        if status.is_directory() && is_entered && self.order.enters_directories {
            self.name_bytes += directory_bytes(&entry);
            self.unread.push(entry);
        } else if status.is_regular() {
            total.files += 1;
            if let Some(expected) = &mut self.expected_files {
                self.name_bytes += name.file_name().map_or(0, OsStr::len) + ENTRY_BYTES;
                expected.add_file(&name, status.size());
            }
        }
        Ok(())
    }

    /// The name of a source below the destination; empty where its content is copied.
    fn name_of_source(&self, source: usize) -> &OsStr {
        let path = &self.order.sources[source];
        let name = path.file_name().unwrap_or_default();
        let is_content = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if self.order.is_rsync && is_content {
            OsStr::new("")
        } else {
            name
        }
    }

    fn name_below_destination(&self, entry: &SourceDirectory) -> PathBuf {
        let name = Path::new(self.name_of_source(entry.source));
        if entry.below.as_os_str().is_empty() {
            name.to_owned()
        } else {
            name.join(&entry.below)
        }
    }
}

fn directory_bytes(directory: &SourceDirectory) -> usize {
    directory.below.as_os_str().len() + ENTRY_BYTES
}

/// Bytes that a file or directory takes in an archive (tar(5), GNU format).
fn archive_bytes(name: &Path, status: &FileStatus) -> u64 {
    const BLOCK: u64 = 512;
    /// Longer names take a header and a block of their own.
    const MAX_NAME_BYTES: usize = 100;
    let header = if name.as_os_str().len() > MAX_NAME_BYTES {
        3 * BLOCK
    } else {
        BLOCK
    };
    let content = if status.is_regular() {
        status.size().next_multiple_of(BLOCK)
    } else {
        0
    };
    header + content
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfers::arguments::parse_copy_order;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    const MAX_NAMES: usize = 1 << 20;

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
        let order = parse_copy_order(b"cp", line).unwrap();
        let mut tree = CopyTree::new(&process_directory(root), Arc::new(order));
        assert_eq!(tree.current_count().files, 0);
        tree.next_step(MAX_NAMES);
        assert!(tree.is_complete());
        let count = tree.current_count();
        assert_eq!((count.files, count.bytes), (4, 600));
        assert_eq!((count.files_done, count.bytes_done), (Some(0), Some(0)));
        // cp created the directory itself, so the files are directly in it.
        write_file(root.join("copy/a"), 100);
        write_file(root.join("copy/deep/c"), 50);
        tree.next_step(MAX_NAMES);
        let count = tree.current_count();
        assert_eq!((count.files_done, count.bytes_done), (Some(1), Some(150)));
        write_file(root.join("copy/deep/c"), 300);
        tree.next_step(MAX_NAMES);
        assert_eq!(tree.current_count().bytes_done, Some(400));
    }

    #[test]
    fn copy_tree_into_existing_directory_finds_files_below_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        write_file(root.join("source/a"), 100);
        write_file(root.join("copy/source/a"), 100);
        let order = parse_copy_order(b"cp", b"cp\0-a\0source\0copy\0").unwrap();
        let mut tree = CopyTree::new(&process_directory(root), Arc::new(order));
        tree.next_step(MAX_NAMES);
        assert_eq!(tree.current_count().files_done, Some(1));
    }

    #[test]
    fn copy_tree_of_archive_has_size_without_progress() {
        let directory = tempfile::tempdir().unwrap();
        write_file(directory.path().join("source/a"), 100);
        let order = parse_copy_order(b"tar", b"tar\0cf\0out\0source\0").unwrap();
        let mut tree = CopyTree::new(&process_directory(directory.path()), Arc::new(order));
        tree.next_step(MAX_NAMES);
        let count = tree.current_count();
        // Two headers, and a block of content.
        assert_eq!(
            (count.bytes, count.files_done, count.bytes_done),
            (3 * 512, None, None)
        );
    }

    fn job(root: &Path, line: &[u8]) -> CopyTree {
        let name = line.split(|byte| *byte == 0).next().unwrap();
        let order = parse_copy_order(name, line).unwrap();
        CopyTree::new(&process_directory(root), Arc::new(order))
    }

    #[test]
    fn directories_that_cp_omits_are_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in ["a", "b", "deep/c"] {
            write_file(root.join(name), 100);
        }
        fs::create_dir(root.join("copy")).unwrap();
        let mut tree = job(root, b"cp\0a\0b\0deep\0copy\0");
        tree.next_step(MAX_NAMES);
        let count = tree.current_count();
        assert_eq!((count.files, count.is_complete), (2, true));
    }

    #[test]
    fn reading_a_source_and_a_destination_changes_no_time_of_access() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        write_file(root.join("source/deep/a"), 100);
        write_file(root.join("copy/source/deep/a"), 50);
        let names = ["source", "source/deep", "copy", "copy/source/deep"];
        let read = |name: &&str| fs::metadata(root.join(name)).unwrap().accessed().unwrap();
        // Each is older than its time of modification: the kernel would update it (mount(8), relatime).
        let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000);
        for name in &names {
            let opened = fs::File::open(root.join(name)).unwrap();
            opened
                .set_times(fs::FileTimes::new().set_accessed(long_ago))
                .unwrap();
        }
        let mut tree = job(root, b"cp\0-a\0source\0copy\0");
        tree.next_step(MAX_NAMES);
        assert_eq!(tree.current_count().bytes_done, Some(50));
        for name in &names {
            assert_eq!(read(name), long_ago, "{name}");
        }
    }

    #[test]
    fn nothing_is_open_between_two_steps_and_read_after_the_end_of_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for index in 0..2 * ENTRIES_PER_STEP {
            write_file(root.join(format!("source/{}/{index}", index % 3)), 1);
        }
        let inode = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
        let below: Vec<_> = ["source", "source/0", "source/1", "source/2"]
            .map(|name| inode(&root.join(name)))
            .to_vec();
        let mut tree = job(root, b"cp\0-a\0source\0copy\0");
        tree.next_step(MAX_NAMES);
        assert!(!tree.is_complete());
        let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let is_open = open
            .map(|entry| inode(&entry.path()))
            .any(|opened| opened.is_some() && below.contains(&opened));
        assert!(!is_open);
        let before = tree.current_count().files;
        assert!(before > 0);
        fs::remove_file(root.join("proc/7/root")).unwrap();
        tree.next_step(MAX_NAMES);
        assert_eq!(tree.current_count().files, before);
        assert!(!tree.is_complete() && tree.last_look().is_none());
    }
}
