//! How a drive is attached to its host: transport, link and the maximum throughput of the link.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::drive::identity::sysfs::{directory_entries, read_line, read_number};

/// The link between a drive and its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostLink {
    /// Type and speed, such as `PCIe 8.0 GT/s x4` or `SATA 6.0 Gbps`.
    pub name: String,
    /// Maximum throughput in bytes per second, excluding protocol overhead.
    #[serde(rename = "ceiling_bytes_per_s")]
    pub max_bytes_per_s: u64,
    /// Maximum queue depth of its protocol, if that is small.
    #[serde(rename = "parallel_requests")]
    pub max_queue_depth: Option<u32>,
}

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
pub(super) fn find_transport(disk: &Path, bus: Option<&str>) -> Option<String> {
    // The directory `device` of a multipath NVMe drive is elsewhere in the tree.
    let device = fs::canonicalize(disk.join("device")).unwrap_or_default();
    let steps: Vec<&str> = disk
        .iter()
        .chain(&device)
        .filter_map(OsStr::to_str)
        .collect();
    let is_below = |prefix: &str| {
        let continues = |rest: &str| {
            prefix.ends_with('-') || rest.starts_with(|letter: char| letter.is_ascii_digit())
        };
        let mut steps = steps.iter();
        steps.any(|step| step.strip_prefix(prefix).is_some_and(continues))
    };
    let known = TRANSPORT_PREFIXES
        .iter()
        .find(|(prefix, _)| is_below(prefix));
    let transport = known.map(|(_, transport)| *transport).or(match bus {
        Some("ata") => Some("sata"),
        Some("usb") => Some("usb"),
        Some("scsi") => Some("scsi"),
        _ => None,
    });
    transport.map(str::to_owned)
}

/// The number at the start of a text such as `6.0 Gbps`.
fn leading_number(text: &str) -> Option<f64> {
    text.split(' ').next()?.parse().ok()
}

const BYTES_PER_MEGABYTE: u64 = 1_000_000;

/// Signalling rate of a PCIe lane in GT/s and its throughput after 8b/10b or 128b/130b coding (PCI
/// Express Base Specification).
const PCIE_LANES: [(&str, u64); 6] = [
    ("2.5", 250 * BYTES_PER_MEGABYTE),
    ("5.0", 500 * BYTES_PER_MEGABYTE),
    ("8.0", 985 * BYTES_PER_MEGABYTE),
    ("16.0", 1969 * BYTES_PER_MEGABYTE),
    ("32.0", 3938 * BYTES_PER_MEGABYTE),
    ("64.0", 7563 * BYTES_PER_MEGABYTE),
];

/// The link of a drive whose canonical directory in sysfs is `whole`, attached by `transport`.
pub(super) fn find_host_link(transport: Option<&str>, disk: &Path) -> Option<HostLink> {
    let directories = ancestors(disk);
    let find = |link: fn(&Path) -> Option<HostLink>| {
        directories.iter().find_map(|directory| link(directory))
    };
    match transport? {
        "nvme" => find(pcie_link),
        "sata" => find(sata_link),
        "sas" => find(sas_link),
        "usb" => find(usb_link),
        _ => None,
    }
}

/// All directories above the drive, by the block device and by its controllers: those of a
/// multipath NVMe drive are elsewhere in the tree.
fn ancestors(disk: &Path) -> Vec<PathBuf> {
    let device = fs::canonicalize(disk.join("device")).unwrap_or_default();
    let mut starts = vec![disk.to_owned(), device.clone()];
    for name in directory_entries(&device) {
        if name.starts_with("nvme") {
            starts.extend(fs::canonicalize(device.join(name)));
        }
    }
    let above = starts.iter().flat_map(|start| start.ancestors());
    above.map(Path::to_owned).collect()
}

/// `current_link_speed` and `current_link_width` of a PCI device (kernel
/// Documentation/ABI/testing/sysfs-bus-pci).
fn pcie_link(directory: &Path) -> Option<HostLink> {
    let speed = read_line(&directory.join("current_link_speed"))?;
    let width: u64 = read_number(&directory.join("current_link_width"))?;
    let rate = speed.split(' ').next()?;
    let pair = PCIE_LANES
        .iter()
        .find(|(name, _)| *name == rate || name.trim_end_matches(".0") == rate)?
        .1;
    Some(HostLink {
        name: format!("PCIe {rate} GT/s x{width}"),
        max_bytes_per_s: pair * width,
        max_queue_depth: None,
    })
}

/// `sata_spd` of the port's link (kernel Documentation/ABI/testing/sysfs-ata).
fn sata_link(directory: &Path) -> Option<HostLink> {
    let mut links = directory_entries(directory).into_iter();
    let speed = links.find_map(|link| {
        let speed = read_line(&directory.join(format!("{link}/ata_link/{link}/sata_spd")))?;
        speed.contains("Gbps").then_some(speed)
    })?;
    let gigabits = leading_number(&speed)?;
    Some(HostLink {
        name: format!("SATA {speed}"),
        // 8b/10b: ten bits on the wire for each byte.
        max_bytes_per_s: (gigabits * 1e8) as u64,
        max_queue_depth: Some(if gigabits < 2.0 { 1 } else { 32 }),
    })
}

/// `negotiated_linkrate` of the phys of a port (drivers/scsi/scsi_transport_sas.c).
fn sas_link(directory: &Path) -> Option<HostLink> {
    let is_port = directory.file_name()?.to_str()?.starts_with("port-");
    let phys = directory_entries(is_port.then_some(directory)?);
    let rate = phys.iter().find_map(|phy| {
        let file = format!("{phy}/sas_phy/{phy}/negotiated_linkrate");
        read_line(&directory.join(file))
    })?;
    let gigabits = leading_number(&rate)?;
    Some(HostLink {
        name: format!("SAS {rate}"),
        max_bytes_per_s: (gigabits * 1e8) as u64,
        max_queue_depth: None,
    })
}

/// `speed` of a USB device in Mbit/s (kernel Documentation/ABI/testing/sysfs-bus-usb), and whether
/// the driver of one of its interfaces is `uas`, which supports several requests in flight.
fn usb_link(directory: &Path) -> Option<HostLink> {
    read_line(&directory.join("bMaxPacketSize0"))?;
    let speed = read_line(&directory.join("speed"))?;
    let megabits: f64 = speed.parse().ok()?;
    let queued = directory_entries(directory).into_iter().any(|interface| {
        fs::read_link(directory.join(interface).join("driver"))
            .is_ok_and(|driver| driver.file_name().is_some_and(|name| name == "uas"))
    });
    // Throughput of bulk transfers relative to the signalling rate in practice: 35 of 60 MB/s for
    // USB 2, four fifths of 8b/10b and 128b/132b for USB 3.
    let ceiling = match megabits {
        rate if rate <= 12.0 => 1.0,
        rate if rate <= 480.0 => 35.0,
        rate => rate * 0.08,
    };
    Some(HostLink {
        name: format!(
            "USB {speed} Mbit/s {}",
            if queued { "UAS" } else { "bulk only" }
        ),
        max_bytes_per_s: (ceiling * 1e6) as u64,
        max_queue_depth: (!queued).then_some(1),
    })
}
