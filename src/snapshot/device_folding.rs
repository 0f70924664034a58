//! Which devices a list omits, because another line of it stands for them.

use std::collections::HashSet;

use super::view::DeviceView;
use crate::drive::{DriveKind, VolumeKind};

/// Why a device is omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// A partition, whose disk is listed.
    Partition,
    /// A layer of a stack between its drives and the volume that is used: the RAID below LVM, or
    /// the parts that LVM makes a mirror or a snapshot of.
    LowerLayer,
    /// One of the paths to a drive, whose multipath device is listed.
    Path,
    /// A loop device without I/O.
    IdleLoop,
    /// A RAM disk without I/O.
    IdleRamDisk,
    /// The user's configuration hides it.
    Hidden,
}

/// Why each omitted device is omitted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoldedDevices(Vec<Fold>);

impl FoldedDevices {
    /// Counts one more.
    pub fn count(&mut self, fold: Fold) {
        self.0.push(fold);
    }

    /// How many are omitted for this reason.
    #[must_use]
    pub fn of(&self, fold: Fold) -> usize {
        self.0.iter().filter(|it| **it == fold).count()
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.len()
    }
}

/// What the devices of a sample are used for by each other.
#[derive(Debug)]
pub struct DeviceFolding<'a> {
    /// Names of all devices.
    names: HashSet<&'a str>,
    /// Names of devices with a volume on top of them.
    held: HashSet<&'a str>,
    /// Names of the paths of multipath devices.
    paths: HashSet<&'a str>,
}

impl<'a> DeviceFolding<'a> {
    /// Looks at the devices of a sample.
    #[must_use]
    pub fn new(devices: &'a [DeviceView]) -> Self {
        let volumes = || {
            devices
                .iter()
                .filter(|device| device.kind != Some(DriveKind::Partition))
        };
        let below = |device: &'a DeviceView| device.underlying.iter().map(|name| &**name);
        let is_multipath = |device: &&DeviceView| device.volume == Some(VolumeKind::Multipath);
        Self {
            names: devices.iter().map(|device| &*device.name).collect(),
            held: volumes().flat_map(below).collect(),
            paths: volumes().filter(is_multipath).flat_map(below).collect(),
        }
    }

    /// Why the device is omitted; `None` if it is listed. A device that is mounted is never
    /// omitted for what is on top of it.
    pub fn fold(&self, device: &DeviceView, is_idle: impl FnOnce() -> bool) -> Option<Fold> {
        let is_held = device.mount_point.is_none() && self.held.contains(&*device.name);
        match device.kind {
            Some(DriveKind::Partition) => {
                let disk = device.parent.as_ref();
                let is_listed = disk.is_some_and(|disk| self.names.contains(&**disk));
                is_listed.then_some(Fold::Partition)
            }
            Some(DriveKind::DeviceMapper | DriveKind::Raid) => is_held.then_some(Fold::LowerLayer),
            Some(DriveKind::Disk) => self.paths.contains(&*device.name).then_some(Fold::Path),
            Some(DriveKind::Loop) => is_idle().then_some(Fold::IdleLoop),
            Some(DriveKind::RamDisk) => is_idle().then_some(Fold::IdleRamDisk),
            Some(DriveKind::Optical) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folds(devices: &[DeviceView]) -> Vec<(&str, Option<Fold>)> {
        let folding = DeviceFolding::new(devices);
        let fold = |device| folding.fold(device, || true);
        devices.iter().map(|it| (&*it.name, fold(it))).collect()
    }

    #[test]
    fn stack_is_folded_to_its_drives_and_the_volume_that_is_used() {
        let mut devices = vec![
            DeviceView::on_top_of("sda", DriveKind::Disk, &[]),
            DeviceView::on_top_of("sda1", DriveKind::Partition, &["sda"]),
            DeviceView::on_top_of("sdb", DriveKind::Disk, &[]),
            DeviceView::on_top_of("md127", DriveKind::Raid, &["sda1", "sdb"]),
            DeviceView::on_top_of("dm-0", DriveKind::DeviceMapper, &["md127"]),
            DeviceView::on_top_of("dm-1", DriveKind::DeviceMapper, &["dm-0"]),
            DeviceView::on_top_of("dm-2", DriveKind::DeviceMapper, &["dm-0"]),
            DeviceView::on_top_of("loop0", DriveKind::Loop, &[]),
        ];
        assert_eq!(
            folds(&devices),
            [
                ("sda", None),
                ("sda1", Some(Fold::Partition)),
                ("sdb", None),
                ("md127", Some(Fold::LowerLayer)),
                ("dm-0", Some(Fold::LowerLayer)),
                ("dm-1", None),
                ("dm-2", None),
                ("loop0", Some(Fold::IdleLoop)),
            ]
        );
        // The origin of a snapshot is mounted, and the snapshot is on top of it.
        devices[4].mount_point = Some("/srv".into());
        assert_eq!(folds(&devices)[4], ("dm-0", None));
    }

    #[test]
    fn paths_are_folded_into_their_multipath_device() {
        let mut map = DeviceView::on_top_of("dm-0", DriveKind::DeviceMapper, &["sda", "sdb"]);
        map.volume = Some(VolumeKind::Multipath);
        let devices = [
            DeviceView::on_top_of("sda", DriveKind::Disk, &[]),
            DeviceView::on_top_of("sdb", DriveKind::Disk, &[]),
            map,
            DeviceView::on_top_of("dm-1", DriveKind::DeviceMapper, &["sdc"]),
            DeviceView::on_top_of("sdc", DriveKind::Disk, &[]),
        ];
        let folded: Vec<Option<Fold>> = folds(&devices).into_iter().map(|it| it.1).collect();
        assert_eq!(
            folded,
            [Some(Fold::Path), Some(Fold::Path), None, None, None]
        );
    }
}
