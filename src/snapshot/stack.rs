//! Stacked devices: drive, partition, RAID, logical volume, file system.

use super::view::DeviceView;
use crate::drive::DriveKind;

/// A device in a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackLayer {
    /// Its index in the list of devices.
    pub device_index: usize,
    /// Indentation: 0 for devices without underlying ones.
    pub depth: usize,
}

/// A deeper stack is a cycle.
const MAX_DEPTH: usize = 16;

/// All underlying and overlying devices of a device as a tree whose roots are drives. A device on
/// top of several others is listed below each.
#[must_use]
pub fn stack_of(devices: &[DeviceView], name: &str) -> Vec<StackLayer> {
    let Some(start) = devices.iter().position(|device| device.name == name) else {
        return Vec::new();
    };
    let mut kept = vec![false; devices.len()];
    mark_connected(devices, start, &mut kept, MAX_DEPTH, &underlying_devices);
    kept[start] = false;
    mark_connected(devices, start, &mut kept, MAX_DEPTH, &overlying_devices);
    let mut layers = Vec::new();
    for root in (0..devices.len()).filter(|index| kept[*index]) {
        if underlying_devices(devices, root)
            .iter()
            .all(|index| !kept[*index])
        {
            push_layers(devices, root, 0, &kept, &mut layers);
        }
    }
    layers
}

/// The only device that a device is part of or on top of.
#[must_use]
pub fn parent_of<'a>(devices: &'a [DeviceView], device: &DeviceView) -> Option<&'a DeviceView> {
    let parent = device.parent.as_ref()?;
    devices.iter().find(|other| other.name == *parent)
}

/// The layers below a device from top to bottom, at most `count`; a disk instead of its partitions.
#[must_use]
pub fn lower_layers<'a>(
    devices: &'a [DeviceView],
    device: &DeviceView,
    count: usize,
) -> Vec<Vec<&'a DeviceView>> {
    let whole = |device: &'a DeviceView| match device.kind {
        Some(DriveKind::Partition) => parent_of(devices, device).unwrap_or(device),
        _ => device,
    };
    let below = |device: &DeviceView| {
        let names = &device.underlying;
        let layer = devices.iter().filter(|other| names.contains(&other.name));
        layer.map(whole).collect::<Vec<_>>()
    };
    let mut layers: Vec<Vec<&DeviceView>> = Vec::new();
    let mut next = below(device);
    while !next.is_empty() && layers.len() < count {
        let mut layer: Vec<&DeviceView> = Vec::new();
        for device in next {
            if !layer.iter().any(|known| known.name == device.name) {
                layer.push(device);
            }
        }
        next = layer.iter().flat_map(|device| below(device)).collect();
        layers.push(layer);
    }
    layers
}

fn push_layers(
    devices: &[DeviceView],
    device: usize,
    depth: usize,
    kept: &[bool],
    layers: &mut Vec<StackLayer>,
) {
    layers.push(StackLayer {
        device_index: device,
        depth,
    });
    if depth == MAX_DEPTH {
        return;
    }
    for next in overlying_devices(devices, device) {
        if kept[next] {
            push_layers(devices, next, depth + 1, kept, layers);
        }
    }
}

type AdjacentDevices = dyn Fn(&[DeviceView], usize) -> Vec<usize>;

fn mark_connected(
    devices: &[DeviceView],
    device: usize,
    kept: &mut [bool],
    further: usize,
    next: &AdjacentDevices,
) {
    if kept[device] || further == 0 {
        return;
    }
    kept[device] = true;
    for other in next(devices, device) {
        mark_connected(devices, other, kept, further - 1, next);
    }
}

/// The underlying devices of a device.
fn underlying_devices(devices: &[DeviceView], device: usize) -> Vec<usize> {
    let names = &devices[device].underlying;
    (0..devices.len())
        .filter(|index| names.contains(&devices[*index].name))
        .collect()
}

/// The overlying devices of a device.
fn overlying_devices(devices: &[DeviceView], device: usize) -> Vec<usize> {
    let name = &devices[device].name;
    (0..devices.len())
        .filter(|index| devices[*index].underlying.contains(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, underlying: &[&str]) -> DeviceView {
        DeviceView {
            name: name.into(),
            underlying: underlying.iter().map(|it| (*it).into()).collect(),
            ..DeviceView::default()
        }
    }

    fn names(devices: &[DeviceView], name: &str) -> Vec<String> {
        stack_of(devices, name)
            .iter()
            .map(|layer| {
                format!(
                    "{}{}",
                    "-".repeat(layer.depth),
                    devices[layer.device_index].name
                )
            })
            .collect()
    }

    #[test]
    fn device_stack_lists_mirror_below_both_members() {
        let devices = [
            device("sda", &[]),
            device("sda1", &["sda"]),
            device("sda2", &["sda"]),
            device("sdb", &[]),
            device("md0", &["sda1", "sdb"]),
            device("dm-0", &["md0"]),
            device("sdc", &[]),
        ];
        let lines = ["sda", "-sda1", "--md0", "---dm-0", "sdb", "-md0", "--dm-0"];
        assert_eq!(names(&devices, "dm-0"), lines);
        assert_eq!(names(&devices, "md0"), lines);
        assert_eq!(names(&devices, "sdb"), ["sdb", "-md0", "--dm-0"]);
        assert_eq!(names(&devices, "sda2"), ["sda", "-sda2"]);
        assert_eq!(names(&devices, "sdc"), ["sdc"]);
        assert!(names(&devices, "sdx").is_empty());
    }

    #[test]
    fn device_stack_with_cycle_terminates() {
        let devices = [device("a", &["b"]), device("b", &["a"])];
        assert!(
            stack_of(&devices, "a").is_empty(),
            "nothing lies at the bottom"
        );
    }
}
