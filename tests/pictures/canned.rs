//! Screens with made-up data, for pictures and snapshots.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use diskscope::app::key::{KeyPress, KeySymbol};
use diskscope::app::replay::{Frame, ReplayTimeline};
use diskscope::app::{
    AppEvent, AppState, Effect, Message, SavedRun, SessionEntry, TargetChoice, TargetGroup, update,
};
use diskscope::bench::{RunEvent, RunProgress, framework};
use diskscope::drive::guard::{Reason, Refusal, Usage, User};
use diskscope::drive::{DriveError, InspectedMedium, OverwriteImpact, Target, TargetKind, medium};
use diskscope::engine::{ExecutionSnapshot, IoStats, OpenError};
use diskscope::roots::SysPaths;
use diskscope::session::compare::ComparisonInput;
use diskscope::session::compare::compare_sessions;
use diskscope::session::document::check::Check;
use diskscope::session::document::{
    BenchmarkRun, ChartAxis, EngineRecord, Findings, HostRecord, Invocation, KernelCounts,
    LatencyByDirection, LatencySummary, Metric, MetricId, MetricKind, MetricTable, MetricUnit,
    RunCpuTime, RunEvidence, RunState, Series, SeriesId, Session, StageBreakdown, TargetRecord,
    VariantKey, Verdict,
};
use diskscope::session::slo::SloSpec;
use diskscope::snapshot::Snapshot;
use diskscope::snapshot::view::{DeviceView, HostView, ProcessView, TransferState, TransferView};
use diskscope::stats::latency::histogram::LatencyHistogram;
use diskscope::trace::events::event::{RwbsFlags, ThreadName};
use diskscope::trace::requests::{
    RequestActor, RequestOperation, RequestTimestamps, TracedRequest,
};
use diskscope::tui::screens::bench::keys::OVERWRITE_CONSENT;
use diskscope::tui::screens::requests::view::RequestAggregator;
use diskscope::tui::screens::sessions::ComparisonState;
use diskscope::tui::screens::sessions::SessionStatus;
use diskscope::ui::{self, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Makes the state that a screen shows.
pub type StateBuilder = fn() -> AppState;

/// Every screen by name.
pub fn screens() -> Vec<(&'static str, StateBuilder)> {
    vec![
        ("live", live_state),
        ("launcher", launcher_state),
        ("consent", consent_state),
        ("consent-in-use", consent_for_target_in_use),
        ("run", running_state),
        ("result", result_state),
        ("result-sequential", result_sequential),
        ("result-table", result_table),
        ("requests", requests_state),
        ("replay", replay_state),
        ("sessions", sessions_state),
        ("comparison", comparison_state),
        ("help", help_state),
        ("consent-with-much", consent_with_many_facts),
        ("request-stages", request_stages),
        ("session-note", session_note),
        ("session-deletion", session_deletion),
        ("result-latency", result_latency),
        ("form-field", form_field),
        ("launcher-search", launcher_search),
    ]
}

/// Presses a key; a question was shown before.
pub fn press_code(state: &mut AppState, code: KeySymbol) {
    press_key(state, KeyPress::new(code));
}

/// Presses a key; a question was shown before.
pub fn press_key(state: &mut AppState, key: KeyPress) -> Vec<Effect> {
    let keys = state.front_keys();
    if keys.is_question() || keys == &OVERWRITE_CONSENT {
        show_frame(state, SHOWN_SIZE);
    }
    update(state, AppEvent::Key(key))
}

fn send_message(state: &mut AppState, message: Message) {
    update(state, AppEvent::Message(message));
}

/// Columns and rows of a terminal with room for every question.
pub const SHOWN_SIZE: (u16, u16) = (100, 30);

/// Draws a frame of this size, and shows it to the user.
pub fn show_frame(state: &mut AppState, (width, height): (u16, u16)) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let frame = ui::draw(state, &Theme::FULL, area, &mut buffer);
    update(state, AppEvent::FrameShown(frame));
    buffer
}

/// A wave between 0 and 1, the same every time.
fn sine_wave(step: usize, pace: f64, phase: f64) -> f64 {
    let x = step as f64 * pace + phase;
    ((x.sin() + (x * 2.7).sin() * 0.5 + (x * 7.1).cos() * 0.25) / 1.75 + 1.0) / 2.0
}

/// The Live screen, after two minutes.
pub fn live_state() -> AppState {
    let mut state = AppState::new(Duration::from_secs(1));
    for step in 0..120 {
        send_message(
            &mut state,
            Message::Snapshot(Arc::new(sample_snapshot(step))),
        );
    }
    state
}

