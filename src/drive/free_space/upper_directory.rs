//! The directory in which an overlay stores what is written.

use std::fs::File;
use std::path::Path;

use crate::drive::mounts;
use crate::drive::mounts::MountEntry;
use crate::foreign_tree::ForeignTree;
use crate::roots::SysPaths;

/// File system type, as statfs(2) reports it.
const OVERLAYFS_MAGIC: u32 = 0x794c_7630;

/// Upper directory of the overlay that holds a file; `None` if it is on no overlay, or where it is
/// unknown, as in a container.
pub(super) fn overlay_upper_directory(roots: &SysPaths, file: &File) -> Option<String> {
    let magic = rustix::fs::fstatfs(file).ok()?.f_type as u32;
    if magic != OVERLAYFS_MAGIC {
        return None;
    }
    upper_directory(&mounts::mount_of_file(roots, file)?).map(str::to_owned)
}

/// That directory, opened; `None` also where it cannot be.
pub(super) fn open_upper_directory(roots: &SysPaths, file: &File) -> Option<File> {
    let path = overlay_upper_directory(roots, file)?;
    let found = ForeignTree::own().find(Path::new(&path)).ok()?;
    found.open_directory().ok().map(File::from)
}

/// Upper directory in the options of a mount. A relative path cannot be followed: it began where the process was that
/// mounted.
pub(super) fn upper_directory(mount: &MountEntry) -> Option<&str> {
    let mut options = mount.options.iter();
    let upper = options.find_map(|option| option.strip_prefix("upperdir="));
    upper.filter(|path| path.starts_with('/'))
}
