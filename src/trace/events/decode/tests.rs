mod layouts;

use std::path::PathBuf;

use super::*;
use crate::trace::events::enabled::{ENABLED_EVENTS, FILE_EVENTS, SUBSTITUTE_EVENTS};
use crate::trace::events::event::kernel_number;
use crate::trace::events::file_event::{FileAction, InodeKey, SyncCall};

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

fn decode_block(decoder: &EventDecoder, at: u64, record: &[u8]) -> BlockEvent {
    let event = decoder.decode_record(at, record);
    event.and_then(TraceEvent::into_block).unwrap()
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
        let (decoder, _) =
            EventDecoder::from_format_files(&events_directory(kernel), ENABLED_EVENTS);
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
        check_issue(&decode_block(&decoder, 99, &old));
    }
    // 6.18: a priority before the flags, which are ten bytes long.
    let (decoder, missing) =
        EventDecoder::from_format_files(&events_directory("6.18"), ENABLED_EVENTS);
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
    check_issue(&decode_block(&decoder, 99, &new));
}

#[test]
fn completion_error_is_decoded_under_both_field_names() {
    for (kernel, id, flags) in [
        ("3.14", 942, 32),
        ("5.0", 1095, 32),
        ("6.1", 1193, 32),
        ("6.18", 2107, 34),
    ] {
        let (decoder, _) =
            EventDecoder::from_format_files(&events_directory(kernel), ENABLED_EVENTS);
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
        let event = decode_block(&decoder, 1, &bytes);
        assert_eq!(event.error, -5, "{kernel}");
        assert_eq!(event.flags.as_bytes(), b"R", "{kernel}");
        assert_eq!((event.device, event.bytes), ((259, 1), 1024), "{kernel}");
    }
}

const TRACED_FILE: InodeKey = InodeKey {
    device: (259, 1),
    inode: 4242,
};

fn decode_file(decoder: &EventDecoder, record: &[u8]) -> FileAction {
    let event = decoder.decode_record(7, record);
    event.and_then(TraceEvent::into_file).unwrap().action
}

/// A record with the device and these further fields.
fn file_record(id: u16, device_at: usize, parts: &[(usize, &[u8])]) -> Vec<u8> {
    let device = kernel_dev(TRACED_FILE.device.0, TRACED_FILE.device.1);
    let mut all: Vec<(usize, &[u8])> = vec![(device_at, &device)];
    all.extend(parts);
    build_record(id, 64, &all)
}

/// Checks the events of page cache, fsync and journal; `id` finds their numbers.
fn check_file_events(
    decoder: &EventDecoder,
    id: impl Fn(&str) -> u16,
    blocks_at: usize,
    order: &[u8],
) {
    let inode = TRACED_FILE.inode.to_ne_bytes();
    let file = TRACED_FILE;
    let added = file_record(
        id("filemap/mm_filemap_add_to_page_cache"),
        32,
        &[(16, &inode), (36, order)],
    );
    let pages = 1 << order.first().copied().unwrap_or(0);
    let expected = FileAction::PageAdded { file, pages };
    assert_eq!(decode_file(decoder, &added), expected);
    let synced = file_record(id("ext4/ext4_sync_file_enter"), 8, &[(16, &inode)]);
    let expected = FileAction::FileSynced { file };
    assert_eq!(decode_file(decoder, &synced), expected);
    let blocks = 3_i32.to_ne_bytes();
    let changed = file_record(id("jbd2/jbd2_handle_stats"), 8, &[(blocks_at, &blocks)]);
    let device = file.device;
    let expected = FileAction::JournalChanged { device, blocks: 3 };
    assert_eq!(decode_file(decoder, &changed), expected);
}

