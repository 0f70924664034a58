//! Text about devices that several displays share.

use crate::drive::{BlockDevice, DriveKind, VolumeKind};
use crate::snapshot::device_folding::{Fold, FoldedDevices};
use crate::snapshot::stack;
use crate::snapshot::view::DeviceView;

/// Layers that are listed below a volume; of deeper stacks only the details show more.
const MAX_LAYERS: usize = 3;

/// What manages a volume.
#[must_use]
pub fn volume_kind(kind: VolumeKind) -> &'static str {
    match kind {
        VolumeKind::Lvm => "LVM",
        VolumeKind::Luks => "LUKS",
        VolumeKind::Multipath => "multipath",
        VolumeKind::Raid => "RAID",
        VolumeKind::Mapped => "device mapper",
    }
}

/// 512n, 512e or 4Kn: logical and physical sector size.
#[must_use]
pub fn sector_kind(drive: &BlockDevice) -> Option<String> {
    let kind = match (drive.logical_block_bytes?, drive.physical_block_bytes?) {
        (512, 512) => "512n".to_owned(),
        (512, 4096) => "512e".to_owned(),
        (4096, 4096) => "4Kn".to_owned(),
        (logical, physical) => format!("{logical}/{physical}"),
    };
    Some(kind)
}

/// What a device is: for a volume, what it is on top of, such as `LVM on md0 on sda sdb`.
#[must_use]
pub fn device_description(devices: &[DeviceView], device: &DeviceView) -> String {
    let is_stacked = matches!(device.kind, Some(DriveKind::DeviceMapper | DriveKind::Raid));
    if !is_stacked {
        return device.label.to_string();
    }
    let own = match device.volume {
        Some(kind) => volume_kind(kind).to_owned(),
        None => device.label.to_string(),
    };
    let layers = stack::lower_layers(devices, device, MAX_LAYERS);
    let layers = layers.into_iter().map(|layer| {
        let names: Vec<&str> = layer.iter().map(|it| it.display_name()).collect();
        names.join(" ")
    });
    let parts: Vec<String> = std::iter::once(own).chain(layers).collect();
    parts.join(" on ")
}

/// How many devices a list omits, such as `8 idle loops, 2 partitions`; empty if it omits none.
#[must_use]
pub fn folded_text(folded: &FoldedDevices) -> String {
    let count = |count: usize, one: &str, several: &str| {
        let name = if count == 1 { one } else { several };
        (count > 0).then(|| format!("{count} {name}"))
    };
    let parts = [
        count(folded.of(Fold::IdleLoop), "idle loop", "idle loops"),
        count(
            folded.of(Fold::IdleRamDisk),
            "idle RAM disk",
            "idle RAM disks",
        ),
        count(folded.of(Fold::Partition), "partition", "partitions"),
        count(folded.of(Fold::LowerLayer), "lower layer", "lower layers"),
        count(folded.of(Fold::Path), "path", "paths"),
        count(folded.of(Fold::Hidden), "hidden", "hidden"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_is_described_with_the_drives_below_it() {
        let mut luks = DeviceView::on_top_of("dm-1", DriveKind::DeviceMapper, &["dm-0"]);
        luks.volume = Some(VolumeKind::Luks);
        luks.label = "home".into();
        let mut lvm = DeviceView::on_top_of("dm-0", DriveKind::DeviceMapper, &["md0"]);
        lvm.volume = Some(VolumeKind::Lvm);
        lvm.label = "vg0-home".into();
        let mut raid = DeviceView::on_top_of("md0", DriveKind::Raid, &["sda1", "sda2", "sdb"]);
        raid.label = "software RAID".into();
        let devices = [
            DeviceView::on_top_of("sda", DriveKind::Disk, &[]),
            DeviceView::on_top_of("sda1", DriveKind::Partition, &["sda"]),
            DeviceView::on_top_of("sda2", DriveKind::Partition, &["sda"]),
            DeviceView::on_top_of("sdb", DriveKind::Disk, &[]),
            raid,
            lvm,
            luks,
        ];
        let described = |index: usize| device_description(&devices, &devices[index]);
        assert_eq!(described(6), "LUKS on vg0-home on md0 on sda sdb");
        assert_eq!(described(5), "LVM on md0 on sda sdb");
        assert_eq!(described(4), "software RAID on sda sdb");
    }
}
