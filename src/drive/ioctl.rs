//! System calls that no library wraps: `ioctl` queries of block devices (kernel
//! include/uapi/linux/fs.h and include/uapi/linux/loop.h) and of device-mapper.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

use linux_raw_sys::ioctl::{
    BLKGETDISKSEQ, BLKGETSIZE64, BLKROGET, DM_TABLE_STATUS, FS_IOC_GETFLAGS,
};
use linux_raw_sys::loop_device::{LOOP_GET_STATUS64, loop_info64};

/// Do not commit the metadata of a thin pool for the sake of its status.
const DM_NOFLUSH_FLAG: u32 = 1 << 11;
/// The response did not fit.
const DM_BUFFER_FULL_FLAG: u32 = 1 << 8;

/// What a loop device shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopStatus {
    /// Number of the device that holds the file, as `stat` reports it.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Device number if the file is itself a block device; otherwise 0.
    pub rdev: u64,
    /// First byte of the file that it shows.
    pub offset: u64,
    /// Bytes of the file that it shows at most; 0: no limit.
    pub size_limit: u64,
}

/// `struct dm_ioctl` (include/uapi/linux/dm-ioctl.h), followed by a buffer for the response.
#[repr(C)]
struct DmRequest {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event_nr: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
    response: [u8; DM_RESPONSE_BYTES],
}

/// Maximum size of a status in bytes: several hundred targets.
const DM_RESPONSE_BYTES: usize = 1 << 16;
/// Size of `struct dm_ioctl` itself.
const DM_IOCTL_BYTES: u32 = 312;

