use proptest::prelude::*;

use super::*;
use crate::trace::events::event::{FileKey, FixedText, RwbsFlags, ThreadName};

const DISK: DeviceNumber = (8, 0);

/// `7,0 WS 0 + 8`, as the kernel prints it, with step and time prepended.
fn block_event(kind: EventKind, at: u64, flags: &str, sector: u64, sectors: u32) -> Event {
    Event {
        pid: 4711,
        thread_name: ThreadName::from_field(b"fio"),
        device: DISK,
        sector,
        sectors,
        bytes: sectors * 512,
        flags: RwbsFlags::from_field(flags.as_bytes()),
        ..Event::new(kind, at)
    }
}

fn feed_events(matcher: &mut RequestMatcher, events: &[Event]) -> Vec<TracedRequest> {
    let mut requests = Vec::new();
    for event in events {
        matcher.add_event(event, |request| requests.push(request));
    }
    requests
}

fn matched_requests(events: &[Event]) -> Vec<TracedRequest> {
    let mut matcher = RequestMatcher::default();
    let requests = feed_events(&mut matcher, events);
    assert_eq!(matcher.gaps(), MatchErrors::default());
    assert_eq!((matcher.issued.len(), matcher.waiting.len()), (0, 0));
    requests
}

use EventKind::{
    Allocated, BioCompleted, Completed, Dirtied, EventsLost, Inserted, Issued, Queued,
    RecordingResumed, Remapped, Requeued, WritebackFinished, WritebackStarted,
};

#[test]
fn scheduled_read_has_all_stage_times() {
    let found = matched_requests(&[
        block_event(Queued, 100, "RS", 64, 8),
        block_event(Allocated, 110, "RS", 64, 8),
        block_event(Inserted, 130, "RS", 64, 8),
        block_event(Issued, 170, "RS", 64, 8),
        block_event(Completed, 1000, "RS", 64, 8),
    ]);
    let [request] = &found[..] else {
        panic!("{found:?}")
    };
    let stages = request.timestamps.stages();
    assert_eq!(
        (stages.q2g, stages.g2i, stages.i2d, stages.d2c, stages.q2c),
        (Some(10), Some(20), Some(40), Some(830), Some(900))
    );
    assert_eq!((request.sector, request.bytes), (64, 4096));
    assert_eq!(request.charged_actor().unwrap().pid, 4711);
}

/// The parts of a direct write of 2 MiB on a loop device with a limit of 1960 sectors.
#[test]
fn split_bio_yields_one_request_per_part() {
    let found = matched_requests(&[
        block_event(Queued, 100, "WS", 0, 4096),
        block_event(Allocated, 102, "WS", 0, 1960),
        block_event(Allocated, 103, "WS", 1960, 2136),
        block_event(Issued, 104, "WS", 0, 1960),
        block_event(Issued, 105, "WS", 1960, 2136),
        block_event(Completed, 200, "WS", 0, 1960),
        block_event(Completed, 300, "WS", 1960, 2136),
    ]);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|request| request.is_split));
    assert!(
        found
            .iter()
            .all(|request| request.timestamps.queued == Some(100))
    );
    assert_eq!(
        found.iter().map(|request| request.bytes).sum::<u64>(),
        4096 * 512
    );
}

/// A virtio disk on Linux 6.18 while its serial number is read: "N 20 () 0 + 0" is issued, "N ()
/// 18446744073709551615 + 0" is completed.
#[test]
fn command_without_sectors_is_matched_to_its_completion() {
    let command = |kind, at, sector| Event {
        bytes: if kind == Issued { 20 } else { 0 },
        ..block_event(kind, at, "N", sector, 0)
    };
    let found = matched_requests(&[
        command(Issued, 875_987, 0),
        block_event(Issued, 876_001, "FF", 0, 0),
        command(Completed, 876_012, u64::MAX),
        block_event(Completed, 876_016, "FF", u64::MAX, 0),
        command(Issued, 876_100, 0),
        // A command that transfers data is completed with its length.
        block_event(Completed, 876_200, "N", u64::MAX, 8),
    ]);
    let operations: Vec<_> = found.iter().map(|request| request.operation).collect();
    let (other, flush) = (RequestOperation::Other, RequestOperation::Flush);
    assert_eq!(operations, [other, flush, other]);
    assert_eq!(found[0].bytes, 20);
}

