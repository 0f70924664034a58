//! The paths of files of which only the inodes are known: the directories are searched, for a
//! limited time.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::FileType;

use crate::foreign_tree::ForeignTree;

/// Searches a directory and everything below it in the same mount for these inodes, without an effect
/// on the directories. Returns what was found in the time given: a directory that does not respond delays
/// nobody.
#[must_use]
pub fn find_paths(
    directory: &Path,
    wanted: HashSet<u64>,
    time_limit: Duration,
) -> HashMap<u64, PathBuf> {
    let (sender, receiver) = mpsc::channel();
    let deadline = Instant::now() + time_limit;
    let directory = directory.to_owned();
    let body = move || {
        search(&directory, wanted, deadline, |inode, path| {
            // Nobody waits any longer.
            let _ = sender.send((inode, path));
        });
    };
    // Without a thread, its end of the channel is closed at once.
    let _ = thread::Builder::new()
        .name("file search".to_owned())
        .spawn(body);
    let mut found = HashMap::new();
    let left = || deadline.saturating_duration_since(Instant::now());
    while let Ok((inode, path)) = receiver.recv_timeout(left()) {
        found.entry(inode).or_insert(path);
    }
    found
}

fn search(
    directory: &Path,
    mut wanted: HashSet<u64>,
    deadline: Instant,
    mut found: impl FnMut(u64, PathBuf),
) {
    let tree = ForeignTree::own();
    let mut waiting = vec![PathBuf::new()];
    while let Some(below) = waiting.pop() {
        // The directory is found again for each one below it: what stays open cannot be unmounted.
        let top = tree.find_entry(directory);
        let Ok(place) = top.and_then(|top| top.below_in_mount(&below)) else {
            continue;
        };
        for entry in place.entries().into_iter().flatten() {
            if wanted.is_empty() || Instant::now() >= deadline {
                return;
            }
            let path = below.join(&entry.name);
            let file_type = match entry.file_type {
                FileType::Unknown => place.status_of(&entry.name).map(|it| it.file_type()),
                file_type => Ok(file_type),
            };
            match file_type {
                Ok(FileType::RegularFile) if wanted.remove(&entry.inode) => {
                    found(entry.inode, directory.join(path));
                }
                Ok(FileType::Directory) => waiting.push(path),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    fn find(directory: &Path, inode: u64, limit: Duration) -> HashMap<u64, PathBuf> {
        find_paths(directory, HashSet::from([inode]), limit)
    }

    #[test]
    fn file_is_found_by_its_inode() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        let file = below.join("wanted");
        fs::write(&file, "x").unwrap();
        fs::write(below.join("other"), "x").unwrap();
        let inode = fs::metadata(&file).unwrap().ino();
        let found = find(directory.path(), inode, Duration::from_secs(60));
        assert_eq!(found, HashMap::from([(inode, file)]));
        assert!(find(directory.path(), inode, Duration::ZERO).is_empty());
    }

    #[test]
    fn search_changes_no_time_of_access() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("a");
        fs::create_dir_all(&below).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let times = fs::FileTimes::new().set_accessed(long_ago);
        fs::File::open(&below).unwrap().set_times(times).unwrap();
        assert!(find(directory.path(), u64::MAX, Duration::from_secs(60)).is_empty());
        assert_eq!(fs::metadata(&below).unwrap().accessed().unwrap(), long_ago);
    }
}
