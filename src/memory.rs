//! Limits of the memory that this program can allocate for buffers or for files in memory (tmpfs).
//! They are checked before the allocation: in a control group the kernel kills a process that
//! exceeds the limit instead of failing the allocation.

use std::fs;
use std::path::Path;

use crate::control_groups::{Hierarchy, HierarchyMount, read_mount_table};
use crate::roots::SysPaths;
use crate::units::format_block_size;

/// Reserve for the rest of the program.
const RESERVED_BYTES: u64 = 8 << 20;

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

/// All known limits: those of the machine and of the control groups.
#[must_use]
pub(crate) fn memory_limits(roots: &SysPaths) -> Vec<MemoryLimit> {
    let mut limits: Vec<MemoryLimit> = machine_limit(roots).into_iter().collect();
    let groups = fs::read(roots.proc.join("self/cgroup")).unwrap_or_default();
    let mount_table = read_mount_table(roots);
    for version in [&CGROUP_V2, &CGROUP_V1] {
        let Some(group) = version.hierarchy.group_of(&groups) else {
            continue;
        };
        for mount in version.hierarchy.mounts(roots, &mount_table) {
            limits.extend(hierarchy_limits(version, &mount, &group));
        }
    }
    limits
}

/// Memory that the machine has available without swapping (proc_meminfo(5)).
#[must_use]
pub(crate) fn machine_limit(roots: &SysPaths) -> Option<MemoryLimit> {
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

/// The files of a control group version (kernel Documentation/admin-guide/cgroup-v2.rst,
/// cgroup-v1/memory.rst).
struct MemoryCgroupVersion {
    hierarchy: Hierarchy,
    limit: &'static str,
    usage_file: &'static str,
    /// Field of `memory.stat`: reclaimable file pages.
    page_cache_key: &'static str,
}

const CGROUP_V2: MemoryCgroupVersion = MemoryCgroupVersion {
    hierarchy: Hierarchy::V2,
    limit: "memory.max",
    usage_file: "memory.current",
    page_cache_key: "inactive_file",
};

const CGROUP_V1: MemoryCgroupVersion = MemoryCgroupVersion {
    hierarchy: Hierarchy::V1("memory"),
    limit: "memory.limit_in_bytes",
    usage_file: "memory.usage_in_bytes",
    page_cache_key: "total_inactive_file",
};

impl MemoryCgroupVersion {
    fn limit(&self, directory: &Path, group: &str) -> Option<MemoryLimit> {
        let number = |name| -> Option<u64> {
            let text = fs::read_to_string(directory.join(name)).ok()?;
            text.trim().parse().ok()
        };
        // `max` is not a number: there is no limit.
        let (limit, used) = (number(self.limit)?, number(self.usage_file)?);
        let stat = fs::read_to_string(directory.join("memory.stat")).unwrap_or_default();
        let cached = stat
            .lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(name, _)| *name == self.page_cache_key)
            .and_then(|(_, value)| value.trim().parse().ok())
            .unwrap_or(0);
        Some(MemoryLimit {
            available_bytes: limit.saturating_sub(used.saturating_sub(cached)),
            total_bytes: limit,
            limit_name: format!(
                "{} ({}) of the control group {group}",
                self.limit,
                format_block_size(limit as f64)
            ),
        })
    }
}

/// The limits of a group and of all visible groups above it.
fn hierarchy_limits(
    version: &MemoryCgroupVersion,
    mount: &HierarchyMount,
    group: &Path,
) -> Vec<MemoryLimit> {
    let own = mount.group_directory(group);
    own.ancestors()
        .take_while(|directory| directory.starts_with(&mount.directory))
        .filter_map(|directory| {
            let below = directory.strip_prefix(&mount.directory).ok()?;
            let name = Path::new("/").join(below);
            version.limit(directory, &name.display().to_string())
        })
        .collect()
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
    fn memory_limits_of_cgroup_v1_are_found_in_container() {
        let mounts = "40 23 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                      41 23 0:31 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
        let (_directory, roots) = SysPaths::with_files(&[
            (
                "proc/self/cgroup",
                "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n",
            ),
            ("proc/self/mountinfo", mounts),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "33554432\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "4194304\n"),
        ]);
        assert_eq!(exceeded_limit(&roots, 20 * MIB), None);
        let reason = exceeded_limit(&roots, 21 * MIB).unwrap();
        assert!(
            reason.starts_with("memory.limit_in_bytes (32 MiB)"),
            "{reason}"
        );
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
