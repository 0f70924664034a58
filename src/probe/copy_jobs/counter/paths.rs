//! Where the relative paths of a command line lie.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::probe::copy_jobs::arguments::CopyOrder;
use crate::probe::text::read_start;

/// Turns the paths of a process's arguments into paths that this program can open.
#[derive(Debug)]
pub(super) struct JobPaths {
    /// Directory of the process below `/proc`.
    process: PathBuf,
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
            .and_then(|proc| fs::read_link(proc.join("self/ns/mnt")).ok());
        let mut paths = Self {
            process: process.to_owned(),
            base: link("cwd").unwrap_or_default(),
            is_same_root: link("root").is_some_and(|root| root == Path::new("/"))
                && link("ns/mnt") == own_namespace,
        };
        if order.changes_directory {
            paths.base = paths.original_directory(order);
        }
        if let Some(directory) = &order.directory {
            paths.base.push(directory);
        }
        paths
    }

    /// Whether the paths are valid after the end of the process.
    pub(super) fn are_lasting(&self) -> bool {
        self.is_same_root
    }

    /// Whether the process still exists: directories that it used are not opened afterwards, because
    /// somebody may want to unmount them.
    pub(super) fn process_exists(&self) -> bool {
        self.process.exists()
    }

    /// The path under which this program finds a path of the process.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        self.visible_path(&self.base.join(path))
    }

    /// The path under which this program finds an absolute path of the process.
    fn visible_path(&self, absolute: &Path) -> PathBuf {
        match absolute.strip_prefix("/") {
            Ok(below) if !self.is_same_root => self.process.join("root").join(below),
            _ => absolute.to_owned(),
        }
    }

    /// The directory in which a program was started that changes to the directories of its sources
    /// (rsync): `$PWD` where the present directory confirms it, else the present directory without
    /// the source's path at its end.
    fn original_directory(&self, order: &CopyOrder) -> PathBuf {
        let relative: Vec<&Path> = order
            .sources
            .iter()
            .map(PathBuf::as_path)
            .filter(|source| source.is_relative())
            .collect();
        let has_sources = |base: &Path| {
            relative
                .iter()
                .all(|source| self.visible_path(&base.join(source)).exists())
        };
        let is_reached_from = |base: &Path| {
            let target = |path: &Path| fs::canonicalize(self.visible_path(path)).ok();
            let here = target(&self.base);
            here.is_some()
                && (target(base) == here
                    || relative.iter().any(|source| {
                        let source = base.join(source);
                        target(&source) == here || source.parent().and_then(target) == here
                    }))
        };
        let without_source = relative.iter().flat_map(|source| {
            let parents = [Some(*source), source.parent()];
            parents.into_iter().flatten().filter_map(|path| {
                let depth = path.components().count();
                (depth > 0 && self.base.ends_with(path))
                    .then(|| self.base.ancestors().nth(depth).map(Path::to_owned))?
            })
        });
        started_in(&self.process)
            .filter(|base| has_sources(base) && is_reached_from(base))
            .or_else(|| without_source.into_iter().find(|base| has_sources(base)))
            .unwrap_or_else(|| self.base.clone())
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
    use crate::probe::copy_jobs::arguments::parse_copy_order;
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
        assert!(paths.are_lasting());
        let source = paths.resolve(&order.sources[0]);
        source.strip_prefix(&root).unwrap().to_owned()
    }

    #[test]
    fn relative_source_is_found_after_rsync_changed_into_it() {
        let line = b"rsync\0-a\0src/\0dst\0";
        let unknown = |_: &Path| Vec::new();
        let expected =
            |root: &Path| [b"PWD=", root.join("work").as_os_str().as_bytes(), b"\0"].concat();
        let stale = |root: &Path| [b"PWD=", root.as_os_str().as_bytes(), b"\0"].concat();
        for (now, line) in [
            ("work", &line[..]),
            ("work/src", line),
            ("work/src", b"rsync\0-a\0src/deep\0dst\0"),
        ] {
            for environment in [&unknown as &dyn Fn(&Path) -> Vec<u8>, &expected, &stale] {
                let found = resolved(now, environment, line);
                assert!(found.starts_with("work/src"), "{now}: {found:?}");
                assert!(!found.starts_with("work/src/src"), "{now}: {found:?}");
            }
        }
    }
}
