//! The hierarchies of control groups that concern block I/O.

use std::path::{Path, PathBuf};

use super::limits::{IoLimit, add_limit, limits_of_group};
use crate::mountinfo::{Hierarchy, HierarchyMount, read_mount_table};
use crate::probe::text::read_file;
use crate::roots::SysPaths;

/// The hierarchy of version 1 that limits and counts block I/O.
pub(super) const BLKIO: Hierarchy = Hierarchy::V1("blkio");
/// The hierarchy in which systemd keeps its units where version 2 is not mounted.
const SYSTEMD: Hierarchy = Hierarchy::V1("name=systemd");

/// Where the hierarchies are mounted. Read once, and again when something was mounted.
#[derive(Debug, Default)]
pub(crate) struct IoHierarchies {
    pub(super) blkio: Vec<HierarchyMount>,
    pub(super) unified: Vec<HierarchyMount>,
}

/// What is known of a process through its control groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Membership {
    /// The group that names its unit; `None` where it is in the root groups only.
    pub(crate) group: Option<PathBuf>,
    /// Its I/O limits: those of its groups and of all their ancestors.
    pub(crate) limits: Vec<IoLimit>,
}

impl IoHierarchies {
    pub(crate) fn find(roots: &SysPaths) -> Self {
        let mount_table = read_mount_table(roots);
        Self {
            blkio: BLKIO.mounts(roots, &mount_table),
            unified: Hierarchy::V2.mounts(roots, &mount_table),
        }
    }

    /// The groups of a process; empty where they cannot be read.
    pub(crate) fn membership(&self, roots: &SysPaths, pid: u32) -> Membership {
        let Some(text) = read_file(&roots.proc.join(format!("{pid}/cgroup"))) else {
            return Membership::default();
        };
        let mut limits = Vec::new();
        for (hierarchy, mounts) in [(BLKIO, &self.blkio), (Hierarchy::V2, &self.unified)] {
            let Some(group) = hierarchy.group_of(&text) else {
                continue;
            };
            for mount in mounts {
                let own = mount.group_directory(&group);
                let visible = |directory: &&Path| directory.starts_with(&mount.directory);
                for directory in own.ancestors().take_while(visible) {
                    for limit in limits_of_group(directory, hierarchy) {
                        add_limit(&mut limits, &limit);
                    }
                }
            }
        }
        let group = [Hierarchy::V2, SYSTEMD, BLKIO]
            .into_iter()
            .filter_map(|hierarchy| hierarchy.group_of(&text))
            .find(|group| group != Path::new("/"));
        Membership { group, limits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strictest_io_limit_of_all_cgroups_applies() {
        let (_root, roots) = SysPaths::with_files(&[
            (
                "proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("proc/7/cgroup", "0::/backup.slice/copy.service\n"),
            (
                "sys/fs/cgroup/backup.slice/io.max",
                "8:0 rbps=2000000 wbps=max riops=max wiops=120\n",
            ),
            (
                "sys/fs/cgroup/backup.slice/copy.service/io.max",
                "8:0 rbps=3000000 wbps=1000 riops=max wiops=max\n259:0 rbps=5 wbps=max\n",
            ),
        ]);
        let membership = IoHierarchies::find(&roots).membership(&roots, 7);
        let expected = [
            IoLimit {
                device: (8, 0),
                read_bytes_per_s: Some(2_000_000),
                write_bytes_per_s: Some(1000),
                read_ios_per_s: None,
                write_ios_per_s: Some(120),
            },
            IoLimit {
                device: (259, 0),
                read_bytes_per_s: Some(5),
                ..IoLimit::default()
            },
        ];
        assert_eq!(membership.limits, expected);
        assert_eq!(
            membership.group.as_deref(),
            Some(Path::new("/backup.slice/copy.service"))
        );
        assert_eq!(
            IoHierarchies::find(&roots).membership(&roots, 8),
            Membership::default()
        );
    }

    #[test]
    fn cgroup_v1_limits_are_read_from_separate_files() {
        let (_root, roots) = SysPaths::with_files(&[
            (
                "proc/self/mountinfo",
                "31 23 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
            ),
            (
                "proc/7/cgroup",
                "8:pids:/\n7:blkio,cpu:/slow\n1:cpuacct:/slow\n0::/\n",
            ),
            (
                "sys/fs/cgroup/blkio/slow/blkio.throttle.read_bps_device",
                "254:0 1048576\n",
            ),
            (
                "sys/fs/cgroup/blkio/slow/blkio.throttle.write_iops_device",
                "254:0 50\n",
            ),
        ]);
        let expected = IoLimit {
            device: (254, 0),
            read_bytes_per_s: Some(1 << 20),
            write_ios_per_s: Some(50),
            ..IoLimit::default()
        };
        let membership = IoHierarchies::find(&roots).membership(&roots, 7);
        assert_eq!(membership.limits, [expected]);
        assert_eq!(membership.group.as_deref(), Some(Path::new("/slow")));
    }
}
