use super::super::operation::Operation;
use super::*;
use crate::probe::trace::event::{FileKey, Flags, Name, Word};
use proptest::prelude::*;

const DISK: Number = (8, 0);

/// `7,0 WS 0 + 8`, as the kernel prints it, with the step and time before it.
fn event(step: Step, at: u64, flags: &str, sector: u64, sectors: u32) -> BlockEvent {
    BlockEvent {
        pid: 4711,
        name: Name::of(b"fio"),
        device: DISK,
        sector,
        sectors,
        bytes: sectors * 512,
        flags: Flags::of(flags.as_bytes()),
        ..BlockEvent::new(step, at)
    }
}

fn run(matcher: &mut Matcher, events: &[BlockEvent]) -> Vec<Request> {
    let mut requests = Vec::new();
    for event in events {
        matcher.feed(event, |request| requests.push(request));
    }
    requests
}

fn requests(events: &[BlockEvent]) -> Vec<Request> {
    let mut matcher = Matcher::default();
    let requests = run(&mut matcher, events);
    assert_eq!(matcher.gaps(), Gaps::default());
    assert_eq!((matcher.under_way(), matcher.bios.len()), (0, 0));
    assert_eq!(matcher.ends.len(), 0);
    requests
}

use Step::*;

#[test]
fn a_read_through_a_scheduler_has_all_stages() {
    let found = requests(&[
        event(Queued, 100, "RS", 64, 8),
        event(Allocated, 110, "RS", 64, 8),
        event(Inserted, 130, "RS", 64, 8),
        event(Issued, 170, "RS", 64, 8),
        event(Completed, 1000, "RS", 64, 8),
    ]);
    let [request] = &found[..] else {
        panic!("{found:?}")
    };
    let stages = request.times.stages();
    assert_eq!(
        (stages.q2g, stages.g2i, stages.i2d, stages.d2c, stages.q2c),
        (Some(10), Some(20), Some(40), Some(830), Some(900))
    );
    assert_eq!((request.sector, request.bytes), (64, 4096));
    assert_eq!(request.charged().unwrap().pid, 4711);
}

/// What a loop device with a limit of 1960 sectors makes of a direct write of 2 MiB.
#[test]
fn parts_of_a_split_are_requests_of_their_own() {
    let mut split = event(Split, 101, "WS", 0, 0);
    split.other_sector = 1960;
    let found = requests(&[
        event(Queued, 100, "WS", 0, 4096),
        split,
        event(Allocated, 102, "WS", 0, 1960),
        event(Allocated, 103, "WS", 1960, 2136),
        event(Issued, 104, "WS", 0, 1960),
        event(Issued, 105, "WS", 1960, 2136),
        event(Completed, 200, "WS", 0, 1960),
        event(Completed, 300, "WS", 1960, 2136),
    ]);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|request| request.split));
    assert!(
        found
            .iter()
            .all(|request| request.times.queued == Some(100))
    );
    assert_eq!(
        found.iter().map(|request| request.bytes).sum::<u64>(),
        4096 * 512
    );
}

#[test]
fn merged_bios_and_requests_become_one() {
    let found = requests(&[
        event(Queued, 100, "W", 8, 8),
        event(Allocated, 101, "W", 8, 8),
        event(Queued, 102, "W", 16, 8),
        event(BackMerged, 103, "W", 16, 8),
        event(Queued, 90, "W", 0, 8),
        event(FrontMerged, 105, "W", 0, 8),
        event(Queued, 106, "W", 24, 8),
        event(Allocated, 107, "W", 24, 8),
        event(RequestMerged, 108, "W", 24, 8),
        event(Inserted, 109, "W", 0, 32),
        event(Issued, 110, "W", 0, 32),
        event(Completed, 200, "W", 0, 32),
    ]);
    let [request] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((request.sector, request.bytes), (0, 32 * 512));
    assert_eq!(request.merged, 3);
    assert_eq!(request.times.queued, Some(90), "the earliest of them");
    assert_eq!(request.times.inserted, Some(109));
}

#[test]
fn a_request_given_back_is_issued_again() {
    let found = requests(&[
        event(Queued, 100, "R", 0, 8),
        event(Allocated, 101, "R", 0, 8),
        event(Issued, 102, "R", 0, 8),
        event(Requeued, 103, "R", 0, 8),
        event(Inserted, 104, "R", 0, 8),
        event(Issued, 150, "R", 0, 8),
        event(Completed, 200, "R", 0, 8),
    ]);
    assert_eq!(found[0].requeued, 1);
    assert_eq!(found[0].times.stages().d2c, Some(50));
    assert_eq!(found[0].times.stages().q2d, Some(50));
}

