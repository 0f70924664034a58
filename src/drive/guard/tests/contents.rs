//! Formats recognised on a whole medium and its partitions.

use super::*;
use crate::drive::medium;

/// An MBR with a FAT and an ext4 partition.
fn mbr_image() -> Vec<u8> {
    let mut bytes = vec![0; 4 << 20];
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    for (index, start) in [2048_u32, 4096].into_iter().enumerate() {
        let entry = &mut bytes[446 + index * 16..][..16];
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..].copy_from_slice(&2048_u32.to_le_bytes());
    }
    bytes[(1 << 20) + 54..][..4].copy_from_slice(b"FAT1");
    bytes[(2 << 20) + 0x438..][..2].copy_from_slice(&[0x53, 0xef]);
    bytes[(2 << 20) + 0x460] = 0x40;
    bytes
}

#[test]
fn formats_on_partitions_are_found_with_their_numbers() {
    let contents = MediumContents::inspect_bytes(&mbr_image());
    assert_eq!(
        contents.summary(),
        ["dos", "vfat (partition 1)", "ext4 (partition 2)"]
    );
    assert_eq!(contents.formats_on_partition(2 << 20), ["ext4"]);
    assert!(contents.formats_on_partition(7).is_empty());
    assert_eq!(contents.signatures[2].offset, Some((2 << 20) + 0x438));
    assert!(contents.needs_acknowledgement());
}

#[test]
fn bytes_without_a_format_need_no_acknowledgement() {
    let contents = MediumContents::inspect_bytes(&[0x5a; 100_000]);
    assert!(!contents.needs_acknowledgement());
    assert!(contents.summary().is_empty());
    assert!(!MediumContents::inspect_bytes(&[]).needs_acknowledgement());
}

#[test]
fn same_formats_with_different_bytes_are_unequal_contents() {
    let (before, mut now) = (mbr_image(), mbr_image());
    assert_eq!(
        MediumContents::inspect_bytes(&before),
        MediumContents::inspect_bytes(&now)
    );
    // The mount count in the superblock.
    now[(2 << 20) + 0x434] += 1;
    assert_ne!(
        MediumContents::inspect_bytes(&before),
        MediumContents::inspect_bytes(&now)
    );
}

#[test]
fn unreadable_medium_needs_acknowledgement() {
    struct UnreadableMedium;
    impl ReadAt for UnreadableMedium {
        fn read_at(&self, _: &mut [u8], _: u64) -> std::io::Result<usize> {
            Err(std::io::Error::from_raw_os_error(libc::EIO))
        }
    }
    let contents = MediumContents::inspect(&UnreadableMedium, 1 << 20, 512, &[]);
    assert!(contents.needs_acknowledgement());
    let summary = contents.summary();
    assert!(
        summary[0].starts_with("unknown contents (byte 0"),
        "{summary:?}"
    );
}

#[test]
fn medium_with_too_many_partitions_needs_acknowledgement() {
    let contents = MediumContents {
        truncated: true,
        ..MediumContents::inspect_bytes(&[])
    };
    assert!(contents.needs_acknowledgement());
    assert_eq!(
        contents.summary(),
        ["unknown contents of further partitions"]
    );
}

#[test]
fn partitions_with_same_format_are_grouped_in_summary() {
    let mut contents = MediumContents::inspect_bytes(&[]);
    contents.signatures = [1, 2, 3, 5, 7, 8]
        .map(|number| Signature {
            name: "xfs".to_owned(),
            offset: Some(0),
            partition: Some(number),
        })
        .to_vec();
    assert_eq!(contents.summary(), ["xfs (partitions 1-3, 5, 7, 8)"]);
    contents.signatures.truncate(1);
    contents.signatures.push(Signature {
        name: "xfs".to_owned(),
        offset: Some(0),
        partition: None,
    });
    assert_eq!(contents.summary(), ["xfs (also on partition 1)"]);
}

#[test]
fn image_file_contents_are_examined_like_device() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), mbr_image()).unwrap();
    let roots = SysPaths::default();
    let medium = medium::open_target(&roots, file.path().to_str().unwrap(), None).unwrap();
    let facts = crate::drive::guard::inspect_target(&roots, &medium).unwrap();
    let about = facts.summary_lines().join("\n");
    assert!(about.contains("partition 2, 1 MiB, ext4"), "{about}");
    assert!(about.contains("regular file\n"), "{about}");
}

#[test]
fn facts_about_a_file_tell_how_many_names_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("daily.0");
    std::fs::write(&path, vec![0; 1 << 20]).unwrap();
    std::fs::hard_link(&path, directory.path().join("daily.1")).unwrap();
    let roots = SysPaths::default();
    let medium = medium::open_target(&roots, path.to_str().unwrap(), None).unwrap();
    let facts = crate::drive::guard::inspect_target(&roots, &medium).unwrap();
    assert_eq!(facts.name_count, 2);
    for lines in [facts.summary_lines(), facts.detail_lines()] {
        let about = lines.join("\n");
        assert!(about.contains("regular file with 2 names"), "{about}");
    }
}
