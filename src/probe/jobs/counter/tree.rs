//! The files of one job: found piece by piece, and looked for at the destination.

use std::fs::{self, ReadDir};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::probe::jobs::Count;
use crate::probe::jobs::arguments::{Measure, Order};

/// Entries of directories that one step takes, so that other jobs get their turn.
const STEP: usize = 2000;
/// Files that are remembered by name; of those beyond only number and bytes are known.
const REMEMBERED: usize = 200_000;
/// So many missing ones in a row end a look: programs copy in the order of the directory, or
/// sorted, and what comes later is missing too.
const MISSING: usize = 64;
/// Files further on that are looked at all the same, in turns.
const ELSEWHERE: usize = 256;

/// Files of a job.
#[derive(Debug)]
pub(super) struct Tree {
    measure: Measure,
    /// Directories that are being read, the innermost last.
    walk: Vec<(ReadDir, PathBuf)>,
    /// Sources to come: where, and what they will be called below the destination.
    roots: Vec<(PathBuf, PathBuf)>,
    destination: Option<PathBuf>,
    /// Names of the files below the destination with their sizes, while they have not arrived.
    missing: Vec<(PathBuf, u64)>,
    turn: usize,
    found: Count,
    arrived: (u64, u64),
    partial: u64,
    forgotten: bool,
}

impl Tree {
    /// Nothing is looked at yet. `process` is the process's directory below `/proc`.
    pub(super) fn new(process: &Path, order: &Order) -> Self {
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
            .zip(&order.contents)
            .map(|(source, contents)| {
                let name = source.file_name().filter(|_| !contents);
                (own(source), name.map(PathBuf::from).unwrap_or_default())
            })
            .collect();
        roots.reverse();
        Self {
            measure: order.measure,
            walk: Vec::new(),
            roots,
            destination: order.destination.as_deref().map(own),
            missing: Vec::new(),
            turn: 0,
            found: Count::default(),
            arrived: (0, 0),
            partial: 0,
            forgotten: false,
        }
    }

    /// Whether all sources were found.
    pub(super) fn is_sized(&self) -> bool {
        self.found.complete
    }

    /// What is known by now.
    pub(super) fn count(&self) -> Count {
        let known = self.measure == Measure::Arrived && !self.forgotten;
        Count {
            files_done: known.then_some(self.arrived.0),
            bytes_done: known.then_some(self.arrived.1 + self.partial),
            ..self.found
        }
    }

    /// Takes the next step: finds more, and looks what has arrived.
    pub(super) fn go_on(&mut self) {
        for _ in 0..STEP {
            if self.found.complete || !self.find_one() {
                self.found.complete = true;
                break;
            }
        }
        if self.measure == Measure::Arrived && !self.forgotten {
            self.look();
        }
    }

    /// Takes one entry; `false` when there is none any more.
    fn find_one(&mut self) -> bool {
        let (path, name) = match self.walk.last_mut() {
            Some((directory, below)) => match directory.next() {
                Some(Ok(entry)) => (entry.path(), below.join(entry.file_name())),
                Some(Err(_)) => return true,
                None => {
                    self.walk.pop();
                    return true;
                }
            },
            None => match self.roots.pop() {
                Some(root) => root,
                None => return false,
            },
        };
        // A link that is named as a source is followed by some programs; within a tree by none.
        let metadata = if self.walk.is_empty() {
            fs::metadata(&path)
        } else {
            fs::symlink_metadata(&path)
        };
        let Ok(metadata) = metadata else {
            return true;
        };
        if metadata.is_dir() {
            if let Ok(directory) = fs::read_dir(&path) {
                self.walk.push((directory, name));
            }
        } else if metadata.is_file() {
            self.found.files += 1;
            self.found.bytes += metadata.size();
            if self.missing.len() < REMEMBERED {
                self.missing.push((name, metadata.size()));
            } else {
                self.forgotten = true;
            }
        }
        true
    }

    /// Looks for files at the destination: from the first missing one on, and some elsewhere.
    fn look(&mut self) {
        let Some(destination) = self.destination.clone() else {
            return;
        };
        let mut in_a_row = 0;
        let mut partial = 0;
        let turn = self.turn;
        let mut place = 0;
        let (mut files, mut bytes) = (0, 0);
        self.missing.retain(|(name, size)| {
            let near = in_a_row < MISSING;
            let elsewhere = (turn..turn + ELSEWHERE).contains(&place);
            place += 1;
            if !near && !elsewhere {
                return true;
            }
            let length = arrived(&destination, name);
            if length.is_some_and(|length| length >= *size) {
                (in_a_row, files, bytes) = (0, files + 1, bytes + size);
                return false;
            }
            in_a_row += 1;
            partial += length.unwrap_or(0);
            true
        });
        self.arrived.0 += files;
        self.arrived.1 += bytes;
        self.partial = partial;
        self.turn = if turn + ELSEWHERE >= place {
            0
        } else {
            turn + ELSEWHERE
        };
    }
}

/// Length of a file at the destination: below it under its name, or itself, as cp decides by
/// whether it was a directory before.
fn arrived(destination: &Path, name: &Path) -> Option<u64> {
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
    fn process(root: &Path) -> PathBuf {
        let process = root.join("proc/7");
        fs::create_dir_all(&process).unwrap();
        std::os::unix::fs::symlink(root, process.join("cwd")).unwrap();
        std::os::unix::fs::symlink("/", process.join("root")).unwrap();
        process
    }

    fn write(path: PathBuf, bytes: usize) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![1; bytes]).unwrap();
    }

    #[test]
    fn files_are_counted_as_they_arrive() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for (name, bytes) in [("a", 100), ("b", 200), ("deep/c", 300), ("empty", 0)] {
            write(root.join("source").join(name), bytes);
        }
        let line = b"cp\0-a\0source\0copy\0";
        let order = crate::probe::jobs::arguments::order(b"cp", line).unwrap();
        let mut tree = Tree::new(&process(root), &order);
        assert_eq!(tree.count().files, 0);
        tree.go_on();
        assert!(tree.is_sized());
        let count = tree.count();
        assert_eq!((count.files, count.bytes), (4, 600));
        assert_eq!((count.files_done, count.bytes_done), (Some(0), Some(0)));
        // cp made the directory itself: the files lie directly in it.
        write(root.join("copy/a"), 100);
        write(root.join("copy/deep/c"), 50);
        tree.go_on();
        let count = tree.count();
        assert_eq!((count.files_done, count.bytes_done), (Some(1), Some(150)));
        write(root.join("copy/deep/c"), 300);
        tree.go_on();
        assert_eq!(tree.count().bytes_done, Some(400));
    }

    #[test]
    fn an_existing_directory_takes_the_source_up() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        write(root.join("source/a"), 100);
        write(root.join("copy/source/a"), 100);
        let order = crate::probe::jobs::arguments::order(b"cp", b"cp\0-a\0source\0copy\0").unwrap();
        let mut tree = Tree::new(&process(root), &order);
        tree.go_on();
        assert_eq!(tree.count().files_done, Some(1));
    }

    #[test]
    fn what_only_reads_is_sized_alone() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path().join("source/a"), 100);
        let order =
            crate::probe::jobs::arguments::order(b"tar", b"tar\0cf\0out\0source\0").unwrap();
        let mut tree = Tree::new(&process(directory.path()), &order);
        tree.go_on();
        let count = tree.count();
        assert_eq!(
            (count.bytes, count.files_done, count.bytes_done),
            (100, None, None)
        );
    }
}