#[test]
fn a_request_complete_in_parts_is_told_once() {
    let mut failed = event(Completed, 300, "R", 16, 16);
    failed.error = -5;
    let found = requests(&[
        event(Queued, 100, "R", 0, 32),
        event(Allocated, 101, "R", 0, 32),
        event(Issued, 102, "R", 0, 32),
        event(Completed, 200, "R", 0, 16),
        failed,
    ]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].sector, found[0].bytes), (0, 32 * 512));
    assert_eq!((found[0].times.completed, found[0].error), (300, -5));
}

/// As kernel 6.18 tells of a flush: asked for as FWS, complete as WS, and served by FF whose
/// sector is 0 at first and -1 in the end.
#[test]
fn a_flush_is_a_wish_and_a_command() {
    let found = requests(&[
        event(Queued, 100, "FWS", 0, 0),
        event(Allocated, 101, "FWS", 0, 0),
        event(Issued, 110, "FF", 0, 0),
        event(Completed, 500, "FF", u64::MAX, 0),
        event(Completed, 501, "WS", 0, 0),
    ]);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|r| r.operation == Operation::Flush));
    assert_eq!(found[0].times.stages().d2c, Some(390));
    assert_eq!(found[0].times.stages().q2c, None);
    assert_eq!(found[1].times.stages().q2c, Some(401));
    assert_eq!(found[1].charged().unwrap().pid, 4711);
}

#[test]
fn the_same_sector_twice_at_once() {
    let found = requests(&[
        event(Queued, 100, "R", 0, 8),
        event(Allocated, 101, "R", 0, 8),
        event(Queued, 102, "R", 0, 16),
        event(Allocated, 103, "R", 0, 16),
        event(Issued, 104, "R", 0, 16),
        event(Issued, 105, "R", 0, 8),
        event(Completed, 200, "R", 0, 8),
        event(Completed, 300, "R", 0, 16),
    ]);
    assert_eq!(found[0].times.queued, Some(100));
    assert_eq!((found[1].times.queued, found[1].bytes), (Some(102), 8192));
}

#[test]
fn a_partition_is_told_as_its_drive_and_where_it_came_from() {
    let part = (8, 1);
    let mut matcher = Matcher::new(HashMap::from([(part, DISK)]));
    let mut remap = event(Remapped, 99, "R", 2148, 8);
    (remap.device, remap.other_device, remap.other_sector) = (part, part, 100);
    let mut queued = event(Queued, 100, "R", 2148, 8);
    queued.device = part;
    let found = run(
        &mut matcher,
        &[
            remap,
            queued,
            event(Issued, 101, "R", 2148, 8),
            event(Completed, 102, "R", 2148, 8),
        ],
    );
    // The same without G and with it.
    assert_eq!((found[0].device, found[0].times.queued), (DISK, Some(100)));
    let mut allocated = event(Allocated, 200, "R", 2148, 8);
    allocated.device = part;
    let found = run(
        &mut matcher,
        &[
            remap,
            queued,
            allocated,
            event(Issued, 201, "R", 2148, 8),
            event(Completed, 202, "R", 2148, 8),
        ],
    );
    assert_eq!(found[0].from, Some((part, 100)));
    assert_eq!(found[0].times.queued, Some(100));
}

#[test]
fn a_device_that_makes_no_requests_is_known_from_end_to_end() {
    let mut split = event(Split, 101, "R", 0, 0);
    split.other_sector = 64;
    let found = requests(&[
        event(Queued, 100, "R", 0, 128),
        split,
        event(BioCompleted, 300, "R", 0, 128),
        event(Queued, 400, "R", 8, 8),
        event(BioCompleted, 450, "R", 8, 8),
    ]);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].bytes, 128 * 512);
    assert_eq!(found[0].times.stages().q2c, Some(200));
    assert_eq!(found[1].times.stages().d2c, None);
}

#[test]
fn written_back_pages_are_charged_to_who_made_them_dirty() {
    let of_file = |step, at, pid| BlockEvent {
        pid,
        name: Name::of(if pid == 7 { b"kworker" } else { b"dd" }),
        file: FileKey {
            backing: Word::of(b"8:0"),
            inode: 12,
        },
        ..BlockEvent::new(step, at)
    };
    let mut queued = event(Queued, 100, "W", 0, 8);
    (queued.pid, queued.name) = (7, Name::of(b"kworker"));
    let found = requests(&[
        of_file(Dirtied, 1, 300),
        of_file(WritebackBegins, 99, 7),
        queued,
        event(Allocated, 101, "W", 0, 8),
        of_file(WritebackEnds, 102, 7),
        event(Issued, 103, "W", 0, 8),
        event(Completed, 200, "W", 0, 8),
    ]);
    assert_eq!(found[0].charged().unwrap().name.bytes(), b"dd");
    assert_eq!(found[0].submitter.unwrap().name.bytes(), b"kworker");
}

