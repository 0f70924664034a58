//! Numbers of processes: which there are, and whether one means the same process outside of procfs.

use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::CWD;

use super::stat::parse_thread_group;
use crate::probe::text::{
    list_numbers, nonempty_lines, open_relative, parse_number, read_file, split_fields,
};
use crate::roots::SysPaths;

/// When more process ids than this were assigned, listing all is cheaper than trying each.
const MAX_PID_PROBES: u32 = 512;

/// Follows which process ids are assigned: listing `/proc` is a large part of the cost of a sample.
#[derive(Debug, Default)]
pub(super) struct AssignedPids {
    latest: Option<u32>,
}

impl AssignedPids {
    /// The ids that were assigned since the previous call, to processes and threads; `None` where all
    /// have to be listed.
    pub(super) fn since_last_call(&mut self, roots: &SysPaths) -> Option<RangeInclusive<u32>> {
        let latest = latest_pid(roots);
        let before = std::mem::replace(&mut self.latest, latest);
        let (before, latest) = (before?, latest?);
        let count = latest.checked_sub(before)?;
        (count <= MAX_PID_PROBES).then(|| before + 1..=latest)
    }
}

/// The process ids in `/proc`, ascending; none where it cannot be listed.
pub(in crate::probe) fn list_pids(roots: &SysPaths) -> Vec<u32> {
    let directory = open_relative(CWD, &roots.proc);
    directory.map_or_else(|_| Vec::new(), |directory| list_numbers(directory.as_fd()))
}

/// The thread ids of the process with this directory.
pub(in crate::probe) fn list_tids(process: &Path) -> Vec<u32> {
    let directory = open_relative(CWD, process.join("task"));
    directory.map_or_else(|_| Vec::new(), |directory| list_numbers(directory.as_fd()))
}

/// Whether an id is that of a process that exists: threads have ids too, and directories that are not
/// listed.
pub(super) fn is_process(roots: &SysPaths, pid: u32) -> bool {
    let status = read_file(&roots.proc.join(format!("{pid}/status")));
    status.and_then(|text| parse_thread_group(&text)) == Some(pid)
}

/// The process id that was assigned last, from `/proc/loadavg`.
fn latest_pid(roots: &SysPaths) -> Option<u32> {
    let text = read_file(&roots.proc.join("loadavg"))?;
    let latest = split_fields(text.trim_ascii()).nth(4)?;
    u32::try_from(parse_number(latest)?).ok()
}

/// Which PID namespace the numbers of processes are of (pid_namespaces(7)). A system call, and a command such
/// as kill(1), takes a number for that of the namespace of its caller; a path below `/proc` does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProcessNumbers {
    /// That of this process, now.
    Own,
    /// Another one, as in a namespace that was entered without a mount of its procfs, or not known. Those of a
    /// recording as well, whose processes are of an earlier time or another machine.
    #[default]
    Other,
}

impl ProcessNumbers {
    /// Those of a procfs: it tells the numbers of this process in its own namespace and in all between that
    /// and the one of this process.
    #[must_use]
    pub fn of_procfs(roots: &SysPaths) -> Self {
        let status = read_file(&roots.proc.join("self/status"));
        match status.map(|status| own_numbers(&status)).as_deref() {
            Some([number]) if *number == u64::from(std::process::id()) => Self::Own,
            _ => Self::Other,
        }
    }
}

/// The numbers in `/proc/self/status`. A kernel without PID namespaces has one.
fn own_numbers(status: &[u8]) -> Vec<u64> {
    let namespaces = |line: &'_ [u8]| line.strip_prefix(b"NStgid:").map(<[u8]>::to_vec);
    match nonempty_lines(status).find_map(namespaces) {
        Some(line) => split_fields(line.trim_ascii())
            .filter_map(parse_number)
            .collect(),
        None => parse_thread_group(status)
            .map(u64::from)
            .into_iter()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{Requirement, skip};

    #[test]
    fn numbers_of_another_namespace_are_not_taken_for_own_ones() {
        let own = std::process::id();
        for (status, numbers) in [
            (
                format!("Tgid:\t{own}\nNStgid:\t{own}\n"),
                ProcessNumbers::Own,
            ),
            (format!("Tgid:\t{own}\n"), ProcessNumbers::Own),
            // Its namespace is within that of procfs; the numbers may be equal by chance.
            (
                format!("Tgid:\t{own}\nNStgid:\t{own}\t5\n"),
                ProcessNumbers::Other,
            ),
            (
                format!("Tgid:\t{own}\nNStgid:\t{own}\t{own}\n"),
                ProcessNumbers::Other,
            ),
            (
                format!("Tgid:\t{0}\nNStgid:\t{0}\n", own + 1),
                ProcessNumbers::Other,
            ),
            (format!("Tgid:\t{}\n", own + 1), ProcessNumbers::Other),
            (String::new(), ProcessNumbers::Other),
        ] {
            let (_root, roots) = SysPaths::with_files(&[("proc/self/status", &status)]);
            assert_eq!(ProcessNumbers::of_procfs(&roots), numbers, "{status}");
        }
        let unshare = std::process::Command::new("unshare")
            .args(["--pid", "--fork", "cat", "/proc/self/status"])
            .output();
        match unshare {
            Ok(output) if output.status.success() => {
                assert_eq!(own_numbers(&output.stdout).len(), 2)
            }
            _ => skip(Requirement::Namespaces, "unshare --pid fails"),
        }
        let nowhere = SysPaths::under_root(std::path::Path::new("/nonexistent"));
        assert_eq!(ProcessNumbers::of_procfs(&nowhere), ProcessNumbers::Other);
        assert_eq!(
            ProcessNumbers::of_procfs(&SysPaths::default()),
            ProcessNumbers::Own
        );
    }

    fn assign(roots: &SysPaths, pid: u32) {
        let line = format!("0.10 0.20 0.30 1/90 {pid}\n");
        std::fs::write(roots.proc.join("loadavg"), line).unwrap();
    }

    #[test]
    fn ids_that_were_assigned_are_few_or_all_are_listed() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        std::fs::create_dir_all(&roots.proc).unwrap();
        let mut pids = AssignedPids::default();
        assert_eq!(pids.since_last_call(&roots), None, "not readable");
        assign(&roots, 40);
        assert_eq!(pids.since_last_call(&roots), None, "the first time");
        assert!(pids.since_last_call(&roots).unwrap().is_empty());
        assign(&roots, 43);
        assert_eq!(pids.since_last_call(&roots), Some(41..=43));
        assign(&roots, 5000);
        assert_eq!(pids.since_last_call(&roots), None, "too many");
        assign(&roots, 12);
        assert_eq!(pids.since_last_call(&roots), None, "ids begin again");
    }
}
