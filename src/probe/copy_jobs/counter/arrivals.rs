//! The files that a job is to bring to its destination, and which of them have arrived.
//!
//! Programs copy in the order of the directory, of the inodes, or sorted, so no order is assumed:
//! a directory of the destination is listed again when its time of modification has changed.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::io::Errno;

use crate::foreign_tree::{FileStatus, ForeignFile};
use crate::probe::copy_jobs::temporary_name::without_temporary_suffix;

/// Directories that are checked at once, the others in rotation.
const MAX_DIRECTORIES_PER_CHECK: usize = 1000;
/// A directory with this many entries is listed in every second check, one with twice as many in
/// every third.
const ENTRIES_PER_SKIPPED_CHECK: usize = 5000;
/// A directory that was modified this shortly before it was listed may have changed once more without
/// another time of modification, which has the resolution of the kernel's clock tick.
const MODIFICATION_RESOLUTION: Duration = Duration::from_secs(1);

/// Files that are expected below the destination.
#[derive(Debug, Default)]
pub(super) struct ExpectedFiles {
    directories: Vec<ExpectedDirectory>,
    /// Indices of the directories by their paths below the destination.
    by_path: HashMap<PathBuf, usize>,
    /// Directories that exist at the destination and are not complete.
    open: BTreeSet<usize>,
    next_check: usize,
    arrived_files: u64,
    arrived_bytes: u64,
}

/// A directory of the destination.
#[derive(Debug)]
struct ExpectedDirectory {
    /// Path below the destination.
    below: PathBuf,
    /// Files that have not arrived, with their sizes.
    missing: HashMap<OsString, u64>,
    /// Directories in it that do not exist yet.
    missing_directories: HashMap<OsString, usize>,
    /// Whether it exists at the destination.
    exists: bool,
    /// What was seen at each of its possible places.
    sides: [DirectorySide; 2],
}

/// One of the places where a directory can be.
#[derive(Debug, Default)]
struct DirectorySide {
    listing: Option<Listing>,
    skipped_checks: usize,
    /// Files that exist with less than their size: name at the destination, expected name, bytes.
    partial: Vec<(OsString, OsString, u64)>,
}

/// The last listing of a directory.
#[derive(Debug, Clone, Copy)]
struct Listing {
    modified: SystemTime,
    is_settled: bool,
    entries: usize,
}

impl ExpectedFiles {
    /// Number and bytes of the files that have arrived, with the bytes of those that are arriving.
    pub(super) fn arrived(&self) -> (u64, u64) {
        let partial: u64 = self
            .open
            .iter()
            .flat_map(|index| &self.directories[*index].sides)
            .flat_map(|side| &side.partial)
            .map(|(_, _, bytes)| bytes)
            .sum();
        (self.arrived_files, self.arrived_bytes + partial)
    }

    /// Adds a directory by its path below the destination.
    pub(super) fn add_directory(&mut self, below: &Path) {
        self.index_of(below);
    }

    /// Adds a file by its path below the destination.
    pub(super) fn add_file(&mut self, below: &Path, size: u64) {
        let parent = below.parent().unwrap_or(Path::new(""));
        let index = self.index_of(parent);
        if let Some(name) = below.file_name() {
            let directory = &mut self.directories[index];
            directory.missing.insert(name.to_owned(), size);
            directory.list_again();
            if directory.exists {
                self.open.insert(index);
            }
        }
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
            missing: HashMap::new(),
            missing_directories: HashMap::new(),
            exists: below.as_os_str().is_empty(),
            sides: Default::default(),
        });
        if let (Some(parent), Some(name)) = (below.parent(), below.file_name()) {
            let parent = self.index_of(parent);
            let directory = &mut self.directories[parent];
            directory.missing_directories.insert(name.to_owned(), index);
            directory.list_again();
            if directory.exists {
                self.open.insert(parent);
            }
        }
        index
    }

    /// Checks directories that exist at the destination, up to a number of them, as long as the
    /// condition holds.
    pub(super) fn check(&mut self, destination: &ForeignFile, continues: impl Fn() -> bool) {
        let rotated = self.open.range(self.next_check..);
        let mut turn: Vec<usize> = rotated.copied().take(MAX_DIRECTORIES_PER_CHECK).collect();
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

    /// Checks one directory; returns the directories in it that have appeared.
    fn check_directory(&mut self, index: usize, destination: &ForeignFile) -> Vec<usize> {
        let directory = &mut self.directories[index];
        let mut appeared = Vec::new();
        // The top directory stands for the tree that is copied under a new name, too.
        let paths = possible_paths(&directory.below);
        for (side, path) in paths.iter().enumerate() {
            let Ok(found) = destination.below(path) else {
                continue;
            };
            let (files, bytes) = directory.check_at(side, &found, &mut appeared);
            self.arrived_files += files;
            self.arrived_bytes += bytes;
        }
        // cp -r TREE NEW: the content of TREE is directly in NEW.
        if directory.below.as_os_str().is_empty() {
            appeared.extend(directory.missing_directories.values().copied());
        }
        if directory.missing.is_empty() && directory.missing_directories.is_empty() {
            self.open.remove(&index);
        }
        appeared.retain(|index| !self.directories[*index].exists);
        for index in &appeared {
            self.directories[*index].exists = true;
            self.open.insert(*index);
        }
        appeared
    }

    /// Checks every missing file by its name, without opening a directory. The destination is a path
    /// that leads through no automount.
    pub(super) fn check_each_file(&mut self, destination: &Path) {
        for directory in &mut self.directories {
            let paths = possible_paths(&directory.below);
            let mut partial = Vec::new();
            directory.missing.retain(|name, size| {
                let length = paths
                    .iter()
                    .filter_map(|path| {
                        let status = FileStatus::of_path(&destination.join(path).join(name));
                        file_length(&status.ok()?)
                    })
                    .max();
                let arrived = length.is_some_and(|length| length >= *size);
                if arrived {
                    self.arrived_files += 1;
                    self.arrived_bytes += *size;
                } else if let Some(length) = length {
                    partial.push((name.clone(), name.clone(), length));
                }
                !arrived
            });
            let [first, second] = &mut directory.sides;
            first.partial = partial;
            second.partial.clear();
        }
        self.open = (0..self.directories.len()).collect();
    }
}

