//! Surroundings in literal trees: temperature, and a machine without any of it.

use std::fs;

use super::*;
use crate::engine::{self, Choice};

fn scene(target: &Target) -> Scene<'_> {
    static NO_HOST: std::sync::LazyLock<Host> = std::sync::LazyLock::new(Host::default);
    Scene {
        target,
        window: 0..target.size,
        writes: false,
        direct: true,
        host: &NO_HOST,
    }
}

fn target(roots: &Roots) -> Target {
    let opened = engine::open(roots, "sim:constant", Choice::Auto, None).unwrap();
    Target {
        kind: TargetKind::BlockDevice,
        drive: identity::read(roots, "sda"),
        ..opened.target
    }
}

/// A disk with the sensor that the module drivetemp gives it.
fn machine(root: &std::path::Path) -> Roots {
    let roots = Roots::below(root);
    let disk = roots.sys.join("devices/pci/block/sda");
    for (file, text) in [
        ("dev", "8:0\n"),
        ("size", "2000\n"),
        ("queue/rotational", "1\n"),
        ("device/hwmon/hwmon2/temp1_input", "41000\n"),
        ("device/hwmon/hwmon2/temp1_max", "60000\n"),
    ] {
        let path = disk.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let links = roots.sys.join("class/block");
    fs::create_dir_all(&links).unwrap();
    std::os::unix::fs::symlink(&disk, links.join("sda")).unwrap();
    roots
}

#[test]
fn the_highest_temperature_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let roots = machine(root.path());
    let target = target(&roots);
    let mut surroundings = Surroundings::new(&roots, &scene(&target));
    let sensor = roots
        .sys
        .join("devices/pci/block/sda/device/hwmon/hwmon2/temp1_input");
    for celsius in ["63000", "58000"] {
        fs::write(&sensor, celsius).unwrap();
        let _ = surroundings.so_far(Moved::default());
    }
    let expected = Temperature {
        begin_celsius: 41.0,
        highest_celsius: 63.0,
        limit_celsius: Some(60.0),
    };
    let evidence = surroundings.end(&Effort::default());
    assert_eq!(evidence.temperature, Some(expected));
}

#[test]
fn what_the_kernel_does_not_tell_is_absent() {
    let root = tempfile::tempdir().unwrap();
    let roots = machine(root.path());
    fs::remove_dir_all(roots.sys.join("devices/pci/block/sda/device")).unwrap();
    let target = target(&roots);
    let mut surroundings = Surroundings::new(&roots, &scene(&target));
    assert_eq!(surroundings.counts(), None);
    let evidence = surroundings.so_far(Moved::default());
    assert_eq!((evidence.temperature, evidence.submitted), (None, None));
    assert!(evidence.beneath.is_empty() && evidence.others.is_empty());
    assert_eq!(evidence.asked, Some(Counts::default()));
}

#[test]
fn a_simulated_drive_has_none_of_the_machine_s() {
    let opened = engine::open(&Roots::default(), "sim:hdd", Choice::Auto, None).unwrap();
    let mut surroundings = Surroundings::new(&Roots::default(), &scene(&opened.target));
    assert_eq!(surroundings.counts(), None);
    let evidence = surroundings.end(&Effort::default());
    assert_eq!(
        (evidence.setup, evidence.extents, evidence.sample),
        (None, None, None)
    );
    assert!(evidence.others.is_empty());
}
