//! Suggests the device that a misspelt target or device probably means.

use crate::drive::identity;
use crate::roots::SysPaths;
use crate::text;

/// Directory of device nodes.
const DEVICE_DIRECTORY: &str = "/dev/";

/// `did you mean /dev/sda?` for a name that does not exist and is similar to a device's, or is one
/// without its directory.
pub(super) fn did_you_mean(roots: &SysPaths, name: &str) -> Option<String> {
    let devices = identity::list_block_devices(roots);
    let sized = devices.iter().filter(|device| device.size_bytes > 0);
    nearest_device(name, sized.map(|device| device.path.as_str()))
        .map(|path| format!("did you mean {path}?"))
}

fn nearest_device<'a>(name: &str, paths: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = paths.collect();
    let short = |path: &'a str| path.strip_prefix(DEVICE_DIRECTORY).unwrap_or(path);
    let typed = name.strip_prefix(DEVICE_DIRECTORY);
    // A path elsewhere is not a device's name.
    if typed.is_none() && name.contains('/') {
        return None;
    }
    let typed = typed.unwrap_or(name);
    let nearest = text::nearest_name(typed, known.iter().map(|path| short(path)))?;
    known.into_iter().find(|path| short(path) == nearest)
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn misspelt_device_is_recognized_with_and_without_its_directory() {
        let known = [
            "/dev/sda",
            "/dev/nvme0n1",
            "/dev/nvme0n1p1",
            "/dev/mapper/vg0-data",
        ];
        for (name, expected) in [
            ("sda", Some("/dev/sda")),
            ("/dev/sdb", Some("/dev/sda")),
            ("/dev/nvme0n", Some("/dev/nvme0n1")),
            ("nvme01n1", Some("/dev/nvme0n1")),
            ("/dev/mapper/vg0-dta", Some("/dev/mapper/vg0-data")),
            ("/srv/sda", None),
            ("/dev/something", None),
        ] {
            assert_eq!(nearest_device(name, known.into_iter()), expected, "{name}");
        }
    }
}
