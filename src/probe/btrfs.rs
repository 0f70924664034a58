//! Queries of a mounted btrfs file system (include/uapi/linux/btrfs.h).
//!
//! The structures of these calls are arrays of 64-bit numbers with padding to a fixed size, and are
//! used as such.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::ioctl::{Opcode, opcode};

/// `BTRFS_IOCTL_MAGIC`.
const MAGIC: u8 = 0x94;

/// `struct btrfs_ioctl_scrub_args`, 1024 bytes.
type ScrubArguments = [u64; 128];
/// `struct btrfs_ioctl_dev_info_args`, 4096 bytes.
type DeviceInfo = [u64; 512];
/// `struct btrfs_ioctl_fs_info_args`, 1024 bytes.
type FileSystemInfo = [u64; 128];
/// `struct btrfs_ioctl_balance_args`, 1024 bytes.
type BalanceArguments = [u64; 128];
/// `struct btrfs_ioctl_get_dev_stats`, 1032 bytes.
type DeviceStatistics = [u64; 129];

/// `BTRFS_IOC_SPACE_INFO`, of which the size is that of the header.
const SPACE_INFO: Opcode = opcode::read_write::<[u64; 2]>(MAGIC, 20);
/// `BTRFS_IOC_SCRUB_PROGRESS`.
const SCRUB_PROGRESS: Opcode = opcode::read_write::<ScrubArguments>(MAGIC, 29);
/// `BTRFS_IOC_DEV_INFO`.
const DEV_INFO: Opcode = opcode::read_write::<DeviceInfo>(MAGIC, 30);
/// `BTRFS_IOC_FS_INFO`.
const FS_INFO: Opcode = opcode::read::<FileSystemInfo>(MAGIC, 31);
/// `BTRFS_IOC_BALANCE_PROGRESS`.
const BALANCE_PROGRESS: Opcode = opcode::read::<BalanceArguments>(MAGIC, 34);
/// `BTRFS_IOC_GET_DEV_STATS`.
const GET_DEV_STATS: Opcode = opcode::read_write::<DeviceStatistics>(MAGIC, 52);

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

/// Error counters of a device since they were last reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BtrfsErrors {
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
        [
            self.write,
            self.read,
            self.flush,
            self.corruption,
            self.generation,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

/// Progress of a balance in chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BalanceProgress {
    /// Estimated number of chunks to relocate.
    pub expected: u64,
    /// Relocated chunks.
    pub completed: u64,
}

/// Performs one of the calls of this module.
fn query<const N: usize>(file: &File, code: Opcode, values: &mut [u64; N]) -> io::Result<()> {
    // SAFETY: each code of this module contains the size of its structure, which is that of the
    // array that its caller passes; the kernel reads and writes at most that much, and all bit
    // patterns are valid numbers.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), code as libc::Ioctl, values.as_mut_ptr()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The devices of the file system that a file or directory is in.
///
/// # Errors
/// `ENOTTY` when it is no btrfs.
pub fn devices(file: &File) -> io::Result<Vec<BtrfsDevice>> {
    let mut info: FileSystemInfo = [0; 128];
    query(file, FS_INFO, &mut info)?;
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
    let mut device: DeviceInfo = [0; 512];
    device[0] = id;
    query(file, DEV_INFO, &mut device)?;
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
    let mut spaces = [0; 2 + 3 * SPACES];
    spaces[0] = SPACES as u64;
    query(file, SPACE_INFO, &mut spaces)?;
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

/// Bytes of a device that a running scrub has examined; `None` when none is running.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN.
pub fn scrubbed_bytes(file: &File, device: u64) -> io::Result<Option<u64>> {
    let mut scrub: ScrubArguments = [0; 128];
    scrub[0] = device;
    // Of the progress that begins at index 4, the third and fourth value: bytes of data and trees.
    let bytes = query(file, SCRUB_PROGRESS, &mut scrub).map(|()| scrub[6].saturating_add(scrub[7]));
    running(bytes)
}

/// Progress of a running balance; `None` when none is running.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN.
pub fn balance_progress(file: &File) -> io::Result<Option<BalanceProgress>> {
    let mut balance: BalanceArguments = [0; 128];
    // The counters follow flags, state and three filters of 136 bytes.
    let progress = query(file, BALANCE_PROGRESS, &mut balance).map(|()| BalanceProgress {
        expected: balance[53],
        completed: balance[55],
    });
    running(progress)
}

fn running<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => Ok(None),
        found => found.map(Some),
    }
}

/// Error counters of a device.
///
/// # Errors
/// `ENODEV` when there is no such device.
pub fn device_errors(file: &File, device: u64) -> io::Result<BtrfsErrors> {
    let mut statistics: DeviceStatistics = [0; 129];
    statistics[0] = device;
    statistics[1] = ERROR_COUNTERS;
    query(file, GET_DEV_STATS, &mut statistics)?;
    Ok(BtrfsErrors {
        write: statistics[3],
        read: statistics[4],
        flush: statistics[5],
        corruption: statistics[6],
        generation: statistics[7],
    })
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
        assert!(balance_progress(&file).is_err());
        assert!(scrubbed_bytes(&file, 1).is_err());
    }

    #[test]
    fn no_running_operation_is_no_error() {
        let gone: io::Result<u64> = Err(io::Error::from_raw_os_error(libc::ENOTCONN));
        assert_eq!(running(gone).unwrap(), None);
        assert_eq!(running(Ok(3)).unwrap(), Some(3));
        assert!(running::<u64>(Err(io::Error::from_raw_os_error(libc::EPERM))).is_err());
    }
}
