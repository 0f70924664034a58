//! How fast the way to a drive is: the bus it hangs on, with its ceiling.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::read::{entries, word};

/// The link between a drive and its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// What it is, such as `PCIe 8.0 GT/s x4` or `SATA 6.0 Gbps`.
    pub name: String,
    /// Bytes per second that it carries at most, protocol overhead taken off.
    pub ceiling_bytes_per_s: u64,
    /// Requests that its protocol keeps in flight, where that is few.
    pub parallel_requests: Option<u32>,
}

const MB: u64 = 1_000_000;

/// Signalling rate of a PCIe lane in GT/s and what it carries, 8b/10b or 128b/130b coding taken
/// off (PCI Express Base Specification).
const PCIE_LANES: [(&str, u64); 6] = [
    ("2.5", 250 * MB),
    ("5.0", 500 * MB),
    ("8.0", 985 * MB),
    ("16.0", 1969 * MB),
    ("32.0", 3938 * MB),
    ("64.0", 7563 * MB),
];

/// The link of a drive whose resolved directory in sysfs is `whole`, attached by `transport`.
pub(super) fn of(transport: Option<&str>, whole: &Path) -> Option<Link> {
    let places = ancestors(whole);
    let find = |link: fn(&Path) -> Option<Link>| places.iter().find_map(|place| link(place));
    match transport? {
        "nvme" => find(pcie),
        "sata" => find(sata),
        "sas" => find(sas),
        "usb" => find(usb),
        _ => None,
    }
}

/// Every directory above the drive, by the block device and by the controllers behind it: NVMe
/// with several paths keeps them elsewhere in the tree.
fn ancestors(whole: &Path) -> Vec<PathBuf> {
    let device = fs::canonicalize(whole.join("device")).unwrap_or_default();
    let controllers = entries(&device)
        .into_iter()
        .filter(|name| name.starts_with("nvme"))
        .filter_map(|name| fs::canonicalize(device.join(name)).ok());
    let starts: Vec<PathBuf> = [whole.to_owned(), device.clone()]
        .into_iter()
        .chain(controllers)
        .collect();
    starts
        .iter()
        .flat_map(|start| start.ancestors().map(Path::to_owned))
        .collect()
}

/// `current_link_speed` and `current_link_width` of a PCI device (kernel
/// Documentation/ABI/testing/sysfs-bus-pci).
fn pcie(place: &Path) -> Option<Link> {
    let speed = word(&place.join("current_link_speed"))?;
    let width: u64 = word(&place.join("current_link_width"))?.parse().ok()?;
    let rate = speed.split(' ').next()?;
    let lane = PCIE_LANES
        .iter()
        .find(|(name, _)| *name == rate || name.trim_end_matches(".0") == rate)?
        .1;
    Some(Link {
        name: format!("PCIe {rate} GT/s x{width}"),
        ceiling_bytes_per_s: lane * width,
        parallel_requests: None,
    })
}

/// `sata_spd` of the port's link (kernel Documentation/ABI/testing/sysfs-ata).
fn sata(place: &Path) -> Option<Link> {
    let links = entries(place)
        .into_iter()
        .filter(|it| it.starts_with("link"));
    let speed = links
        .filter_map(|link| {
            word(
                &place
                    .join(&link)
                    .join("ata_link")
                    .join(&link)
                    .join("sata_spd"),
            )
        })
        .find(|speed| speed.contains("Gbps"))?;
    let gigabits: f64 = speed.split(' ').next()?.parse().ok()?;
    Some(Link {
        name: format!("SATA {speed}"),
        // 8b/10b: ten bits on the wire for each byte.
        ceiling_bytes_per_s: (gigabits * 1e8) as u64,
        parallel_requests: Some(if gigabits < 2.0 { 1 } else { 32 }),
    })
}

/// `negotiated_linkrate` of the phys of a port (drivers/scsi/scsi_transport_sas.c).
fn sas(place: &Path) -> Option<Link> {
    let name = place.file_name()?.to_str()?;
    let phys = entries(place)
        .into_iter()
        .filter(|it| it.starts_with("phy-"));
    let rate = name.starts_with("port-").then_some(phys)?.find_map(|phy| {
        let own = place.join(&phy).join("sas_phy").join(&phy);
        word(&own.join("negotiated_linkrate"))
    })?;
    let gigabits: f64 = rate.split(' ').next()?.parse().ok()?;
    Some(Link {
        name: format!("SAS {rate}"),
        ceiling_bytes_per_s: (gigabits * 1e8) as u64,
        parallel_requests: None,
    })
}

/// `speed` of a USB device in Mbit/s (kernel Documentation/ABI/testing/sysfs-bus-usb), and whether
/// the driver of one of its interfaces is `uas`, which keeps several requests in flight.
fn usb(place: &Path) -> Option<Link> {
    word(&place.join("bMaxPacketSize0"))?;
    let speed = word(&place.join("speed"))?;
    let megabits: f64 = speed.parse().ok()?;
    let queued = entries(place).into_iter().any(|interface| {
        fs::read_link(place.join(interface).join("driver"))
            .is_ok_and(|driver| driver.file_name().is_some_and(|name| name == "uas"))
    });
    // What bulk transfers reach of the signalling rate in practice: 35 of 60 MB/s for USB 2,
    // four fifths of 8b/10b and 128b/132b for USB 3.
    let ceiling = match megabits {
        rate if rate <= 12.0 => 1.0,
        rate if rate <= 480.0 => 35.0,
        rate => rate * 0.08,
    };
    Some(Link {
        name: format!(
            "USB {speed} Mbit/s {}",
            if queued { "UAS" } else { "bulk only" }
        ),
        ceiling_bytes_per_s: (ceiling * 1e6) as u64,
        parallel_requests: (!queued).then_some(1),
    })
}
