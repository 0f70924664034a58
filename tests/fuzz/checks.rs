//! What holds for whatever a parser is given: it ends, it does not panic, and what it says of
//! damage has a place in it. Used by `tests/library/parsers` with proptest and by the fuzz targets.

use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diskscope::alerts::command::AlertCommand;
use diskscope::alerts::{Condition, ConditionMonitor, ConditionSet};
use diskscope::app::replay::Frame;
use diskscope::app::result::ResultState;
use diskscope::app::{self, AppEvent, AppState, Message, Screen};
use diskscope::bench;
use diskscope::drive::device_mapper;
use diskscope::drive::guard::MediumContents;
use diskscope::drive::{identity, mounts as drive_mounts};
use diskscope::engine::simulated::SimParameters;
use diskscope::files::printable;
use diskscope::probe::control_groups::io_files;
use diskscope::probe::file_systems;
use diskscope::probe::operations::operation::OperationProgress;
use diskscope::probe::process::{
    blocked_task, closed_files, open_files, stat, taskstats, thread_owner,
};
use diskscope::probe::system::{diskstats, host, kernel_log, vmstat};
use diskscope::probe::{SystemSample, mounts, operations};
use diskscope::recording::{FileRecorder, Recorder, Recording, RecordingTimes};
use diskscope::report;
use diskscope::roots::SysPaths;
use diskscope::session::compare::{ComparisonInput, compare_sessions};
use diskscope::session::document::Session;
use diskscope::session::slo::SloSpec;
use diskscope::session::store;
use diskscope::snapshot::advice;
use diskscope::snapshot::{SampleHistory, Snapshot, ViewBuilder};
use diskscope::trace::events::catalog::EVENTS;
use diskscope::trace::events::decode::EventDecoder;
use diskscope::trace::events::page::PageFormat;
use diskscope::trace::requests::RequestLine;
use diskscope::transfers::arguments::parse_copy_order;
use diskscope::transfers::dd::DdArguments;
use diskscope::tui::screens::requests::view::{RequestAggregator, RequestsView};
use diskscope::ui::{self, Theme};
use diskscope::units;
use diskscope::why::{DiagnosisDocument, EvidenceWindow, diagnose, diagnosis_text};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Views of a recording that are opened at most.
const VIEWS: usize = 20;

/// A file below `/proc`, whichever it is.
pub fn proc_file(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(diskstats::parse(bytes).len() <= lines);
    if let Some(stat) = stat::parse_stat(bytes) {
        assert!(stat.name.len() < bytes.len());
    }
    black_box(stat::parse_io(bytes));
    black_box(stat::parse_effective_user(bytes));
    black_box(stat::parse_thread_group(bytes));
    black_box(stat::parse_ignored_signals(bytes));
    black_box(stat::parse_descriptor_info(bytes));
    black_box(host::parse_uptime(bytes));
    assert!(host::parse_load(bytes).is_none_or(|load| load.iter().all(|one| one.is_finite())));
    black_box(host::parse_cpu(bytes));
    black_box(host::parse_memory(bytes));
    black_box(host::parse_pressure(bytes));
    black_box(host::parse_cpu_pressure(bytes));
    black_box(vmstat::MemoryStatistics::parse(bytes, 4096));
    black_box(diskstats::parse_writeback(bytes));
    black_box(thread_owner::parse_status(bytes));
    black_box(blocked_task::parse_switches(bytes));
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(error) = kernel_log::parse_record(line) {
            assert!(!error.device.is_empty() && error.device.is_ascii());
        }
    }
    assert!(mounts::counters::parse_mountstats(bytes).len() <= lines);
    assert!(mounts::counters::parse_cifs_stats(bytes).len() <= lines);
    black_box(mounts::counters::parse_objset(bytes));
    let text = String::from_utf8_lossy(bytes);
    black_box(operations::md::parse_completed(&text));
    black_box(operations::md::parse_speed_limit(&text));
    let shown = printable::printable_command_line(bytes, b"name");
    assert!(!shown.chars().any(char::is_control), "{shown:?}");
}

/// The first bytes of a device or an image file, whatever they are: formats.
pub fn medium(bytes: &[u8]) {
    let mut file = tempfile::tempfile_in("/dev/shm").expect("a file in memory");
    file.write_all(bytes).expect("space in memory");
    let size = bytes.len() as u64;
    let contents = MediumContents::of_file(&file, size, Vec::new());
    assert_eq!(contents, MediumContents::of_file(&file, size, Vec::new()));
    assert!(contents.read_failure.is_none());
    let summary = contents.summary();
    assert_eq!(summary.is_empty(), !contents.needs_acknowledgement());
    assert!(!summary.join("").chars().any(char::is_control));
}