/// A recording of a day, at its busiest moment.
pub fn replay_state() -> AppState {
    let rates = (0..8640)
        .map(|step| {
            let known = !(4000..4100).contains(&step);
            known.then(|| (sine_wave(step, 0.004, 1.0).powi(3) * 4e8) as u64)
        })
        .collect();
    let note = "the recording was cut off".to_owned();
    let timeline = ReplayTimeline::new("day.rec".into(), rates, Some(note.into()));
    let mut state = AppState::for_replay(timeline, Duration::from_secs(10));
    let history = live_state().live.history;
    let moment = Frame {
        diagnosis: None,
        requests: None,
        index: 5120,
        snapshot: Arc::new(sample_snapshot(60)),
        history,
        is_playing: true,
    };
    send_message(&mut state, Message::Frame(Box::new(moment)));
    state
}

/// The Requests screen: a sequential read beside random writes.
pub fn requests_state() -> AppState {
    let mut state = live_state();
    press_code(&mut state, KeySymbol::Char('3'));
    let device = state.requests.device.clone().expect("the busiest one");
    let mut board = RequestAggregator::new(&device, 0);
    let requests: Vec<TracedRequest> = (0..4000).map(request).collect();
    board.add_requests(&requests[..3000]);
    board.view(45_000_000_000);
    board.add_requests(&requests[3000..]);
    board.set_trace_status(0, 3);
    send_message(
        &mut state,
        Message::Requests(Arc::new(board.view(60_000_000_000))),
    );
    state
}

/// The stages of the second request of the list.
pub fn request_stages() -> AppState {
    let mut state = requests_state();
    press_code(&mut state, KeySymbol::Down);
    press_code(&mut state, KeySymbol::Enter);
    state
}

/// Typing the note of a session.
pub fn session_note() -> AppState {
    let mut state = sessions_state();
    for letter in "n, sata mode".chars() {
        press_code(&mut state, KeySymbol::Char(letter));
    }
    state
}

/// The question whether a filtered session is deleted.
pub fn session_deletion() -> AppState {
    let mut state = sessions_state();
    for letter in "/sda".chars() {
        press_code(&mut state, KeySymbol::Char(letter));
    }
    press_code(&mut state, KeySymbol::Enter);
    press_code(&mut state, KeySymbol::Char('d'));
    state
}

/// The latency distribution of a result.
pub fn result_latency() -> AppState {
    let mut state = result_state();
    press_code(&mut state, KeySymbol::Right);
    state
}

fn request(step: usize) -> TracedRequest {
    let at = step as u64 * 15_000_000;
    let is_read = !step.is_multiple_of(3);
    let slow = (sine_wave(step, 0.013, 0.4) * 30.0).exp2() as u64 % 20_000_000;
    let (pid, name, flags, sector): (u32, &[u8], &[u8], u64) = if is_read {
        (4711, b"cp", b"RA", 900_000_000 + step as u64 * 256)
    } else {
        (
            993,
            b"postgres",
            b"WS",
            (sine_wave(step, 91.7, 0.0) * 4e9) as u64,
        )
    };
    let queue = 3_000 + slow / 9;
    TracedRequest {
        device: (8, 0),
        operation: if is_read {
            RequestOperation::Read
        } else {
            RequestOperation::Write
        },
        flags: RwbsFlags::from_field(flags),
        sector,
        bytes: if is_read { 131_072 } else { 8192 },
        submitter: Some(RequestActor {
            pid: if is_read { pid } else { 77 },
            name: ThreadName::from_field(if is_read { name } else { b"kworker/u8:1" }),
        }),
        dirtied_by: (!is_read).then(|| RequestActor {
            pid,
            name: ThreadName::from_field(name),
        }),
        remapped_from: None,
        timestamps: RequestTimestamps {
            queued: Some(at),
            allocated: Some(at + 900),
            inserted: None,
            issued: Some(at + queue),
            completed: at + queue + 80_000 + slow,
        },
        merged_count: 0,
        is_split: false,
        requeue_count: 0,
        error: if step == 3998 { -5 } else { 0 },
    }
}

/// One sample.
pub fn sample_snapshot(step: usize) -> Snapshot {
    Snapshot {
        time: "2026-02-03T14:05:06Z".into(),
        interval: Some(Duration::from_secs(1)),
        host: HostView {
            name: Some("web-07".into()),
            kernel: Some("6.1.0-56-amd64".into()),
            uptime: Some(Duration::from_secs(41 * 86_400 + 7200)),
            load_averages: Some([1.83, 1.4, 1.1]),
            pressure_some: Some(0.12),
            pressure_full: Some(0.04),
            dirty_bytes: Some(640_000_000),
            writeback_bytes: Some(172_000_000),
            time_to_flush: Some(Duration::from_secs(9)),
            ..HostView::default()
        },
        devices: devices(step),
        processes: processes(),
        process_count: 212,
        total: Default::default(),
        traced: None,
        transfers: transfers(),
        growing_files: Vec::new(),
        mounts: None,
        blocked: None,
        io_errors: None,
        units: None,
        drives: Default::default(),
        temperatures: Default::default(),
        file_systems: Default::default(),
        notices: vec!["I/O wait of processes: needs root and kernel.task_delayacct=1".into()],
    }
}

