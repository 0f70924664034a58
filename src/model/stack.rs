//! Devices that lie on one another: drive, partition, RAID, logical volume, file system.

use super::live::DeviceView;

/// A device in a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layer {
    /// Its place in the list of devices.
    pub device: usize,
    /// How far it is indented: 0 for what lies on nothing.
    pub depth: usize,
}

/// A stack deeper than this is none.
const DEEPEST: usize = 16;

/// Everything that a device lies on and that lies on it, from the drives upwards: a tree whose
/// roots are drives. A device that lies on several of them stands below each.
#[must_use]
pub fn of(devices: &[DeviceView], name: &str) -> Vec<Layer> {
    let Some(start) = devices.iter().position(|device| device.name == name) else {
        return Vec::new();
    };
    let mut kept = vec![false; devices.len()];
    mark(devices, start, &mut kept, DEEPEST, &below);
    kept[start] = false;
    mark(devices, start, &mut kept, DEEPEST, &above);
    let mut layers = Vec::new();
    for root in (0..devices.len()).filter(|place| kept[*place]) {
        if below(devices, root).iter().all(|place| !kept[*place]) {
            descend(devices, root, 0, &kept, &mut layers);
        }
    }
    layers
}

fn descend(
    devices: &[DeviceView],
    device: usize,
    depth: usize,
    kept: &[bool],
    layers: &mut Vec<Layer>,
) {
    layers.push(Layer { device, depth });
    if depth == DEEPEST {
        return;
    }
    for next in above(devices, device) {
        if kept[next] {
            descend(devices, next, depth + 1, kept, layers);
        }
    }
}

type Neighbours = dyn Fn(&[DeviceView], usize) -> Vec<usize>;

fn mark(
    devices: &[DeviceView],
    device: usize,
    kept: &mut [bool],
    further: usize,
    next: &Neighbours,
) {
    if kept[device] || further == 0 {
        return;
    }
    kept[device] = true;
    for other in next(devices, device) {
        mark(devices, other, kept, further - 1, next);
    }
}

/// What a device lies on.
fn below(devices: &[DeviceView], device: usize) -> Vec<usize> {
    let names = &devices[device].lies_on;
    (0..devices.len())
        .filter(|place| names.contains(&devices[*place].name))
        .collect()
}

/// What lies on a device.
fn above(devices: &[DeviceView], device: usize) -> Vec<usize> {
    let name = &devices[device].name;
    (0..devices.len())
        .filter(|place| devices[*place].lies_on.contains(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, lies_on: &[&str]) -> DeviceView {
        DeviceView {
            name: name.into(),
            lies_on: lies_on.iter().map(|it| (*it).into()).collect(),
            ..DeviceView::default()
        }
    }

    fn names(devices: &[DeviceView], name: &str) -> Vec<String> {
        of(devices, name)
            .iter()
            .map(|layer| format!("{}{}", "-".repeat(layer.depth), devices[layer.device].name))
            .collect()
    }

    #[test]
    fn a_mirror_stands_on_both_halves() {
        let devices = [
            device("sda", &[]),
            device("sda1", &["sda"]),
            device("sda2", &["sda"]),
            device("sdb", &[]),
            device("md0", &["sda1", "sdb"]),
            device("dm-0", &["md0"]),
            device("sdc", &[]),
        ];
        let whole = ["sda", "-sda1", "--md0", "---dm-0", "sdb", "-md0", "--dm-0"];
        assert_eq!(names(&devices, "dm-0"), whole);
        assert_eq!(names(&devices, "md0"), whole);
        assert_eq!(names(&devices, "sdb"), ["sdb", "-md0", "--dm-0"]);
        assert_eq!(names(&devices, "sda2"), ["sda", "-sda2"]);
        assert_eq!(names(&devices, "sdc"), ["sdc"]);
        assert!(names(&devices, "sdx").is_empty());
    }

    #[test]
    fn a_circle_ends() {
        let devices = [device("a", &["b"]), device("b", &["a"])];
        assert!(of(&devices, "a").is_empty(), "nothing lies at the bottom");
    }
}
