//! The mounted file systems, and which parts of which drives they are on.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use foldhash::HashMap;
use rustix::fs::fstat;

use crate::drive;
use crate::drive::identity::{self, BlockDevice};
use crate::drive::ioctl::FileExtent;
use crate::drive::mounts::{self, MountEntry, split_device_number};
use crate::foreign_tree::ForeignTree;
use crate::model::hot_files::{FileHint, FileSystemHint, PhysicalExtent};
use crate::probe::files::btrfs::{self, Chunk};
use crate::probe::files::handle::{FileHandle, FoundFile};
use crate::probe::files::xfs;
use crate::probe::trace::event::DeviceNumber;
use crate::roots::SysPaths;
use crate::stats::sorting::SortList as _;

/// Bytes of a sector in /sys.
const SECTOR_BYTES: u64 = 512;
/// Subvolumes whose files are searched for an inode.
const MAX_SEARCHED_SUBVOLUMES: usize = 64;

/// How files are found by their inodes.
#[derive(Debug)]
enum VolumeKind {
    /// ext2, ext3, ext4, f2fs.
    Inode32,
    Xfs,
    Btrfs {
        subvolumes: Vec<u64>,
        chunks: Vec<Chunk>,
    },
    /// Files are known by their inodes only.
    Other,
}

/// A part of a drive that belongs to a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct VolumePart {
    /// Number of the device within the file system; 1 where there is one only.
    number: u64,
    drive: DeviceNumber,
    start: u64,
    length: u64,
}

/// A mounted file system.
#[derive(Debug)]
pub(super) struct Volume {
    /// Device number in the events and in mountinfo.
    pub(super) device_id: DeviceNumber,
    /// Name of its block device.
    pub(super) device_name: String,
    /// Name of its backing device in writeback events.
    pub(super) backing_name: Vec<u8>,
    /// UUID of btrfs.
    uuid: Option<[u8; 16]>,
    /// The mount point that it is accessed through.
    pub(super) mount_point: PathBuf,
    kind: VolumeKind,
    parts: Vec<VolumePart>,
}

impl Volume {
    /// A directory of the file system. It is opened for each use: a descriptor that stays open would keep
    /// the file system from being unmounted for as long as files are traced.
    fn open_mount(&self) -> Option<OwnedFd> {
        let tree = ForeignTree::own();
        let found = tree.find_entry(&self.mount_point).ok()?;
        let directory = found.open_directory().ok()?;
        // Files of btrfs have the number of their subvolume.
        let is_same = self.has_subvolumes()
            || fstat(&directory).is_ok_and(|it| split_device_number(it.st_dev) == self.device_id);
        is_same.then_some(directory)
    }

    /// Whether an inode number identifies a file without a subvolume.
    pub(super) fn has_unique_inodes(&self) -> bool {
        match &self.kind {
            VolumeKind::Btrfs { subvolumes, .. } => subvolumes.len() <= 1,
            _ => true,
        }
    }

    /// Whether its files belong to subvolumes, each with inode numbers of its own.
    pub(super) fn has_subvolumes(&self) -> bool {
        matches!(self.kind, VolumeKind::Btrfs { .. })
    }

    /// The subvolumes that may contain an inode; 0 where there are none.
    pub(super) fn subvolumes(&self) -> Vec<u64> {
        match &self.kind {
            VolumeKind::Btrfs { subvolumes, .. } => subvolumes
                .iter()
                .copied()
                .take(MAX_SEARCHED_SUBVOLUMES)
                .collect(),
            _ => vec![0],
        }
    }

    /// The handle of an inode.
    fn handle_of(&self, subvolume: u64, inode: u64) -> Option<FileHandle> {
        match self.kind {
            VolumeKind::Inode32 => FileHandle::of_inode32(inode),
            VolumeKind::Xfs => {
                let generation = xfs::inode_generation(self.open_mount()?.as_fd(), inode).ok()?;
                Some(FileHandle::of_xfs_inode(inode, generation))
            }
            VolumeKind::Btrfs { .. } => Some(FileHandle::of_btrfs_inode(subvolume, inode)),
            VolumeKind::Other => None,
        }
    }

    /// The file with an inode; `None` where it does not exist any more, or the file
    /// system or the permissions do not allow it.
    pub(super) fn find_inode(&self, subvolume: u64, inode: u64) -> Option<FoundFile> {
        let handle = self.handle_of(subvolume, inode)?;
        handle.find(self.open_mount()?.as_fd()).ok()
    }

    /// Where extents of a file are on the drives.
    pub(super) fn places_of(&self, extents: &[FileExtent]) -> Vec<PhysicalExtent> {
        extents
            .iter()
            .flat_map(|extent| self.places_of_extent(extent))
            .collect()
    }

