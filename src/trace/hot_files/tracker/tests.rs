use super::*;
use crate::trace::events::event::{RwbsFlags, ThreadName};
use crate::trace::hot_files::volumes::Volume;

const DRIVE: DeviceNumber = (8, 0);
const PARTITION: DeviceNumber = (8, 1);

/// The file system of a partition, with these files below the root of the machine.
fn tracker(file_system: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, FileTracker) {
    let (root, roots) = SysPaths::with_files(files);
    let text = format!("30 1 8:1 / /mnt rw - {file_system} /dev/sda1 rw");
    std::fs::write(root.path().join("mountinfo"), text).unwrap();
    let mounts = crate::drive::mounts::mounts_of(&roots, &root.path().join("mountinfo"));
    let volume = Volume {
        mount: mounts.unwrap().remove(0),
        device_name: "sda1".to_owned(),
    };
    let mut tracker = FileTracker::new(&roots, Volumes::of_one(volume, DRIVE));
    tracker.page_bytes = 4096;
    (root, tracker)
}

/// A bio of a thread is queued on the partition.
fn queued(at: u64, pid: u32, flags: &str, (sector, sectors): (u64, u32)) -> Event {
    Event {
        pid,
        thread_name: ThreadName::from_field(b"dd"),
        device: PARTITION,
        sector,
        sectors,
        bytes: sectors * 512,
        flags: RwbsFlags::from_field(flags.as_bytes()),
        ..Event::new(EventKind::Queued, at)
    }
}

/// A request of the drive is completed.
fn completed(at: u64, flags: &str, sectors: (u64, u32)) -> Event {
    Event {
        kind: EventKind::Completed,
        device: DRIVE,
        ..queued(at, 0, flags, sectors)
    }
}

/// Something is done to a file of the partition.
fn used(kind: EventKind, at: u64, pid: u32, inode: u64, amount: u64) -> Event {
    Event {
        pid,
        device: PARTITION,
        file: FileKey {
            inode,
            ..FileKey::default()
        },
        amount: Some(amount).filter(|amount| *amount > 0),
        ..Event::new(kind, at)
    }
}

/// Writeback of a file, which names the backing device.
fn written(kind: EventKind, at: u64, pid: u32, inode: u64) -> Event {
    Event {
        pid,
        thread_name: ThreadName::from_field(b"cp"),
        file: FileKey {
            backing_device: FixedText::from_field(b"8:0"),
            inode,
        },
        ..Event::new(kind, at)
    }
}

/// Of each file its inode, access, bytes read and written, and process with most bytes.
type Found = Vec<(u64, Access, u64, u64, u32)>;

fn trace(events: &[Event]) -> (Found, FileTracker) {
    let (_root, mut tracker) = tracker("ext4", &[]);
    for event in events {
        tracker.add_event(event);
    }
    let view = tracker.view();
    let mut found: Found = view
        .files
        .iter()
        .map(|it| {
            let user = it.who[0].process.pid;
            let bytes = (it.read_bytes, it.written_bytes);
            (it.file.inode, it.via.unwrap(), bytes.0, bytes.1, user)
        })
        .collect();
    found.sort_unstable();
    (found, tracker)
}

fn unknown(tracker: &FileTracker, reason: UnknownReason) -> u64 {
    tracker.unknown.get(&reason).copied().unwrap_or(0)
}

