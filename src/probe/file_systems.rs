//! File systems on block devices: usage and mount options; and which mount is on which.

use std::path::PathBuf;

use serde::Serialize;

use crate::drive::identity::sanitized;
use crate::drive::mounts::{self, MountEntry};
use crate::roots::SysPaths;

/// A mounted file system on a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MountedFileSystem {
    /// `st_dev` of its files.
    #[serde(skip)]
    pub device_id: (u32, u32),
    /// Number of the block device that holds it.
    #[serde(skip)]
    pub block_device: (u32, u32),
    /// Its mount point as it is displayed; the first of several that lead to it.
    #[serde(rename = "at")]
    pub mount_point: String,
    /// The same byte for byte; `None` where it does not lead to this file system, because another one
    /// is mounted over it.
    #[serde(skip)]
    pub path: Option<PathBuf>,
    /// File system type.
    pub kind: String,
    /// Mount options, then the options of the file system.
    pub options: Vec<String>,
    /// Usage; `None` if it is not available.
    #[serde(flatten)]
    pub usage: Option<FileSystemUsage>,
}

/// Usage of a file system (statvfs(3)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FileSystemUsage {
    /// Total bytes.
    pub size_bytes: u64,
    /// Free bytes, including reserved ones.
    pub free_bytes: u64,
    /// Bytes available to unprivileged users.
    pub available_bytes: u64,
    /// Total number of inodes; 0: no fixed number.
    pub inodes: u64,
    /// Number of free inodes.
    pub free_inodes: u64,
}

impl FileSystemUsage {
    /// Fraction of the space in use, 0 to 1, of the space available to unprivileged users, as df(1)
    /// computes it.
    #[must_use]
    pub fn used_fraction(&self) -> Option<f64> {
        let used = self.size_bytes.saturating_sub(self.free_bytes);
        let whole = used.saturating_add(self.available_bytes);
        (whole > 0).then(|| used as f64 / whole as f64)
    }

    /// Fraction of the space, 0 to 1, that is reserved for root.
    #[must_use]
    pub fn reserved_fraction(&self) -> Option<f64> {
        let kept = self.free_bytes.saturating_sub(self.available_bytes);
        (self.size_bytes > 0).then(|| kept as f64 / self.size_bytes as f64)
    }

    /// Fraction of the inodes in use, 0 to 1; `None` if their number is not fixed.
    #[must_use]
    pub fn used_inode_fraction(&self) -> Option<f64> {
        let used = self.inodes.saturating_sub(self.free_inodes);
        (self.inodes > 0).then(|| used as f64 / self.inodes as f64)
    }
}

impl MountedFileSystem {
    /// Whether its mount point has these bytes, and leads to it.
    #[must_use]
    pub fn is_at(&self, mount_point: &[u8]) -> bool {
        let own = self.path.as_ref();
        own.is_some_and(|path| path.as_os_str().as_encoded_bytes() == mount_point)
    }

    /// Whether it is mounted with an option.
    #[must_use]
    pub fn has_option(&self, option: &str) -> bool {
        self.options.iter().any(|own| own == option)
    }

    /// Whether every read of a file updates its access time (mount(8), `strictatime`). The kernel
    /// lists only the options that relax this.
    #[must_use]
    pub fn has_strictatime(&self) -> bool {
        // The mount or its file system may be read-only.
        let relaxed = ["ro", "noatime", "relatime"];
        self.has_option("rw") && !relaxed.iter().any(|it| self.has_option(it))
    }
}

/// Mounted file systems on block devices, each once.
///
/// Usage is not read from FUSE file systems: a userspace process answers, and it may hang and block
/// the caller.
#[must_use]
pub fn list_file_systems(roots: &SysPaths) -> Vec<MountedFileSystem> {
    let mut found: Vec<MountedFileSystem> = Vec::new();
    let mounts = mounts::mounts(roots).unwrap_or_default();
    for mount in &mounts {
        let Some(device) = mount.block_device(roots) else {
            continue;
        };
        let is_reachable = is_reachable(&mounts, mount);
        let mut known = found.iter_mut().filter(|it| it.block_device == device);
        match known.next() {
            None => found.push(describe_mount(roots, mount, device, is_reachable)),
            Some(known) if known.path.is_none() && is_reachable => {
                *known = describe_mount(roots, mount, device, is_reachable);
            }
            Some(_) => {}
        }
    }
    found
}

fn describe_mount(
    roots: &SysPaths,
    mount: &MountEntry,
    device: (u32, u32),
    is_reachable: bool,
) -> MountedFileSystem {
    MountedFileSystem {
        device_id: mount.device_id,
        block_device: device,
        mount_point: sanitized(&mount.mount_point),
        path: is_reachable.then(|| mount.path.clone()),
        kind: sanitized(&mount.file_system),
        options: mount.options.iter().map(|it| sanitized(it)).collect(),
        usage: (is_reachable && !mount.file_system.starts_with("fuse"))
            .then(|| statvfs_usage(roots, mount))
            .flatten(),
    }
}

/// Usage of what the path of a mount leads to.
fn statvfs_usage(roots: &SysPaths, mount: &MountEntry) -> Option<FileSystemUsage> {
    let below = mount.path.strip_prefix("/").unwrap_or(&mount.path);
    let found = rustix::fs::statvfs(roots.proc.join("self/root").join(below)).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Some(FileSystemUsage {
        size_bytes: bytes(found.f_blocks),
        free_bytes: bytes(found.f_bfree),
        available_bytes: bytes(found.f_bavail),
        inodes: found.f_files,
        free_inodes: found.f_ffree,
    })
}

