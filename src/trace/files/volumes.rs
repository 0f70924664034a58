//! The mounted file systems, and which parts of which drives they are on.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;

use foldhash::HashMap;
use rustix::fs::fstat;

use crate::drive::identity::{self, BlockDevice};
use crate::drive::mounts::{self, MountEntry, split_device_number};
use crate::foreign_tree::ForeignTree;
use crate::probe::btrfs;
use crate::probe::files::handle::{FileHandle, FoundFile};
use crate::roots::SysPaths;
use crate::stats::sorting::SortList as _;
use crate::trace::events::event::DeviceNumber;
use crate::trace::hot_files::{FileHint, FileSystemHint};
use crate::trace::partitions::drives_of_partitions;

/// Bytes of a sector in /sys.
const SECTOR_BYTES: u64 = 512;
/// `BTRFS_FS_TREE_OBJECTID`: the subvolume that each btrfs has.
const TOP_SUBVOLUME: u64 = 5;

/// How files are found by their inodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VolumeKind {
    /// ext2, ext3, ext4, f2fs: by a handle.
    Inode32,
    /// By a handle, where the subvolume is known. Each one has inode numbers of its own.
    Btrfs { has_only_top: bool },
    /// By the descriptors of the processes that use them.
    Other,
}

/// A part of a drive that belongs to a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct VolumePart {
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
    backing_name: Vec<u8>,
    /// UUID of btrfs.
    uuid: Option<[u8; 16]>,
    /// The mount point that it is accessed through.
    pub(super) mount_point: PathBuf,
    /// Whether its whole tree is mounted there.
    is_mounted_whole: bool,
    kind: VolumeKind,
    parts: Vec<VolumePart>,
}

impl Volume {
    /// A directory of the file system. It is opened for each use: a descriptor that stays open would keep
    /// the file system from being unmounted for as long as files are traced.
    fn open_mount(&self) -> Option<File> {
        let tree = ForeignTree::own();
        let found = tree.find_entry(&self.mount_point).ok()?;
        let directory = found.open_directory().ok()?;
        // Files of btrfs have the number of their subvolume.
        let is_same = self.has_subvolumes()
            || fstat(&directory).is_ok_and(|it| split_device_number(it.st_dev) == self.device_id);
        is_same.then(|| File::from(directory))
    }

    /// Whether its files belong to subvolumes, each with inode numbers of its own.
    fn has_subvolumes(&self) -> bool {
        matches!(self.kind, VolumeKind::Btrfs { .. })
    }

    /// The subvolume of all files, 0 where there are none; `None` where there may be several.
    pub(super) fn only_subvolume(&self) -> Option<u64> {
        match self.kind {
            VolumeKind::Btrfs { has_only_top } => has_only_top.then_some(TOP_SUBVOLUME),
            _ => Some(0),
        }
    }

    /// The file with an inode; `None` where it does not exist any more, or the file
    /// system or the permissions do not allow it.
    pub(super) fn find_inode(&self, subvolume: u64, inode: u64) -> Option<FoundFile> {
        let handle = match self.kind {
            VolumeKind::Inode32 => FileHandle::of_inode32(inode)?,
            VolumeKind::Btrfs { .. } => FileHandle::of_btrfs_inode(subvolume, inode),
            VolumeKind::Other => return None,
        };
        handle.find(self.open_mount()?.as_fd()).ok()
    }

    /// Looks again whether there are subvolumes.
    fn refresh(&mut self) {
        if self.has_subvolumes() {
            let mount = self.is_mounted_whole.then(|| self.open_mount()).flatten();
            let has_only_top = mount.is_some_and(|top| {
                btrfs::has_subvolumes_below(&top).is_ok_and(|has_others| !has_others)
            });
            self.kind = VolumeKind::Btrfs { has_only_top };
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
            "btrfs" => VolumeKind::Btrfs {
                has_only_top: false,
            },
            _ => VolumeKind::Other,
        };
        let mut volume = Volume {
            device_id: mount.device_id,
            device_name: device.name.clone(),
            backing_name: Vec::new(),
            uuid: None,
            mount_point: mount.path.clone(),
            is_mounted_whole: mount.root == "/",
            kind,
            parts: devices.part(number).into_iter().collect(),
        };
        volume.refresh();
        volume.read_backing_device(roots, devices);
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

    /// The file systems whose backing device has that name in writeback events.
    pub(super) fn with_backing_name(&self, name: &[u8]) -> Vec<usize> {
        let all = self.all.iter().enumerate();
        let named = all.filter(|(_, volume)| volume.backing_name == name);
        named.map(|(index, _)| index).collect()
    }

    /// Whether a file system may have subvolumes.
    pub(super) fn has_subvolumes(&self, volume: usize) -> bool {
        self.all.get(volume).is_some_and(Volume::has_subvolumes)
    }

    /// The file system of a mount.
    pub(super) fn by_mount(&self, mount: u64) -> Option<usize> {
        self.by_mount.get(&mount).copied()
    }
}

impl Volume {
    /// The name that writeback events give the backing device: that of the drive as a number, or
    /// one of its own, which btrfs shows in sysfs beside all of its devices.
    fn read_backing_device(&mut self, roots: &SysPaths, devices: &Devices) {
        if !self.has_subvolumes() {
            let drive = self.parts.first().map(|part| part.drive);
            self.backing_name = drive.map_or_else(Vec::new, |(major, minor)| {
                format!("{major}:{minor}").into_bytes()
            });
            return;
        }
        let systems = std::fs::read_dir(roots.sys.join("fs/btrfs"));
        let mut systems = systems.into_iter().flatten().flatten();
        let Some(system) =
            systems.find(|it| it.path().join("devices").join(&self.device_name).exists())
        else {
            return;
        };
        self.uuid = system.file_name().to_str().and_then(parse_uuid);
        if let Ok(link) = std::fs::read_link(system.path().join("bdi")) {
            let name = link.file_name().unwrap_or_default();
            self.backing_name = name.as_encoded_bytes().to_vec();
        }
        let names = std::fs::read_dir(system.path().join("devices"));
        let names = names.into_iter().flatten().flatten();
        let parts = names.filter_map(|entry| {
            let name = entry.file_name();
            let mut all = devices.by_number.values();
            let device = all.find(|device| *device.name == *name)?;
            devices.part(device.number)
        });
        self.parts = parts.collect();
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
            drive_by_partition: drives_of_partitions(&all).into_iter().collect(),
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

    fn part(&self, device: DeviceNumber) -> Option<VolumePart> {
        Some(VolumePart {
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
            .filter_map(|device| self.part(device.number))
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
