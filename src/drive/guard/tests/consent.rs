//! Consent on real loop devices: what it names, what it includes, and what has changed since.

use crate::drive::ioctl;
use std::os::unix::fs::{FileExt, symlink};
use std::sync::Arc;

use super::*;
use crate::drive::target::IdentityChange;

fn open(name: &str) -> Arc<Medium> {
    Arc::new(target::open(&Roots::default(), name, None).unwrap())
}

/// What somebody who is asked about that path consents to.
fn shown(name: &str) -> (Arc<Medium>, Consent) {
    let medium = open(name);
    let inspected = InspectedMedium::read(&Roots::default(), Arc::clone(&medium));
    (medium, Consent::to_inspected(inspected))
}

fn attempt(medium: &Medium, consent: &Consent) -> Result<WritePermit, Refusal> {
    permit(&Roots::default(), medium, Some(consent))
}

#[test]
fn consent_names_the_target_by_the_same_text_only() {
    let Some(device) = Loop::new(&[]) else { return };
    let roots = Roots::default();
    let medium = open(&device.device);
    assert!(matches!(
        permit(&roots, &medium, None),
        Err(Refusal::NoConsent { .. })
    ));
    let link = device.path("link");
    symlink(&device.device, &link).unwrap();
    let file = device.file.to_str().unwrap();
    let dotted = device.device.replace("/dev/", "/dev/./");
    for other in [file, "/nonexistent", &link, &dotted] {
        let refused = attempt(&medium, &Consent::to_path(other));
        assert!(matches!(refused, Err(Refusal::OtherPath { .. })), "{other}");
    }
    assert!(attempt(&medium, &Consent::to_path(&device.device)).is_ok());
    assert!(attempt(&open(&link), &Consent::to_path(&link)).is_ok());
}

#[test]
fn symlink_that_leads_elsewhere_since_it_was_opened_is_refused() {
    let (Some(one), Some(other)) = (Loop::new(&[]), Loop::new(&[])) else {
        return;
    };
    let link = one.path("link");
    symlink(&one.device, &link).unwrap();
    for (medium, consent) in [shown(&link), (open(&link), Consent::to_path(&link))] {
        fs::remove_file(&link).unwrap();
        symlink(&other.device, &link).unwrap();
        let refused = attempt(&medium, &consent).unwrap_err();
        assert!(matches!(refused, Refusal::Changed { .. }), "{refused}");
        assert_eq!(refused.kind(), ErrorKind::Refused);
        fs::remove_file(&link).unwrap();
        symlink(&one.device, &link).unwrap();
        assert!(attempt(&medium, &consent).is_ok());
    }
}

#[test]
fn node_that_was_replaced_since_it_was_opened_is_refused() {
    let (Some(one), Some(other)) = (Loop::new(&[]), Loop::new(&[])) else {
        return;
    };
    let node = one.path("node");
    let make = |device: &str| {
        let number = fs::metadata(device).unwrap().rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let numbers = [major.to_string(), minor.to_string()];
        run("mknod", &[&node, "b", &numbers[0], &numbers[1]])
    };
    if make(&one.device).is_none() || target::open(&Roots::default(), &node, None).is_err() {
        return skip(
            Requirement::Root,
            "no device nodes in the temporary directory",
        );
    }
    let (medium, consent) = shown(&node);
    fs::remove_file(&node).unwrap();
    make(&other.device).unwrap();
    let refused = attempt(&medium, &consent).unwrap_err();
    assert!(matches!(refused, Refusal::Changed { .. }), "{refused}");
    fs::remove_file(&node).unwrap();
    make(&one.device).unwrap();
    assert!(attempt(&medium, &consent).is_ok(), "the same device again");
}

/// Another medium under the same device number.
fn change_backing_file(device: &Loop) -> std::io::Result<()> {
    let other = device.path("other");
    fs::write(&other, vec![b'o'; 64 << 20])?;
    let (node, other) = (fs::File::open(&device.device)?, fs::File::open(other)?);
    ioctl::change_loop_file(&node, &other)
}

#[test]
fn another_medium_under_the_same_device_number_is_refused() {
    let Some(device) = Loop::new(&["--read-only"]) else {
        return;
    };
    let (medium, consent) = shown(&device.device);
    if medium.identity().disk_sequence.is_none() {
        return skip(Requirement::Kernel, "no BLKGETDISKSEQ before kernel 5.15");
    }
    let roots = Roots::default();
    let check =
        |medium: &Medium| super::super::consent::check_medium(&roots, medium, &consent, None);
    check(&medium).unwrap();
    change_backing_file(&device).unwrap();
    let expected = Change::Identity(IdentityChange::DiskSequence);
    for medium in [medium, open(&device.device)] {
        let refused = check(&medium).unwrap_err();
        let same = matches!(&refused, Refusal::Changed { change, .. } if *change == expected);
        assert!(same, "{refused}");
    }
    // Nor does the descriptor that was opened before lead anywhere else, not even to read.
    let medium = consent.medium().unwrap();
    let opened = medium.open(target::Access::default());
    assert!(matches!(opened, Err(DriveError::Changed { .. })));
}

