//! Transfers in synthetic samples: no process, no clock.

use std::sync::Arc;

use crate::model::snapshot::TransferState;
use crate::probe::sample::{Availability, OpenFile, ProcessIdentity, ProcessIo, ProcessSample};

use super::*;

const MIB: u64 = 1 << 20;

/// A file that a process has open.
#[derive(Clone)]
struct OpenFixture(OpenFile);

fn open_fixture(descriptor: u32, path: &str, inode: u64) -> OpenFixture {
    OpenFixture(OpenFile {
        descriptor,
        path: path.as_bytes().into(),
        kind: FileKind::Regular,
        inode: ((8, 1), inode),
        position: 0,
        readable: false,
        writable: false,
        size: Some(0),
        allocated_bytes: 0,
    })
}

impl OpenFixture {
    fn open_for_reading(mut self, position: u64, size: u64) -> Self {
        self.0.readable = true;
        self.0.position = position;
        self.with_size(size)
    }

    fn open_for_writing(mut self, position: u64, size: u64) -> Self {
        self.0.writable = true;
        self.0.position = position;
        self.with_size(size)
    }

    fn with_size(mut self, size: u64) -> Self {
        self.0.size = Some(size);
        self.0.allocated_bytes = size;
        self
    }

    fn with_kind(mut self, kind: FileKind) -> Self {
        self.0.kind = kind;
        self
    }
}

fn process(
    pid: u32,
    name: &str,
    arguments: &str,
    read: u64,
    files: &[OpenFixture],
) -> ProcessSample {
    ProcessSample {
        identity: Arc::new(ProcessIdentity {
            pid,
            name: name.as_bytes().to_vec(),
            arguments: arguments.replace(' ', "\0").into_bytes(),
            ..ProcessIdentity::default()
        }),
        io: Availability::Available(ProcessIo {
            read_bytes: read,
            ..ProcessIo::default()
        }),
        state: Some('R'),
        files: files.iter().map(|open| open.0.clone()).collect(),
        ..ProcessSample::default()
    }
}

/// Feeds a tracker with one sample a second.
struct TrackerScenario {
    tracker: TransferTracker,
    before: Option<SystemSample>,
    second: u64,
}

impl TrackerScenario {
    fn new() -> Self {
        Self {
            tracker: TransferTracker::new(8 * MIB),
            before: None,
            second: 0,
        }
    }

    fn next_sample(&mut self, processes: Vec<ProcessSample>) -> Vec<TransferView> {
        self.second += 1;
        let now = SystemSample {
            boot_time: Duration::from_secs(self.second),
            processes,
            ..SystemSample::default()
        };
        self.tracker
            .update(&SampleInterval::new(self.before.as_ref(), &now));
        let views = self.tracker.transfer_views(&TransferContext {
            sample: &now,
            devices: &[],
            processes: &[],
        });
        self.before = Some(now);
        views
    }
}

fn only_view(views: Vec<TransferView>) -> TransferView {
    assert_eq!(views.len(), 1, "{views:#?}");
    views.into_iter().next().unwrap()
}

#[test]
fn dd_transfer_has_eta_from_second_sample() {
    let mut story = TrackerScenario::new();
    let dd = |done: u64| {
        let files = [
            open_fixture(0, "/a", 1).open_for_reading(done * MIB, 100 * MIB),
            open_fixture(1, "/b", 2).open_for_writing(done * MIB, done * MIB),
        ];
        vec![process(7, "dd", "dd if=/a of=/b bs=1M", 0, &files)]
    };
    assert!(story.next_sample(dd(10)).is_empty());
    let view = only_view(story.next_sample(dd(20)));
    assert_eq!(view.source.as_deref(), Some("/a"));
    assert_eq!(view.destination.as_deref(), Some("/b"));
    assert_eq!(view.position_bytes, Some(20 * MIB));
    assert_eq!(view.size_bytes, Some(100 * MIB));
    assert_eq!(view.eta, Some(Duration::from_secs(8)));
    let view = only_view(story.next_sample(vec![process(7, "dd", "dd", 0, &[])]));
    assert_eq!(view.state, TransferState::Finished);
    for _ in 0..9 {
        assert_eq!(story.next_sample(Vec::new()).len(), 1);
    }
    assert!(story.next_sample(Vec::new()).is_empty());
}

#[test]
fn dd_transfer_with_count_ends_before_end_of_source() {
    let mut story = TrackerScenario::new();
    let dd = |done: u64| {
        let device = FileKind::Block((8, 0));
        let files = [
            open_fixture(0, "/dev/sda", 1)
                .open_for_reading(done * MIB, 1000 * MIB)
                .with_kind(device),
            open_fixture(1, "/b", 2).open_for_writing(done * MIB, done * MIB),
        ];
        vec![process(
            7,
            "dd",
            "dd if=/dev/sda of=/b bs=1M count=50 ",
            0,
            &files,
        )]
    };
    story.next_sample(dd(0));
    assert_eq!(
        only_view(story.next_sample(dd(10))).eta,
        Some(Duration::from_secs(4))
    );
}

