//! Whether others depend on a process: those who use what it serves hang while it is stopped.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::probe::text::{nonempty_lines, parse_number, read_file, split_fields};
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

/// The protocol of the kernel's audit in `/proc/PID/net/netlink` (`NETLINK_AUDIT`): its system calls wait for
/// the program that writes its records.
const AUDIT_PROTOCOL: u64 = 9;

/// Finds out who depends on processes.
#[derive(Debug)]
pub struct DependentsSearch<'r> {
    roots: &'r SysPaths,
    /// The sockets by which processes serve others, by network namespace; `None` where they cannot be read.
    sockets: HashMap<PathBuf, Option<HashSet<u64>>>,
}

impl<'r> DependentsSearch<'r> {
    /// A search that has read nothing.
    #[must_use]
    pub fn new(roots: &'r SysPaths) -> Self {
        Self {
            roots,
            sockets: HashMap::new(),
        }
    }

    /// Whether a process can be stopped without that others hang with it, by what it has open; `false`
    /// for threads of the kernel, too, which do not stop, and where its descriptors cannot be read.
    #[must_use]
    pub fn may_be_stopped(&mut self, pid: u32) -> bool {
        let process = self.roots.proc.join(pid.to_string());
        // A thread of the kernel has no program.
        pid != FIRST_PROCESS
            && fs::read_link(process.join("exe")).is_ok()
            && self.serves_nobody(&process).unwrap_or(false)
    }

    /// Whether no descriptor is one by which a process serves others; `None` where that is unknown. The
    /// links are read, and no file is asked: its file system may not respond.
    fn serves_nobody(&mut self, process: &Path) -> Option<bool> {
        for (index, descriptor) in fs::read_dir(process.join("fd")).ok()?.enumerate() {
            if index == MAX_DESCRIPTORS {
                return None;
            }
            // One that was closed meanwhile is no longer there.
            let Ok(target) = fs::read_link(descriptor.ok()?.path()) else {
                continue;
            };
            let name = target.as_os_str().as_encoded_bytes();
            let serves = match socket_inode(name) {
                Some(inode) => self.serving_sockets(process)?.contains(&inode),
                None => SERVING_FILES
                    .iter()
                    .any(|file| name.starts_with(file.as_bytes())),
            };
            if serves {
                return Some(false);
            }
        }
        Some(true)
    }

    /// The sockets of the network namespace of a process.
    fn serving_sockets(&mut self, process: &Path) -> Option<&HashSet<u64>> {
        let namespace = fs::read_link(process.join("ns/net")).ok()?;
        let sockets = self.sockets.entry(namespace);
        sockets.or_insert_with(|| read_sockets(process)).as_ref()
    }
}

/// The inode in the target of a link to a socket, `socket:[INODE]`.
fn socket_inode(name: &[u8]) -> Option<u64> {
    parse_number(name.strip_prefix(b"socket:[")?.strip_suffix(b"]")?)
}

/// The inodes of UNIX sockets that have a name, so that others find them: those of loggers, databases and
/// message buses, with their connections; and of sockets to the kernel's audit.
fn read_sockets(process: &Path) -> Option<HashSet<u64>> {
    let unix = read_file(&process.join("net/unix"))?;
    let named = nonempty_lines(&unix).filter_map(|line| {
        let mut fields = split_fields(line);
        let inode = parse_number(fields.nth(6)?);
        fields.next().and(inode)
    });
    // A kernel without audit may have no table.
    let netlink = read_file(&process.join("net/netlink")).unwrap_or_default();
    let audit = nonempty_lines(&netlink).filter_map(|line| {
        let mut fields = split_fields(line);
        let protocol = parse_number(fields.nth(1)?)?;
        let inode = parse_number(fields.nth(7)?);
        inode.filter(|_| protocol == AUDIT_PROTOCOL)
    });
    Some(named.chain(audit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
    use std::process::Stdio;

    fn may_be_stopped(roots: &SysPaths, pid: u32) -> bool {
        DependentsSearch::new(roots).may_be_stopped(pid)
    }

    /// Whether a process with this standard input may be stopped.
    fn may_be_stopped_with(input: impl Into<Stdio>) -> bool {
        let mut sleeper = std::process::Command::new("sleep")
            .arg("60")
            .stdin(input)
            .spawn()
            .unwrap();
        let may = may_be_stopped(&SysPaths::default(), sleeper.id());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        may
    }

    #[test]
    fn process_to_which_others_send_by_the_name_of_a_socket_is_not_to_be_stopped() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let logger = UnixDatagram::bind(path("log")).unwrap();
        let listener = UnixListener::bind(path("server")).unwrap();
        let client = UnixStream::connect(path("server")).unwrap();
        let (connection, _) = listener.accept().unwrap();
        assert!(may_be_stopped_with(OwnedFd::from(client)));
        for served in [
            OwnedFd::from(logger),
            OwnedFd::from(listener),
            OwnedFd::from(connection),
        ] {
            assert!(!may_be_stopped_with(served));
        }
    }

    #[test]
    fn process_that_writes_the_records_of_audit_is_not_to_be_stopped() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        let netlink = "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n\
            00000000c0e4b8a1 9   700        00000000 0        0        0     2        0        501\n\
            000000004c1d5d3f 0   700        00000000 0        0        0     2        0        502\n";
        for (pid, inode, unix) in [(10, 501, Some("")), (11, 502, Some("")), (12, 502, None)] {
            let process = roots.proc.join(pid.to_string());
            fs::create_dir_all(process.join("fd")).unwrap();
            fs::create_dir_all(process.join("net")).unwrap();
            fs::create_dir_all(process.join("ns")).unwrap();
            symlink(format!("net:[{pid}]"), process.join("ns/net")).unwrap();
            symlink("/sbin/auditd", process.join("exe")).unwrap();
            symlink(format!("socket:[{inode}]"), process.join("fd/3")).unwrap();
            fs::write(process.join("net/netlink"), netlink).unwrap();
            if let Some(unix) = unix {
                fs::write(process.join("net/unix"), unix).unwrap();
            }
        }
        assert!(!may_be_stopped(&roots, 10));
        assert!(may_be_stopped(&roots, 11));
        assert!(!may_be_stopped(&roots, 12), "unknown");
    }

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