/// A table of device-mapper behind the number of its lines.
pub fn guard(bytes: &[u8]) {
    let (count, table) = bytes.split_at(bytes.len().min(1));
    let count = u32::from(count.first().copied().unwrap_or(0));
    if let Some(lines) = device_mapper::parse_table(count, table) {
        assert_eq!(lines.len(), count as usize);
    }
}

/// A datagram of the kernel's taskstats: replies, and records of threads that have ended. The family
/// is that of its first message.
pub fn netlink(bytes: &[u8]) {
    let family = bytes.get(4..6).and_then(|family| family.try_into().ok());
    let family = family.map_or(0, u16::from_ne_bytes);
    // A message has a header of 16 bytes at least.
    let messages = bytes.len() / 16;
    assert!(taskstats::parse_replies(bytes, family).count() <= messages);
    let mut records = 0;
    for record in taskstats::parse_thread_exits(bytes, family) {
        assert!(record.name.len() <= 32 && !record.name.contains(&0));
        records += 1;
    }
    assert!(records <= messages);
}

/// The command line of a process: its words, each terminated by a zero byte.
pub fn command_line(bytes: &[u8]) {
    let words = bytes.split(|byte| *byte == 0).count();
    for program in ["cp", "rsync", "tar", "scp", "gzip", "btrfs"] {
        if let Some(order) = parse_copy_order(program.as_bytes(), bytes) {
            assert!(order.sources.len() <= words);
        }
    }
    black_box(DdArguments::parse(bytes));
    assert!(closed_files::final_path(bytes).len() <= bytes.len());
    assert!(bytes.ends_with(closed_files::base_name(bytes)));
}

/// Control groups and volumes: counters and limits, the status of device-mapper targets.
pub fn units_and_volumes(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(io_files::parse_io_stat(bytes).len() <= lines);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert!(io_files::parse_throttle_counters(first, second).len() <= lines);
    assert!(io_files::parse_io_max(bytes).len() <= lines);
    let (count, answer) = bytes.split_at(bytes.len().min(1));
    let count = u32::from(count.first().copied().unwrap_or(0));
    let found = operations::pvmove::parse_mirror_status(count, answer);
    if let Some(OperationProgress::Done { done, total, .. }) = found {
        assert!(done < total, "{done} of {total}");
    }
}

/// What is printed of a sample.
pub fn sampled(live: &Snapshot) {
    assert!(!report::watch::watch_text(live, report::watch::TextLayout::default()).is_empty());
    let line = report::watch::json_line(live).expect("a sample can be written");
    serde_json::from_str::<serde_json::Value>(&line).expect("one JSON value");
}

/// Moves a sample to another time.
pub fn shift_times(sample: &mut SystemSample, at: Duration) {
    sample.boot_time = at;
    for process in &mut sample.processes {
        process.read_at = at;
    }
}

/// What is read only when somebody asks.
pub fn files_on_demand(roots: &SysPaths) {
    let file_systems = file_systems::list_file_systems(roots);
    for drive in identity::list_block_devices(roots) {
        assert!(!drive.label().chars().any(char::is_control), "{drive:?}");
        black_box(advice::tuning_advice(&drive, &file_systems, None));
    }
    let _ = (drive_mounts::mounts(roots), drive_mounts::swaps(roots));
    black_box(open_files::deleted_files(roots));
}

/// What is known of devices by tables: mounts, swap areas, and udev's record of a device. `root` is a
/// tree of `/proc`, `/sys` and `/run` with the device 8:0, in which the tables are replaced.
pub fn device_tables(root: &Path, bytes: &[u8]) {
    for name in ["proc/self/mountinfo", "proc/swaps", "run/udev/data/b8:0"] {
        let path = root.join(name);
        let directory = path.parent().expect("a name with a directory");
        std::fs::create_dir_all(directory).expect("a directory");
        std::fs::write(path, bytes).expect("room for a small file");
    }
    let roots = SysPaths::under_root(root);
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let mounts = drive_mounts::mounts(&roots).expect("the table is there");
    assert!(mounts.len() <= lines);
    for mount in &mounts {
        let mut options = mount.options.clone();
        options.sort();
        options.dedup();
        assert_eq!(options.len(), mount.options.len(), "{mount:?}");
    }
    assert!(
        drive_mounts::swaps(&roots)
            .expect("the table is there")
            .len()
            <= lines
    );
    let shown = |text: &str| assert!(text.chars().all(printable::is_printable), "{text:?}");
    let file_systems = file_systems::list_file_systems(&roots);
    assert!(file_systems.len() <= mounts.len());
    for system in &file_systems {
        shown(&system.mount_point);
        shown(&system.kind);
        let is_known = |mount: &drive_mounts::MountEntry| Some(&mount.path) == system.path.as_ref();
        assert!(
            system.path.is_none() || mounts.iter().any(is_known),
            "{system:?}"
        );
    }
    let drives = identity::list_block_devices(&roots);
    assert!(!drives.is_empty());
    for drive in drives {
        shown(&drive.label());
        for advice in advice::tuning_advice(&drive, &file_systems, None) {
            shown(&advice.command);
            shown(&advice.reason);
        }
    }
}

