//! Processes that have a device or a file open, from the descriptors in /proc (proc_pid_fd(5)).

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev};

use crate::drive::guard::stack::Stack;
use crate::drive::guard::users::UnknownUse;
use crate::drive::identity::sanitized;
use crate::drive::io_error::is_gone;
use crate::drive::medium::FileId;
use crate::pid_namespace;
use crate::roots::SysPaths;

/// A process that has a device or file open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenFile {
    pub(super) device: String,
    pub(super) pid: u32,
    pub(super) command: String,
}

/// One pass over all processes, a process at a time. This process does not count.
#[derive(Debug)]
pub(super) struct ProcessScan<'s> {
    roots: &'s SysPaths,
    stack: &'s Stack,
    processes: Vec<u32>,
    found: Vec<OpenFile>,
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
        let sees_all = pid_namespace::is_proc_of_initial_namespace(roots) && processes.contains(&1);
        Self {
            roots,
            stack,
            processes,
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
    pub(super) fn finish(self) -> (Vec<OpenFile>, Vec<UnknownUse>) {
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
        let directory = process.join("fd");
        for entry in fs::read_dir(&directory)? {
            let link = entry?.path();
            let Some(watched) = file_id(&link).and_then(|id| self.stack.watched(id)) else {
                continue;
            };
            if !watched.counts_readers && !is_open_for_writing(&link) {
                continue;
            }
            let command = fs::read_to_string(process.join("comm")).unwrap_or_default();
            let open = OpenFile {
                device: watched.name.clone(),
                pid,
                command: sanitized(command.trim()),
            };
            if !self.found.contains(&open) {
                self.found.push(open);
            }
        }
        Ok(())
    }
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