#[test]
fn file_events_of_kernel_6_1_are_decoded() {
    let all = [FILE_EVENTS, SUBSTITUTE_EVENTS].concat();
    let (decoder, missing) = EventDecoder::from_format_files(&events_directory("6.1"), &all);
    // ext4_direct_IO_enter ended with 5.5, when ext4 went over to iomap.
    let missing: Vec<&str> = missing.iter().map(|event| event.path).collect();
    let expected = [
        "filemap/mm_filemap_fault",
        "iomap/iomap_dio_rw_begin",
        "ext4/ext4_direct_IO_enter",
    ];
    assert_eq!(missing, expected);
    let id = |path: &str| {
        let path = events_directory("6.1").join(path).join("format");
        EventFormat::parse(&std::fs::read_to_string(path).unwrap())
            .unwrap()
            .id
    };
    check_file_events(&decoder, id, 36, &[2]);
}

#[test]
fn split_and_remap_events_are_decoded() {
    let (decoder, missing) =
        EventDecoder::from_format_files(&events_directory("6.1"), ENABLED_EVENTS);
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
    let event = decode_block(&decoder, 1, &split);
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
    let event = decode_block(&decoder, 1, &remap);
    assert_eq!((event.other_device, event.other_sector), ((8, 1), 100));
    let dirtied = build_record(
        find("writeback/writeback_mark_inode_dirty"),
        64,
        &[(8, b"8:0\0"), (40, &77_u64.to_ne_bytes())],
    );
    let event = decode_block(&decoder, 1, &dirtied);
    assert_eq!(event.request_step, RequestStep::Dirtied);
    assert_eq!(event.file.backing_device.as_bytes(), b"8:0");
    assert_eq!(event.file.inode, 77);
}

#[test]
fn unknown_or_truncated_records_are_skipped() {
    let (decoder, _) = EventDecoder::from_format_files(&events_directory("6.18"), ENABLED_EVENTS);
    assert_eq!(decoder.decode_record(1, &build_record(5, 64, &[])), None);
    assert_eq!(decoder.decode_record(1, &[0]), None);
    assert_eq!(decoder.decode_record(1, &2104_u16.to_ne_bytes()), None);
    let (empty, missing) =
        EventDecoder::from_format_files(&events_directory("none"), ENABLED_EVENTS);
    assert_eq!(missing.len(), ENABLED_EVENTS.len());
    assert_eq!(empty.decode_record(1, &build_record(5, 64, &[])), None);
}

#[test]
fn kernel_device_numbers_survive_round_trip() {
    assert_eq!(device_number(kernel_number((259, 70_000))), (259, 70_000));
}

/// A record of an event of 6.18 with these fields.
fn record_of(path: &str, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let format = events_directory("6.18").join(path).join("format");
    let format = EventFormat::parse(&std::fs::read_to_string(format).unwrap()).unwrap();
    let parts: Vec<(usize, &[u8])> = parts
        .iter()
        .map(|(name, bytes)| (format.field(name).unwrap().offset, *bytes))
        .collect();
    build_record(format.id, 96, &parts)
}