/// What a thread reads after these events, and how.
#[test]
fn read_belongs_to_the_file_that_the_last_event_names() {
    let (added, fault) = (EventKind::PageAdded, EventKind::PageFault);
    let direct = EventKind::DirectStarted;
    for (name, events, expected) in [
        ("no event", vec![], None),
        (
            "pages added",
            vec![(added, 71, 1)],
            Some((71, Access::Buffered)),
        ),
        (
            "after a fault",
            vec![(fault, 71, 0), (added, 71, 3)],
            Some((71, Access::Mmap)),
        ),
        (
            "another file",
            vec![(fault, 71, 0), (added, 71, 3), (added, 72, 3)],
            Some((72, Access::Buffered)),
        ),
        // The pages of a buffered write are not read.
        (
            "direct",
            vec![(added, 71, 3), (direct, 72, 8192)],
            Some((72, Access::Direct)),
        ),
        (
            "direct, length unknown",
            vec![(added, 71, 3), (direct, 72, 0)],
            Some((72, Access::Direct)),
        ),
        (
            "after direct I/O",
            vec![(direct, 72, 0), (added, 71, 3)],
            Some((71, Access::Buffered)),
        ),
        // The page cache holds the metadata of btrfs as pages of an inode of its own.
        ("metadata", vec![(added, 1, 3)], None),
    ] {
        let mut all: Vec<Event> = events
            .into_iter()
            .map(|(kind, inode, amount)| used(kind, 10, 100, inode, amount))
            .collect();
        all.extend([queued(20, 100, "R", (0, 16)), completed(30, "R", (0, 16))]);
        let (found, tracker) = trace(&all);
        let wanted = expected.map(|(inode, access)| (inode, access, 8192, 0, 100));
        assert_eq!(found, wanted.into_iter().collect::<Found>(), "{name}");
        let unnamed = if expected.is_some() { 0 } else { 8192 };
        assert_eq!(unknown(&tracker, UnknownReason::NoEvent), unnamed, "{name}");
    }
}

#[test]
fn read_of_more_than_the_added_pages_has_no_file() {
    let (found, tracker) = trace(&[
        used(EventKind::PageAdded, 10, 100, 77, 0),
        queued(20, 100, "R", (0, 8)),
        queued(21, 100, "R", (8, 8)),
        completed(30, "R", (0, 16)),
    ]);
    assert_eq!(found, [(77, Access::Buffered, 4096, 0, 100)]);
    assert_eq!(unknown(&tracker, UnknownReason::NoEvent), 4096);
}

#[test]
fn writes_are_charged_to_the_thread_that_dirtied_the_file() {
    let (found, tracker) = trace(&[
        written(EventKind::Dirtied, 10, 100, 7),
        written(EventKind::Dirtied, 11, 200, 8),
        // A kernel thread writes the first back, and a process synchronizes the second.
        written(EventKind::WritebackStarted, 30, 5, 7),
        queued(40, 5, "W", (0, 8)),
        written(EventKind::WritebackFinished, 41, 5, 7),
        used(EventKind::FileSynced, 42, 6, 8, 0),
        queued(43, 6, "W", (8, 8)),
        // A thread that writes something else.
        queued(44, 5, "W", (16, 8)),
        completed(50, "W", (0, 24)),
    ]);
    let back = |inode, user| (inode, Access::Writeback, 0, 4096, user);
    assert_eq!(found, [back(7, 100), back(8, 200)]);
    assert_eq!(unknown(&tracker, UnknownReason::NoEvent), 4096);
}

#[test]
fn metadata_flushes_discards_and_raw_devices_belong_to_no_file() {
    let mut elsewhere = [queued(60, 100, "W", (0, 8)), completed(61, "W", (0, 8))];
    elsewhere.iter_mut().for_each(|event| event.device = (9, 0));
    let mut events = vec![
        queued(20, 100, "RM", (0, 8)),
        queued(30, 9, "WSM", (8, 8)),
        completed(50, "RM", (0, 8)),
        completed(51, "WSM", (8, 8)),
    ];
    for (flags, sectors) in [("FF", 0), ("DS", 800), ("N", 8)] {
        events.push(queued(52, 1, flags, (0, sectors)));
        events.push(completed(53, flags, (0, sectors)));
    }
    events.extend(elsewhere);
    let (found, tracker) = trace(&events);
    assert_eq!((found, tracker.metadata_bytes), (vec![], 8192));
    assert_eq!(unknown(&tracker, UnknownReason::NoFileSystem), 4096);
    assert_eq!(tracker.unknown.len(), 1);
}

#[test]
fn after_lost_events_nothing_is_joined() {
    let (found, tracker) = trace(&[
        used(EventKind::PageAdded, 10, 100, 77, 0),
        queued(20, 100, "R", (0, 8)),
        Event::new(EventKind::EventsLost, 30),
        completed(40, "R", (0, 8)),
        queued(50, 100, "R", (8, 8)),
        completed(60, "R", (8, 8)),
    ]);
    assert_eq!(found, []);
    assert_eq!(unknown(&tracker, UnknownReason::NoEvent), 4096);
}