    fn places_of_extent(&self, extent: &FileExtent) -> Vec<PhysicalExtent> {
        let on_part = |number: u64, offset: u64, length: u64| {
            let part = self.parts.iter().find(|part| part.number == number)?;
            Some(PhysicalExtent {
                drive: part.drive,
                offset: part.start.checked_add(offset)?,
                length,
            })
        };
        let VolumeKind::Btrfs { chunks, .. } = &self.kind else {
            let place = on_part(1, extent.physical, extent.length);
            return place.into_iter().collect();
        };
        let after = chunks.partition_point(|chunk| chunk.logical <= extent.physical);
        let chunk = after.checked_sub(1).and_then(|index| chunks.get(index));
        let ranges = chunk.map(|chunk| chunk.device_ranges(extent.physical, extent.length));
        let ranges = ranges.unwrap_or_default();
        ranges
            .into_iter()
            .filter_map(|range| on_part(range.device, range.offset, range.length))
            .collect()
    }

    /// Reads what changes while the file system is in use.
    fn refresh(&mut self) {
        if !self.has_subvolumes() {
            return;
        }
        let Some(mount) = self.open_mount() else {
            return;
        };
        if let VolumeKind::Btrfs { subvolumes, chunks } = &mut self.kind {
            *chunks = btrfs::chunks(mount.as_fd()).unwrap_or_default();
            *subvolumes = btrfs::subvolumes(mount.as_fd()).unwrap_or_default();
        }
    }
}

/// All mounted file systems on block devices.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    pub(super) all: Vec<Volume>,
    by_drive: HashMap<DeviceNumber, Vec<(u64, u64, usize)>>,
    by_mount: HashMap<u64, usize>,
    drive_by_device: HashMap<DeviceNumber, DeviceNumber>,
    /// Parts of drives below another block device, such as a volume of LVM: their requests are
    /// those of that device once more.
    lower_parts: Vec<(DeviceNumber, u64, u64)>,
}

impl Volumes {
    /// Reads the mounts and the devices.
    pub(super) fn find(roots: &SysPaths) -> Self {
        let devices = Devices::read(roots);
        let mut found = Self {
            drive_by_device: devices.drives(),
            lower_parts: devices.lower_parts(roots),
            ..Self::default()
        };
        let mut mounts = mounts::mounts(roots).unwrap_or_default();
        // A mount of the whole file system is preferred to one of a directory in it.
        mounts.sort_list_by_key(|mount| mount.root != "/");
        let mut by_device: BTreeMap<DeviceNumber, usize> = BTreeMap::new();
        for mount in &mounts {
            let known = by_device.get(&mount.device_id).copied();
            let index = known.or_else(|| found.add(roots, &devices, mount));
            if let Some(index) = index {
                by_device.insert(mount.device_id, index);
                found.by_mount.insert(mount.id, index);
            }
        }
        found
    }

    fn add(&mut self, roots: &SysPaths, devices: &Devices, mount: &MountEntry) -> Option<usize> {
        let number = mount.block_device(roots)?;
        let device = devices.by_number.get(&number)?;
        let kind = match mount.file_system.as_str() {
            "ext2" | "ext3" | "ext4" | "f2fs" => VolumeKind::Inode32,
            "xfs" => VolumeKind::Xfs,
            "btrfs" => VolumeKind::Btrfs {
                subvolumes: Vec::new(),
                chunks: Vec::new(),
            },
            _ => VolumeKind::Other,
        };
        let mut volume = Volume {
            device_id: mount.device_id,
            device_name: device.name.clone(),
            backing_name: Vec::new(),
            uuid: None,
            mount_point: mount.path.clone(),
            kind,
            parts: devices.part(1, number).into_iter().collect(),
        };
        volume.refresh();
        volume.add_btrfs_devices(devices);
        volume.read_backing_name(roots);
        let index = self.all.len();
        for part in &volume.parts {
            let range = (part.start, part.start.saturating_add(part.length), index);
            self.by_drive.entry(part.drive).or_default().push(range);
        }
        self.all.push(volume);
        Some(index)
    }

    /// Reads what changes while the file systems are in use.
    pub(super) fn refresh(&mut self) {
        self.all.iter_mut().for_each(Volume::refresh);
    }

    /// The drive of each partition.
    pub(super) fn drives(&self) -> HashMap<DeviceNumber, DeviceNumber> {
        self.drive_by_device.clone()
    }

    /// The file system at a place.
    pub(super) fn at(&self, drive: DeviceNumber, offset: u64) -> Option<usize> {
        let ranges = self.by_drive.get(&drive)?;
        ranges
            .iter()
            .find(|(start, end, _)| (*start..*end).contains(&offset))
            .map(|(_, _, index)| *index)
    }

    /// Whether the requests at a place are those of another block device once more.
    pub(super) fn is_below_another_device(&self, drive: DeviceNumber, offset: u64) -> bool {
        self.lower_parts
            .iter()
            .any(|(lower, start, end)| *lower == drive && (*start..*end).contains(&offset))
    }

    /// The btrfs with that UUID.
    fn by_uuid(&self, uuid: [u8; 16]) -> Option<usize> {
        self.all.iter().position(|one| one.uuid == Some(uuid))
    }

    /// The file system that an event names.
    pub(super) fn of_hint(&self, hint: FileHint) -> Option<usize> {
        match hint.system {
            FileSystemHint::Device(device) => self.by_device_id(device),
            FileSystemHint::Subvolume(uuid, _) => self.by_uuid(uuid),
            FileSystemHint::Drive => None,
        }
    }