#[test]
fn merged_bios_and_requests_yield_one_request() {
    let found = matched_requests(&[
        block_event(Queued, 100, "W", 8, 8),
        block_event(Allocated, 101, "W", 8, 8),
        block_event(Queued, 102, "W", 16, 8),
        block_event(Queued, 90, "W", 0, 8),
        block_event(Queued, 106, "W", 24, 8),
        block_event(Allocated, 107, "W", 24, 8),
        block_event(Inserted, 109, "W", 0, 32),
        block_event(Issued, 110, "W", 0, 32),
        block_event(Completed, 200, "W", 0, 32),
    ]);
    let [request] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((request.sector, request.bytes), (0, 32 * 512));
    assert_eq!(request.merged_count, 3);
    assert_eq!(request.timestamps.queued, Some(90), "the earliest of them");
    assert_eq!(request.timestamps.inserted, Some(109));
}

#[test]
fn requeued_request_is_issued_again() {
    let found = matched_requests(&[
        block_event(Queued, 100, "R", 0, 8),
        block_event(Allocated, 101, "R", 0, 8),
        block_event(Issued, 102, "R", 0, 8),
        block_event(Requeued, 103, "R", 0, 8),
        block_event(Inserted, 104, "R", 0, 8),
        block_event(Issued, 150, "R", 0, 8),
        block_event(Completed, 200, "R", 0, 8),
    ]);
    assert_eq!(found[0].requeue_count, 1);
    assert_eq!(found[0].timestamps.stages().d2c, Some(50));
    assert_eq!(found[0].timestamps.stages().q2d, Some(50));
}

#[test]
fn partially_completed_request_is_reported_once() {
    let mut failed = block_event(Completed, 300, "R", 16, 16);
    failed.error = -5;
    let found = matched_requests(&[
        block_event(Queued, 100, "R", 0, 32),
        block_event(Allocated, 101, "R", 0, 32),
        block_event(Issued, 102, "R", 0, 32),
        block_event(Completed, 200, "R", 0, 16),
        failed,
    ]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].sector, found[0].bytes), (0, 32 * 512));
    assert_eq!((found[0].timestamps.completed, found[0].error), (300, -5));
}

/// A flush as kernel 6.18 traces it: queued as FWS, completed as WS, and served by FF whose sector
/// is 0 at first and -1 at the end.
#[test]
fn flush_yields_flush_request_and_flush_command() {
    let found = matched_requests(&[
        block_event(Queued, 100, "FWS", 0, 0),
        block_event(Allocated, 101, "FWS", 0, 0),
        block_event(Issued, 110, "FF", 0, 0),
        block_event(Completed, 500, "FF", u64::MAX, 0),
        block_event(Completed, 501, "WS", 0, 0),
    ]);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|r| r.operation == RequestOperation::Flush));
    assert_eq!(found[0].timestamps.stages().d2c, Some(390));
    assert_eq!(found[0].timestamps.stages().q2c, None);
    assert_eq!(found[1].timestamps.stages().q2c, Some(401));
    assert_eq!(found[1].charged_actor().unwrap().pid, 4711);
}

#[test]
fn concurrent_requests_to_same_sector_are_distinguished() {
    let found = matched_requests(&[
        block_event(Queued, 100, "R", 0, 8),
        block_event(Allocated, 101, "R", 0, 8),
        block_event(Queued, 102, "R", 0, 16),
        block_event(Allocated, 103, "R", 0, 16),
        block_event(Issued, 104, "R", 0, 16),
        block_event(Issued, 105, "R", 0, 8),
        block_event(Completed, 200, "R", 0, 8),
        block_event(Completed, 300, "R", 0, 16),
    ]);
    assert_eq!(found[0].timestamps.queued, Some(100));
    assert_eq!(
        (found[1].timestamps.queued, found[1].bytes),
        (Some(102), 8192)
    );
}

