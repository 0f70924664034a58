//! Tests of the guard on real loop devices. They need root and loop devices; without them a test
//! prints a message and passes.

mod changed_medium;
mod consent;
mod loops;
mod stacked;
mod stale_cache;
mod trees;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use rustix::fs::{Mode as Permissions, OFlags};

use self::loops::{CleanupCommand, LoopFixture, run_program};
use super::*;
use crate::drive::medium;
use crate::drive::medium::{FileId, OpenMedium};
use crate::drive::{DriveError, ErrorKind};
use crate::requirement::{Requirement, skip};
use crate::roots::SysPaths;

/// Requests permission with consent that names the target.
fn request_permit(name: &str) -> Result<WritePermit, Refusal> {
    let roots = SysPaths::default();
    let medium = medium::open_target(&roots, name, None).unwrap();
    permit_writing(&roots, &medium, Some(&consent_with_signatures(name)))
}

/// Consent to overwrite the file or device at that path, whatever its contents.
fn consent_with_signatures(name: &str) -> Consent {
    Consent::for_path(name).including_signatures()
}

fn refusal(name: &str) -> String {
    let error = request_permit(name).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(!error.advice().is_empty());
    error.to_string()
}

fn kernel_name(device: &str) -> &str {
    device.trim_start_matches("/dev/")
}

#[test]
fn unused_device_is_permitted_with_consent_and_held() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    let permit = request_permit(&device.device).unwrap();
    let second = refusal(&device.device);
    assert!(second.contains("exclusively"), "{second}");
    drop(permit);
    assert!(request_permit(&device.device).is_ok());
}

#[test]
fn mounted_device_is_refused_under_all_names() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    if run_program("mkfs.ext4", &["-q", &device.device]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let point = device.path("mounted");
    fs::create_dir(&point).unwrap();
    if run_program("mount", &[&device.device, &point]).is_none() {
        return skip(Requirement::Ext4, "cannot mount here");
    }
    let _undo = CleanupCommand("umount", vec![point.clone()]);
    let expected = format!("{} is mounted at {point}", kernel_name(&device.device));
    assert!(refusal(&device.device).contains(&expected));

    let link = device.path("link");
    symlink(&device.device, &link).unwrap();
    assert!(refusal(&link).contains(&expected));

    let number = fs::metadata(&device.device).unwrap().rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let node = device.path("node");
    let numbers = [major.to_string(), minor.to_string()];
    if run_program("mknod", &[&node, "b", &numbers[0], &numbers[1]]).is_some() {
        // On a file system mounted with nodev it cannot be opened.
        match medium::open_target(&SysPaths::default(), &node, None) {
            Ok(_) => assert!(refusal(&node).contains(&expected)),
            Err(error) => skip(Requirement::Files, error),
        }
    }
    let file = device.file.to_str().unwrap();
    assert!(refusal(file).contains("is attached to"), "its backing file");
}

#[test]
fn exclusively_opened_device_is_refused() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let held = rustix::fs::open(&device.device, flags, Permissions::empty()).unwrap();
    assert!(refusal(&device.device).contains("exclusively"));
    drop(held);
    assert!(request_permit(&device.device).is_ok());
}

#[test]
fn read_only_loop_device_permit_is_refused() {
    let Some(device) = LoopFixture::new(&["--read-only"]) else {
        return;
    };
    assert!(refusal(&device.device).ends_with("is read-only"));
}

#[test]
fn device_with_loop_device_on_it_is_refused_in_both_directions() {
    let Some(lower) = LoopFixture::new(&[]) else {
        return;
    };
    let Some(upper) = run_program("losetup", &["--find", "--show", &lower.device]) else {
        return skip(Requirement::Loop, "no loop device on a loop device");
    };
    let _undo = CleanupCommand("losetup", vec!["--detach".to_owned(), upper.clone()]);
    assert!(refusal(&lower.device).contains("is attached to"));
    if run_program("mkfs.ext4", &["-q", &lower.device]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    assert!(
        request_permit(&upper).is_ok(),
        "nobody uses what lies below"
    );
    let point = lower.path("mounted");
    fs::create_dir(&point).unwrap();
    if run_program("mount", &[&lower.device, &point]).is_none() {
        return skip(Requirement::Ext4, "cannot mount here");
    }
    let _mounted = CleanupCommand("umount", vec![point]);
    assert!(
        refusal(&upper).contains("is mounted at"),
        "what lies below is"
    );
}

#[test]
fn permitted_device_cannot_be_mounted() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    if run_program("mkfs.ext4", &["-q", &device.device]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let point = device.path("mounted");
    fs::create_dir(&point).unwrap();
    let permit = request_permit(&device.device).unwrap();
    let mounted = run_program("mount", &[&device.device, &point]);
    let _undo = mounted
        .as_ref()
        .map(|_| CleanupCommand("umount", vec![point]));
    assert!(mounted.is_none(), "the permit keeps file systems off");
    drop(permit);
}

#[test]
fn permit_for_other_medium_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["one", "two"].map(|name| directory.path().join(name).display().to_string());
    names
        .iter()
        .for_each(|name| fs::write(name, vec![1; 8192]).unwrap());
    let roots = SysPaths::default();
    let [one, two] = names
        .clone()
        .map(|name| medium::open_target(&roots, &name, None).unwrap());
    let permit = permit_writing(&roots, &one, Some(&consent_with_signatures(&names[0]))).unwrap();
    let access = MediumAccess {
        mode: WriteMode::Write(&permit),
        ..MediumAccess::default()
    };
    assert!(one.open(access).is_ok());
    assert!(matches!(
        two.open(access),
        Err(DriveError::TargetChanged { .. })
    ));
    fs::rename(&names[1], &names[0]).unwrap();
    assert!(one.open(access).is_ok(), "still the inode that was checked");
    let metadata = fs::metadata(&names[0]).unwrap();
    assert_ne!(FileId::of_metadata(&metadata), one.file_id());
}

#[test]
fn missing_mount_table_refuses_every_permit() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, vec![1; 8192]).unwrap();
    let name = file.to_str().unwrap();
    let medium = medium::open_target(&SysPaths::default(), name, None).unwrap();
    let blind = SysPaths::under_root(directory.path());
    let result = permit_writing(&blind, &medium, Some(&consent_with_signatures(name)));
    assert!(matches!(result, Err(Refusal::UseUnknown { .. })));
}
