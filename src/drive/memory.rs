//! Limits of this process. Those of the memory that this program can allocate for buffers or for files in memory (tmpfs).
//! They are checked before the allocation: in a control group the kernel kills a process that
//! exceeds the limit instead of failing the allocation.

use std::fs;
use std::path::Path;

use crate::drive::mountinfo::{Hierarchy, read_mount_table};
use crate::roots::SysPaths;
use crate::units::format_block_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Reserve for the rest of the program.
const RESERVED_BYTES: u64 = 8 << 20;

/// Raises the soft limit of open files to the hard one (getrlimit(2)). Returns the limit, which is as before
/// where it could not be raised.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    current.unwrap_or(u64::MAX)
}
/// The files of limit and usage. Version 1 has them where systemd mounts both versions.
const MEMORY_CONTROLLERS: [(Hierarchy, (&str, &str)); 2] = [
    (Hierarchy::V2, ("memory.max", "memory.current")),
    (
        Hierarchy::V1("memory"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ),
];

/// A limit of the memory that this program can allocate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryLimit {
    /// Bytes that are still available.
    pub(crate) available_bytes: u64,
    /// Total bytes.
    pub(crate) total_bytes: u64,
    /// Name of the limit, such as `memory.max of the control group /job`.
    pub(crate) limit_name: String,
}

/// Describes the limit that prevents an allocation of this many bytes; `None` where there is none.
#[must_use]
pub(crate) fn exceeded_limit(roots: &SysPaths, bytes: u64) -> Option<String> {
    let limit = memory_limits(roots)
        .into_iter()
        .min_by_key(|limit| limit.available_bytes)?;
    (bytes.saturating_add(RESERVED_BYTES) > limit.available_bytes).then(|| {
        format!(
            "{} leaves {} of memory",
            limit.limit_name,
            format_block_size(limit.available_bytes as f64)
        )
    })
}

/// All known limits: those of the machine, of the control group and of the groups above it.
#[must_use]
pub(crate) fn memory_limits(roots: &SysPaths) -> Vec<MemoryLimit> {
    let mut limits: Vec<MemoryLimit> = machine_limit(roots).into_iter().collect();
    let groups = fs::read(roots.proc.join("self/cgroup")).unwrap_or_default();
    let mount_table = read_mount_table(roots);
    for (hierarchy, files) in MEMORY_CONTROLLERS {
        let Some(group) = hierarchy.group_of(&groups) else {
            continue;
        };
        for mount in hierarchy.mounts(roots, &mount_table) {
            for directory in mount.group_directory(&group).ancestors() {
                let Ok(below) = directory.strip_prefix(&mount.directory) else {
                    break;
                };
                limits.extend(group_limit(files, directory, &Path::new("/").join(below)));
            }
        }
    }
    limits
}

/// Memory that the machine has available without swapping (proc_meminfo(5)).
fn machine_limit(roots: &SysPaths) -> Option<MemoryLimit> {
    let text = fs::read_to_string(roots.proc.join("meminfo")).ok()?;
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(kib.saturating_mul(1024))
    };
    let left = value("MemAvailable:")?;
    Some(MemoryLimit {
        available_bytes: left,
        total_bytes: value("MemTotal:").unwrap_or(left),
        limit_name: "the machine".to_owned(),
    })
}

/// The limit of a control group (kernel Documentation/admin-guide/cgroup-v2.rst).
fn group_limit(
    (limit_file, usage_file): (&str, &str),
    directory: &Path,
    group: &Path,
) -> Option<MemoryLimit> {
    let number = |name| -> Option<u64> {
        let text = fs::read_to_string(directory.join(name)).ok()?;
        text.trim().parse().ok()
    };
    // `max` is not a number: there is no limit.
    let (limit, used) = (number(limit_file)?, number(usage_file)?);
    let stat = fs::read_to_string(directory.join("memory.stat")).unwrap_or_default();
    Some(MemoryLimit {
        available_bytes: limit.saturating_sub(used.saturating_sub(reclaimable_bytes(&stat))),
        total_bytes: limit,
        limit_name: format!(
            "{limit_file} ({}) of the control group {}",
            format_block_size(limit as f64),
            group.display()
        ),
    })
}

