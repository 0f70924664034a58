//! Search in the trees of a btrfs file system (kernel include/uapi/linux/btrfs.h and btrfs_tree.h).

use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, BorrowedFd};

use linux_raw_sys::ioctl::BTRFS_IOC_TREE_SEARCH;

/// Size of `struct btrfs_ioctl_search_header`.
const HEADER_BYTES: usize = 32;
const SEARCH_BUFFER_BYTES: usize = 4096 - 104;

/// `struct btrfs_ioctl_search_args`.
#[repr(C)]
struct SearchArguments {
    tree: u64,
    min_object: u64,
    max_object: u64,
    min_offset: u64,
    max_offset: u64,
    min_transaction: u64,
    max_transaction: u64,
    min_type: u32,
    max_type: u32,
    item_count: u32,
    unused: u32,
    reserved: [u64; 4],
    buffer: [u8; SEARCH_BUFFER_BYTES],
}

/// Items of one type in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemRange {
    /// Object id of the tree.
    pub tree: u64,
    /// Their type.
    pub item_type: u32,
    /// Their object ids.
    pub objects: RangeInclusive<u64>,
    /// Least offset of those of the first object.
    pub first_offset: u64,
}

/// Passes on object, offset and content of each item, until one is refused.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN, `ENOENT` where there is no such tree, `ENOTTY` when it is no btrfs.
pub fn search_tree(
    mount: BorrowedFd<'_>,
    range: &ItemRange,
    mut found: impl FnMut(u64, u64, &[u8]) -> bool,
) -> io::Result<()> {
    let (item_type, objects) = (range.item_type, &range.objects);
    let mut arguments = Box::new(SearchArguments {
        tree: range.tree,
        min_object: *objects.start(),
        max_object: *objects.end(),
        min_offset: range.first_offset,
        max_offset: u64::MAX,
        min_transaction: 0,
        max_transaction: u64::MAX,
        min_type: item_type,
        max_type: item_type,
        item_count: u32::MAX,
        unused: 0,
        reserved: [0; 4],
        buffer: [0; SEARCH_BUFFER_BYTES],
    });
    loop {
        arguments.item_count = 4096;
        // SAFETY: BTRFS_IOC_TREE_SEARCH reads and writes one struct btrfs_ioctl_search_args of 4096
        // bytes, which is the size of `arguments`.
        let result = unsafe {
            libc::ioctl(
                mount.as_raw_fd(),
                BTRFS_IOC_TREE_SEARCH as libc::Ioctl,
                std::ptr::from_mut(&mut *arguments),
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let Some((object, offset)) = read_items(
            &arguments.buffer,
            arguments.item_count,
            item_type,
            &mut found,
        ) else {
            return Ok(());
        };
        // The key after the last one.
        (arguments.min_object, arguments.min_offset) = match offset.checked_add(1) {
            Some(offset) => (object, offset),
            None => (object.saturating_add(1), 0),
        };
        if arguments.min_object > *objects.end() {
            return Ok(());
        }
    }
}

/// Passes on the items of one type in a response of BTRFS_IOC_TREE_SEARCH: object, offset and
/// content of each. Returns the key of the last one; `None` where there is none or no further one is
/// wanted.
pub fn read_items(
    mut rest: &[u8],
    count: u32,
    item_type: u32,
    found: &mut impl FnMut(u64, u64, &[u8]) -> bool,
) -> Option<(u64, u64)> {
    let mut last = None;
    for _ in 0..count {
        let (header, after) = rest.split_at_checked(HEADER_BYTES)?;
        let number = |at: usize| Some(u64::from_ne_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_ne_bytes(header.get(at..at + 4)?.try_into().ok()?));
        let (object, offset) = (number(8)?, number(16)?);
        let (item, after) = after.split_at_checked(short(28)? as usize)?;
        // A range of keys contains other types too.
        if short(24)? == item_type && !found(object, offset, item) {
            return None;
        }
        last = Some((object, offset));
        rest = after;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arguments_have_the_size_of_the_kernel() {
        assert_eq!(size_of::<SearchArguments>(), 4096);
    }

    proptest! {
        #[test]
        fn search_response_parser_accepts_any_bytes(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            count in 0_u32..50,
        ) {
            let mut total = 0;
            read_items(&bytes, count, 0, &mut |_, _, item: &[u8]| {
                total += item.len();
                true
            });
            prop_assert!(total <= bytes.len());
        }
    }
}
