//! Magic bytes written by the tests, and by mkfs programs.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::drive::guard::bytes::RegionReader;
use crate::requirement::{Requirement, skip};

/// Length of the test region: beyond the last offset of all magic bytes.
const REGION_BYTES: u64 = 8 << 20;

fn signature_names(file: &File, length: u64) -> Vec<&'static str> {
    let reader = RegionReader::new(file, length);
    let found = find_signatures(reader.whole_medium());
    assert_eq!(reader.failure(), None);
    found.iter().map(|(name, _)| *name).collect()
}

fn signatures_of_marks(marks: &[(u64, &[u8])]) -> Vec<&'static str> {
    let file = tempfile::tempfile().unwrap();
    file.set_len(REGION_BYTES).unwrap();
    for (offset, bytes) in marks {
        file.write_all_at(bytes, *offset).unwrap();
    }
    signature_names(&file, REGION_BYTES)
}

#[test]
fn every_magic_is_found_by_its_own_name_only() {
    for magic in [CONTAINER_MAGICS, FILE_SYSTEM_MAGICS, IMAGE_MAGICS].concat() {
        let offset = match magic.offset {
            MagicOffset::FromStart(offset) => offset,
            MagicOffset::BeforeEnd { before, align } => REGION_BYTES / align * align - before,
        };
        if offset > REGION_BYTES {
            continue;
        }
        let found = signatures_of_marks(&[(offset, magic.bytes)]);
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
fn swap_and_hibernation_signatures_are_found_for_every_page_size() {
    for page in SWAP_PAGE_SIZES {
        for (name, bytes) in SWAP_MAGICS {
            assert_eq!(
                signatures_of_marks(&[(page - 10, bytes)]),
                [*name],
                "{page}"
            );
        }
    }
}

#[test]
fn each_of_the_four_zfs_labels_is_found() {
    for label in [
        0,
        ZFS_LABEL_BYTES,
        REGION_BYTES - 2 * ZFS_LABEL_BYTES,
        REGION_BYTES - ZFS_LABEL_BYTES,
    ] {
        for mark in &ZFS_UBERBLOCK_MAGICS {
            let found = signatures_of_marks(&[(label + ZFS_UBERBLOCK_OFFSET + 5 * 1024, mark)]);
            assert_eq!(found, ["zfs_member"], "{label}");
        }
    }
}

#[test]
fn file_system_boot_sector_is_not_partition_table() {
    let boot: (u64, &[u8]) = (510, &[0x55, 0xaa]);
    assert_eq!(signatures_of_marks(&[boot]), ["dos"]);
    assert_eq!(signatures_of_marks(&[boot, (512, b"EFI PART")]), ["gpt"]);
    assert_eq!(signatures_of_marks(&[boot, (82, b"FAT32   ")]), ["vfat"]);
    assert_eq!(signatures_of_marks(&[boot, (3, b"NTFS    ")]), ["ntfs"]);
    // A boot loader's sector next to an ext file system without partitions.
    assert_eq!(
        signatures_of_marks(&[boot, (0x438, &[0x53, 0xef])]),
        ["ext2"]
    );
}

#[test]
fn ext_version_is_detected_from_feature_flags() {
    let mark: (u64, &[u8]) = (0x438, &[0x53, 0xef]);
    assert_eq!(signatures_of_marks(&[mark]), ["ext2"]);
    assert_eq!(signatures_of_marks(&[mark, (0x45c, &[4])]), ["ext3"]);
    assert_eq!(
        signatures_of_marks(&[mark, (0x45c, &[4]), (0x460, &[0x42, 2])]),
        ["ext4"]
    );
    assert_eq!(signatures_of_marks(&[mark, (0x460, &[8])]), ["jbd"]);
    assert!(
        signatures_of_marks(&[mark, (0x44c, &[9])]).is_empty(),
        "an impossible revision"
    );
}

#[test]
fn short_and_empty_media_have_no_signatures() {
    for length in [0_usize, 1, 4, 511, 512, 4095, 70_000, 262_145] {
        let bytes = vec![0; length];
        let source = bytes.as_slice();
        let reader = RegionReader::new(&source, length as u64);
        assert!(
            find_signatures(reader.whole_medium()).is_empty(),
            "{length}"
        );
    }
}

/// The signatures that blkid(8) reports for a file; `None` if blkid is missing.
fn blkid_signatures(path: &Path) -> Option<Vec<String>> {
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

/// Creates a format in a file of 128 MiB by a command in which `$f` is the file, and compares.
fn assert_agrees_with_blkid(command: &str, expected: &str) {
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
    let found = signature_names(&file, length);
    assert_eq!(found, [expected], "{command}");
    match blkid_signatures(&path) {
        Some(theirs) => assert_eq!(theirs, [expected], "{command}"),
        None => skip(Requirement::Program, "no blkid"),
    }
}

macro_rules! made_by_its_program {
    ($($test:ident: $command:literal, $expected:literal;)*) => {$(
        #[test]
        fn $test() {
            assert_agrees_with_blkid($command, $expected);
        }
    )*};
}

made_by_its_program! {
    ext2_is_what_blkid_says: "mkfs.ext4 -q -O ^has_journal,^extent,^64bit,^flex_bg,^huge_file,^dir_nlink,^extra_isize,^metadata_csum $f", "ext2";
    ext3_is_what_blkid_says: "mkfs.ext4 -q -t ext3 $f", "ext3";
    ext4_is_what_blkid_says: "mkfs.ext4 -q $f", "ext4";
    xfs_is_what_blkid_says: "truncate -s 400M $f && mkfs.xfs -q $f", "xfs";
    xfs_external_log_is_what_blkid_says: "truncate -s 400M $f.fs && mkfs.xfs -q -l logdev=$f,size=64m $f.fs", "xfs_external_log";
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
    File::create(&path).unwrap().set_len(REGION_BYTES).unwrap();
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
    let contents = crate::drive::guard::MediumContents::inspect_bytes(&bytes);
    assert_eq!(contents.summary(), ["gpt"]);
    assert_eq!(contents.partitions.len(), 1, "by the backup");
}

#[test]
fn secondary_luks2_header_alone_is_found() {
    assert_eq!(
        signatures_of_marks(&[(0x4000, b"SKUL\xba\xbe")]),
        ["crypto_LUKS"]
    );
}

#[test]
fn xfs_log_is_found_in_any_sector_of_the_start_and_beside_no_xfs() {
    let record: &[u8] = &[0xfe, 0xed, 0xba, 0xbe, 0, 0, 0, 9, 0, 0, 0, 2];
    for offset in [0, 512, HEAD_BYTES - 512] {
        assert_eq!(
            signatures_of_marks(&[(offset, record)]),
            ["xfs_external_log"]
        );
    }
    assert_eq!(signatures_of_marks(&[(0, b"XFSB"), (512, record)]), ["xfs"]);
    assert!(signatures_of_marks(&[(100, record)]).is_empty());
    assert!(signatures_of_marks(&[(0, &record[..8])]).is_empty());
}

#[test]
fn sqlite_database_is_found() {
    assert_eq!(
        signatures_of_marks(&[(0, b"SQLite format 3\0")]),
        ["sqlite"]
    );
}
