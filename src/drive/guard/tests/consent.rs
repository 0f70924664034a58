//! Consent on real loop devices: what it names, what it includes, and what has changed since.

use crate::drive::ioctl;
use std::os::unix::fs::{FileExt, symlink};
use std::sync::Arc;

use super::*;
use crate::drive::medium::IdentityChange;

fn open(name: &str) -> Arc<OpenMedium> {
    Arc::new(medium::open_target(&SysPaths::default(), name, None).unwrap())
}

/// What somebody who is asked about that path consents to.
fn inspected_consent(name: &str) -> (Arc<OpenMedium>, Consent) {
    let medium = open(name);
    let inspected = InspectedMedium::read(&SysPaths::default(), Arc::clone(&medium));
    (medium, Consent::for_inspected(inspected))
}

fn permit_with_consent(medium: &OpenMedium, consent: &Consent) -> Result<WritePermit, Refusal> {
    permit_writing(&SysPaths::default(), medium, Some(consent))
}

#[test]
fn consent_with_different_path_text_is_refused() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    let roots = SysPaths::default();
    let medium = open(&device.device);
    assert!(matches!(
        permit_writing(&roots, &medium, None),
        Err(Refusal::NoConsent { .. })
    ));
    let link = device.path("link");
    symlink(&device.device, &link).unwrap();
    let file = device.file.to_str().unwrap();
    let dotted = device.device.replace("/dev/", "/dev/./");
    for other in [file, "/nonexistent", &link, &dotted] {
        let refused = permit_with_consent(&medium, &Consent::for_path(other));
        assert!(
            matches!(refused, Err(Refusal::ConsentPathMismatch { .. })),
            "{other}: {refused:?}"
        );
    }
    assert!(permit_with_consent(&medium, &Consent::for_path(&device.device)).is_ok());
    assert!(permit_with_consent(&open(&link), &Consent::for_path(&link)).is_ok());
}

#[test]
fn retargeted_symlink_after_open_is_refused() {
    let (Some(one), Some(other)) = (LoopFixture::new(&[]), LoopFixture::new(&[])) else {
        return;
    };
    let link = one.path("link");
    symlink(&one.device, &link).unwrap();
    for (medium, consent) in [
        inspected_consent(&link),
        (open(&link), Consent::for_path(&link)),
    ] {
        fs::remove_file(&link).unwrap();
        symlink(&other.device, &link).unwrap();
        let refused = permit_with_consent(&medium, &consent).unwrap_err();
        assert!(
            matches!(refused, Refusal::MediumChanged { .. }),
            "{refused}"
        );
        assert_eq!(refused.kind(), ErrorKind::Refused);
        fs::remove_file(&link).unwrap();
        symlink(&one.device, &link).unwrap();
        assert!(permit_with_consent(&medium, &consent).is_ok());
    }
}

#[test]
fn replaced_device_node_after_open_is_refused() {
    let (Some(one), Some(other)) = (LoopFixture::new(&[]), LoopFixture::new(&[])) else {
        return;
    };
    let node = one.path("node");
    let make = |device: &str| {
        let number = fs::metadata(device).unwrap().rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let numbers = [major.to_string(), minor.to_string()];
        run_program("mknod", &[&node, "b", &numbers[0], &numbers[1]])
    };
    if make(&one.device).is_none()
        || medium::open_target(&SysPaths::default(), &node, None).is_err()
    {
        return skip(
            Requirement::Root,
            "no device nodes in the temporary directory",
        );
    }
    let (medium, consent) = inspected_consent(&node);
    fs::remove_file(&node).unwrap();
    make(&other.device).unwrap();
    let refused = permit_with_consent(&medium, &consent).unwrap_err();
    assert!(
        matches!(refused, Refusal::MediumChanged { .. }),
        "{refused}"
    );
    fs::remove_file(&node).unwrap();
    make(&one.device).unwrap();
    assert!(
        permit_with_consent(&medium, &consent).is_ok(),
        "the same device again"
    );
}

/// Another user exchanges a link to a file of root and an own file all the time: what is written is
/// what the path was judged for.
#[test]
fn link_exchanged_with_a_file_during_the_check_never_permits_its_target() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};
    const USER: u32 = 1000;
    if !rustix::process::geteuid().is_root() {
        return skip(Requirement::Root, "files of two users");
    }
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("theirs");
    fs::create_dir(&directory).unwrap();
    let (name, other) = (directory.join("x"), directory.join("y"));
    let victim = base.path().join("victim");
    for file in [&victim, &other] {
        fs::write(file, [0; 4096]).unwrap();
    }
    symlink(&victim, &name).unwrap();
    for path in [&directory, &name, &other] {
        std::os::unix::fs::lchown(path, Some(USER), None).unwrap();
    }
    let victim = FileId::of_metadata(&fs::metadata(&victim).unwrap());
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                renameat_with(CWD, &name, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let consent = Consent::for_path(&name);
        let (mut opened, mut permitted, mut harmless) = (0, 0, 0);
        while (opened < 1000 || harmless == 0) && permitted == 0 {
            let Ok(medium) = medium::open_target(&SysPaths::default(), &name, None) else {
                continue;
            };
            let is_permitted =
                crate::drive::guard::consent::check_path(&medium, Some(&consent)).is_ok();
            let is_victim = medium.file_id() == victim;
            opened += u32::from(is_victim);
            permitted += u32::from(is_victim && is_permitted);
            harmless += u32::from(!is_victim && is_permitted);
        }
        ended.store(true, Ordering::Relaxed);
        assert_eq!(permitted, 0, "after {opened}");
    });
}

