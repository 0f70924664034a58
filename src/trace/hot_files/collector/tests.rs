use super::*;
use crate::trace::events::event::{RwbsFlags, ThreadName};

const DRIVE: DeviceNumber = (8, 0);
const PARTITION: DeviceNumber = (8, 1);

fn collector() -> FileTraceCollector {
    FileTraceCollector::new(CollectorSettings {
        drive_by_device: [(PARTITION, DRIVE)].into_iter().collect(),
        file_systems: [PARTITION].into_iter().collect(),
        page_bytes: 4096,
    })
}

fn hint(inode: u64) -> FileHint {
    FileHint {
        device: Some(PARTITION),
        inode,
        subvolume: None,
    }
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
        amount: Some(amount).filter(|_| kind != EventKind::FileSynced),
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

/// File, access and charged thread of each piece.
fn pieces(batch: &CollectedBatch) -> Vec<(Option<(u64, Access)>, u32)> {
    let pieces = batch.pieces.iter().map(|piece| {
        let file = piece.file.map(|(hint, access)| (hint.inode, access));
        (file, piece.request.charged_actor().unwrap().pid)
    });
    pieces.collect()
}

#[test]
fn buffered_read_of_partition_is_joined_with_its_file() {
    let batch = collector().add_batch(&[
        used(EventKind::PageAdded, 10, 100, 77, 1),
        queued(20, 100, "R", (2048, 16)),
        completed(90, "R", (2048, 16)),
    ]);
    let [piece] = &batch.pieces[..] else {
        panic!("{batch:?}");
    };
    let request = &piece.request;
    let place = (request.device, request.sector, request.bytes);
    assert_eq!(place, (DRIVE, 2048, 8192));
    assert_eq!(request.timestamps.stages().q2c, Some(70));
    assert_eq!(piece.file, Some((hint(77), Access::Buffered)));
    let seen = [Sighting::Thread(100), Sighting::File(hint(77), 100)];
    assert_eq!(batch.sightings, seen);
}

/// What a thread reads after these events, and how.
#[test]
fn read_belongs_to_the_file_that_the_last_event_names() {
    let (added, fault) = (EventKind::PageAdded, EventKind::PageFault);
    let (direct, mapped) = (EventKind::DirectStarted, EventKind::DirectMapped);
    for (name, events, expected) in [
        ("no event", vec![], None),
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
            vec![(added, 71, 3), (mapped, 72, 0)],
            Some((72, Access::Direct)),
        ),
        (
            "after direct I/O",
            vec![(mapped, 72, 0), (added, 71, 3)],
            Some((71, Access::Buffered)),
        ),
        ("all submitted", vec![(direct, 72, 0)], None),
    ] {
        let mut all: Vec<Event> = events
            .into_iter()
            .map(|(kind, inode, amount)| used(kind, 10, 100, inode, amount))
            .collect();
        all.extend([queued(20, 100, "R", (0, 16)), completed(30, "R", (0, 16))]);
        let batch = collector().add_batch(&all);
        assert_eq!(pieces(&batch), [(expected, 100)], "{name}");
    }
}

#[test]
fn read_of_more_than_the_added_pages_has_no_file() {
    let batch = collector().add_batch(&[
        used(EventKind::PageAdded, 10, 100, 77, 0),
        queued(20, 100, "R", (0, 8)),
        queued(21, 100, "R", (8, 8)),
        completed(30, "R", (0, 16)),
    ]);
    assert_eq!(
        pieces(&batch),
        [(Some((77, Access::Buffered)), 100), (None, 100)]
    );
}

#[test]
fn writes_are_charged_to_the_thread_that_dirtied_the_file() {
    let batch = collector().add_batch(&[
        written(EventKind::Dirtied, 10, 100, 7),
        written(EventKind::Dirtied, 11, 200, 8),
        // A kernel thread writes the first back, and a process synchronizes the second.
        written(EventKind::WritebackStarted, 30, 5, 7),
        queued(40, 5, "W", (0, 8)),
        written(EventKind::WritebackFinished, 41, 5, 7),
        used(EventKind::FileSynced, 42, 6, 8, 0),
        queued(43, 6, "W", (8, 8)),
        // Threads that write something else.
        queued(44, 5, "W", (16, 8)),
        completed(50, "W", (0, 24)),
    ]);
    let back = |inode| Some((inode, Access::Writeback));
    assert_eq!(pieces(&batch), [(back(7), 100), (back(8), 200), (None, 5)]);
}