#[test]
fn file_events_are_decoded() {
    let (decoder, missing) =
        EventDecoder::from_format_files(&events_directory("6.18"), FILE_EVENTS);
    assert_eq!(missing, []);
    let action = |path: &str, parts: &[(&str, &[u8])]| {
        let event = decoder.decode_record(5, &record_of(path, parts));
        let event = event.and_then(TraceEvent::into_file).unwrap();
        assert_eq!((event.timestamp_ns, event.pid), (5, 4711));
        event.action
    };
    let file = InodeKey {
        device: (8, 1),
        inode: 77,
    };
    let (device, inode) = (kernel_dev(8, 1), 77_u64.to_ne_bytes());
    assert_eq!(
        action(
            "filemap/mm_filemap_add_to_page_cache",
            &[("s_dev", &device), ("i_ino", &inode), ("order", &[2])],
        ),
        FileAction::PageAdded { file, pages: 4 }
    );
    assert_eq!(
        action(
            "filemap/mm_filemap_fault",
            &[("s_dev", &device), ("i_ino", &inode)],
        ),
        FileAction::PageFault { file }
    );
    assert_eq!(
        action(
            "iomap/iomap_dio_rw_begin",
            &[
                ("dev", &device),
                ("ino", &inode),
                ("count", &4096_u64.to_ne_bytes()),
            ],
        ),
        FileAction::DirectStarted { file, bytes: 4096 }
    );
    for path in ["ext4/ext4_sync_file_enter", "xfs/xfs_file_fsync"] {
        assert_eq!(
            action(path, &[("dev", &device), ("ino", &inode)]),
            FileAction::FileSynced { file }
        );
    }
    assert_eq!(
        action(
            "syscalls/sys_enter_fdatasync",
            &[("fd", &9_u64.to_ne_bytes())]
        ),
        FileAction::CallStarted {
            call: SyncCall::Fdatasync,
            descriptor: Some(9),
        }
    );
    assert_eq!(
        action("syscalls/sys_enter_msync", &[]),
        FileAction::CallStarted {
            call: SyncCall::Msync,
            descriptor: None,
        }
    );
    assert_eq!(
        action("syscalls/sys_exit_fsync", &[]),
        FileAction::CallFinished {
            call: SyncCall::Fsync
        }
    );
    assert_eq!(
        action("jbd2/jbd2_start_commit", &[("dev", &device)]),
        FileAction::CommitStarted { device: (8, 1) }
    );
    assert_eq!(
        action("jbd2/jbd2_end_commit", &[("dev", &device)]),
        FileAction::CommitFinished { device: (8, 1) }
    );
    assert_eq!(
        action(
            "jbd2/jbd2_handle_stats",
            &[("dev", &device), ("dirtied_blocks", &3_i32.to_ne_bytes())],
        ),
        FileAction::JournalChanged {
            device: (8, 1),
            blocks: 3,
        }
    );
}

#[test]
fn system_calls_are_decoded_from_raw_events() {
    let (decoder, missing) =
        EventDecoder::from_format_files(&events_directory("6.18"), SUBSTITUTE_EVENTS);
    let missing: Vec<&str> = missing.iter().map(|event| event.path).collect();
    assert_eq!(missing, ["ext4/ext4_direct_IO_enter"]);
    let action = |path: &str, number: libc::c_long| {
        let parts: [(&str, &[u8]); 1] = [("id", &number.to_ne_bytes())];
        let mut record = record_of(path, &parts);
        record[16..24].copy_from_slice(&7_u64.to_ne_bytes());
        let event = decoder.decode_record(5, &record)?.into_file()?;
        Some(event.action)
    };
    assert_eq!(
        action("raw_syscalls/sys_enter", libc::SYS_fsync),
        Some(FileAction::CallStarted {
            call: SyncCall::Fsync,
            descriptor: Some(7),
        })
    );
    assert_eq!(
        action("raw_syscalls/sys_enter", libc::SYS_msync),
        Some(FileAction::CallStarted {
            call: SyncCall::Msync,
            descriptor: None,
        })
    );
    assert_eq!(
        action("raw_syscalls/sys_exit", libc::SYS_sync),
        Some(FileAction::CallFinished {
            call: SyncCall::Sync
        })
    );
    assert_eq!(action("raw_syscalls/sys_exit", libc::SYS_read), None);
}

#[test]
fn page_event_without_order_is_one_page() {
    // As in kernel 5.15.
    let path = events_directory("6.18").join("filemap/mm_filemap_add_to_page_cache/format");
    let text = std::fs::read_to_string(path).unwrap();
    let text: String = text
        .lines()
        .filter(|line| !line.contains(" order;"))
        .fold(String::new(), |all, line| all + line + "\n");
    let mut decoder = EventDecoder::default();
    assert!(decoder.add_format(
        crate::trace::events::enabled::EventKind::File(
            crate::trace::events::file_event::FileEventType::PageAdded
        ),
        &text
    ));
    let record = record_of("filemap/mm_filemap_add_to_page_cache", &[("order", &[9])]);
    let event = decoder.decode_record(5, &record).unwrap().into_file();
    assert!(matches!(
        event.unwrap().action,
        FileAction::PageAdded { pages: 1, .. }
    ));
}