fn device(name: &str, label: &str, size: u64, serial: bool) -> DeviceView {
    DeviceView {
        name: name.into(),
        label: label.into(),
        size_bytes: Some(size),
        serves_serially: serial,
        read_ios_per_s: Some(0.0),
        write_ios_per_s: Some(0.0),
        read_bytes_per_s: Some(0.0),
        write_bytes_per_s: Some(0.0),
        queue_size: Some(0.0),
        in_flight: Some(0),
        busy: Some(0.0),
        ..DeviceView::default()
    }
}

fn devices(step: usize) -> Vec<DeviceView> {
    let nvme = DeviceView {
        read_ios_per_s: Some(1204.0),
        write_ios_per_s: Some(310.0),
        read_bytes_per_s: Some(78.9e6 * sine_wave(step, 0.17, 0.0).powi(2)),
        write_bytes_per_s: Some(12.1e6),
        read_await_ns: Some(113_000.0),
        write_await_ns: Some(41_000.0),
        queue_size: Some(0.2),
        request_bytes: Some(65_536.0),
        busy: Some(0.11),
        ..device("nvme0n1", "Samsung PM9A3", 1_920_383_410_176, false)
    };
    let root = DeviceView {
        parent: Some("nvme0n1".into()),
        mount_point: Some("/".into()),
        ..DeviceView {
            name: "nvme0n1p2".into(),
            label: "ext4".into(),
            size_bytes: Some(1_919_000_000_000),
            ..nvme.clone()
        }
    };
    let disk = DeviceView {
        read_ios_per_s: Some(96.0),
        write_ios_per_s: Some(41.0),
        read_bytes_per_s: Some(1.3e6),
        write_bytes_per_s: Some(98.3e6 * (0.8 + 0.2 * sine_wave(step, 0.4, 1.0))),
        read_await_ns: Some(11_200_000.0),
        write_await_ns: Some(48_100_000.0),
        queue_size: Some(6.9),
        in_flight: Some(7),
        request_bytes: Some(733_184.0),
        busy: Some(0.97),
        mount_point: Some("/mnt/backup".into()),
        ..device("sda", "ST8000NM000A", 8_001_563_222_016, true)
    };
    let stick = DeviceView {
        read_ios_per_s: None,
        write_ios_per_s: None,
        read_bytes_per_s: None,
        write_bytes_per_s: None,
        queue_size: None,
        busy: None,
        in_flight: None,
        ..device("sdb", "SanDisk Ultra", 61_524_148_224, true)
    };
    vec![
        nvme,
        root,
        disk,
        stick,
        device("sdc", "ST8000NM000A", 8_001_563_222_016, true),
    ]
}

fn transfers() -> Vec<TransferView> {
    let copy = TransferView {
        pid: Some(4711),
        command: "cp".into(),
        source: Some("/srv/img/vm7.raw".into()),
        destination: Some("/mnt/backup/vm7.raw".into()),
        position_bytes: Some(61_200_000_000),
        size_bytes: Some(98_000_000_000),
        rate_bytes_per_s: Some(101e6),
        eta: Some(Duration::from_secs(364)),
        eta_low: Some(Duration::from_secs(350)),
        eta_high: Some(Duration::from_secs(400)),
        state: TransferState::Moving,
        ..TransferView::default()
    };
    vec![
        copy.clone(),
        TransferView {
            pid: Some(5120),
            command: "sha256sum".into(),
            source: Some("/srv/iso/debian-12.5.0-amd64-DVD-1.iso".into()),
            destination: None,
            position_bytes: Some(3_100_000_000),
            size_bytes: Some(3_990_000_000),
            rate_bytes_per_s: Some(412e6),
            eta: Some(Duration::from_millis(2200)),
            eta_low: Some(Duration::from_millis(1900)),
            eta_high: Some(Duration::from_millis(2600)),
            state: TransferState::Moving,
            ..TransferView::default()
        },
        TransferView {
            pid: Some(6001),
            command: "dd".into(),
            source: None,
            destination: Some("/dev/sdb".into()),
            position_bytes: None,
            size_bytes: None,
            rate_bytes_per_s: None,
            eta: None,
            eta_low: None,
            eta_high: None,
            state: TransferState::UnknownPosition,
            ..TransferView::default()
        },
    ]
}

fn process(pid: u32, user: &str, read: f64, write: f64, command: &str) -> ProcessView {
    ProcessView {
        pid,
        tid: pid,
        user: Some(user.into()),
        command: command.into(),
        read_bytes_per_s: Some(read),
        write_bytes_per_s: Some(write),
        rchar_bytes_per_s: Some(read * 1.02),
        wchar_bytes_per_s: Some(write),
        io_wait: None,
        state: Some('S'),
        parent_pid: 1,
        ..ProcessView::default()
    }
}

