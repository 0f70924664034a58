//! Requests that wait for the servers of FUSE file systems (kernel
//! Documentation/filesystems/fuse.rst, "Control filesystem").

use crate::drive::identity::sysfs::directory_entries;
use crate::probe::text::{parse_number, read_word};
use crate::roots::SysPaths;

/// A connection to a FUSE server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FuseConnection {
    /// Minor number of the file system's device, whose major number is 0.
    pub minor: u32,
    /// Requests that wait to be taken by the server or to be answered by it.
    pub waiting: u64,
}

/// The connections; `None` where fusectl is not mounted or denied.
#[must_use]
pub fn read_connections(roots: &SysPaths) -> Option<Vec<FuseConnection>> {
    let directory = roots.sys.join("fs/fuse/connections");
    std::fs::read_dir(&directory).ok()?;
    let names = directory_entries(&directory);
    let connection = |name: String| {
        let waiting = read_word(&directory.join(&name).join("waiting"))?;
        Some(FuseConnection {
            minor: u32::try_from(parse_number(name.as_bytes())?).ok()?,
            waiting: parse_number(waiting.as_bytes())?,
        })
    };
    Some(names.into_iter().filter_map(connection).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_requests_are_read_by_connection() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        assert_eq!(read_connections(&roots), None);
        let place = root.path().join("sys/fs/fuse/connections/47");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("waiting"), "3\n").unwrap();
        let found = read_connections(&roots).unwrap();
        assert_eq!(
            found,
            [FuseConnection {
                minor: 47,
                waiting: 3
            }]
        );
    }
}
