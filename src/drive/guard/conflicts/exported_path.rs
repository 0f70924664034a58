//! Whether a path that was configured for the kernel still leads to what the kernel opened then.
//!
//! The kernel opens the path of an export once and keeps what it found, without a descriptor of a
//! process. A symbolic link that was replaced since, or another file of that name, leads elsewhere.
//! Such a change shows in the times of the last status change (`st_ctime`, which nobody can set) of
//! the entry and of its directory.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Statx, StatxAttributes, StatxFlags};

use crate::drive::medium::FileId;
use crate::drive::mounts::split_device_number;
use crate::foreign_tree::ForeignTree;
use crate::roots::SysPaths;

/// The kernel follows no more symbolic links on one path (path_resolution(7)).
const MAX_SYMLINKS: usize = 40;
/// `STATX_ATTR_MOUNT_ROOT` (kernel 5.8).
const MOUNT_ROOT: StatxAttributes = StatxAttributes::from_bits_retain(0x2000);
/// Types of file systems, as statfs(2) reports them, that change the time of a file when it is
/// renamed: ext2 to ext4, XFS, btrfs, tmpfs and devtmpfs, ramfs, overlay.
const RENAME_CHANGES_TIME: [u32; 6] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x8584_58f6,
    0x794c_7630,
];

/// Seconds and nanoseconds since 1970.
pub(super) type Timestamp = (i64, u32);

/// The earliest of all times of these files and directories of configfs; `None` if none can be
/// read.
///
/// Each of these times is an upper limit of when the export was set up: a directory changes when one
/// of its attributes is looked up for the first time, an attribute when it is opened for writing, and
/// both when they are read.
pub(super) fn configured_at(paths: &[PathBuf]) -> Option<Timestamp> {
    let status = paths.iter().filter_map(|path| status_of(path));
    let times = status.flat_map(|found| [found.stx_atime, found.stx_mtime, found.stx_ctime]);
    times.map(|time| (time.tv_sec, time.tv_nsec)).min()
}

/// What a path leads to, if it led there at that time too. `None` if it is relative, if it cannot be
/// followed, or if any entry on it may have been changed since.
pub(super) fn file_since(roots: &SysPaths, path: &Path, configured: Timestamp) -> Option<FileId> {
    // Nothing is to be mounted by following it below.
    if !path.is_absolute() || ForeignTree::own().find(path).is_err() {
        return None;
    }
    let mut names = names_of(path);
    let mut directory = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = names.pop_front() {
        if name == ".." {
            directory.pop();
            continue;
        }
        let entry_path = directory.join(&name);
        let facts = fs::symlink_metadata(&entry_path).ok()?;
        let kind = facts.file_type();
        let entry = Entry::read(&directory, &entry_path)?;
        let is_kernel_name =
            || kind.is_block_device() && is_kernel_node(roots, &entry_path, facts.rdev());
        let is_same = match kind.is_dir() {
            // A directory that something is mounted on cannot be renamed.
            true => entry.is_mount_root || entry.is_older_than(configured),
            false if entry.is_mount_root => false,
            false => {
                entry.is_older_than(configured)
                    || (is_kernel_name() && entry.was_made_before(configured))
            }
        };
        if !is_same {
            return None;
        }
        if kind.is_symlink() {
            links += 1;
            let target = fs::read_link(&entry_path).ok()?;
            if links > MAX_SYMLINKS {
                return None;
            }
            if target.is_absolute() {
                directory = PathBuf::from("/");
            }
            let mut further = names_of(&target);
            further.append(&mut names);
            names = further;
        } else if kind.is_dir() {
            directory = entry_path;
        } else if names.is_empty() {
            return Some(FileId::of_metadata(&facts));
        } else {
            return None;
        }
    }
    None
}

/// The names on a path; `.` and the root are left out.
fn names_of(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect()
}

/// What says when an entry of a directory was made.
#[derive(Debug, Clone, Copy)]
struct Entry {
    changed: Timestamp,
    /// Creation of the file; `None` where the file system does not keep it.
    created: Option<Timestamp>,
    /// Last change of the directory, also of the names in it.
    directory_changed: Timestamp,
    /// Whether a rename changes the time of the file.
    rename_changes_time: bool,
    is_mount_root: bool,
}

impl Entry {
    fn read(directory: &Path, entry_path: &Path) -> Option<Self> {
        let itself = status_of(entry_path)?;
        let parent = status_of(directory)?;
        let kind = rustix::fs::statfs(directory).ok()?.f_type as u32;
        let has_creation = StatxFlags::from_bits_retain(itself.stx_mask);
        Some(Self {
            changed: (itself.stx_ctime.tv_sec, itself.stx_ctime.tv_nsec),
            created: has_creation
                .contains(StatxFlags::BTIME)
                .then_some((itself.stx_btime.tv_sec, itself.stx_btime.tv_nsec)),
            directory_changed: (parent.stx_ctime.tv_sec, parent.stx_ctime.tv_nsec),
            rename_changes_time: RENAME_CHANGES_TIME.contains(&kind),
            is_mount_root: itself.stx_attributes.contains(MOUNT_ROOT),
        })
    }

    /// Whether the entry has certainly not been made or renamed since: that changes the directory,
    /// and the file as well. Two changes within one tick of the clock have the same time.
    fn is_older_than(&self, time: Timestamp) -> bool {
        self.directory_changed < time || (self.rename_changes_time && self.changed < time)
    }

