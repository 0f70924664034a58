//! Control groups with a limit of memory or of processor time, and how often they reached it (kernel
//! Documentation/admin-guide/cgroup-v2.rst; the same files of version 1 have other names).

use std::fs;
use std::path::{Path, PathBuf};

use crate::drive::mountinfo::{Hierarchy, read_mount_table};
use crate::probe::text::{named_numbers, nonempty_lines, parse_number, read_file, split_fields};
use crate::roots::SysPaths;

/// Depth of groups, and number of limited ones, that are looked at.
const MAX_DEPTH: usize = 16;
const MAX_LIMITED: usize = 256;
/// A limit of version 1 from which there is none: the largest number of pages.
const NO_LIMIT: u64 = 1 << 60;

/// A control group with a limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LimitedGroup {
    /// Its directory in the control file system.
    pub directory: PathBuf,
    /// Whether it is of version 1.
    pub is_first_version: bool,
    /// Its limit of memory in bytes.
    pub memory_bytes: Option<u64>,
    /// How often an allocation reached that limit.
    pub memory_hits: u64,
    /// Its quota of processor time in processors.
    pub processors: Option<f64>,
    /// Periods of the quota in which it ran, and those in which it had to stop.
    pub periods: u64,
    /// Those of them in which it was stopped.
    pub throttled_periods: u64,
    /// The processes in it and in the groups within.
    pub pids: Vec<u32>,
}

/// The groups with a limit.
#[must_use]
pub fn limited_groups(roots: &SysPaths) -> Vec<LimitedGroup> {
    let table = read_mount_table(roots);
    let hierarchies = [Hierarchy::V2, Hierarchy::V1("memory"), Hierarchy::V1("cpu")];
    let mut found = Vec::new();
    for hierarchy in hierarchies {
        let begin = found.len();
        for mount in hierarchy.mounts(roots, &table) {
            for directory in subdirectories(&mount.directory) {
                add_limited(&mut found, directory, MAX_DEPTH);
            }
        }
        for group in &mut found[begin..] {
            group.is_first_version = hierarchy != Hierarchy::V2;
        }
    }
    found
}

fn subdirectories(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|it| it.path())
}

fn add_limited(found: &mut Vec<LimitedGroup>, directory: PathBuf, depth: usize) {
    if depth == 0 || found.len() == MAX_LIMITED {
        return;
    }
    for below in subdirectories(&directory) {
        add_limited(found, below, depth - 1);
    }
    if let Some(mut group) = read_limits(&directory) {
        group.pids = processes_below(&directory, depth);
        group.directory = directory;
        found.push(group);
    }
}

/// The limits of a group and how often they were reached. Of most groups, which have none, the counters are
/// not read.
fn read_limits(directory: &Path) -> Option<LimitedGroup> {
    let read = |name: &str| read_file(&directory.join(name));
    let number = |name: &str| parse_number(read(name)?.trim_ascii());
    let memory = number("memory.max").or_else(|| number("memory.limit_in_bytes"));
    let memory_bytes = memory.filter(|bytes| *bytes < NO_LIMIT);
    let processors = quota(&read("cpu.max").unwrap_or_default()).or_else(|| {
        let period = number("cpu.cfs_period_us").filter(|period| *period > 0)?;
        Some(number("cpu.cfs_quota_us")? as f64 / period as f64)
    });
    if memory_bytes.is_none() && processors.is_none() {
        return None;
    }
    let events = read("memory.events").unwrap_or_default();
    let [hits] = named_numbers(&events, ["max"]);
    let statistics = read("cpu.stat").unwrap_or_default();
    let [periods, throttled_periods] = named_numbers(&statistics, ["nr_periods", "nr_throttled"]);
    Some(LimitedGroup {
        memory_bytes,
        memory_hits: hits.or_else(|| number("memory.failcnt")).unwrap_or(0),
        processors,
        periods: periods.unwrap_or(0),
        throttled_periods: throttled_periods.unwrap_or(0),
        ..LimitedGroup::default()
    })
}

/// The quota in `cpu.max`: `QUOTA PERIOD`, or `max PERIOD` without one.
fn quota(text: &[u8]) -> Option<f64> {
    let mut fields = split_fields(text.trim_ascii()).map(parse_number);
    let (quota, period) = (fields.next()??, fields.next()??);
    (period > 0).then(|| quota as f64 / period as f64)
}

fn processes_below(directory: &Path, depth: usize) -> Vec<u32> {
    let listed = read_file(&directory.join("cgroup.procs")).unwrap_or_default();
    let own = nonempty_lines(&listed).filter_map(parse_number);
    let mut pids: Vec<u32> = own.filter_map(|pid| u32::try_from(pid).ok()).collect();
    if depth > 0 {
        for below in subdirectories(directory) {
            pids.extend(processes_below(&below, depth - 1));
        }
    }
    pids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_both_versions_are_read() {
        let mounts = "30 1 0:26 / /sys/fs/cgroup/two rw - cgroup2 cgroup2 rw\n\
                      31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      32 1 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let (_root, roots) = SysPaths::with_files(&[
            ("proc/self/mountinfo", mounts),
            ("sys/fs/cgroup/two/a/memory.max", "1048576\n"),
            (
                "sys/fs/cgroup/two/a/memory.events",
                "low 0\nhigh 0\nmax 7\n",
            ),
            ("sys/fs/cgroup/two/a/cpu.max", "50000 100000\n"),
            (
                "sys/fs/cgroup/two/a/cpu.stat",
                "nr_periods 9\nnr_throttled 5\n",
            ),
            ("sys/fs/cgroup/two/a/b/cgroup.procs", "12\n13\n"),
            ("sys/fs/cgroup/two/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "2097152\n"),
            ("sys/fs/cgroup/memory/c/memory.failcnt", "3\n"),
            (
                "sys/fs/cgroup/memory/d/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("sys/fs/cgroup/cpu/e/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/e/cpu.cfs_period_us", "100000\n"),
        ]);
        let groups = limited_groups(&roots);
        let [a, c] = &groups[..] else {
            panic!("{groups:?}")
        };
        assert_eq!((a.memory_bytes, a.memory_hits), (Some(1 << 20), 7));
        assert_eq!(
            (a.processors, a.periods, a.throttled_periods),
            (Some(0.5), 9, 5)
        );
        assert_eq!(a.pids, [12, 13]);
        assert_eq!((c.memory_bytes, c.memory_hits), (Some(2 << 20), 3));
        assert!(c.directory.ends_with("memory/c"));
    }
}
