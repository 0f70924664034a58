//! Processes that have a device or a file open, from the descriptors in /proc (proc_pid_fd(5)).

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev};

use crate::drive::guard::stack::Stack;
use crate::drive::guard::uses::{UnknownUse, Usage, User};
use crate::drive::identity::sanitized;
use crate::drive::is_gone;
use crate::drive::medium::FileId;
use crate::drive::mounts;
use crate::roots;
use crate::roots::SysPaths;

/// One pass over all processes, a process at a time. This process does not count.
#[derive(Debug)]
pub(super) struct ProcessScan<'s> {
    roots: &'s SysPaths,
    stack: &'s Stack,
    processes: Vec<u32>,
    /// Mount namespaces that were looked at.
    namespaces: HashSet<PathBuf>,
    found: Vec<User>,
    denied: Vec<u32>,
    is_complete: bool,
}

impl<'s> ProcessScan<'s> {
    /// Lists the processes. Those of the whole host have to be visible.
    pub(super) fn new(roots: &'s SysPaths, stack: &'s Stack) -> Self {
        let listed = fs::read_dir(&roots.proc);
        let names = listed.into_iter().flatten().flatten();
        let processes: Vec<u32> = names
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| *pid != std::process::id())
            .collect();
        let own_namespace = fs::read_link(roots.proc.join("self/ns/mnt")).ok();
        let sees_all = roots::is_proc_of_initial_namespace(roots) && processes.contains(&1);
        Self {
            roots,
            stack,
            processes,
            namespaces: HashSet::from_iter(own_namespace),
            found: Vec::new(),
            denied: Vec::new(),
            is_complete: sees_all,
        }
    }

    /// Examines the next process; `false` when there is none left.
    pub(super) fn examine_next(&mut self) -> bool {
        let Some(pid) = self.processes.pop() else {
            return false;
        };
        if let Err(error) = self.examine(pid)
            && !is_gone(&error)
        {
            self.denied.push(pid);
        }
        true
    }

    /// What was found, and what could not be examined.
    pub(super) fn finish(self) -> (Vec<User>, Vec<UnknownUse>) {
        let mut unknown = Vec::new();
        if !self.is_complete {
            unknown.push(UnknownUse::HiddenProcesses);
        }
        if let Some(example) = self.denied.last() {
            unknown.push(UnknownUse::Processes {
                count: self.denied.len(),
                example: *example,
            });
        }
        (self.found, unknown)
    }

    fn examine(&mut self, pid: u32) -> io::Result<()> {
        let process = self.roots.proc.join(pid.to_string());
        let mut links: Vec<PathBuf> = entries(&process.join("fd"))?;
        if links.is_empty() {
            // Its first thread may have ended; the others still have the descriptors.
            for thread in entries(&process.join("task"))? {
                links.extend(entries(&thread.join("fd")).unwrap_or_default());
            }
        }
        for link in links {
            let Some(watched) = file_id(&link).and_then(|id| self.stack.watched(id)) else {
                continue;
            };
            if !watched.counts_readers && !is_open_for_writing(&link) {
                continue;
            }
            let command = fs::read_to_string(process.join("comm")).unwrap_or_default();
            let command = sanitized(command.trim());
            let user = User::new(&watched.name, Usage::Process { pid, command });
            if !self.found.contains(&user) {
                self.found.push(user);
            }
        }
        self.add_mounts(&process, pid);
        Ok(())
    }

    /// What is mounted in the namespace of a process. The kernel enforces the claim of a file system there as well:
    /// one that cannot be read is not named.
    fn add_mounts(&mut self, process: &Path, pid: u32) {
        let namespace = fs::read_link(process.join("ns/mnt"));
        if !namespace.is_ok_and(|namespace| self.namespaces.insert(namespace)) {
            return;
        }
        let mounted = mounts::mounts_of(self.roots, &process.join("mountinfo")).unwrap_or_default();
        for (name, number) in self.stack.claimable() {
            let own = mounted.iter().filter(|mount| mount.is_on(number));
            self.found.extend(own.map(|mount| {
                let (at, process) = (sanitized(&mount.mount_point), pid);
                User::new(name, Usage::MountedElsewhere { at, process })
            }));
        }
    }
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = fs::read_dir(directory)?;
    listed.map(|entry| Ok(entry?.path())).collect()
}

/// The identity of an open block device or regular file. Asks no server of a network or FUSE file system, which
/// may hang.
fn file_id(link: &Path) -> Option<FileId> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    let facts = rustix::fs::statx(CWD, link, flags, StatxFlags::TYPE | StatxFlags::INO).ok()?;
    match FileType::from_raw_mode(u32::from(facts.stx_mode)) {
        FileType::BlockDevice => Some(FileId::Device(facts.stx_rdev_major, facts.stx_rdev_minor)),
        FileType::RegularFile => Some(FileId::Inode(
            makedev(facts.stx_dev_major, facts.stx_dev_minor),
            facts.stx_ino,
        )),
        _ => None,
    }
}

/// The permission bits of the link are those of the open file (proc_pid_fd(5)). A descriptor that was closed in the
/// meantime counts.
fn is_open_for_writing(link: &Path) -> bool {
    fs::symlink_metadata(link).map_or(true, |facts| facts.permissions().mode() & 0o200 != 0)
}
