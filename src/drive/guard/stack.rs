//! The devices and files that share bytes with a target: its partitions or its whole disk, what is stacked on it,
//! what it is on, and the files behind loop devices. The one walker of device stacks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::drive::guard::claim::open_node;
use crate::drive::guard::uses::{Subject, UnknownUse, unreadable};
use crate::drive::identity::block_device_name;
use crate::drive::identity::sysfs::{
    directory_entries, list_directory, read_device_number, read_line,
};
use crate::drive::ioctl;
use crate::drive::medium::FileId;
use crate::drive::mounts::split_device_number;
use crate::roots::SysPaths;

/// A device or file whose users count.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    /// Name for display.
    pub(super) name: String,
    /// Whether readers count as well.
    pub(super) counts_readers: bool,
}

/// What shares bytes with a target.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// Devices on which a file system, swap or a stacked device would use the target.
    claimable: Vec<String>,
    /// Devices that the target is on.
    below: Vec<String>,
    /// Those of them that a loop device is attached to: a loop device claims nothing.
    pub(super) unclaimed: Vec<String>,
    numbers: BTreeMap<String, (u32, u32)>,
    /// Devices, each with one that is stacked on it.
    pub(super) holders: Vec<(String, String)>,
    /// Devices and files of the target, each with a loop device that is attached to it.
    pub(super) attached_loops: Vec<(String, String)>,
    /// All devices and files by identity.
    watched: BTreeMap<FileId, Watched>,
    /// What could not be examined.
    pub(super) unknown: Vec<UnknownUse>,
}

/// A block device of this kernel name, and the devices that it is on.
pub(in crate::drive) fn devices_below(roots: &SysPaths, name: &str) -> Vec<String> {
    let stack = Stack::of_devices(roots, &[name]);
    stack.numbers.into_keys().collect()
}

/// A loop device with a file.
struct LoopDevice {
    name: String,
    backing: FileId,
    path: String,
}

impl Stack {
    pub(super) fn new(roots: &SysPaths, subject: Subject<'_>) -> Self {
        match subject {
            Subject::Devices(names) => Self::of_devices(roots, names),
            Subject::File(id, name) => Self::of_file(roots, id, name),
        }
    }

    /// The stack around block devices of these kernel names.
    pub(super) fn of_devices(roots: &SysPaths, names: &[&str]) -> Self {
        let mut stack = Self::default();
        let loops = stack.read_loops(roots);
        let directory = roots.sys.join("class/block");
        for name in names {
            stack.add_upwards(&directory, name);
        }
        for name in names {
            if let Some(disk) = whole_disk(&directory, name)
                && stack.is_new(&disk)
            {
                stack.add_holders(&directory, &disk);
                stack.add_device(&directory, &disk, true);
            }
        }
        stack.add_downwards(roots, names, &loops);
        stack.add_attached(loops);
        stack
    }

    /// The stack around a regular file.
    fn of_file(roots: &SysPaths, id: FileId, name: &str) -> Self {
        let mut stack = Self::default();
        let loops = stack.read_loops(roots);
        stack.watch(id, name, true);
        stack.add_attached(loops);
        stack
    }

    /// Devices on which a mount or swap would use the target, with their numbers.
    pub(super) fn claimable(&self) -> impl Iterator<Item = (&str, (u32, u32))> {
        let names = self.claimable.iter();
        names.filter_map(|name| Some((name.as_str(), *self.numbers.get(name)?)))
    }

    /// The name of a device or file of the stack.
    pub(super) fn name_of(&self, id: FileId) -> Option<&str> {
        self.watched.get(&id).map(|watched| watched.name.as_str())
    }

    /// The device or file of the stack that has this identity.
    pub(super) fn watched(&self, id: FileId) -> Option<&Watched> {
        self.watched.get(&id)
    }

    /// Whole disks that are another path to a disk of this stack: of equal size and WWID, or equal model and serial
    /// number where one of them has no WWID.
    pub(super) fn other_paths(&self, roots: &SysPaths) -> Vec<String> {
        let directory = roots.sys.join("class/block");
        let own = self.claimable.iter().chain(&self.below);
        let own: Vec<DiskIdentity> = own
            .filter_map(|name| DiskIdentity::read(&directory, name))
            .collect();
        let is_other_path = |name: &String| {
            !self.numbers.contains_key(name)
                && DiskIdentity::read(&directory, name)
                    .is_some_and(|other| own.iter().any(|own| own.is_same_disk(&other)))
        };
        let mut names = directory_entries(&roots.sys.join("block"));
        names.retain(is_other_path);
        names
    }

    fn is_new(&self, name: &str) -> bool {
        !self.numbers.contains_key(name)
    }

    /// A device, its partitions, and what is stacked on any of them.
    fn add_upwards(&mut self, directory: &Path, name: &str) {
        let mut queue = vec![name.to_owned()];
        while let Some(name) = queue.pop() {
            if !self.is_new(&name) {
                continue;
            }
            self.add_device(directory, &name, true);
            queue.extend(partitions(directory, &name));
            queue.extend(self.add_holders(directory, &name));
        }
    }

