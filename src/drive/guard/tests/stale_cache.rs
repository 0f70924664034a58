//! Two block devices with the same bytes, each with its own page cache.

use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::*;

/// Reads all of a device through its page cache, and keeps it open so that the cache remains.
fn fill_page_cache(device: &str) -> fs::File {
    let mut file = fs::File::open(device).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    file
}

fn inspected_consent(name: &str) -> Consent {
    let medium = Arc::new(medium::open_target(&SysPaths::default(), name, None).unwrap());
    Consent::for_inspected(InspectedMedium::read(&SysPaths::default(), medium))
}

/// Both kinds of consent are refused if the contents of the device have changed since.
fn assert_change_refused(device: &str, before: &Consent, expected: &str) {
    let roots = SysPaths::default();
    let medium = before.medium().unwrap();
    let refused = permit_writing(&roots, medium, Some(before)).unwrap_err();
    let change = MediumChange::Contents;
    let same = matches!(&refused, Refusal::MediumChanged { change: found, .. } if *found == change);
    assert!(same, "{refused}");
    let medium = medium::open_target(&roots, device, None).unwrap();
    let refused = permit_writing(&roots, &medium, Some(&Consent::for_path(device))).unwrap_err();
    assert_eq!(refused.to_string(), format!("{device} holds {expected}"));
    assert_eq!(
        inspect_target(&roots, &medium).unwrap().contents.summary(),
        [expected]
    );
}

/// Attaches a second loop device to the image of another one.
fn second_loop_device(device: &LoopFixture, options: &[&str]) -> Option<(String, CleanupCommand)> {
    let image = device.file.to_str().unwrap();
    let arguments = [&["--find", "--show"], options, &[image]].concat();
    let Some(second) = run_program("losetup", &arguments) else {
        skip(Requirement::Loop, "no second loop device on the image");
        return None;
    };
    let undo = CleanupCommand("losetup", vec!["--detach".to_owned(), second.clone()]);
    Some((second, undo))
}

#[test]
fn file_system_made_through_other_loop_device_is_detected() {
    let direct: &[&str] = &["--direct-io=on"];
    for (own, other) in [(&[] as &[&str], direct), (direct, &[]), (&[], &[])] {
        let Some(device) = LoopFixture::new(own) else {
            return;
        };
        let Some((second, _undo)) = second_loop_device(&device, other) else {
            return;
        };
        let _open = fill_page_cache(&device.device);
        let before = inspected_consent(&device.device);
        assert!(!before.includes_signatures());
        if run_program("mkfs.ext4", &["-q", &second]).is_none() {
            return skip(Requirement::Ext4, "no mkfs.ext4");
        }
        assert_change_refused(&device.device, &before, "ext4");
    }
}

#[test]
fn signature_only_in_alias_page_cache_is_detected() {
    let Some(device) = LoopFixture::new(&[]) else {
        return;
    };
    let Some((second, _undo)) = second_loop_device(&device, &[]) else {
        return;
    };
    let _open = fill_page_cache(&device.device);
    // While another descriptor is open, closing one after writing does not write back.
    let _kept = [
        fs::File::open(&second).unwrap(),
        fs::File::open(&second).unwrap(),
    ];
    let before = inspected_consent(&device.device);
    let writer = fs::File::options().write(true).open(&second).unwrap();
    writer.write_all_at(b"XFSB", 0).unwrap();
    drop(writer);
    assert_change_refused(&device.device, &before, "xfs");
}

#[test]
fn file_system_made_on_partition_is_detected_on_disk() {
    let Some(device) = LoopFixture::new(&["--partscan"]) else {
        return;
    };
    let partition = format!("{}p1", device.device);
    // By BLKPG, which is available even if the kernel does not read partition tables.
    let added = run_program("addpart", &[&device.device, "1", "2048", "100000"]);
    if added.is_none() || !fs::exists(&partition).unwrap() {
        return skip(
            Requirement::Partitions,
            "no partitions on loop devices here",
        );
    }
    let _open = fill_page_cache(&device.device);
    let before = inspected_consent(&device.device);
    assert_eq!(before.medium().unwrap().target.name, device.device);
    if run_program("mkfs.ext4", &["-q", &partition]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let roots = SysPaths::default();
    let refused = permit_writing(&roots, before.medium().unwrap(), Some(&before)).unwrap_err();
    assert!(
        refused.to_string().contains("what is on it has changed"),
        "{refused}"
    );
    let medium = medium::open_target(&roots, &device.device, None).unwrap();
    let facts = inspect_target(&roots, &medium).unwrap();
    assert_eq!(facts.contents.summary(), ["ext4 (partition 1)"]);
    let never = Some("never mounted".to_owned());
    assert_eq!(
        facts.partitions[0].last_mount, never,
        "read past the cache too"
    );
}
