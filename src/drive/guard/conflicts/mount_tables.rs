//! The mounts of this mount namespace and of all others that may be examined.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Conflict, Unresolved};
use crate::drive::identity::harmless;
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
        let source = self.reach(roots, &mount.source);
        let facts = source.and_then(|path| fs::metadata(path).ok());
        if let Some(facts) = facts.filter(fs::Metadata::is_file) {
            return Some(Backing::File(FileId::of(&facts)));
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
        in_file.then(|| {
            Backing::Unknown(Unresolved::MountedFile {
                at: harmless(&mount.at),
                source: harmless(&mount.source),
            })
        })
    }
}

/// What a file system in a file is mounted from.
#[derive(Debug)]
pub(super) enum Backing {
    /// That file.
    File(FileId),
    /// A file that cannot be found.
    Unknown(Unresolved),
}

/// All mounts; only this namespace's unless `everywhere`.
///
/// # Errors
/// When this namespace's table cannot be read.
pub(super) fn read(roots: &Roots, everywhere: bool) -> io::Result<Vec<PlacedMount>> {
    let placed = |process| move |mount| PlacedMount { process, mount };
    let mut all: Vec<_> = mounts::mounts(roots)?
        .into_iter()
        .map(placed(None))
        .collect();
    if everywhere {
        for process in mounts::other_namespaces(roots) {
            let theirs = mounts::mounts_of(roots, &process.to_string()).unwrap_or_default();
            all.extend(theirs.into_iter().map(placed(Some(process))));
        }
    }
    Ok(all)
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
