//! Marks made by hand, and by the programs that make file systems.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::drive::guard::bytes::Reader;
use crate::requirement::{Requirement, skip};

/// Length of the region in which marks are tried: the last place that any has.
const LENGTH: u64 = 8 << 20;

fn names(file: &File, length: u64) -> Vec<&'static str> {
    let reader = Reader::new(file, length);
    let found = find(reader.whole());
    assert_eq!(reader.failure(), None);
    found.iter().map(|(name, _)| *name).collect()
}

fn with(marks: &[(u64, &[u8])]) -> Vec<&'static str> {
    let file = tempfile::tempfile().unwrap();
    file.set_len(LENGTH).unwrap();
    for (offset, bytes) in marks {
        file.write_all_at(bytes, *offset).unwrap();
    }
    names(&file, LENGTH)
}

#[test]
fn every_mark_is_found_by_its_name_and_no_other() {
    for magic in [CONTAINERS, FILE_SYSTEMS, IMAGES].concat() {
        let offset = match magic.at {
            At::Start(offset) => offset,
            At::End { before, align } => LENGTH / align * align - before,
        };
        if offset > LENGTH {
            continue;
        }
        let found = with(&[(offset, magic.bytes)]);
        let name = if magic.name == "ext" {
            "ext2"
        } else {
            magic.name
        };
        assert!(found.contains(&name), "{magic:?}: {found:?}");
        assert!(
            found.len() <= 1 + usize::from(found.contains(&"dos")),
            "{magic:?}: {found:?}"
        );
    }
}

#[test]
fn swap_and_a_suspended_system_are_found_on_every_page_size() {
    for page in SWAP_PAGES {
        for (name, bytes) in SWAP {
            assert_eq!(with(&[(page - 10, bytes)]), [*name], "{page}");
        }
    }
}

#[test]
fn each_of_the_four_zfs_labels_is_found() {
    for label in [0, ZFS_LABEL, LENGTH - 2 * ZFS_LABEL, LENGTH - ZFS_LABEL] {
        for mark in &ZFS_MARKS {
            let found = with(&[(label + ZFS_UBERBLOCKS + 5 * 1024, mark)]);
            assert_eq!(found, ["zfs_member"], "{label}");
        }
    }
}

#[test]
fn boot_sector_of_a_file_system_is_no_partition_table() {
    let boot: (u64, &[u8]) = (510, &[0x55, 0xaa]);
    assert_eq!(with(&[boot]), ["dos"]);
    assert_eq!(with(&[boot, (512, b"EFI PART")]), ["gpt"]);
    assert_eq!(with(&[boot, (82, b"FAT32   ")]), ["vfat"]);
    assert_eq!(with(&[boot, (3, b"NTFS    ")]), ["ntfs"]);
    // A boot loader's sector beside an ext file system without partitions.
    assert_eq!(with(&[boot, (0x438, &[0x53, 0xef])]), ["ext2"]);
}

#[test]
fn ext_family_is_told_by_its_features() {
    let mark: (u64, &[u8]) = (0x438, &[0x53, 0xef]);
    assert_eq!(with(&[mark]), ["ext2"]);
    assert_eq!(with(&[mark, (0x45c, &[4])]), ["ext3"]);
    assert_eq!(with(&[mark, (0x45c, &[4]), (0x460, &[0x42, 2])]), ["ext4"]);
    assert_eq!(with(&[mark, (0x460, &[8])]), ["jbd"]);
    assert!(
        with(&[mark, (0x44c, &[9])]).is_empty(),
        "an impossible revision"
    );
}

#[test]
fn short_and_empty_media_hold_nothing() {
    for length in [0_usize, 1, 4, 511, 512, 4095, 70_000, 262_145] {
        let bytes = vec![0; length];
        let source = bytes.as_slice();
        let reader = Reader::new(&source, length as u64);
        assert!(find(reader.whole()).is_empty(), "{length}");
    }
}

/// What blkid(8) says of a file; `None` where it is missing.
fn blkid(path: &Path) -> Option<Vec<String>> {
    let output = Command::new("blkid")
        .args(["-p", "-o", "export"])
        .arg(path)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        matches!(key, "TYPE" | "PTTYPE").then(|| value.to_owned())
    };
    Some(text.lines().filter_map(value).collect())
}

