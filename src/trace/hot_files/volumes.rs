//! The mounted file systems, and which parts of which drives they are on.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::fs::fstat;

use crate::drive::identity::{self, BlockDevice};
use crate::drive::mounts::{self, MountEntry, split_device_number};
use crate::foreign_tree::ForeignTree;
use crate::probe::btrfs;
use crate::probe::files::handle::{FileHandle, FoundFile};
use crate::roots::SysPaths;
use crate::stats::sorting::SortList as _;
use crate::trace::events::event::DeviceNumber;
use crate::trace::partitions::{drives_of_partitions, first_sector};

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

/// A mounted file system.
#[derive(Debug)]
pub(super) struct Volume {
    /// Device number in the events and in mountinfo.
    pub(super) device_id: DeviceNumber,
    /// Name of its block device.
    pub(super) device_name: String,
    /// The mount point that it is accessed through.
    pub(super) mount_point: PathBuf,
    /// Whether its whole tree is mounted there.
    is_mounted_whole: bool,
    kind: VolumeKind,
}

impl Volume {
    fn new(mount: &MountEntry, device: &BlockDevice) -> Self {
        let mut volume = Self {
            device_id: mount.device_id,
            device_name: device.name.clone(),
            mount_point: mount.path.clone(),
            is_mounted_whole: mount.root == "/",
            kind: match mount.file_system.as_str() {
                "ext2" | "ext3" | "ext4" | "f2fs" => VolumeKind::Inode32,
                "btrfs" => VolumeKind::Btrfs {
                    has_only_top: false,
                },
                _ => VolumeKind::Other,
            },
        };
        volume.refresh();
        volume
    }

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
    pub(super) fn has_subvolumes(&self) -> bool {
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
            let has_others = mount.and_then(|top| btrfs::has_subvolumes_below(&top).ok());
            self.kind = VolumeKind::Btrfs {
                has_only_top: has_others == Some(false),
            };
        }
    }
}

/// A part of a drive, in bytes.
type DrivePart = (DeviceNumber, Range<u64>);

/// All mounted file systems on block devices.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    pub(super) all: Vec<Volume>,
    /// The drive of each partition.
    pub(super) drives: HashMap<DeviceNumber, DeviceNumber>,
    by_drive: HashMap<DeviceNumber, Vec<(Range<u64>, usize)>>,
    by_mount: HashMap<u64, usize>,
    /// Parts of drives below another block device, such as a volume of LVM: their requests are
    /// those of that device once more.
    lower_parts: Vec<DrivePart>,
}

impl Volumes {
    /// Reads the mounts and the devices.
    pub(super) fn find(roots: &SysPaths) -> Self {
        let devices = identity::list_block_devices(roots);
        let mut found = Self {
            drives: drives_of_partitions(&devices),
            ..Self::default()
        };
        let lower = devices.iter().filter(|device| {
            devices
                .iter()
                .any(|upper| upper.slaves.contains(&device.name))
        });
        found.lower_parts = lower.map(|device| found.part_of(roots, device)).collect();
        let mut mounts = mounts::mounts(roots).unwrap_or_default();
        // A mount of the whole file system is preferred to one of a directory in it.
        mounts.sort_list_by_key(|mount| mount.root != "/");
        let mut by_device: BTreeMap<DeviceNumber, usize> = BTreeMap::new();
        for mount in &mounts {
            let known = by_device.get(&mount.device_id).copied();
            if let Some(index) = known.or_else(|| found.add(roots, &devices, mount)) {
                by_device.insert(mount.device_id, index);
                found.by_mount.insert(mount.id, index);
            }
        }
        found
    }

    fn part_of(&self, roots: &SysPaths, device: &BlockDevice) -> DrivePart {
        let start = first_sector(roots, &device.name)
            .unwrap_or(0)
            .saturating_mul(SECTOR_BYTES);
        let drive = self.drives.get(&device.number).copied();
        (
            drive.unwrap_or(device.number),
            start..start.saturating_add(device.size_bytes),
        )
    }

    fn add(
        &mut self,
        roots: &SysPaths,
        devices: &[BlockDevice],
        mount: &MountEntry,
    ) -> Option<usize> {
        let number = mount.block_device(roots)?;
        let device = devices.iter().find(|device| device.number == number)?;
        let index = self.all.len();
        let volume = Volume::new(mount, device);
        let members = match volume.has_subvolumes() {
            true => btrfs_members(roots, &device.name),
            false => Vec::new(),
        };
        let is_member = |one: &&BlockDevice| one.number == number || members.contains(&one.name);
        for member in devices.iter().filter(is_member) {
            let (drive, range) = self.part_of(roots, member);
            self.by_drive.entry(drive).or_default().push((range, index));
        }
        self.all.push(volume);
        Some(index)
    }

    /// Reads what changes while the file systems are in use.
    pub(super) fn refresh(&mut self) {
        self.all.iter_mut().for_each(Volume::refresh);
    }

    /// The file system at a place.
    pub(super) fn at(&self, drive: DeviceNumber, offset: u64) -> Option<usize> {
        let ranges = self.by_drive.get(&drive)?.iter();
        let mut found = ranges.filter(|(range, _)| range.contains(&offset));
        found.next().map(|(_, index)| *index)
    }

    /// Whether the requests at a place are those of another block device once more.
    pub(super) fn is_below_another_device(&self, drive: DeviceNumber, offset: u64) -> bool {
        let mut lower = self.lower_parts.iter();
        lower.any(|(lower, range)| *lower == drive && range.contains(&offset))
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

/// Names of all devices of the btrfs that one of them belongs to.
fn btrfs_members(roots: &SysPaths, device_name: &str) -> Vec<String> {
    let systems = std::fs::read_dir(roots.sys.join("fs/btrfs"));
    for system in systems.into_iter().flatten().flatten() {
        let members = std::fs::read_dir(system.path().join("devices"));
        let names = members.into_iter().flatten().flatten();
        let names: Vec<String> = names
            .filter_map(|name| name.file_name().into_string().ok())
            .collect();
        if names.iter().any(|name| name == device_name) {
            return names;
        }
    }
    Vec::new()
}
