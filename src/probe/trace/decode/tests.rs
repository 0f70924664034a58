use std::path::PathBuf;

use super::*;

fn events(kernel: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/traces")
        .join(kernel)
        .join("events")
}

/// A record made by hand: bytes at places that the test knows from the kernel's source.
fn record(id: u16, length: usize, parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut record = vec![0; length];
    record[..2].copy_from_slice(&id.to_ne_bytes());
    record[4..8].copy_from_slice(&4711_i32.to_ne_bytes());
    for (offset, bytes) in parts {
        record[*offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    record
}

fn dev(major: u32, minor: u32) -> [u8; 4] {
    ((major << 20) | minor).to_ne_bytes()
}

fn check_issue(event: &BlockEvent) {
    assert_eq!(event.step, Step::Issued);
    assert_eq!((event.at, event.pid, event.device), (99, 4711, (8, 17)));
    assert_eq!(
        (event.sector, event.sectors, event.bytes),
        (1 << 40, 8, 4096)
    );
    assert_eq!(event.flags.bytes(), b"WSM");
    assert_eq!(event.name.bytes(), b"fio");
}

#[test]
fn issue_before_and_after_fields_were_added() {
    // Kernels 5.0 and 6.1 alike: no priority, eight bytes of flags.
    for (kernel, id) in [("5.0", 1094), ("6.1", 1190)] {
        let (decoder, _) = Decoder::read(&events(kernel));
        let old = record(
            id,
            60,
            &[
                (8, &dev(8, 17)),
                (16, &(1_u64 << 40).to_ne_bytes()),
                (24, &8_u32.to_ne_bytes()),
                (28, &4096_u32.to_ne_bytes()),
                (32, b"WSM"),
                (40, b"fio"),
            ],
        );
        check_issue(&decoder.decode(99, &old).unwrap());
    }
    // 6.18: a priority before the flags, which are ten bytes long.
    let (decoder, missing) = Decoder::read(&events("6.18"));
    assert_eq!(missing, []);
    let new = record(
        2104,
        64,
        &[
            (8, &dev(8, 17)),
            (16, &(1_u64 << 40).to_ne_bytes()),
            (24, &8_u32.to_ne_bytes()),
            (28, &4096_u32.to_ne_bytes()),
            (34, b"WSM"),
            (44, b"fio"),
        ],
    );
    check_issue(&decoder.decode(99, &new).unwrap());
}

#[test]
fn the_error_of_a_completion_under_both_of_its_names() {
    for (kernel, id, flags) in [
        ("3.14", 942, 32),
        ("5.0", 1095, 32),
        ("6.1", 1193, 32),
        ("6.18", 2107, 34),
    ] {
        let (decoder, _) = Decoder::read(&events(kernel));
        let bytes = record(
            id,
            48,
            &[
                (8, &dev(259, 1)),
                (16, &16_u64.to_ne_bytes()),
                (24, &2_u32.to_ne_bytes()),
                (28, &(-5_i32).to_ne_bytes()),
                (flags, b"R"),
            ],
        );
        let event = decoder.decode(1, &bytes).unwrap();
        assert_eq!(event.error, -5, "{kernel}");
        assert_eq!(event.flags.bytes(), b"R", "{kernel}");
        assert_eq!((event.device, event.bytes), ((259, 1), 1024), "{kernel}");
    }
}

#[test]
fn where_a_split_and_a_remap_lead() {
    let (decoder, missing) = Decoder::read(&events("6.1"));
    assert_eq!(missing, []);
    let find = |path: &str| {
        let text = std::fs::read_to_string(events("6.1").join(path).join("format")).unwrap();
        Format::parse(&text).unwrap().id
    };
    let split = record(
        find("block/block_split"),
        56,
        &[(16, &100_u64.to_ne_bytes()), (24, &160_u64.to_ne_bytes())],
    );
    let event = decoder.decode(1, &split).unwrap();
    assert_eq!((event.sector, event.other_sector), (100, 160));
    let remap = record(
        find("block/block_bio_remap"),
        48,
        &[
            (8, &dev(8, 0)),
            (16, &2148_u64.to_ne_bytes()),
            (24, &8_u32.to_ne_bytes()),
            (28, &dev(8, 1)),
            (32, &100_u64.to_ne_bytes()),
            (40, b"RA"),
        ],
    );
    let event = decoder.decode(1, &remap).unwrap();
    assert_eq!((event.other_device, event.other_sector), ((8, 1), 100));
    let dirtied = record(
        find("writeback/writeback_mark_inode_dirty"),
        64,
        &[(8, b"8:0\0"), (40, &77_u64.to_ne_bytes())],
    );
    let event = decoder.decode(1, &dirtied).unwrap();
    assert_eq!(event.step, Step::Dirtied);
    assert_eq!(event.file.backing.bytes(), b"8:0");
    assert_eq!(event.file.inode, 77);
}

#[test]
fn what_is_not_wanted_or_too_short_is_passed_over() {
    let (decoder, _) = Decoder::read(&events("6.18"));
    assert_eq!(decoder.decode(1, &record(5, 64, &[])), None);
    assert_eq!(decoder.decode(1, &[0]), None);
    assert_eq!(decoder.decode(1, &2104_u16.to_ne_bytes()), None);
    let (empty, missing) = Decoder::read(&events("none"));
    assert_eq!(missing.len(), WANTED.len());
    assert_eq!(empty.decode(1, &record(5, 64, &[])), None);
}

#[test]
fn numbers_are_joined_as_they_are_split() {
    assert_eq!(device_number(kernel_number((259, 70_000))), (259, 70_000));
}
