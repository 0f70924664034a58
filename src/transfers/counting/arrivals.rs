//! The files that a job is to bring to its destination, and which of them have arrived.
//!
//! Programs copy in the order of the directory, of the inodes, or sorted, so no order is assumed: a
//! directory of the destination is listed again when its ctime has changed. Its mtime says nothing:
//! rsync and cp -a set it to that of the source.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::io::Errno;

use crate::foreign_tree::{FileStatus, ForeignFile};
use crate::probe::process::closed_files::without_temporary_suffix;

/// Directories that are checked at once, the others in rotation.
const MAX_DIRECTORIES_PER_CHECK: usize = 1000;
/// A directory with this many entries is listed in every second check, one with twice as many in
/// every third.
const ENTRIES_PER_SKIPPED_CHECK: usize = 5000;
/// A directory that changed this shortly before it was listed may have changed once more without
/// another ctime, which has the resolution of the kernel's clock tick.
const CHANGE_RESOLUTION: Duration = Duration::from_secs(1);

/// Files that are expected below the destination.
#[derive(Debug, Default)]
pub(super) struct ExpectedFiles {
    directories: Vec<ExpectedDirectory>,
    /// Indices of the directories by their paths below the destination.
    by_path: HashMap<PathBuf, usize>,
    /// Directories that exist at the destination and are not complete.
    open: BTreeSet<usize>,
    next_check: usize,
    /// Whether the tree has another name at the destination: paths there lack their first component.
    is_renamed: bool,
    arrived_files: u64,
    arrived_bytes: u64,
}

/// A directory of the destination.
#[derive(Debug, Default)]
struct ExpectedDirectory {
    /// Path below the destination, under the name of its source.
    below: PathBuf,
    /// Files that have not arrived, with their sizes.
    missing: HashMap<OsString, u64>,
    /// Directories in it that do not exist yet.
    missing_directories: HashMap<OsString, usize>,
    /// Whether it exists at the destination.
    exists: bool,
    listing: Option<Listing>,
    /// Files that exist with less than their size: name at the destination, expected name, bytes.
    partial: Vec<(OsString, OsString, u64)>,
}

/// The last listing of a directory.
#[derive(Debug, Clone, Copy)]
struct Listing {
    changed: SystemTime,
    is_settled: bool,
    entries: usize,
    skipped_checks: usize,
}

impl ExpectedFiles {
    /// Number and bytes of the files that have arrived, with the bytes of those that are arriving.
    pub(super) fn arrived(&self) -> (u64, u64) {
        let open = self.open.iter().map(|index| &self.directories[*index]);
        let partial: u64 = open.flat_map(|it| &it.partial).map(|it| it.2).sum();
        (self.arrived_files, self.arrived_bytes + partial)
    }

    /// Adds a directory by its path below the destination.
    pub(super) fn add_directory(&mut self, below: &Path) {
        self.index_of(below);
    }

    /// Adds a file by its path below the destination.
    pub(super) fn add_file(&mut self, below: &Path, size: u64) {
        let index = self.index_of(below.parent().unwrap_or(Path::new("")));
        if let Some(name) = below.file_name() {
            let directory = self.changed_directory(index);
            directory.missing.insert(name.to_owned(), size);
        }
    }

    /// A directory that more is expected in: it is listed again.
    fn changed_directory(&mut self, index: usize) -> &mut ExpectedDirectory {
        let directory = &mut self.directories[index];
        directory.listing = None;
        if directory.exists {
            self.open.insert(index);
        }
        directory
    }

    /// The index of a directory, which is added with its parents if it is new.
    fn index_of(&mut self, below: &Path) -> usize {
        if let Some(index) = self.by_path.get(below) {
            return *index;
        }
        let index = self.directories.len();
        self.by_path.insert(below.to_owned(), index);
        self.directories.push(ExpectedDirectory {
            below: below.to_owned(),
            exists: below.as_os_str().is_empty(),
            ..ExpectedDirectory::default()
        });
        if let (Some(parent), Some(name)) = (below.parent(), below.file_name()) {
            let parent = self.index_of(parent);
            let directory = self.changed_directory(parent);
            directory.missing_directories.insert(name.to_owned(), index);
        }
        index
    }

    /// Checks directories that exist at the destination, up to a number of them, as long as the
    /// condition holds.
    pub(super) fn check(
        &mut self,
        destination: &ForeignFile,
        is_renamed: bool,
        continues: impl Fn() -> bool,
    ) {
        self.set_renamed(is_renamed);
        let rotated = self.open.range(self.next_check..).copied();
        let mut turn: Vec<usize> = rotated.take(MAX_DIRECTORIES_PER_CHECK).collect();
        self.next_check = match turn.last() {
            Some(last) if turn.len() == MAX_DIRECTORIES_PER_CHECK => last + 1,
            _ => 0,
        };
        while continues()
            && let Some(index) = turn.pop()
        {
            // A directory that appeared is checked at once.
            turn.extend(self.check_directory(index, destination));
        }
    }

    /// Under another name the directory of the tree is the destination itself.
    fn set_renamed(&mut self, is_renamed: bool) {
        if is_renamed != self.is_renamed {
            self.is_renamed = is_renamed;
            for directory in &mut self.directories {
                directory.listing = None;
            }
        }
        if let Some(top) = self.by_path.get(Path::new("")).filter(|_| is_renamed) {
            let inside = self.directories[*top].missing_directories.values();
            let inside: Vec<usize> = inside.copied().collect();
            self.set_existing(&inside);
        }
    }

