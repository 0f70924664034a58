//! The file behind a file of an overlay (kernel Documentation/filesystems/overlayfs.rst): users of
//! the one are not users of the other, as far as the kernel counts them.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::same_file::{self, FileStamp, Sameness};
use crate::drive::identity::harmless;
use crate::drive::mounts::{self, Mount};
use crate::roots::Roots;

/// What statfs(2) says of an overlay (include/uapi/linux/magic.h).
const OVERLAY: u64 = 0x794c_7630;

/// Where the bytes of a file lie.
#[derive(Debug)]
pub(super) enum RealFile {
    /// In the file itself: it is not one of an overlay.
    Itself,
    /// In this file of the upper directory.
    Upper(File),
    /// In a lower directory: writing makes a copy first, and those bytes stay.
    Lower,
    /// Nobody can tell.
    Unknown {
        /// The mount point of the overlay.
        at: String,
    },
}

/// Whether a file lies in an overlay; also where that cannot be told.
fn is_overlay(file: &File) -> bool {
    rustix::fs::fstatfs(file).map_or(true, |facts| facts.f_type as u64 == OVERLAY)
}

/// Where the bytes of an open file lie.
pub(super) fn real_file(roots: &Roots, file: &File) -> RealFile {
    // A file system that does not say what it is may be one.
    let is_overlay = is_overlay(file);
    if !is_overlay {
        return RealFile::Itself;
    }
    let mount = mount_of(roots, file).filter(|mount| mount.file_system == "overlay");
    let located = mount.as_ref().and_then(|mount| locate(roots, file, mount));
    located.unwrap_or_else(|| RealFile::Unknown {
        at: mount.map_or_else(
            || "a place of another mount namespace".to_owned(),
            |mount| harmless(&mount.at),
        ),
    })
}

/// Whether a file of any of these overlays may have its attributes in one layer and its bytes in
/// another (kernel Documentation/filesystems/overlayfs.rst, "Metadata only copy up", "Data-only lower
/// layers"): by an option, or by the module's default.
pub(super) fn has_metacopy<'a>(roots: &Roots, mut mounts: impl Iterator<Item = &'a Mount>) -> bool {
    let default = roots.sys.join("module/overlay/parameters/metacopy");
    let by_default = fs::read(default).is_ok_and(|text| text.starts_with(b"Y"));
    let by_option = |mount: &Mount| {
        let has = |option: &String| {
            option == "metacopy=on"
                || option.starts_with("lowerdir") && option.contains("::")
                || option.starts_with("datadir+")
        };
        mount.file_system == "overlay" && mount.options.iter().any(has)
    };
    by_default || mounts.any(by_option)
}

/// The mount that a descriptor was opened through.
pub(super) fn mount_of(roots: &Roots, file: &File) -> Option<Mount> {
    let info = roots.proc.join(format!("self/fdinfo/{}", file.as_raw_fd()));
    let info = fs::read_to_string(info).ok()?;
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?;
    let id: u64 = id.trim().parse().ok()?;
    mounts::mounts(roots)
        .ok()?
        .into_iter()
        .find(|mount| mount.id == id)
}

/// The layer whose file it is: the one at that place whose size and times it shows. Numbers of
/// inodes prove nothing, and a path alone does not either: a layer may have been renamed.
fn locate(roots: &Roots, file: &File, mount: &Mount) -> Option<RealFile> {
    let link = roots.proc.join(format!("self/fd/{}", file.as_raw_fd()));
    let path = fs::read_link(link).ok()?;
    let below = path.strip_prefix(&mount.at).ok()?;
    let inside = Path::new(&mount.root).strip_prefix("/").ok()?.join(below);
    let is_it = |found: &File| {
        let same = same_file::compare(&|| FileStamp::of(file), &|| FileStamp::of(found));
        same == Sameness::Same
    };
    if let Some(upper) = option(mount, "upperdir") {
        match in_layer(&upper, &inside) {
            Ok(found) => return is_it(&found).then_some(RealFile::Upper(found)),
            Err(Absent::Certainly) => {}
            Err(Absent::Perhaps) => return None,
        }
    }
    let lower = option(mount, "lowerdir").unwrap_or_default();
    let in_lower = split_layers(&lower)
        .iter()
        .any(|layer| in_layer(layer, &inside).is_ok_and(|found| is_it(&found)));
    in_lower.then_some(RealFile::Lower)
}

/// Why a layer has no such file.
enum Absent {
    /// It was looked for in that directory, without a mount or link on the way.
    Certainly,
    /// It could not be looked for.
    Perhaps,
}

fn in_layer(directory: &str, inside: &Path) -> Result<File, Absent> {
    // A relative one is relative to nobody knows what.
    if !directory.starts_with('/') {
        return Err(Absent::Perhaps);
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory =
        rustix::fs::open(directory, flags, Mode::empty()).map_err(|_| Absent::Perhaps)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    match rustix::fs::openat2(&directory, inside, flags, Mode::empty(), resolve) {
        Ok(found) => Some(File::from(found))
            .filter(|found| found.metadata().is_ok_and(|facts| facts.is_file()))
            .ok_or(Absent::Perhaps),
        Err(Errno::NOENT) => Err(Absent::Certainly),
        Err(_) => Err(Absent::Perhaps),
    }
}

fn option(mount: &Mount, name: &str) -> Option<String> {
    let mut options = mount.options.iter();
    options.find_map(|option| Some(option.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
}

/// Lower directories stand between colons; a colon in a name has a backslash before it.
fn split_layers(text: &str) -> Vec<String> {
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
    fn lower_directories_are_split_at_colons_without_backslash() {
        assert_eq!(split_layers(r"/a:/b\:c::/d"), ["/a", "/b:c", "/d"]);
    }
}
