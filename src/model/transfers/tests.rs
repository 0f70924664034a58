//! Transfers in samples made by hand: no process, no clock.

use std::sync::Arc;

use crate::model::live::TransferState;
use crate::probe::sample::{Identity, Known, OpenFile, Process, ProcessIo};

use super::*;

const MIB: u64 = 1 << 20;

/// A file that a process has open.
#[derive(Clone)]
struct Open(OpenFile);

fn open(descriptor: u32, path: &str, inode: u64) -> Open {
    Open(OpenFile {
        descriptor,
        path: path.as_bytes().into(),
        kind: FileKind::Regular,
        inode: ((8, 1), inode),
        position: 0,
        readable: false,
        writable: false,
        size: Some(0),
        allocated: 0,
    })
}

impl Open {
    fn read(mut self, position: u64, size: u64) -> Self {
        self.0.readable = true;
        self.0.position = position;
        self.sized(size)
    }

    fn written(mut self, position: u64, size: u64) -> Self {
        self.0.writable = true;
        self.0.position = position;
        self.sized(size)
    }

    fn sized(mut self, size: u64) -> Self {
        self.0.size = Some(size);
        self.0.allocated = size;
        self
    }

    fn kind(mut self, kind: FileKind) -> Self {
        self.0.kind = kind;
        self
    }
}

fn process(pid: u32, name: &str, arguments: &str, read: u64, files: &[Open]) -> Process {
    Process {
        identity: Arc::new(Identity {
            pid,
            name: name.as_bytes().to_vec(),
            arguments: arguments.replace(' ', "\0").into_bytes(),
            ..Identity::default()
        }),
        io: Known::Is(ProcessIo {
            read,
            ..ProcessIo::default()
        }),
        state: Some('R'),
        files: files.iter().map(|open| open.0.clone()).collect(),
        ..Process::default()
    }
}

/// Feeds a tracker with one sample a second.
struct Story {
    tracker: Tracker,
    before: Option<Sample>,
    second: u64,
}

impl Story {
    fn new() -> Self {
        Self {
            tracker: Tracker::new(8 * MIB),
            before: None,
            second: 0,
        }
    }

    fn then(&mut self, processes: Vec<Process>) -> Vec<TransferView> {
        self.second += 1;
        let now = Sample {
            at: Duration::from_secs(self.second),
            processes,
            ..Sample::default()
        };
        self.tracker
            .update(&Interval::new(self.before.as_ref(), &now));
        let views = self.tracker.views(&Scene {
            now: &now,
            devices: &[],
            processes: &[],
        });
        self.before = Some(now);
        views
    }
}

fn only(views: Vec<TransferView>) -> TransferView {
    assert_eq!(views.len(), 1, "{views:#?}");
    views.into_iter().next().unwrap()
}

#[test]
fn dd_shows_its_end_with_the_second_look() {
    let mut story = Story::new();
    let dd = |done: u64| {
        let files = [
            open(0, "/a", 1).read(done * MIB, 100 * MIB),
            open(1, "/b", 2).written(done * MIB, done * MIB),
        ];
        vec![process(7, "dd", "dd if=/a of=/b bs=1M", 0, &files)]
    };
    assert!(story.then(dd(10)).is_empty());
    let view = only(story.then(dd(20)));
    assert_eq!(view.source.as_deref(), Some("/a"));
    assert_eq!(view.destination.as_deref(), Some("/b"));
    assert_eq!(view.position_bytes, Some(20 * MIB));
    assert_eq!(view.size_bytes, Some(100 * MIB));
    assert_eq!(view.eta, Some(Duration::from_secs(8)));
    let view = only(story.then(vec![process(7, "dd", "dd", 0, &[])]));
    assert_eq!(view.state, TransferState::Finished);
    for _ in 0..9 {
        assert_eq!(story.then(Vec::new()).len(), 1);
    }
    assert!(story.then(Vec::new()).is_empty());
}

#[test]
fn dd_with_a_count_ends_before_its_source_does() {
    let mut story = Story::new();
    let dd = |done: u64| {
        let device = FileKind::Block((8, 0));
        let files = [
            open(0, "/dev/sda", 1)
                .read(done * MIB, 1000 * MIB)
                .kind(device),
            open(1, "/b", 2).written(done * MIB, done * MIB),
        ];
        vec![process(
            7,
            "dd",
            "dd if=/dev/sda of=/b bs=1M count=50 ",
            0,
            &files,
        )]
    };
    story.then(dd(0));
    assert_eq!(only(story.then(dd(10))).eta, Some(Duration::from_secs(4)));
}

