//! The mounted file systems, and which parts of which drives they are on.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;

use rustix::fs::fstat;

use crate::drive::foreign_tree::ForeignTree;
use crate::drive::identity::sysfs::btrfs_of_device;
use crate::drive::identity::{self, BlockDevice};
use crate::drive::mounts::{self, MountEntry, split_device_number};
use crate::probe::file_handle::FoundFile;
use crate::roots::SysPaths;
use crate::stats::sorting::SortList as _;
use crate::trace::events::event::DeviceNumber;
use crate::trace::partitions::{drives_of_partitions, sectors_of};

/// A mounted file system.
#[derive(Debug)]
pub(super) struct Volume {
    /// The mount that it is accessed through. Its device number is that in the events.
    pub(super) mount: MountEntry,
    /// Name of its block device.
    pub(super) device_name: String,
}

impl Volume {
    /// Whether its files belong to subvolumes, each with inode numbers of its own.
    pub(super) fn has_subvolumes(&self) -> bool {
        self.mount.file_system == "btrfs"
    }

    /// The file with an inode, where the file system finds it by that alone; `None` where it does not exist
    /// any more, or the permissions do not allow it. The mount is opened for each use: a descriptor that
    /// stays open would keep the file system from being unmounted for as long as files are traced.
    pub(super) fn find_inode(&self, inode: u64) -> Option<FoundFile> {
        if !matches!(&*self.mount.file_system, "ext2" | "ext3" | "ext4" | "f2fs") {
            return None;
        }
        let entry = ForeignTree::own().find_entry(&self.mount.path).ok()?;
        let directory = File::from(entry.open_directory().ok()?);
        let number = split_device_number(fstat(&directory).ok()?.st_dev);
        let found = FoundFile::by_inode(directory.as_fd(), inode).ok();
        found.filter(|_| number == self.mount.device_id)
    }
}

/// What a part of a drive contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The mounted file system of that index.
    Volume(usize),
    /// Another block device, such as a volume of LVM: its requests are those of that device once more.
    BelowAnotherDevice,
}

/// All mounted file systems on block devices.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    pub(super) all: Vec<Volume>,
    /// The drive of each partition.
    pub(super) drives: HashMap<DeviceNumber, DeviceNumber>,
    /// Parts of each drive, in sectors.
    places: HashMap<DeviceNumber, Vec<(Range<u64>, Place)>>,
    /// By id of the mount.
    pub(super) by_mount: HashMap<u64, usize>,
}

impl Volumes {
    /// Reads the mounts and the devices.
    pub(super) fn find(roots: &SysPaths) -> Self {
        let devices = identity::list_block_devices(roots);
        let mut found = Self {
            drives: drives_of_partitions(&devices),
            ..Self::default()
        };
        let mut mounts = mounts::mounts(roots).unwrap_or_default();
        // A mount of the whole file system is preferred to one of a directory in it.
        mounts.sort_list_by_key(|mount| mount.root != "/");
        for mount in &mounts {
            let known = found.by_device_id(mount.device_id);
            if let Some(index) = known.or_else(|| found.add(roots, &devices, mount)) {
                found.by_mount.insert(mount.id, index);
            }
        }
        for device in &devices {
            if devices.iter().any(|it| it.slaves.contains(&device.name)) {
                found.add_place(roots, device, Place::BelowAnotherDevice);
            }
        }
        found
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
        let volume = Volume {
            mount: mount.clone(),
            device_name: device.name.clone(),
        };
        let members = match volume.has_subvolumes() {
            true => {
                btrfs_of_device(roots, &device.name).map_or_else(Vec::new, |(_, devices)| devices)
            }
            false => Vec::new(),
        };
        self.all.push(volume);
        for device in devices {
            if device.number == number || members.contains(&device.name) {
                self.add_place(roots, device, Place::Volume(index));
            }
        }
        Some(index)
    }

    fn add_place(&mut self, roots: &SysPaths, device: &BlockDevice, place: Place) {
        let drive = self.drives.get(&device.number).unwrap_or(&device.number);
        let sectors = sectors_of(roots, device);
        let places = self.places.entry(*drive).or_default();
        places.push((sectors, place));
    }

    /// What is at a sector of a drive; `None` where it is used without a file system.
    pub(super) fn at(&self, drive: DeviceNumber, sector: u64) -> Option<Place> {
        let mut places = self.places.get(&drive)?.iter();
        let found = places.find(|(sectors, _)| sectors.contains(&sector));
        found.map(|(_, place)| *place)
    }

    /// The file system with that device number in the events.
    pub(super) fn by_device_id(&self, device_id: DeviceNumber) -> Option<usize> {
        let mut all = self.all.iter();
        all.position(|one| one.mount.device_id == device_id)
    }

    /// One file system on one drive.
    #[cfg(test)]
    pub(super) fn of_one(volume: Volume, drive: DeviceNumber) -> Self {
        let places = vec![(0..1 << 20, Place::Volume(0))];
        Self {
            drives: [(volume.mount.device_id, drive)].into_iter().collect(),
            places: [(drive, places)].into_iter().collect(),
            all: vec![volume],
            by_mount: HashMap::default(),
        }
    }
}