#[test]
fn cp_transfer_is_followed_by_destination_growth() {
    let mut story = TrackerScenario::new();
    let cp = |grown: u64, position: u64| {
        let files = [
            open_fixture(3, "/a", 1).open_for_reading(position, 4000 * MIB),
            open_fixture(4, "/b", 2).open_for_writing(position, grown * MIB),
        ];
        vec![process(7, "cp", "cp /a /b ", 0, &files)]
    };
    story.next_sample(cp(100, 0));
    let view = only_view(story.next_sample(cp(500, 0)));
    assert_eq!(view.source.as_deref(), Some("/a"));
    assert_eq!(view.destination.as_deref(), Some("/b"));
    assert_eq!(view.position_bytes, Some(500 * MIB));
    assert_eq!(view.state, TransferState::Moving);
    // One call copies at most 2 GiB; then both offsets jump, and the next call begins.
    only_view(story.next_sample(cp(900, 0)));
    let view = only_view(story.next_sample(cp(2200, 2048 * MIB)));
    assert_eq!(view.position_bytes, Some(2200 * MIB));
    let view = only_view(story.next_sample(cp(2600, 2048 * MIB)));
    assert_eq!(view.position_bytes, Some(2600 * MIB));
}

#[test]
fn preallocated_destination_is_measured_by_allocated_bytes() {
    let mut story = TrackerScenario::new();
    let copy = |placed: u64| {
        let mut destination = open_fixture(4, "/b", 2).open_for_writing(0, 100 * MIB);
        destination.0.allocated_bytes = placed * MIB;
        let files = [
            open_fixture(3, "/a", 1).open_for_reading(0, 100 * MIB),
            destination,
        ];
        vec![process(7, "cp", "cp /a /b ", 0, &files)]
    };
    story.next_sample(copy(10));
    assert_eq!(
        only_view(story.next_sample(copy(30))).position_bytes,
        Some(30 * MIB)
    );
}

#[test]
fn pipeline_and_rsync_pair_are_one_transfer_each() {
    let pipe = |descriptor| open_fixture(descriptor, "pipe:[9]", 9).with_kind(FileKind::Pipe);
    let mut story = TrackerScenario::new();
    let both = |done: u64| {
        let cat = [
            open_fixture(0, "/a", 1).open_for_reading(done * MIB, 100 * MIB),
            pipe(1).open_for_writing(0, 0),
        ];
        let gzip = [
            pipe(0).open_for_reading(0, 0),
            open_fixture(1, "/a.gz", 3).open_for_writing(done, done),
        ];
        let sender = [open_fixture(3, "/vm.raw", 4).open_for_reading(done * MIB, 50 * MIB)];
        let receiver =
            [open_fixture(1, "/to/.vm.raw.Ab3dE9", 5).open_for_writing(done * MIB, done * MIB)];
        vec![
            process(7, "pv", "", 0, &cat),
            process(8, "gzip", "", 0, &gzip),
            process(9, "rsync", "", 0, &sender),
            process(10, "rsync", "", 0, &receiver),
        ]
    };
    story.next_sample(both(10));
    let views = story.next_sample(both(20));
    let ends: Vec<_> = views
        .iter()
        .map(|view| (view.source.as_deref(), view.destination.as_deref()))
        .collect();
    let expected = [
        (Some("/a"), Some("/a.gz")),
        (Some("/vm.raw"), Some("/to/vm.raw")),
    ];
    assert_eq!(ends, expected);
}

#[test]
fn transfer_without_source_has_rate_but_no_eta() {
    let mut story = TrackerScenario::new();
    let writer = |done: u64| {
        let files = [open_fixture(1, "/b", 2).open_for_writing(done * MIB, done * MIB)];
        vec![process(7, "mysqldump", "", 0, &files)]
    };
    story.next_sample(writer(10));
    let view = only_view(story.next_sample(writer(20)));
    assert_eq!((view.source, view.size_bytes, view.eta), (None, None, None));
    assert_eq!(view.position_bytes, Some(20 * MIB));
    assert_eq!(view.rate_bytes_per_s, Some((10 * MIB) as f64));
}

#[test]
fn log_and_small_file_are_not_transfers() {
    let mut story = TrackerScenario::new();
    let logger = |step: u64| {
        let log = 500 * MIB + step * 1000;
        let files = [
            open_fixture(1, "/var/log/a", 2).open_for_writing(log, log),
            open_fixture(2, "/small", 3).open_for_reading(step * 1000, MIB),
            // tail -f: always at the end.
            open_fixture(3, "/var/log/b", 4).open_for_reading(log, log),
        ];
        vec![process(7, "logger", "", 0, &files)]
    };
    for step in 0..5 {
        assert!(story.next_sample(logger(step)).is_empty());
    }
}

#[test]
fn pread_transfer_has_unknown_position() {
    let mut story = TrackerScenario::new();
    let reader = |read: u64| {
        let files = [open_fixture(3, "/big", 1).open_for_reading(0, 500 * MIB)];
        vec![process(7, "fio", "", read * MIB, &files)]
    };
    story.next_sample(reader(0));
    let view = only_view(story.next_sample(reader(20)));
    assert_eq!(view.state, TransferState::UnknownPosition);
    assert_eq!((view.position_bytes, view.eta), (None, None));
    assert_eq!(view.rate_bytes_per_s, Some((20 * MIB) as f64));
}

#[test]
fn stalled_transfer_resumes() {
    let mut story = TrackerScenario::new();
    let reader = |done: u64| {
        let files = [open_fixture(3, "/big", 1).open_for_reading(done * MIB, 500 * MIB)];
        vec![process(7, "sha256sum", "", 0, &files)]
    };
    story.next_sample(reader(10));
    story.next_sample(reader(20));
    story.next_sample(reader(20));
    story.next_sample(reader(20));
    let view = only_view(story.next_sample(reader(20)));
    assert_eq!((view.state, view.eta), (TransferState::Stalled, None));
    let view = only_view(story.next_sample(reader(30)));
    assert_eq!(view.state, TransferState::Moving);
    assert!(view.eta.is_some());
}
