use proptest::prelude::*;

use super::*;
use crate::trace::events::event::{FileKey, FixedText, RwbsFlags, ThreadName};

const DISK: DeviceNumber = (8, 0);

/// An event of thread 4711 as blktrace prints it: letter, time, flags, first sector `+` length.
fn event(text: &str) -> Event {
    let [letter, at, flags, range] = text.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{text}");
    };
    let (sector, sectors) = range.split_once('+').unwrap();
    let kind = match letter {
        "Q" => EventKind::Queued,
        "A" => EventKind::Remapped,
        "G" => EventKind::Allocated,
        "I" => EventKind::Inserted,
        "D" => EventKind::Issued,
        "R" => EventKind::Requeued,
        "C" => EventKind::Completed,
        "B" => EventKind::BioCompleted,
        "L" => EventKind::EventsLost,
        _ => EventKind::RecordingResumed,
    };
    let sectors = sectors.parse().unwrap();
    Event {
        pid: 4711,
        thread_name: ThreadName::from_field(b"fio"),
        device: DISK,
        // -1 is the sector of a command that addresses none.
        sector: sector.parse().unwrap_or(u64::MAX),
        sectors,
        bytes: sectors * 512,
        flags: RwbsFlags::from_field(flags.as_bytes()),
        ..Event::new(kind, at.parse().unwrap())
    }
}

fn events(text: &str) -> Vec<Event> {
    text.split(',').map(event).collect()
}

fn feed(matcher: &mut RequestMatcher, events: &[Event]) -> Vec<TracedRequest> {
    let mut requests = Vec::new();
    for event in events {
        matcher.add_event(event, |request| requests.push(request));
    }
    requests
}

/// The requests of events that leave nothing behind.
fn matched(events: &[Event]) -> Vec<TracedRequest> {
    let mut matcher = RequestMatcher::default();
    let requests = feed(&mut matcher, events);
    assert_eq!(matcher.gaps(), MatchErrors::default());
    assert_eq!((matcher.issued.len(), matcher.waiting.len()), (0, 0));
    requests
}

#[test]
fn scheduled_read_has_all_stage_times() {
    let found = matched(&events(
        "Q 100 RS 64+8, G 110 RS 64+8, I 130 RS 64+8, D 170 RS 64+8, C 1000 RS 64+8",
    ));
    let [request] = &found[..] else {
        panic!("{found:?}")
    };
    let stages = request.timestamps.stages();
    let times = (stages.q2g, stages.g2i, stages.i2d, stages.d2c, stages.q2c);
    assert_eq!(times, (Some(10), Some(20), Some(40), Some(830), Some(900)));
    assert_eq!((request.sector, request.bytes), (64, 4096));
    assert_eq!(request.charged_actor().unwrap().pid, 4711);
}

