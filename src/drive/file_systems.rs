//! File systems that lie on block devices: how full they are and how they are mounted.

use std::path::Path;

use serde::Serialize;

use super::identity::harmless;
use super::mounts::{self, Mount};
use crate::roots::Roots;

/// A mounted file system on a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSystem {
    /// `st_dev` of its files.
    #[serde(skip)]
    pub number: (u32, u32),
    /// Number of the block device that it lies on.
    #[serde(skip)]
    pub device: (u32, u32),
    /// Where it is mounted; the first place of several.
    pub at: String,
    /// Whether that is the very name: one that could not be shown was changed.
    #[serde(skip)]
    pub at_is_exact: bool,
    /// Its type.
    pub kind: String,
    /// How it is mounted: options of the mount, then those of the file system.
    pub options: Vec<String>,
    /// How full it is; `None` where that was not to be had.
    #[serde(flatten)]
    pub usage: Option<Usage>,
}

/// How full a file system is (statvfs(3)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Bytes in all.
    pub size_bytes: u64,
    /// Bytes that are free, those reserved included.
    pub free_bytes: u64,
    /// Bytes that are free for everybody.
    pub available_bytes: u64,
    /// Files that it can hold; 0: no fixed number.
    pub inodes: u64,
    /// Files that it can take up still.
    pub free_inodes: u64,
}

impl Usage {
    /// Share of the space that is used, 0 to 1, of what everybody may use, as df(1) computes it.
    #[must_use]
    pub fn used(&self) -> Option<f64> {
        let used = self.size_bytes.saturating_sub(self.free_bytes);
        let whole = used.saturating_add(self.available_bytes);
        (whole > 0).then(|| used as f64 / whole as f64)
    }

    /// Share of the space, 0 to 1, that is kept for the administrator.
    #[must_use]
    pub fn reserved(&self) -> Option<f64> {
        let kept = self.free_bytes.saturating_sub(self.available_bytes);
        (self.size_bytes > 0).then(|| kept as f64 / self.size_bytes as f64)
    }

    /// Share of the inodes, 0 to 1, that are used; `None` where their number is not fixed.
    #[must_use]
    pub fn inodes_used(&self) -> Option<f64> {
        let used = self.inodes.saturating_sub(self.free_inodes);
        (self.inodes > 0).then(|| used as f64 / self.inodes as f64)
    }
}

impl FileSystem {
    /// Whether it was mounted with an option.
    #[must_use]
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|own| own == option)
    }

    /// Whether every reading of a file writes its time of access (mount(8), `strictatime`): the
    /// kernel names only the options that soften it.
    #[must_use]
    pub fn strict_access_times(&self) -> bool {
        self.has("rw") && !self.has("noatime") && !self.has("relatime")
    }
}

/// The file systems on block devices, each once.
///
/// Those whose answers come from another process (FUSE) are not asked how full they are: it may
/// hang, and with it whoever asks.
#[must_use]
pub fn list(roots: &Roots) -> Vec<FileSystem> {
    let mut found: Vec<FileSystem> = Vec::new();
    for mount in mounts::mounts(roots).unwrap_or_default() {
        let Some(device) = mount.block_device(roots) else {
            continue;
        };
        if found.iter().all(|known| known.device != device) {
            found.push(describe(roots, &mount, device));
        }
    }
    found
}

fn describe(roots: &Roots, mount: &Mount, device: (u32, u32)) -> FileSystem {
    let below = mount.at.trim_start_matches('/');
    let here = roots.proc.join("self/root").join(below);
    FileSystem {
        number: mount.number,
        device,
        at: harmless(&mount.at),
        at_is_exact: harmless(&mount.at) == mount.at && !mount.at.contains('\u{fffd}'),
        kind: harmless(&mount.file_system),
        options: mount
            .options
            .iter()
            .map(|option| harmless(option))
            .collect(),
        usage: (!mount.file_system.starts_with("fuse"))
            .then(|| usage(&here))
            .flatten(),
    }
}

fn usage(at: &Path) -> Option<Usage> {
    let found = rustix::fs::statvfs(at).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Some(Usage {
        size_bytes: bytes(found.f_blocks),
        free_bytes: bytes(found.f_bfree),
        available_bytes: bytes(found.f_bavail),
        inodes: found.f_files,
        free_inodes: found.f_ffree,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: Usage = Usage {
        size_bytes: 1000,
        free_bytes: 300,
        available_bytes: 250,
        inodes: 100,
        free_inodes: 75,
    };

    #[test]
    fn used_is_what_df_says() {
        // 700 used of 950 that are for everybody.
        assert!((USAGE.used().unwrap() - 700.0 / 950.0).abs() < 1e-12);
        assert!((USAGE.reserved().unwrap() - 0.05).abs() < 1e-12);
        assert!((USAGE.inodes_used().unwrap() - 0.25).abs() < 1e-12);
        let empty = Usage {
            inodes: 0,
            size_bytes: 0,
            free_bytes: 0,
            available_bytes: 0,
            free_inodes: 0,
        };
        assert_eq!((empty.used(), empty.inodes_used()), (None, None));
    }

    #[test]
    fn file_systems_of_a_literal_table() {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc/self");
        std::fs::create_dir_all(&proc).unwrap();
        let device = root.path().join("sys/dev/block/8:1");
        std::fs::create_dir_all(device).unwrap();
        let table = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n\
                     22 1 0:21 / /proc rw,nosuid - proc proc rw\n\
                     23 1 8:1 /home /home rw,noatime - ext4 /dev/sda1 rw,errors=remount-ro\n";
        std::fs::write(proc.join("mountinfo"), table).unwrap();
        let found = list(&Roots::below(root.path()));
        assert_eq!(found.len(), 1, "a second place is no second file system");
        assert_eq!(
            (found[0].at.as_str(), found[0].kind.as_str()),
            ("/", "ext4")
        );
        assert_eq!(found[0].options, ["rw", "relatime", "errors=remount-ro"]);
        assert!(!found[0].strict_access_times());
    }
}
