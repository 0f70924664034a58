//! btrfs: its subvolumes, and where a logical address is (kernel
//! include/uapi/linux/btrfs_tree.h and include/uapi/linux/btrfs.h).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use linux_raw_sys::ioctl::BTRFS_IOC_TREE_SEARCH;

/// Trees and item types.
const ROOT_TREE: u64 = 1;
const CHUNK_TREE: u64 = 3;
const FIRST_SUBVOLUME: u64 = 256;
/// The subvolume that always exists.
pub const TOP_SUBVOLUME: u64 = 5;
const ROOT_ITEM: u32 = 132;
const CHUNK_ITEM: u32 = 228;
/// Profiles of a chunk.
const RAID0: u64 = 1 << 3;
const RAID10: u64 = 1 << 6;
const RAID5_OR_6: u64 = 1 << 7 | 1 << 8;
/// `BTRFS_STRIPE_LEN`: the kernel refuses every other one (fs/btrfs/tree-checker.c).
const STRIPE_LENGTH: u64 = 65_536;
/// Sizes of `struct btrfs_chunk` without stripes, and of a stripe.
const CHUNK_BYTES: usize = 48;
const STRIPE_BYTES: usize = 32;
/// Size of `struct btrfs_ioctl_search_header`.
const HEADER_BYTES: usize = 32;
const SEARCH_BUFFER_BYTES: usize = 4096 - 104;
/// A file system of a petabyte has about a million chunks of a gigabyte.
const MAX_CHUNKS: usize = 100_000;
const MAX_SUBVOLUMES: usize = 1000;

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

/// A stripe of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// Number of the device within the file system.
    pub device: u64,
    /// First byte on that device.
    pub offset: u64,
}

/// A range of logical addresses, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// First logical address.
    pub logical: u64,
    /// Length in bytes.
    pub length: u64,
    stripe_bytes: u64,
    profile: u64,
    sub_stripes: u64,
    /// Its stripes.
    pub stripes: Vec<Stripe>,
}

/// A range on one device of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceRange {
    /// Number of the device within the file system.
    pub device: u64,
    /// First byte on that device.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

