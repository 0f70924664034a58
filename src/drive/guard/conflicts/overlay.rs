//! The file behind a file of an overlay (kernel Documentation/filesystems/overlayfs.rst): users of
//! the one are not users of the other, as far as the kernel counts them.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::drive::identity::harmless;
use crate::drive::mounts::{self, Mount};
use crate::roots::Roots;

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

/// Where the bytes of an open file lie.
pub(super) fn real_file(roots: &Roots, file: &File) -> RealFile {
    let Some(mount) = mount_of(roots, file) else {
        return RealFile::Itself;
    };
    if mount.file_system != "overlay" {
        return RealFile::Itself;
    }
    locate(roots, file, &mount).unwrap_or_else(|| RealFile::Unknown {
        at: harmless(&mount.at),
    })
}

/// The mount that a descriptor was opened through.
fn mount_of(roots: &Roots, file: &File) -> Option<Mount> {
    let info = roots.proc.join(format!("self/fdinfo/{}", file.as_raw_fd()));
    let info = fs::read_to_string(info).ok()?;
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?;
    let id: u64 = id.trim().parse().ok()?;
    mounts::mounts(roots)
        .ok()?
        .into_iter()
        .find(|mount| mount.id == id)
}

fn locate(roots: &Roots, file: &File, mount: &Mount) -> Option<RealFile> {
    let link = roots.proc.join(format!("self/fd/{}", file.as_raw_fd()));
    let path = fs::read_link(link).ok()?;
    let below = path.strip_prefix(&mount.at).ok()?;
    let inside = Path::new(&mount.root).strip_prefix("/").ok()?.join(below);
    let facts = file.metadata().ok()?;
    let layer = |directory: &str| -> Option<File> {
        let directory = Path::new(directory);
        // A relative one is relative to nobody knows what.
        let found = open(&directory.is_absolute().then(|| directory.join(&inside))?).ok()?;
        let own = found.metadata().ok()?;
        let is_same = own.ino() == facts.ino() && own.size() == facts.size();
        (own.is_file() && is_same).then_some(found)
    };
    if let Some(found) = option(mount, "upperdir").and_then(|upper| layer(&upper)) {
        return Some(RealFile::Upper(found));
    }
    let lower = option(mount, "lowerdir").unwrap_or_default();
    let in_lower = split_layers(&lower).iter().any(|one| layer(one).is_some());
    in_lower.then_some(RealFile::Lower)
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

fn open(path: &PathBuf) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_directories_are_split_at_colons_without_backslash() {
        assert_eq!(split_layers(r"/a:/b\:c::/d"), ["/a", "/b:c", "/d"]);
    }
}