fn processes() -> Vec<ProcessView> {
    let copy = ProcessView {
        io_wait: Some(0.88),
        state: Some('D'),
        ..process(
            4711,
            "backup",
            101.2e6,
            98.3e6,
            "cp --sparse=always /srv/img/vm7.raw /mnt/backup",
        )
    };
    let mut database = process(
        993,
        "postgres",
        12.1e6,
        11.8e6,
        "postgres: background writer",
    );
    database.rchar_bytes_per_s = Some(190e6);
    database.cache_fraction = Some(0.94);
    database.io_wait = Some(0.03);
    let mut other = process(1, "root", 0.0, 0.0, "/sbin/init");
    other.read_bytes_per_s = None;
    other.write_bytes_per_s = None;
    other.rchar_bytes_per_s = None;
    vec![
        copy,
        process(
            5120,
            "jane",
            412e6,
            0.0,
            "sha256sum /srv/iso/debian-12.5.0-amd64-DVD-1.iso",
        ),
        database,
        process(1207, "www-data", 0.82e6, 0.0, "nginx: worker process"),
        process(2210, "root", 0.0, 0.31e6, "rsyslogd -n -iNONE"),
        process(871, "root", 0.0, 4096.0, "[jbd2/nvme0n1p2-8]"),
        other,
    ]
}

fn target(name: &str, kind: TargetKind, size: u64) -> Target {
    Target {
        name: name.to_owned(),
        kind,
        size_bytes: size,
        logical_block_bytes: 512,
        physical_block_bytes: 4096,
        buffer_alignment: 512,
        supports_direct_io: true,
        drive: None,
        file_system: None,
    }
}

/// What the launcher offers.
pub fn target_choices() -> Vec<TargetChoice> {
    let directory = |name: &str, label: &str, kind: &str, size| TargetChoice {
        name: name.to_owned(),
        path: name.into(),
        group: TargetGroup::Directory,
        label: label.to_owned(),
        size_bytes: Some(size),
        kind: kind.to_owned(),
        used_by: String::new(),
        target: Ok(target(name, TargetKind::ScratchFile, 1 << 30)),
    };
    let drive = |name: &str, label: &str, kind: &str, users: &str, size| TargetChoice {
        name: name.to_owned(),
        path: name.into(),
        group: TargetGroup::Drive,
        label: label.to_owned(),
        size_bytes: Some(size),
        kind: kind.to_owned(),
        used_by: users.to_owned(),
        target: Ok(target(name, TargetKind::BlockDevice, size)),
    };
    vec![
        directory("/home/jane", "this directory", "ext4", 812_000_000_000),
        directory("/tmp", "memory", "tmpfs", 16_000_000_000),
        directory("/mnt/backup", "ST8000NM000A", "xfs", 2_100_000_000_000),
        drive(
            "/dev/nvme0n1",
            "Samsung PM9A3",
            "nvme",
            "/ (ext4)",
            1_920_383_410_176,
        ),
        drive(
            "/dev/sda",
            "ST8000NM000A",
            "disk",
            "/mnt/backup (xfs)",
            8_001_563_222_016,
        ),
        drive("/dev/sdc", "ST8000NM000A", "disk", "", 8_001_563_222_016),
        TargetChoice {
            target: Err(Arc::new(
                OpenError::from(DriveError::NotFound {
                    name: "/dev/sdb".to_owned(),
                })
                .into(),
            )),
            ..drive("/dev/sdb", "SanDisk Ultra", "usb", "", 61_524_148_224)
        },
    ]
}

/// The launcher with its list.
pub fn launcher_state() -> AppState {
    let mut state = live_state();
    press_code(&mut state, KeySymbol::Char('b'));
    send_message(&mut state, Message::Targets(target_choices()));
    state
}

/// The launcher's form with the field of the block size open.
pub fn form_field() -> AppState {
    let mut state = launcher_state();
    for code in [
        KeySymbol::Tab,
        KeySymbol::Tab,
        KeySymbol::Down,
        KeySymbol::Enter,
    ] {
        press_code(&mut state, code);
    }
    state
}

/// The launcher while something is searched.
pub fn launcher_search() -> AppState {
    let mut state = launcher_state();
    for letter in "/nvme".chars() {
        press_code(&mut state, KeySymbol::Char(letter));
    }
    state
}

/// The launcher with random writes to that target chosen and asked for.
pub fn overwrite_state(target: &str) -> AppState {
    let mut state = launcher_state();
    let place = target_choices()
        .iter()
        .position(|choice| choice.name == target);
    for _ in 0..place.expect("a known target") {
        press_code(&mut state, KeySymbol::Down);
    }
    press_code(&mut state, KeySymbol::Enter);
    press_code(&mut state, KeySymbol::Down);
    press_code(&mut state, KeySymbol::Enter);
    state
}

