//! Whether others depend on a process: those who use what it serves hang while it is stopped.

use std::fs;
use std::path::Path;

use crate::roots::SysPaths;

/// Beginnings of the names of open files by which a process serves others: file systems (FUSE), character and
/// block devices (nbd, ublk, VDUSE, the SCSI target in user space), maps of device-mapper, permissions to open
/// files (fanotify(7)) and pages (userfaultfd(2)), or by which it keeps a watchdog from resetting the machine.
const SERVING_FILES: [&str; 10] = [
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
    pid != FIRST_PROCESS
        && fs::read_link(process.join("exe")).is_ok()
        && serves_nobody(&process.join("fd")).unwrap_or(false)
}

/// Whether no descriptor is one by which a process serves others; `None` where that is unknown. The
/// links are read, and no file is asked: its file system may not respond.
fn serves_nobody(descriptors: &Path) -> Option<bool> {
    for (index, descriptor) in fs::read_dir(descriptors).ok()?.enumerate() {
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
            .any(|served| name.starts_with(served.as_bytes()))
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
    fn process_that_serves_nobody_may_be_stopped() {
        let mut sleeper = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        assert!(may_be_stopped(&SysPaths::default(), sleeper.id()));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }

    #[test]
    fn process_that_serves_a_file_system_or_a_device_is_not_to_be_stopped() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        let add = |pid: u32, exe: Option<&str>, targets: &[&str]| {
            let process = roots.proc.join(pid.to_string());
            fs::create_dir_all(process.join("fd")).unwrap();
            for (number, target) in targets.iter().enumerate() {
                symlink(target, process.join(format!("fd/{number}"))).unwrap();
            }
            if let Some(exe) = exe {
                symlink(exe, process.join("exe")).unwrap();
            }
        };
        add(1, Some("/sbin/init"), &["/dev/null"]);
        add(10, Some("/bin/cp"), &["/dev/null", "/srv/fuse", "/dev/sda"]);
        add(11, None, &[]);
        assert!(may_be_stopped(&roots, 10));
        assert!(!may_be_stopped(&roots, 1), "the first process");
        assert!(!may_be_stopped(&roots, 11), "a thread of the kernel");
        assert!(!may_be_stopped(&roots, 12), "unknown");
        for (index, device) in [
            "/dev/fuse",
            "/dev/nbd0",
            "/dev/ublkc1",
            "/dev/uio0",
            "/dev/vduse/disk",
            "/dev/watchdog0",
            "/dev/mapper/control",
            "anon_inode:[fanotify]",
        ]
        .iter()
        .enumerate()
        {
            let pid = 20 + index as u32;
            add(pid, Some("/usr/bin/server"), &["/dev/null", device]);
            assert!(!may_be_stopped(&roots, pid), "{device}");
        }
    }
}
