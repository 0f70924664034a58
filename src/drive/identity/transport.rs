//! How a drive is attached, from its place in the device tree.

use std::fs;
use std::path::Path;

use super::DriveKind;

/// Beginning of a directory's name in the device tree, and the transport that it stands for. The
/// first that fits wins: a USB bridge has a SCSI host below it, not the other way round.
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

/// How a device is attached, where its place says so; `whole` is its resolved directory in sysfs.
pub(super) fn find_transport(kind: DriveKind, whole: &Path, bus: Option<&str>) -> Option<String> {
    if kind == DriveKind::Loop {
        return Some("loop".to_owned());
    }
    // The directory `device` of NVMe with several paths lies elsewhere in the tree.
    let device = fs::canonicalize(whole.join("device")).unwrap_or_default();
    let steps: Vec<&str> = whole
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
