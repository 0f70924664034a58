//! What the guard reads, on literal trees and bytes. What it refuses is tested with the program (tests/safety/guard).

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::{FileExt, symlink};

use super::contents::{MediumContents, PartitionRange};
use super::exports::list_exports;
use super::refusal::{Reason, Refusal};
use super::stack::Stack;
use super::uses::UnknownUse;
use crate::drive::medium::FileId;
use crate::roots::SysPaths;

/// A disk with two partitions, LVM on the first, another path to the disk, and a larger disk.
fn tree() -> (tempfile::TempDir, SysPaths) {
    #[rustfmt::skip]
    let (root, roots) = SysPaths::with_files(&[
        ("sys/devices/sda/dev", "8:0"), ("sys/devices/sda/size", "1000"), ("sys/devices/sda/wwid", "naa.5000"),
        ("sys/devices/sda/sda1/dev", "8:1"), ("sys/devices/sda/sda1/partition", "1"),
        ("sys/devices/sda/sda1/holders/dm-0/x", ""),
        ("sys/devices/sda/sda2/dev", "8:2"), ("sys/devices/sda/sda2/partition", "2"),
        ("sys/devices/dm-0/dev", "253:0"), ("sys/devices/dm-0/slaves/sda1/x", ""),
        ("sys/devices/sdb/dev", "8:16"), ("sys/devices/sdb/size", "1000"), ("sys/devices/sdb/wwid", "naa.5000"),
        ("sys/devices/sdc/dev", "8:32"), ("sys/devices/sdc/size", "2000"), ("sys/devices/sdc/wwid", "naa.5000"),
    ]);
    for directory in ["class/block", "block"] {
        let directory = roots.sys.join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        for path in ["sda", "sda/sda1", "sda/sda2", "dm-0", "sdb", "sdc"] {
            let (place, name) = path.rsplit_once('/').unwrap_or(("", path));
            if place.is_empty() || directory.ends_with("class/block") {
                let device = roots.sys.join("devices").join(path);
                symlink(device, directory.join(name)).unwrap();
            }
        }
    }
    (root, roots)
}

#[test]
fn stack_has_partitions_holders_and_whole_disks() {
    let (_root, roots) = tree();
    let names = |device: &str| {
        let stack = Stack::of_devices(&roots, &[device]);
        let mut names: Vec<String> = stack.claimable().map(|it| it.0.to_owned()).collect();
        names.sort();
        (names.join(" "), stack)
    };
    let (disk, stack) = names("sda");
    assert_eq!(disk, "dm-0 sda sda1 sda2");
    assert_eq!(stack.holders, [("sda1".to_owned(), "dm-0".to_owned())]);
    // The other partition is no user of the first one.
    assert_eq!(names("sda2").0, "sda sda2");
    let (volume, stack) = names("dm-0");
    assert_eq!(volume, "dm-0");
    assert_eq!(stack.holders, []);
    // What it is on is watched for processes that write it, also the whole disk.
    for number in [(8, 1), (8, 0)] {
        let id = FileId::Device(number.0, number.1);
        assert!(stack.watched(id).is_some(), "{number:?}");
    }
    assert!(stack.watched(FileId::Device(8, 2)).is_none());
}

#[test]
fn disk_of_equal_size_and_wwid_is_another_path() {
    let (_root, roots) = tree();
    let none: &[&str] = &[];
    for (device, expected) in [
        ("sda", &["sdb"][..]),
        ("sda2", &["sdb"]),
        ("dm-0", &["sdb"]),
        ("sdc", none),
    ] {
        let stack = Stack::of_devices(&roots, &[device]);
        assert_eq!(stack.other_paths(&roots), expected, "{device}");
    }
}

#[test]
fn loop_device_that_cannot_be_opened_is_unknown() {
    let (_root, roots) = SysPaths::with_files(&[
        ("sys/class/block/loop0/loop/backing_file", "/srv/image\n"),
        ("sys/class/block/loop1/dev", "7:1\n"),
        ("sys/class/block/sda/dev", "8:0\n"),
    ]);
    let device = "loop0".to_owned();
    let stack = Stack::of_devices(&roots, &["sda"]);
    assert_eq!(stack.unknown, [UnknownUse::Loop { device }]);
}

