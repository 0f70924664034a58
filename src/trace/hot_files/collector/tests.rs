use super::*;
use crate::trace::events::event::ThreadName;
use crate::trace::events::file_event::SyncCall;

const DRIVE: DeviceNumber = (8, 0);
const PARTITION: DeviceNumber = (8, 1);

fn collector() -> FileTraceCollector {
    FileTraceCollector::new(CollectorSettings {
        drive_by_device: [(PARTITION, DRIVE)].into_iter().collect(),
        file_systems: [PARTITION].into_iter().collect(),
        page_bytes: 4096,
    })
}

fn file(inode: u64) -> InodeKey {
    InodeKey {
        device: PARTITION,
        inode,
    }
}

fn bio(step: RequestStep, at: u64, pid: u32, (sector, sectors): (u64, u32)) -> BlockEvent {
    BlockEvent {
        pid,
        thread_name: ThreadName::from_field(b"dd"),
        device: match step {
            RequestStep::Queued => PARTITION,
            _ => DRIVE,
        },
        sector,
        sectors,
        flags: RwbsFlags::from_field(b"R"),
        ..BlockEvent::new(step, at)
    }
}

fn with_flags(event: BlockEvent, flags: &[u8]) -> BlockEvent {
    BlockEvent {
        flags: RwbsFlags::from_field(flags),
        ..event
    }
}

fn of_file(step: RequestStep, at: u64, pid: u32, inode: u64) -> BlockEvent {
    BlockEvent {
        pid,
        thread_name: ThreadName::from_field(b"cp"),
        file: FileKey {
            backing_device: FixedText::from_field(b"8:0"),
            inode,
        },
        ..BlockEvent::new(step, at)
    }
}

fn action(at: u64, pid: u32, action: FileAction) -> FileEvent {
    FileEvent {
        timestamp_ns: at,
        pid,
        action,
    }
}

#[test]
fn buffered_read_of_partition_is_joined_with_its_file() {
    let added = FileAction::PageAdded {
        file: file(77),
        pages: 2,
    };
    let batch = collector().add_batch(
        &[
            bio(RequestStep::Queued, 20, 100, (2048, 16)),
            bio(RequestStep::Completed, 90, 0, (2048, 16)),
        ],
        &[action(10, 100, added)],
    );
    let [piece] = batch.pieces[..] else {
        panic!("{batch:?}");
    };
    assert_eq!(
        (piece.drive, piece.sector, piece.bytes),
        (DRIVE, 2048, 8192)
    );
    assert_eq!(piece.hint, Some(file(77).into()));
    assert_eq!(
        (piece.access, piece.latency_ns),
        (Some(Access::Buffered), 70)
    );
    assert_eq!(piece.submitter.pid, 100);
    assert!(
        batch
            .sightings
            .contains(&Sighting::File(file(77).into(), 100))
    );
}

#[test]
fn writeback_is_charged_to_thread_that_dirtied_the_file() {
    let queued = with_flags(bio(RequestStep::Queued, 40, 5, (0, 8)), b"W");
    let completed = with_flags(bio(RequestStep::Completed, 50, 0, (0, 8)), b"W");
    let batch = collector().add_batch(
        &[
            of_file(RequestStep::Dirtied, 10, 100, 7),
            of_file(RequestStep::WritebackStarted, 30, 5, 7),
            queued,
            completed,
        ],
        &[],
    );
    let piece = batch.pieces[0];
    assert_eq!(piece.charged_actor().pid, 100);
    assert_eq!(piece.access, Some(Access::Writeback));
    let hint = piece.hint.unwrap();
    assert_eq!((hint.system, hint.inode), (FileSystemHint::Drive, 7));
}

#[test]
fn synced_file_is_charged_to_thread_that_dirtied_it() {
    let of_drive = |event: BlockEvent| BlockEvent {
        file: FileKey {
            backing_device: FixedText::from_field(format!("{}:{}", DRIVE.0, DRIVE.1).as_bytes()),
            inode: 77,
        },
        ..event
    };
    let written = |at, pid, sector| {
        [
            with_flags(bio(RequestStep::Queued, at, pid, (sector, 8)), b"W"),
            with_flags(bio(RequestStep::Completed, at + 1, 0, (sector, 8)), b"W"),
        ]
    };
    let dirtied = of_drive(of_file(RequestStep::Dirtied, 10, 100, 77));
    let [first, second] = written(40, 7, 0);
    let [third, fourth] = written(50, 8, 64);
    let batch = collector().add_batch(
        &[dirtied, first, second, third, fourth],
        &[action(30, 7, FileAction::FileSynced { file: file(77) })],
    );
    let charged: Vec<u32> = batch
        .pieces
        .iter()
        .map(|it| it.charged_actor().pid)
        .collect();
    // The second thread writes something else.
    assert_eq!(charged, [100, 8]);
    assert_eq!(batch.pieces[0].submitter.pid, 7);
}

#[test]
fn metadata_and_journal_are_charged_to_no_file() {
    let added = FileAction::PageAdded {
        file: file(77),
        pages: 2,
    };
    let pair = |at, pid, sector, flags: &[u8]| {
        [
            with_flags(bio(RequestStep::Queued, at, pid, (sector, 8)), flags),
            with_flags(bio(RequestStep::Completed, at + 1, pid, (sector, 8)), flags),
        ]
    };
    let events = [pair(20, 100, 0, b"RM"), pair(30, 9, 8, b"WSM")].concat();
    let commit = FileAction::CommitStarted { device: PARTITION };
    let batch = collector().add_batch(&events, &[action(10, 100, added), action(11, 9, commit)]);
    let [metadata, journal] = batch.pieces[..] else {
        panic!("{batch:?}");
    };
    assert!(metadata.is_metadata && !metadata.is_journal && metadata.hint.is_none());
    assert!(journal.is_journal && journal.hint.is_none());
}