    /// Whether the file was made before; true if that is not known.
    fn was_made_before(&self, time: Timestamp) -> bool {
        self.created.is_none_or(|created| created < time)
    }
}

/// Whether this is the node that the kernel itself made for the device with that number: it has the
/// name that the device has in sysfs. Programs such as udev change its time.
fn is_kernel_node(roots: &SysPaths, entry_path: &Path, number: u64) -> bool {
    let (major, minor) = split_device_number(number);
    let link = roots.sys.join(format!("dev/block/{major}:{minor}"));
    let name = fs::read_link(link).ok();
    let name = name.as_deref().and_then(Path::file_name);
    entry_path.parent() == Some(&roots.dev) && name.is_some() && name == entry_path.file_name()
}

/// The status of an entry, without following a symbolic link.
fn status_of(path: &Path) -> Option<Statx> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(CWD, path, flags, wanted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    /// `root/image`, `root/other`, and `root/links/link` which leads to the image by a relative
    /// path; configured a moment after that.
    fn tree() -> (tempfile::TempDir, PathBuf, Timestamp) {
        let tree = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(tree.path()).unwrap().join("root");
        fs::create_dir_all(root.join("links")).unwrap();
        for name in ["image", "other"] {
            fs::write(root.join(name), name).unwrap();
        }
        symlink("../image", root.join("links/link")).unwrap();
        (tree, root, configure())
    }

    /// A directory made now, as configfs does, at least one tick of the clock after and before all
    /// else.
    fn configure() -> Timestamp {
        std::thread::sleep(Duration::from_millis(30));
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        let time = configured_at(&[directory.path().to_owned(), missing]).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        time
    }

    fn find(path: &Path, configured: Timestamp) -> Option<FileId> {
        file_since(&SysPaths::default(), path, configured)
    }

    fn id(path: &Path) -> FileId {
        FileId::of_metadata(&fs::metadata(path).unwrap())
    }

    #[test]
    fn unchanged_path_leads_to_its_file() {
        let (_tree, root, configured) = tree();
        let image = id(&root.join("image"));
        assert_eq!(find(&root.join("image"), configured), Some(image));
        assert_eq!(find(&root.join("links/link"), configured), Some(image));
        let roundabout = root.join("links/./../links/link");
        assert_eq!(find(&roundabout, configured), Some(image));
        // The export is written, and other files come and go.
        fs::write(root.join("image"), "changed").unwrap();
        fs::write(root.join("links/another"), "").unwrap();
        assert_eq!(find(&root.join("links/link"), configured), Some(image));
    }

    #[test]
    fn path_that_was_changed_after_configuration_is_unknown() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 6] = [
            ("link replaced", |root| {
                fs::remove_file(root.join("links/link")).unwrap();
                symlink("../other", root.join("links/link")).unwrap();
            }),
            ("older link renamed", |root| {
                fs::rename(root.join("older"), root.join("links/link")).unwrap();
            }),
            ("file replaced", |root| {
                fs::rename(root.join("other"), root.join("image")).unwrap();
            }),
            ("hard link", |root| {
                fs::remove_file(root.join("image")).unwrap();
                fs::hard_link(root.join("other"), root.join("image")).unwrap();
            }),
            ("directory replaced", |root| {
                fs::rename(root.join("links"), root.join("before")).unwrap();
                fs::rename(root.join("older-links"), root.join("links")).unwrap();
            }),
            ("removed", |root| {
                fs::remove_file(root.join("image")).unwrap()
            }),
        ];
        for (name, change) in changes {
            let (_tree, root, _) = tree();
            symlink(root.join("other"), root.join("older")).unwrap();
            fs::create_dir(root.join("older-links")).unwrap();
            symlink(root.join("other"), root.join("older-links/link")).unwrap();
            let configured = configure();
            let link = root.join("links/link");
            assert!(find(&link, configured).is_some(), "{name}");
            change(&root);
            assert_eq!(find(&link, configured), None, "{name}");
        }
    }

    #[test]
    fn relative_path_directory_and_cycle_of_links_are_unknown() {
        let (_tree, root, configured) = tree();
        assert_eq!(find(Path::new("image"), configured), None);
        assert_eq!(find(&root, configured), None);
        assert_eq!(find(&root.join("image/below"), configured), None);
        let (_tree, root, _) = tree();
        symlink("cycle", root.join("cycle")).unwrap();
        let later = (i64::MAX, 0);
        assert_eq!(find(&root.join("cycle"), later), None);
    }

    #[test]
    fn entry_is_judged_by_both_times() {
        let entry = Entry {
            changed: (20, 0),
            created: None,
            directory_changed: (20, 0),
            rename_changes_time: true,
            is_mount_root: false,
        };
        assert!(!entry.is_older_than((20, 0)), "the same tick");
        assert!(entry.is_older_than((20, 1)));
        let written = Entry {
            directory_changed: (10, 0),
            ..entry
        };
        assert!(written.is_older_than((15, 0)));
        let neighbour_added = Entry {
            changed: (10, 0),
            ..entry
        };
        assert!(neighbour_added.is_older_than((15, 0)));
        // Such as FAT, or a file system of another machine.
        let unreliable = Entry {
            rename_changes_time: false,
            ..neighbour_added
        };
        assert!(!unreliable.is_older_than((15, 0)));
        assert!(entry.was_made_before((15, 0)));
        let made = Entry {
            created: Some((16, 0)),
            ..entry
        };
        assert!(!made.was_made_before((15, 0)));
    }
}
