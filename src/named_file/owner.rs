//! The effective owner of a file: on FUSE the server can report any owner.

use std::fmt;
use std::os::fd::AsFd;

use rustix::fs::{Stat, fstatfs, major, minor};

use crate::mountinfo::mountinfo_lines;

/// `f_type` of FUSE (statfs(2)), also of virtiofs.
const FUSE_SUPER_MAGIC: u64 = 0x6573_5546;

/// The user who controls a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOwner {
    User(u32),
    /// The user of a FUSE file system whose mount is not visible here.
    UnknownFuseUser,
    /// Any user who can write to its directory.
    Anybody,
}

impl FileOwner {
    /// The owner of an open file. A FUSE file system of a user other than root, with all its files,
    /// belongs to the user who mounted it.
    pub(super) fn of_file(file: impl AsFd, stat: &Stat) -> Self {
        let is_fuse = fstatfs(file)
            .is_ok_and(|facts| super::kernel_files::file_system_magic(&facts) == FUSE_SUPER_MAGIC);
        if !is_fuse {
            return Self::User(stat.st_uid);
        }
        let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        let device = (major(stat.st_dev), minor(stat.st_dev));
        match fuse_mount_owner(&table, device) {
            Some(0) => Self::User(stat.st_uid),
            Some(user) => Self::User(user),
            None => Self::UnknownFuseUser,
        }
    }

    /// Whether it is root or the user of this process.
    pub(super) fn is_trusted(self) -> bool {
        self == Self::User(0) || self.is_effective_user()
    }

    /// Whether it is the user of this process.
    pub(super) fn is_effective_user(self) -> bool {
        self == Self::User(rustix::process::geteuid().as_raw())
    }

    /// Whether both are the same user; `false` for two unknown ones.
    pub(super) fn is_same(self, other: Self) -> bool {
        matches!(self, Self::User(_)) && self == other
    }
}

impl fmt::Display for FileOwner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(out, "user {user}"),
            Self::UnknownFuseUser => out.write_str("an unknown user (a FUSE file system)"),
            Self::Anybody => out.write_str("any user who can write to its directory"),
        }
    }
}

/// The user who mounted the FUSE file system with that device number (proc_pid_mountinfo(5)). All
/// mounts with the same number are the same file system with the same options.
fn fuse_mount_owner(table: &[u8], device: (u32, u32)) -> Option<u32> {
    let number = format!("{}:{}", device.0, device.1);
    let mount = mountinfo_lines(table).find(|mount| mount.device_number == number.as_bytes())?;
    // Only root can mount virtiofs, and the host is its server.
    if mount.file_system == b"virtiofs" {
        return Some(0);
    }
    let user = |option: &[u8]| {
        let user = option.strip_prefix(b"user_id=")?;
        std::str::from_utf8(user).ok()?.parse().ok()
    };
    mount
        .super_options
        .split(|byte| *byte == b',')
        .find_map(user)
}

#[cfg(test)]
mod tests {
    use super::fuse_mount_owner;

    #[test]
    fn fuse_server_is_read_from_mount_table() {
        let table = b"\
            30 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,user_id=5\n\
            41 30 0:55 / /home/joe/my\\040dir rw,nosuid - fuse.sshfs joe@host: rw,user_id=1000,group_id=1000\n\
            42 30 0:56 / /media rw - fuse.x x rw,group_id=0,allow_other\n\
            43 30 0:57 / /host rw - virtiofs share rw\n";
        assert_eq!(fuse_mount_owner(table, (0, 55)), Some(1000));
        assert_eq!(fuse_mount_owner(table, (0, 56)), None);
        assert_eq!(fuse_mount_owner(table, (0, 57)), Some(0));
        assert_eq!(fuse_mount_owner(table, (0, 58)), None);
    }
}
