//! What is recognised on a whole medium and its partitions.

use super::*;
use crate::drive::target;

/// An MBR with a FAT and an ext4 partition.
fn image() -> Vec<u8> {
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
    let contents = Contents::of_bytes(&image());
    assert_eq!(
        contents.summary(),
        ["dos", "vfat (partition 1)", "ext4 (partition 2)"]
    );
    assert_eq!(contents.on_partition(2 << 20), ["ext4"]);
    assert!(contents.on_partition(7).is_empty());
    assert_eq!(contents.signatures[2].offset, Some((2 << 20) + 0x438));
    assert!(contents.needs_acknowledgement());
}

#[test]
fn bytes_without_a_format_need_no_acknowledgement() {
    let contents = Contents::of_bytes(&[0x5a; 100_000]);
    assert!(!contents.needs_acknowledgement());
    assert!(contents.summary().is_empty());
    assert!(!Contents::of_bytes(&[]).needs_acknowledgement());
}

#[test]
fn same_formats_with_other_bytes_are_other_contents() {
    let (before, mut now) = (image(), image());
    assert_eq!(Contents::of_bytes(&before), Contents::of_bytes(&now));
    // The number of mounts in the superblock.
    now[(2 << 20) + 0x434] += 1;
    assert_ne!(Contents::of_bytes(&before), Contents::of_bytes(&now));
}

#[test]
fn medium_that_cannot_be_read_needs_acknowledgement() {
    struct Broken;
    impl ReadAt for Broken {
        fn read_at(&self, _: &mut [u8], _: u64) -> std::io::Result<usize> {
            Err(std::io::Error::from_raw_os_error(libc::EIO))
        }
    }
    let contents = Contents::of(&Broken, 1 << 20, 512, &[]);
    assert!(contents.needs_acknowledgement());
    let summary = contents.summary();
    assert!(
        summary[0].starts_with("unknown contents (byte 0"),
        "{summary:?}"
    );
}

#[test]
fn medium_with_more_partitions_than_are_examined_needs_acknowledgement() {
    let contents = Contents {
        truncated: true,
        ..Contents::of_bytes(&[])
    };
    assert!(contents.needs_acknowledgement());
    assert_eq!(
        contents.summary(),
        ["unknown contents of further partitions"]
    );
}

#[test]
fn many_partitions_with_one_format_are_one_item() {
    let mut contents = Contents::of_bytes(&[]);
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
fn image_file_is_examined_as_if_it_were_a_device() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), image()).unwrap();
    let roots = Roots::default();
    let medium = target::open(&roots, file.path().to_str().unwrap(), None).unwrap();
    let facts = crate::drive::guard::inspect(&roots, &medium).unwrap();
    let about = facts.about().join("\n");
    assert!(about.contains("partition 2, 1 MiB, ext4"), "{about}");
    assert!(about.contains("regular file"), "{about}");
}
