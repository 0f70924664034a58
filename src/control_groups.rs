//! Control groups of both versions (cgroups(7)): where their hierarchies are mounted, and which
//! group a process is in.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

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
    /// The mounts of this hierarchy; empty where it is not mounted.
    pub(crate) fn mounts(self, roots: &SysPaths) -> Vec<HierarchyMount> {
        let text = fs::read(roots.proc.join("self/mountinfo")).unwrap_or_default();
        text.split(|byte| *byte == b'\n')
            .filter_map(|line| self.parse_mount(roots, line))
            .collect()
    }

    /// Parses a line of mountinfo (proc_pid_mountinfo(5)).
    fn parse_mount(self, roots: &SysPaths, line: &[u8]) -> Option<HierarchyMount> {
        let separator = line.windows(3).position(|bytes| bytes == b" - ")?;
        let mut back = line[separator + 3..].split(|byte| *byte == b' ');
        let kind = back.next()?;
        let options = back.nth(1).unwrap_or_default();
        let is_wanted = match self {
            Self::V2 => kind == b"cgroup2",
            Self::V1(controller) => {
                let mut options = options.split(|byte| *byte == b',');
                kind == b"cgroup" && options.any(|option| option == controller.as_bytes())
            }
        };
        let mut front = line[..separator].split(|byte| *byte == b' ').skip(3);
        let group_root = unescape(front.next()?);
        let mount_point = unescape(front.next()?);
        let directory = match mount_point.strip_prefix("/sys") {
            Ok(below) => roots.sys.join(below),
            Err(_) => mount_point,
        };
        is_wanted.then_some(HierarchyMount {
            group_root,
            directory,
        })
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

/// Undoes the octal escapes of mountinfo, such as `\040` for a space.
fn unescape(text: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *byte == b'\\');
        let code = digits.and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        plain.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(std::ffi::OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        30 23 0:26 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n\
        31 23 0:27 /docker/abc /sys/fs/cgroup/blkio ro - cgroup cgroup rw,blkio\n\
        32 23 0:28 / /mnt/with\\040space rw - cgroup cgroup rw,cpu,cpuacct\n";

    fn machine(mounts: &str) -> (tempfile::TempDir, SysPaths) {
        let directory = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(directory.path());
        fs::create_dir_all(roots.proc.join("self")).unwrap();
        fs::write(roots.proc.join("self/mountinfo"), mounts).unwrap();
        (directory, roots)
    }

    #[test]
    fn hierarchies_of_both_versions_are_found_where_they_are_mounted() {
        let (_directory, roots) = machine(MOUNTS);
        let group = |hierarchy: Hierarchy, group: &str| {
            let mounts = hierarchy.mounts(&roots);
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
        assert!(Hierarchy::V1("memory").mounts(&roots).is_empty());
        let (_directory, without) = machine("nonsense\n - cgroup2 x rw\n");
        assert!(Hierarchy::V2.mounts(&without).is_empty());
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