/// What of the memory the kernel reclaims before it fails an allocation, of a `memory.stat`. Of what is in use half
/// counts, as in `MemAvailable` (kernel mm/show_mem.c, `si_mem_available`): file pages that were read twice are
/// active.
fn reclaimable_bytes(stat: &str) -> u64 {
    let counted = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        let bytes: u64 = value.trim().parse().ok()?;
        match name {
            "inactive_file" => Some(bytes),
            "active_file" | "slab_reclaimable" => Some(bytes / 2),
            _ => None,
        }
    };
    stat.lines()
        .filter_map(counted)
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    const UNIFIED_HIERARCHY: &str =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn memory_limit_of_parent_cgroup_is_named_in_refusal() {
        let (_directory, roots) = SysPaths::with_files(&[
            ("proc/self/cgroup", "0::/batch/job\n"),
            ("proc/self/mountinfo", UNIFIED_HIERARCHY),
            ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable: 8388608 kB\n"),
            ("sys/fs/cgroup/batch/memory.max", "67108864\n"),
            ("sys/fs/cgroup/batch/memory.current", "20971520\n"),
            (
                "sys/fs/cgroup/batch/memory.stat",
                "anon 1\ninactive_file 10485760\n",
            ),
            ("sys/fs/cgroup/batch/job/memory.max", "max\n"),
            ("sys/fs/cgroup/batch/job/memory.current", "20971520\n"),
        ]);
        // 64 MiB minus the 10 MiB that cannot be reclaimed.
        assert_eq!(exceeded_limit(&roots, 40 * MIB), None);
        let reason = exceeded_limit(&roots, 60 * MIB).unwrap();
        assert_eq!(
            reason,
            "memory.max (64 MiB) of the control group /batch leaves 54 MiB of memory"
        );
    }

    #[test]
    fn half_of_the_page_cache_that_a_cgroup_uses_is_available() {
        let v2 = "anon 74000\nfile 262144000\nactive_file 251658240\ninactive_file 4194304\n\
                  slab_reclaimable 2097152\nslab 4194304\n";
        assert_eq!(reclaimable_bytes(v2), (4 + 120 + 1) * MIB);
        for unknown in ["", "inactive_file\n", "active_file -1\n"] {
            assert_eq!(reclaimable_bytes(unknown), 0);
        }
        let (_directory, roots) = SysPaths::with_files(&[
            ("proc/self/cgroup", "0::/job\n"),
            ("proc/self/mountinfo", UNIFIED_HIERARCHY),
            ("sys/fs/cgroup/job/memory.max", "268435456\n"),
            ("sys/fs/cgroup/job/memory.current", "267386880\n"),
            ("sys/fs/cgroup/job/memory.stat", v2),
        ]);
        assert_eq!(exceeded_limit(&roots, 100 * MIB), None);
        let reason = exceeded_limit(&roots, 120 * MIB).unwrap();
        assert!(reason.ends_with("leaves 126 MiB of memory"), "{reason}");
    }

    #[test]
    fn memory_of_machine_limits_and_unknown_memory_is_none() {
        let (_directory, roots) =
            SysPaths::with_files(&[("proc/meminfo", "MemAvailable: 102400 kB\n")]);
        assert_eq!(exceeded_limit(&roots, 90 * MIB), None);
        let reason = exceeded_limit(&roots, 200 * MIB).unwrap();
        assert_eq!(reason, "the machine leaves 100 MiB of memory");
        let (_directory, unknown) = SysPaths::with_files(&[]);
        assert_eq!(exceeded_limit(&unknown, u64::MAX), None);
    }
}
