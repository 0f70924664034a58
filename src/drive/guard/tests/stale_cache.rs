//! Two block devices with the same bytes, each with a page cache of its own.

use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::*;

/// Reads all of a device through its page cache, and keeps it open: the cache stays.
fn monitor(device: &str) -> fs::File {
    let mut file = fs::File::open(device).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    file
}

fn shown(name: &str) -> Consent {
    let medium = Arc::new(target::open(&Roots::default(), name, None).unwrap());
    Consent::to_inspected(InspectedMedium::read(&Roots::default(), medium))
}

/// Both kinds of consent, given before something else changed what is on the device, are refused.
fn assert_noticed(device: &str, before: &Consent, expected: &str) {
    let roots = Roots::default();
    let medium = before.medium().unwrap();
    let refused = permit(&roots, medium, Some(before)).unwrap_err();
    let change = Change::Contents;
    let same = matches!(&refused, Refusal::Changed { change: found, .. } if *found == change);
    assert!(same, "{refused}");
    let medium = target::open(&roots, device, None).unwrap();
    let refused = permit(&roots, &medium, Some(&Consent::to_path(device))).unwrap_err();
    assert_eq!(refused.to_string(), format!("{device} holds {expected}"));
    assert_eq!(
        inspect(&roots, &medium).unwrap().contents.summary(),
        [expected]
    );
}

/// A second loop device on the image of another.
fn second_on(device: &Loop, options: &[&str]) -> Option<(String, Undo)> {
    let image = device.file.to_str().unwrap();
    let arguments = [&["--find", "--show"], options, &[image]].concat();
    let Some(second) = run("losetup", &arguments) else {
        skip(Requirement::Loop, "no second loop device on the image");
        return None;
    };
    let undo = Undo("losetup", vec!["--detach".to_owned(), second.clone()]);
    Some((second, undo))
}

#[test]
fn file_system_made_through_another_loop_device_is_seen_despite_the_cache() {
    let direct: &[&str] = &["--direct-io=on"];
    for (own, other) in [(&[] as &[&str], direct), (direct, &[]), (&[], &[])] {
        let Some(device) = Loop::new(own) else { return };
        let Some((second, _undo)) = second_on(&device, other) else {
            return;
        };
        let _open = monitor(&device.device);
        let before = shown(&device.device);
        assert!(!before.includes_signatures());
        if run("mkfs.ext4", &["-q", &second]).is_none() {
            return skip(Requirement::Ext4, "no mkfs.ext4");
        }
        assert_noticed(&device.device, &before, "ext4");
    }
}

#[test]
fn signature_that_another_device_has_only_in_its_cache_is_seen() {
    let Some(device) = Loop::new(&[]) else { return };
    let Some((second, _undo)) = second_on(&device, &[]) else {
        return;
    };
    let _open = monitor(&device.device);
    // As long as somebody has it open, closing it after writing does not write it back.
    let _kept = [
        fs::File::open(&second).unwrap(),
        fs::File::open(&second).unwrap(),
    ];
    let before = shown(&device.device);
    let writer = fs::File::options().write(true).open(&second).unwrap();
    writer.write_all_at(b"XFSB", 0).unwrap();
    drop(writer);
    assert_noticed(&device.device, &before, "xfs");
}

#[test]
fn file_system_made_on_a_partition_is_seen_on_the_disk_despite_the_cache() {
    let Some(device) = Loop::new(&["--partscan"]) else {
        return;
    };
    let partition = format!("{}p1", device.device);
    // By BLKPG, which a kernel that reads no partition tables has too.
    let added = run("addpart", &[&device.device, "1", "2048", "100000"]);
    if added.is_none() || !fs::exists(&partition).unwrap() {
        return skip(
            Requirement::Partitions,
            "no partitions on loop devices here",
        );
    }
    let _open = monitor(&device.device);
    let before = shown(&device.device);
    assert_eq!(before.medium().unwrap().target.name, device.device);
    if run("mkfs.ext4", &["-q", &partition]).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let roots = Roots::default();
    let refused = permit(&roots, before.medium().unwrap(), Some(&before)).unwrap_err();
    assert!(
        refused.to_string().contains("what is on it has changed"),
        "{refused}"
    );
    let medium = target::open(&roots, &device.device, None).unwrap();
    let facts = inspect(&roots, &medium).unwrap();
    assert_eq!(facts.contents.summary(), ["ext4 (partition 1)"]);
    let never = Some("never mounted".to_owned());
    assert_eq!(
        facts.partitions[0].last_mount, never,
        "read past the cache too"
    );
}