    /// The file system with that device number in the events.
    pub(super) fn by_device_id(&self, device_id: DeviceNumber) -> Option<usize> {
        self.all.iter().position(|one| one.device_id == device_id)
    }

    /// The file system of a mount.
    pub(super) fn by_mount(&self, mount: u64) -> Option<usize> {
        self.by_mount.get(&mount).copied()
    }
}

impl Volume {
    /// The name that writeback events give the backing device: that of the drive as a number, or
    /// one of its own, which btrfs shows in sysfs.
    fn read_backing_name(&mut self, roots: &SysPaths) {
        if !matches!(self.kind, VolumeKind::Btrfs { .. }) {
            let drive = self.parts.first().map(|part| part.drive);
            self.backing_name = drive.map_or_else(Vec::new, |(major, minor)| {
                format!("{major}:{minor}").into_bytes()
            });
            return;
        }
        let systems = std::fs::read_dir(roots.sys.join("fs/btrfs"));
        for system in systems.into_iter().flatten().flatten() {
            let device = system.path().join("devices").join(&self.device_name);
            if !device.exists() {
                continue;
            }
            self.uuid = system.file_name().to_str().and_then(parse_uuid);
            if let Ok(link) = std::fs::read_link(system.path().join("bdi")) {
                let name = link.file_name().unwrap_or_default();
                self.backing_name = name.as_encoded_bytes().to_vec();
            }
        }
    }

    /// btrfs may have several devices, each with a number.
    fn add_btrfs_devices(&mut self, devices: &Devices) {
        let VolumeKind::Btrfs { chunks, .. } = &self.kind else {
            return;
        };
        let Some(mount) = self.open_mount() else {
            return;
        };
        let mut numbers: Vec<u64> = chunks
            .iter()
            .flat_map(|chunk| chunk.stripes.iter().map(|stripe| stripe.device))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let part = |number: &u64| {
            let path = drive::btrfs::device(mount.as_fd(), *number).ok()?.path;
            let device = std::fs::metadata(OsStr::from_bytes(&path)).ok()?.rdev();
            devices.part(*number, split_device_number(device))
        };
        let parts: Vec<VolumePart> = numbers.iter().filter_map(part).collect();
        if !parts.is_empty() {
            self.parts = parts;
        }
    }
}

/// The block devices.
struct Devices {
    by_number: HashMap<DeviceNumber, BlockDevice>,
    starts: HashMap<DeviceNumber, u64>,
    drive_by_partition: HashMap<DeviceNumber, DeviceNumber>,
}

impl Devices {
    fn read(roots: &SysPaths) -> Self {
        let all = identity::list_block_devices(roots);
        let start = |device: &BlockDevice| {
            let path = roots.sys.join("class/block").join(&device.name);
            let text = std::fs::read_to_string(path.join("start")).ok()?;
            let sectors: u64 = text.trim().parse().ok()?;
            Some((device.number, sectors.saturating_mul(SECTOR_BYTES)))
        };
        Self {
            starts: all.iter().filter_map(start).collect(),
            drive_by_partition: identity::drives_of_partitions(&all).into_iter().collect(),
            by_number: all.into_iter().map(|one| (one.number, one)).collect(),
        }
    }

    fn drive_of(&self, number: DeviceNumber) -> DeviceNumber {
        let drive = self.drive_by_partition.get(&number);
        drive.copied().unwrap_or(number)
    }

    fn drives(&self) -> HashMap<DeviceNumber, DeviceNumber> {
        self.by_number
            .keys()
            .map(|number| (*number, self.drive_of(*number)))
            .collect()
    }

    fn part(&self, number: u64, device: DeviceNumber) -> Option<VolumePart> {
        Some(VolumePart {
            number,
            drive: self.drive_of(device),
            start: self.starts.get(&device).copied().unwrap_or(0),
            length: self.by_number.get(&device)?.size_bytes,
        })
    }

    fn lower_parts(&self, roots: &SysPaths) -> Vec<(DeviceNumber, u64, u64)> {
        let has_holders = |device: &&BlockDevice| {
            let path = roots.sys.join("class/block").join(&device.name);
            let holders = std::fs::read_dir(path.join("holders"));
            holders.is_ok_and(|mut holders| holders.next().is_some())
        };
        self.by_number
            .values()
            .filter(has_holders)
            .filter_map(|device| self.part(1, device.number))
            .map(|part| (part.drive, part.start, part.start + part.length))
            .collect()
    }
}

/// The bytes of a UUID in text form.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let mut uuid = [0; 16];
    if digits.len() != 2 * uuid.len() {
        return None;
    }
    for (byte, pair) in uuid.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuid_is_parsed() {
        let uuid = parse_uuid("00010203-0405-0607-0809-0a0b0c0d0eff").unwrap();
        assert_eq!(uuid[..3], [0, 1, 2]);
        assert_eq!(uuid[15], 0xff);
        assert_eq!(parse_uuid("features"), None);
        assert_eq!(parse_uuid(&"g".repeat(32)), None);
    }
}