/// Of each request its sector, its bytes in sectors, its time of Q, and how often it was merged and requeued.
#[test]
fn merges_splits_and_requeues_yield_the_requests_of_the_drive() {
    for (name, text, expected) in [
        // A direct write of 2 MiB on a loop device with a limit of 1960 sectors.
        (
            "split",
            "Q 100 WS 0+4096, G 102 WS 0+1960, G 103 WS 1960+2136, D 104 WS 0+1960, \
             D 105 WS 1960+2136, C 200 WS 0+1960, C 300 WS 1960+2136",
            vec![(0, 1960, 100, 0, 0), (1960, 2136, 100, 0, 0)],
        ),
        // At the end, at the start, and of a whole request.
        (
            "merged",
            "Q 100 W 8+8, G 101 W 8+8, Q 102 W 16+8, Q 90 W 0+8, Q 106 W 24+8, G 107 W 24+8, \
             I 109 W 0+32, D 110 W 0+32, C 200 W 0+32",
            vec![(0, 32, 90, 3, 0)],
        ),
        (
            "requeued",
            "Q 100 R 0+8, G 101 R 0+8, D 102 R 0+8, R 103 R 0+8, I 104 R 0+8, D 150 R 0+8, C 200 R 0+8",
            vec![(0, 8, 100, 0, 1)],
        ),
        (
            "completed in parts",
            "Q 100 R 0+32, G 101 R 0+32, D 102 R 0+32, C 200 R 0+16, C 300 R 16+16",
            vec![(0, 32, 100, 0, 0)],
        ),
        (
            "at the same sector",
            "Q 100 R 0+8, G 101 R 0+8, Q 102 R 0+16, G 103 R 0+16, D 104 R 0+16, D 105 R 0+8, \
             C 200 R 0+8, C 300 R 0+16",
            vec![(0, 8, 100, 0, 0), (0, 16, 102, 0, 0)],
        ),
        (
            "bio-based device",
            "Q 100 R 0+128, B 300 R 0+128, Q 400 R 8+8, B 450 R 8+8",
            vec![(0, 128, 100, 0, 0), (8, 8, 400, 0, 0)],
        ),
    ] {
        let found = matched(&events(text));
        let found: Vec<_> = found
            .iter()
            .map(|it| {
                let queued = it.timestamps.queued.unwrap();
                assert_eq!(it.is_split, name == "split");
                (
                    it.sector,
                    it.bytes / 512,
                    queued,
                    it.merged_count,
                    it.requeue_count,
                )
            })
            .collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn error_of_a_part_and_times_of_merged_and_requeued_requests_are_kept() {
    let mut parts = events("Q 100 R 0+32, D 102 R 0+32, C 200 R 0+16, C 300 R 16+16");
    parts[3].error = -5;
    let found = matched(&parts);
    assert_eq!((found[0].timestamps.completed, found[0].error), (300, -5));
    let merged = "Q 1 W 8+8, G 2 W 8+8, Q 3 W 0+8, I 4 W 0+16, D 5 W 0+16, C 6 W 0+16";
    let times = matched(&events(merged))[0].timestamps;
    assert_eq!((times.allocated, times.inserted), (Some(2), Some(4)));
    let requeued = "Q 100 R 0+8, D 102 R 0+8, R 103 R 0+8, D 150 R 0+8, C 200 R 0+8";
    let stages = matched(&events(requeued))[0].timestamps.stages();
    assert_eq!((stages.q2d, stages.d2c), (Some(50), Some(50)));
}

/// A flush as kernel 6.18 traces it: queued as FWS, completed as WS, and served by FF whose sector
/// is 0 at first and -1 at the end.
#[test]
fn flush_yields_flush_request_and_flush_command() {
    let found = matched(&events(
        "Q 100 FWS 0+0, G 101 FWS 0+0, D 110 FF 0+0, C 500 FF -1+0, C 501 WS 0+0",
    ));
    assert!(
        found
            .iter()
            .all(|it| it.operation == RequestOperation::Flush)
    );
    let stages = |index: usize| found[index].timestamps.stages();
    assert_eq!((stages(0).d2c, stages(0).q2c), (Some(390), None));
    assert_eq!((stages(1).q2c, found.len()), (Some(401), 2));
    assert_eq!(found[1].charged_actor().unwrap().pid, 4711);
}

/// A virtio disk on Linux 6.18 while its serial number is read: "N 20 () 0 + 0" is issued, "N ()
/// 18446744073709551615 + 0" is completed. A command that transfers data is completed with its length.
#[test]
fn command_without_sectors_is_matched_to_its_completion() {
    let mut all = events("D 1 N 0+0, D 2 FF 0+0, C 3 N -1+0, C 4 FF -1+0, D 5 N 0+0, C 6 N -1+8");
    all[0].bytes = 20;
    let found = matched(&all);
    let operations: Vec<_> = found.iter().map(|request| request.operation).collect();
    let (other, flush) = (RequestOperation::Other, RequestOperation::Flush);
    assert_eq!(
        (operations, found[0].bytes),
        (vec![other, flush, other], 20)
    );
}

#[test]
fn partition_request_is_reported_on_its_drive_with_origin() {
    let part = (8, 1);
    let text = "A 99 R 2148+8, Q 100 R 2148+8, G 100 R 2148+8, D 101 R 2148+8, C 102 R 2148+8";
    // Without G, and with it.
    for skipped in [Some(2), None] {
        let mut all = events(text);
        all[..3].iter_mut().for_each(|event| event.device = part);
        all[0].origin = (part, 100);
        skipped.map(|index| all.remove(index));
        let mut matcher = RequestMatcher::new(HashMap::from([(part, DISK)]));
        let found = feed(&mut matcher, &all);
        assert_eq!(
            (found[0].device, found[0].remapped_from),
            (DISK, Some((part, 100)))
        );
        assert_eq!(found[0].timestamps.queued, Some(100));
    }
}

#[test]
fn writeback_request_is_charged_to_dirtying_process() {
    let of_file = |kind, pid| Event {
        pid,
        thread_name: ThreadName::from_field(if pid == 7 { b"kworker" } else { b"dd" }),
        file: FileKey {
            backing_device: FixedText::from_field(b"8:0"),
            inode: 12,
        },
        ..Event::new(kind, 1)
    };
    let mut all = vec![
        of_file(EventKind::Dirtied, 300),
        of_file(EventKind::WritebackStarted, 7),
    ];
    all.extend(events("Q 100 W 0+8, D 103 W 0+8, C 200 W 0+8"));
    (all[2].pid, all[2].thread_name) = (7, ThreadName::from_field(b"kworker"));
    all.insert(3, of_file(EventKind::WritebackFinished, 7));
    let found = matched(&all);
    assert_eq!(found[0].charged_actor().unwrap().name.as_bytes(), b"dd");
    assert_eq!(found[0].submitter.unwrap().name.as_bytes(), b"kworker");
}

/// Of events without their beginning or end: the requests, completions that match nothing, abandoned requests.
#[test]
fn incomplete_requests_are_counted() {
    for (text, expected) in [
        ("C 10 R 0+8, D 20 R 8+8, C 30 R 8+8, R 31 R 8+8", (1, 1, 0)),
        (
            "Q 1 R 0+8, D 3 R 0+8, L 500 - 0+0, Q 600 R 0+8, D 601 R 0+8, C 700 R 0+8",
            (1, 0, 1),
        ),
        // After a pause it is no error.
        (
            "Q 1 R 0+8, D 3 R 0+8, P 500 - 0+0, Q 600 R 0+8, D 601 R 0+8, C 700 R 0+8",
            (1, 0, 0),
        ),
    ] {
        let mut matcher = RequestMatcher::default();
        let found = feed(&mut matcher, &events(text));
        let gaps = matcher.gaps();
        let counts = (
            found.len(),
            gaps.unmatched_completions,
            gaps.abandoned_requests,
        );
        assert_eq!(counts, expected, "{text}");
        let is_new = |it: &TracedRequest| it.timestamps.queued.is_none_or(|queued| queued >= 600);
        assert!(found.iter().all(is_new), "{text}");
    }
}

proptest! {
    /// In any interleaving of several requests' events, each request is reported exactly once.
    #[test]
    fn matcher_reports_every_interleaved_request_once(picks in proptest::collection::vec(0_usize..8, 40)) {
        let steps = ["Q", "G", "I", "D", "C"];
        let mut progress = [0_usize; 8];
        let mut all = Vec::new();
        let every = (0..8).flat_map(|index| std::iter::repeat_n(index, steps.len()));
        for (at, index) in picks.into_iter().chain(every).enumerate() {
            let Some(step) = steps.get(progress[index]) else { continue };
            progress[index] += 1;
            all.push(event(&format!("{step} {at} R {}+8", 1000 * index)));
        }
        let completed = matched(&all);
        prop_assert_eq!(completed.len(), 8);
        for request in &completed {
            let stages = request.timestamps.stages();
            let parts = [stages.q2g, stages.g2i, stages.i2d, stages.d2c];
            prop_assert_eq!(stages.q2c, Some(parts.into_iter().flatten().sum()));
        }
    }

    /// Invalid events neither stop it nor make it grow.
    #[test]
    fn matcher_accepts_any_event_stream(
        stream in proptest::collection::vec((0_usize..8, 0_u64..64, 0_u32..16), 0..300)
    ) {
        let letters = ["Q", "A", "G", "I", "D", "R", "C", "B"];
        let mut matcher = RequestMatcher::default();
        let all: Vec<Event> = stream.iter().map(|(letter, sector, sectors)| {
            event(&format!("{} 1 W {sector}+{sectors}", letters[*letter]))
        }).collect();
        let completed = feed(&mut matcher, &all).len();
        let ends = [EventKind::Completed, EventKind::BioCompleted];
        prop_assert!(completed <= all.iter().filter(|event| ends.contains(&event.kind)).count());
        // An event takes one out, puts one back, and leaves at most what is before and behind it.
        prop_assert!(matcher.waiting.len() + matcher.issued.len() <= 2 * all.len());
    }
}
