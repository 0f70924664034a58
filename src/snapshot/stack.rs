//! Stacked devices: drive, partition, RAID, logical volume, file system.

use std::collections::HashSet;

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
    let below = |index: usize| adjacent(devices, |other| is_on(&devices[index], &devices[other]));
    let above = |index: usize| adjacent(devices, |other| is_on(&devices[other], &devices[index]));
    let kept: HashSet<usize> = connected(start, below)
        .union(&connected(start, above))
        .copied()
        .collect();
    let mut layers = Vec::new();
    let roots = (0..devices.len()).filter(|index| {
        kept.contains(index) && below(*index).iter().all(|other| !kept.contains(other))
    });
    // Depth first: what is on a device follows it.
    let mut waiting: Vec<StackLayer> = roots
        .rev()
        .map(|device_index| StackLayer {
            device_index,
            depth: 0,
        })
        .collect();
    while let Some(layer) = waiting.pop() {
        layers.push(layer);
        let depth = layer.depth + 1;
        let next = above(layer.device_index).into_iter().rev();
        let next = next.filter(|index| kept.contains(index) && depth <= MAX_DEPTH);
        waiting.extend(next.map(|device_index| StackLayer {
            device_index,
            depth,
        }));
    }
    layers
}

fn is_on(device: &DeviceView, other: &DeviceView) -> bool {
    device.underlying.contains(&other.name)
}

fn adjacent(devices: &[DeviceView], is_adjacent: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..devices.len())
        .filter(|other| is_adjacent(*other))
        .collect()
}

/// A device and all that are reached from it by steps in one direction.
fn connected(start: usize, next: impl Fn(usize) -> Vec<usize>) -> HashSet<usize> {
    let mut found = HashSet::from([start]);
    let mut waiting = vec![start];
    while let Some(index) = waiting.pop() {
        waiting.extend(next(index).into_iter().filter(|other| found.insert(*other)));
    }
    found
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
