//! The mounts of this mount namespace and of all others that may be examined.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Conflict, Unresolved};
use crate::drive::identity::{entries, harmless};
use crate::drive::mounts::{self, Mount};
use crate::drive::target::FileId;
use crate::roots::Roots;

/// A mount, and where.
#[derive(Debug)]
pub(super) struct PlacedMount {
    /// A process of its mount namespace; `None` for this program's own.
    pub process: Option<u32>,
    /// What is mounted.
    pub mount: Mount,
}

impl PlacedMount {
    /// That a device or file is mounted like this.
    pub(super) fn conflict(&self, device: &str) -> Conflict {
        let (device, at) = (device.to_owned(), harmless(&self.mount.at));
        match self.process {
            None => Conflict::Mounted { device, at },
            Some(process) => Conflict::MountedElsewhere {
                device,
                at,
                process,
            },
        }
    }

    /// A path of its namespace as one that this program can use.
    pub(super) fn reach(&self, roots: &Roots, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let inner = path.strip_prefix("/").ok()?;
        Some(match self.process {
            None => path.to_owned(),
            Some(process) => roots.proc.join(format!("{process}/root")).join(inner),
        })
    }

    /// The file that it is mounted from, or that this cannot be told; `None` for a file system that
    /// does not lie in a file.
    pub(super) fn file(&self, roots: &Roots, needs_device: &[String]) -> Option<Backing> {
        let mount = &self.mount;
        if mount.source_number.is_some() {
            return None;
        }
        // Only a file system in a file has no number of a block device (erofs since 6.12); btrfs
        // never has, and one with a domain is fetched over the network.
        let in_file = mount.number.0 == 0
            && needs_device.contains(&mount.file_system)
            && mount.file_system != "btrfs"
            && !mount
                .options
                .iter()
                .any(|option| option.starts_with("fsid="));
        // Another file may be there by now: the path can prove a use, but not that there is none.
        let question = in_file.then(|| Unresolved::MountedFile {
            at: harmless(&mount.at),
            source: harmless(&mount.source),
        });
        let file = self.reach(roots, &mount.source).and_then(|path| {
            let facts = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
            Some((path, FileId::of(&facts)))
        });
        (question.is_some() || file.is_some()).then_some(Backing { file, question })
    }
}

/// What a file system in a file is mounted from.
#[derive(Debug)]
pub(super) struct Backing {
    /// The file at the path that the table names.
    pub file: Option<(PathBuf, FileId)>,
    /// That it may be any other file.
    pub question: Option<Unresolved>,
}

/// All mounts.
///
/// # Errors
/// When this namespace's table cannot be read.
pub(super) fn read(roots: &Roots) -> io::Result<Vec<PlacedMount>> {
    let placed = |process| move |mount| PlacedMount { process, mount };
    let mut all: Vec<_> = mounts::mounts(roots)?
        .into_iter()
        .map(placed(None))
        .collect();
    for process in mounts::other_views(roots) {
        let theirs = mounts::mounts_of(roots, &process.to_string()).unwrap_or_default();
        all.extend(theirs.into_iter().map(placed(Some(process))));
    }
    Ok(all)
}

/// File systems that the kernel has mounted from files, also where no process sees the mount
/// (Documentation/ABI/testing/sysfs-fs-erofs).
pub(super) fn in_files(roots: &Roots) -> Vec<Unresolved> {
    let is_device = |name: &String| roots.sys.join("class/block").join(name).exists();
    let mut names = entries(&roots.sys.join("fs/erofs"));
    names.retain(|name| name != "features" && !is_device(name));
    names
        .into_iter()
        .map(|name| Unresolved::FileSystem {
            name: harmless(&name),
        })
        .collect()
}

/// Types of file systems that lie on a device or in a file.
pub(super) fn types_with_device(roots: &Roots) -> Vec<String> {
    let text = fs::read_to_string(roots.proc.join("filesystems")).unwrap_or_default();
    let known = text
        .lines()
        .filter(|line| !line.starts_with("nodev"))
        .map(|line| line.trim().to_owned());
    // Also where the table cannot be read.
    known.chain(["erofs".to_owned()]).collect()
}
