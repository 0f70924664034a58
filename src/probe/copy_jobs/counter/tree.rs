//! The files of one job: found incrementally, and checked at the destination.
//!
//! No directory stays open between two steps, and none is opened after the end of the process: somebody
//! may want to unmount its file system then.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::foreign_tree::{FileStatus, ForeignFile};
use crate::probe::copy_jobs::arguments::{CopyOrder, CountMethod, EnteredDirectories};
use crate::probe::copy_jobs::count::FileCount;
use crate::probe::copy_jobs::counter::arrivals::ExpectedFiles;
use crate::probe::copy_jobs::counter::paths::JobPaths;

/// Directory entries per step, so that other jobs make progress too.
const MAX_ENTRIES_PER_STEP: usize = 2000;
/// Entries that are looked at, or names that are read, before the process is looked for again.
const ENTRIES_PER_LOOK: usize = 64;
const NAMES_PER_LOOK: usize = 1000;
/// Files that are remembered by name; beyond it only number and bytes are counted.
const MAX_NAMED_FILES: u64 = 200_000;
/// Directories within each other.
const MAX_DEPTH: usize = 64;
/// Sources, files and directories of a job. What exceeds these limits is not counted at all: any user may
/// name such sources.
const MAX_ENTRIES: u64 = 20_000_000;
/// Bytes of the names in one directory.
const MAX_DIRECTORY_BYTES: usize = 16 << 20;

/// A directory is remembered by its path in two places, and by its name.
const DIRECTORY_NAME_COPIES: usize = 3;
/// What a file or a directory that is remembered takes beside its name.
const ENTRY_BYTES: usize = 64;

/// A source.
#[derive(Debug)]
struct CopySource {
    /// Its path, as the process sees it.
    path: PathBuf,
    /// Its name below the destination.
    name: PathBuf,
}

/// A directory of a source.
#[derive(Debug)]
struct SourceDirectory {
    /// Index of the source.
    source: usize,
    /// Path below it.
    below: PathBuf,
}

/// Entries of a directory that were not looked at yet.
#[derive(Debug)]
struct RemainingEntries {
    directory: SourceDirectory,
    /// Their names, each with a zero byte behind it.
    names: Vec<u8>,
}

impl RemainingEntries {
    fn next_name(&mut self) -> Option<OsString> {
        self.names.pop()?;
        let start = self.names.iter().rposition(|byte| *byte == 0);
        let name = self.names.split_off(start.map_or(0, |zero| zero + 1));
        Some(OsString::from_vec(name))
    }
}

/// Why the total of a job is not known: its files are shown one by one then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnknownTotal {
    /// It exceeds a limit.
    TooLarge,
    /// The copy enters another mount or a subvolume, which is not read: reading a directory may mount
    /// something, or wait for another machine.
    OtherMount,
    /// A path leads through a link of procfs, which depends on who follows it, or through too many links.
    LinkOfProcfs,
    /// A source cannot be looked at, or a directory not be read without an effect on its time of access.
    NotReadable,
}

/// Files of a job.
#[derive(Debug)]
pub(super) struct CopyTree {
    count_method: CountMethod,
    entered_directories: EnteredDirectories,
    paths: JobPaths,
    sources: Vec<CopySource>,
    /// Number of sources that were looked at.
    examined_sources: usize,
    /// Directories that were found and not read yet.
    unread_directories: Vec<SourceDirectory>,
    remaining_entries: Option<RemainingEntries>,
    /// Bytes of the paths of these directories and of the names of these entries.
    unread_bytes: usize,
    destination: Option<PathBuf>,
    expected_files: ExpectedFiles,
    total_count: FileCount,
    has_unnamed_files: bool,
    /// Bytes of the names that are remembered.
    name_bytes: usize,
    entries: u64,
    unknown_total: Option<UnknownTotal>,
}

