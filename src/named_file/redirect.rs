//! Users other than root and the user of this process who control where a path leads.

use std::fmt;
use std::os::fd::AsRawFd;

use rustix::fs::{StatVfsMountFlags, fstatvfs};

use crate::mountinfo::{MountinfoLine, mountinfo_lines};
use crate::named_file::found_file::FoundFile;
use crate::named_file::owner::FileOwner;

/// A redirect: a component that leads elsewhere than the text of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirect {
    /// A symbolic link that this user created or can move.
    Link(FileOwner),
    /// The parent of a directory that this user can move.
    Parent(FileOwner),
    /// A symbolic link on a medium that may come from another system, with its `st_dev`. Owner and
    /// mode of its files say nothing about the users of this system.
    Medium(u64),
}

impl Redirect {
    /// Whether the redirect may lead to a file of that owner on that file system.
    pub(super) fn permits(self, owner: FileOwner, device: u64) -> bool {
        match self {
            Self::Link(other) | Self::Parent(other) => other.is_same(owner),
            Self::Medium(medium) => medium == device,
        }
    }

    /// The redirect of a link on such a medium.
    pub(super) fn of_medium(link: &FoundFile) -> Option<Self> {
        is_made_elsewhere(link).then_some(Self::Medium(link.stat.st_dev))
    }
}

impl fmt::Display for Redirect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(owner) => write!(out, "a symbolic link of {owner}"),
            Self::Parent(owner) => write!(out, "the parent (..) of a directory of {owner}"),
            Self::Medium(_) => out.write_str("a symbolic link on a medium"),
        }
    }
}

/// Whether a file is on a medium that a user may have mounted: mounted `nosuid` and `nodev`, as
/// udisks2 and fusermount do, and not listed in /etc/fstab.
fn is_made_elsewhere(file: &FoundFile) -> bool {
    let careful = StatVfsMountFlags::NOSUID | StatVfsMountFlags::NODEV;
    let is_careful = fstatvfs(&file.descriptor).is_ok_and(|facts| facts.f_flag.contains(careful));
    if !is_careful {
        return false;
    }
    let read = |path: &str| std::fs::read(path).unwrap_or_default();
    let about = read(&format!(
        "/proc/self/fdinfo/{}",
        file.descriptor.as_raw_fd()
    ));
    let number = about
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"mnt_id:"));
    let mount_table = read("/proc/self/mountinfo");
    let mount = number.and_then(|number| find_mount(&mount_table, number.trim_ascii()));
    let Some(mount) = mount else {
        return true;
    };
    is_medium(&mount)
        && !is_listed(
            &String::from_utf8_lossy(&read("/etc/fstab")),
            &String::from_utf8_lossy(mount.mount_point),
        )
}

fn find_mount<'a>(mount_table: &'a [u8], id: &[u8]) -> Option<MountinfoLine<'a>> {
    mountinfo_lines(mount_table).find(|mount| mount.id == id)
}

/// Whether a mount is a disk, or FUSE. In-memory file systems start empty, and root or autofs mounts
/// network file systems.
fn is_medium(mount: &MountinfoLine<'_>) -> bool {
    mount.source.starts_with(b"/dev/") || mount.file_system.starts_with(b"fuse")
}

/// Whether /etc/fstab lists the mount, without permission for users to mount it (fstab(5),
/// mount(8)). Both tables escape spaces in names the same way.
fn is_listed(fstab: &str, point: &str) -> bool {
    fstab.lines().any(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_comment = line.trim_start().starts_with('#');
        let by_users = ["user", "users", "owner", "group"];
        let options = fields.get(3).copied().unwrap_or_default();
        let by_user = options.split(',').any(|option| by_users.contains(&option));
        !is_comment && fields.get(1) == Some(&point) && !by_user
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medium_is_known_by_its_mount() {
        let table = b"\
            30 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
            41 30 8:17 / /media/a\\040b rw,nosuid,nodev shared:1 - ext4 /dev/sdb1 rw\n\
            42 30 0:56 / /run rw,nosuid,nodev - tmpfs tmpfs rw\n\
            43 30 0:57 / /mnt/far rw,nosuid,nodev - fuse.sshfs joe@host: rw\n\
            44 30 0:58 / /home rw,nosuid,nodev - nfs4 server:/home rw\n";
        let mount = |id: &str| find_mount(table, id.as_bytes()).unwrap();
        assert_eq!(mount("41").mount_point, b"/media/a\\040b");
        assert!(is_medium(&mount("41")) && is_medium(&mount("43")));
        assert!(!is_medium(&mount("42")) && !is_medium(&mount("44")));
        assert!(find_mount(table, b"4").is_none());
    }

    #[test]
    fn mount_of_the_administrator_is_listed() {
        let fstab = "\
            # /dev/sdc1 /media/off ext4 defaults 0 0\n\
            /dev/sda2\t/home\text4 nosuid,nodev 0 2\n\
            /dev/sdb1 /media/a\\040b ext4 noauto,user 0 0\n\
            broken\n";
        assert!(is_listed(fstab, "/home"));
        for point in ["/media/a\\040b", "/media/off", "/dev/sda2", "ext4", ""] {
            assert!(!is_listed(fstab, point), "{point}");
        }
    }
}