/// The kernel's description of an event or a page, and records by that description.
pub fn trace_format(text: &str, records: &[u8]) {
    let mut decoder = EventDecoder::default();
    for wanted in EVENTS {
        if decoder.add_format(wanted, text) {
            black_box(decoder.decode_record(0, records));
        }
    }
    if let Some(page) = PageFormat::parse(text) {
        pages(&page, &decoder, records);
    }
}

/// A page of the kernel's ring buffer, by the formats of a real kernel.
pub fn trace_page(header: &str, decoder: &EventDecoder, bytes: &[u8]) {
    if let Some(format) = PageFormat::parse(header) {
        pages(&format, decoder, bytes);
    }
}

fn pages(format: &PageFormat, decoder: &EventDecoder, bytes: &[u8]) {
    if let Some(page) = format.open_page(bytes) {
        let mut length = 0;
        for (at, record) in page {
            length += record.len();
            black_box(decoder.decode_record(at, record));
        }
        assert!(length <= bytes.len());
    }
}

/// A size, duration, rate or goal as somebody writes it.
pub fn units(text: &str) {
    if let Ok(bytes) = units::parse_size(text) {
        assert_eq!(
            units::parse_size(&units::format_exact_size(bytes)),
            Ok(bytes)
        );
    }
    if let Ok(duration) = units::parse_duration(text) {
        let written = units::format_exact_duration(duration);
        assert_eq!(units::parse_duration(&written), Ok(duration), "{written}");
        black_box(units::format_wait(duration));
    }
    if let Ok(rate) = units::parse_rate(text) {
        assert!(rate.is_finite() && rate > 0.0);
    }
    let _ = SloSpec::parse_all(text);
    let _ = SimParameters::parse(text);
    let _ = AlertCommand::parse(text, None);
    let times = RecordingTimes::new(0, 86_400_000, "1970-01-01T00:00:00Z");
    if let Ok(time) = times.parse(text) {
        assert!(!times.label(time).is_empty());
    }
    for test in bench::BENCHMARKS {
        for parameter in test.description().parameters {
            let _ = parameter.parse(text);
        }
    }
}

/// A condition: printed it is the same, and it can be evaluated.
pub fn condition(text: &str) {
    let Ok(condition) = Condition::parse(text) else {
        return;
    };
    let printed = condition.to_string();
    assert!(!printed.chars().any(char::is_control), "{printed:?}");
    assert_eq!(Condition::parse(&printed), Ok(condition), "{text:?}");
    let set = ConditionSet::parse(&[printed]).unwrap_or_default();
    let live = ViewBuilder::default().update(SystemSample::default().into());
    for trigger in ConditionMonitor::new(set).observe(&live, Duration::ZERO) {
        assert!(trigger.condition.holds_for(trigger.value));
    }
}

/// A session's document or journal, and all that is made of it.
pub fn session(bytes: &[u8]) {
    match store::parse_session(bytes) {
        Ok(session) => presented(&session),
        Err(reason) => assert!(!reason.to_string().is_empty()),
    }
}

/// Everything that is made of a session: it reads back, and nothing in it reaches the terminal or
/// the page unfiltered.
pub fn presented(session: &Session) {
    let written = serde_json::to_vec(session).expect("what was read can be written");
    let again = store::parse_session(&written[..]);
    // What is no number is written as null.
    if !written.windows(4).any(|word| word == b"null") {
        assert_eq!(again.as_ref().ok(), Some(session));
    }
    let text = report::text::session_text(session);
    let stray = |letter: char| letter != '\n' && !printable::is_printable(letter);
    assert!(!text.contains(stray), "{text:?}");
    let input = ComparisonInput {
        name: "one",
        session,
    };
    let comparison = compare_sessions(&[input, input], &[]);
    let text = report::text::comparison_text(&comparison);
    assert!(!text.contains(stray), "{text:?}");
    let page = report::html::html_page(&[input, input], Some(&comparison));
    assert!(page.ends_with("</html>\n") && !page.contains("<script"));
    assert!(!page.contains(stray), "a control character in the page");
    let mut state = AppState::new(Duration::from_secs(1));
    let runs = session.runs.clone();
    state.sessions.open_result = Some(ResultState::new(runs, Some(PathBuf::from("one"))));
    drawn(state, Screen::Sessions);
}

