//! The devices underlying a target: the drive of a partition, the members of a RAID or a volume,
//! the device of a loop device's backing file.

use std::path::Path;

use crate::drive::{BlockDevice, DriveKind, identity};
use crate::foreign_tree::ForeignTree;
use crate::roots::SysPaths;
use crate::session::document::LayerRelation;

/// Limit on the number of devices; no real stack is that high.
const MAX_DEVICES: usize = 32;

/// All devices underlying a device, nearest first, each once.
#[must_use]
pub fn underlying(roots: &SysPaths, top: &BlockDevice) -> Vec<(LayerRelation, BlockDevice)> {
    let mut found: Vec<(LayerRelation, BlockDevice)> = directly_underlying(roots, top);
    let mut looked_at = 0;
    while looked_at < found.len() && found.len() < MAX_DEVICES {
        for (relation, drive) in directly_underlying(roots, &found[looked_at].1.clone()) {
            let known = |(_, other): &(LayerRelation, BlockDevice)| other.name == drive.name;
            if drive.name != top.name && !found.iter().any(known) {
                found.push((relation, drive));
            }
        }
        looked_at += 1;
    }
    found
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

    #[test]
    fn underlying_devices_of_volume_on_raid_include_member_drives() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        let write = |path: &str, text: &str| {
            let path = roots.sys.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let device = |path: &str, name: &str, number: &str| {
            write(&format!("{path}/dev"), number);
            write(&format!("{path}/size"), "1000");
            let link = roots.sys.join("class/block").join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(roots.sys.join(path), link).unwrap();
        };
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
        let top = identity::read_block_device(&roots, "dm-0").unwrap();
        let found: Vec<(LayerRelation, String)> = underlying(&roots, &top)
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