impl Chunk {
    /// Parses `struct btrfs_chunk`; `None` where it is too short.
    #[must_use]
    pub fn parse(logical: u64, item: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(item.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| {
            let bytes = item.get(at..at + 2)?.try_into().ok()?;
            Some(u64::from(u16::from_le_bytes(bytes)))
        };
        let stripe = |index: usize| {
            let at = CHUNK_BYTES + index * STRIPE_BYTES;
            Some(Stripe {
                device: number(at)?,
                offset: number(at + 8)?,
            })
        };
        let count = short(44)? as usize;
        Some(Self {
            logical,
            length: number(0)?,
            stripe_bytes: number(16)?,
            profile: number(24)?,
            sub_stripes: short(46)?,
            stripes: (0..count).map(stripe).collect::<Option<_>>()?,
        })
    }

    /// Where a range of the chunk is, all copies of it. Empty for parity RAID, whose layout this
    /// does not follow.
    #[must_use]
    pub fn device_ranges(&self, logical: u64, length: u64) -> Vec<DeviceRange> {
        let Some(begin) = logical.checked_sub(self.logical) else {
            return Vec::new();
        };
        let end = begin.saturating_add(length).min(self.length);
        let is_striped = self.profile & (RAID0 | RAID10) != 0;
        if self.profile & RAID5_OR_6 != 0 || begin >= end {
            return Vec::new();
        }
        if !is_striped {
            let range = |stripe: &Stripe| DeviceRange {
                device: stripe.device,
                offset: stripe.offset.saturating_add(begin),
                length: end - begin,
            };
            return self.stripes.iter().map(range).collect();
        }
        self.striped_ranges(begin, end)
    }

    fn striped_ranges(&self, mut begin: u64, end: u64) -> Vec<DeviceRange> {
        let copies = match self.profile & RAID10 {
            0 => 1,
            _ => self.sub_stripes.max(1),
        };
        let groups = self.stripes.len() as u64 / copies;
        let mut ranges = Vec::new();
        if groups == 0 || self.stripe_bytes != STRIPE_LENGTH {
            return ranges;
        }
        while begin < end {
            let (number, inside) = (begin / self.stripe_bytes, begin % self.stripe_bytes);
            let length = (self.stripe_bytes - inside).min(end - begin);
            let group = number % groups;
            let offset = (number / groups) * self.stripe_bytes + inside;
            let first = (group * copies) as usize;
            for stripe in &self.stripes[first..first + copies as usize] {
                ranges.push(DeviceRange {
                    device: stripe.device,
                    offset: stripe.offset.saturating_add(offset),
                    length,
                });
            }
            begin += length;
        }
        ranges
    }
}

/// Items of a tree: object, offset and content of each.
fn search_tree(
    mount: BorrowedFd<'_>,
    tree: u64,
    item_type: u32,
    objects: std::ops::RangeInclusive<u64>,
    mut found: impl FnMut(u64, u64, &[u8]) -> bool,
) -> io::Result<()> {
    let mut arguments = Box::new(SearchArguments {
        tree,
        min_object: *objects.start(),
        max_object: *objects.end(),
        min_offset: 0,
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

/// The chunks of a file system, in order of their addresses. `mount` is a directory of it.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN.
pub fn chunks(mount: BorrowedFd<'_>) -> io::Result<Vec<Chunk>> {
    let mut found = Vec::new();
    search_tree(
        mount,
        CHUNK_TREE,
        CHUNK_ITEM,
        FIRST_SUBVOLUME..=FIRST_SUBVOLUME,
        |_, logical, item| {
            found.extend(Chunk::parse(logical, item));
            found.len() < MAX_CHUNKS
        },
    )?;
    Ok(found)
}

/// The subvolumes of a file system. `mount` is a directory of it.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN.
pub fn subvolumes(mount: BorrowedFd<'_>) -> io::Result<Vec<u64>> {
    let mut found = vec![TOP_SUBVOLUME];
    search_tree(
        mount,
        ROOT_TREE,
        ROOT_ITEM,
        FIRST_SUBVOLUME..=u64::MAX - FIRST_SUBVOLUME,
        |subvolume, _, _| {
            found.push(subvolume);
            found.len() < MAX_SUBVOLUMES
        },
    )?;
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `struct btrfs_chunk` with these stripes.
    fn chunk(profile: u64, sub_stripes: u16, stripes: &[(u64, u64)]) -> Chunk {
        let mut item = Vec::new();
        for number in [1 << 30, 2, 65_536, profile] {
            item.extend(u64::to_le_bytes(number));
        }
        item.extend([0; 12]);
        item.extend((stripes.len() as u16).to_le_bytes());
        item.extend(sub_stripes.to_le_bytes());
        for (device, offset) in stripes {
            item.extend(device.to_le_bytes());
            item.extend(offset.to_le_bytes());
            item.extend([0; 16]);
        }
        Chunk::parse(1 << 40, &item).unwrap()
    }

    fn ranges(chunk: &Chunk, offset: u64, length: u64) -> Vec<(u64, u64, u64)> {
        let found = chunk.device_ranges((1 << 40) + offset, length);
        found
            .iter()
            .map(|range| (range.device, range.offset, range.length))
            .collect()
    }

    #[test]
    fn arguments_have_the_size_of_the_kernel() {
        assert_eq!(size_of::<SearchArguments>(), 4096);
    }

    #[test]
    fn mirrored_range_has_a_place_on_each_device() {
        let mirrored = chunk(1 << 4, 1, &[(1, 1000), (2, 5000)]);
        assert_eq!(ranges(&mirrored, 100, 50), [(1, 1100, 50), (2, 5100, 50)]);
        assert_eq!(ranges(&mirrored, 1 << 30, 50), []);
        assert_eq!(mirrored.device_ranges(5, 50), []);
    }

    #[test]
    fn striped_range_alternates_between_devices() {
        let striped = chunk(RAID0, 1, &[(1, 0), (2, 1 << 20)]);
        assert_eq!(
            ranges(&striped, 65_536 - 4096, 65_536 + 8192),
            [(1, 61_440, 4096), (2, 1 << 20, 65_536), (1, 65_536, 4096)]
        );
        let ten = chunk(RAID10, 2, &[(1, 0), (2, 0), (3, 0), (4, 0)]);
        assert_eq!(ranges(&ten, 65_536, 4096), [(3, 0, 4096), (4, 0, 4096)]);
        assert_eq!(ranges(&chunk(1 << 7, 1, &[(1, 0), (2, 0)]), 0, 4096), []);
    }

    proptest! {
        #[test]
        fn chunk_parser_accepts_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(chunk) = Chunk::parse(0, &bytes) {
                prop_assert!(CHUNK_BYTES + chunk.stripes.len() * STRIPE_BYTES <= bytes.len());
                let _ = chunk.device_ranges(0, 1 << 16);
            }
        }

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
