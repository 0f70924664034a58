//! Temperatures of drives (kernel Documentation/hwmon/drivetemp.rst; the composite temperature of NVMe).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::drive::BlockDevice;
use crate::drive::identity::sysfs::directory_entries;
use crate::probe::text::read_word;
use crate::roots::SysPaths;

/// Degrees Celsius by device number.
pub type Temperatures = HashMap<(u32, u32), f64>;

/// A reading of the drive's temperature sensor, in degrees Celsius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThermalReading {
    /// Current temperature.
    pub celsius: f64,
    /// Temperature above which the drive may throttle: `temp1_max`, for NVMe its warning threshold
    /// (NVM Express Base Specification, WCTEMP), otherwise `temp1_crit`.
    pub throttle_threshold: Option<f64>,
}

/// The current temperature of the drive with that kernel name, or of the drive of a partition; `None` if it has no
/// sensor, or if the kernel has no driver for the sensor (drivetemp).
#[must_use]
pub fn read_temperature(roots: &SysPaths, name: &str) -> Option<ThermalReading> {
    let own = fs::canonicalize(roots.sys.join("class/block").join(name)).ok()?;
    let is_partition = own.join("partition").exists();
    let disk = own.parent().filter(|_| is_partition).unwrap_or(&own);
    device_temperature(&disk.join("device"))
}

/// The temperatures of these drives in degrees Celsius, by device number; those without a sensor are missing.
#[must_use]
pub fn temperatures(roots: &SysPaths, drives: &[BlockDevice]) -> Temperatures {
    let all = drives.iter();
    let known = all.filter_map(|it| Some((it.number, read_temperature(roots, &it.name)?.celsius)));
    known.collect()
}

/// The first sensor of a device; hwmon uses thousandths of a degree (kernel
/// Documentation/hwmon/sysfs-interface.rst).
fn device_temperature(device: &Path) -> Option<ThermalReading> {
    let entries = |directory: &Path, prefix: &str| {
        let names = directory_entries(directory).into_iter();
        let names = names.filter(|name| name.starts_with(prefix));
        let places: Vec<PathBuf> = names.map(|name| directory.join(name)).collect();
        places
    };
    // Those of NVMe belong to the controller, which is above or below the device.
    let places = [device.join("hwmon"), device.to_owned()].into_iter();
    let mut places = places.chain(entries(device, "nvme"));
    places.find_map(|place| {
        entries(&place, "hwmon")
            .iter()
            .find_map(|it| sensor_temperature(it))
    })
}

fn sensor_temperature(sensor: &Path) -> Option<ThermalReading> {
    let celsius = |file: &str| {
        let thousandths: f64 = read_word(&sensor.join(file))?.parse().ok()?;
        Some(thousandths / 1000.0)
    };
    // A drive that reports no threshold has an implausible value here.
    let sane = |limit: &f64| (1.0..200.0).contains(limit);
    let limit = |file: &str| celsius(file).filter(sane);
    Some(ThermalReading {
        celsius: celsius("temp1_input")?,
        throttle_threshold: limit("temp1_max").or_else(|| limit("temp1_crit")),
    })
}
