//! Detection of mounts and unmounts.

use std::fs::File;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::roots::SysPaths;

/// Watches the mount table without reading it: a container host has thousands of mounts.
#[derive(Debug, Default)]
pub struct MountWatch {
    list: Option<File>,
}

impl MountWatch {
    /// Opens the mount table.
    #[must_use]
    pub fn new(roots: &SysPaths) -> Self {
        Self {
            list: File::open(roots.proc.join("self/mountinfo")).ok(),
        }
    }

    /// Whether it has changed since the last call. The kernel then marks an open mountinfo with
    /// POLLERR and POLLPRI (proc_pid_mounts(5)).
    pub fn has_changed(&mut self) -> bool {
        let Some(list) = &self.list else {
            return false;
        };
        let mut watched = [PollFd::new(list, PollFlags::PRI)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut watched, Some(&at_once)).is_ok()
            && watched[0]
                .revents()
                .intersects(PollFlags::PRI | PollFlags::ERR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_watch_reports_no_change_for_same_or_missing_list() {
        let empty = tempfile::tempdir().unwrap();
        assert!(!MountWatch::new(&SysPaths::under_root(empty.path())).has_changed());
        std::fs::create_dir_all(empty.path().join("proc/self")).unwrap();
        std::fs::write(empty.path().join("proc/self/mountinfo"), "").unwrap();
        assert!(!MountWatch::new(&SysPaths::under_root(empty.path())).has_changed());
    }
}
