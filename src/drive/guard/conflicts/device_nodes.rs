//! Opens a block device by its number, even without a node in /dev.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use crate::drive::mounts::split_device_number;
use crate::roots::SysPaths;

/// Opens the block device of that number for reading: by its usual nodes, or by a node created in a
/// private tmpfs.
///
/// # Errors
/// When there is no node and none can be created, or when the kernel refuses (`EBUSY` for `O_EXCL`
/// on a device that is open exclusively).
pub(super) fn open_device_node(
    roots: &SysPaths,
    name: &str,
    number: (u32, u32),
    flags: OFlags,
) -> io::Result<File> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let usual = [
        roots.dev.join(name.replace('!', "/")),
        roots.dev.join(format!("block/{}:{}", number.0, number.1)),
    ];
    for path in &usual {
        if is_node_of(path, number) {
            let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
            let facts = file.metadata()?;
            if facts.file_type().is_block_device() && split_device_number(facts.rdev()) == number {
                return Ok(file);
            }
        }
    }
    // A test tree contains ordinary files instead of devices.
    if *roots != SysPaths::default() {
        return Err(io::ErrorKind::NotFound.into());
    }
    open_temporary_node(number, flags)
}

fn is_node_of(path: &Path, number: (u32, u32)) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| {
        facts.file_type().is_block_device() && split_device_number(facts.rdev()) == number
    })
}

/// Opens a node in a tmpfs that is not mounted anywhere (fsmount(2)), so that it disappears with
/// its descriptor.
fn open_temporary_node(number: (u32, u32), flags: OFlags) -> io::Result<File> {
    let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    let directory = rustix::mount::fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )?;
    let device = rustix::fs::makedev(number.0, number.1);
    let mode = Mode::RUSR;
    rustix::fs::mknodat(&directory, "node", FileType::BlockDevice, mode, device)?;
    let node = rustix::fs::openat(&directory, "node", flags, Mode::empty())?;
    Ok(node.into())
}