/// Another medium under the same device number.
fn change_backing_file(device: &LoopFixture) -> std::io::Result<()> {
    let other = device.path("other");
    fs::write(&other, vec![b'o'; 64 << 20])?;
    let (node, other) = (fs::File::open(&device.device)?, fs::File::open(other)?);
    ioctl::change_loop_file(&node, &other)
}

#[test]
fn changed_medium_under_same_device_number_is_refused() {
    let Some(device) = LoopFixture::new(&["--read-only"]) else {
        return;
    };
    let (medium, consent) = inspected_consent(&device.device);
    if medium.identity().disk_sequence.is_none() {
        return skip(Requirement::Kernel, "no BLKGETDISKSEQ before kernel 5.15");
    }
    let roots = SysPaths::default();
    let check = |medium: &OpenMedium| {
        crate::drive::guard::consent::check_medium(&roots, medium, &consent, None)
    };
    check(&medium).unwrap();
    change_backing_file(&device).unwrap();
    let expected = MediumChange::Identity(IdentityChange::DiskSequence);
    for medium in [medium, open(&device.device)] {
        let refused = check(&medium).unwrap_err();
        let same = matches!(&refused, Refusal::MediumChanged { change, .. } if *change == expected);
        assert!(same, "{refused}");
    }
    // Nor does the descriptor that was opened before lead anywhere else, not even to read.
    let medium = consent.medium().unwrap();
    let opened = medium.open(MediumAccess::default());
    assert!(matches!(opened, Err(DriveError::TargetChanged { .. })));
}

#[test]
fn loop_device_detached_after_inspection_writes_no_other_file() {
    let Some(mut device) = LoopFixture::new(&[]) else {
        return;
    };
    let (medium, consent) = inspected_consent(&device.device);
    run_program("losetup", &["--detach", &device.device]).unwrap();
    let other = device.path("other");
    fs::write(&other, vec![b'o'; 1 << 20]).unwrap();
    // The open descriptor keeps the number; should a kernel give it away all the same, the consent
    // does not hold for what comes.
    if run_program("losetup", &[&device.device, &other]).is_some() {
        let refused = permit_with_consent(&medium, &consent).unwrap_err();
        assert!(
            matches!(refused, Refusal::MediumChanged { .. }),
            "{refused}"
        );
        return;
    }
    drop((medium, consent));
    // It is detached with the last descriptor; whoever has the number now keeps it.
    device.device.clear();
}

#[test]
fn device_resized_after_inspection_is_refused() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    let (medium, consent) = inspected_consent(&device.device);
    let file = fs::File::options().write(true).open(&device.file).unwrap();
    file.set_len(80 << 20).unwrap();
    run_program("losetup", &["--set-capacity", &device.device]).unwrap();
    let refused = permit_with_consent(&medium, &consent).unwrap_err();
    assert!(
        matches!(refused, Refusal::MediumChanged { .. }),
        "{refused}"
    );
}

#[test]
fn file_system_created_after_inspection_is_refused() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    let (medium, consent) = inspected_consent(&device.device);
    assert!(permit_with_consent(&medium, &consent).is_ok());
    if run_program("mkfs.ext4", &["-q", &device.device]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let refused = permit_with_consent(&medium, &consent).unwrap_err();
    let expected = MediumChange::Contents;
    assert!(matches!(&refused, Refusal::MediumChanged { change, .. } if *change == expected));
    // Asked anew, what is there is included; made once more, it is another file system.
    let (medium, consent) = inspected_consent(&device.device);
    assert!(permit_with_consent(&medium, &consent).is_ok());
    run_program("mkfs.ext4", &["-q", "-F", &device.device]).unwrap();
    assert!(permit_with_consent(&medium, &consent).is_err());
}

#[test]
fn signatures_need_explicit_consent_for_every_device_name() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    if run_program("mkfs.ext4", &["-q", &device.device]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let link = device.path("link");
    symlink(&device.device, &link).unwrap();
    for name in [&device.device, &link] {
        let medium = open(name);
        let refused = permit_with_consent(&medium, &Consent::for_path(name)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        assert_eq!(refused.to_string(), format!("{name} holds ext4"));
        assert!(refused.advice().contains("--overwrite-signatures"));
        assert!(
            permit_with_consent(&medium, &Consent::for_path(name).including_signatures()).is_ok()
        );
    }
    // Its image as a file, once it is no loop device's any more.
    let copy = device.path("copy");
    fs::copy(&device.file, &copy).unwrap();
    let medium = open(&copy);
    assert!(matches!(
        permit_with_consent(&medium, &Consent::for_path(&copy)),
        Err(Refusal::SignaturesNotIncluded { .. })
    ));
    assert!(permit_with_consent(&medium, &Consent::for_path(&copy).including_signatures()).is_ok());
}

#[test]
fn signature_on_partition_unknown_to_kernel_needs_consent() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
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
    let refused = permit_with_consent(&medium, &Consent::for_path(&device.device)).unwrap_err();
    let expected = "holds dos; LVM2_member (partition 1)";
    assert!(refused.to_string().ends_with(expected), "{refused}");
}

#[test]
fn inspection_shows_resolved_symlink_target() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    let link = device.path("link");
    symlink(&device.device, &link).unwrap();
    let facts = inspect_target(&SysPaths::default(), &open(&link)).unwrap();
    assert_eq!(facts.resolved.as_deref(), Some(device.device.as_str()));
    let first = &facts.summary_lines()[0];
    let expected = format!(
        "{link} -> {}, {} (",
        device.device,
        kernel_name(&device.device)
    );
    assert!(first.starts_with(&expected), "{first}");
    let facts = inspect_target(&SysPaths::default(), &open(&device.device)).unwrap();
    assert_eq!(facts.resolved, None);
}
