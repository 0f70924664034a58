//! Requests that wait for the servers of FUSE file systems (kernel
//! Documentation/filesystems/fuse.rst, "Control filesystem").

use std::path::PathBuf;

use crate::drive::identity::sysfs::directory_entries;
use crate::probe::text::{parse_number, read_word};
use crate::roots::SysPaths;

/// Bits of the minor number in the number of a connection, which is that of its file system's device
/// (fs/fuse/control.c; include/linux/kdev_t.h).
const MINOR_BITS: u32 = 20;

/// A connection to a FUSE server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FuseConnection {
    /// `st_dev` of its files: with the major number 0, unless the file system is on a block device.
    pub device_id: (u32, u32),
    /// Requests that wait to be taken by the server or to be answered by it; `None` for the
    /// connection of another user.
    pub waiting: Option<u64>,
}

/// The connections of all mount namespaces; `None` where fusectl is not mounted or denied.
#[must_use]
pub fn read_connections(roots: &SysPaths) -> Option<Vec<FuseConnection>> {
    let directory = connections(roots);
    std::fs::read_dir(&directory).ok()?;
    let connection = |name: String| {
        let number = u32::try_from(parse_number(name.as_bytes())?).ok()?;
        let device_id = (number >> MINOR_BITS, number & ((1 << MINOR_BITS) - 1));
        Some(FuseConnection {
            device_id,
            waiting: waiting_requests(roots, device_id),
        })
    };
    let names = directory_entries(&directory);
    Some(names.into_iter().filter_map(connection).collect())
}

/// Requests that wait for the server of the file system with this device number; only its owner may
/// read them.
#[must_use]
pub fn waiting_requests(roots: &SysPaths, (major, minor): (u32, u32)) -> Option<u64> {
    let connection = u64::from(major) << MINOR_BITS | u64::from(minor);
    let directory = connections(roots).join(connection.to_string());
    parse_number(read_word(&directory.join("waiting"))?.as_bytes())
}

/// Whether fusectl is mounted: each FUSE file system has a directory there.
#[must_use]
pub fn has_connections(roots: &SysPaths) -> bool {
    !directory_entries(&connections(roots)).is_empty()
}

fn connections(roots: &SysPaths) -> PathBuf {
    roots.sys.join("fs/fuse/connections")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_requests_are_read_by_connection() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        assert_eq!(read_connections(&roots), None);
        let connection = |name: &str| root.path().join("sys/fs/fuse/connections").join(name);
        for name in ["47", "8388625", "90"] {
            std::fs::create_dir_all(connection(name)).unwrap();
        }
        std::fs::write(connection("47").join("waiting"), "3\n").unwrap();
        std::fs::write(connection("8388625").join("waiting"), "0\n").unwrap();
        let found = read_connections(&roots).unwrap();
        let found: Vec<_> = found.iter().map(|it| (it.device_id, it.waiting)).collect();
        let expected = [((0, 47), Some(3)), ((8, 17), Some(0)), ((0, 90), None)];
        assert_eq!(found, expected);
    }
}