impl CopyTree {
    /// Creates the tree without reading it. `process` is the process's directory below `/proc`.
    pub(super) fn new(process: &Path, order: &CopyOrder) -> Self {
        let paths = JobPaths::of_process(process, order);
        let sources = order
            .sources
            .iter()
            .zip(&order.copies_contents)
            .map(|(source, contents)| {
                let name = source.file_name().filter(|_| !contents);
                CopySource {
                    path: paths.absolute(source),
                    name: name.map(PathBuf::from).unwrap_or_default(),
                }
            })
            .collect();
        Self {
            count_method: order.count_method,
            entered_directories: order.entered_directories,
            sources,
            examined_sources: 0,
            unread_directories: Vec::new(),
            remaining_entries: None,
            unread_bytes: 0,
            destination: order.destination.as_deref().map(|to| paths.absolute(to)),
            expected_files: ExpectedFiles::default(),
            total_count: FileCount::default(),
            has_unnamed_files: false,
            name_bytes: 0,
            entries: 0,
            unknown_total: None,
            paths,
        }
    }

    /// Whether no more sources are looked for.
    pub(super) fn is_complete(&self) -> bool {
        self.total_count.is_complete || self.unknown_total.is_some()
    }

    /// Bytes of the names that are remembered.
    pub(super) fn name_bytes(&self) -> usize {
        self.name_bytes + self.unread_bytes
    }

    /// Remembers less: of the files only number and bytes are counted from now on, or nothing.
    pub(super) fn forget_names(&mut self) {
        if self.has_unnamed_files {
            return self.give_up(UnknownTotal::TooLarge);
        }
        self.has_unnamed_files = true;
        self.expected_files = ExpectedFiles::default();
        self.name_bytes = 0;
    }

    /// Forgets everything: nothing is known of it.
    fn give_up(&mut self, reason: UnknownTotal) {
        self.unknown_total = Some(reason);
        self.unread_directories = Vec::new();
        self.remaining_entries = None;
        self.unread_bytes = 0;
        self.total_count = FileCount::default();
        self.has_unnamed_files = true;
        self.expected_files = ExpectedFiles::default();
        self.name_bytes = 0;
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
        if self.unknown_total.is_some() || !self.paths.process_exists() {
            return;
        }
        if !self.total_count.is_complete
            && let Err(reason) = self.read_sources()
        {
            return self.give_up(reason);
        }
        let Some(destination) = self.destination.as_deref() else {
            return;
        };
        let found = match self.paths.find(destination) {
            Ok(found) => Some(found),
            Err(Errno::LOOP) => return self.give_up(UnknownTotal::LinkOfProcfs),
            Err(_) => None,
        };
        if self.total_count.destination_file_system.is_none() {
            let parent = || self.paths.find(destination.parent()?).ok();
            let parent = found.is_none().then(parent).flatten();
            let place = found.as_ref().or(parent.as_ref());
            self.total_count.destination_file_system = place.map(|it| it.status().device());
        }
        if self.checks_destination()
            && let Some(found) = found
        {
            let paths = &self.paths;
            self.expected_files.check(&found, || paths.process_exists());
        }
    }

    /// The counts after the end of the process; `None` where they cannot be determined.
    pub(super) fn last_look(&mut self) -> Option<FileCount> {
        let possible = self.total_count.is_complete && self.checks_destination();
        let destination = self.destination.as_ref().filter(|_| possible)?;
        let destination = self.paths.lasting_path(destination)?;
        self.expected_files.check_each_file(&destination);
        Some(self.current_count())
    }

    fn checks_destination(&self) -> bool {
        self.count_method == CountMethod::DestinationFiles && !self.has_unnamed_files
    }

    /// Reads as much of the sources as belongs to one step.
    fn read_sources(&mut self) -> Result<(), UnknownTotal> {
        let last = self.entries + MAX_ENTRIES_PER_STEP as u64;
        while self.entries < last && self.paths.process_exists() {
            if let Some(remaining) = self.remaining_entries.take() {
                self.look_at_entries(remaining)?;
            } else if let Some(directory) = self.unread_directories.pop() {
                self.unread_bytes -= directory_bytes(&directory);
                self.read_names(directory)?;
            } else if self.examined_sources < self.sources.len() {
                self.look_at_source(self.examined_sources)?;
                self.examined_sources += 1;
            } else {
                self.total_count.is_complete = true;
                return Ok(());
            }
            if self.entries > MAX_ENTRIES {
                return Err(UnknownTotal::TooLarge);
            }
        }
        Ok(())
    }