#[test]
fn what_began_before_the_trace_is_counted_and_not_told() {
    let mut matcher = Matcher::default();
    let found = run(
        &mut matcher,
        &[
            event(Completed, 10, "R", 0, 8),
            event(Issued, 20, "R", 8, 8),
            event(Completed, 30, "R", 8, 8),
            event(Requeued, 31, "R", 8, 8),
            event(BackMerged, 32, "R", 8, 8),
        ],
    );
    assert_eq!(matcher.gaps().unseen, 1);
    assert_eq!(found.len(), 1, "issued within the trace");
    assert_eq!(found[0].times.stages().q2c, None);
    assert_eq!(found[0].times.stages().d2c, Some(10));
    assert_eq!(found[0].charged(), None);
}

#[test]
fn what_never_ends_is_given_up() {
    let mut matcher = Matcher::default();
    run(
        &mut matcher,
        &[
            event(Queued, 1, "R", 0, 8),
            event(Allocated, 2, "R", 0, 8),
            event(Queued, 3, "R", 8, 8),
            event(Queued, 2 * PATIENCE_NS, "R", 16, 8),
        ],
    );
    assert_eq!((matcher.under_way(), matcher.bios.len()), (0, 1));
    assert_eq!(matcher.gaps().abandoned, 1);
    assert_eq!(matcher.ends.len(), 0);
}

#[test]
fn after_lost_events_nothing_old_is_taken_for_something_new() {
    let mut matcher = Matcher::default();
    let found = run(
        &mut matcher,
        &[
            event(Queued, 1, "R", 0, 8),
            event(Allocated, 2, "R", 0, 8),
            event(Issued, 3, "R", 0, 8),
            BlockEvent::new(Lost, 500),
            event(Queued, 1000, "R", 0, 8),
            event(Allocated, 1001, "R", 0, 8),
            event(Issued, 1002, "R", 0, 8),
            event(Completed, 1100, "R", 0, 8),
        ],
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].times.stages().q2c, Some(100));
    assert_eq!(matcher.gaps().abandoned, 1);
}

#[test]
fn what_was_under_way_before_a_rest_is_forgotten_and_no_gap() {
    let mut matcher = Matcher::default();
    let found = run(
        &mut matcher,
        &[
            event(Queued, 1, "R", 0, 8),
            event(Issued, 3, "R", 0, 8),
            BlockEvent::new(Resumed, 500),
            event(Queued, 1000, "R", 0, 8),
        ],
    );
    assert_eq!(found.len(), 0);
    assert_eq!(matcher.oldest_queued(), Some(1000));
    assert_eq!(matcher.gaps(), Gaps::default());
}

proptest! {
    /// Whatever order several requests' events are interleaved in, each is told exactly once.
    #[test]
    fn every_request_is_told_once(picks in proptest::collection::vec(0_usize..8, 40)) {
        let steps = [Queued, Allocated, Inserted, Issued, Completed];
        let mut progress = [0_usize; 8];
        let mut matcher = Matcher::default();
        let mut told = Vec::new();
        let every = (0..8).flat_map(|index| std::iter::repeat_n(index, steps.len()));
        for (at, index) in picks.into_iter().chain(every).enumerate() {
            let Some(step) = steps.get(progress[index]) else { continue };
            progress[index] += 1;
            let event = event(*step, at as u64, "R", 1000 * index as u64, 8);
            matcher.feed(&event, |request| told.push(request));
        }
        prop_assert_eq!(told.len(), 8);
        prop_assert_eq!((matcher.under_way(), matcher.bios.len()), (0, 0));
        for request in &told {
            let stages = request.times.stages();
            let parts = stages.q2g.unwrap() + stages.g2i.unwrap() + stages.i2d.unwrap()
                + stages.d2c.unwrap();
            prop_assert_eq!(stages.q2c, Some(parts));
        }
    }

    /// Nonsense neither stops it nor makes it grow.
    #[test]
    fn no_stream_makes_it_stumble(
        stream in proptest::collection::vec((0_u8..12, 0_u64..64, 0_u32..16, 0_u64..64), 0..300)
    ) {
        let steps = [Queued, Split, Remapped, BackMerged, FrontMerged, Allocated, Inserted,
            RequestMerged, Issued, Requeued, Completed, BioCompleted];
        let mut matcher = Matcher::default();
        let (mut told, mut begun) = (0, 0);
        for (at, (step, sector, sectors, other)) in stream.into_iter().enumerate() {
            let step = steps[usize::from(step)];
            begun += u64::from(matches!(step, Queued | Allocated | Issued | Split));
            let mut event = event(step, at as u64, "W", sector, sectors);
            event.other_sector = other;
            matcher.feed(&event, |_| told += 1);
        }
        prop_assert!(told <= begun);
    }
}