#[test]
fn exports_are_found_or_unknown() {
    let image = tempfile::NamedTempFile::new().unwrap();
    let path = image.path().display().to_string();
    let id = FileId::of_metadata(&image.as_file().metadata().unwrap());
    let nvmet = "sys/kernel/config/nvmet/subsystems/one/namespaces/1";
    let lio = "sys/kernel/config/target/core/fileio_0/disk";
    let scst = "sys/kernel/scst_tgt/devices/disk";
    let xen = "sys/bus/xen-backend/devices/vbd-1-768";
    let line = format!("{path}\n");
    let info = format!("Status: ACTIVATED\n  TCM FILEIO ID: 0  File: {path}  Size: 4096\n");
    let with_key = format!("{path}\n[key]\n");
    let nvmet_path = format!("{nvmet}/device_path");
    #[rustfmt::skip]
    let cases = [
        (vec![(nvmet_path.clone(), &*line), (format!("{nvmet}/enable"), "1\n")], Some(id)),
        (vec![(format!("{lio}/info"), &*info), (format!("{lio}/enable"), "1\n")], Some(id)),
        (vec![(format!("{scst}/filename"), &*with_key)], Some(id)),
        (vec![(format!("{xen}/physical_device"), "8:10\n")], Some(FileId::Device(8, 16))),
        // Switched off.
        (vec![(nvmet_path.clone(), &*line), (format!("{nvmet}/enable"), "0\n")], None),
        (vec![(format!("{lio}/info"), &*info), (format!("{lio}/enable"), "0\n")], None),
    ];
    for (files, expected) in cases {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
        let (_root, roots) = SysPaths::with_files(&files);
        let found = list_exports(&roots);
        let ids: Vec<FileId> = found.exports.iter().map(|export| export.target).collect();
        assert_eq!(ids, Vec::from_iter(expected), "{files:?}");
        assert_eq!(found.unknown, [""; 0], "{files:?}");
    }
    let unknown = |files: &[(&str, &str)]| {
        let (_root, roots) = SysPaths::with_files(files);
        list_exports(&roots).unknown.len()
    };
    // configfs is not mounted; what is exported cannot be found.
    for (file, text) in [
        ("sys/module/nvmet/version", ""),
        (&*nvmet_path, "/no/such/file\n"),
        (&*nvmet_path, "relative\n"),
    ] {
        assert_eq!(unknown(&[(file, text)]), 1, "{file} {text}");
    }
}

#[test]
fn formats_are_recognised_on_the_medium_and_on_partitions() {
    const SIZE: u64 = 8 << 20;
    type Bytes = &'static [(u64, &'static [u8])];
    #[rustfmt::skip]
    let cases: [(Bytes, &[&str]); 8] = [
        (&[], &[]),
        (&[(0, b"XFSB")], &["xfs"]),
        (&[(0x438, &[0x53, 0xef]), (0x460, &[0x40, 0, 0, 0])], &["ext4"]),
        (&[(512, b"EFI PART"), (510, &[0x55, 0xaa]), (450, &[0xee])], &["gpt", "dos"]),
        (&[(SIZE - 8192, &[0xfc, 0x4e, 0x2b, 0xa9])], &["linux_raid_member"]),
        (&[(SIZE - (128 << 10), &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0])], &["zfs_member"]),
        (&[(3, b"NTFS    "), (510, &[0x55, 0xaa]), (450, &[7])], &["ntfs"]),
        (&[(4086, b"SWAPSPACE2")], &["swap"]),
    ];
    let part = PartitionRange {
        name: "sda1".to_owned(),
        start: 1 << 20,
        length: SIZE,
    };
    for (bytes, expected) in cases {
        for partition in [None, Some(part.clone())] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(SIZE + (1 << 20)).unwrap();
            let start = partition.as_ref().map_or(0, |part| part.start);
            for (offset, magic) in bytes {
                file.write_all_at(magic, start + offset).unwrap();
            }
            let size = partition.as_ref().map_or(SIZE, |part| part.start + SIZE);
            let contents =
                MediumContents::of_file(&file, size, partition.clone().into_iter().collect());
            let place = partition.map_or("", |_| " (sda1)");
            let names: Vec<String> = expected
                .iter()
                .map(|name| format!("{name}{place}"))
                .collect();
            assert_eq!(contents.summary(), names);
            assert_eq!(contents.needs_acknowledgement(), !expected.is_empty());
            assert!(!contents.is_unrecognised);
        }
    }
}

#[test]
fn other_bytes_are_unrecognised_and_change_the_contents() {
    let mut file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    let read = |file: &File| MediumContents::of_file(file, 1 << 20, Vec::new());
    let empty = read(&file);
    file.write_all(b"somebody's bytes").unwrap();
    let written = read(&file);
    assert!(!empty.is_unrecognised && written.is_unrecognised);
    assert!(!written.needs_acknowledgement());
    assert_ne!(empty, written);
}

#[test]
fn advice_quotes_the_name_of_the_target() {
    #[rustfmt::skip]
    let cases = [
        ("/dev/sdb", "--overwrite /dev/sdb"),
        ("/srv/q;touch pwned;#", "--overwrite '/srv/q;touch pwned;#'"),
        ("v --overwrite-signatures", "--overwrite 'v --overwrite-signatures'"),
        ("-v", "--overwrite=-v"),
        ("a\\nb", "--overwrite with the name of the target"),
    ];
    for (name, option) in cases {
        for reason in [
            Reason::NoConsent,
            Reason::OtherPathNamed(String::new()),
            Reason::SignaturesNotIncluded(Vec::new()),
        ] {
            let advice = Refusal::new(name, reason).advice();
            assert!(advice.contains(option), "{advice}");
        }
    }
}