#[test]
fn metadata_and_journal_are_charged_to_no_file() {
    let batch = collector().add_batch(&[
        used(EventKind::PageAdded, 10, 100, 77, 1),
        // Pages of metadata: of the block device, and of an inode of btrfs.
        Event {
            device: (0, 5),
            ..used(EventKind::PageAdded, 11, 100, 78, 1)
        },
        used(EventKind::PageAdded, 12, 100, 1, 1),
        used(EventKind::CommitStarted, 13, 9, 0, 0),
        queued(20, 100, "RM", (0, 8)),
        queued(30, 9, "WSM", (8, 8)),
        queued(40, 100, "R", (16, 16)),
        completed(50, "RM", (0, 8)),
        completed(51, "WSM", (8, 8)),
        completed(52, "R", (16, 16)),
    ]);
    let file = Some((77, Access::Buffered));
    assert_eq!(pieces(&batch), [(None, 100), (None, 9), (file, 100)]);
    let kinds = batch
        .pieces
        .iter()
        .map(|piece| (piece.is_metadata(), piece.is_journal));
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds, [(true, false), (true, true), (false, false)]);
}

/// The share of a commit that runs at 200 to 260 in calls that begin at these times and end at 300.
#[test]
fn sync_call_reports_time_in_commit() {
    let call = |at, pid| {
        let started = used(EventKind::CallStarted(SyncCall::Fsync), at, pid, 0, 3);
        [started, used(EventKind::FileSynced, at, pid, 77, 0)]
    };
    let mut events = [call(100, 7), call(230, 8), call(270, 9)].concat();
    events.push(used(EventKind::CommitStarted, 200, 50, 0, 0));
    events.push(used(EventKind::CommitFinished, 260, 50, 0, 0));
    // The last one is of a call that was not seen to begin.
    let ended = |pid| used(EventKind::CallFinished(SyncCall::Fsync), 300, pid, 0, 0);
    events.extend([7, 8, 9, 10].map(ended));
    events.sort_by_key(|event| event.at);
    let batch = collector().add_batch(&events);
    let times: Vec<_> = batch
        .syncs
        .iter()
        .map(|sync| (sync.pid, sync.commit_ns))
        .collect();
    assert_eq!(times, [(7, Some(60)), (8, Some(30)), (9, Some(0))]);
    let first = batch.syncs[0];
    assert_eq!(
        (first.descriptor, first.file, first.duration_ns),
        (Some(3), Some(hint(77)), 200)
    );
    assert!(batch.sightings.contains(&Sighting::Descriptor(7, 3)));
    // Where the commit began before the trace, its time is unknown.
    events.retain(|event| event.kind != EventKind::CommitStarted);
    let batch = collector().add_batch(&events);
    let times: Vec<_> = batch.syncs.iter().map(|sync| sync.commit_ns).collect();
    assert_eq!(times, [None, None, Some(0)]);
}

#[test]
fn after_lost_events_nothing_is_joined() {
    let batch = collector().add_batch(&[
        used(EventKind::PageAdded, 10, 100, 77, 0),
        queued(20, 100, "R", (0, 8)),
        Event::new(EventKind::EventsLost, 30),
        completed(40, "R", (0, 8)),
        queued(50, 100, "R", (8, 8)),
        completed(60, "R", (8, 8)),
    ]);
    assert_eq!(batch.unmatched_bytes, 4096);
    assert_eq!(pieces(&batch), [(None, 100)]);
}

#[test]
fn flushes_and_discards_are_not_counted() {
    let pair = |flags, sectors| {
        [
            queued(10, 1, flags, (0, sectors)),
            completed(11, flags, (0, sectors)),
        ]
    };
    let events = [pair("FF", 0), pair("DS", 800), pair("N", 8)].concat();
    let batch = collector().add_batch(&events);
    assert_eq!((batch.pieces.len(), batch.unmatched_bytes), (0, 0));
}
