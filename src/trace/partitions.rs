//! Requests tell the partition; rows are for drives.

use std::collections::HashMap;

use crate::drive::BlockDevice;

/// The drive of each of these devices that is a partition.
pub(crate) fn drives_of_partitions(devices: &[BlockDevice]) -> HashMap<(u32, u32), (u32, u32)> {
    let numbers: HashMap<&str, (u32, u32)> = devices
        .iter()
        .map(|device| (device.name.as_str(), device.number))
        .collect();
    devices
        .iter()
        .filter_map(|device| {
            let parent = device.parent.as_deref()?;
            Some((device.number, *numbers.get(parent)?))
        })
        .collect()
}
