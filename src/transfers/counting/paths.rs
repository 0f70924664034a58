//! Where the relative paths of a command line lie.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};

use crate::drive::foreign_tree::{ForeignFile, ForeignTree};
use crate::probe::text::read_start;
use crate::transfers::arguments::CopyOrder;

/// Finds what the paths of a process's arguments lead to.
#[derive(Debug)]
pub(super) struct JobPaths {
    /// Directory of the process below `/proc`. A process that gets the same number later has another
    /// one.
    process: Option<OwnedFd>,
    /// What the process sees.
    tree: ForeignTree,
    /// Working directory, as the process sees it.
    base: PathBuf,
    /// Whether the process sees the same files under the same names: then the paths are valid after
    /// its end.
    is_same_root: bool,
}

impl JobPaths {
    /// Reads root and working directory of a process.
    pub(super) fn of_process(process: &Path, order: &CopyOrder) -> Self {
        let link = |name: &str| fs::read_link(process.join(name)).ok();
        let own_namespace = process
            .parent()
            .and_then(|proc| fs::read_link(proc.join("thread-self/ns/mnt")).ok());
        let is_same_root = link("root").is_some_and(|root| root == Path::new("/"))
            && link("ns/mnt") == own_namespace;
        // The mount table of the process is gone with it.
        let tree = match is_same_root {
            true => ForeignTree::own(),
            false => ForeignTree::with_root(process.join("root"), process),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut paths = Self {
            process: openat(CWD, process, flags, Mode::empty()).ok(),
            tree,
            base: link("cwd").unwrap_or_default(),
            is_same_root,
        };
        if order.is_rsync {
            paths.base = paths.original_directory(process, order);
        }
        if let Some(directory) = &order.directory {
            paths.base.push(directory);
        }
        paths
    }

    /// Whether the process still runs: directories that it used are not opened afterwards, because
    /// somebody may want to unmount them. One that has ended and is still in the table of processes has
    /// no root.
    pub(super) fn process_exists(&self) -> bool {
        let root = |process| readlinkat(process, "root", Vec::new());
        self.process.as_ref().is_some_and(|it| root(it).is_ok())
    }

    /// The absolute path of a path of the process, as it sees it.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        self.base.join(path)
    }

    /// What an absolute path of the process leads to.
    ///
    /// # Errors
    /// As [`ForeignTree::find`].
    pub(super) fn find(&self, absolute: &Path) -> rustix::io::Result<ForeignFile> {
        self.tree.find(absolute)
    }

    /// The path, valid after the end of the process, of what an absolute path leads to, if no lookup
    /// there can mount anything.
    pub(super) fn lasting_path(&self, absolute: &Path) -> Option<PathBuf> {
        let path = self.tree.path_without_automounts(absolute);
        path.filter(|_| self.is_same_root)
    }

    /// The directory in which a program was started that changes to the directories of its sources
    /// (rsync): `$PWD`, where the present directory confirms it, else the present directory.
    fn original_directory(&self, process: &Path, order: &CopyOrder) -> PathBuf {
        let mut sources = order.sources.iter().filter(|source| source.is_relative());
        let started_in = started_in(process).filter(|base| {
            self.base.starts_with(base) && sources.all(|it| self.find(&base.join(it)).is_ok())
        });
        started_in.unwrap_or_else(|| self.base.clone())
    }
}

/// Bytes of the environment of a process that are searched for `PWD`.
const MAX_ENVIRONMENT_BYTES: u64 = 256 << 10;

/// `$PWD` of a process, as its shell set it.
fn started_in(process: &Path) -> Option<PathBuf> {
    let environment = read_start(&process.join("environ"), MAX_ENVIRONMENT_BYTES)?;
    let directory = environment
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(b"PWD="))?;
    let directory = Path::new(OsStr::from_bytes(directory));
    directory.is_absolute().then(|| directory.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfers::arguments::parse_copy_order;
    use std::os::unix::fs::symlink;

    /// A process whose working directory is `now`.
    fn process_in(root: &Path, now: &str, environment: &[u8]) -> PathBuf {
        let process = root.join("proc/7");
        fs::create_dir_all(&process).unwrap();
        fs::create_dir_all(root.join(now)).unwrap();
        symlink(root.join(now), process.join("cwd")).unwrap();
        symlink("/", process.join("root")).unwrap();
        fs::write(process.join("environ"), environment).unwrap();
        process
    }

    fn resolved(now: &str, environment: impl Fn(&Path) -> Vec<u8>, line: &[u8]) -> PathBuf {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("work/src/deep")).unwrap();
        let process = process_in(&root, now, &environment(&root));
        let order = parse_copy_order(b"rsync", line).unwrap();
        let paths = JobPaths::of_process(&process, &order);
        let source = paths.absolute(&order.sources[0]);
        assert!(paths.lasting_path(&source).is_some());
        source.strip_prefix(&root).unwrap().to_owned()
    }

    #[test]
    fn relative_source_is_found_after_rsync_changed_into_it() {
        let line = b"rsync\0-a\0src/\0dst\0";
        let started =
            |root: &Path| [b"PWD=", root.join("work").as_os_str().as_bytes(), b"\0"].concat();
        for (now, line) in [
            ("work", &line[..]),
            ("work/src", line),
            ("work/src", b"rsync\0-a\0src/deep\0dst\0"),
        ] {
            let found = resolved(now, started, line);
            assert!(found.starts_with("work/src"), "{now}: {found:?}");
            assert!(!found.starts_with("work/src/src"), "{now}: {found:?}");
        }
        // That of another directory is not believed.
        let stale =
            |root: &Path| [b"PWD=", root.join("else").as_os_str().as_bytes(), b"\0"].concat();
        assert_eq!(resolved("work", stale, line), Path::new("work/src"));
    }
}