/// Converts the result of an `ioctl` to an `io::Result`.
fn check_ioctl(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Size of a block device in bytes.
///
/// # Errors
/// When it is not a block device.
pub fn block_device_size(device: impl AsFd) -> io::Result<u64> {
    let mut size = 0_u64;
    // SAFETY: BLKGETSIZE64 writes one 64-bit number to the address given, which is `size`.
    check_ioctl(unsafe {
        libc::ioctl(
            device.as_fd().as_raw_fd(),
            BLKGETSIZE64 as libc::Ioctl,
            &raw mut size,
        )
    })?;
    Ok(size)
}

/// Whether a block device is read-only.
///
/// # Errors
/// When it is not a block device.
pub fn is_read_only(device: impl AsFd) -> io::Result<bool> {
    let mut flag: libc::c_int = 0;
    // SAFETY: BLKROGET writes one int to the address given, which is `flag`.
    check_ioctl(unsafe {
        libc::ioctl(
            device.as_fd().as_raw_fd(),
            BLKROGET as libc::Ioctl,
            &raw mut flag,
        )
    })?;
    Ok(flag != 0)
}

/// Sequence number of this disk and medium. It increases with every disk that is attached and every
/// medium that is changed (Documentation/ABI/stable/sysfs-block, `diskseq`).
///
/// # Errors
/// `ENOTTY` before kernel 5.15 and for anything but a block device.
pub fn disk_sequence(device: impl AsFd) -> io::Result<u64> {
    let mut sequence = 0_u64;
    // SAFETY: BLKGETDISKSEQ writes one 64-bit number to the address given, which is `sequence`.
    check_ioctl(unsafe {
        libc::ioctl(
            device.as_fd().as_raw_fd(),
            BLKGETDISKSEQ as libc::Ioctl,
            &raw mut sequence,
        )
    })?;
    Ok(sequence)
}

/// Name of the dataset of a ZFS volume (`BLKZNAME`, OpenZFS include/sys/fs/zfs.h).
///
/// # Errors
/// `ENOTTY` for other devices.
pub fn zfs_volume_name(device: &File) -> io::Result<Vec<u8>> {
    const BLKZNAME: libc::Ioctl = libc::_IOR::<[u8; NAME_BYTES]>(0x12, 125);
    const NAME_BYTES: usize = 256;
    let mut name = [0_u8; NAME_BYTES];
    // SAFETY: BLKZNAME writes at most 256 bytes to the address given, which is `name`.
    check_ioctl(unsafe { libc::ioctl(device.as_raw_fd(), BLKZNAME, name.as_mut_ptr()) })?;
    let end = name.iter().position(|byte| *byte == 0);
    Ok(name[..end.unwrap_or(NAME_BYTES)].to_vec())
}

/// Attaches another file of the same size to a read-only loop device. For the kernel this is
/// another medium under the same device number.
///
/// # Errors
/// When it is not a loop device, when it is writable, or when the sizes differ.
#[cfg(test)]
pub fn change_loop_file(device: &File, other: &File) -> io::Result<()> {
    use linux_raw_sys::loop_device::LOOP_CHANGE_FD;
    // SAFETY: LOOP_CHANGE_FD takes a descriptor by value and no pointer.
    check_ioctl(unsafe {
        libc::ioctl(
            device.as_raw_fd(),
            LOOP_CHANGE_FD as libc::Ioctl,
            other.as_raw_fd(),
        )
    })
}

/// Lets a loop device show its file from another offset on.
///
/// # Errors
/// `ENXIO` when no file is attached, `EAGAIN` when pages of the device are in the page cache.
#[cfg(test)]
pub fn move_loop_device(device: &File, offset: u64) -> io::Result<()> {
    use linux_raw_sys::loop_device::LOOP_SET_STATUS64;
    let mut info = loop_info(device)?;
    info.lo_offset = offset;
    // SAFETY: LOOP_SET_STATUS64 reads one struct loop_info64 from the address given.
    check_ioctl(unsafe {
        libc::ioctl(
            device.as_raw_fd(),
            LOOP_SET_STATUS64 as libc::Ioctl,
            &raw const info,
        )
    })
}

/// Writes the dirty pages of a file or block device to the drive without flushing the drive's own
/// cache. A descriptor open for reading is sufficient (sync_file_range(2)).
///
/// # Errors
/// When the write-back fails, or when it is neither a file nor a block device.
pub fn sync_file_data(file: impl AsFd) -> io::Result<()> {
    sync_file_range(file, 0, 0)
}

/// As [`sync_file_data`] for `length` bytes from `offset`; a length of 0 means up to the end.
///
/// # Errors
/// As [`sync_file_data`].
pub fn sync_file_range(file: impl AsFd, offset: u64, length: u64) -> io::Result<()> {
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let [offset, length] = [offset, length].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
    // SAFETY: sync_file_range takes numbers and no pointer.
    check_ioctl(unsafe { libc::sync_file_range(file.as_fd().as_raw_fd(), offset, length, all) })
}

/// What a loop device shows.
///
/// # Errors
/// `ENXIO` when no file is attached.
pub fn loop_status(device: &File) -> io::Result<LoopStatus> {
    let info = loop_info(device)?;
    Ok(LoopStatus {
        device: info.lo_device,
        inode: info.lo_inode,
        rdev: info.lo_rdevice,
        offset: info.lo_offset,
        size_limit: info.lo_sizelimit,
    })
}

fn loop_info(device: &File) -> io::Result<loop_info64> {
    let mut info = MaybeUninit::<loop_info64>::zeroed();
    // SAFETY: LOOP_GET_STATUS64 writes one struct loop_info64, and all its bit patterns are valid
    // numbers.
    unsafe {
        check_ioctl(libc::ioctl(
            device.as_raw_fd(),
            LOOP_GET_STATUS64 as libc::Ioctl,
            info.as_mut_ptr(),
        ))?;
        Ok(info.assume_init())
    }
}

/// Makes a write beyond `RLIMIT_FSIZE` fail with `EFBIG`. By default SIGXFSZ terminates the program
/// (setrlimit(2)).
pub fn ignore_sigxfsz() {
    // SAFETY: SIG_IGN is a disposition and no function; nothing else sets one for this signal.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The status of a device-mapper device: the number of targets, and their records in the kernel's
/// layout (`struct dm_target_spec`, each followed by its status as text). `control` is
/// `/dev/mapper/control`.
///
/// # Errors
/// `EACCES` or `EPERM` without CAP_SYS_ADMIN, `ENXIO` when there is no such device; an error as
/// well when the status is larger than 64 KiB.
pub fn device_mapper_status(control: &File, number: (u32, u32)) -> io::Result<(u32, Vec<u8>)> {
    let mut request = Box::new(DmRequest {
        version: [4, 0, 0],
        data_size: DM_IOCTL_BYTES + DM_RESPONSE_BYTES as u32,
        data_start: DM_IOCTL_BYTES,
        target_count: 0,
        open_count: 0,
        flags: DM_NOFLUSH_FLAG,
        event_nr: 0,
        padding: 0,
        device: rustix::fs::makedev(number.0, number.1),
        name: [0; 128],
        uuid: [0; 129],
        data: [0; 7],
        response: [0; DM_RESPONSE_BYTES],
    });
    // SAFETY: DM_TABLE_STATUS reads and writes at most `data_size` bytes at the address given, for
    // which `request` has room; all bit patterns of its fields are valid numbers.
    check_ioctl(unsafe {
        libc::ioctl(
            control.as_raw_fd(),
            DM_TABLE_STATUS as libc::Ioctl,
            std::ptr::from_mut(&mut *request),
        )
    })?;
    if request.flags & DM_BUFFER_FULL_FLAG != 0 {
        return Err(io::Error::other("its status is larger than 64 KiB"));
    }
    // `data_start` is the offset of the response.
    let begin = request.data_start.saturating_sub(DM_IOCTL_BYTES) as usize;
    let answer = request.response.get(begin..).unwrap_or_default().to_vec();
    Ok((request.target_count, answer))
}

/// Attributes of a file (`FS_IMMUTABLE_FL` 0x10, `FS_APPEND_FL` 0x20, ...).
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` when the file system has no such attributes.
pub fn inode_flags(file: &File) -> io::Result<u32> {
    let mut flags: [libc::c_uint; 2] = [0; 2];
    // SAFETY: FS_IOC_GETFLAGS writes one int to the address given, which has room for two.
    check_ioctl(unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            FS_IOC_GETFLAGS as libc::Ioctl,
            flags.as_mut_ptr(),
        )
    })?;
    Ok(flags[0])
}