    /// Some programs follow a link that is named as a source; none follows a link within a tree.
    fn look_at_source(&mut self, source: usize) -> Result<(), UnknownTotal> {
        let found = match self.paths.find(&self.sources[source].path) {
            Ok(found) => found,
            Err(Errno::XDEV) => return Err(UnknownTotal::OtherMount),
            Err(Errno::LOOP) => return Err(UnknownTotal::LinkOfProcfs),
            // The copy does not find it, either.
            Err(Errno::NOENT | Errno::NOTDIR) => {
                self.entries += 1;
                return Ok(());
            }
            Err(_) => return Err(UnknownTotal::NotReadable),
        };
        let directory = SourceDirectory {
            source,
            below: PathBuf::new(),
        };
        let is_entered = self.entered_directories != EnteredDirectories::None;
        self.add_entry(directory, found.status(), is_entered);
        Ok(())
    }

    fn open(&self, directory: &SourceDirectory) -> Result<ForeignFile, Errno> {
        let source = self.paths.find(&self.sources[directory.source].path)?;
        source.below_in_mount(&directory.below)
    }

    /// Reads the names in a directory. One that does not exist any more, or that the copy may not read
    /// either, has none.
    fn read_names(&mut self, directory: SourceDirectory) -> Result<(), UnknownTotal> {
        if directory.below.components().count() > MAX_DEPTH {
            return Err(UnknownTotal::TooLarge);
        }
        let place = match self.open(&directory) {
            Ok(place) => place,
            Err(Errno::XDEV) => return Err(UnknownTotal::OtherMount),
            Err(_) => return Ok(()),
        };
        let entries = match place.entries() {
            Ok(entries) => entries,
            Err(Errno::XDEV) => return Err(UnknownTotal::OtherMount),
            Err(Errno::PERM) => return Err(UnknownTotal::NotReadable),
            Err(_) => return Ok(()),
        };
        let mut names = Vec::new();
        for (index, entry) in entries.enumerate() {
            if index % NAMES_PER_LOOK == 0 && !self.paths.process_exists() {
                return Ok(());
            }
            names.extend(entry.name.as_bytes());
            names.push(0);
            if names.len() > MAX_DIRECTORY_BYTES {
                return Err(UnknownTotal::TooLarge);
            }
        }
        if !self.has_unnamed_files {
            let name = self.name_below_destination(&directory);
            self.name_bytes += DIRECTORY_NAME_COPIES * name.as_os_str().len();
            self.expected_files.add_directory(&name);
        }
        self.unread_bytes += names.len();
        self.remaining_entries = Some(RemainingEntries { directory, names });
        Ok(())
    }

    /// Looks at some entries of a directory.
    fn look_at_entries(&mut self, mut remaining: RemainingEntries) -> Result<(), UnknownTotal> {
        self.unread_bytes -= remaining.names.len();
        let Ok(place) = self.open(&remaining.directory) else {
            return Ok(());
        };
        for _ in 0..ENTRIES_PER_LOOK {
            let Some(name) = remaining.next_name() else {
                return Ok(());
            };
            let Ok(status) = place.status_of(&name) else {
                self.entries += 1;
                continue;
            };
            let device = place.status().device();
            let is_left_out = status.is_directory() && status.is_outside_of(device);
            if is_left_out && !self.is_left_out_by_copy(&status, device) {
                return Err(UnknownTotal::OtherMount);
            }
            let entry = SourceDirectory {
                source: remaining.directory.source,
                below: remaining.directory.below.join(&name),
            };
            self.add_entry(entry, &status, !is_left_out);
        }
        self.unread_bytes += remaining.names.len();
        self.remaining_entries = Some(remaining);
        Ok(())
    }

    /// Whether the copy does not enter another mount or subvolume either: it compares the numbers of the
    /// file systems.
    fn is_left_out_by_copy(&self, status: &FileStatus, device: (u32, u32)) -> bool {
        let stays = self.entered_directories == EnteredDirectories::OneFileSystem;
        stays && status.device() != device
    }

    fn add_entry(&mut self, entry: SourceDirectory, status: &FileStatus, is_entered: bool) {
        self.entries += 1;
        let name = self.name_below_destination(&entry);
        let total = &mut self.total_count;
        total
            .source_file_system
            .get_or_insert_with(|| status.device());
        total.archive_bytes += archive_bytes(&name, status);
        if status.is_directory() && is_entered {
            self.unread_bytes += directory_bytes(&entry);
            self.unread_directories.push(entry);
        } else if status.is_regular() {
            total.files += 1;
            total.bytes += status.size();
            if self.has_unnamed_files {
                return;
            }
            if total.files > MAX_NAMED_FILES {
                self.forget_names();
            } else {
                self.name_bytes += name.file_name().map_or(0, OsStr::len) + ENTRY_BYTES;
                self.expected_files.add_file(&name, status.size());
            }
        }
    }

