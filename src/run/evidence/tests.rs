//! Evidence from literal directory trees: temperature, and a machine without any.

use std::fs;

use super::*;
use crate::bench::{self, RunRequest};
use crate::engine::{self, EngineChoice};

/// Collects evidence of random reads from the target.
fn collector(roots: &SysPaths, opened: &OpenedTarget) -> EvidenceCollector {
    let benchmark = bench::find_benchmark("random-read").unwrap();
    let parameters = RunRequest::new(benchmark, "").parameters(&opened.target);
    EvidenceCollector::new(
        roots,
        benchmark,
        opened,
        &parameters,
        &HostRecord::default(),
    )
}

/// A target that is the disk of the tree.
fn disk(roots: &SysPaths) -> OpenedTarget {
    let mut opened = engine::open_target(roots, "sim:constant", EngineChoice::Auto, None).unwrap();
    opened.target.kind = TargetKind::BlockDevice;
    opened.target.drive = crate::drive::identity::read_block_device(roots, "sda");
    opened
}

/// A disk with a sensor as the drivetemp module provides it.
fn sysfs_with_sensor(root: &std::path::Path) -> SysPaths {
    let roots = SysPaths::under_root(root);
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
fn evidence_keeps_highest_temperature() {
    let root = tempfile::tempdir().unwrap();
    let roots = sysfs_with_sensor(root.path());
    let mut collector = collector(&roots, &disk(&roots));
    let sensor = roots
        .sys
        .join("devices/pci/block/sda/device/hwmon/hwmon2/temp1_input");
    for celsius in ["63000", "58000"] {
        fs::write(&sensor, celsius).unwrap();
        let _ = collector.evidence_so_far(IoCounts::default());
    }
    let expected = DriveTemperature {
        initial_celsius: 41.0,
        max_celsius: 63.0,
        throttle_celsius: Some(60.0),
    };
    let evidence = collector.final_evidence(&CpuUsage::default());
    assert_eq!(evidence.temperature, Some(expected));
}

#[test]
fn evidence_missing_from_kernel_is_none() {
    let root = tempfile::tempdir().unwrap();
    let roots = sysfs_with_sensor(root.path());
    fs::remove_dir_all(roots.sys.join("devices/pci/block/sda/device")).unwrap();
    let mut collector = collector(&roots, &disk(&roots));
    assert_eq!(collector.kernel_counts(), None);
    let evidence = collector.evidence_so_far(IoCounts::default());
    assert_eq!(
        (evidence.temperature, evidence.submitted_to_block_layer),
        (None, None)
    );
    assert!(evidence.underlying.is_empty() && evidence.other_users.is_empty());
    assert_eq!(evidence.issued, Some(DirectionCounts::default()));
}

#[test]
fn evidence_of_simulated_drive_has_no_machine_facts() {
    let opened =
        engine::open_target(&SysPaths::default(), "sim:hdd", EngineChoice::Auto, None).unwrap();
    let mut collector = collector(&SysPaths::default(), &opened);
    assert_eq!(collector.kernel_counts(), None);
    let evidence = collector.final_evidence(&CpuUsage::default());
    assert_eq!(
        (
            evidence.drive_setup,
            evidence.extents,
            evidence.block_sample
        ),
        (None, None, None)
    );
    assert!(evidence.other_users.is_empty());
}
