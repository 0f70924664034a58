//! Names of volumes: what LVM, cryptsetup, multipath and mdadm call a device that the kernel calls
//! `dm-0` or `md127`.

use serde::{Deserialize, Serialize};

use crate::drive::identity::sysfs::{SysfsLocation, read_line, sanitized};
use crate::drive::identity::udev::UdevProperties;

/// What manages a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeKind {
    /// A logical volume of LVM.
    Lvm,
    /// Encrypted by dm-crypt: LUKS, or without a header.
    Luks,
    /// All paths to one drive together.
    Multipath,
    /// Software RAID: md, or the RAID of a mainboard (dmraid).
    Raid,
    /// Another device-mapper device.
    Mapped,
}

/// A volume as its users know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VolumeName {
    /// Name below `/dev/mapper`, such as `vg0-data`, or below `/dev/md`.
    pub name: String,
    /// What manages it.
    pub kind: VolumeKind,
}

impl VolumeName {
    /// The name of a device-mapper or md device; `None` for other devices, and for md devices that
    /// have no name besides that of the kernel.
    pub(super) fn read(
        kernel_name: &str,
        place: &SysfsLocation,
        udev: &UdevProperties,
    ) -> Option<Self> {
        let directory = &place.device_directory;
        if let Some(name) = read_line(&directory.join("dm/name")) {
            let uuid = read_line(&directory.join("dm/uuid")).unwrap_or_default();
            let kind = mapper_kind(&uuid);
            return Some(Self { name, kind });
        }
        if place.parent.is_some() || !directory.join("md").exists() {
            return None;
        }
        let name = udev.get("MD_DEVNAME")?;
        // mdadm numbers arrays without a name: /dev/md/0 is md0 to everybody.
        let is_name = !name.bytes().all(|byte| byte.is_ascii_digit()) && name != kernel_name;
        is_name.then_some(Self {
            name,
            kind: VolumeKind::Raid,
        })
    }
}

/// What manages a device-mapper device: each program begins the UUID with its own prefix (kernel
/// Documentation/ABI/testing/sysfs-block-dm; lvm2 lib/activate/dev_manager.c; cryptsetup
/// lib/utils_dm.h; multipath-tools libmultipath/devmapper.h).
fn mapper_kind(uuid: &str) -> VolumeKind {
    // kpartx names the partitions of a map `part1-` and the UUID of the map.
    let own = uuid
        .split_once('-')
        .filter(|(first, _)| first.starts_with("part"))
        .map_or(uuid, |(_, map)| map);
    let prefixes = [
        ("LVM-", VolumeKind::Lvm),
        ("CRYPT-VERITY", VolumeKind::Mapped),
        ("CRYPT-INTEGRITY", VolumeKind::Mapped),
        ("CRYPT-", VolumeKind::Luks),
        ("mpath-", VolumeKind::Multipath),
        ("DMRAID-", VolumeKind::Raid),
    ];
    prefixes
        .into_iter()
        .find(|(prefix, _)| own.starts_with(prefix))
        .map_or(VolumeKind::Mapped, |(_, kind)| kind)
}

/// The name of a device below `/dev/disk/by-id` that tells the most: model and serial number, or
/// the name of a volume, before numbers. `None` without udev.
pub(super) fn by_id_name(udev: &UdevProperties) -> Option<String> {
    let names = udev.names_by_id();
    let best = names
        .iter()
        .min_by_key(|name| (is_number(name), name.len(), *name));
    best.map(|name| sanitized(name))
}

/// Whether a name is made of a number that only machines know.
fn is_number(name: &str) -> bool {
    const PREFIXES: [&str; 9] = [
        "wwn-",
        "nvme-eui.",
        "nvme-nvme.",
        "nvme-uuid.",
        "scsi-3",
        "scsi-2",
        "dm-uuid-",
        "md-uuid-",
        "lvm-pv-uuid-",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuid_prefixes_tell_what_manages_a_volume() {
        #[rustfmt::skip]
        let cases = [
            ("LVM-q1w2e3r4", VolumeKind::Lvm), ("LVM-q1w2e3r4-real", VolumeKind::Lvm),
            ("CRYPT-LUKS2-8d1c-home", VolumeKind::Luks), ("CRYPT-PLAIN-swap", VolumeKind::Luks),
            ("CRYPT-VERITY-usr", VolumeKind::Mapped), ("DMRAID-isw_0", VolumeKind::Raid),
            ("mpath-36005076", VolumeKind::Multipath), ("part1-mpath-36005076", VolumeKind::Multipath),
            ("part", VolumeKind::Mapped), ("", VolumeKind::Mapped),
        ];
        for (uuid, kind) in cases {
            assert_eq!(mapper_kind(uuid), kind, "{uuid}");
        }
    }
}