impl ExpectedDirectory {
    fn list_again(&mut self) {
        for side in &mut self.sides {
            side.listing = None;
        }
    }

    /// Checks the directory at one of its places; returns number and bytes of the files that have
    /// arrived.
    fn check_at(
        &mut self,
        side: usize,
        place: &ForeignFile,
        appeared: &mut Vec<usize>,
    ) -> (u64, u64) {
        let modified = place.status().modified();
        if self.sides[side].can_skip(modified) {
            self.sides[side].skipped_checks += 1;
            return self.check_partial(side, place);
        }
        let Some(names) = self.names_at(place) else {
            return (0, 0);
        };
        let (mut entries, mut present) = (0, Vec::new());
        for name in names {
            entries += 1;
            if let Some(index) = self.missing_directories.remove(&name) {
                appeared.push(index);
            } else if let Some(wanted) = self.expected_name(&name) {
                present.push((name, wanted, 0));
            }
        }
        let age = SystemTime::now().duration_since(modified);
        self.sides[side] = DirectorySide {
            listing: Some(Listing {
                modified,
                is_settled: age.is_ok_and(|age| age > MODIFICATION_RESOLUTION),
                entries,
            }),
            skipped_checks: 0,
            partial: present,
        };
        self.check_partial(side, place)
    }

    /// The names in a directory of the destination; where it may not be listed without an effect on its
    /// time of access, those of them that are missing so far.
    fn names_at<'p>(
        &self,
        place: &'p ForeignFile,
    ) -> Option<Box<dyn Iterator<Item = OsString> + 'p>> {
        match place.entries() {
            Ok(entries) => Some(Box::new(entries.map(|entry| entry.name))),
            Err(Errno::PERM) => {
                let missing = self.missing.keys().chain(self.missing_directories.keys());
                let exists = |name: &&OsString| place.status_of(name).is_ok();
                let present: Vec<OsString> = missing.filter(exists).cloned().collect();
                Some(Box::new(present.into_iter()))
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

    /// Looks at the files that exist already.
    fn check_partial(&mut self, side: usize, place: &ForeignFile) -> (u64, u64) {
        let (mut files, mut bytes) = (0, 0);
        let missing = &mut self.missing;
        self.sides[side].partial.retain_mut(|(name, wanted, held)| {
            let Some(size) = missing.get(wanted).copied() else {
                return false;
            };
            let status = place.status_of(name).ok();
            let Some(length) = status.as_ref().and_then(file_length) else {
                return false;
            };
            // A temporary name is given up only when the file is complete.
            let arrived = name == wanted && length >= size;
            *held = length.min(size);
            if arrived {
                missing.remove(wanted);
                (files, bytes) = (files + 1, bytes + size);
            }
            !arrived
        });
        (files, bytes)
    }
}

impl DirectorySide {
    /// Whether a listing would show nothing new, or is too expensive for every check.
    fn can_skip(&self, modified: SystemTime) -> bool {
        self.listing.is_some_and(|listing| {
            let unchanged = listing.modified == modified && listing.is_settled;
            unchanged || self.skipped_checks < listing.entries / ENTRIES_PER_SKIPPED_CHECK
        })
    }
}

/// Where a directory can be below the destination: under its name, or without its first component, as
/// cp decides by whether the destination existed before.
fn possible_paths(below: &Path) -> Vec<PathBuf> {
    let mut components = below.components();
    let first = components.next();
    let mut paths = vec![below.to_owned()];
    if first.is_some() {
        paths.push(components.as_path().to_owned());
    }
    paths
}

/// Length of a regular file.
fn file_length(status: &FileStatus) -> Option<u64> {
    status.is_regular().then(|| status.size())
}
