//! Limits of this process. Those of the memory that this program can allocate for buffers or for files in memory (tmpfs).
//! They are checked before the allocation: in a control group the kernel kills a process that
//! exceeds the limit instead of failing the allocation.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::mountinfo::{Hierarchy, HierarchyMount, read_mount_table};
use crate::roots::SysPaths;
use crate::units::format_block_size;

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

/// A limit of the memory that this program can allocate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryLimit {
    /// Bytes that are still available.
    pub(crate) available_bytes: u64,
    /// Total bytes.
    pub(crate) total_bytes: u64,
    /// Free swap: as much of what is in use can be moved there.
    pub(crate) swap_bytes: u64,
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
    let machine = machine_limit(roots);
    let free_swap = machine.as_ref().map_or(0, |machine| machine.swap_bytes);
    let mut limits: Vec<MemoryLimit> = machine.into_iter().collect();
    let groups = fs::read(roots.proc.join("self/cgroup")).unwrap_or_default();
    let mount_table = read_mount_table(roots);
    for version in [&CGROUP_V2, &CGROUP_V1] {
        let Some(group) = version.hierarchy.group_of(&groups) else {
            continue;
        };
        for mount in version.hierarchy.mounts(roots, &mount_table) {
            let groups = hierarchy_limits(version, &mount, &group).into_iter();
            limits.extend(groups.map(|limit| MemoryLimit {
                swap_bytes: limit.swap_bytes.min(free_swap),
                ..limit
            }));
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
        swap_bytes: value("SwapFree:").unwrap_or(0),
        limit_name: "the machine".to_owned(),
    })
}

/// The files of a control group version (kernel Documentation/admin-guide/cgroup-v2.rst,
/// cgroup-v1/memory.rst).
struct MemoryCgroupVersion {
    hierarchy: Hierarchy,
    limit: &'static str,
    usage_file: &'static str,
    swap_limit: &'static str,
    swap_usage_file: &'static str,
    /// Whether the two files of swap count the memory as well.
    swap_includes_memory: bool,
    /// Fields of `memory.stat` that the kernel reclaims, each with the divisor of the part that counts.
    reclaimable_fields: &'static [(&'static str, u64)],
}

/// Divisor of what is in use and reclaimable. `MemAvailable` counts at least half of it too (kernel mm/show_mem.c,
/// `si_mem_available`): file pages that were read twice are active.
const IN_USE_DIVISOR: u64 = 2;

const CGROUP_V2: MemoryCgroupVersion = MemoryCgroupVersion {
    hierarchy: Hierarchy::V2,
    limit: "memory.max",
    usage_file: "memory.current",
    swap_limit: "memory.swap.max",
    swap_usage_file: "memory.swap.current",
    swap_includes_memory: false,
    reclaimable_fields: &[
        ("inactive_file", 1),
        ("active_file", IN_USE_DIVISOR),
        ("slab_reclaimable", IN_USE_DIVISOR),
    ],
};