#[test]
fn partition_request_is_reported_on_its_drive_with_origin() {
    let part = (8, 1);
    let mut matcher = RequestMatcher::new(HashMap::from([(part, DISK)]));
    let mut remap = block_event(Remapped, 99, "R", 2148, 8);
    (remap.device, remap.origin) = (part, (part, 100));
    let mut queued = block_event(Queued, 100, "R", 2148, 8);
    queued.device = part;
    let found = feed_events(
        &mut matcher,
        &[
            remap,
            queued,
            block_event(Issued, 101, "R", 2148, 8),
            block_event(Completed, 102, "R", 2148, 8),
        ],
    );
    // Without G, and with it.
    assert_eq!(
        (found[0].device, found[0].timestamps.queued),
        (DISK, Some(100))
    );
    let mut allocated = block_event(Allocated, 200, "R", 2148, 8);
    allocated.device = part;
    let found = feed_events(
        &mut matcher,
        &[
            remap,
            queued,
            allocated,
            block_event(Issued, 201, "R", 2148, 8),
            block_event(Completed, 202, "R", 2148, 8),
        ],
    );
    assert_eq!(found[0].remapped_from, Some((part, 100)));
    assert_eq!(found[0].timestamps.queued, Some(100));
}

#[test]
fn bio_based_device_has_only_q2c_time() {
    let found = matched_requests(&[
        block_event(Queued, 100, "R", 0, 128),
        block_event(BioCompleted, 300, "R", 0, 128),
        block_event(Queued, 400, "R", 8, 8),
        block_event(BioCompleted, 450, "R", 8, 8),
    ]);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].bytes, 128 * 512);
    assert_eq!(found[0].timestamps.stages().q2c, Some(200));
    assert_eq!(found[1].timestamps.stages().d2c, None);
}

#[test]
fn writeback_request_is_charged_to_dirtying_process() {
    let of_file = |kind, at, pid| Event {
        pid,
        thread_name: ThreadName::from_field(if pid == 7 { b"kworker" } else { b"dd" }),
        file: FileKey {
            backing_device: FixedText::from_field(b"8:0"),
            inode: 12,
        },
        ..Event::new(kind, at)
    };
    let mut queued = block_event(Queued, 100, "W", 0, 8);
    (queued.pid, queued.thread_name) = (7, ThreadName::from_field(b"kworker"));
    let found = matched_requests(&[
        of_file(Dirtied, 1, 300),
        of_file(WritebackStarted, 99, 7),
        queued,
        block_event(Allocated, 101, "W", 0, 8),
        of_file(WritebackFinished, 102, 7),
        block_event(Issued, 103, "W", 0, 8),
        block_event(Completed, 200, "W", 0, 8),
    ]);
    assert_eq!(found[0].charged_actor().unwrap().name.as_bytes(), b"dd");
    assert_eq!(found[0].submitter.unwrap().name.as_bytes(), b"kworker");
}

#[test]
fn completion_without_seen_issue_is_counted_as_match_error() {
    let mut matcher = RequestMatcher::default();
    let found = feed_events(
        &mut matcher,
        &[
            block_event(Completed, 10, "R", 0, 8),
            block_event(Issued, 20, "R", 8, 8),
            block_event(Completed, 30, "R", 8, 8),
            block_event(Requeued, 31, "R", 8, 8),
        ],
    );
    assert_eq!(matcher.gaps().unmatched_completions, 1);
    assert_eq!(found.len(), 1, "issued within the trace");
    assert_eq!(found[0].timestamps.stages().q2c, None);
    assert_eq!(found[0].timestamps.stages().d2c, Some(10));
    assert_eq!(found[0].charged_actor(), None);
}

