//! The devices that a target is on, and those below them: the whole disk of a partition, members of a
//! RAID, the device of a loop device's backing file.

use std::fs::File;
use std::path::Path;

use crate::drive::foreign_tree::ForeignTree;
use crate::drive::identity;
use crate::drive::identity::sysfs::btrfs_of_device;
use crate::drive::mounts::{self, MountEntry};
use crate::drive::{BlockDevice, DriveKind, Target, TargetKind};
use crate::roots::SysPaths;
use crate::session::document::LayerRelation;

/// More devices are not looked at.
const MAX_DEVICES: usize = 32;
/// Overlays on overlays that are looked through.
const MAX_OVERLAYS: usize = 4;

/// The devices of a target.
#[derive(Debug, Default)]
pub struct DeviceStack {
    /// The target, or the device that it is on; `None` where several are, or none is known.
    pub top: Option<BlockDevice>,
    /// Those below it, from top to bottom; they begin with the devices of a file system on several.
    pub below: Vec<(LayerRelation, BlockDevice)>,
}

impl DeviceStack {
    /// Finds the devices of a target, which is open as `file`. A simulated drive has none.
    #[must_use]
    pub fn of_target(roots: &SysPaths, target: &Target, file: Option<&File>) -> Self {
        let holding = match (target.kind, &target.drive) {
            (TargetKind::Simulated, _) => Vec::new(),
            (_, Some(drive)) => vec![drive.clone()],
            (_, None) => {
                let mount = file.and_then(|file| mounts::mount_of_file(roots, file));
                mount.map_or_else(Vec::new, |mount| devices_of_mount(roots, mount))
            }
        };
        Self::of_devices(roots, holding)
    }

    fn of_devices(roots: &SysPaths, mut holding: Vec<BlockDevice>) -> Self {
        let mut below = Vec::new();
        let top = if holding.len() > 1 {
            let members = holding.into_iter();
            below.extend(members.map(|drive| (LayerRelation::FileSystem, drive)));
            None
        } else {
            let top = holding.pop();
            let next = top.iter().flat_map(|top| directly_underlying(roots, top));
            below.extend(next);
            top
        };
        let mut looked_at = 0;
        while looked_at < below.len() && below.len() < MAX_DEVICES {
            for (relation, drive) in directly_underlying(roots, &below[looked_at].1.clone()) {
                let is_top = top.as_ref().is_some_and(|top| top.name == drive.name);
                if !is_top && below.iter().all(|(_, known)| known.name != drive.name) {
                    below.push((relation, drive));
                }
            }
            looked_at += 1;
        }
        Self { top, below }
    }

    /// All devices, from top to bottom.
    pub fn devices(&self) -> impl Iterator<Item = &BlockDevice> {
        self.top
            .iter()
            .chain(self.below.iter().map(|(_, drive)| drive))
    }
}

/// The devices of a file system whose files have no block device's number: those of a btrfs, or those below
/// the upper directory of an overlay, where it is in this mount table.
fn devices_of_mount(roots: &SysPaths, mut mount: MountEntry) -> Vec<BlockDevice> {
    for _ in 0..MAX_OVERLAYS {
        if mount.file_system != "overlay" {
            break;
        }
        match mount_of_upper_directory(roots, &mount) {
            Some(holding) => mount = holding,
            None => return Vec::new(),
        }
    }
    let number = mount.block_device(roots);
    let named = number.and_then(|number| identity::block_device_by_number(roots, number));
    if mount.file_system != "btrfs" {
        return named.into_iter().collect();
    }
    // Its other name is a link, and /dev of a container may lack it.
    let name = named.as_ref().map(|drive| drive.name.clone());
    let name = name.or_else(|| Some(Path::new(&mount.source).file_name()?.to_str()?.to_owned()));
    let members = name.and_then(|name| btrfs_of_device(roots, &name));
    members.map_or_else(
        || named.into_iter().collect(),
        |(_, names)| {
            let read = |name: &String| identity::read_block_device(roots, name);
            names.iter().filter_map(read).collect()
        },
    )
}

/// The mount that holds the upper directory of an overlay. A container sees the path of its host, which
/// leads to the overlay itself: that is none.
fn mount_of_upper_directory(roots: &SysPaths, overlay: &MountEntry) -> Option<MountEntry> {
    let mut options = overlay.options.iter();
    let upper = options.find_map(|option| option.strip_prefix("upperdir="))?;
    let holding = mounts::mounts(roots).ok()?.into_iter();
    let holding = holding
        .filter(|mount| Path::new(upper).starts_with(&mount.path))
        .max_by_key(|mount| mount.path.as_os_str().len())?;
    (holding.device_id != overlay.device_id).then_some(holding)
}

/// The devices directly underlying a device.
fn directly_underlying(roots: &SysPaths, drive: &BlockDevice) -> Vec<(LayerRelation, BlockDevice)> {
    let whole_disk = drive
        .parent
        .iter()
        .map(|name| (LayerRelation::WholeDisk, name.clone()));
    let members = drive
        .slaves
        .iter()
        .map(|name| (LayerRelation::Member, name.clone()));
    let named = whole_disk.chain(members).filter_map(|(relation, name)| {
        Some((relation, identity::read_block_device(roots, &name)?))
    });
    let backing = (drive.kind == DriveKind::Loop)
        .then(|| loop_backing_device(roots, drive))
        .flatten();
    named
        .chain(backing.map(|drive| (LayerRelation::BackingDevice, drive)))
        .collect()
}

