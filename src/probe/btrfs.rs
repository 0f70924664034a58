//! Queries of a mounted btrfs file system (include/uapi/linux/btrfs.h).
//!
//! The structures of these calls are arrays of 64-bit numbers with padding to a fixed size, and are
//! used as such.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::ioctl::{Opcode, opcode};
use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;

/// `BTRFS_IOCTL_MAGIC`.
const MAGIC: u8 = 0x94;

/// `BTRFS_IOC_SPACE_INFO`, of which the size is that of the header.
const SPACE_INFO: Opcode = opcode::read_write::<[u64; 2]>(MAGIC, 20);
/// `BTRFS_IOC_SCRUB_PROGRESS`, `struct btrfs_ioctl_scrub_args`.
const SCRUB_PROGRESS: Opcode = opcode::read_write::<[u64; 128]>(MAGIC, 29);
/// `BTRFS_IOC_DEV_INFO`.
const DEV_INFO: Opcode = opcode::read_write::<[u64; 512]>(MAGIC, 30);
/// `BTRFS_IOC_FS_INFO`.
const FS_INFO: Opcode = opcode::read::<[u64; 128]>(MAGIC, 31);
/// `BTRFS_IOC_BALANCE_PROGRESS`.
const BALANCE_PROGRESS: Opcode = opcode::read::<[u64; 128]>(MAGIC, 34);
/// `BTRFS_IOC_GET_DEV_STATS`.
const GET_DEV_STATS: Opcode = opcode::read_write::<[u64; 129]>(MAGIC, 52);

/// Number of error counters of a device (`BTRFS_DEV_STAT_VALUES_MAX`).
const ERROR_COUNTERS: u64 = 5;
/// Index of the path in `struct btrfs_ioctl_dev_info_args`.
const DEVICE_PATH_INDEX: usize = 384;
/// Types of block groups: data, system, metadata. The global reserve is no space of its own.
const BLOCK_GROUP_TYPES: u64 = 0b111;
/// More combinations of type and profile do not occur.
const SPACES: usize = 42;
/// More devices of one file system are not examined.
const MAX_DEVICES: u64 = 1024;

/// A device of a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BtrfsDevice {
    /// Its id in the file system.
    pub id: u64,
    /// Path as the kernel knows it, such as `/dev/sdb`; empty for a missing device.
    pub path: Vec<u8>,
    /// Bytes of it that are used by chunks and their copies.
    pub used_bytes: u64,
}

/// Error counters of a device since they were last reset (`btrfs device stats`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BtrfsErrors {
    /// Its path.
    pub device: SafeText,
    /// Failed writes.
    pub write: u64,
    /// Failed reads.
    pub read: u64,
    /// Failed flushes.
    pub flush: u64,
    /// Blocks with a wrong checksum or wrong content.
    pub corruption: u64,
    /// Blocks of an older generation than expected.
    pub generation: u64,
}

impl BtrfsErrors {
    /// The sum of all counters.
    #[must_use]
    pub fn total(&self) -> u64 {
        let counters = [self.write, self.read, self.flush, self.corruption];
        counters
            .into_iter()
            .fold(self.generation, u64::saturating_add)
    }
}

/// Performs one of the calls of this module on the structure `values`, and returns what the kernel made of it.
fn query<const N: usize>(file: &File, code: Opcode, mut values: [u64; N]) -> io::Result<[u64; N]> {
    // SAFETY: each code of this module contains the size of its structure, which is that of the
    // array that its caller passes; the kernel reads and writes at most that much, and all bit
    // patterns are valid numbers.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), code as libc::Ioctl, values.as_mut_ptr()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(values)
}

/// A structure that begins with these numbers.
fn structure<const N: usize>(first: &[u64]) -> [u64; N] {
    let mut values = [0; N];
    values[..first.len()].copy_from_slice(first);
    values
}

/// The devices of the file system that a file or directory is in.
///
/// # Errors
/// `ENOTTY` when it is no btrfs.
pub fn devices(file: &File) -> io::Result<Vec<BtrfsDevice>> {
    let info: [u64; 128] = query(file, FS_INFO, structure(&[]))?;
    let (max_id, count) = (info[0], info[1]);
    let mut found = Vec::new();
    for id in 0..=max_id.min(MAX_DEVICES) {
        if found.len() as u64 == count {
            break;
        }
        found.extend(device(file, id).ok());
    }
    Ok(found)
}

/// A device of the file system that a file or directory is in, by its id there.
fn device(file: &File, id: u64) -> io::Result<BtrfsDevice> {
    let device: [u64; 512] = query(file, DEV_INFO, structure(&[id]))?;
    let path = device[DEVICE_PATH_INDEX..].iter().copied();
    let path = path
        .flat_map(u64::to_ne_bytes)
        .take_while(|byte| *byte != 0);
    Ok(BtrfsDevice {
        id: device[0],
        used_bytes: device[3],
        path: path.collect(),
    })
}