/// The result of the inspection that the open question waits for.
pub fn send_impact(state: &mut AppState, impact: OverwriteImpact) {
    let question = &state.bench.launcher.overwrite_question;
    let message = Message::OverwriteImpact {
        question: question.as_ref().expect("a question").number(),
        impact: Ok(impact),
    };
    send_message(state, message);
}

/// An open medium of that name; in truth a file that is gone.
pub fn inspected_medium(name: &str) -> Arc<InspectedMedium> {
    let roots = SysPaths::default();
    let file = tempfile::NamedTempFile::new().expect("a place for a small file");
    file.as_file().set_len(4096).expect("room for a small file");
    let path = file.path().to_str().expect("a plain name");
    let mut medium = medium::open_target(&roots, path, None).expect("it is there");
    medium.target.name = name.to_owned();
    Arc::new(InspectedMedium::read(&roots, Arc::new(medium)))
}

/// Before random writes to a drive that was used once: its path is half typed.
pub fn consent_state() -> AppState {
    let mut state = overwrite_state("/dev/sdc");
    let facts = [
        "/dev/sdc, sdc (8:32), 8.00 TB",
        "model ST8000NM000A-2KE101, serial WKD0A3C7",
        "partition sdc1, 8.00 TB, xfs",
    ];
    let impact = OverwriteImpact {
        target_facts: facts.map(str::to_owned).to_vec(),
        signatures: ["gpt", "xfs (partition 1)"].map(str::to_owned).to_vec(),
        medium: Ok(inspected_medium("/dev/sdc")),
    };
    send_impact(&mut state, impact);
    "/dev/s"
        .chars()
        .for_each(|letter| press_code(&mut state, KeySymbol::Char(letter)));
    state
}

/// Before random writes to a drive with more on it than there is room for.
pub fn consent_with_many_facts() -> AppState {
    let mut state = overwrite_state("/dev/sdc");
    let signatures = [
        "gpt",
        "ext4 (partitions 1-40)",
        "crypto_LUKS (partitions 41-60, 62)",
        "LVM2_member (partition 61)",
        "linux_raid_member (partitions 63, 64)",
        "zfs_member (partitions 65-70)",
        "swap (partition 71)",
        "unknown contents (byte 7990000000000 cannot be read: Input/output error (os error 5))",
    ];
    let impact = OverwriteImpact {
        target_facts: many_facts(),
        signatures: signatures.map(str::to_owned).to_vec(),
        medium: Ok(inspected_medium("/dev/sdc")),
    };
    send_impact(&mut state, impact);
    state
}

/// A drive with 40 partitions.
fn many_facts() -> Vec<String> {
    let mut facts = vec![
        "-> /dev/elsewhere/sdc, sdc (8:32), 8.00 TB".to_owned(),
        "model ST8000NM000A-2KE101, serial WKD0A3C7".to_owned(),
    ];
    facts.extend((1..=40).map(|number| format!("partition sdc{number}, 200 GB, ext4")));
    facts
}

/// Before random writes to a drive with more uses than there is room for.
pub fn consent_for_target_with_many_uses() -> AppState {
    let mut state = overwrite_state("/dev/sdc");
    let users = (1..=40).map(|number| {
        let at = format!("/srv/{number}");
        User::new(format!("sdc{number}"), Usage::Mounted { at })
    });
    let refusal = Refusal {
        name: "/dev/sdc".to_owned(),
        reason: Reason::InUse(users.collect()),
    };
    let impact = OverwriteImpact {
        target_facts: many_facts(),
        signatures: vec!["gpt".to_owned()],
        medium: Err(Arc::new(refusal)),
    };
    send_impact(&mut state, impact);
    state
}

/// Before random writes to a drive that is in use: there is no field.
pub fn consent_for_target_in_use() -> AppState {
    let mut state = overwrite_state("/dev/sda");
    let facts = [
        "/dev/sda, sda (8:0), 8.00 TB",
        "model ST8000NM000A-2KE101, serial WKD0A3B1",
    ];
    let refusal = Refusal {
        name: "/dev/sda".to_owned(),
        reason: Reason::InUse(vec![User::new(
            "sda",
            Usage::Mounted {
                at: "/mnt/backup".to_owned(),
            },
        )]),
    };
    let impact = OverwriteImpact {
        target_facts: facts.map(str::to_owned).to_vec(),
        signatures: vec!["xfs".to_owned()],
        medium: Err(Arc::new(refusal)),
    };
    send_impact(&mut state, impact);
    state
}