#[test]
fn cp_is_followed_by_the_growth_of_its_destination() {
    let mut story = Story::new();
    let cp = |grown: u64, position: u64| {
        let files = [
            open(3, "/a", 1).read(position, 4000 * MIB),
            open(4, "/b", 2).written(position, grown * MIB),
        ];
        vec![process(7, "cp", "cp /a /b ", 0, &files)]
    };
    story.then(cp(100, 0));
    let view = only(story.then(cp(500, 0)));
    assert_eq!(view.source.as_deref(), Some("/a"));
    assert_eq!(view.destination.as_deref(), Some("/b"));
    assert_eq!(view.position_bytes, Some(500 * MIB));
    assert_eq!(view.state, TransferState::Moving);
    // One call copies 2 GiB at most; then both positions jump, and the next call begins.
    only(story.then(cp(900, 0)));
    let view = only(story.then(cp(2200, 2048 * MIB)));
    assert_eq!(view.position_bytes, Some(2200 * MIB));
    let view = only(story.then(cp(2600, 2048 * MIB)));
    assert_eq!(view.position_bytes, Some(2600 * MIB));
}

#[test]
fn a_destination_laid_out_beforehand_is_judged_by_what_is_on_the_medium() {
    let mut story = Story::new();
    let copy = |placed: u64| {
        let mut destination = open(4, "/b", 2).written(0, 100 * MIB);
        destination.0.allocated = placed * MIB;
        let files = [open(3, "/a", 1).read(0, 100 * MIB), destination];
        vec![process(7, "cp", "cp /a /b ", 0, &files)]
    };
    story.then(copy(10));
    assert_eq!(only(story.then(copy(30))).position_bytes, Some(30 * MIB));
}

#[test]
fn a_pipeline_and_the_halves_of_rsync_are_one_transfer_each() {
    let pipe = |descriptor| open(descriptor, "pipe:[9]", 9).kind(FileKind::Pipe);
    let mut story = Story::new();
    let both = |done: u64| {
        let cat = [
            open(0, "/a", 1).read(done * MIB, 100 * MIB),
            pipe(1).written(0, 0),
        ];
        let gzip = [pipe(0).read(0, 0), open(1, "/a.gz", 3).written(done, done)];
        let sender = [open(3, "/vm.raw", 4).read(done * MIB, 50 * MIB)];
        let receiver = [open(1, "/to/.vm.raw.Ab3dE9", 5).written(done * MIB, done * MIB)];
        vec![
            process(7, "pv", "", 0, &cat),
            process(8, "gzip", "", 0, &gzip),
            process(9, "rsync", "", 0, &sender),
            process(10, "rsync", "", 0, &receiver),
        ]
    };
    story.then(both(10));
    let views = story.then(both(20));
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
fn a_writer_without_a_source_has_a_rate_and_no_end() {
    let mut story = Story::new();
    let writer = |done: u64| {
        let files = [open(1, "/b", 2).written(done * MIB, done * MIB)];
        vec![process(7, "mysqldump", "", 0, &files)]
    };
    story.then(writer(10));
    let view = only(story.then(writer(20)));
    assert_eq!((view.source, view.size_bytes, view.eta), (None, None, None));
    assert_eq!(view.position_bytes, Some(20 * MIB));
    assert_eq!(view.rate_bytes_per_s, Some((10 * MIB) as f64));
}

#[test]
fn a_log_and_a_small_file_are_no_transfers() {
    let mut story = Story::new();
    let logger = |step: u64| {
        let log = 500 * MIB + step * 1000;
        let files = [
            open(1, "/var/log/a", 2).written(log, log),
            open(2, "/small", 3).read(step * 1000, MIB),
            // tail -f: always at the end.
            open(3, "/var/log/b", 4).read(log, log),
        ];
        vec![process(7, "logger", "", 0, &files)]
    };
    for step in 0..5 {
        assert!(story.then(logger(step)).is_empty());
    }
}

#[test]
fn a_reader_that_moves_no_position_says_so() {
    let mut story = Story::new();
    let reader = |read: u64| {
        let files = [open(3, "/big", 1).read(0, 500 * MIB)];
        vec![process(7, "fio", "", read * MIB, &files)]
    };
    story.then(reader(0));
    let view = only(story.then(reader(20)));
    assert_eq!(view.state, TransferState::NoPosition);
    assert_eq!((view.position_bytes, view.eta), (None, None));
    assert_eq!(view.rate_bytes_per_s, Some((20 * MIB) as f64));
}

#[test]
fn what_stands_still_is_stalled_and_goes_on() {
    let mut story = Story::new();
    let reader = |done: u64| {
        let files = [open(3, "/big", 1).read(done * MIB, 500 * MIB)];
        vec![process(7, "sha256sum", "", 0, &files)]
    };
    story.then(reader(10));
    story.then(reader(20));
    story.then(reader(20));
    story.then(reader(20));
    let view = only(story.then(reader(20)));
    assert_eq!((view.state, view.eta), (TransferState::Stalled, None));
    let view = only(story.then(reader(30)));
    assert_eq!(view.state, TransferState::Moving);
    assert!(view.eta.is_some());
}