#[test]
fn pages_of_metadata_do_not_hide_those_of_the_file() {
    let added = |at, file| action(at, 100, FileAction::PageAdded { file, pages: 2 });
    let block_device = InodeKey {
        device: (0, 5),
        inode: 77,
    };
    let batch = collector().add_batch(
        &[
            with_flags(bio(RequestStep::Queued, 20, 100, (64, 8)), b"RM"),
            bio(RequestStep::Queued, 30, 100, (0, 16)),
            bio(RequestStep::Completed, 40, 0, (0, 16)),
        ],
        &[
            added(10, file(77)),
            added(11, file(1)),
            added(12, block_device),
        ],
    );
    assert_eq!(batch.pieces[0].hint, Some(file(77).into()));
}

#[test]
fn sync_call_reports_share_of_commit() {
    let call = SyncCall::Fsync;
    let events = [
        action(
            100,
            7,
            FileAction::CallStarted {
                call,
                descriptor: Some(3),
            },
        ),
        action(110, 7, FileAction::FileSynced { file: file(77) }),
        action(200, 9, FileAction::CommitStarted { device: PARTITION }),
        action(260, 9, FileAction::CommitFinished { device: PARTITION }),
        action(300, 7, FileAction::CallFinished { call }),
        // Not of a call that was seen to begin.
        action(310, 8, FileAction::CallFinished { call }),
    ];
    let batch = collector().add_batch(&[], &events);
    let expected = SyncRecord {
        call,
        pid: 7,
        descriptor: Some(3),
        file: Some(file(77).into()),
        started_ns: 100,
        duration_ns: 200,
        commit_ns: Some(60),
    };
    assert_eq!(batch.syncs, [expected]);
}

#[test]
fn commit_that_began_before_the_call_counts_from_its_start_only() {
    let call = SyncCall::Fsync;
    let descriptor = Some(3);
    let events = [
        action(50, 9, FileAction::CommitStarted { device: PARTITION }),
        action(100, 7, FileAction::CallStarted { call, descriptor }),
        action(100, 7, FileAction::FileSynced { file: file(77) }),
        action(200, 7, FileAction::CallFinished { call }),
    ];
    let batch = collector().add_batch(&[], &events);
    assert_eq!(batch.syncs[0].commit_ns, Some(100));
}

#[test]
fn time_in_commit_is_unknown_where_a_commit_began_before_the_trace() {
    let call = SyncCall::Fsync;
    let descriptor = Some(3);
    let calls = |at, pid| {
        [
            action(at, pid, FileAction::CallStarted { call, descriptor }),
            action(at, pid, FileAction::FileSynced { file: file(77) }),
        ]
    };
    let finished = |at, pid| action(at, pid, FileAction::CallFinished { call });
    let committed = action(150, 9, FileAction::CommitFinished { device: PARTITION });
    let [first, second] = calls(100, 7);
    let [third, fourth] = calls(160, 8);
    let events = [
        first,
        second,
        committed,
        third,
        fourth,
        finished(200, 7),
        finished(210, 8),
    ];
    let batch = collector().add_batch(&[], &events);
    let times: Vec<_> = batch.syncs.iter().map(|sync| sync.commit_ns).collect();
    assert_eq!(times, [None, Some(0)]);
}

#[test]
fn after_lost_events_nothing_is_joined() {
    let added = FileAction::PageAdded {
        file: file(77),
        pages: 1,
    };
    let batch = collector().add_batch(
        &[
            bio(RequestStep::Queued, 20, 100, (0, 8)),
            BlockEvent::new(RequestStep::EventsLost, 30),
            bio(RequestStep::Completed, 40, 0, (0, 8)),
            bio(RequestStep::Queued, 50, 100, (8, 8)),
            bio(RequestStep::Completed, 60, 0, (8, 8)),
        ],
        &[action(10, 100, added)],
    );
    assert_eq!(batch.unmatched_bytes, 4096);
    assert_eq!(batch.pieces.len(), 1);
    assert_eq!(batch.pieces[0].hint, None);
}

#[test]
fn flushes_and_discards_are_not_counted() {
    let pair = |flags: &[u8], sectors| {
        [RequestStep::Queued, RequestStep::Completed]
            .map(|step| with_flags(bio(step, 10, 1, (0, sectors)), flags))
    };
    let events = [pair(b"FF", 0), pair(b"DS", 800), pair(b"N", 8)].concat();
    let batch = collector().add_batch(&events, &[]);
    assert_eq!((batch.pieces.len(), batch.unmatched_bytes), (0, 0));
}

#[test]
fn thread_is_announced_once_per_interval() {
    let mut collector = collector();
    let queued = |at| bio(RequestStep::Queued, at, 100, (at, 8));
    let threads = |batch: &CollectedBatch| batch.sightings.len();
    assert_eq!(
        threads(&collector.add_batch(&[queued(1), queued(2)], &[])),
        1
    );
    let later = SIGHTING_INTERVAL_NS + 10;
    assert_eq!(threads(&collector.add_batch(&[queued(later)], &[])), 1);
}

#[test]
fn program_that_a_process_executes_is_looked_up_each_time() {
    let mut collector = collector();
    let executed = [1, 2].map(|at| action(at, 77, FileAction::Executed));
    let batch = collector.add_batch(&[], &executed);
    assert_eq!(batch.sightings, [Sighting::Executed(77); 2]);
}
