//! What the queue and the hardware of a drive are capable of, and how warm it is.

use std::path::Path;

use serde::Serialize;

use super::link::{self, Link};
use super::read::{Place, entries, flag, number, word};
use super::{Drive, DriveKind};
use crate::roots::Roots;

/// The lesser known facts of a block device (kernel Documentation/ABI/stable/sysfs-block).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Details {
    /// I/O schedulers that may be chosen.
    pub schedulers: Vec<String>,
    /// Requests that the kernel queues for it.
    pub queue_requests: Option<u32>,
    /// Largest request that the hardware takes, in KiB.
    pub max_hardware_request_kib: Option<u32>,
    /// Smallest request in bytes that suits it; of a RAID its chunk.
    pub minimum_io_bytes: Option<u64>,
    /// Best size of requests in bytes, such as a RAID's stripe; `None` where it has none.
    pub optimal_io_bytes: Option<u64>,
    /// Largest discard in bytes; 0: it cannot discard.
    pub discard_max_bytes: Option<u64>,
    /// `none`, `host-aware` or `host-managed`.
    pub zoned: Option<String>,
    /// Whether a write can be forced to the medium by itself.
    pub fua: Option<bool>,
    /// Where a partition begins on its drive, in bytes.
    pub start_bytes: Option<u64>,
    /// The way to the host.
    pub link: Option<Link>,
    /// Degrees Celsius (kernel Documentation/hwmon/drivetemp.rst; the composite temperature of
    /// NVMe).
    pub temperature_celsius: Option<f64>,
    /// Whether a loop device goes past the page cache of the file behind it.
    pub direct_io: Option<bool>,
}

impl Details {
    pub(super) fn read(place: &Place, kind: DriveKind, transport: Option<&str>) -> Self {
        let schedulers = word(&place.queue("scheduler")).unwrap_or_default();
        Self {
            schedulers: schedulers
                .split_whitespace()
                .map(|name| name.trim_matches(['[', ']']).to_owned())
                .collect(),
            queue_requests: number(&place.queue("nr_requests")),
            max_hardware_request_kib: number(&place.queue("max_hw_sectors_kb")),
            minimum_io_bytes: number(&place.queue("minimum_io_size")),
            optimal_io_bytes: number(&place.queue("optimal_io_size")).filter(|size| *size > 0),
            discard_max_bytes: number(&place.queue("discard_max_bytes")),
            zoned: word(&place.queue("zoned")),
            fua: flag(&place.queue("fua")),
            start_bytes: place
                .parent
                .as_ref()
                .and_then(|_| number::<u64>(&place.own.join("start")))
                .and_then(|sectors| sectors.checked_mul(512)),
            link: link::of(transport, &place.whole),
            temperature_celsius: of_device(&place.whole.join("device")).map(|it| it.celsius),
            direct_io: (kind == DriveKind::Loop)
                .then(|| flag(&place.own.join("loop/dio")))
                .flatten(),
        }
    }
}

impl Drive {
    /// 512n, 512e or 4Kn: sectors as the kernel addresses them and as the medium holds them.
    #[must_use]
    pub fn sector_kind(&self) -> Option<String> {
        Some(
            match (self.logical_block_bytes?, self.physical_block_bytes?) {
                (512, 512) => "512n".to_owned(),
                (512, 4096) => "512e".to_owned(),
                (4096, 4096) => "4Kn".to_owned(),
                (logical, physical) => format!("{logical}/{physical}"),
            },
        )
    }
}

/// What a drive's sensor says, in degrees Celsius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Warmth {
    /// Now.
    pub celsius: f64,
    /// From where on the drive may slow down: `temp1_max`, of NVMe its warning threshold (NVM
    /// Express Base Specification, WCTEMP), else `temp1_crit`.
    pub limit: Option<f64>,
}

/// The temperature of the drive with the kernel's name, now; `None` where it has no sensor, or the
/// kernel no driver for it (drivetemp).
#[must_use]
pub fn warmth(roots: &Roots, name: &str) -> Option<Warmth> {
    of_device(&Place::find(roots, name)?.whole.join("device"))
}

/// The first sensor of a device; hwmon counts in thousandths (kernel
/// Documentation/hwmon/sysfs-interface.rst).
fn of_device(device: &Path) -> Option<Warmth> {
    let sensors = |directory: &Path| -> Option<Warmth> {
        let names = entries(directory).into_iter();
        let mut sensors = names.filter(|name| name.starts_with("hwmon"));
        sensors.find_map(|name| of_sensor(&directory.join(name)))
    };
    let controllers = || {
        entries(device)
            .into_iter()
            .filter(|name| name.starts_with("nvme"))
            .find_map(|name| sensors(&device.join(name)))
    };
    sensors(&device.join("hwmon"))
        .or_else(|| sensors(device))
        .or_else(controllers)
}

fn of_sensor(sensor: &Path) -> Option<Warmth> {
    let celsius = |file: &str| Some(number::<f64>(&sensor.join(file))? / 1000.0);
    // A drive that names no threshold is given absurd ones.
    let sane = |limit: &f64| (1.0..200.0).contains(limit);
    let limit = |file: &str| celsius(file).filter(sane);
    Some(Warmth {
        celsius: celsius("temp1_input")?,
        limit: limit("temp1_max").or_else(|| limit("temp1_crit")),
    })
}