    fn set_existing(&mut self, indices: &[usize]) {
        for index in indices {
            let directory = &mut self.directories[*index];
            if !directory.exists {
                directory.exists = true;
                self.open.insert(*index);
            }
        }
    }

    /// Checks one directory; returns the directories in it that have appeared.
    fn check_directory(&mut self, index: usize, destination: &ForeignFile) -> Vec<usize> {
        let directory = &mut self.directories[index];
        let path = path_at_destination(&directory.below, self.is_renamed);
        let Ok(found) = destination.below(&path) else {
            return Vec::new();
        };
        let mut appeared = directory.list(&found);
        let (files, bytes) = directory.check_partial(&found);
        self.arrived_files += files;
        self.arrived_bytes += bytes;
        if directory.missing.is_empty() && directory.missing_directories.is_empty() {
            self.open.remove(&index);
        }
        appeared.retain(|index| !self.directories[*index].exists);
        self.set_existing(&appeared);
        appeared
    }

    /// Checks every missing file by its name, without opening a directory. The destination is a path
    /// that leads through no automount.
    pub(super) fn check_each_file(&mut self, destination: &Path) {
        for directory in &mut self.directories {
            let path = destination.join(path_at_destination(&directory.below, self.is_renamed));
            let mut partial = Vec::new();
            directory.missing.retain(|name, size| {
                let status = FileStatus::of_path(&path.join(name)).ok();
                let Some(length) = status.as_ref().and_then(file_length) else {
                    return true;
                };
                if length < *size {
                    partial.push((name.clone(), name.clone(), length));
                    return true;
                }
                self.arrived_files += 1;
                self.arrived_bytes += *size;
                false
            });
            directory.partial = partial;
        }
        self.open = (0..self.directories.len()).collect();
    }
}

impl ExpectedDirectory {
    /// Lists the directory if it has changed; returns the directories that have appeared in it.
    fn list(&mut self, place: &ForeignFile) -> Vec<usize> {
        let changed = place.status().changed();
        if let Some(listing) = &mut self.listing
            && listing.can_skip(changed)
        {
            listing.skipped_checks += 1;
            return Vec::new();
        }
        let Some(names) = self.names_at(place) else {
            return Vec::new();
        };
        let age = SystemTime::now().duration_since(changed);
        self.listing = Some(Listing {
            changed,
            is_settled: age.is_ok_and(|age| age > CHANGE_RESOLUTION),
            entries: names.len(),
            skipped_checks: 0,
        });
        self.partial.clear();
        let mut appeared = Vec::new();
        for name in names {
            if let Some(index) = self.missing_directories.remove(&name) {
                appeared.push(index);
            } else if let Some(wanted) = self.expected_name(&name) {
                self.partial.push((name, wanted, 0));
            }
        }
        appeared
    }

    /// The names in a directory of the destination; where it may not be listed without an effect on its
    /// time of access, those of them that are missing so far.
    fn names_at(&self, place: &ForeignFile) -> Option<Vec<OsString>> {
        match place.entries() {
            Ok(entries) => Some(entries.map(|entry| entry.name).collect()),
            Err(Errno::PERM) => {
                let missing = self.missing.keys().chain(self.missing_directories.keys());
                let exists = |name: &&OsString| place.status_of(name).is_ok();
                Some(missing.filter(exists).cloned().collect())
            }
            Err(_) => None,
        }
    }

    /// The name of the missing file that a name at the destination stands for.
    fn expected_name(&self, name: &OsStr) -> Option<OsString> {
        if self.missing.contains_key(name) {
            return Some(name.to_owned());
        }
        let wanted = OsStr::from_bytes(without_temporary_suffix(name.as_bytes())?);
        self.missing.contains_key(wanted).then(|| wanted.to_owned())
    }

    /// Looks at the files that exist; returns number and bytes of those that have arrived.
    fn check_partial(&mut self, place: &ForeignFile) -> (u64, u64) {
        let (mut files, mut bytes) = (0, 0);
        let missing = &mut self.missing;
        self.partial.retain_mut(|(name, wanted, held)| {
            let Some(size) = missing.get(wanted).copied() else {
                return false;
            };
            let status = place.status_of(name).ok();
            let Some(length) = status.as_ref().and_then(file_length) else {
                return false;
            };
            // A temporary name is given up only when the file is complete.
            let has_arrived = name == wanted && length >= size;
            *held = length.min(size);
            if has_arrived {
                missing.remove(wanted);
                (files, bytes) = (files + 1, bytes + size);
            }
            !has_arrived
        });
        (files, bytes)
    }
}

impl Listing {
    /// Whether another listing would show nothing new, or is too expensive for every check.
    fn can_skip(&self, changed: SystemTime) -> bool {
        let is_unchanged = self.changed == changed && self.is_settled;
        is_unchanged || self.skipped_checks < self.entries / ENTRIES_PER_SKIPPED_CHECK
    }
}

fn path_at_destination(below: &Path, is_renamed: bool) -> PathBuf {
    let mut components = below.components();
    if is_renamed {
        components.next();
    }
    components.as_path().to_owned()
}

/// Length of a regular file.
fn file_length(status: &FileStatus) -> Option<u64> {
    status.is_regular().then(|| status.size())
}
