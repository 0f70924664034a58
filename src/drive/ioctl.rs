//! System calls that no library wraps: `ioctl` queries of block devices (kernel
//! include/uapi/linux/fs.h and include/uapi/linux/loop.h) and of device-mapper.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use linux_raw_sys::ioctl::{BLKGETDISKSEQ, BLKGETSIZE64, BLKROGET, DM_TABLE_STATUS};
use linux_raw_sys::loop_device::{LOOP_GET_STATUS64, loop_info64};
use rustix::ioctl::{Getter, Opcode, Updater, ioctl, opcode};

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

/// Size of a block device in bytes.
///
/// # Errors
/// When it is not a block device.
pub fn block_device_size(device: impl AsFd) -> io::Result<u64> {
    // SAFETY: BLKGETSIZE64 writes one 64-bit number.
    Ok(unsafe { ioctl(device, Getter::<{ BLKGETSIZE64 as Opcode }, u64>::new()) }?)
}

/// Whether a block device is read-only.
///
/// # Errors
/// When it is not a block device.
pub fn is_read_only(device: impl AsFd) -> io::Result<bool> {
    // SAFETY: BLKROGET writes one int.
    let flag = unsafe { ioctl(device, Getter::<{ BLKROGET as Opcode }, libc::c_int>::new()) }?;
    Ok(flag != 0)
}

/// Sequence number of this disk and medium. It increases with every disk that is attached and every
/// medium that is changed (Documentation/ABI/stable/sysfs-block, `diskseq`).
///
/// # Errors
/// `ENOTTY` before kernel 5.15 and for anything but a block device.
pub fn disk_sequence(device: impl AsFd) -> io::Result<u64> {
    // SAFETY: BLKGETDISKSEQ writes one 64-bit number.
    Ok(unsafe { ioctl(device, Getter::<{ BLKGETDISKSEQ as Opcode }, u64>::new()) }?)
}

/// Name of the dataset of a ZFS volume (`BLKZNAME`, OpenZFS include/sys/fs/zfs.h).
///
/// # Errors
/// `ENOTTY` for other devices.
pub fn zfs_volume_name(device: &File) -> io::Result<Vec<u8>> {
    const NAME_BYTES: usize = 256;
    const BLKZNAME: Opcode = opcode::read::<[u8; NAME_BYTES]>(0x12, 125);
    // SAFETY: BLKZNAME writes 256 bytes, a name and zeros.
    let mut name = unsafe { ioctl(device, Getter::<BLKZNAME, [u8; NAME_BYTES]>::new()) }?.to_vec();
    name.retain(|byte| *byte != 0);
    Ok(name)
}

/// What a loop device shows.
///
/// # Errors
/// `ENXIO` when no file is attached.
pub fn loop_status(device: &File) -> io::Result<LoopStatus> {
    // SAFETY: LOOP_GET_STATUS64 writes one struct loop_info64, which consists of numbers.
    let info = unsafe {
        ioctl(
            device,
            Getter::<{ LOOP_GET_STATUS64 as Opcode }, loop_info64>::new(),
        )
    }?;
    Ok(LoopStatus {
        device: info.lo_device,
        inode: info.lo_inode,
        rdev: info.lo_rdevice,
        offset: info.lo_offset,
        size_limit: info.lo_sizelimit,
    })
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
    // SAFETY: DM_TABLE_STATUS reads and writes at most `data_size` bytes of the request, which has room for them;
    // all bit patterns of its fields are valid numbers.
    unsafe {
        ioctl(
            control,
            Updater::<{ DM_TABLE_STATUS as Opcode }, DmRequest>::new(&mut request),
        )
    }?;
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
    Ok(rustix::fs::ioctl_getflags(file)?.bits())
}