#[test]
fn loop_device_detached_after_the_question_leads_to_no_other_file() {
    let Some(mut device) = Loop::new(&[]) else {
        return;
    };
    let (medium, consent) = shown(&device.device);
    run("losetup", &["--detach", &device.device]).unwrap();
    let other = device.path("other");
    fs::write(&other, vec![b'o'; 1 << 20]).unwrap();
    // The open descriptor keeps the number; should a kernel give it away all the same, the consent
    // does not hold for what comes.
    if run("losetup", &[&device.device, &other]).is_some() {
        let refused = attempt(&medium, &consent).unwrap_err();
        assert!(matches!(refused, Refusal::Changed { .. }), "{refused}");
        return;
    }
    drop((medium, consent));
    // It is detached with the last descriptor; whoever has the number now keeps it.
    device.device.clear();
}

#[test]
fn device_resized_since_it_was_shown_is_refused() {
    let Some(device) = Loop::new(&[]) else { return };
    let (medium, consent) = shown(&device.device);
    let file = fs::File::options().write(true).open(&device.file).unwrap();
    file.set_len(80 << 20).unwrap();
    run("losetup", &["--set-capacity", &device.device]).unwrap();
    let refused = attempt(&medium, &consent).unwrap_err();
    assert!(matches!(refused, Refusal::Changed { .. }), "{refused}");
}

#[test]
fn file_system_made_since_it_was_shown_is_refused() {
    let Some(device) = Loop::new(&[]) else { return };
    let (medium, consent) = shown(&device.device);
    assert!(attempt(&medium, &consent).is_ok());
    if run("mkfs.ext4", &["-q", &device.device]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let refused = attempt(&medium, &consent).unwrap_err();
    let expected = Change::Contents;
    assert!(matches!(&refused, Refusal::Changed { change, .. } if *change == expected));
    // Asked anew, what is there is included; made once more, it is another file system.
    let (medium, consent) = shown(&device.device);
    assert!(attempt(&medium, &consent).is_ok());
    run("mkfs.ext4", &["-q", "-F", &device.device]).unwrap();
    assert!(attempt(&medium, &consent).is_err());
}

#[test]
fn signatures_need_consent_that_includes_them_by_every_name() {
    let Some(device) = Loop::new(&[]) else { return };
    if run("mkfs.ext4", &["-q", &device.device]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let link = device.path("link");
    symlink(&device.device, &link).unwrap();
    for name in [&device.device, &link] {
        let medium = open(name);
        let refused = attempt(&medium, &Consent::to_path(name)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        assert_eq!(refused.to_string(), format!("{name} holds ext4"));
        assert!(refused.advice().contains("--overwrite-signatures"));
        assert!(attempt(&medium, &Consent::to_path(name).with_signatures()).is_ok());
    }
    // Its image as a file, once it is no loop device's any more.
    let copy = device.path("copy");
    fs::copy(&device.file, &copy).unwrap();
    let medium = open(&copy);
    assert!(matches!(
        attempt(&medium, &Consent::to_path(&copy)),
        Err(Refusal::Signatures { .. })
    ));
    assert!(attempt(&medium, &Consent::to_path(&copy).with_signatures()).is_ok());
}

#[test]
fn signature_on_a_partition_that_the_kernel_does_not_show_counts() {
    let Some(device) = Loop::new(&[]) else { return };
    // A loop device without --partscan has no partitions in /sys.
    let file = fs::File::options()
        .write(true)
        .open(&device.device)
        .unwrap();
    let mut sector = [0; 512];
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector[450] = 0x8e;
    sector[454..458].copy_from_slice(&2048_u32.to_le_bytes());
    sector[458..462].copy_from_slice(&4096_u32.to_le_bytes());
    file.write_all_at(&sector, 0).unwrap();
    file.write_all_at(b"LABELONE", (1 << 20) + 512).unwrap();
    file.sync_all().unwrap();
    let medium = open(&device.device);
    let refused = attempt(&medium, &Consent::to_path(&device.device)).unwrap_err();
    let expected = "holds dos; LVM2_member (partition 1)";
    assert!(refused.to_string().ends_with(expected), "{refused}");
}

#[test]
fn description_tells_what_a_link_leads_to() {
    let Some(device) = Loop::new(&[]) else { return };
    let link = device.path("link");
    symlink(&device.device, &link).unwrap();
    let facts = inspect(&Roots::default(), &open(&link)).unwrap();
    assert_eq!(facts.resolved.as_deref(), Some(device.device.as_str()));
    let first = &facts.about()[0];
    let expected = format!("{link} -> {}, {} (", device.device, short(&device.device));
    assert!(first.starts_with(&expected), "{first}");
    let facts = inspect(&Roots::default(), &open(&device.device)).unwrap();
    assert_eq!(facts.resolved, None);
}
