//! Users of a device or a part of it: file systems, device-mapper, md, swap.

use std::fs;
use std::path::Path;

use super::loops::{CleanupCommand, LoopFixture, run_program};
use super::{refusal, request_permit};
use crate::drive::guard::inspect;
use crate::drive::medium;
use crate::requirement::{Requirement, skip};
use crate::roots::SysPaths;

#[test]
fn device_with_mounted_partition_is_refused() {
    let Some(device) = LoopFixture::new(&["--partscan"]) else {
        return;
    };
    let label = device.path("label");
    fs::write(&label, "label: gpt\nsize=20MiB\nsize=20MiB\n").unwrap();
    let script = format!("sfdisk -q {} < {label}", device.device);
    let parts = [
        format!("{}p1", device.device),
        format!("{}p2", device.device),
    ];
    if run_program("sh", &["-c", &script]).is_none() || !Path::new(&parts[1]).exists() {
        return skip(
            Requirement::Partitions,
            "no partitions on loop devices here",
        );
    }
    if run_program("mkfs.ext4", &["-q", &parts[0]]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let point = device.path("mounted");
    fs::create_dir(&point).unwrap();
    if run_program("mount", &[&parts[0], &point]).is_none() {
        return skip(Requirement::Ext4, "cannot mount here");
    }
    let _undo = CleanupCommand("umount", vec![point]);
    assert!(refusal(&device.device).contains("p1 is mounted at"));
    assert!(refusal(&parts[0]).contains("p1 is mounted at"));
    assert!(
        request_permit(&parts[1]).is_ok(),
        "the other partition is free"
    );

    let roots = SysPaths::default();
    let medium = medium::open_target(&roots, &device.device, None).unwrap();
    let facts = inspect::inspect_target(&roots, &medium).unwrap();
    assert_eq!(facts.contents.summary(), ["gpt", "ext4 (partition 1)"]);
    assert_eq!(facts.partitions.len(), 2);
    assert_eq!(facts.partitions[0].mounted_at.len(), 1);
    assert!(!facts.conflicts.is_empty());
}

#[test]
fn device_below_device_mapper_is_refused() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    let name = format!("diskscope-test-{}", std::process::id());
    let table = format!("0 65536 linear {} 0", device.device);
    if run_program("dmsetup", &["create", &name, "--table", &table]).is_none() {
        return skip(Requirement::DeviceMapper, "no device mapper here");
    }
    let _undo = CleanupCommand("dmsetup", vec!["remove".to_owned(), name]);
    assert!(refusal(&device.device).contains("is stacked on"));
}

#[test]
fn raid_member_device_is_refused() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    let array = "/dev/md/diskscope-test";
    let create = [
        "--create",
        array,
        "--level=linear",
        "--force",
        "--raid-devices=1",
        "--run",
        device.device.as_str(),
    ];
    if run_program("mdadm", &create).is_none() {
        return skip(Requirement::Md, "no software RAID here");
    }
    let _undo = CleanupCommand("mdadm", vec!["--stop".to_owned(), array.to_owned()]);
    assert!(refusal(&device.device).contains("is stacked on"));
}

#[test]
fn swap_device_is_refused() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    if run_program("mkswap", &[&device.device]).is_none()
        || run_program("swapon", &[&device.device]).is_none()
    {
        return skip(Requirement::Swap, "cannot swap here");
    }
    let _undo = CleanupCommand("swapoff", vec![device.device.clone()]);
    assert!(refusal(&device.device).contains("swaps to"));
}

#[test]
fn swap_file_as_target_is_refused() {
    let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let file = directory.path().join("swap");
    fs::write(&file, vec![0; 8 << 20]).unwrap();
    let name = file.to_str().unwrap();
    run_program("chmod", &["600", name]);
    if run_program("mkswap", &[name]).is_none() || run_program("swapon", &[name]).is_none() {
        return skip(Requirement::Swap, "cannot swap to a file here");
    }
    let _undo = CleanupCommand("swapoff", vec![name.to_owned()]);
    assert!(refusal(name).contains("swaps to"));
}
