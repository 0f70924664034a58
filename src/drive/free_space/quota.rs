//! What quotas leave for a file: those of its owner, its group and its project (quotactl(2)), and on
//! btrfs those of its subvolume.
//!
//! A quota that is used up refuses the writes of others who share it as a full file system does: an
//! image that counts for the same project loses data that the kernel has accepted.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use super::file_directory::directory_of;
use super::upper_directory::open_upper_directory;
use super::{FreeSpace, RESERVE_BYTES, RESERVE_DIVISOR};
use crate::drive::btrfs;
use crate::drive::space_limit::SpaceLimit;
use crate::drive::user_namespace;
use crate::inode_attributes::InodeAttributes;
use crate::roots::SysPaths;

/// `Q_GETQUOTA` (include/uapi/linux/quota.h).
const Q_GETQUOTA: u32 = 0x80_0007;
/// `Q_XGETQSTAT` (include/uapi/linux/dqblk_xfs.h).
const Q_XGETQSTAT: u32 = 0x5805;
/// Bytes of the blocks in which limits are counted (`QIF_DQBLKSIZE`).
const LIMIT_BLOCK_BYTES: u64 = 1024;

/// `struct if_dqblk`.
#[repr(C)]
#[derive(Default)]
struct QuotaBlock {
    hard_limit: u64,
    soft_limit: u64,
    used_bytes: u64,
    inode_hard_limit: u64,
    inode_soft_limit: u64,
    used_inodes: u64,
    grace: u64,
    inode_grace: u64,
    valid: u32,
}

/// Whose quota it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuotaKind {
    User,
    Group,
    Project,
}

impl QuotaKind {
    /// `USRQUOTA`, `GRPQUOTA` and `PRJQUOTA`.
    fn number(self) -> u32 {
        match self {
            Self::User => 0,
            Self::Group => 1,
            Self::Project => 2,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Group => "group",
            Self::Project => "project",
        }
    }
}

/// What each quota leaves that a file counts for, as far as this user may know them. Below an overlay,
/// the quotas are those of the file system of its upper directory.
pub(super) fn quota_rooms(roots: &SysPaths, file: &File) -> Vec<FreeSpace> {
    let Ok(facts) = file.metadata() else {
        return Vec::new();
    };
    let upper = open_upper_directory(roots, file);
    let place = upper.as_ref().unwrap_or(file);
    let owners = [
        (QuotaKind::User, facts.uid()),
        (QuotaKind::Group, facts.gid()),
    ];
    let is_first = user_namespace::is_first(roots);
    let owned = owners
        .into_iter()
        .filter(|(_, id)| may_have_limits(*id, is_first))
        .filter_map(|(kind, id)| quota(place, kind, id).ok().flatten());
    let groups = btrfs::quota_limits(place).unwrap_or_default();
    let groups = groups.iter().map(|group| {
        let owner = format!("the quota group {}", group.name());
        room(owner, group.limit_bytes, group.used_bytes)
    });
    owned.chain(project_room(place)).chain(groups).collect()
}

/// What the quota of the project leaves that a file or directory belongs to.
fn project_room(place: &File) -> Option<FreeSpace> {
    let project = InodeAttributes::of_file(place)?.project_id;
    // Files without a project.
    if project == 0 {
        return None;
    }
    match quota(place, QuotaKind::Project, project) {
        Ok(room) => room,
        Err(_) => project_of_directory(place, project),
    }
}

/// Whether a user or a group may have limits: not root and its group, for which XFS keeps the limits that others
/// get by default. In another user namespace than the first, these are an ordinary user and group under other
/// numbers, which the kernel translates.
fn may_have_limits(id: u32, is_first_namespace: bool) -> bool {
    id != 0 || !is_first_namespace
}

/// What a quota leaves; `None` without a limit.
///
/// # Errors
/// `ESRCH` where there are no quotas, `EPERM` for one that this user may not read, `ENOSYS` before Linux
/// 5.14 and on file systems without quotas.
fn quota(file: &File, kind: QuotaKind, id: u32) -> io::Result<Option<FreeSpace>> {
    if is_unenforced(file, kind) {
        return Ok(None);
    }
    let mut block = QuotaBlock::default();
    // SAFETY: the command writes a `struct if_dqblk`; any bytes are a value of it.
    unsafe { quotactl(file, Q_GETQUOTA, kind, id, &mut block) }?;
    let owner = format!("the quota of {} {id}", kind.name());
    Ok(limit_bytes(&block).map(|limit| room(owner, limit, block.used_bytes)))
}

