//! The paths of files of which only the inodes are known: the directories are searched, for a
//! limited time.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Searches a directory and everything below it in the same file system for these inodes. Returns
/// what was found in the time given: a directory that does not respond delays nobody.
#[must_use]
pub fn find_paths(
    directory: &Path,
    wanted: HashSet<u64>,
    time_limit: Duration,
) -> HashMap<u64, PathBuf> {
    let (sender, receiver) = mpsc::channel();
    let deadline = Instant::now() + time_limit;
    let directory = directory.to_owned();
    let started = thread::Builder::new()
        .name("file search".to_owned())
        .spawn(move || {
            search(directory, wanted, deadline, |inode, path| {
                let _ = sender.send((inode, path));
            });
        });
    let mut found = HashMap::new();
    if started.is_err() {
        return found;
    }
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok((inode, path)) => {
                found.entry(inode).or_insert(path);
            }
            Err(_) => return found,
        }
    }
}

fn search(
    directory: PathBuf,
    mut wanted: HashSet<u64>,
    deadline: Instant,
    mut found: impl FnMut(u64, PathBuf),
) {
    let Ok(device) = fs::symlink_metadata(&directory).map(|about| about.dev()) else {
        return;
    };
    let mut waiting = vec![directory];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if wanted.is_empty() || Instant::now() >= deadline {
                return;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_file() && wanted.remove(&entry.ino()) {
                found(entry.ino(), entry.path());
            }
            let is_here = || entry.metadata().is_ok_and(|about| about.dev() == device);
            if kind.is_dir() && is_here() {
                waiting.push(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_found_by_its_inode() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        let file = below.join("wanted");
        fs::write(&file, "x").unwrap();
        fs::write(below.join("other"), "x").unwrap();
        let inode = fs::metadata(&file).unwrap().ino();
        let limit = Duration::from_secs(60);
        let found = find_paths(directory.path(), HashSet::from([inode]), limit);
        assert_eq!(found, HashMap::from([(inode, file)]));
        let none = find_paths(directory.path(), HashSet::from([inode]), Duration::ZERO);
        assert!(none.is_empty());
    }
}