    fn name_below_destination(&self, entry: &SourceDirectory) -> PathBuf {
        let name = &self.sources[entry.source].name;
        match entry.below.as_os_str().is_empty() {
            true => name.clone(),
            false => name.join(&entry.below),
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
    let long_name = name.as_os_str().len() > MAX_NAME_BYTES;
    let header = if long_name { 3 * BLOCK } else { BLOCK };
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
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

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
    fn copy_tree_has_no_total_with_a_source_behind_a_link_of_procfs() {
        let directory = tempfile::tempdir().unwrap();
        write_file(directory.path().join("source/a"), 100);
        fs::create_dir(directory.path().join("copy")).unwrap();
        symlink("/proc/self/root/etc", directory.path().join("link")).unwrap();
        let process = process_directory(directory.path());
        for (sources, is_known) in [("source\0none", true), ("source\0link", false)] {
            let line = format!("cp\0-a\0{sources}\0copy\0");
            let order =
                crate::probe::copy_jobs::arguments::parse_copy_order(b"cp", line.as_bytes())
                    .unwrap();
            let mut tree = CopyTree::new(&process, &order);
            tree.next_step();
            let expected = (!is_known).then_some(UnknownTotal::LinkOfProcfs);
            assert_eq!(tree.unknown_total, expected, "{sources}");
        }
    }

    #[test]
    fn copy_tree_of_deeply_nested_directories_is_given_up_with_what_it_remembers() {
        let directory = tempfile::tempdir().unwrap();
        let mut deep = directory.path().join("source");
        for _ in 0..MAX_DEPTH + 1 {
            deep.push("d");
        }
        write_file(deep.join("file"), 100);
        let order =
            crate::probe::copy_jobs::arguments::parse_copy_order(b"cp", b"cp\0-a\0source\0copy\0")
                .unwrap();
        let mut tree = CopyTree::new(&process_directory(directory.path()), &order);
        tree.next_step();
        assert_eq!(tree.unknown_total, Some(UnknownTotal::TooLarge));
        assert!(tree.is_complete() && tree.unread_directories.is_empty());
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

    fn job(root: &Path, line: &[u8]) -> CopyTree {
        let name = line.split(|byte| *byte == 0).next().unwrap();
        let order = crate::probe::copy_jobs::arguments::parse_copy_order(name, line).unwrap();
        CopyTree::new(&process_directory(root), &order)
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
        tree.next_step();
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
        tree.next_step();
        assert_eq!(tree.current_count().bytes_done, Some(50));
        for name in &names {
            assert_eq!(read(name), long_ago, "{name}");
        }
    }

    #[test]
    fn nothing_is_open_between_two_steps_and_read_after_the_end_of_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for index in 0..2 * MAX_ENTRIES_PER_STEP {
            write_file(root.join(format!("source/{}/{index}", index % 3)), 1);
        }
        let inode = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
        let below: Vec<_> = ["source", "source/0", "source/1", "source/2"]
            .map(|name| inode(&root.join(name)))
            .to_vec();
        let mut tree = job(root, b"cp\0-a\0source\0copy\0");
        tree.next_step();
        assert!(!tree.is_complete());
        let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let is_open = open
            .map(|entry| inode(&entry.path()))
            .any(|opened| opened.is_some() && below.contains(&opened));
        assert!(!is_open);
        let before = tree.current_count().files;
        assert!(before > 0);
        fs::remove_file(root.join("proc/7/root")).unwrap();
        tree.next_step();
        assert_eq!(tree.current_count().files, before);
        assert!(!tree.is_complete() && tree.last_look().is_none());
    }

    #[test]
    fn names_of_a_directory_are_returned_one_by_one() {
        let directory = SourceDirectory {
            source: 0,
            below: PathBuf::new(),
        };
        let names = b"a\0bc\0".to_vec();
        let mut remaining = RemainingEntries { directory, names };
        let names: Vec<_> = std::iter::from_fn(|| remaining.next_name()).collect();
        assert_eq!(names, ["bc", "a"]);
    }
}
