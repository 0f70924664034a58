//! Records of the formats of several kernels: format files, or the fields in the kernel's source (`layouts`, which
//! name it), of which format files are made.

use std::path::PathBuf;

use super::*;
use crate::trace::events::catalog::EVENTS;
use crate::trace::events::event::kernel_number;

/// The id of the first event of a file of layouts; the kernel numbers its events when it starts.
const FIRST_ID: usize = 100;
/// What the fields of a record contain.
const INODE: u64 = 4242;
const DEVICE: (u32, u32) = (259, 3);
const OLD_DEVICE: (u32, u32) = (8, 1);

fn traces(kernel: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/traces").join(kernel)
}

/// The format of an event of a kernel, if it has the event.
fn format_of(kernel: &str, path: &str) -> Option<String> {
    let Ok(layouts) = std::fs::read_to_string(traces(kernel).join("layouts")) else {
        let format = traces(kernel).join("events").join(path).join("format");
        return std::fs::read_to_string(format).ok();
    };
    let mut lines = layouts
        .lines()
        .filter(|line| !line.starts_with('#'))
        .zip(FIRST_ID..);
    let (line, id) = lines.find(|(line, _)| line.split(' ').next() == Some(path))?;
    let mut text = format!("name: {path}\nID: {id}\nformat:\n");
    let common = ["common_type:0:2", "common_pid:4:4"].into_iter();
    for field in common.chain(line.split(' ').skip(1)) {
        let [name, offset, size] = field.split(':').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        text += &format!("\tfield:u64 {name};\toffset:{offset};\tsize:{size};\tsigned:0;\n");
    }
    Some(text)
}

/// A record of an event in which each field has a value of its own.
fn record_of(format: &str) -> Vec<u8> {
    let mut record = vec![0; 160];
    let id = format
        .lines()
        .find_map(|line| line.strip_prefix("ID:"))
        .unwrap();
    record[..2].copy_from_slice(&id.trim().parse::<u16>().unwrap().to_ne_bytes());
    for (name, field) in format.lines().filter_map(parse_field) {
        let number: u64 = match name {
            "common_pid" => 4711,
            "dev" | "s_dev" => kernel_number(DEVICE).into(),
            "old_dev" => kernel_number(OLD_DEVICE).into(),
            "sector" => 1 << 40,
            "nr_sector" => 16,
            "bytes" => 8000,
            "error" | "errors" => u64::from((-5_i32) as u32),
            "old_sector" => 100,
            "ino" | "i_ino" => INODE,
            "order" => 2,
            "count" | "len" => 8192,
            _ => 0,
        };
        let text: &[u8] = match name {
            "rwbs" => b"WFSM",
            "comm" => b"postgres",
            "name" => b"btrfs-12",
            _ => &number.to_ne_bytes()[..field.size.min(8)],
        };
        if name != "common_type" {
            record[field.offset..field.offset + text.len()].copy_from_slice(text);
        }
    }
    record
}

/// What such a record means.
fn expected_event(kind: EventKind, format: &str) -> Event {
    let has = |names: &[&str]| {
        let mut fields = format.lines().filter_map(parse_field);
        fields.any(|(name, _)| names.contains(&name))
    };
    let sectors = if has(&["nr_sector"]) { 16 } else { 0 };
    let amount = match has(&["order"]) {
        true => Some(2),
        false => has(&["count", "len"]).then_some(8192),
    };
    let text = |name, value: &'static [u8]| if has(&[name]) { value } else { b"" };
    Event {
        pid: 4711,
        thread_name: ThreadName::from_field(text("comm", b"postgres")),
        device: if has(&["dev", "s_dev"]) {
            DEVICE
        } else {
            (0, 0)
        },
        sector: if has(&["sector"]) { 1 << 40 } else { 0 },
        sectors,
        bytes: if has(&["bytes"]) { 8000 } else { sectors * 512 },
        flags: RwbsFlags::from_field(text("rwbs", b"WFSM")),
        origin: match kind {
            EventKind::Remapped => (OLD_DEVICE, 100),
            _ => ((0, 0), 0),
        },
        error: if has(&["error", "errors"]) { -5 } else { 0 },
        file: FileKey {
            backing_device: FixedText::from_field(text("name", b"btrfs-12")),
            inode: if has(&["ino", "i_ino"]) { INODE } else { 0 },
        },
        amount,
        ..Event::new(kind, 5)
    }
}

/// Decodes a record of each event that a kernel has; returns the events that it lacks.
fn check_kernel(kernel: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for event in EVENTS {
        let Some(format) = format_of(kernel, event.path) else {
            missing.push(event.path.to_owned());
            continue;
        };
        let mut decoder = EventDecoder::default();
        assert!(
            decoder.add_format(event, &format),
            "{kernel} {}",
            event.path
        );
        let decoded = decoder.decode_record(5, &record_of(&format));
        let expected = expected_event(event.kind, &format);
        assert_eq!(decoded, Some(expected), "{kernel} {}", event.path);
    }
    missing
}

#[test]
fn events_of_kernels_are_decoded() {
    // ext4_direct_IO_enter ended with 5.5, when ext4 went over to iomap.
    let ended = "ext4/ext4_direct_IO_enter";
    let (fault, direct) = ("filemap/mm_filemap_fault", "iomap/iomap_dio_rw_begin");
    let (iter, apply) = ("iomap/iomap_iter", "iomap/iomap_apply");
    assert_eq!(check_kernel("6.18"), [apply, ended]);
    assert_eq!(check_kernel("6.6"), [fault, apply, ended]);
    assert_eq!(check_kernel("6.1"), [fault, direct, apply, ended]);
    assert_eq!(check_kernel("5.15"), [fault, direct, apply, ended]);
    // The source of these layouts has no system calls, XFS and btrfs.
    let mut missing = check_kernel("5.10");
    let others = ["syscalls/", "xfs/", "btrfs/"];
    missing.retain(|path| !others.iter().any(|group| path.starts_with(group)));
    assert_eq!(missing, [fault, direct, iter]);
    for (kernel, known) in [("5.0", 2), ("3.14", 1)] {
        assert_eq!(check_kernel(kernel).len(), EVENTS.len() - known, "{kernel}");
    }
}

#[test]
fn unknown_and_truncated_records_and_incomplete_formats_are_refused() {
    let events = traces("6.18").join("events");
    let (decoder, available) = EventDecoder::from_format_files(&events, EVENTS);
    assert_eq!(available.len(), EVENTS.len() - 2);
    for record in [&[0][..], &2104_u16.to_ne_bytes(), &[255; 64]] {
        assert_eq!(decoder.decode_record(1, record), None);
    }
    let mut decoder = EventDecoder::default();
    let format = format_of("6.18", "block/block_rq_issue").unwrap();
    let spec = |path| EVENTS.iter().find(|event| event.path == path).unwrap();
    let issued = spec("block/block_rq_issue");
    assert!(!decoder.add_format(issued, &format.replace(" sector;", " other;")));
    let added = spec("filemap/mm_filemap_add_to_page_cache");
    assert!(!decoder.add_format(added, &format));
    let (_, available) = EventDecoder::from_format_files(&traces("none"), EVENTS);
    assert_eq!(available, []);
}
