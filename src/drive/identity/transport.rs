//! Transport of a drive, from its location in the device tree.

use std::fs;
use std::path::Path;

use crate::drive::identity::block_device::DriveKind;

/// Prefix of a directory name in the device tree, and its transport. The first match wins: a USB
/// bridge has a SCSI host below it, not vice versa.
const TRANSPORT_PREFIXES: [(&str, &str); 10] = [
    ("usb", "usb"),
    ("ata", "sata"),
    ("end_device-", "sas"),
    ("session", "iscsi"),
    ("rport-", "fc"),
    ("mmc", "mmc"),
    ("nvme", "nvme"),
    ("virtio", "virtio"),
    ("vbd-", "xen"),
    ("nbd", "nbd"),
];

/// Transport of a device, if its location determines it; `whole` is its canonical directory in
/// sysfs.
pub(super) fn find_transport(kind: DriveKind, disk: &Path, bus: Option<&str>) -> Option<String> {
    if kind == DriveKind::Loop {
        return Some("loop".to_owned());
    }
    // The directory `device` of a multipath NVMe drive is elsewhere in the tree.
    let device = fs::canonicalize(disk.join("device")).unwrap_or_default();
    let steps: Vec<&str> = disk
        .iter()
        .chain(device.iter())
        .filter_map(|step| step.to_str())
        .collect();
    let fits = |sign: &str| {
        steps.iter().any(|step| {
            step.strip_prefix(sign).is_some_and(|rest| {
                sign.ends_with('-') || rest.starts_with(|letter: char| letter.is_ascii_digit())
            })
        })
    };
    TRANSPORT_PREFIXES
        .iter()
        .find(|(sign, _)| fits(sign))
        .map(|(_, transport)| *transport)
        .or(match bus {
            Some("ata") => Some("sata"),
            Some("usb") => Some("usb"),
            Some("scsi") => Some("scsi"),
            _ => None,
        })
        .map(str::to_owned)
}