#[test]
fn request_without_completion_is_abandoned_after_timeout() {
    let mut matcher = RequestMatcher::default();
    feed_events(
        &mut matcher,
        &[
            block_event(Queued, 1, "R", 0, 8),
            block_event(Allocated, 2, "R", 0, 8),
            block_event(Queued, 3, "R", 8, 8),
            block_event(Queued, 2 * ABANDON_AFTER_NS, "R", 16, 8),
        ],
    );
    assert_eq!((matcher.in_flight(), matcher.waiting.len()), (0, 1));
    assert_eq!(matcher.gaps().abandoned_requests, 1);
}

#[test]
fn lost_events_clear_requests_in_flight() {
    let mut matcher = RequestMatcher::default();
    let found = feed_events(
        &mut matcher,
        &[
            block_event(Queued, 1, "R", 0, 8),
            block_event(Allocated, 2, "R", 0, 8),
            block_event(Issued, 3, "R", 0, 8),
            Event::new(EventsLost, 500),
            block_event(Queued, 1000, "R", 0, 8),
            block_event(Allocated, 1001, "R", 0, 8),
            block_event(Issued, 1002, "R", 0, 8),
            block_event(Completed, 1100, "R", 0, 8),
        ],
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].timestamps.stages().q2c, Some(100));
    assert_eq!(matcher.gaps().abandoned_requests, 1);
}

#[test]
fn pause_clears_requests_in_flight_without_match_errors() {
    let mut matcher = RequestMatcher::default();
    let found = feed_events(
        &mut matcher,
        &[
            block_event(Queued, 1, "R", 0, 8),
            block_event(Issued, 3, "R", 0, 8),
            Event::new(RecordingResumed, 500),
            block_event(Queued, 1000, "R", 0, 8),
        ],
    );
    assert_eq!(found.len(), 0);
    assert_eq!(matcher.oldest_queued(), Some(1000));
    assert_eq!(matcher.gaps(), MatchErrors::default());
}

proptest! {
    /// In any interleaving of several requests' events, each request is reported exactly once.
    #[test]
    fn matcher_reports_every_interleaved_request_once(picks in proptest::collection::vec(0_usize..8, 40)) {
        let steps = [Queued, Allocated, Inserted, Issued, Completed];
        let mut progress = [0_usize; 8];
        let mut matcher = RequestMatcher::default();
        let mut completed = Vec::new();
        let every = (0..8).flat_map(|index| std::iter::repeat_n(index, steps.len()));
        for (at, index) in picks.into_iter().chain(every).enumerate() {
            let Some(step) = steps.get(progress[index]) else { continue };
            progress[index] += 1;
            let event = block_event(*step, at as u64, "R", 1000 * index as u64, 8);
            matcher.add_event(&event, |request| completed.push(request));
        }
        prop_assert_eq!(completed.len(), 8);
        prop_assert_eq!((matcher.in_flight(), matcher.waiting.len()), (0, 0));
        for request in &completed {
            let stages = request.timestamps.stages();
            let parts = stages.q2g.unwrap() + stages.g2i.unwrap() + stages.i2d.unwrap()
                + stages.d2c.unwrap();
            prop_assert_eq!(stages.q2c, Some(parts));
        }
    }

    /// Invalid events neither stop it nor make it grow.
    #[test]
    fn matcher_accepts_any_event_stream(
        stream in proptest::collection::vec((0_u8..8, 0_u64..64, 0_u32..16), 0..300)
    ) {
        let kinds = [Queued, Remapped, Allocated, Inserted, Issued, Requeued, Completed, BioCompleted];
        let mut matcher = RequestMatcher::default();
        let (mut completed, mut completions) = (0, 0);
        let count = stream.len();
        for (at, (kind, sector, sectors)) in stream.into_iter().enumerate() {
            let kind = kinds[usize::from(kind)];
            completions += u64::from(matches!(kind, Completed | BioCompleted));
            matcher.add_event(&block_event(kind, at as u64, "W", sector, sectors), |_| completed += 1);
        }
        prop_assert!(completed <= completions);
        // An event takes one out, puts one back, and leaves at most what is before and behind it.
        prop_assert!(matcher.waiting.len() + matcher.issued.len() <= 2 * count);
    }
}