/// The device that holds a loop device's backing file, or the device that backs it directly.
fn loop_backing_device(roots: &SysPaths, drive: &BlockDevice) -> Option<BlockDevice> {
    let path = Path::new(drive.backing_file.as_ref()?);
    let found = ForeignTree::own().find(path).ok()?;
    let status = found.status();
    let number = status.block_device().unwrap_or(status.device());
    identity::block_device_by_number(roots, number)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A machine of literal files.
    struct Machine {
        _root: tempfile::TempDir,
        roots: SysPaths,
    }

    impl Machine {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let roots = SysPaths::under_root(root.path());
            Self { _root: root, roots }
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.roots.sys.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn device(&self, path: &str, name: &str, number: &str) {
            self.write(&format!("{path}/dev"), number);
            self.write(&format!("{path}/size"), "1000");
            let link = self.roots.sys.join("class/block").join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(self.roots.sys.join(path), link).unwrap();
        }
    }

    #[test]
    fn file_on_btrfs_or_overlay_is_on_the_devices_below() {
        let machine = Machine::new();
        let roots = &machine.roots;
        for (name, number) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")] {
            machine.device(&format!("devices/pci/block/{name}"), name, number);
            machine.write(&format!("dev/block/{number}/x"), "");
        }
        machine.write("fs/btrfs/1-2/devices/sdb/x", "");
        machine.write("fs/btrfs/1-2/devices/sdc/x", "");
        machine.write("fs/btrfs/features/x", "");
        let table = "20 1 8:0 / / rw - ext4 /dev/root rw\n\
                     21 20 0:40 / /data rw - btrfs /dev/sdb rw\n\
                     22 20 0:41 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/data/up,workdir=/w\n\
                     23 20 0:42 / /plain rw - overlay overlay rw,lowerdir=/l,upperdir=/up,workdir=/w\n\
                     24 20 0:43 / /hidden rw - overlay overlay rw,lowerdir=/l,upperdir=/hidden/up\n\
                     25 20 0:44 / /fuse rw - fuse.sshfs host: rw\n";
        fs::create_dir_all(roots.proc.join("self")).unwrap();
        fs::write(roots.proc.join("self/mountinfo"), table).unwrap();
        for (point, expected) in [
            ("/data", &["sdb", "sdc"][..]),
            ("/merged", &["sdb", "sdc"]),
            ("/plain", &["sda"]),
            ("/hidden", &[]),
            ("/fuse", &[]),
        ] {
            let mounts = mounts::mounts(roots).unwrap().into_iter();
            let mount = mounts.rev().find(|mount| mount.mount_point == point);
            let devices = devices_of_mount(roots, mount.unwrap());
            let stack = DeviceStack::of_devices(roots, devices);
            let names: Vec<&str> = stack.devices().map(|drive| drive.name.as_str()).collect();
            assert_eq!(names, expected, "{point}");
            let is_file_system = |(relation, _): &(_, _)| *relation == LayerRelation::FileSystem;
            assert!(stack.below.iter().all(is_file_system));
            assert_eq!(stack.top.is_some(), expected.len() == 1, "{point}");
        }
    }

    #[test]
    fn underlying_devices_of_volume_on_raid_include_member_drives() {
        let machine = Machine::new();
        let roots = &machine.roots;
        let write = |path: &str, text: &str| machine.write(path, text);
        let device = |path: &str, name: &str, number: &str| machine.device(path, name, number);
        device("devices/virtual/block/dm-0", "dm-0", "253:0");
        write("devices/virtual/block/dm-0/slaves/md0/x", "");
        device("devices/virtual/block/md0", "md0", "9:0");
        write("devices/virtual/block/md0/slaves/sda1/x", "");
        write("devices/virtual/block/md0/slaves/sdb1/x", "");
        for (disk, number) in [("sda", "8:0"), ("sdb", "8:16")] {
            device(&format!("devices/pci/block/{disk}"), disk, number);
            let part = format!("{disk}1");
            device(&format!("devices/pci/block/{disk}/{part}"), &part, "8:99");
            write(&format!("devices/pci/block/{disk}/{part}/partition"), "1");
        }
        let top = identity::read_block_device(roots, "dm-0").unwrap();
        let stack = DeviceStack::of_devices(roots, vec![top]);
        let found: Vec<(LayerRelation, String)> = stack
            .below
            .into_iter()
            .map(|(relation, drive)| (relation, drive.name))
            .collect();
        let expected = [
            (LayerRelation::Member, "md0"),
            (LayerRelation::Member, "sda1"),
            (LayerRelation::Member, "sdb1"),
            (LayerRelation::WholeDisk, "sda"),
            (LayerRelation::WholeDisk, "sdb"),
        ];
        assert_eq!(
            found,
            expected.map(|(relation, name)| (relation, name.to_owned()))
        );
    }
}
