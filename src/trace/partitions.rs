//! Events of bios tell the partition, those of requests the drive.

use std::collections::HashMap;
use std::ops::Range;

use crate::drive::BlockDevice;
use crate::roots::SysPaths;

/// Bytes of a sector in /sys and in the events, independent of the device's own sectors.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// The drive of each of these devices that is a partition.
pub(crate) fn drives_of_partitions(devices: &[BlockDevice]) -> HashMap<(u32, u32), (u32, u32)> {
    let numbers: HashMap<&str, (u32, u32)> = devices
        .iter()
        .map(|device| (device.name.as_str(), device.number))
        .collect();
    let partitions = devices.iter().filter_map(|device| {
        let parent = device.parent.as_deref()?;
        Some((device.number, *numbers.get(parent)?))
    });
    partitions.collect()
}

/// The sectors of a partition on its drive, or all of a drive.
pub(crate) fn sectors_of(roots: &SysPaths, device: &BlockDevice) -> Range<u64> {
    let path = roots
        .sys
        .join("class/block")
        .join(&device.name)
        .join("start");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let start: u64 = text.trim().parse().unwrap_or(0);
    start..start.saturating_add(device.size_bytes / SECTOR_BYTES)
}
