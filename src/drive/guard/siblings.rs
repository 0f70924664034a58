//! Other block devices that share bytes with a medium, and the dirty pages in their page caches.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::drive::guard::busy_retry::retry_while_busy;
use crate::drive::identity::sysfs::{directory_entries, read_device_number};
use crate::drive::ioctl;
use crate::drive::medium::open_medium::OpenMedium;
use crate::drive::mounts::split_device_number;
use crate::roots::SysPaths;

/// Writes back the dirty pages of every other device that shares bytes with the medium, so that a
/// read of the medium returns them.
///
/// Devices that cannot be opened or written back are skipped: they may belong to another user.
pub(super) fn write_back_aliases(roots: &SysPaths, medium: &OpenMedium) {
    let itself = medium.target.drive.as_ref();
    let Some(drive) = itself.filter(|_| medium.device_number().is_some()) else {
        return;
    };
    for name in alias_names(roots, &drive.name, medium.anchor()) {
        if let Some(file) = open_device_by_name(roots, &name) {
            let _ = ioctl::sync_file_data(&file);
        }
    }
}

/// As above, for devices that are already open, including other paths of the disk.
pub(super) fn write_back_held_aliases(held: &[OwnedFd]) {
    for file in held {
        let _ = ioctl::sync_file_data(file);
    }
}

/// The lower devices of a device, the devices stacked on those, and all loop devices on the same
/// file. The list may include devices that do not overlap, which is harmless.
fn alias_names(roots: &SysPaths, name: &str, device: &File) -> Vec<String> {
    let directory = roots.sys.join("class/block");
    let mut below = vec![name.to_owned()];
    let mut next = 0;
    while let Some(name) = below.get(next).cloned() {
        let own = directory.join(&name);
        let lower = directory_entries(&own.join("slaves")).into_iter();
        let lower = lower
            .chain(whole_disk_name(&own))
            .chain(backing_device(&own));
        for name in lower {
            if !below.contains(&name) {
                below.push(name);
            }
        }
        next += 1;
    }
    let mut found = below;
    found.extend(loop_devices_on_same_file(roots, &directory, device));
    let mut next = 0;
    while let Some(name) = found.get(next).cloned() {
        let own = directory.join(&name);
        let partitions = directory_entries(&own).into_iter();
        let partitions = partitions.filter(|part| own.join(part).join("partition").exists());
        for name in partitions.chain(directory_entries(&own.join("holders"))) {
            if !found.contains(&name) {
                found.push(name);
            }
        }
        next += 1;
    }
    found.retain(|other| other != name);
    found
}

/// The whole disk of a partition.
pub(in crate::drive) fn whole_disk_name(directory: &Path) -> Option<String> {
    if !directory.join("partition").exists() {
        return None;
    }
    let itself = std::fs::canonicalize(directory).ok()?;
    Some(itself.parent()?.file_name()?.to_str()?.to_owned())
}

/// The block device that a loop device is attached to.
pub(in crate::drive) fn backing_device(directory: &Path) -> Option<String> {
    let path = std::fs::read_to_string(directory.join("loop/backing_file")).ok()?;
    let name = path.trim().strip_prefix("/dev/")?.replace('/', "!");
    directory.parent()?.join(&name).exists().then_some(name)
}

/// Other loop devices attached to the same file as a loop device.
fn loop_devices_on_same_file(roots: &SysPaths, directory: &Path, device: &File) -> Vec<String> {
    let Ok(own) = ioctl::loop_backing(device) else {
        return Vec::new();
    };
    let attached = |name: &String| {
        name.starts_with("loop")
            && directory.join(name).join("loop").exists()
            && open_device_by_name(roots, name).is_some_and(|file| {
                ioctl::loop_backing(&file)
                    .is_ok_and(|other| (other.device, other.inode) == (own.device, own.inode))
            })
    };
    directory_entries(directory)
        .into_iter()
        .filter(attached)
        .collect()
}

/// Opens the usual node of a device, if it belongs to the device of that name.
pub(in crate::drive) fn open_device_by_name(roots: &SysPaths, name: &str) -> Option<File> {
    open_node(roots, name, OFlags::empty()).ok()
}

/// Opens a device with `O_EXCL` for a moment, for reading.
///
/// # Errors
/// `EBUSY` when something holds it, or a partition of it, exclusively; `NotFound` without its usual node.
pub(in crate::drive) fn open_exclusively(roots: &SysPaths, name: &str) -> io::Result<()> {
    retry_while_busy(|| open_node(roots, name, OFlags::EXCL)).map(drop)
}

fn open_node(roots: &SysPaths, name: &str, flags: OFlags) -> io::Result<File> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let number = read_device_number(&roots.sys.join("class/block").join(name));
    let path: PathBuf = roots.dev.join(name.replace('!', "/"));
    let is_it = |facts: &std::fs::Metadata| {
        facts.file_type().is_block_device() && Some(split_device_number(facts.rdev())) == number
    };
    let not_it = || io::Error::from(io::ErrorKind::NotFound);
    if !is_it(&std::fs::metadata(&path)?) {
        return Err(not_it());
    }
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
    match is_it(&file.metadata()?) {
        true => Ok(file),
        false => Err(not_it()),
    }
}