/// Whether the kernel only counts what is used, without limits.
fn is_unenforced(file: &File, kind: QuotaKind) -> bool {
    // `struct fs_quota_stat` has 80 bytes, of which the third and fourth are flags: for each kind whether
    // it is counted and whether it is enforced.
    let mut state = [0_u8; 128];
    // SAFETY: the command writes a `struct fs_quota_stat`, for which there is room.
    let answer = unsafe { quotactl(file, Q_XGETQSTAT, kind, 0, &mut state) };
    let flags = u16::from_ne_bytes([state[2], state[3]]);
    answer.is_ok() && flags & 1 << (2 * kind.number() + 1) == 0
}

/// Has the kernel write the answer to a command of quotactl_fd(2).
///
/// # Safety
/// What the command writes fits into `T`, and any bytes are a value of it.
unsafe fn quotactl<T>(
    file: &File,
    command: u32,
    kind: QuotaKind,
    id: u32,
    answer: &mut T,
) -> io::Result<()> {
    let command = (command << 8) | kind.number();
    // SAFETY: the caller promises that the answer fits.
    let result = unsafe {
        libc::syscall(
            libc::SYS_quotactl_fd,
            file.as_raw_fd(),
            command,
            id,
            std::ptr::from_mut(answer),
        )
    };
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The lower one of both limits: beyond the soft one, writes are refused some time later.
fn limit_bytes(block: &QuotaBlock) -> Option<u64> {
    let limits = [block.hard_limit, block.soft_limit].into_iter();
    let lowest = limits.filter(|limit| *limit > 0).min()?;
    Some(lowest.saturating_mul(LIMIT_BLOCK_BYTES))
}

/// What the quota of a project leaves by statfs(2) of the directory of a file: XFS and ext4 report it
/// there to everybody.
fn project_of_directory(file: &File, project: u32) -> Option<FreeSpace> {
    let directory = directory_of(file)?;
    let of_directory = InodeAttributes::of_file(&directory)?;
    let (own, whole) = (
        rustix::fs::fstatvfs(&directory).ok()?,
        rustix::fs::fstatvfs(file).ok()?,
    );
    // Without a limit, or without inheritance of the project, it is that of the file system.
    if of_directory.project_id != project || own.f_blocks == whole.f_blocks {
        return None;
    }
    let limit = own.f_blocks.saturating_mul(own.f_frsize);
    let free = own.f_bavail.saturating_mul(own.f_frsize);
    let owner = format!("the quota of project {project}");
    Some(room(owner, limit, limit.saturating_sub(free)))
}

fn room(owner: String, limit: u64, used: u64) -> FreeSpace {
    // That of a file system, but at most half of the quota.
    let least = RESERVE_BYTES.min(limit / 2);
    FreeSpace {
        free_bytes: limit.saturating_sub(used),
        reserve_bytes: least.max(limit / RESERVE_DIVISOR),
        limit: Some(SpaceLimit::Quota(owner)),
        unwritten_bytes: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_limit_of_a_quota_counts() {
        let of = |hard_limit, soft_limit| {
            limit_bytes(&QuotaBlock {
                hard_limit,
                soft_limit,
                ..QuotaBlock::default()
            })
        };
        assert_eq!(of(0, 0), None);
        assert_eq!(of(2048, 0), Some(2 << 20));
        assert_eq!(of(2048, 1024), Some(1 << 20));
        assert_eq!(of(0, 1024), Some(1 << 20));
    }

    #[test]
    fn root_of_a_user_namespace_may_have_limits() {
        assert!(!may_have_limits(0, true));
        assert!(may_have_limits(0, false));
        assert!(may_have_limits(1000, true));
    }

    #[test]
    fn reserve_of_a_quota_is_at_most_half_of_it() {
        let room_of = |limit, used| room("the quota of user 7".to_owned(), limit, used);
        assert_eq!(room_of(100 << 20, 40 << 20).usable_bytes(), 10 << 20);
        assert_eq!(room_of(4 << 30, 1 << 30).reserve_bytes, 1 << 30);
        assert_eq!(room_of(40 << 30, 1 << 30).reserve_bytes, 2 << 30);
        assert_eq!(room_of(1 << 30, 2 << 30).free_bytes, 0);
    }
}