/// Some 840,000 response times with a tail.
fn latency_histogram() -> LatencyHistogram {
    let mut latency = LatencyHistogram::default();
    for step in 0..84_000_usize {
        let spread = (0..6)
            .map(|phase| sine_wave(step, 0.731, f64::from(phase) * 1.9))
            .sum::<f64>();
        let mut nanoseconds = 68_000.0 * ((spread - 3.0) * 0.85).exp();
        if step.is_multiple_of(97) {
            nanoseconds *= 2.4 + sine_wave(step, 0.31, 0.5) * 2.0;
        }
        if step.is_multiple_of(2503) {
            nanoseconds *= 6.0;
        }
        latency.record(nanoseconds as u64);
    }
    let once = latency.clone();
    (1..7).for_each(|_| latency.merge(&once));
    latency
}

fn io_stats(seconds: f64) -> IoStats {
    let mut requests = IoStats::default();
    requests.read.latency = latency_histogram();
    for step in 0..(seconds * 10.0) as usize {
        let rate =
            7600.0 + 900.0 * sine_wave(step, 0.21, 0.4) - 1500.0 * (-(step as f64) / 6.0).exp();
        for _ in 0..rate as u64 {
            requests
                .read
                .counts_over_time
                .record(step as u64 * 100_000_000 + 5, 4096, 100_000);
        }
    }
    requests.read.bytes = requests.read.latency.count() * 4096;
    requests
}

fn kernel_counts() -> KernelCounts {
    KernelCounts {
        device: "nvme0n1".into(),
        reads: 588_012,
        read_bytes: 588_012 * 4096,
        read_ns: 588_012 * 71_000,
        busy_ns: 7_190_000_000,
        weighted_ns: 7_200_000_000 * 31,
        ..KernelCounts::default()
    }
}

/// Random reads, 7.2 seconds old.
pub fn run_progress() -> RunProgress {
    let findings = Findings {
        verdicts: vec![
            Check::warning("other-users", "").found(
                "in addition to the benchmark's 2.40 GB, nvme0n1 served 31.0 MB of writes for other \
                 processes: rsyslogd (2210: 31.0 MB)",
                "stop the other processes and repeat the run, or read the metrics as those of a shared \
                 drive",
                serde_json::Value::Null,
            ),
            generator_busy_check(),
        ],
        ..Findings::default()
    };
    RunProgress {
        findings: findings.into(),
        phase: "random reads".to_owned(),
        fraction: Some(0.72),
        elapsed: Duration::from_millis(7200),
        snapshot: ExecutionSnapshot {
            elapsed: Duration::from_millis(7200),
            in_ramp_time: false,
            completed_fraction: Some(0.72),
            stats: io_stats(7.2),
        },
        kernel_counts: Some(kernel_counts()),
        stages: Some(stage_breakdown()),
        ..RunProgress::default()
    }
}

/// A benchmark that runs.
pub fn running_state() -> AppState {
    let mut state = launcher_state();
    press_code(&mut state, KeySymbol::Enter);
    press_code(&mut state, KeySymbol::Enter);
    let event = RunEvent::Progress(Box::new(run_progress()));
    send_message(&mut state, Message::BenchmarkEvent(Arc::new(event)));
    state
}

fn benchmark_run(test: &str, findings: Findings) -> BenchmarkRun {
    BenchmarkRun {
        test: test.into(),
        state: RunState::Finished,
        error: None,
        started: "2026-02-03T14:05:06+01:00".into(),
        elapsed_ns: 10_000_000_000,
        target: TargetRecord {
            path: "/home/jane".into(),
            kind: "scratch".into(),
            size_bytes: 1 << 30,
            logical_block_bytes: 512,
            physical_block_bytes: 4096,
            device: Some("nvme0n1".into()),
            model: Some("Samsung PM9A3".into()),
            serial: None,
            firmware: None,
            transport: Some("nvme".into()),
            rotational: Some(false),
            file_system: Some("ext4".into()),
        },
        parameters: [("depth".into(), 32.into())].into(),
        parameter_units: Default::default(),
        engine: EngineRecord {
            name: "uring".into(),
            ..EngineRecord::default()
        },
        findings,
        kernel: Some(kernel_counts()),
        stages: Some(stage_breakdown()),
        cpu: Some(RunCpuTime::default()),
        evidence: RunEvidence::default(),
        reproduce: Invocation::default(),
    }
}

/// Little in the kernel's queue, nearly all in the drive.
fn stage_breakdown() -> StageBreakdown {
    let split = |factor: u64| {
        let mut latency = LatencyHistogram::default();
        (1..1000).for_each(|step| latency.record(step * factor));
        LatencyByDirection {
            read: LatencySummary::from_histogram(&latency),
            write: None,
        }
    };
    StageBreakdown {
        device: "nvme0n1".into(),
        requests: 999,
        lost_events: 0,
        q2d: split(11),
        d2c: split(700),
    }
}

