//! Layouts of kernels of which there are no format files here, by the fields in the kernel's source
//! or in format files that others have published; each file of layouts names its source.

use std::path::Path;

use tempfile::TempDir;

use super::{TRACED_FILE, build_record, decode_block, decode_file, kernel_dev};
use crate::trace::events::decode::EventDecoder;
use crate::trace::events::enabled::{ENABLED_EVENTS, EventKind, FILE_EVENTS, SUBSTITUTE_EVENTS};
use crate::trace::events::event::BlockEvent;
use crate::trace::events::file_event::{BtrfsFile, FileAction, FileEventType, SyncCall};

/// The id of the first event of a file of layouts; the kernel numbers its events when it starts.
const FIRST_ID: u16 = 100;

/// A field of an event.
struct FieldPlace {
    name: String,
    offset: usize,
    size: usize,
}

/// The fields of an event.
struct EventFields {
    path: String,
    id: u16,
    fields: Vec<FieldPlace>,
}

impl EventFields {
    /// A record in which the fields have these values; a field that the event lacks is left out.
    fn record(&self, values: &[(&str, &[u8])]) -> Vec<u8> {
        let parts: Vec<(usize, &[u8])> = self
            .fields
            .iter()
            .filter_map(|field| {
                let (_, value) = values.iter().find(|(name, _)| *name == field.name)?;
                assert!(value.len() <= field.size, "{}: {}", self.path, field.name);
                Some((field.offset, *value))
            })
            .collect();
        build_record(self.id, 128, &parts)
    }

    fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    /// The text of its format file.
    fn format(&self) -> String {
        let mut text = format!("name: {}\nID: {}\nformat:\n", self.path, self.id);
        text.push_str("\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n");
        text.push_str("\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
        for FieldPlace { name, offset, size } in &self.fields {
            let line = format!("\tfield:u64 {name};\toffset:{offset};\tsize:{size};\tsigned:0;\n");
            text.push_str(&line);
        }
        text
    }
}

/// The events of a kernel, and their format files.
struct KernelLayouts {
    events: Vec<EventFields>,
    directory: TempDir,
}

impl KernelLayouts {
    fn of_kernel(kernel: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/traces")
            .join(kernel)
            .join("layouts");
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let events: Vec<EventFields> = lines.zip(FIRST_ID..).map(parse_line).collect();
        let directory = tempfile::tempdir().unwrap();
        for event in &events {
            let event_directory = directory.path().join(&event.path);
            std::fs::create_dir_all(&event_directory).unwrap();
            std::fs::write(event_directory.join("format"), event.format()).unwrap();
        }
        Self { events, directory }
    }

    /// The decoder, and the events that the program would enable but this kernel lacks.
    fn decoder(&self) -> (EventDecoder, Vec<&'static str>) {
        let all = [ENABLED_EVENTS, FILE_EVENTS, SUBSTITUTE_EVENTS].concat();
        let (decoder, missing) = EventDecoder::from_format_files(self.directory.path(), &all);
        (decoder, missing.iter().map(|event| event.path).collect())
    }

