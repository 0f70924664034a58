//! The underlying file of a file of an overlay (kernel Documentation/filesystems/overlayfs.rst) or of
//! another stacked file system. The kernel counts users of the two files separately.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::drive::guard::conflicts::same_file;
use crate::drive::guard::conflicts::same_file::{FileSameness, FileStamp};
use crate::drive::guard::conflicts::use_conflict::UnresolvedUse;
use crate::drive::identity::sanitized;
use crate::drive::mounts;
use crate::drive::mounts::MountEntry;
use crate::foreign_tree::{ForeignFile, ForeignTree};
use crate::roots::SysPaths;

/// `f_type` of an overlay in statfs(2) (include/uapi/linux/magic.h).
const OVERLAYFS_MAGIC: u64 = 0x794c_7630;

/// Other file systems in the kernel that show the files of a directory under inodes of their own:
/// `f_type` and type in the table of mounts (include/uapi/linux/magic.h for ecryptfs; the others
/// are not in the kernel of kernel.org). Where the file is below them is not determined.
const STACKED_FILE_SYSTEMS: [(u32, &str); 5] = [
    (0xf15f, "ecryptfs"),
    (0x6175_6673, "aufs"),
    (0xf15f_083d, "unionfs"),
    (0x6a65_6a62, "shiftfs"),
    (0xb550_ca10, "wrapfs"),
];

/// Location of a file's data.
#[derive(Debug)]
pub(super) enum UnderlyingFile {
    /// In the file itself: it is not an overlay file.
    NotOverlay,
    /// In this file of the upper directory.
    UpperLayer(File),
    /// In a lower directory: a write makes a copy first and leaves that data unchanged.
    LowerLayer,
    /// Unknown: what could not be determined.
    Unknown(UnresolvedUse),
}

/// The type of a stacked file system other than overlayfs, by `f_type` of statfs(2).
fn stacked_file_system(kind: u32) -> Option<&'static str> {
    let mut known = STACKED_FILE_SYSTEMS.iter();
    known
        .find(|(number, _)| *number == kind)
        .map(|(_, name)| *name)
}

/// The stacked file systems other than overlayfs that show the files of a directory above the path.
pub(super) fn stacked_mounts_above<'a>(
    path: &Path,
    mounts: impl Iterator<Item = &'a MountEntry>,
) -> Vec<UnresolvedUse> {
    let shows = |mount: &&MountEntry| {
        let mut known = STACKED_FILE_SYSTEMS.iter();
        let source = Path::new(&mount.source);
        known.any(|(_, name)| *name == mount.file_system)
            && source.has_root()
            && path.starts_with(source)
    };
    mounts
        .filter(shows)
        .map(|mount| UnresolvedUse::StackedFile {
            at: sanitized(&mount.mount_point),
            file_system: sanitized(&mount.file_system),
        })
        .collect()
}

/// Whether the file at a path is in an overlay; `None` if its file system does not report its type.
pub(super) fn is_overlay_path(path: &Path) -> Option<bool> {
    let facts = rustix::fs::statfs(path).ok()?;
    Some(facts.f_type as u64 == OVERLAYFS_MAGIC)
}

/// Whether a file is in an overlay, or may be.
pub(super) fn is_overlay(file: &File) -> bool {
    rustix::fs::fstatfs(file).map_or(true, |facts| facts.f_type as u64 == OVERLAYFS_MAGIC)
}

/// Location of the data of an open file.
pub(super) fn underlying_file(roots: &SysPaths, file: &File) -> UnderlyingFile {
    // A file system that does not report its type may be an overlay.
    let is_overlay = is_overlay(file);
    if !is_overlay {
        let kind = rustix::fs::fstatfs(file).map_or(0, |facts| facts.f_type as u32);
        return stacked_file_system(kind).map_or(UnderlyingFile::NotOverlay, |file_system| {
            let at = mount_point(mounts::mount_of_file(roots, file).as_ref());
            let file_system = file_system.to_owned();
            UnderlyingFile::Unknown(UnresolvedUse::StackedFile { at, file_system })
        });
    }
    let mount = mounts::mount_of_file(roots, file).filter(|mount| mount.file_system == "overlay");
    let located = mount
        .as_ref()
        .and_then(|mount| locate_layer_file(roots, file, mount));
    located.unwrap_or_else(|| {
        let at = mount_point(mount.as_ref());
        UnderlyingFile::Unknown(UnresolvedUse::OverlayUpperFile { at })
    })
}

/// Where a mount is, for display.
fn mount_point(mount: Option<&MountEntry>) -> String {
    mount.map_or_else(
        || "a path of another mount namespace".to_owned(),
        |mount| sanitized(&mount.mount_point),
    )
}

/// Whether a file of any of these overlays may have its attributes in one layer and its data in
/// another (kernel Documentation/filesystems/overlayfs.rst, "Metadata only copy up", "Data-only
/// lower layers"): by an option, or by the default of the module.
pub(super) fn has_metacopy<'a>(
    roots: &SysPaths,
    mut mounts: impl Iterator<Item = &'a MountEntry>,
) -> bool {
    let default = roots.sys.join("module/overlay/parameters/metacopy");
    let by_default = fs::read(default).is_ok_and(|text| text.starts_with(b"Y"));
    let by_option = |mount: &MountEntry| {
        let has = |option: &String| {
            option == "metacopy=on"
                || option.starts_with("lowerdir") && option.contains("::")
                || option.starts_with("datadir+")
        };
        mount.file_system == "overlay" && mount.options.iter().any(has)
    };
    by_default || mounts.any(by_option)
}