/// A run of random reads.
pub fn random_read() -> BenchmarkRun {
    let latency = latency_histogram();
    let rates = io_stats(10.0)
        .read
        .counts_over_time
        .rates_over_time(10_000_000_000);
    let mut findings = Findings::default();
    let count = latency.count();
    let nanoseconds = |name: &str, value: f64| Metric::new(MetricId::parse(name), value);
    findings.metrics = vec![
        Metric::new(MetricId::IOPS, 83_915.2).with_observations(count),
        Metric::new(MetricId::THROUGHPUT, 343_716_659.2),
        nanoseconds("latency_mean", latency.mean().unwrap_or(0.0)),
    ];
    for percent in framework::PERCENTILES {
        if let Some(value) = latency.percentile(percent) {
            findings
                .metrics
                .push(nanoseconds(&format!("latency_p{percent}"), value as f64));
        }
    }
    findings.latency.read = framework::latency_summary(&latency);
    findings.series = vec![Series {
        id: SeriesId::parse("iops-over-time"),
        x: ChartAxis::named("time", MetricUnit::Nanoseconds),
        y: ChartAxis::named("IOPS", MetricUnit::PerSecond),
        points: rates.iter().map(|rate| [rate[0] * 1e9, rate[1]]).collect(),
        intervals: Vec::new(),
    }];
    findings.verdicts = vec![generator_busy_check()];
    let wanted = SloSpec::parse_all("web-server").expect("a known goal");
    findings.goals = wanted.iter().map(|goal| goal.evaluate(&findings)).collect();
    benchmark_run("random-read", findings)
}

fn generator_busy_check() -> Verdict {
    Check::warning("generator-busy", "").found(
        "the worker thread used 93 % of a CPU",
        "use more --workers, or a larger --block-size",
        serde_json::Value::Null,
    )
}

/// The result of random reads.
pub fn result_state() -> AppState {
    let mut state = running_state();
    let saved = SavedRun {
        run: random_read(),
        path: Some(PathBuf::from(
            "/home/jane/.local/state/diskscope/sessions/20260203-140506-random-read.json",
        )),
        save_errors: Vec::new(),
    };
    send_message(&mut state, Message::BenchmarkEnded(Box::new(Ok(saved))));
    state
}

fn sequential_read() -> BenchmarkRun {
    let zones: Vec<[f64; 2]> = (0..100)
        .map(|zone| {
            let step = (zone / 7) as f64;
            let rate = 262e6 - step * 8.9e6 - 4e6 * sine_wave(zone, 2.1, 0.0);
            [zone as f64 * 80e9, rate]
        })
        .collect();
    let rate = |name: &str, value: f64| Metric::new(MetricId::parse(name), value);
    let findings = Findings {
        metrics: vec![
            rate("throughput_mean", 201.3e6),
            rate("throughput_min", 129.4e6),
            rate("throughput_max", 261.8e6),
        ],
        series: vec![Series {
            id: SeriesId::parse("throughput-over-address"),
            x: ChartAxis::named("address", MetricUnit::Bytes),
            y: ChartAxis::named("throughput", MetricUnit::BytesPerSecond),
            points: zones,
            intervals: Vec::new(),
        }],
        ..Findings::default()
    };
    benchmark_run("sequential-read", findings)
}

/// The result of sequential reads of a hard disk.
pub fn result_sequential() -> AppState {
    let mut state = running_state();
    let saved = SavedRun {
        run: sequential_read(),
        path: Some(PathBuf::from(
            "/home/jane/.local/state/diskscope/sessions/20260203-134010-sequential-read.json",
        )),
        save_errors: Vec::new(),
    };
    send_message(&mut state, Message::BenchmarkEnded(Box::new(Ok(saved))));
    state
}

fn quartet() -> BenchmarkRun {
    let lines = [
        ("SEQ1M Q8 read", "seq1m_q8_read", 6.87e9, 1.22e6),
        ("SEQ1M Q1 read", "seq1m_q1_read", 3.61e9, 290e3),
        ("RND4K Q32 read", "rnd4k_q32_read", 3.09e9, 42e3),
        ("RND4K Q1 read", "rnd4k_q1_read", 84.2e6, 48.6e3),
        ("SEQ1M Q8 write", "seq1m_q8_write", 4.92e9, 1.7e6),
        ("SEQ1M Q1 write", "seq1m_q1_write", 3.95e9, 265e3),
        ("RND4K Q32 write", "rnd4k_q32_write", 2.71e9, 48e3),
        ("RND4K Q1 write", "rnd4k_q1_write", 233e6, 17.6e3),
    ];
    let mut findings = Findings::default();
    for (name, key, rate, latency) in lines {
        let block = if name.starts_with("SEQ") {
            1_048_576.0
        } else {
            4096.0
        };
        for (ending, value) in [
            ("throughput", rate),
            ("iops", rate / block),
            ("latency", latency),
        ] {
            findings.set_metric(Metric::new(
                MetricId::parse(&format!("{key}_{ending}")),
                value,
            ));
        }
        let p99 = format!("{key}_latency_p99");
        findings.set_metric(Metric::new(MetricId::parse(&p99), latency * 2.3));
    }
    let columns = [
        ("MB/s", MetricKind::Throughput),
        ("IOPS", MetricKind::Iops),
        ("latency", MetricKind::Latency),
    ];
    let rows = lines.map(|(name, key, ..)| (name, VariantKey::new(key)));
    findings.set_table(MetricTable::cross_product("Quartet", &columns, &rows));
    benchmark_run("quartet", findings)
}