    /// What the devices are on, with whole disks of partitions and the files of loop devices.
    fn add_downwards(&mut self, roots: &SysPaths, names: &[&str], loops: &[LoopDevice]) {
        let directory = &roots.sys.join("class/block");
        let mut queue: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut next = 0;
        while let Some(name) = queue.get(next).cloned() {
            next += 1;
            let mut lower = self.listed(&directory.join(&name).join("slaves"));
            let siblings = lower.iter().flat_map(|name| partitions(directory, name));
            let siblings: Vec<String> = siblings.collect();
            lower.extend(whole_disk(directory, &name));
            match loops.iter().find(|it| it.name == name) {
                Some(LoopDevice {
                    backing: FileId::Device(major, minor),
                    ..
                }) => {
                    if let Some(device) = block_device_name(roots, (*major, *minor)) {
                        self.add_upwards(directory, &device);
                        self.unclaimed.push(device.clone());
                        lower.push(device);
                    }
                }
                Some(file) => self.watch(file.backing, &file.path, false),
                None => {}
            }
            for name in lower.iter().chain(&siblings) {
                if self.is_new(name) {
                    self.add_device(directory, name, false);
                }
            }
            lower.retain(|name| !queue.contains(name));
            queue.extend(lower);
        }
    }

    fn watch(&mut self, id: FileId, name: &str, counts_readers: bool) {
        let name = name.to_owned();
        let watched = Watched {
            name,
            counts_readers,
        };
        self.watched.insert(id, watched);
    }

    fn add_attached(&mut self, loops: Vec<LoopDevice>) {
        for other in loops {
            if let Some(watched) = self.watched.get(&other.backing)
                && self.is_new(&other.name)
            {
                let pair = (watched.name.clone(), other.name);
                self.attached_loops.push(pair);
            }
        }
    }

    fn add_device(&mut self, directory: &Path, name: &str, is_claimable: bool) {
        // A device without a number is gone.
        let Some((major, minor)) = read_device_number(&directory.join(name)) else {
            return;
        };
        self.numbers.insert(name.to_owned(), (major, minor));
        self.watch(FileId::Device(major, minor), name, false);
        let list = if is_claimable {
            &mut self.claimable
        } else {
            &mut self.below
        };
        list.push(name.to_owned());
    }

    /// Notes what is stacked on a device, and returns it.
    fn add_holders(&mut self, directory: &Path, name: &str) -> Vec<String> {
        let holders = self.listed(&directory.join(name).join("holders"));
        let pairs = holders.iter().map(|by| (name.to_owned(), by.clone()));
        self.holders.extend(pairs);
        holders
    }

    /// Names in a directory of the kernel; one that cannot be read is unknown.
    fn listed(&mut self, path: &Path) -> Vec<String> {
        list_directory(path).unwrap_or_else(|error| {
            self.unknown.extend(unreadable(path, &error));
            Vec::new()
        })
    }

    /// All loop devices with a file; one whose file the kernel does not tell is unknown.
    fn read_loops(&mut self, roots: &SysPaths) -> Vec<LoopDevice> {
        let directory = roots.sys.join("class/block");
        let mut loops = Vec::new();
        let mut names = self.listed(&directory);
        names.retain(|name| name.starts_with("loop"));
        for name in names {
            let Some(path) = read_line(&directory.join(&name).join("loop/backing_file")) else {
                continue;
            };
            let backing = open_node(roots, &name).and_then(|node| ioctl::loop_status(&node));
            match backing {
                Ok(status) => loops.push(LoopDevice {
                    name,
                    backing: status.backing(),
                    path,
                }),
                // Detached in the meantime.
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {}
                Err(_) => self.unknown.push(UnknownUse::Loop { device: name }),
            }
        }
        loops
    }
}

/// The partitions of a disk.
fn partitions(directory: &Path, name: &str) -> Vec<String> {
    let mut entries = directory_entries(&directory.join(name));
    entries.retain(|entry| directory.join(name).join(entry).join("partition").exists());
    entries
}

/// The whole disk of a partition.
fn whole_disk(directory: &Path, name: &str) -> Option<String> {
    let own = directory.join(name);
    if !own.join("partition").exists() {
        return None;
    }
    let path: PathBuf = fs::canonicalize(own).ok()?;
    Some(path.parent()?.file_name()?.to_str()?.to_owned())
}

/// What identifies a disk behind several paths.
struct DiskIdentity {
    size: String,
    wwid: Option<String>,
    serial: Option<(Option<String>, String)>,
}

impl DiskIdentity {
    /// `None` for partitions and for devices without WWID and serial number.
    fn read(directory: &Path, name: &str) -> Option<Self> {
        let own = directory.join(name);
        let attribute = |path: &str| read_line(&own.join(path)).filter(|text| !text.is_empty());
        let serial = attribute("device/serial").or_else(|| attribute("serial"));
        let identity = Self {
            size: attribute("size")?,
            wwid: attribute("wwid").or_else(|| attribute("device/wwid")),
            serial: serial.map(|serial| (attribute("device/model"), serial)),
        };
        (identity.wwid.is_some() || identity.serial.is_some()).then_some(identity)
    }

    fn is_same_disk(&self, other: &Self) -> bool {
        let same_name = match (&self.wwid, &other.wwid) {
            (Some(own), Some(other)) => own == other,
            _ => self.serial.is_some() && self.serial == other.serial,
        };
        same_name && self.size == other.size
    }
}

impl ioctl::LoopStatus {
    /// The file or device that it is attached to.
    pub(super) fn backing(&self) -> FileId {
        if self.rdev == 0 {
            FileId::Inode(self.device, self.inode)
        } else {
            let (major, minor) = split_device_number(self.rdev);
            FileId::Device(major, minor)
        }
    }
}