/// The layer that holds the file: the one with a file of the same size and times at that path.
/// Inode numbers prove nothing, and neither does a path alone: a layer may have been renamed.
fn locate_layer_file(roots: &SysPaths, file: &File, mount: &MountEntry) -> Option<UnderlyingFile> {
    let link = roots.proc.join(format!("self/fd/{}", file.as_raw_fd()));
    let path = fs::read_link(link).ok()?;
    let below = path.strip_prefix(&mount.mount_point).ok()?;
    let inside = Path::new(&mount.root).strip_prefix("/").ok()?.join(below);
    let is_it = |found: &File| {
        let same = same_file::compare_file_stamps(&|| FileStamp::of_file(file), &|| {
            FileStamp::of_file(found)
        });
        same == FileSameness::Same
    };
    if let Some(upper) = mount_option(mount, "upperdir") {
        match open_in_layer(&upper, &inside) {
            Ok(found) => return is_it(&found).then_some(UnderlyingFile::UpperLayer(found)),
            Err(MissingLayerFile::ConfirmedMissing) => {}
            Err(MissingLayerFile::NotExaminable) => return None,
        }
    }
    let lower = mount_option(mount, "lowerdir").unwrap_or_default();
    let in_lower = split_lower_directories(&lower)
        .iter()
        .any(|layer| open_in_layer(layer, &inside).is_ok_and(|found| is_it(&found)));
    in_lower.then_some(UnderlyingFile::LowerLayer)
}

/// Why a layer has no such file.
enum MissingLayerFile {
    /// The file does not exist in that directory; no mount or link was on the way.
    ConfirmedMissing,
    /// The directory could not be searched.
    NotExaminable,
}

fn open_in_layer(directory: &str, inside: &Path) -> Result<File, MissingLayerFile> {
    // A relative path has an unknown base directory.
    if !directory.starts_with('/') {
        return Err(MissingLayerFile::NotExaminable);
    }
    let directory = ForeignTree::own()
        .find(Path::new(directory))
        .and_then(ForeignFile::into_directory)
        .map_err(|_| MissingLayerFile::NotExaminable)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    match rustix::fs::openat2(&directory, inside, flags, Mode::empty(), resolve) {
        Ok(found) => Some(File::from(found))
            .filter(|found| found.metadata().is_ok_and(|facts| facts.is_file()))
            .ok_or(MissingLayerFile::NotExaminable),
        Err(Errno::NOENT) => Err(MissingLayerFile::ConfirmedMissing),
        Err(_) => Err(MissingLayerFile::NotExaminable),
    }
}

fn mount_option(mount: &MountEntry, name: &str) -> Option<String> {
    let mut options = mount.options.iter();
    options.find_map(|option| Some(option.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
}

/// Lower directories are separated by colons; a colon in a name is escaped by a backslash.
fn split_lower_directories(text: &str) -> Vec<String> {
    let mut layers = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => layers
                .last_mut()
                .map_or((), |last| last.extend(letters.next())),
            ':' => layers.push(String::new()),
            _ => layers.last_mut().map_or((), |last| last.push(letter)),
        }
    }
    layers.retain(|layer| !layer.is_empty());
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacked_file_systems_are_known_by_their_type() {
        assert_eq!(stacked_file_system(0xf15f), Some("ecryptfs"));
        assert_eq!(stacked_file_system(0x6175_6673), Some("aufs"));
        for other in [0, 0xef53, 0x0102_1994, OVERLAYFS_MAGIC as u32, 0x6573_5546] {
            assert_eq!(stacked_file_system(other), None, "{other:x}");
        }
    }

    #[test]
    fn file_below_a_stacked_mount_may_be_used_through_it() {
        let (_tree, roots) = SysPaths::with_files(&[(
            "proc/self/mountinfo",
            "30 1 0:40 / /home/a rw - ecryptfs /home/.ecryptfs/a/.Private rw\n\
             31 1 8:1 / /srv rw - ext4 /dev/sda1 rw\n\
             32 1 0:41 / /merged rw - aufs none rw\n",
        )]);
        let mounts = mounts::mounts(&roots).unwrap();
        let found = |path: &str| -> Vec<String> {
            let found = stacked_mounts_above(Path::new(path), mounts.iter());
            found.iter().map(ToString::to_string).collect()
        };
        let image = found("/home/.ecryptfs/a/.Private/image");
        assert_eq!(image.len(), 1);
        assert!(image[0].contains("ecryptfs at /home/a"), "{image:?}");
        for other in ["/home/a/image", "/srv/image", "/home/.ecryptfs/a/.PrivateX"] {
            assert!(found(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn overlay_lower_directories_are_split_at_unescaped_colons() {
        assert_eq!(
            split_lower_directories(r"/a:/b\:c::/d"),
            ["/a", "/b:c", "/d"]
        );
    }
}
