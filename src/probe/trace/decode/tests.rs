use std::path::PathBuf;

use super::*;

fn events_directory(kernel: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/traces")
        .join(kernel)
        .join("events")
}

/// A synthetic record: bytes at offsets known from the kernel's source.
fn build_record(id: u16, length: usize, parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut record = vec![0; length];
    record[..2].copy_from_slice(&id.to_ne_bytes());
    record[4..8].copy_from_slice(&4711_i32.to_ne_bytes());
    for (offset, bytes) in parts {
        record[*offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    record
}

fn kernel_dev(major: u32, minor: u32) -> [u8; 4] {
    ((major << 20) | minor).to_ne_bytes()
}

fn check_issue(event: &BlockEvent) {
    assert_eq!(event.request_step, RequestStep::Issued);
    assert_eq!(
        (event.timestamp_ns, event.pid, event.device),
        (99, 4711, (8, 17))
    );
    assert_eq!(
        (event.sector, event.sectors, event.bytes),
        (1 << 40, 8, 4096)
    );
    assert_eq!(event.flags.as_bytes(), b"WSM");
    assert_eq!(event.thread_name.as_bytes(), b"fio");
}

#[test]
fn issue_event_is_decoded_in_old_and_new_format() {
    // Kernels 5.0 and 6.1 alike: no priority, eight bytes of flags.
    for (kernel, id) in [("5.0", 1094), ("6.1", 1190)] {
        let (decoder, _) = EventDecoder::from_format_files(&events_directory(kernel));
        let old = build_record(
            id,
            60,
            &[
                (8, &kernel_dev(8, 17)),
                (16, &(1_u64 << 40).to_ne_bytes()),
                (24, &8_u32.to_ne_bytes()),
                (28, &4096_u32.to_ne_bytes()),
                (32, b"WSM"),
                (40, b"fio"),
            ],
        );
        check_issue(&decoder.decode_record(99, &old).unwrap());
    }
    // 6.18: a priority before the flags, which are ten bytes long.
    let (decoder, missing) = EventDecoder::from_format_files(&events_directory("6.18"));
    assert_eq!(missing, []);
    let new = build_record(
        2104,
        64,
        &[
            (8, &kernel_dev(8, 17)),
            (16, &(1_u64 << 40).to_ne_bytes()),
            (24, &8_u32.to_ne_bytes()),
            (28, &4096_u32.to_ne_bytes()),
            (34, b"WSM"),
            (44, b"fio"),
        ],
    );
    check_issue(&decoder.decode_record(99, &new).unwrap());
}

#[test]
fn completion_error_is_decoded_under_both_field_names() {
    for (kernel, id, flags) in [
        ("3.14", 942, 32),
        ("5.0", 1095, 32),
        ("6.1", 1193, 32),
        ("6.18", 2107, 34),
    ] {
        let (decoder, _) = EventDecoder::from_format_files(&events_directory(kernel));
        let bytes = build_record(
            id,
            48,
            &[
                (8, &kernel_dev(259, 1)),
                (16, &16_u64.to_ne_bytes()),
                (24, &2_u32.to_ne_bytes()),
                (28, &(-5_i32).to_ne_bytes()),
                (flags, b"R"),
            ],
        );
        let event = decoder.decode_record(1, &bytes).unwrap();
        assert_eq!(event.error, -5, "{kernel}");
        assert_eq!(event.flags.as_bytes(), b"R", "{kernel}");
        assert_eq!((event.device, event.bytes), ((259, 1), 1024), "{kernel}");
    }
}

#[test]
fn split_and_remap_events_are_decoded() {
    let (decoder, missing) = EventDecoder::from_format_files(&events_directory("6.1"));
    assert_eq!(missing, []);
    let find = |path: &str| {
        let text =
            std::fs::read_to_string(events_directory("6.1").join(path).join("format")).unwrap();
        EventFormat::parse(&text).unwrap().id
    };
    let split = build_record(
        find("block/block_split"),
        56,
        &[(16, &100_u64.to_ne_bytes()), (24, &160_u64.to_ne_bytes())],
    );
    let event = decoder.decode_record(1, &split).unwrap();
    assert_eq!((event.sector, event.other_sector), (100, 160));
    let remap = build_record(
        find("block/block_bio_remap"),
        48,
        &[
            (8, &kernel_dev(8, 0)),
            (16, &2148_u64.to_ne_bytes()),
            (24, &8_u32.to_ne_bytes()),
            (28, &kernel_dev(8, 1)),
            (32, &100_u64.to_ne_bytes()),
            (40, b"RA"),
        ],
    );
    let event = decoder.decode_record(1, &remap).unwrap();
    assert_eq!((event.other_device, event.other_sector), ((8, 1), 100));
    let dirtied = build_record(
        find("writeback/writeback_mark_inode_dirty"),
        64,
        &[(8, b"8:0\0"), (40, &77_u64.to_ne_bytes())],
    );
    let event = decoder.decode_record(1, &dirtied).unwrap();
    assert_eq!(event.request_step, RequestStep::Dirtied);
    assert_eq!(event.file.backing_device.as_bytes(), b"8:0");
    assert_eq!(event.file.inode, 77);
}

#[test]
fn unknown_or_truncated_records_are_skipped() {
    let (decoder, _) = EventDecoder::from_format_files(&events_directory("6.18"));
    assert_eq!(decoder.decode_record(1, &build_record(5, 64, &[])), None);
    assert_eq!(decoder.decode_record(1, &[0]), None);
    assert_eq!(decoder.decode_record(1, &2104_u16.to_ne_bytes()), None);
    let (empty, missing) = EventDecoder::from_format_files(&events_directory("none"));
    assert_eq!(missing.len(), ENABLED_EVENTS.len());
    assert_eq!(empty.decode_record(1, &build_record(5, 64, &[])), None);
}

#[test]
fn kernel_device_numbers_survive_round_trip() {
    assert_eq!(device_number(kernel_number((259, 70_000))), (259, 70_000));
}