/// Whether the path of a mount of this table leads to it: no other one is mounted over it, or over a
/// directory above it.
#[must_use]
pub fn is_reachable(mounts: &[MountEntry], mount: &MountEntry) -> bool {
    let is_on_it = |it: &MountEntry| it.parent == mount.id && it.path == mount.path;
    let mut is_hidden = mounts.iter().any(|it| it.id != mount.id && is_on_it(it));
    let mut lower = mount;
    // There are no more levels than mounts, even in a table whose parents form a circle. The first mount
    // of all is its own parent.
    for _ in mounts {
        if lower.parent == lower.id {
            break;
        }
        let hides = |it: &MountEntry| {
            let is_beside = it.parent == lower.parent && it.id != lower.id && it.id != lower.parent;
            is_beside && lower.path.starts_with(&it.path)
        };
        is_hidden |= mounts.iter().any(hides);
        let Some(parent) = mounts.iter().find(|it| it.id == lower.parent) else {
            break;
        };
        lower = parent;
    }
    !is_hidden
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::*;
    use crate::drive::mounts::mounts_of;

    #[test]
    fn used_fraction_matches_df() {
        let usage = FileSystemUsage {
            size_bytes: 1000,
            free_bytes: 300,
            available_bytes: 250,
            inodes: 100,
            free_inodes: 75,
        };
        // 700 used of 950 available to unprivileged users.
        assert_eq!(usage.used_fraction(), Some(700.0 / 950.0));
        assert_eq!(usage.reserved_fraction(), Some(0.05));
        assert_eq!(usage.used_inode_fraction(), Some(0.25));
        let whole = FileSystemUsage { inodes: 0, ..usage };
        assert_eq!(whole.used_inode_fraction(), None);
    }

    /// Lists the file systems of a mount table, with this directory where the first one is mounted.
    fn listed(table: &str, directory: &OsStr) -> Vec<MountedFileSystem> {
        let (root, roots) = SysPaths::with_files(&[
            ("proc/self/mountinfo", table),
            ("sys/dev/block/8:1/dev", ""),
            ("sys/dev/block/8:2/dev", ""),
        ]);
        std::fs::create_dir_all(root.path().join("proc/self/root").join(directory)).unwrap();
        list_file_systems(&roots)
    }

    #[test]
    fn file_systems_are_listed_once_with_the_usage_of_their_mount_point() {
        let table = "21 1 8:1 / /a\\011b\\040 rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n\
                     22 1 0:21 / /proc rw,nosuid - proc proc rw\n\
                     23 1 8:1 /home /home rw,noatime - ext4 /dev/sda1 rw\n";
        let name = OsStr::from_bytes(b"a\tb ");
        let found = listed(table, name);
        let [system] = found.as_slice() else {
            panic!("a second place is no second file system: {found:?}")
        };
        assert_eq!((&*system.mount_point, &*system.kind), ("/a?b", "ext4"));
        assert_eq!(system.options, ["rw", "relatime", "errors=remount-ro"]);
        assert_eq!(system.path.as_deref(), Some(&*Path::new("/").join(name)));
        assert!(system.usage.is_some() && !system.has_strictatime());
        assert!(system.is_at(b"/a\tb ") && !system.is_at(b"/a?b"));
    }

    #[test]
    fn file_system_below_another_one_has_no_path_and_no_usage() {
        let table = "21 1 8:1 / /m rw - ext4 /dev/sda1 rw\n\
                     22 21 8:2 / /m rw - ext4 /dev/sda2 rw\n";
        let found = listed(table, "m".as_ref());
        assert_eq!((&found[0].path, found[0].usage), (&None, None));
        assert_eq!(found[1].path.as_deref(), Some(Path::new("/m")));
        // It is also mounted where nothing covers it.
        let table = table.to_owned() + "23 1 8:1 / /n rw - ext4 /dev/sda1 rw\n";
        let found = listed(&table, "n".as_ref());
        assert_eq!(found[0].path.as_deref(), Some(Path::new("/n")));
        assert_eq!((found[0].mount_point.as_str(), found.len()), ("/n", 2));
    }

    fn table_of(rows: &[(u64, u64, &str)]) -> Vec<MountEntry> {
        let line = |(id, parent, at): &(u64, u64, &str)| {
            format!("{id} {parent} 8:1 / {at} rw - ext4 /dev/sda1 rw\n")
        };
        let text: String = rows.iter().map(line).collect();
        let (root, roots) = SysPaths::with_files(&[("table", &text)]);
        mounts_of(&roots, &root.path().join("table")).unwrap()
    }

    #[test]
    fn mount_below_another_one_is_not_reachable_by_its_path() {
        let cases: [(&[_], &[u64]); 6] = [
            (
                &[(1, 0, "/"), (2, 1, "/m"), (3, 2, "/m/a"), (4, 1, "/mb")],
                &[],
            ),
            (&[(1, 0, "/"), (2, 1, "/m"), (3, 2, "/m")], &[2]),
            (
                &[(1, 0, "/"), (2, 1, "/m/a"), (3, 2, "/m/a/b"), (4, 1, "/m")],
                &[2, 3],
            ),
            // The initial file system below the root, and one that was moved there before it.
            (
                &[(5, 7, "/proc"), (1, 1, "/"), (7, 1, "/"), (8, 7, "/home")],
                &[1],
            ),
            // A recursive bind mount of the root on itself.
            (
                &[(1, 0, "/"), (2, 1, "/h"), (3, 1, "/"), (4, 3, "/h")],
                &[1, 2],
            ),
            (&[(1, 2, "/a"), (2, 1, "/b")], &[]),
        ];
        for (rows, hidden) in cases {
            let table = table_of(rows);
            let found = table.iter().filter(|it| !is_reachable(&table, it));
            assert_eq!(
                found.map(|it| it.id).collect::<Vec<_>>(),
                hidden,
                "{rows:?}"
            );
        }
    }
}
