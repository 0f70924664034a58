//! Sparse images that a file system or a block device lies in, through loop devices, and the devices
//! on the way to them. A write to an image may need space on its file system.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};

use crate::drive::free_space::store;
use crate::drive::free_space::store::SpaceStore;
use crate::drive::guard::siblings;
use crate::drive::identity::sysfs::directory_entries;
use crate::drive::identity::{block_device_name, sanitized};
use crate::drive::mounts;
use crate::roots::SysPaths;

/// `STATX_MNT_ID`: ID of the mount that holds a file (kernel 5.8).
const STATX_MNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x1000);
/// Size of the unit of `st_blocks` (stat(2)).
const BLOCK_BYTES: u64 = 512;

/// The backing file of a loop device, if parts of it are not allocated.
#[derive(Debug)]
pub(super) struct SparseImage {
    /// Path in sysfs, for display.
    pub path: String,
    /// Open with `O_PATH`.
    pub file: File,
    /// Bytes that are not allocated.
    pub hole_bytes: u64,
}

impl SparseImage {
    /// Bytes that are not allocated by now; `None` if the file system does not answer.
    pub(super) fn current_hole_bytes(&self) -> Option<u64> {
        Some(hole_bytes(&self.file.metadata().ok()?))
    }
}

fn hole_bytes(facts: &fs::Metadata) -> u64 {
    let allocated = facts.blocks().saturating_mul(BLOCK_BYTES);
    facts.len().saturating_sub(allocated)
}

/// The block device that holds the file system of a file; of an overlay, that of the upper directory.
pub(super) fn device_of_file(roots: &SysPaths, file: &File) -> Option<(u32, u32)> {
    let wanted = StatxFlags::BASIC_STATS | STATX_MNT_ID;
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted).ok()?;
    if facts.stx_dev_major != 0 {
        return Some((facts.stx_dev_major, facts.stx_dev_minor));
    }
    if let Some(upper) = overlay_upper_directory(roots, file) {
        return device_of_file(roots, &open_path(Path::new(&upper))?);
    }
    let mounts = mounts::mounts(roots).ok()?;
    let mount = mounts.iter().find(|mount| mount.id == facts.stx_mnt_id)?;
    mount.block_device(roots)
}

/// The sparse images that a block device lies in. An image whose path leads nowhere in this mount
/// namespace is not found.
pub(super) fn sparse_images(roots: &SysPaths, number: (u32, u32)) -> Vec<SparseImage> {
    let directory = roots.sys.join("class/block");
    let devices = written_devices(roots, number).into_iter();
    devices
        .filter_map(|name| sparse_backing_file(&directory.join(name)))
        .collect()
}

/// The snapshots and pools that a block device needs space in.
pub(super) fn space_stores(roots: &SysPaths, number: (u32, u32)) -> Vec<SpaceStore> {
    let devices = written_devices(roots, number).into_iter();
    devices
        .filter_map(|name| SpaceStore::of_device(roots, &name))
        .collect()
}

/// A block device, all that it is on, and the snapshots of that.
fn written_devices(roots: &SysPaths, number: (u32, u32)) -> Vec<String> {
    let directory = roots.sys.join("class/block");
    let mut below: Vec<String> = block_device_name(roots, number).into_iter().collect();
    let mut next = 0;
    while let Some(name) = below.get(next).cloned() {
        let own = directory.join(&name);
        let lower = directory_entries(&own.join("slaves")).into_iter();
        let lower = lower
            .chain(siblings::whole_disk_name(&own))
            .chain(siblings::backing_device(&own))
            .chain(members_of_file_system(roots, &name))
            .chain(store::snapshots_of_origin(roots, &name));
        for name in lower {
            if !below.contains(&name) {
                below.push(name);
            }
        }
        next += 1;
    }
    below
}

/// The backing file of a loop device, if it is sparse.
fn sparse_backing_file(device: &Path) -> Option<SparseImage> {
    use std::os::unix::ffi::OsStrExt;
    let path = fs::read(device.join("loop/backing_file")).ok()?;
    let path = Path::new(std::ffi::OsStr::from_bytes(
        path.strip_suffix(b"\n").unwrap_or(&path),
    ));
    let file = open_path(path)?;
    let facts = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let hole_bytes = hole_bytes(&facts);
    (hole_bytes > 0).then(|| SparseImage {
        path: sanitized(&path.to_string_lossy()),
        file,
        hole_bytes,
    })
}

/// All devices of the btrfs file system that has the device of that name.
fn members_of_file_system(roots: &SysPaths, name: &str) -> Vec<String> {
    let directory = roots.sys.join("fs/btrfs");
    directory_entries(&directory)
        .into_iter()
        .map(|identity| directory_entries(&directory.join(identity).join("devices")))
        .find(|members| members.iter().any(|member| member == name))
        .unwrap_or_default()
}

fn open_path(path: &Path) -> Option<File> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Some(
        rustix::fs::openat(CWD, path, flags, Mode::empty())
            .ok()?
            .into(),
    )
}

/// Upper directory of the overlay that holds a file; `None` where it is unknown, as in a container.
pub(super) fn overlay_upper_directory(roots: &SysPaths, file: &File) -> Option<String> {
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, STATX_MNT_ID).ok()?;
    let mounts = mounts::mounts(roots).ok()?;
    let mount = mounts.iter().find(|mount| mount.id == facts.stx_mnt_id)?;
    let mut options = mount.options.iter();
    let upper = options.find_map(|option| option.strip_prefix("upperdir="))?;
    Some(upper.to_owned())
}