    fn event(&self, path: &str) -> Option<&EventFields> {
        self.events.iter().find(|event| event.path == path)
    }
}

fn parse_line((line, id): (&str, u16)) -> EventFields {
    let mut words = line.split_whitespace();
    let path = words.next().unwrap().to_owned();
    let fields = words.map(|word| {
        let mut parts = word.split(':');
        FieldPlace {
            name: parts.next().unwrap().to_owned(),
            offset: parts.next().unwrap().parse().unwrap(),
            size: parts.next().unwrap().parse().unwrap(),
        }
    });
    EventFields {
        path,
        id,
        fields: fields.collect(),
    }
}

/// Checks each field of an event of a request, as far as the event has it.
fn check_block_event(decoder: &EventDecoder, event: &EventFields) {
    let record = event.record(&[
        ("dev", &kernel_dev(259, 3)),
        ("sector", &(1_u64 << 40).to_ne_bytes()),
        ("nr_sector", &16_u32.to_ne_bytes()),
        ("bytes", &8000_u32.to_ne_bytes()),
        ("rwbs", b"WFSM"),
        ("comm", b"postgres"),
        ("error", &(-5_i32).to_ne_bytes()),
        ("new_sector", &4711_u64.to_ne_bytes()),
        ("old_sector", &4711_u64.to_ne_bytes()),
        ("old_dev", &kernel_dev(8, 1)),
    ]);
    let decoded = decode_block(decoder, 5, &record);
    let sectors = if event.has("nr_sector") { 16 } else { 0 };
    let expected = BlockEvent {
        pid: 4711,
        device: (259, 3),
        sector: 1 << 40,
        sectors,
        bytes: if event.has("bytes") {
            8000
        } else {
            sectors * 512
        },
        error: if event.has("error") { -5 } else { 0 },
        other_sector: match event.has("new_sector") || event.has("old_sector") {
            true => 4711,
            false => 0,
        },
        other_device: if event.has("old_dev") { (8, 1) } else { (0, 0) },
        flags: decoded.flags,
        thread_name: decoded.thread_name,
        ..BlockEvent::new(decoded.request_step, 5)
    };
    assert_eq!(decoded, expected, "{}", event.path);
    assert_eq!(decoded.flags.as_bytes(), b"WFSM", "{}", event.path);
    let name: &[u8] = if event.has("comm") { b"postgres" } else { b"" };
    assert_eq!(decoded.thread_name.as_bytes(), name, "{}", event.path);
}

fn check_writeback_event(decoder: &EventDecoder, event: &EventFields) {
    let inode = TRACED_FILE.inode.to_ne_bytes();
    let record = event.record(&[("name", b"btrfs-12"), ("ino", &inode)]);
    let decoded = decode_block(decoder, 5, &record);
    assert_eq!(decoded.file.backing_device.as_bytes(), b"btrfs-12");
    assert_eq!(decoded.file.inode, TRACED_FILE.inode, "{}", event.path);
}

/// What an event of this type means, with the values of [`check_file_event`].
fn expected_action(event_type: FileEventType, has_order: bool) -> FileAction {
    let (file, device) = (TRACED_FILE, TRACED_FILE.device);
    match event_type {
        FileEventType::PageAdded => FileAction::PageAdded {
            file,
            pages: if has_order { 8 } else { 1 },
        },
        FileEventType::PageFault => FileAction::PageFault { file },
        FileEventType::Executed => FileAction::Executed,
        FileEventType::DirectStarted => FileAction::DirectStarted { file, bytes: 8192 },
        FileEventType::CallStarted(call) => FileAction::CallStarted {
            call,
            descriptor: call.has_descriptor().then_some(9),
        },
        FileEventType::AnyCallStarted => FileAction::CallStarted {
            call: SyncCall::Fdatasync,
            descriptor: Some(9),
        },
        FileEventType::CallFinished(call) => FileAction::CallFinished { call },
        FileEventType::AnyCallFinished => FileAction::CallFinished {
            call: SyncCall::Fdatasync,
        },
        FileEventType::FileSynced => FileAction::FileSynced { file },
        FileEventType::BtrfsFileSynced => FileAction::BtrfsFileSynced {
            file: BtrfsFile {
                uuid: *b"0123456789abcdef",
                subvolume: 256,
                inode: TRACED_FILE.inode,
            },
        },
        FileEventType::CommitStarted => FileAction::CommitStarted { device },
        FileEventType::CommitFinished => FileAction::CommitFinished { device },
        FileEventType::JournalChanged => FileAction::JournalChanged { device, blocks: 3 },
    }
}

fn check_file_event(decoder: &EventDecoder, event: &EventFields, event_type: FileEventType) {
    let device = kernel_dev(TRACED_FILE.device.0, TRACED_FILE.device.1);
    let inode = TRACED_FILE.inode.to_ne_bytes();
    let record = event.record(&[
        ("dev", &device),
        ("s_dev", &device),
        ("ino", &inode),
        ("i_ino", &inode),
        ("order", &[3]),
        ("count", &8192_u64.to_ne_bytes()),
        ("len", &8192_u64.to_ne_bytes()),
        ("fd", &9_u64.to_ne_bytes()),
        ("id", &libc::SYS_fdatasync.to_ne_bytes()),
        ("args", &9_u64.to_ne_bytes()),
        ("fsid", b"0123456789abcdef"),
        ("root_objectid", &256_u64.to_ne_bytes()),
        ("dirtied_blocks", &3_i32.to_ne_bytes()),
    ]);
    let expected = expected_action(event_type, event.has("order"));
    assert_eq!(decode_file(decoder, &record), expected, "{}", event.path);
}

/// Decodes a record of each event that this kernel has; returns the events that it lacks.
fn check_kernel(kernel: &str) -> Vec<&'static str> {
    let layouts = KernelLayouts::of_kernel(kernel);
    let (decoder, missing) = layouts.decoder();
    let mut checked = 0;
    for known in [ENABLED_EVENTS, FILE_EVENTS, SUBSTITUTE_EVENTS].concat() {
        let Some(event) = layouts.event(known.path) else {
            continue;
        };
        match known.kind {
            EventKind::Request(_) if event.path.starts_with("block/") => {
                check_block_event(&decoder, event);
            }
            EventKind::Request(_) => check_writeback_event(&decoder, event),
            EventKind::File(event_type) => check_file_event(&decoder, event, event_type),
        }
        checked += 1;
    }
    assert_eq!(checked, layouts.events.len(), "{kernel}");
    missing
}

#[test]
fn events_of_kernel_5_10_are_decoded() {
    let missing = check_kernel("5.10");
    // The source has no system calls, XFS and btrfs.
    let others = missing.iter().filter(|path| {
        !["syscalls/", "xfs/", "btrfs/"]
            .iter()
            .any(|group| path.starts_with(group))
    });
    let others: Vec<&str> = others.copied().collect();
    assert_eq!(
        others,
        ["filemap/mm_filemap_fault", "iomap/iomap_dio_rw_begin"]
    );
}

#[test]
fn events_of_kernel_5_15_are_decoded() {
    let expected = [
        "filemap/mm_filemap_fault",
        "iomap/iomap_dio_rw_begin",
        "ext4/ext4_direct_IO_enter",
    ];
    assert_eq!(check_kernel("5.15"), expected);
}

#[test]
fn events_of_kernel_6_6_are_decoded() {
    let expected = ["filemap/mm_filemap_fault", "ext4/ext4_direct_IO_enter"];
    assert_eq!(check_kernel("6.6"), expected);
}
