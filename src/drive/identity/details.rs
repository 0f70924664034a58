//! Capabilities of the queue and the hardware of a drive, and its temperature.

use std::path::Path;

use serde::Serialize;

use crate::drive::identity::link::{HostLink, find_host_link};
use crate::drive::identity::sysfs::{
    SysfsLocation, directory_entries, read_flag, read_line, read_number,
};
use crate::roots::SysPaths;

/// Details of a block device (kernel Documentation/ABI/stable/sysfs-block).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DeviceDetails {
    /// Available I/O schedulers.
    pub schedulers: Vec<String>,
    /// Size of the request queue (`nr_requests`).
    pub queue_requests: Option<u32>,
    /// Maximum request size of the hardware, in KiB.
    pub max_hardware_request_kib: Option<u32>,
    /// Preferred minimum request size in bytes; the chunk size of a RAID.
    pub minimum_io_bytes: Option<u64>,
    /// Optimal request size in bytes, such as the stripe size of a RAID; `None` if it has none.
    pub optimal_io_bytes: Option<u64>,
    /// Maximum discard size in bytes; 0: discard is not supported.
    pub discard_max_bytes: Option<u64>,
    /// `none`, `host-aware` or `host-managed`.
    pub zoned: Option<String>,
    /// Whether it supports forced unit access.
    pub fua: Option<bool>,
    /// Start of a partition on its drive, in bytes.
    pub start_bytes: Option<u64>,
    /// Link to the host.
    pub link: Option<HostLink>,
    /// Degrees Celsius (kernel Documentation/hwmon/drivetemp.rst; the composite temperature of
    /// NVMe).
    pub temperature_celsius: Option<f64>,
    /// Whether a loop device bypasses the page cache of its backing file.
    pub direct_io: Option<bool>,
}

impl DeviceDetails {
    pub(super) fn read(location: &SysfsLocation, transport: Option<&str>) -> Self {
        let schedulers = read_line(&location.queue_attribute("scheduler")).unwrap_or_default();
        Self {
            schedulers: schedulers
                .split_whitespace()
                .map(|name| name.trim_matches(['[', ']']).to_owned())
                .collect(),
            queue_requests: read_number(&location.queue_attribute("nr_requests")),
            max_hardware_request_kib: read_number(&location.queue_attribute("max_hw_sectors_kb")),
            minimum_io_bytes: read_number(&location.queue_attribute("minimum_io_size")),
            optimal_io_bytes: read_number(&location.queue_attribute("optimal_io_size"))
                .filter(|size| *size > 0),
            discard_max_bytes: read_number(&location.queue_attribute("discard_max_bytes")),
            zoned: read_line(&location.queue_attribute("zoned")),
            fua: read_flag(&location.queue_attribute("fua")),
            start_bytes: location
                .parent
                .as_ref()
                .and_then(|_| read_number::<u64>(&location.device_directory.join("start")))
                .and_then(|sectors| sectors.checked_mul(512)),
            link: find_host_link(transport, &location.disk_directory),
            temperature_celsius: device_temperature(&location.disk_directory.join("device"))
                .map(|it| it.celsius),
            direct_io: read_flag(&location.device_directory.join("loop/dio")),
        }
    }
}

/// A reading of the drive's temperature sensor, in degrees Celsius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThermalReading {
    /// Current temperature.
    pub celsius: f64,
    /// Temperature above which the drive may throttle: `temp1_max`, for NVMe its warning threshold
    /// (NVM Express Base Specification, WCTEMP), otherwise `temp1_crit`.
    pub throttle_threshold: Option<f64>,
}

/// The current temperature of the drive with that kernel name; `None` if it has no sensor, or if
/// the kernel has no driver for the sensor (drivetemp).
#[must_use]
pub fn read_temperature(roots: &SysPaths, name: &str) -> Option<ThermalReading> {
    device_temperature(
        &SysfsLocation::find(roots, name)?
            .disk_directory
            .join("device"),
    )
}

/// The first sensor of a device; hwmon uses thousandths of a degree (kernel
/// Documentation/hwmon/sysfs-interface.rst).
fn device_temperature(device: &Path) -> Option<ThermalReading> {
    let sensors = |directory: &Path| -> Option<ThermalReading> {
        let names = directory_entries(directory).into_iter();
        let mut sensors = names.filter(|name| name.starts_with("hwmon"));
        sensors.find_map(|name| sensor_temperature(&directory.join(name)))
    };
    let controllers = || {
        directory_entries(device)
            .into_iter()
            .filter(|name| name.starts_with("nvme"))
            .find_map(|name| sensors(&device.join(name)))
    };
    sensors(&device.join("hwmon"))
        .or_else(|| sensors(device))
        .or_else(controllers)
}

fn sensor_temperature(sensor: &Path) -> Option<ThermalReading> {
    let celsius = |file: &str| Some(read_number::<f64>(&sensor.join(file))? / 1000.0);
    // A drive that reports no threshold has an implausible value here.
    let sane = |limit: &f64| (1.0..200.0).contains(limit);
    let limit = |file: &str| celsius(file).filter(sane);
    Some(ThermalReading {
        celsius: celsius("temp1_input")?,
        throttle_threshold: limit("temp1_max").or_else(|| limit("temp1_crit")),
    })
}