/// The result of the quartet: a table.
pub fn result_table() -> AppState {
    let mut state = running_state();
    let saved = SavedRun {
        run: quartet(),
        path: Some(PathBuf::from(
            "/home/jane/.local/state/diskscope/sessions/20260203-140911-quartet.json",
        )),
        save_errors: Vec::new(),
    };
    send_message(&mut state, Message::BenchmarkEnded(Box::new(Ok(saved))));
    state
}

/// Three saved sessions.
pub fn sessions_state() -> AppState {
    let mut state = live_state();
    press_code(&mut state, KeySymbol::Char('4'));
    let entry = |started: &str, summary: &str, headline: &str, state| SessionEntry {
        path: PathBuf::from(format!(
            "/home/jane/.local/state/diskscope/sessions/{}.json",
            started.replace([':', '-'], "")
        )),
        started: started.into(),
        summary: summary.into(),
        model: Some("Samsung PM9A3".into()),
        parameters: "block-size 4KiB, depth 32, duration 10s".into(),
        headline: headline.into(),
        invalid_check: (state == RunState::Interrupted).then(|| "served-from-cache".into()),
        note: started
            .ends_with("06")
            .then(|| "after the firmware update".into()),
        status: SessionStatus::LastRun(state),
    };
    let entries = vec![
        entry(
            "2026-02-03T14:05:06",
            "random-read of /home/jane",
            "83.9k IOPS",
            RunState::Finished,
        ),
        entry(
            "2026-02-03T13:40:10",
            "sequential-read of /dev/sda",
            "201 MB/s",
            RunState::Interrupted,
        ),
        entry(
            "2026-01-17T09:12:44",
            "random-read of /dev/sda",
            "118 IOPS",
            RunState::Finished,
        ),
    ];
    send_message(&mut state, Message::Sessions(Ok(entries)));
    state
}

/// Random reads before and after, a third run of another depth, and one of another test.
pub fn comparison_state() -> AppState {
    let mut state = sessions_state();
    press_code(&mut state, KeySymbol::Char(' '));
    press_code(&mut state, KeySymbol::Down);
    press_code(&mut state, KeySymbol::Char(' '));
    let mut before = random_read();
    before.findings.verdicts.clear();
    for metric in &mut before.findings.metrics {
        let margin = metric.value * 0.006;
        (metric.low, metric.high) = (Some(metric.value - margin), Some(metric.value + margin));
    }
    let mut after = random_read();
    for metric in &mut after.findings.metrics {
        let factor = match metric.id.to_string().as_str() {
            "latency_mean" | "latency_p50" => 1.094,
            name if name.starts_with("latency") => 0.997,
            _ => 0.914,
        };
        metric.value *= factor;
        let margin = metric.value * 0.008;
        (metric.low, metric.high) = (Some(metric.value - margin), Some(metric.value + margin));
    }
    for (step, point) in after.findings.series[0].points.iter_mut().enumerate() {
        point[1] *= 0.914 - 0.05 * sine_wave(step, 0.9, 0.0);
    }
    let mut deep = random_read();
    deep.parameters.insert("depth".into(), 128.into());
    let session = |runs: Vec<BenchmarkRun>| Session {
        schema: "diskscope-session".into(),
        version: 1,
        program: "diskscope 0.1.0".into(),
        started: "2026-02-03T14:05:06+01:00".into(),
        host: HostRecord {
            name: Some("web-07".into()),
            ..HostRecord::default()
        },
        note: None,
        runs,
    };
    let sessions = [
        session(vec![before, deep]),
        session(vec![after, sequential_read()]),
    ];
    let names = [
        "2026-01-17T091244-random-read",
        "2026-02-03T140506-random-read",
    ];
    let inputs = [0, 1].map(|side| ComparisonInput {
        name: names[side],
        session: &sessions[side],
    });
    let paths = names
        .map(|name| PathBuf::from(format!("{name}.json")))
        .to_vec();
    let compared = ComparisonState::new(paths, Vec::new(), compare_sessions(&inputs, &[]));
    state.sessions.comparison = Some(compared);
    state
}

/// The help.
pub fn help_state() -> AppState {
    let mut state = live_state();
    press_code(&mut state, KeySymbol::Char('?'));
    state
}
