//! The processes that serve FUSE file systems.

use std::fs;
use std::path::PathBuf;

use crate::probe::process::stat::parse_stat;
use crate::probe::text::{field, parse_number, read_file, read_start};
use crate::probe::waits::processes;
use crate::roots::SysPaths;

/// Descriptors of a process, and bytes of its command line, that are looked at.
const MAX_DESCRIPTORS: usize = 1024;
const MAX_ARGUMENTS: u64 = 4096;

/// A process that serves a FUSE file system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FuseServer {
    /// Process id.
    pub pid: u32,
    /// Time of its start in clock ticks since boot.
    pub start_ticks: u64,
    /// Name of the program.
    pub name: Vec<u8>,
    /// Its arguments, separated by zero bytes.
    pub arguments: Vec<u8>,
    /// Whether it is stopped (state T).
    pub is_stopped: bool,
    /// Minor number of the device of its file system, where the kernel tells.
    pub connection: Option<u64>,
}

/// The processes that have `/dev/fuse` open, as far as this user may see that.
#[must_use]
pub fn fuse_servers(roots: &SysPaths) -> Vec<FuseServer> {
    processes(roots).filter_map(server).collect()
}

fn server((pid, place): (u32, PathBuf)) -> Option<FuseServer> {
    let descriptors = fs::read_dir(place.join("fd")).ok()?.flatten();
    let mut descriptors = descriptors.take(MAX_DESCRIPTORS);
    let is_fuse = |path| fs::read_link(path).is_ok_and(|it| it.as_os_str() == "/dev/fuse");
    let descriptor = descriptors.find(|descriptor| is_fuse(descriptor.path()))?;
    let stat = read_file(&place.join("stat"))?;
    let stat = parse_stat(&stat)?;
    let info = read_file(&place.join("fdinfo").join(descriptor.file_name()));
    let info = info.unwrap_or_default();
    Some(FuseServer {
        pid,
        start_ticks: stat.start_ticks,
        name: stat.name.to_vec(),
        arguments: read_start(&place.join("cmdline"), MAX_ARGUMENTS).unwrap_or_default(),
        is_stopped: matches!(stat.state, 'T' | 't'),
        connection: field(&info, "fuse_connection:").and_then(parse_number),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn server_is_known_by_its_open_device_and_its_state() {
        let stat = format!("7 (sshfs) T 1 {}\n", "0 ".repeat(40));
        let (root, roots) = SysPaths::with_files(&[
            ("proc/7/stat", &stat),
            ("proc/7/cmdline", "sshfs\0host:\0/mnt/a\0"),
            ("proc/7/fdinfo/4", "pos:\t0\nfuse_connection:\t45\n"),
            ("proc/8/stat", "8 (sh) S 1 0\n"),
        ]);
        fs::create_dir_all(root.path().join("proc/7/fd")).unwrap();
        symlink("/dev/fuse", root.path().join("proc/7/fd/4")).unwrap();
        let servers = fuse_servers(&roots);
        assert_eq!(servers.len(), 1);
        assert!(servers[0].is_stopped && servers[0].name == b"sshfs");
        assert_eq!((servers[0].pid, servers[0].connection), (7, Some(45)));
    }
}
