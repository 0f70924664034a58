//! Whether others depend on a process: those who use what it serves hang while it is stopped.

use std::fs;
use std::path::Path;

use crate::roots::SysPaths;

/// Beginnings of the names of open files by which a process may serve others: file systems (FUSE), character
/// and block devices (nbd, ublk, VDUSE, the SCSI target in user space), maps of device-mapper, permissions to
/// open files (fanotify(7)) and pages (userfaultfd(2)), sockets; or by which it keeps a watchdog from
/// resetting the machine.
const SERVING_FILES: [&str; 11] = [
    "/dev/fuse",
    "/dev/cuse",
    "/dev/nbd",
    "/dev/ublk",
    "/dev/vduse/",
    "/dev/uio",
    "/dev/mapper/control",
    "/dev/watchdog",
    "anon_inode:[fanotify]",
    "anon_inode:[userfaultfd]",
    "socket:[",
];
/// Descriptors of a process that are looked at. One with more of them counts as one on which others depend.
const MAX_DESCRIPTORS: usize = 4096;
/// The process that starts all services.
const FIRST_PROCESS: u32 = 1;

/// Whether a process can be stopped without that others hang with it, by what it has open; `false`
/// for threads of the kernel, too, which do not stop, and where its descriptors cannot be read.
#[must_use]
pub fn may_be_stopped(roots: &SysPaths, pid: u32) -> bool {
    let process = roots.proc.join(pid.to_string());
    // A thread of the kernel has no program.
    let is_program = fs::read_link(process.join("exe")).is_ok();
    pid != FIRST_PROCESS && is_program && serves_nobody(&process).unwrap_or(false)
}

/// Whether no descriptor is one by which a process serves others; `None` where that is unknown. The
/// links are read, and no file is asked: its file system may not respond.
fn serves_nobody(process: &Path) -> Option<bool> {
    for (index, descriptor) in fs::read_dir(process.join("fd")).ok()?.enumerate() {
        if index == MAX_DESCRIPTORS {
            return None;
        }
        // One that was closed meanwhile is no longer there.
        let Ok(target) = fs::read_link(descriptor.ok()?.path()) else {
            continue;
        };
        let name = target.as_os_str().as_encoded_bytes();
        if SERVING_FILES
            .iter()
            .any(|file| name.starts_with(file.as_bytes()))
        {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn process_may_be_stopped_by_what_it_has_open() {
        let (root, roots) = SysPaths::with_files(&[]);
        let cases = [
            (10, "/srv/a", true),
            (11, "pipe:[7]", true),
            (12, "socket:[8]", false),
            (13, "/dev/fuse", false),
            (1, "/srv/a", false),
        ];
        for (pid, target, expected) in cases {
            let process = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(process.join("fd")).unwrap();
            symlink("/dev/null", process.join("fd/0")).unwrap();
            symlink(target, process.join("fd/3")).unwrap();
            assert!(!may_be_stopped(&roots, pid), "no program: {pid}");
            symlink("/bin/x", process.join("exe")).unwrap();
            assert_eq!(may_be_stopped(&roots, pid), expected, "{target}");
        }
        assert!(!may_be_stopped(&roots, 99), "it has ended");
    }
}
