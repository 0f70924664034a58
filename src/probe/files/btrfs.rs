//! btrfs: its subvolumes, and where a logical address is (kernel
//! include/uapi/linux/btrfs_tree.h and include/uapi/linux/btrfs.h).

use std::io;
use std::os::fd::BorrowedFd;

use crate::drive::btrfs::{ItemRange, search_tree};

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
/// A file system of a petabyte has about a million chunks of a gigabyte.
const MAX_CHUNKS: usize = 100_000;
const MAX_SUBVOLUMES: usize = 1000;

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

/// The chunks of a file system, in order of their addresses. `mount` is a directory of it.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN.
pub fn chunks(mount: BorrowedFd<'_>) -> io::Result<Vec<Chunk>> {
    let mut found = Vec::new();
    let range = ItemRange {
        tree: CHUNK_TREE,
        item_type: CHUNK_ITEM,
        objects: FIRST_SUBVOLUME..=FIRST_SUBVOLUME,
        first_offset: 0,
    };
    search_tree(mount, &range, |_, logical, item| {
        found.extend(Chunk::parse(logical, item));
        found.len() < MAX_CHUNKS
    })?;
    Ok(found)
}

/// The subvolumes of a file system. `mount` is a directory of it.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN.
pub fn subvolumes(mount: BorrowedFd<'_>) -> io::Result<Vec<u64>> {
    let mut found = vec![TOP_SUBVOLUME];
    let range = ItemRange {
        tree: ROOT_TREE,
        item_type: ROOT_ITEM,
        objects: FIRST_SUBVOLUME..=u64::MAX - FIRST_SUBVOLUME,
        first_offset: 0,
    };
    search_tree(mount, &range, |subvolume, _, _| {
        found.push(subvolume);
        found.len() < MAX_SUBVOLUMES
    })?;
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
    }
}
