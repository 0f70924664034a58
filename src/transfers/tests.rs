//! Transfers in synthetic samples: no process, no clock.

use std::sync::Arc;
use std::time::Duration;

use super::context::fixtures;
use super::view::{TransferKind, TransferState};
use super::*;
use crate::probe::SystemSample;
use crate::probe::sample::{
    Availability, ClosedFile, FilePages, OpenFile, ProcessIdentity, ProcessIo, ProcessSample,
    UnwrittenBytes,
};

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
        // Without counters each advance of an offset counts.
        io: match read {
            0 => Availability::NotPermitted,
            read => Availability::Available(ProcessIo {
                read_bytes: read,
                ..ProcessIo::default()
            }),
        },
        state: Some('R'),
        files: files.iter().map(|open| open.0.clone()).collect(),
        ..ProcessSample::default()
    }
}

/// Feeds a tracker with one sample a second.
struct TrackerScenario {
    tracker: TransferTracker,
    /// Files that are closed before the next sample.
    closed: Vec<ClosedFile>,
    /// Pages of the destination in the next samples.
    pages: Option<FilePages>,
    before: Option<SystemSample>,
    second: u64,
}

impl TrackerScenario {
    fn new() -> Self {
        Self {
            tracker: TransferTracker::new(8 * MIB),
            closed: Vec::new(),
            pages: None,
            before: None,
            second: 0,
        }
    }

