//! Control groups of both versions (cgroups(7)): where their hierarchies are mounted, and which
//! group a process is in.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::mountinfo::{mountinfo_lines, unescape};
use crate::roots::SysPaths;

/// A hierarchy of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hierarchy {
    /// The only hierarchy of version 2.
    V2,
    /// The hierarchy of version 1 that has this controller, such as `blkio`.
    V1(&'static str),
}

/// A mount of a hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HierarchyMount {
    /// The group at the root of the mount: not `/` in a container that sees a part of the host's
    /// hierarchy.
    group_root: PathBuf,
    /// The directory of that group.
    pub(crate) directory: PathBuf,
}

impl Hierarchy {
    /// The mounts of this hierarchy in a mount table; empty where it is not mounted.
    pub(crate) fn mounts(self, roots: &SysPaths, mount_table: &[u8]) -> Vec<HierarchyMount> {
        mountinfo_lines(mount_table)
            .filter(|line| match self {
                Self::V2 => line.file_system == b"cgroup2",
                Self::V1(controller) => {
                    line.file_system == b"cgroup" && line.has_super_option(controller)
                }
            })
            .map(|line| {
                let mount_point = unescaped_path(line.mount_point);
                HierarchyMount {
                    group_root: unescaped_path(line.root),
                    directory: match mount_point.strip_prefix("/sys") {
                        Ok(below) => roots.sys.join(below),
                        Err(_) => mount_point,
                    },
                }
            })
            .collect()
    }

    /// The group of a process in this hierarchy, from its `/proc/PID/cgroup`
    /// (`ID:CONTROLLERS:PATH`; version 2 has the id 0 and no controllers).
    pub(crate) fn group_of(self, text: &[u8]) -> Option<PathBuf> {
        text.split(|byte| *byte == b'\n').find_map(|line| {
            let mut fields = line.splitn(3, |byte| *byte == b':');
            let (id, controllers) = (fields.next()?, fields.next()?);
            let is_wanted = match self {
                Self::V2 => id == b"0" && controllers.is_empty(),
                Self::V1(controller) => controllers
                    .split(|byte| *byte == b',')
                    .any(|name| name == controller.as_bytes()),
            };
            // A group that was removed while processes are left in it.
            let group = fields.next()?;
            let group = group.strip_suffix(b" (deleted)").unwrap_or(group);
            is_wanted.then(|| PathBuf::from(OsStr::from_bytes(group)))
        })
    }
}

impl HierarchyMount {
    /// The directory of a group. In a container the path of the group may be that of the host, of
    /// which the mount shows only a part.
    pub(crate) fn group_directory(&self, group: &Path) -> PathBuf {
        let visible = group
            .strip_prefix(&self.group_root)
            .unwrap_or(Path::new(""));
        let below = visible.strip_prefix("/").unwrap_or(visible);
        self.directory.join(below)
    }
}

/// The mount table of this process; empty where it cannot be read.
pub(crate) fn read_mount_table(roots: &SysPaths) -> Vec<u8> {
    fs::read(roots.proc.join("self/mountinfo")).unwrap_or_default()
}

fn unescaped_path(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(field)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"\
        30 23 0:26 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n\
        31 23 0:27 /docker/abc /sys/fs/cgroup/blkio ro - cgroup cgroup rw,blkio\n\
        32 23 0:28 / /mnt/with\\040space rw - cgroup cgroup rw,cpu,cpuacct\n";

    #[test]
    fn hierarchies_of_both_versions_are_found_where_they_are_mounted() {
        let roots = SysPaths::under_root(Path::new("/nonexistent"));
        let group = |hierarchy: Hierarchy, group: &str| {
            let mounts = hierarchy.mounts(&roots, MOUNTS);
            assert_eq!(mounts.len(), 1, "{hierarchy:?}");
            mounts[0].group_directory(Path::new(group))
        };
        let below = roots.sys.join("fs/cgroup");
        assert_eq!(
            group(Hierarchy::V2, "/a.slice/b.service"),
            below.join("unified/a.slice/b.service")
        );
        assert_eq!(
            group(Hierarchy::V1("blkio"), "/docker/abc/job"),
            below.join("blkio/job")
        );
        assert_eq!(
            group(Hierarchy::V1("blkio"), "/docker/abc"),
            below.join("blkio")
        );
        assert_eq!(
            group(Hierarchy::V1("cpuacct"), "/"),
            Path::new("/mnt/with space/")
        );
        assert!(Hierarchy::V1("memory").mounts(&roots, MOUNTS).is_empty());
    }

    #[test]
    fn group_of_process_is_found_in_each_hierarchy() {
        let text = b"8:pids:/\n7:blkio,cpu:/slow\n1:name=systemd:/x\n0::/a:b (deleted)\n";
        assert_eq!(
            Hierarchy::V1("blkio").group_of(text),
            Some(PathBuf::from("/slow"))
        );
        assert_eq!(Hierarchy::V2.group_of(text), Some(PathBuf::from("/a:b")));
        assert_eq!(Hierarchy::V1("memory").group_of(text), None);
        assert_eq!(Hierarchy::V2.group_of(b""), None);
    }
}
