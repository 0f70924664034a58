//! Requests tell the partition; rows are for drives.

use std::collections::HashMap;

use crate::drive::BlockDevice;
use crate::roots::SysPaths;

/// The drive of each of these devices that is a partition.
pub(crate) fn drives_of_partitions(devices: &[BlockDevice]) -> HashMap<(u32, u32), (u32, u32)> {
    let names = devices
        .iter()
        .map(|device| (device.name.as_str(), device.number));
    let numbers: HashMap<&str, (u32, u32)> = names.collect();
    let partitions = devices.iter().filter_map(|device| {
        let parent = device.parent.as_deref()?;
        Some((device.number, *numbers.get(parent)?))
    });
    partitions.collect()
}

/// First sector of 512 bytes of a partition on its drive; `None` of a drive.
pub(crate) fn first_sector(roots: &SysPaths, name: &str) -> Option<u64> {
    let path = roots.sys.join("class/block").join(name).join("start");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}