    fn next_sample(&mut self, processes: Vec<ProcessSample>) -> Vec<TransferView> {
        self.second += 1;
        let now = SystemSample {
            boot_time: Duration::from_secs(self.second),
            processes,
            closed_files: std::mem::take(&mut self.closed),
            file_pages: self.pages.into_iter().collect(),
            ..SystemSample::default()
        };
        let interval = SampleInterval::new(self.before.as_ref(), &now);
        self.tracker.update(&interval, &JobCounts::default());
        let context = fixtures::context(&interval, &[]);
        let views = self.tracker.transfer_views(&context);
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
    assert_eq!(view.state, TransferState::Closed, "nobody saw its end");
    for _ in 0..9 {
        assert_eq!(story.next_sample(Vec::new()).len(), 1);
    }
    assert!(story.next_sample(Vec::new()).is_empty());
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
fn shell_whose_program_has_its_descriptors_is_no_transfer_of_its_own() {
    let mut story = TrackerScenario::new();
    let both = |done: u64| {
        let files = [
            open_fixture(0, "/big", 1).open_for_reading(done * MIB, 100 * MIB),
            open_fixture(1, "/big.gz", 2).open_for_writing(done * MIB, done * MIB),
        ];
        let mut program = process(8, "gzip", "", done * MIB, &files);
        Arc::make_mut(&mut program.identity).parent_pid = 7;
        // Its counters do not move. Its offsets are those of its child.
        vec![process(7, "sh", "", MIB, &files), program]
    };
    story.next_sample(both(10));
    let views = story.next_sample(both(20));
    let found: Vec<_> = views.iter().map(|view| (view.pid, view.kind)).collect();
    assert_eq!(found, [(Some(8), TransferKind::Compress)]);
}

#[test]
fn copy_with_its_files_open_twice_is_one_transfer() {
    let mut story = TrackerScenario::new();
    // As cp of uutils: it cannot clone, and copies by a second pair of descriptors.
    let cp = |done: u64| {
        let files = [
            open_fixture(3, "/a", 1).open_for_reading(0, 100 * MIB),
            open_fixture(4, "/b", 2).open_for_writing(0, done * MIB),
            open_fixture(5, "/a", 1).open_for_reading(done * MIB, 100 * MIB),
            open_fixture(6, "/b", 2).open_for_writing(done * MIB, done * MIB),
        ];
        vec![process(7, "cp", "cp /a /b", 0, &files)]
    };
    story.next_sample(cp(10));
    story.next_sample(cp(20));
    let view = only_view(story.next_sample(cp(30)));
    assert_eq!(view.position_bytes, Some(30 * MIB));
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

#[test]
fn pipeline_is_not_over_before_its_last_process_has_written_everything() {
    let mut story = TrackerScenario::new();
    let pipe = |descriptor| open_fixture(descriptor, "pipe:[9]", 9).with_kind(FileKind::Pipe);
    let reader = |done: u64| {
        let files = [
            open_fixture(0, "/a", 1).open_for_reading(done * MIB, 40 * MIB),
            pipe(1).open_for_writing(0, 0),
        ];
        process(6, "cat", "", 0, &files)
    };
    let writer = |done: u64| {
        let files = [
            pipe(0).open_for_reading(0, 0),
            open_fixture(1, "/b", 2).open_for_writing(done * MIB, done * MIB),
        ];
        process(7, "cat", "", 0, &files)
    };
    story.next_sample(vec![reader(10), writer(9)]);
    story.next_sample(vec![reader(38), writer(37)]);
    let view = only_view(story.next_sample(vec![writer(39)]));
    assert_eq!(view.state, TransferState::Moving);
    story.closed = vec![closed_destination(40)];
    let view = only_view(story.next_sample(Vec::new()));
    assert_eq!(view.state, TransferState::Finished);
    assert_eq!(view.position_bytes, Some(40 * MIB));
}

/// A process that reads sequentially or not, with the bytes that its system calls read so far.
fn reader(name: &str, position: u64, size: u64, called: u64) -> Vec<ProcessSample> {
    let files = [open_fixture(3, "/big", 1).open_for_reading(position * MIB, size * MIB)];
    let mut process = process(7, name, "", 1, &files);
    process.io = Availability::Available(ProcessIo {
        rchar: called * MIB,
        ..ProcessIo::default()
    });
    vec![process]
}

#[test]
fn process_that_reads_here_and_there_is_no_transfer() {
    let mut story = TrackerScenario::new();
    for (index, position) in [0, 40, 1200, 7700, 400, 9900, 3100, 3140]
        .into_iter()
        .enumerate()
    {
        let views = story.next_sample(reader("scan", position, 10_000, 40 * index as u64));
        assert_eq!(
            views.len(),
            usize::from((1..=2).contains(&index)),
            "{index}"
        );
    }
}

#[test]
fn rate_after_a_jump_is_that_of_what_was_read() {
    let mut story = TrackerScenario::new();
    for (index, position) in [0, 40, 6000, 6040].into_iter().enumerate() {
        story.next_sample(reader("scan", position, 10_000, 40 * index as u64));
    }
    let view = only_view(story.next_sample(reader("scan", 6080, 10_000, 160)));
    assert_eq!(view.position_bytes, Some(6080 * MIB));
    let rate = view.rate_bytes_per_s.unwrap();
    assert!((rate / (40 * MIB) as f64 - 1.0).abs() < 1e-9, "{rate}");
}

#[test]
fn image_conversion_after_seek_to_the_end_is_measured_by_its_destination() {
    let mut story = TrackerScenario::new();
    let convert = |position: u64, length: u64, allocated: u64, called: u64| {
        let mut destination = open_fixture(9, "/b", 2).open_for_writing(0, length * MIB);
        destination.0.readable = true;
        destination.0.allocated_bytes = allocated * MIB;
        let files = [
            open_fixture(8, "/a", 1).open_for_reading(position * MIB, 1000 * MIB),
            destination,
        ];
        let mut process = process(7, "qemu-img", "", 1, &files);
        process.io = Availability::Available(ProcessIo {
            rchar: called * MIB,
            wchar: called * MIB,
            ..ProcessIo::default()
        });
        vec![process]
    };
    story.next_sample(convert(0, 0, 0, 0));
    story.next_sample(convert(1000, 1000, 30, 30));
    let view = only_view(story.next_sample(convert(1000, 1000, 60, 60)));
    assert_eq!(view.position_bytes, Some(60 * MIB));
    assert!(view.eta > Some(Duration::from_secs(10)), "{view:?}");
    assert_eq!(view.source.as_deref(), Some("/a"));
    assert_eq!(view.destination.as_deref(), Some("/b"));
}

fn pair(done: u64) -> Vec<ProcessSample> {
    let files = [
        open_fixture(3, "/a", 1).open_for_reading(done * MIB, 1000 * MIB),
        open_fixture(4, "/b", 2).open_for_writing(done * MIB, done * MIB),
    ];
    vec![process(7, "pv", "pv /a", 0, &files)]
}

fn closed_destination(mib: u64) -> ClosedFile {
    ClosedFile {
        pid: 7,
        start_ticks: 0,
        inode: ((8, 1), 2),
        size: mib * MIB,
        allocated_bytes: mib * MIB,
        time_since_change: None,
    }
}

#[test]
fn last_look_tells_finished_from_ended() {
    for (closed, state, position) in [
        (Some(1000), TransferState::Finished, 1000),
        (Some(950), TransferState::Ended, 950),
        (None, TransferState::Closed, 920),
    ] {
        let mut story = TrackerScenario::new();
        story.next_sample(pair(800));
        story.next_sample(pair(860));
        story.next_sample(pair(920));
        story.closed = closed.map(closed_destination).into_iter().collect();
        let view = only_view(story.next_sample(Vec::new()));
        assert_eq!(view.state, state);
        assert_eq!(view.position_bytes, Some(position * MIB));
    }
}

#[test]
fn new_name_of_rsync_is_paired_within_its_processes() {
    let mut story = TrackerScenario::new();
    let both = |done: u64| {
        let read = [open_fixture(3, "/vm.raw", 4).open_for_reading(done * MIB, 500 * MIB)];
        let written =
            [open_fixture(1, "/to/.copy.Ab3dE9", 5).open_for_writing(done * MIB, done * MIB)];
        let other =
            [open_fixture(1, "/elsewhere/.x.Ab3dE9", 6).open_for_writing(done * MIB, done * MIB)];
        let child = |pid, parent: u32, files: &[OpenFixture]| {
            let mut process = process(pid, "rsync", "", 0, files);
            Arc::make_mut(&mut process.identity).parent_pid = parent;
            process
        };
        vec![
            child(9, 1, &read),
            child(10, 9, &[]),
            child(11, 10, &written),
            child(20, 1, &other),
        ]
    };
    story.next_sample(both(10));
    let views = story.next_sample(both(20));
    let paired = views.iter().find(|view| view.source.is_some()).unwrap();
    assert_eq!(paired.destination.as_deref(), Some("/to/copy"));
    assert_eq!(paired.size_bytes, Some(500 * MIB));
}

#[test]
fn log_of_a_reader_is_no_destination() {
    let mut story = TrackerScenario::new();
    let scan = |done: u64| {
        let files = [
            open_fixture(1, "/var/log/scan.log", 2)
                .open_for_writing(done * 60, 9 * MIB + done * 60),
            open_fixture(3, "/big", 1).open_for_reading(done * MIB, 1000 * MIB),
        ];
        vec![process(7, "scan", "", 0, &files)]
    };
    story.next_sample(scan(10));
    let view = only_view(story.next_sample(scan(60)));
    assert_eq!(view.source.as_deref(), Some("/big"));
    assert_eq!(view.destination, None);
}

#[test]
fn benchmark_virtual_machine_and_database_are_no_transfers() {
    for (name, readable) in [("fio", false), ("qemu-system-x86", true), ("mysqld", true)] {
        let mut story = TrackerScenario::new();
        let writer = |grown: u64| {
            let mut image = open_fixture(9, "/disk.img", 2).open_for_writing(0, grown * MIB);
            image.0.readable = readable;
            vec![process(7, name, "", 0, &[image])]
        };
        for step in 1..6 {
            assert!(story.next_sample(writer(20 * step)).is_empty(), "{name}");
        }
    }
}

#[test]
fn idle_reader_disappears_after_half_a_minute() {
    let mut story = TrackerScenario::new();
    story.next_sample(reader("less", 10, 1000, 10));
    story.next_sample(reader("less", 60, 1000, 60));
    for _ in 0..29 {
        assert_eq!(story.next_sample(reader("less", 60, 1000, 60)).len(), 1);
    }
    assert!(story.next_sample(reader("less", 60, 1000, 60)).is_empty());
}

/// cp of a sparse file, of which each second skips 30 MiB of holes and copies 20 MiB.
fn sparse_copy(second: u64) -> Vec<ProcessSample> {
    let mut source = open_fixture(3, "/a", 1).open_for_reading(second * 50 * MIB, 1000 * MIB);
    source.0.allocated_bytes = 400 * MIB;
    let mut destination =
        open_fixture(4, "/b", 2).open_for_writing(second * 50 * MIB, second * 50 * MIB);
    destination.0.allocated_bytes = second * 20 * MIB;
    let mut process = process(
        7,
        "cp",
        "cp --sparse=always /a /b",
        1,
        &[source, destination],
    );
    process.io = Availability::Available(ProcessIo {
        rchar: second * 20 * MIB,
        wchar: second * 20 * MIB,
        ..ProcessIo::default()
    });
    vec![process]
}

#[test]
fn rate_and_time_left_of_a_sparse_copy_are_those_of_its_data() {
    let mut story = TrackerScenario::new();
    for second in 0..4 {
        story.next_sample(sparse_copy(second));
    }
    let view = only_view(story.next_sample(sparse_copy(4)));
    assert_eq!(view.position_bytes, Some(200 * MIB));
    let rate = view.rate_bytes_per_s.unwrap() / MIB as f64;
    assert!((rate - 20.0).abs() < 0.1, "{rate}");
    // 320 MiB of data are left.
    let left = view.eta.unwrap().as_secs_f64();
    assert!((left - 16.0).abs() < 0.8, "{left}");
}

#[test]
fn what_a_file_system_allocates_in_advance_is_not_copied_yet() {
    let mut story = TrackerScenario::new();
    let copy = |second: u64| {
        let mut source = open_fixture(3, "/a", 1).open_for_reading(0, 1000 * MIB);
        source.0.allocated_bytes = 250 * MIB;
        let mut destination = open_fixture(4, "/b", 2).open_for_writing(0, second * 15 * MIB);
        // XFS doubles it again and again.
        destination.0.allocated_bytes = (second * 15 * MIB).next_power_of_two();
        vec![process(7, "cp", "cp /a /b", 0, &[source, destination])]
    };
    story.next_sample(copy(1));
    for second in 2..6 {
        story.next_sample(copy(second));
    }
    let view = only_view(story.next_sample(copy(6)));
    assert_eq!(view.rate_bytes_per_s, Some((15 * MIB) as f64));
    let left = view.eta.unwrap().as_secs_f64();
    assert!((left - 160.0 / 15.0).abs() < 0.1, "{left}");
}

#[test]
fn flush_at_the_end_of_dd_belongs_to_its_time_left() {
    for (conversion, flushes) in [("conv=fsync", true), ("conv=noerror", false)] {
        let mut story = TrackerScenario::new();
        let line = format!("dd if=/a of=/b bs=1M {conversion} ");
        let mut last = None;
        for second in 1..=12 {
            // It copies twice as fast as the device writes.
            let (done, written) = (100.min(second * 10), second * 5);
            story.pages = Some(FilePages {
                id: ((8, 1), 2),
                unwritten: Ok(UnwrittenBytes {
                    total: (done - written) * MIB,
                    writeback: MIB,
                }),
            });
            let files = [
                open_fixture(0, "/a", 1).open_for_reading(done * MIB, 100 * MIB),
                open_fixture(1, "/b", 2).open_for_writing(done * MIB, done * MIB),
            ];
            let views = story.next_sample(vec![process(7, "dd", &line, 0, &files)]);
            let left = views.first().and_then(|view| view.eta);
            if second == 6 {
                let expected = if flushes { 14 } else { 4 };
                assert_eq!(left, Some(Duration::from_secs(expected)), "{conversion}");
            }
            last = left;
        }
        // Everything is copied.
        let expected = flushes.then_some(Duration::from_secs(8));
        assert_eq!(
            last.filter(|left| !left.is_zero()),
            expected,
            "{conversion}"
        );
    }
}
