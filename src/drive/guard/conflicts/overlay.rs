//! The underlying file of an overlay file (kernel Documentation/filesystems/overlayfs.rst). The
//! kernel counts users of the two files separately.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::drive::guard::conflicts::same_file;
use crate::drive::guard::conflicts::same_file::{FileSameness, FileStamp};
use crate::drive::identity::sanitized;
use crate::drive::mounts;
use crate::drive::mounts::MountEntry;
use crate::roots::SysPaths;

/// `f_type` of an overlay in statfs(2) (include/uapi/linux/magic.h).
const OVERLAYFS_MAGIC: u64 = 0x794c_7630;

/// Location of a file's data.
#[derive(Debug)]
pub(super) enum UnderlyingFile {
    /// In the file itself: it is not an overlay file.
    NotOverlay,
    /// In this file of the upper directory.
    UpperLayer(File),
    /// In a lower directory: a write makes a copy first and leaves that data unchanged.
    LowerLayer,
    /// Unknown.
    Unknown {
        /// The mount point of the overlay.
        at: String,
    },
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
        return UnderlyingFile::NotOverlay;
    }
    let mount = mount_of_file(roots, file).filter(|mount| mount.file_system == "overlay");
    let located = mount
        .as_ref()
        .and_then(|mount| locate_layer_file(roots, file, mount));
    located.unwrap_or_else(|| UnderlyingFile::Unknown {
        at: mount.map_or_else(
            || "a path of another mount namespace".to_owned(),
            |mount| sanitized(&mount.mount_point),
        ),
    })
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

/// The mount through which a descriptor was opened.
pub(super) fn mount_of_file(roots: &SysPaths, file: &File) -> Option<MountEntry> {
    let info = roots.proc.join(format!("self/fdinfo/{}", file.as_raw_fd()));
    let info = fs::read_to_string(info).ok()?;
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?;
    let id: u64 = id.trim().parse().ok()?;
    mounts::mounts(roots)
        .ok()?
        .into_iter()
        .find(|mount| mount.id == id)
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
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(directory, flags, Mode::empty())
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
    fn overlay_lower_directories_are_split_at_unescaped_colons() {
        assert_eq!(
            split_lower_directories(r"/a:/b\:c::/d"),
            ["/a", "/b:c", "/d"]
        );
    }
}
