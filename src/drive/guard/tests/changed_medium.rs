//! A medium that becomes another one, or shows other bytes, while it is written.

use std::sync::Arc;

use super::loops::{CleanupCommand, LoopFixture, run_program};
use super::*;
use crate::drive::ioctl;
use crate::drive::medium::IdentityChange;

fn open(name: &str) -> Arc<OpenMedium> {
    Arc::new(medium::open_target(&SysPaths::default(), name, None).unwrap())
}

/// The change of the medium for which writing must stop.
#[track_caller]
fn assert_changed(refusal: Option<Refusal>, expected: &IdentityChange) {
    let refusal = refusal.expect("writing goes on");
    let found = matches!(
        &refusal,
        Refusal::MediumChangedWhileWriting { change: MediumChange::Identity(change), .. }
            if change == expected
    );
    assert!(found, "{refusal}");
    assert_eq!(refusal.kind(), ErrorKind::Refused);
    assert!(refusal.advice().starts_with("writing was stopped"));
}

#[test]
fn watch_notices_another_medium_under_the_same_device_number() {
    // The kernel exchanges the file of a read-only loop device only.
    let Some(device) = LoopFixture::new(&["--read-only"]) else {
        return;
    };
    let medium = open(&device.device);
    if medium.identity().disk_sequence.is_none() {
        return skip(Requirement::Kernel, "no BLKGETDISKSEQ before kernel 5.15");
    }
    let mut watch = WriteWatch::new(&SysPaths::default(), &medium, Arc::default());
    assert!(watch.check_conflicts().is_none());
    let other = device.path("other");
    fs::write(&other, vec![b'o'; 64 << 20]).unwrap();
    let node = fs::File::open(&device.device).unwrap();
    ioctl::change_loop_file(&node, &fs::File::open(other).unwrap()).unwrap();
    assert_changed(watch.check_conflicts(), &IdentityChange::DiskSequence);
}

#[test]
fn watch_notices_another_size_of_the_device() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    let medium = open(&device.device);
    let mut watch = WriteWatch::new(&SysPaths::default(), &medium, Arc::default());
    assert!(watch.check_conflicts().is_none());
    let file = fs::File::options().write(true).open(&device.file).unwrap();
    file.set_len(80 << 20).unwrap();
    run_program("losetup", &["--set-capacity", &device.device]).unwrap();
    let expected = IdentityChange::Size(64 << 20, 80 << 20);
    assert_changed(watch.check_conflicts(), &expected);
}

/// Watches a device that may be written while the loop device `changed`, which it is or is on, is
/// moved in its file.
fn assert_moved_loop_device_is_noticed(target: &str, changed: &str) {
    let roots = SysPaths::default();
    let medium = open(target);
    let consent = consent_with_signatures(target);
    let permit = permit_writing(&roots, &medium, Some(&consent)).unwrap();
    let known = Arc::clone(permit.known());
    let mut watch = WriteWatch::new(&roots, &medium, known);
    assert!(watch.check_conflicts().is_none());
    let node = fs::File::open(changed).unwrap();
    ioctl::move_loop_device(&node, 1 << 20).unwrap();
    let device = kernel_name(changed).to_owned();
    assert_changed(
        watch.check_conflicts(),
        &IdentityChange::LoopRange { device },
    );
}

#[test]
fn watch_notices_that_the_target_is_moved_in_its_file() {
    // Its size stays the same.
    let Some(device) = LoopFixture::new(&["--sizelimit", "8MiB"]) else {
        return;
    };
    assert_moved_loop_device_is_noticed(&device.device, &device.device);
}

#[test]
fn watch_notices_that_a_lower_device_is_moved_in_its_file() {
    let Some(lower) = LoopFixture::new(&[]) else {
        return;
    };
    let Some(upper) = run_program("losetup", &["--find", "--show", &lower.device]) else {
        return skip(Requirement::Loop, "no loop device on a loop device");
    };
    let _undo = CleanupCommand("losetup", vec!["--detach".to_owned(), upper.clone()]);
    assert_moved_loop_device_is_noticed(&upper, &lower.device);
}

#[test]
fn consent_is_not_valid_after_a_lower_device_was_moved() {
    let Some(lower) = LoopFixture::new(&[]) else {
        return;
    };
    let Some(upper) = run_program("losetup", &["--find", "--show", &lower.device]) else {
        return skip(Requirement::Loop, "no loop device on a loop device");
    };
    let _undo = CleanupCommand("losetup", vec!["--detach".to_owned(), upper.clone()]);
    let roots = SysPaths::default();
    let medium = open(&upper);
    let inspected = InspectedMedium::read(&roots, Arc::clone(&medium));
    let consent = Consent::for_inspected(inspected);
    drop(permit_writing(&roots, &medium, Some(&consent)).unwrap());
    let node = fs::File::open(&lower.device).unwrap();
    ioctl::move_loop_device(&node, 1 << 20).unwrap();
    let refused = permit_writing(&roots, &medium, Some(&consent)).unwrap_err();
    let device = kernel_name(&lower.device).to_owned();
    let expected = MediumChange::Identity(IdentityChange::LoopRange { device });
    assert!(
        matches!(&refused, Refusal::MediumChanged { change, .. } if *change == expected),
        "{refused}"
    );
}
