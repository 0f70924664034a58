//! Lines of a mount table, `/proc/PID/mountinfo` (proc_pid_mountinfo(5)), and what it says of control groups
//! (cgroups(7)): where their hierarchies are mounted, and which group a process is in.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::roots::SysPaths;

/// One mount. The fields are as the kernel writes them: [`unescape`] returns the plain text of a
/// path or a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MountinfoLine<'a> {
    /// Mount ID.
    pub(crate) id: &'a [u8],
    /// ID of the mount that it is mounted on.
    pub(crate) parent: &'a [u8],
    /// `st_dev` of its files, `MAJOR:MINOR`.
    pub(crate) device_number: &'a [u8],
    /// Root of the mount within the file system.
    pub(crate) root: &'a [u8],
    /// Mount point.
    pub(crate) mount_point: &'a [u8],
    /// Options of the mount, separated by commas.
    pub(crate) options: &'a [u8],
    /// File system type.
    pub(crate) file_system: &'a [u8],
    /// Mount source.
    pub(crate) source: &'a [u8],
    /// Options of the file system, separated by commas.
    pub(crate) super_options: &'a [u8],
}

impl<'a> MountinfoLine<'a> {
    /// Parses `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE OPTIONS`.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let separator = line.windows(3).position(|bytes| bytes == b" - ")?;
        let mut front = line[..separator].split(|byte| *byte == b' ');
        let mut back = line[separator + 3..].split(|byte| *byte == b' ');
        Some(Self {
            id: front.next()?,
            parent: front.next()?,
            device_number: front.next()?,
            root: front.next()?,
            mount_point: front.next()?,
            options: front.next()?,
            file_system: back.next()?,
            source: back.next()?,
            super_options: back.next().unwrap_or_default(),
        })
    }

    /// Whether the file system has this option.
    pub(crate) fn has_super_option(&self, option: &str) -> bool {
        let mut options = self.super_options.split(|byte| *byte == b',');
        options.any(|own| own == option.as_bytes())
    }
}

/// The mounts of a table.
pub(crate) fn mountinfo_lines(table: &[u8]) -> impl Iterator<Item = MountinfoLine<'_>> {
    table
        .split(|byte| *byte == b'\n')
        .filter_map(MountinfoLine::parse)
}

/// Undoes the escapes of a field: the kernel writes space, tab, newline and backslash as `\` and
/// three octal digits.
pub(crate) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after
            .get(..3)
            .filter(|_| byte == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    plain
}

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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn line_of_mount_table_is_split_into_fields() {
        let table = b"nonsense\n - cgroup2 x rw\n\
            36 35 98:0 /mnt1 /mnt/my\\040disk rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n";
        let [line] = mountinfo_lines(table).collect::<Vec<_>>()[..] else {
            panic!("one line is complete");
        };
        assert_eq!((line.id, line.parent), (&b"36"[..], &b"35"[..]));
        assert_eq!(line.device_number, b"98:0");
        assert_eq!(
            (line.root, line.options),
            (&b"/mnt1"[..], &b"rw,noatime"[..])
        );
        assert_eq!(unescape(line.mount_point), b"/mnt/my disk");
        assert_eq!(
            (line.file_system, line.source),
            (&b"ext3"[..], &b"/dev/root"[..])
        );
        assert!(line.has_super_option("errors=continue") && !line.has_super_option("errors"));
    }

    #[test]
    fn escape_has_three_octal_digits() {
        assert_eq!(unescape(br"a\134b\04"), br"a\b\04");
        assert_eq!(unescape(br"\011"), b"\t");
    }

    /// As the kernel writes a path (fs/proc_namespace.c, `mangle`; `#` only in newer kernels).
    fn escaped(path: &[u8]) -> Vec<u8> {
        let escape = |byte: &u8| match byte {
            b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{byte:03o}").into_bytes(),
            plain => vec![*plain],
        };
        path.iter().flat_map(escape).collect()
    }

    proptest! {
        #[test]
        fn escaped_paths_are_read_back(
            root in prop::collection::vec(1_u8..=255, 1..20),
            point in prop::collection::vec(prop_oneof![1_u8..=255, Just(b'\\'), Just(b' '), Just(b'-')], 1..20),
            source in prop::collection::vec(1_u8..=255, 1..20),
        ) {
            // Root and mount point are absolute paths: neither is the separator alone.
            let (root, point) = ([&b"/"[..], &root].concat(), [&b"/"[..], &point].concat());
            let mut line = b"36 35 98:0 ".to_vec();
            line.extend(escaped(&root));
            line.push(b' ');
            line.extend(escaped(&point));
            line.extend(b" rw,noatime master:1 - fuse.x ");
            line.extend(escaped(&source));
            line.extend(b" rw\n");
            let [read] = mountinfo_lines(&line).collect::<Vec<_>>()[..] else {
                return Err(TestCaseError::fail("one line"));
            };
            prop_assert_eq!(unescape(read.root), root);
            prop_assert_eq!(unescape(read.mount_point), point);
            prop_assert_eq!(unescape(read.source), source);
            prop_assert_eq!(read.file_system, b"fuse.x");
        }

        #[test]
        fn any_table_is_read(table: Vec<u8>) {
            let lines = table.split(|byte| *byte == b'\n').count();
            prop_assert!(mountinfo_lines(&table).count() <= lines);
            prop_assert!(unescape(&table).len() <= table.len());
        }
    }

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
