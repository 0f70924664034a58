//! Error counters and link speeds of block devices, from sysfs, without root.

use std::fs;
use std::path::Path;

use crate::drive::identity::sysfs::directory_entries;
use crate::probe::text::{parse_number, read_word};
use crate::roots::SysPaths;

/// What sysfs reports about the health of a device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceHealth {
    /// Kernel's name.
    pub name: String,
    /// Commands that ended with an error since it was attached (SCSI: `ioerr_cnt`).
    pub command_errors: Option<u64>,
    /// Speed of its link and the highest that both ends support; `None` where it is not reported.
    pub link: Option<LinkSpeed>,
}

/// Throughput of a link in bytes per second, protocol overhead included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkSpeed {
    /// As negotiated.
    pub current: f64,
    /// As both ends support.
    pub supported: f64,
}

/// The whole devices, in the order of their names.
#[must_use]
pub fn read_device_health(roots: &SysPaths) -> Vec<DeviceHealth> {
    let block = roots.sys.join("block");
    let health = |name: String| DeviceHealth {
        command_errors: command_errors(&block.join(&name)),
        link: read_link(&block.join(&name)),
        name,
    };
    directory_entries(&block).into_iter().map(health).collect()
}

/// The commands that failed since each drive was found, in the order of their names; drives that do
/// not count them are absent.
#[must_use]
pub fn read_command_errors(roots: &SysPaths) -> Vec<(String, u64)> {
    let block = roots.sys.join("block");
    let names = directory_entries(&block).into_iter();
    names
        .filter_map(|name| command_errors(&block.join(&name)).map(|count| (name, count)))
        .collect()
}

/// The counter of a SCSI device, hexadecimal with `0x`.
fn command_errors(place: &Path) -> Option<u64> {
    let text = read_word(&place.join("device/ioerr_cnt"))?;
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => parse_number(text.as_bytes()),
    }
}

/// The link of the drive itself: that of the nearest PCI device of an NVMe drive, of the port of a
/// SATA drive.
fn read_link(place: &Path) -> Option<LinkSpeed> {
    let device = fs::canonicalize(place.join("device")).ok()?;
    let is_below = |start: &str| {
        device
            .iter()
            .any(|it| it.to_string_lossy().starts_with(start))
    };
    if is_below("ata") {
        device.ancestors().find_map(sata_speed)
    } else if is_below("nvme") {
        device.ancestors().find_map(pcie_speed)
    } else {
        None
    }
}

/// The link of a PCI device, and the highest speed and width that it and the port above it support: a fast
/// drive in an older slot is no fault.
fn pcie_speed(place: &Path) -> Option<LinkSpeed> {
    let own = pcie_link(place, "max")?;
    let port = place.parent().and_then(|port| pcie_link(port, "max"));
    let port = port.unwrap_or(own);
    let bytes_per_s = |(rate, width): (f64, f64)| {
        // 8b/10b up to 5 GT/s, 128b/130b above (PCI Express Base Specification).
        let code = if rate <= 5.0 { 0.8 } else { 128.0 / 130.0 };
        rate * code * width * 1e9 / 8.0
    };
    let supported = (own.0.min(port.0), own.1.min(port.1));
    let current = pcie_link(place, "current")?;
    link_speed(bytes_per_s(current), bytes_per_s(supported))
}

/// `current_link_*` or `max_link_*` of a PCI device (kernel
/// Documentation/ABI/testing/sysfs-bus-pci): gigatransfers per second and lanes.
fn pcie_link(place: &Path, prefix: &str) -> Option<(f64, f64)> {
    let number = |what: &str| {
        let text = read_word(&place.join(format!("{prefix}_link_{what}")))?;
        text.split(' ').next()?.parse().ok()
    };
    Some((number("speed")?, number("width")?))
}

/// `sata_spd` of the link and its limits (kernel
/// Documentation/ABI/testing/sysfs-ata).
fn sata_speed(place: &Path) -> Option<LinkSpeed> {
    let links = directory_entries(place);
    let link = links.iter().find(|name| name.starts_with("link"))?;
    let directory = place.join(link).join("ata_link").join(link);
    let bytes_per_s = |file: &str| {
        let text = read_word(&directory.join(file))?;
        let gigabits: f64 = text.split(' ').next()?.parse().ok()?;
        // 8b/10b: ten bits on the wire for each byte.
        Some(gigabits * 1e8)
    };
    // The limit of the hardware is that of the port: a slower drive is no fault. The limit in force
    // is lower only after the kernel has lowered it because of errors.
    let (current, hardware) = (bytes_per_s("sata_spd")?, bytes_per_s("hw_sata_spd_limit")?);
    let limit = bytes_per_s("sata_spd_limit")?;
    link_speed(current, if limit < hardware { hardware } else { current })
}

fn link_speed(current: f64, supported: f64) -> Option<LinkSpeed> {
    (current > 0.0 && supported > 0.0).then_some(LinkSpeed { current, supported })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, content: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn errors_and_link_are_read() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        write(at, "sys/block/md0/size", "8\n");
        write(at, "sys/block/sda/device/ioerr_cnt", "0x1f\n");
        write(at, "sys/devices/pci0/drive/nvme/nvme0/nvme0n1/x", "");
        for (file, content) in [
            ("drive/current_link_speed", "2.5 GT/s PCIe"),
            ("drive/current_link_width", "4"),
            ("drive/max_link_speed", "16.0 GT/s PCIe"),
            ("drive/max_link_width", "4"),
            ("max_link_speed", "8.0 GT/s PCIe"),
            ("max_link_width", "16"),
        ] {
            write(at, &format!("sys/devices/pci0/{file}"), content);
        }
        fs::create_dir_all(at.join("sys/block/nvme0n1")).unwrap();
        std::os::unix::fs::symlink(
            at.join("sys/devices/pci0/drive/nvme/nvme0"),
            at.join("sys/block/nvme0n1/device"),
        )
        .unwrap();
        let found = read_device_health(&SysPaths::under_root(at));
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["md0", "nvme0n1", "sda"]);
        let link = found[1].link.unwrap();
        assert!((link.current - 1e9).abs() < 1.0, "{link:?}");
        assert!((3.9e9..4e9).contains(&link.supported), "{link:?}");
        assert_eq!(found[2].command_errors, Some(31));
        let counted = read_command_errors(&SysPaths::under_root(at));
        assert_eq!(counted, [("sda".to_owned(), 31)]);
    }

    #[test]
    fn sata_link_is_degraded_only_where_the_kernel_lowered_its_limit() {
        for (limit, supported) in [("6.0 Gbps", 3e8), ("3.0 Gbps", 6e8)] {
            let root = tempfile::tempdir().unwrap();
            let at = root.path();
            let link = "sys/devices/ata1/link1/ata_link/link1";
            write(at, &format!("{link}/sata_spd"), "3.0 Gbps");
            write(at, &format!("{link}/sata_spd_limit"), limit);
            write(at, &format!("{link}/hw_sata_spd_limit"), "6.0 Gbps");
            let device = at.join("sys/devices/ata1/host0/target0");
            fs::create_dir_all(&device).unwrap();
            fs::create_dir_all(at.join("sys/block/sda")).unwrap();
            std::os::unix::fs::symlink(&device, at.join("sys/block/sda/device")).unwrap();
            let found = read_device_health(&SysPaths::under_root(at));
            let speeds = LinkSpeed {
                current: 3e8,
                supported,
            };
            assert_eq!(found[0].link, Some(speeds), "{limit}");
        }
    }
}
