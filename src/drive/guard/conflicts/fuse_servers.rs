//! Servers of file systems in user space and the images that they have open.
//!
//! A mount names its image as the server was told it: a relative path means nothing to others, because the
//! server has changed its directory since. The server itself has the image open.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::drive::guard::conflicts::mount_tables::PlacedMount;
use crate::drive::guard::conflicts::open_file::facts;
use crate::drive::identity::sysfs::directory_entries;
use crate::drive::medium::FileId;
use crate::roots::SysPaths;

/// By this device a server receives the requests for its file system (Documentation/filesystems/fuse.rst).
const FUSE_DEVICE: &str = "/dev/fuse";

/// Of all mounts the one that is probably served from this file: its source is not an absolute path, and a
/// server has the file open. `None` also where the server is not visible to this user.
pub(super) fn mount_served_from<'a>(
    roots: &SysPaths,
    mounts: &'a [PlacedMount],
    name: &str,
    id: FileId,
) -> Option<&'a PlacedMount> {
    let is_candidate = |placed: &&PlacedMount| {
        let mount = &placed.mount;
        mount.is_in_user_space() && mount.source_number.is_none() && !mount.source.starts_with('/')
    };
    let candidates: Vec<_> = mounts.iter().filter(is_candidate).collect();
    if candidates.is_empty() || !is_open_in_server(roots, id) {
        return None;
    }
    let has_name = |placed: &&&PlacedMount| file_name(&placed.mount.source) == file_name(name);
    let named = candidates.iter().find(has_name);
    named.or(candidates.first()).copied()
}

fn file_name(path: &str) -> Option<&OsStr> {
    Path::new(path).file_name()
}

fn is_open_in_server(roots: &SysPaths, id: FileId) -> bool {
    let is_process = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let processes = directory_entries(&roots.proc)
        .into_iter()
        .filter(is_process);
    processes
        .map(|process| roots.proc.join(process).join("fd"))
        .any(|directory| {
            let links = || descriptors(&directory);
            links().any(|link| fs::read_link(link).is_ok_and(|it| it == Path::new(FUSE_DEVICE)))
                && links().any(|link| facts(&link).is_ok_and(|opened| opened.id == id))
        })
}

fn descriptors(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = directory_entries(directory).into_iter();
    entries.map(|name| directory.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn image_with_a_relative_path_is_found_in_its_server() {
        let table = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
                     2 1 0:50 / /mnt/a rw - fuse.sshfs host:/a rw\n\
                     3 1 0:51 / /mnt/b rw - fuse.ext4 img rw\n";
        let (root, roots) = SysPaths::with_files(&[
            ("proc/self/mountinfo", table),
            ("images/img", "x"),
            ("images/other", "x"),
        ]);
        let image = |name: &str| root.path().join("images").join(name);
        let id = |name: &str| facts(&image(name)).unwrap().id;
        let open_in = |process: &str, files: &[&Path]| {
            let directory = roots.proc.join(process).join("fd");
            fs::create_dir_all(&directory).unwrap();
            for (number, file) in files.iter().enumerate() {
                symlink(file, directory.join(number.to_string())).unwrap();
            }
        };
        let mounts = crate::drive::mounts::mounts(&roots).unwrap().into_iter();
        let mounts: Vec<_> = mounts
            .map(|mount| PlacedMount {
                process: None,
                mount,
            })
            .collect();
        let served = |name: &str| {
            let placed = mount_served_from(&roots, &mounts, name, id(name))?;
            Some(placed.mount.mount_point.clone())
        };
        open_in("7", &[&image("img")]);
        assert_eq!(served("img"), None, "open in a program that serves nothing");
        open_in("8", &[&image("img"), Path::new(FUSE_DEVICE)]);
        assert_eq!(served("img").as_deref(), Some("/mnt/b"));
        assert_eq!(served("other"), None);
    }
}
