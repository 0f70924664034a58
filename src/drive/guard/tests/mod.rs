//! The guard on real loop devices. Each needs root and loop devices; where it cannot run it says
//! so and passes.

use crate::requirement::{Requirement, skip};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use super::*;
use crate::drive::target;
use loops::{Loop, Undo, run};
use rustix::fs::{Mode as Permissions, OFlags};

mod consent;
mod loops;
mod stacked;
mod stale_cache;
mod trees;

/// Asks for permission with consent that names the target itself.
fn ask(name: &str) -> Result<WritePermit, Refusal> {
    let roots = Roots::default();
    let medium = target::open(&roots, name, None).unwrap();
    permit(&roots, &medium, Some(&everything_on(name)))
}

/// Consent to overwrite what is at that path, whatever it holds.
fn everything_on(name: &str) -> Consent {
    Consent::to_path(name).with_signatures()
}

fn refusal(name: &str) -> String {
    let error = ask(name).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(!error.advice().is_empty());
    error.to_string()
}

fn short(device: &str) -> &str {
    device.trim_start_matches("/dev/")
}

#[test]
fn an_unused_device_is_permitted_with_consent_and_held_meanwhile() {
    let Some(device) = Loop::new(&[]) else { return };
    let permit = ask(&device.device).unwrap();
    let second = refusal(&device.device);
    assert!(second.contains("for itself alone"), "{second}");
    drop(permit);
    assert!(ask(&device.device).is_ok());
}

#[test]
fn a_mounted_device_is_refused_by_all_its_names() {
    let Some(device) = Loop::new(&[]) else { return };
    if run("mkfs.ext4", &["-q", &device.device]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let point = device.path("mounted");
    fs::create_dir(&point).unwrap();
    if run("mount", &[&device.device, &point]).is_none() {
        return skip(Requirement::Ext4, "cannot mount here");
    }
    let _undo = Undo("umount", vec![point.clone()]);
    let expected = format!("{} is mounted at {point}", short(&device.device));
    assert!(refusal(&device.device).contains(&expected));

    let link = device.path("link");
    symlink(&device.device, &link).unwrap();
    assert!(refusal(&link).contains(&expected));

    let number = fs::metadata(&device.device).unwrap().rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let node = device.path("node");
    let numbers = [major.to_string(), minor.to_string()];
    if run("mknod", &[&node, "b", &numbers[0], &numbers[1]]).is_some() {
        // A file system mounted with nodev would not let it be opened.
        match target::open(&Roots::default(), &node, None) {
            Ok(_) => assert!(refusal(&node).contains(&expected)),
            Err(error) => skip(Requirement::Files, error),
        }
    }
    let file = device.file.to_str().unwrap();
    assert!(refusal(file).contains("is attached to"), "its backing file");
}

#[test]
fn a_device_that_someone_holds_exclusively_is_refused() {
    let Some(device) = Loop::new(&[]) else { return };
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let held = rustix::fs::open(&device.device, flags, Permissions::empty()).unwrap();
    assert!(refusal(&device.device).contains("for itself alone"));
    drop(held);
    assert!(ask(&device.device).is_ok());
}

#[test]
fn a_read_only_device_is_refused() {
    let Some(device) = Loop::new(&["--read-only"]) else {
        return;
    };
    assert!(refusal(&device.device).ends_with("is read-only"));
}

#[test]
fn a_device_with_a_loop_device_on_it_is_refused_in_both_directions() {
    let Some(lower) = Loop::new(&[]) else { return };
    let Some(upper) = run("losetup", &["--find", "--show", &lower.device]) else {
        return skip(Requirement::Loop, "no loop device on a loop device");
    };
    let _undo = Undo("losetup", vec!["--detach".to_owned(), upper.clone()]);
    assert!(refusal(&lower.device).contains("is attached to"));
    if run("mkfs.ext4", &["-q", &lower.device]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    assert!(ask(&upper).is_ok(), "nobody uses what lies below");
    let point = lower.path("mounted");
    fs::create_dir(&point).unwrap();
    if run("mount", &[&lower.device, &point]).is_none() {
        return skip(Requirement::Ext4, "cannot mount here");
    }
    let _mounted = Undo("umount", vec![point]);
    assert!(
        refusal(&upper).contains("is mounted at"),
        "what lies below is"
    );
}

#[test]
fn a_device_that_is_mounted_after_the_permit_was_prepared_cannot_be() {
    let Some(device) = Loop::new(&[]) else { return };
    if run("mkfs.ext4", &["-q", &device.device]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let point = device.path("mounted");
    fs::create_dir(&point).unwrap();
    let permit = ask(&device.device).unwrap();
    let mounted = run("mount", &[&device.device, &point]);
    let _undo = mounted.as_ref().map(|_| Undo("umount", vec![point]));
    assert!(mounted.is_none(), "the permit keeps file systems off");
    drop(permit);
}

#[test]
fn a_permit_opens_its_own_medium_only() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["one", "two"].map(|name| directory.path().join(name).display().to_string());
    names
        .iter()
        .for_each(|name| fs::write(name, vec![1; 8192]).unwrap());
    let roots = Roots::default();
    let [one, two] = names
        .clone()
        .map(|name| target::open(&roots, &name, None).unwrap());
    let permit = permit(&roots, &one, Some(&everything_on(&names[0]))).unwrap();
    let access = target::Access {
        mode: target::Mode::Write(&permit),
        ..target::Access::default()
    };
    assert!(one.open(access).is_ok());
    assert!(matches!(two.open(access), Err(DriveError::Changed { .. })));
    fs::rename(&names[1], &names[0]).unwrap();
    assert!(one.open(access).is_ok(), "still the inode that was checked");
    let metadata = fs::metadata(&names[0]).unwrap();
    assert_ne!(FileId::of(&metadata), one.id());
}

#[test]
fn without_the_table_of_mounts_nothing_is_permitted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, vec![1; 8192]).unwrap();
    let name = file.to_str().unwrap();
    let medium = target::open(&Roots::default(), name, None).unwrap();
    let blind = Roots::below(directory.path());
    let result = permit(&blind, &medium, Some(&everything_on(name)));
    assert!(matches!(result, Err(Refusal::Unknown { .. })));
}