/// Bytes that data and trees occupy on all devices, with their copies; parity is not counted.
///
/// # Errors
/// `ENOTTY` when it is no btrfs.
pub fn occupied_bytes(file: &File) -> io::Result<u64> {
    const N: usize = 2 + 3 * SPACES;
    let spaces: [u64; N] = query(file, SPACE_INFO, structure(&[SPACES as u64]))?;
    let count = usize::try_from(spaces[1]).unwrap_or(0).min(SPACES);
    Ok(occupied(&spaces[2..2 + 3 * count]))
}

/// The sum over records of flags, total and used bytes (`struct btrfs_ioctl_space_info`).
fn occupied(spaces: &[u64]) -> u64 {
    spaces
        .chunks_exact(3)
        .filter(|space| space[0] & BLOCK_GROUP_TYPES != 0)
        .map(|space| space[2].saturating_mul(copies(space[0])))
        .fold(0, u64::saturating_add)
}

/// Number of copies that a profile stores (`btrfs_raid_array` of fs/btrfs/volumes.c, `ncopies`).
fn copies(flags: u64) -> u64 {
    const RAID1_OR_DUP_OR_RAID10: u64 = 1 << 4 | 1 << 5 | 1 << 6;
    match flags {
        _ if flags & RAID1_OR_DUP_OR_RAID10 != 0 => 2,
        _ if flags & 1 << 9 != 0 => 3,
        _ if flags & 1 << 10 != 0 => 4,
        _ => 1,
    }
}

/// Bytes of data and trees that the scrub of a device has verified.
///
/// # Errors
/// `ENOTCONN` when none runs.
pub fn scrubbed_bytes(file: &File, device: u64) -> io::Result<u64> {
    let scrub: [u64; 128] = query(file, SCRUB_PROGRESS, structure(&[device]))?;
    // Of the progress that begins at index 4, the third and fourth value: bytes of data and trees.
    Ok(scrub[6].saturating_add(scrub[7]))
}

/// How many chunks a balance has relocated, and the estimated number of all that it relocates.
///
/// # Errors
/// `ENOTCONN` when none runs.
pub fn balanced_chunks(file: &File) -> io::Result<(u64, u64)> {
    let balance: [u64; 128] = query(file, BALANCE_PROGRESS, structure(&[]))?;
    // The counters follow flags, state and three filters of 136 bytes.
    Ok((balance[55], balance[53]))
}

/// The error counters of all devices of the file system that a directory is in; those that cannot be
/// read are left out.
#[must_use]
pub fn device_errors(directory: &File) -> Vec<BtrfsErrors> {
    let errors = |device: BtrfsDevice| {
        let request = structure(&[device.id, ERROR_COUNTERS]);
        let counters: [u64; 129] = query(directory, GET_DEV_STATS, request).ok()?;
        Some(BtrfsErrors {
            device: SafeText::from_bytes(&device.path),
            write: counters[3],
            read: counters[4],
            flush: counters[5],
            corruption: counters[6],
            generation: counters[7],
        })
    };
    let devices = devices(directory).unwrap_or_default();
    devices.into_iter().filter_map(errors).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_kernel() {
        // BTRFS_IOC_* of include/uapi/linux/btrfs.h on x86-64.
        if cfg!(target_arch = "x86_64") {
            assert_eq!(SCRUB_PROGRESS, 0xc400_941d);
            assert_eq!(DEV_INFO, 0xd000_941e);
            assert_eq!(FS_INFO, 0x8400_941f);
            assert_eq!(BALANCE_PROGRESS, 0x8400_9422);
            assert_eq!(GET_DEV_STATS, 0xc408_9434);
        }
    }

    #[test]
    fn occupied_bytes_count_each_copy() {
        // Single data, duplicated metadata and system, the global reserve.
        let spaces = [
            [1, 8 << 20, 5 << 20],
            [1 << 5 | 4, 256 << 20, 128 << 10],
            [1 << 5 | 2, 8 << 20, 16 << 10],
            [1 << 49, 3 << 20, 64 << 10],
        ];
        assert_eq!(occupied(spaces.as_flattened()), (5 << 20) + (288 << 10));
        assert_eq!(
            [4, 1 << 4, 1 << 6, 1 << 7, 1 << 9, 1 << 10].map(copies),
            [1, 2, 2, 1, 3, 4]
        );
    }

    #[test]
    fn another_file_system_is_an_error() {
        let file = File::open("/proc/self/stat").unwrap();
        assert!(devices(&file).is_err());
        assert!(balanced_chunks(&file).is_err());
        assert!(scrubbed_bytes(&file, 1).is_err());
    }
}