/// A message, and what it shows.
fn shown(message: impl Fn() -> Message, screen: Screen) {
    let mut state = AppState::new(Duration::from_secs(1));
    app::update(&mut state, AppEvent::Message(message()));
    drawn(state, screen);
}

/// A screen, drawn on a small and a large terminal.
fn drawn(mut state: AppState, screen: Screen) {
    state.screen = screen;
    for (width, height) in [(80, 24), (200, 60)] {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        ui::draw(&state, &Theme::FULL, area, &mut buffer);
        let stray = buffer
            .content
            .iter()
            .find(|cell| !cell.symbol().chars().all(printable::is_printable));
        assert!(stray.is_none(), "{stray:?}");
    }
}

/// A recording: what is not damaged is read.
pub fn recording(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a place for a small file");
    file.write_all(bytes).expect("room for a small file");
    opened(file.path());
}

/// Lines of a recording and of a trigger in a ring, whose checksums are right.
pub fn recorded_lines(lines: &[u8]) {
    let ring = tempfile::tempdir().expect("a place for small files");
    for name in ["samples-00000001.ndjson.gz", "trigger-00000002.ndjson.gz"] {
        let mut recorder = FileRecorder::create(&ring.path().join(name), None).expect("a new file");
        recorder.append(lines).expect("room for small files");
    }
    opened(ring.path());
}

fn opened(path: &Path) {
    let Ok(mut recording) = Recording::open(path) else {
        return;
    };
    if let Some(damage) = recording.damage() {
        let size = std::fs::metadata(&damage.path).expect("it was read").len();
        assert!(damage.offset + damage.bytes <= size, "{damage:?}");
    }
    for trigger in 0..recording.trigger_marks().count().min(VIEWS) {
        if let Ok(Some(record)) = recording.read_trigger(trigger) {
            let shown = record.summary();
            assert!(shown.chars().all(printable::is_printable), "{shown:?}");
        }
        let _ = recording.for_each_trigger_request(trigger, &mut |_| true);
    }
    let mut window = EvidenceWindow::default();
    for view in 0..recording.view_count().min(VIEWS) {
        let mut board = RequestAggregator::new("sda", 0);
        recording.seek(view);
        let _ = recording.for_each_request(0, &mut |line| {
            assert!(line.chars().all(printable::is_printable), "{line:?}");
            if let Ok(line) = serde_json::from_str::<RequestLine<'_>>(line) {
                board.add_requests(&[line.request()]);
            }
            true
        });
        if let Ok(Some(live)) = recording.read_view(view) {
            window.snapshots.push(Arc::new(live.clone()));
            recorded(live, board.view(0));
        }
    }
    diagnosed(&window);
}

/// What `why --from` makes of recorded views.
fn diagnosed(window: &EvidenceWindow) {
    let Some(diagnosis) = diagnose(window) else {
        return;
    };
    let stray = |letter: char| letter != '\n' && !printable::is_printable(letter);
    let text = diagnosis_text(&diagnosis, true);
    assert!(!text.contains(stray), "{text:?}");
    let document = serde_json::to_value(DiagnosisDocument::new(&diagnosis));
    assert!(document.is_ok(), "{document:?}");
}

/// Everything that is made of a recorded view and its requests.
fn recorded(live: Snapshot, requests: RequestsView) {
    let stray = |letter: char| letter != '\n' && !printable::is_printable(letter);
    let text = report::watch::watch_text(&live, report::watch::TextLayout::default());
    assert!(!text.contains(stray), "{text:?}");
    let line = report::watch::json_line(&live).expect("what was read can be written");
    assert!(!line.contains(stray), "{line:?}");
    let (live, requests) = (Arc::new(live), Arc::new(requests));
    shown(|| Message::Snapshot(Arc::clone(&live)), Screen::Live);
    for screen in Screen::TABS.map(|(screen, ..)| screen) {
        let moment = || Frame {
            diagnosis: None,
            index: 0,
            snapshot: Arc::clone(&live),
            requests: Some(Arc::clone(&requests)),
            history: SampleHistory::default(),
            is_playing: false,
        };
        shown(|| Message::Frame(Box::new(moment())), screen);
    }
}

/// The longest that any one check may take.
pub const PATIENCE: Duration = Duration::from_secs(10);
