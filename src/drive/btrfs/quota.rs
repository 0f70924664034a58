//! Limits of quota groups (btrfs-qgroup(8)).

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::ioctl::{Opcode, opcode};

use super::tree::{ItemRange, search_tree};
use super::{MAGIC, query};

/// `struct btrfs_ioctl_ino_lookup_args`, 4096 bytes.
type InodeLookup = [u64; 512];

/// `BTRFS_IOC_INO_LOOKUP`.
const INO_LOOKUP: Opcode = opcode::read_write::<InodeLookup>(MAGIC, 18);
/// `BTRFS_FIRST_FREE_OBJECTID`: the root directory of each subvolume.
const ROOT_DIRECTORY: u64 = 256;
/// `BTRFS_QUOTA_TREE_OBJECTID`.
const QUOTA_TREE: u64 = 8;
/// `BTRFS_QGROUP_INFO_KEY`, `BTRFS_QGROUP_LIMIT_KEY` and `BTRFS_QGROUP_RELATION_KEY`.
const INFO_ITEM: u32 = 242;
const LIMIT_ITEM: u32 = 244;
const RELATION_ITEM: u32 = 246;
/// `BTRFS_QGROUP_LIMIT_MAX_RFER` and `BTRFS_QGROUP_LIMIT_MAX_EXCL`.
const LIMITS_REFERENCED: u64 = 1;
const LIMITS_EXCLUSIVE: u64 = 1 << 1;
/// Bits of the id of a group below its level.
const LEVEL_SHIFT: u32 = 48;
/// More groups above one subvolume are not examined.
const MAX_GROUPS: usize = 64;

/// A limit of a quota group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaGroupLimit {
    /// Id of the group: the level in the upper 16 bits, and on level 0 the id of the subvolume.
    pub group: u64,
    /// The limit in bytes.
    pub limit_bytes: u64,
    /// Bytes that count for it, as of the last commit.
    pub used_bytes: u64,
}

impl QuotaGroupLimit {
    /// The id as btrfs(8) prints it.
    #[must_use]
    pub fn name(&self) -> String {
        let number = self.group & ((1 << LEVEL_SHIFT) - 1);
        format!("{}/{number}", self.group >> LEVEL_SHIFT)
    }
}

/// The limits of the groups that a file counts for: that of its subvolume, and those above it. Empty
/// where quotas are off.
///
/// # Errors
/// `ENOTTY` when it is no btrfs, `EPERM` without CAP_SYS_ADMIN.
pub fn quota_limits(file: &File) -> io::Result<Vec<QuotaGroupLimit>> {
    let mut lookup: InodeLookup = [0; 512];
    lookup[1] = ROOT_DIRECTORY;
    query(file, INO_LOOKUP, &mut lookup)?;
    let mut groups = vec![lookup[0]];
    let mut limits = Vec::new();
    let mut next = 0;
    while let Some(group) = groups.get(next).copied() {
        let info = group_item(file, group, INFO_ITEM)?;
        if let (Some(info), Some(limit)) = (info, group_item(file, group, LIMIT_ITEM)?) {
            limits.extend(group_limits(group, &info, &limit));
        }
        search_quota_tree(file, RELATION_ITEM, (group, 0), |above, _| {
            let is_above = above >> LEVEL_SHIFT > group >> LEVEL_SHIFT;
            if is_above && !groups.contains(&above) {
                groups.push(above);
            }
            groups.len() < MAX_GROUPS
        })?;
        next += 1;
    }
    Ok(limits)
}

/// The content of an item of a group.
fn group_item(file: &File, group: u64, item_type: u32) -> io::Result<Option<Vec<u64>>> {
    let mut found = None;
    search_quota_tree(file, item_type, (0, group), |offset, item| {
        if offset == group {
            let numbers = item.as_chunks().0.iter().copied().map(u64::from_le_bytes);
            found = Some(numbers.collect());
        }
        false
    })?;
    Ok(found)
}

/// The items of that type and object, from that offset on: offset and content of each.
fn search_quota_tree(
    file: &File,
    item_type: u32,
    (object, first_offset): (u64, u64),
    mut found: impl FnMut(u64, &[u8]) -> bool,
) -> io::Result<()> {
    let range = ItemRange {
        tree: QUOTA_TREE,
        item_type,
        objects: object..=object,
        first_offset,
    };
    let searched = search_tree(file.as_fd(), &range, |_, offset, item| found(offset, item));
    match searched {
        // Quotas are off.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        searched => searched,
    }
}

/// The limits of a group, from its `struct btrfs_qgroup_info_item` and `struct btrfs_qgroup_limit_item`.
fn group_limits(group: u64, info: &[u64], limit: &[u64]) -> Vec<QuotaGroupLimit> {
    let ([_, referenced, _, exclusive, ..], [flags, max_referenced, max_exclusive, ..]) =
        (info, limit)
    else {
        return Vec::new();
    };
    let limits = [
        (LIMITS_REFERENCED, max_referenced, referenced),
        (LIMITS_EXCLUSIVE, max_exclusive, exclusive),
    ];
    limits
        .into_iter()
        .filter(|(flag, ..)| flags & flag != 0)
        .map(|(_, limit, used)| QuotaGroupLimit {
            group,
            limit_bytes: *limit,
            used_bytes: *used,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_tell_which_limits_a_group_has() {
        let info = [7, 700, 700, 200, 200];
        let limits = |flags| -> Vec<(u64, u64)> {
            let limits = group_limits(257, &info, &[flags, 1000, 500, 0, 0]).into_iter();
            limits.map(|it| (it.limit_bytes, it.used_bytes)).collect()
        };
        assert_eq!(limits(0), []);
        assert_eq!(limits(1), [(1000, 700)]);
        assert_eq!(limits(3), [(1000, 700), (500, 200)]);
        assert_eq!(group_limits(257, &[1], &[]), []);
        let above = QuotaGroupLimit {
            group: 1 << LEVEL_SHIFT | 100,
            limit_bytes: 0,
            used_bytes: 0,
        };
        assert_eq!(above.name(), "1/100");
    }
}
