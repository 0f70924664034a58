//! Which of the files that a job is to bring to its destination have arrived.
//!
//! Programs copy in the order of the directory, of the inodes, or sorted, so no order is assumed: the
//! directories that are not complete are listed in turn, as many as fit into the time of one check.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::drive::foreign_tree::{FileStatus, ForeignFile};
use crate::probe::process::closed_files::without_temporary_suffix;

/// Time after which no further directory is looked at in one check.
const CHECK_TIME: Duration = Duration::from_millis(50);

/// Files that are expected below the destination.
#[derive(Debug, Default)]
pub(super) struct ExpectedFiles {
    /// Directories that are not complete, the next one to look at first.
    directories: VecDeque<ExpectedDirectory>,
    /// Number and bytes of the files that have arrived.
    arrived: (u64, u64),
}

/// A directory of the destination.
#[derive(Debug)]
struct ExpectedDirectory {
    /// Path below the destination, under the name of its source.
    below: PathBuf,
    /// Files that have not arrived, with their sizes.
    missing: HashMap<OsString, u64>,
    /// Bytes of those of them that exist in part.
    arriving: u64,
}

impl ExpectedFiles {
    /// Number and bytes of the files that have arrived, with the bytes of those that are arriving.
    pub(super) fn arrived(&self) -> (u64, u64) {
        let arriving: u64 = self.directories.iter().map(|it| it.arriving).sum();
        (self.arrived.0, self.arrived.1 + arriving)
    }

    /// Adds a file by its path below the destination.
    pub(super) fn add_file(&mut self, below: &Path, size: u64) {
        let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else {
            return;
        };
        // Files of one directory are added one after the other.
        match self
            .directories
            .back_mut()
            .filter(|last| last.below == parent)
        {
            Some(directory) => {
                directory.missing.insert(name.to_owned(), size);
            }
            None => self.directories.push_back(ExpectedDirectory {
                below: parent.to_owned(),
                missing: HashMap::from([(name.to_owned(), size)]),
                arriving: 0,
            }),
        }
    }

    /// Looks at the destination as long as the job runs. With `is_renamed`, the tree has another name
    /// there: paths lack their first component.
    pub(super) fn check(
        &mut self,
        destination: &ForeignFile,
        is_renamed: bool,
        is_running: &dyn Fn() -> bool,
    ) {
        let begin = Instant::now();
        for _ in 0..self.directories.len() {
            let Some(mut directory) = self.directories.pop_front() else {
                break;
            };
            let path = path_at_destination(&directory.below, is_renamed);
            if let Ok(place) = destination.below(&path) {
                self.arrived = add(self.arrived, directory.check(&place));
            }
            if !directory.missing.is_empty() {
                self.directories.push_back(directory);
            }
            if begin.elapsed() > CHECK_TIME || !is_running() {
                break;
            }
        }
    }

    /// Looks at every missing file by its path, without opening a directory. The destination is a path
    /// that leads through no automount.
    pub(super) fn check_each_file(&mut self, destination: &Path, is_renamed: bool) {
        for directory in &mut self.directories {
            let path = destination.join(path_at_destination(&directory.below, is_renamed));
            let names = directory.missing.keys().cloned().collect();
            let arrived = directory.look_at(names, |name| FileStatus::of_path(&path.join(name)));
            self.arrived = add(self.arrived, arrived);
        }
    }
}

fn add(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0 + other.0, one.1 + other.1)
}

impl ExpectedDirectory {
    /// Lists the directory; returns number and bytes of the files that have arrived in it.
    fn check(&mut self, place: &ForeignFile) -> (u64, u64) {
        let names = match place.entries() {
            Ok(entries) => entries.map(|entry| entry.name).collect(),
            // It may not be listed without an effect on its time of access.
            Err(Errno::PERM) => self.missing.keys().cloned().collect(),
            Err(_) => Vec::new(),
        };
        self.look_at(names, |name| place.status_of(name))
    }

    /// Looks at the files with these names of which it expects one.
    fn look_at(
        &mut self,
        names: Vec<OsString>,
        status: impl Fn(&OsStr) -> rustix::io::Result<FileStatus>,
    ) -> (u64, u64) {
        let mut arrived = (0, 0);
        self.arriving = 0;
        for name in names {
            let wanted = without_temporary_suffix(name.as_bytes()).map(OsStr::from_bytes);
            let mut wanted = [Some(&*name), wanted].into_iter().flatten();
            let Some(wanted) = wanted.find(|it| self.missing.contains_key(*it)) else {
                continue;
            };
            let size = self.missing[wanted];
            let Ok(found) = status(&name) else { continue };
            // A temporary name is given up only when the file is complete.
            if found.is_regular() && found.size() >= size && wanted == name {
                self.missing.remove(wanted);
                arrived = add(arrived, (1, size));
            } else if found.is_regular() {
                self.arriving += found.size().min(size);
            }
        }
        arrived
    }
}

fn path_at_destination(below: &Path, is_renamed: bool) -> PathBuf {
    let mut components = below.components();
    if is_renamed {
        components.next();
    }
    components.as_path().to_owned()
}
