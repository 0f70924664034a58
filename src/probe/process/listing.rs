//! Which processes there are.

use std::ops::RangeInclusive;

use super::stat::parse_thread_group;
use crate::probe::text::{parse_number, read_file, split_fields};
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

/// The process ids in `/proc`; none where it cannot be listed.
pub(super) fn list_pids(roots: &SysPaths) -> Vec<u32> {
    let listing = std::fs::read_dir(&roots.proc);
    let names = listing.into_iter().flatten().flatten();
    names
        .filter_map(|entry| {
            let pid = parse_number(entry.file_name().as_encoded_bytes())?;
            u32::try_from(pid).ok()
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

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