/// Makes a format in a file of 128 MiB by a command in which `$f` is the file, and compares.
fn agrees_with_blkid(command: &str, expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let file = File::create(&path).unwrap();
    file.set_len(128 << 20).unwrap();
    let made = Command::new("sh")
        .args(["-c", command])
        .env("f", &path)
        .output()
        .unwrap();
    if !made.status.success() {
        let why = String::from_utf8_lossy(&made.stderr).into_owned();
        return skip(Requirement::Program, format!("{command}: {why}"));
    }
    let file = File::open(&path).unwrap();
    let length = file.metadata().unwrap().len();
    let found = names(&file, length);
    assert_eq!(found, [expected], "{command}");
    match blkid(&path) {
        Some(theirs) => assert_eq!(theirs, [expected], "{command}"),
        None => skip(Requirement::Program, "no blkid"),
    }
}

macro_rules! made_by_its_program {
    ($($test:ident: $command:literal, $expected:literal;)*) => {$(
        #[test]
        fn $test() {
            agrees_with_blkid($command, $expected);
        }
    )*};
}

made_by_its_program! {
    ext2_is_what_blkid_says: "mkfs.ext4 -q -O ^has_journal,^extent,^64bit,^flex_bg,^huge_file,^dir_nlink,^extra_isize,^metadata_csum $f", "ext2";
    ext3_is_what_blkid_says: "mkfs.ext4 -q -t ext3 $f", "ext3";
    ext4_is_what_blkid_says: "mkfs.ext4 -q $f", "ext4";
    xfs_is_what_blkid_says: "truncate -s 400M $f && mkfs.xfs -q $f", "xfs";
    btrfs_is_what_blkid_says: "mkfs.btrfs -q $f", "btrfs";
    swap_is_what_blkid_says: "mkswap -q $f || mkswap $f", "swap";
    minix_is_what_blkid_says: "mkfs.minix $f", "minix";
    minix3_is_what_blkid_says: "mkfs.minix -3 $f", "minix";
    minix_that_was_not_unmounted_is_what_blkid_says: "mkfs.minix $f && printf '\\0\\0' | dd of=$f bs=1 seek=1042 conv=notrunc", "minix";
    minix2_with_errors_is_what_blkid_says: "mkfs.minix -2 $f && printf '\\2\\0' | dd of=$f bs=1 seek=1042 conv=notrunc", "minix";
    bfs_is_what_blkid_says: "mkfs.bfs $f", "bfs";
    cramfs_is_what_blkid_says: "mkdir $f.d && echo 1 > $f.d/a && mkfs.cramfs $f.d $f", "cramfs";
    vfat_is_what_blkid_says: "mkfs.vfat $f", "vfat";
    luks1_is_what_blkid_says: "printf x | cryptsetup luksFormat --type luks1 --pbkdf-force-iterations 1000 -q $f -", "crypto_LUKS";
    luks2_is_what_blkid_says: "printf x | cryptsetup luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -q $f -", "crypto_LUKS";
    gpt_is_what_blkid_says: "echo 'label: gpt' | sfdisk -q $f", "gpt";
    dos_is_what_blkid_says: "printf 'label: dos\\nsize=5MiB\\n' | sfdisk -q $f", "dos";
}

#[test]
fn gpt_backup_alone_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    File::create(&path).unwrap().set_len(LENGTH).unwrap();
    let script = "printf 'label: gpt\\nsize=2MiB\\n' | sfdisk -q $f && \
                  dd if=/dev/zero of=$f bs=1M count=1 conv=notrunc status=none";
    let made = Command::new("sh")
        .args(["-c", script])
        .env("f", &path)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        return skip(Requirement::Program, "no sfdisk");
    }
    let bytes = std::fs::read(&path).unwrap();
    let contents = crate::drive::guard::Contents::of_bytes(&bytes);
    assert_eq!(contents.summary(), ["gpt"]);
    assert_eq!(contents.partitions.len(), 1, "by the backup");
}

#[test]
fn second_luks2_header_alone_is_found() {
    assert_eq!(with(&[(0x4000, b"SKUL\xba\xbe")]), ["crypto_LUKS"]);
}

#[test]
fn database_of_sqlite_is_found() {
    assert_eq!(with(&[(0, b"SQLite format 3\0")]), ["sqlite"]);
}
