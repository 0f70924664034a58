//! Advice for constructed drives.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::*;
use crate::drive::identity::DeviceDetails;

fn drive(kind: DriveKind, transport: &str, rotational: bool) -> BlockDevice {
    BlockDevice {
        number: (8, 0),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        rotational: Some(rotational),
        removable: Some(false),
        read_only: Some(false),
        transport: Some(transport.to_owned()),
        scheduler: Some("none".to_owned()),
        read_ahead_kib: Some(128),
        max_request_kib: Some(1280),
        write_cache: Some("write back".to_owned()),
        details: DeviceDetails {
            schedulers: ["none", "mq-deadline", "bfq"].map(str::to_owned).to_vec(),
            ..DeviceDetails::default()
        },
        ..BlockDevice::new("sda", kind, 1 << 40)
    }
}

fn commands(advice: &[TuningAdvice]) -> Vec<&str> {
    advice
        .iter()
        .map(|advice| advice.command.as_str())
        .collect()
}

#[test]
fn rotational_disk_gets_scheduler_advice() {
    let mut disk = drive(DriveKind::Disk, "sata", true);
    assert_eq!(
        commands(&tuning_advice(&disk, &[], None)),
        ["echo mq-deadline > /sys/block/sda/queue/scheduler"]
    );
    disk.scheduler = Some("bfq".to_owned());
    assert!(tuning_advice(&disk, &[], None).is_empty());
    disk.scheduler = Some("none".to_owned());
    disk.details.schedulers = vec!["none".to_owned()];
    assert!(
        tuning_advice(&disk, &[], None).is_empty(),
        "it is not offered"
    );
    // A drive that a virtual machine reports as rotational may not be.
    assert!(tuning_advice(&drive(DriveKind::Disk, "virtio", true), &[], None).is_empty());
}

#[test]
fn parallel_device_is_advised_scheduler_none() {
    let mut nvme = drive(DriveKind::Disk, "nvme", false);
    assert!(tuning_advice(&nvme, &[], None).is_empty());
    nvme.scheduler = Some("mq-deadline".to_owned());
    let advice = tuning_advice(&nvme, &[], None);
    assert_eq!(advice[0].code, "scheduler");
    assert!(advice[0].command.starts_with("echo none > "));
}

#[test]
fn read_ahead_advice_requires_sequential_load() {
    let mut disk = drive(DriveKind::Disk, "sata", false);
    let load = |mb: f64, kib: f64| {
        Some(ObservedLoad {
            read_bytes_per_s: mb * 1e6,
            read_request_bytes: kib * 1024.0,
        })
    };
    assert!(
        tuning_advice(&disk, &[], load(150.0, 16.0)).is_empty(),
        "random"
    );
    assert!(
        tuning_advice(&disk, &[], load(1.0, 128.0)).is_empty(),
        "little"
    );
    assert!(
        tuning_advice(&disk, &[], load(150.0, 226.0)).is_empty(),
        "direct reads"
    );
    let advice = tuning_advice(&disk, &[], load(150.0, 127.0));
    assert_eq!(commands(&advice), ["blockdev --setra 8192 /dev/sda"]);
    disk.read_ahead_kib = Some(4096);
    assert!(tuning_advice(&disk, &[], load(150.0, 4096.0)).is_empty());
}

#[test]
fn misaligned_partition_gets_advice() {
    let mut part = drive(DriveKind::Partition, "sata", true);
    part.name = "nvme0n1p12".to_owned();
    part.parent = Some("nvme0n1".to_owned());
    part.aligned = Some(false);
    part.details.start_bytes = Some(63 * 512);
    let advice = tuning_advice(&part, &[], None);
    assert_eq!(advice[0].code, "misaligned-partition");
    assert!(advice[0].reason.contains("32256") && advice[0].reason.contains("4096"));
    assert_eq!(
        advice[0].command,
        "parted --script /dev/nvme0n1 align-check minimal 12"
    );
    part.aligned = None;
    assert!(
        tuning_advice(&part, &[], None).is_empty(),
        "unknown is no fault"
    );
}

#[test]
fn buffered_loop_device_gets_advice() {
    let mut looped = drive(DriveKind::Loop, "loop", false);
    looped.name = "loop0".to_owned();
    looped.backing_file = Some("/a".to_owned());
    looped.details.direct_io = Some(false);
    assert_eq!(
        commands(&tuning_advice(&looped, &[], None)),
        ["losetup --direct-io=on /dev/loop0"]
    );
    looped.details.direct_io = Some(true);
    assert!(tuning_advice(&looped, &[], None).is_empty());
}

#[test]
fn strictatime_mount_gets_advice() {
    let disk = drive(DriveKind::Disk, "nvme", false);
    let mut file_system = MountedFileSystem {
        device_id: (8, 0),
        block_device: (8, 0),
        mount_point: "/srv/it's".to_owned(),
        path: Some("/srv/it's".into()),
        kind: "xfs".to_owned(),
        options: vec!["rw".to_owned()],
        usage: None,
    };
    let advice = tuning_advice(&disk, std::slice::from_ref(&file_system), None);
    assert_eq!(
        commands(&advice),
        ["mount --options-source mtab -o remount,bind,relatime '/srv/it'\\''s'"]
    );
    file_system.path = Some(OsStr::from_bytes(b"/srv/a\tb ").into());
    let advice = tuning_advice(&disk, std::slice::from_ref(&file_system), None);
    assert_eq!(
        commands(&advice),
        ["mount --options-source mtab -o remount,bind,relatime $'/srv/a\\011b '"]
    );
    for read_only in [["ro", "rw"], ["rw", "ro"]] {
        let file_system = MountedFileSystem {
            options: read_only.map(str::to_owned).to_vec(),
            ..file_system.clone()
        };
        assert!(!file_system.has_strictatime(), "{read_only:?}");
    }
    // Another one is mounted over it.
    file_system.path = None;
    let advice = tuning_advice(&disk, std::slice::from_ref(&file_system), None);
    assert_eq!(
        commands(&advice),
        ["findmnt --real --list --output TARGET,OPTIONS -O norelatime,nonoatime,rw | cat -v"]
    );
    file_system.options.push("noatime".to_owned());
    assert!(tuning_advice(&disk, std::slice::from_ref(&file_system), None).is_empty());
    file_system.block_device = (8, 16);
    file_system.options = vec!["rw".to_owned()];
    assert!(
        tuning_advice(&disk, &[file_system], None).is_empty(),
        "another's"
    );
}
