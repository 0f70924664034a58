//! What lies on a device or on a part of it: file systems, device-mapper, md, swap.

use crate::requirement::{Requirement, skip};
use std::fs;
use std::path::Path;

use super::loops::{Loop, Undo, run};
use super::{ask, refusal};
use crate::drive::guard::inspect;
use crate::drive::target;
use crate::roots::Roots;

#[test]
fn a_device_is_refused_when_a_partition_of_it_is_mounted() {
    let Some(device) = Loop::new(&["--partscan"]) else {
        return;
    };
    let label = device.path("label");
    fs::write(&label, "label: gpt\nsize=20MiB\nsize=20MiB\n").unwrap();
    let script = format!("sfdisk -q {} < {label}", device.device);
    let parts = [
        format!("{}p1", device.device),
        format!("{}p2", device.device),
    ];
    if run("sh", &["-c", &script]).is_none() || !Path::new(&parts[1]).exists() {
        return skip(
            Requirement::Partitions,
            "no partitions on loop devices here",
        );
    }
    if run("mkfs.ext4", &["-q", &parts[0]]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let point = device.path("mounted");
    fs::create_dir(&point).unwrap();
    if run("mount", &[&parts[0], &point]).is_none() {
        return skip(Requirement::Ext4, "cannot mount here");
    }
    let _undo = Undo("umount", vec![point]);
    assert!(refusal(&device.device).contains("p1 is mounted at"));
    assert!(refusal(&parts[0]).contains("p1 is mounted at"));
    assert!(ask(&parts[1]).is_ok(), "the other partition is free");

    let roots = Roots::default();
    let medium = target::open(&roots, &device.device, None).unwrap();
    let facts = inspect(&roots, &medium).unwrap();
    assert_eq!(facts.contents.summary(), ["gpt", "ext4 (partition 1)"]);
    assert_eq!(facts.partitions.len(), 2);
    assert_eq!(facts.partitions[0].mounted_at.len(), 1);
    assert!(!facts.conflicts.is_empty());
}

#[test]
fn a_device_under_device_mapper_is_refused() {
    let Some(device) = Loop::new(&[]) else { return };
    let name = format!("diskscope-test-{}", std::process::id());
    let table = format!("0 65536 linear {} 0", device.device);
    if run("dmsetup", &["create", &name, "--table", &table]).is_none() {
        return skip(Requirement::DeviceMapper, "no device mapper here");
    }
    let _undo = Undo("dmsetup", vec!["remove".to_owned(), name]);
    assert!(refusal(&device.device).contains("lies on"));
}

#[test]
fn a_member_of_a_raid_is_refused() {
    let Some(device) = Loop::new(&[]) else { return };
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
    if run("mdadm", &create).is_none() {
        return skip(Requirement::Md, "no software RAID here");
    }
    let _undo = Undo("mdadm", vec!["--stop".to_owned(), array.to_owned()]);
    assert!(refusal(&device.device).contains("lies on"));
}

#[test]
fn swap_is_refused_on_a_device() {
    let Some(device) = Loop::new(&[]) else { return };
    if run("mkswap", &[&device.device]).is_none() || run("swapon", &[&device.device]).is_none() {
        return skip(Requirement::Swap, "cannot swap here");
    }
    let _undo = Undo("swapoff", vec![device.device.clone()]);
    assert!(refusal(&device.device).contains("swaps to"));
}

#[test]
fn swap_is_refused_in_a_file() {
    let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let file = directory.path().join("swap");
    fs::write(&file, vec![0; 8 << 20]).unwrap();
    let name = file.to_str().unwrap();
    run("chmod", &["600", name]);
    if run("mkswap", &[name]).is_none() || run("swapon", &[name]).is_none() {
        return skip(Requirement::Swap, "cannot swap to a file here");
    }
    let _undo = Undo("swapoff", vec![name.to_owned()]);
    assert!(refusal(name).contains("swaps to"));
}