const CGROUP_V1: MemoryCgroupVersion = MemoryCgroupVersion {
    hierarchy: Hierarchy::V1("memory"),
    limit: "memory.limit_in_bytes",
    usage_file: "memory.usage_in_bytes",
    swap_limit: "memory.memsw.limit_in_bytes",
    swap_usage_file: "memory.memsw.usage_in_bytes",
    swap_includes_memory: true,
    // It tells nothing of the slabs.
    reclaimable_fields: &[
        ("total_inactive_file", 1),
        ("total_active_file", IN_USE_DIVISOR),
    ],
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
        let reclaimable = self.reclaimable_bytes(&stat);
        Some(MemoryLimit {
            available_bytes: limit.saturating_sub(used.saturating_sub(reclaimable)),
            total_bytes: limit,
            swap_bytes: self.swap_bytes(number, (limit, used)),
            limit_name: format!(
                "{} ({}) of the control group {group}",
                self.limit,
                format_block_size(limit as f64)
            ),
        })
    }

    /// Swap that the group may still use, of its files; `u64::MAX` without a limit.
    fn swap_bytes(
        &self,
        number: impl Fn(&'static str) -> Option<u64>,
        (limit, used): (u64, u64),
    ) -> u64 {
        let swap = number(self.swap_limit).zip(number(self.swap_usage_file));
        let Some((swap_limit, swap_used)) = swap else {
            return u64::MAX;
        };
        let (limit, used) = match self.swap_includes_memory {
            true => (limit, used),
            false => (0, 0),
        };
        let swapped = swap_used.saturating_sub(used);
        swap_limit.saturating_sub(limit).saturating_sub(swapped)
    }

    /// What of the memory the kernel reclaims before it fails an allocation, of a `memory.stat`.
    fn reclaimable_bytes(&self, stat: &str) -> u64 {
        let counted = |line: &str| {
            let (name, value) = line.split_once(' ')?;
            let mut fields = self.reclaimable_fields.iter();
            let (_, divisor) = fields.find(|(field, _)| *field == name)?;
            let bytes: u64 = value.trim().parse().ok()?;
            Some(bytes / divisor)
        };
        stat.lines()
            .filter_map(counted)
            .fold(0, u64::saturating_add)
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
    fn swap_is_what_the_machine_and_the_cgroup_leave() {
        let swap_mib = |machine_mib: u64, group: &str, files: &[(&str, &str)]| {
            let memory = format!("MemAvailable: 9 kB\nSwapFree: {} kB\n", machine_mib << 10);
            let mounts = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
                          40 23 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
            let mut all = vec![
                ("proc/meminfo", memory.as_str()),
                ("proc/self/cgroup", group),
                ("proc/self/mountinfo", mounts),
            ];
            all.extend(files);
            let (_directory, roots) = SysPaths::with_files(&all);
            let limits = memory_limits(&roots).into_iter();
            limits
                .map(|limit| limit.swap_bytes / MIB)
                .collect::<Vec<_>>()
        };
        let v2 = |most: &'static str| {
            let files = [
                ("sys/fs/cgroup/job/memory.max", "67108864\n"),
                ("sys/fs/cgroup/job/memory.current", "20971520\n"),
                ("sys/fs/cgroup/job/memory.swap.max", most),
                ("sys/fs/cgroup/job/memory.swap.current", "4194304\n"),
            ];
            swap_mib(100, "0::/job\n", &files)
        };
        assert_eq!(v2("0\n"), [100, 0]);
        assert_eq!(v2("10485760\n"), [100, 6]);
        assert_eq!(v2("max\n"), [100, 100]);
        assert_eq!(v2("10737418240\n"), [100, 100]);
        // Memory and swap together: 64 MiB of memory, 100 MiB in all, 20 and 24 MiB used.
        let v1 = [
            (
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes",
                "67108864\n",
            ),
            (
                "sys/fs/cgroup/memory/job/memory.usage_in_bytes",
                "20971520\n",
            ),
            (
                "sys/fs/cgroup/memory/job/memory.memsw.limit_in_bytes",
                "104857600\n",
            ),
            (
                "sys/fs/cgroup/memory/job/memory.memsw.usage_in_bytes",
                "25165824\n",
            ),
        ];
        assert_eq!(swap_mib(100, "4:memory:/job\n", &v1), [100, 32]);
        assert_eq!(swap_mib(100, "4:memory:/job\n", &v1[..2]), [100, 100]);
    }

    #[test]
    fn half_of_the_page_cache_that_a_cgroup_uses_is_available() {
        let v2 = "anon 74000\nfile 262144000\nactive_file 251658240\ninactive_file 4194304\n\
                  slab_reclaimable 2097152\nslab 4194304\n";
        // The first lines are those of the group without the ones below it.
        let v1 = "active_file 1\ninactive_file 1\ntotal_inactive_file 4194304\n\
                  total_active_file 251658240\n";
        let reclaimable = |version: &MemoryCgroupVersion, stat| {
            let bytes = version.reclaimable_bytes(stat);
            assert_eq!(bytes % MIB, 0);
            bytes / MIB
        };
        assert_eq!(reclaimable(&CGROUP_V2, v2), 4 + 120 + 1);
        assert_eq!(reclaimable(&CGROUP_V1, v1), 4 + 120);
        for version in [&CGROUP_V2, &CGROUP_V1] {
            for unknown in ["", "inactive_file\n", "active_file -1\n"] {
                assert_eq!(version.reclaimable_bytes(unknown), 0);
            }
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
