//! What the Live screen shows instead of its lists, and what it asks.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use diskscope::app::key::{Code, Key};
use diskscope::app::{Action, Effect, News, State, update};
use diskscope::drive::file_systems::Usage;
use diskscope::drive::{FileSystem, identity};
use diskscope::model::Live;
use diskscope::model::files::{DeletedView, FileView, Holder};
use diskscope::model::live::{
    Bottleneck, DeviceView, GrowingFile, HostView, Throttle, TransferState, TransferView,
};
use diskscope::probe::sample::Notice;
use diskscope::roots::Roots;
use diskscope::ui::Look;

use crate::canned;
use crate::screens::{drawn, text};

/// Draws at the size of an old terminal and of a usual one.
fn assert_drawn(name: &str, state: &State) {
    for (width, height) in [(80, 24), (120, 40)] {
        let buffer = drawn(state, Look::FULL, width, height);
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(&buffer));
    }
}

fn press(state: &mut State, keys: &str) -> Vec<Effect> {
    let press = |letter| update(state, Action::Key(Key::char(letter)));
    keys.chars().flat_map(press).collect()
}

fn hear(state: &mut State, news: News) {
    update(state, Action::News(news));
}

/// A logical volume on a mirror of two disks, one of them partitioned, in a machine that is short
/// of memory.
fn moment(step: usize) -> Live {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/4.15/before");
    let mut live = canned::sample(step);
    live.drives = identity::list(&Roots::below(&tree)).into();
    live.file_systems = vec![file_system((253, 0))].into();
    live.devices = devices(step);
    live.transfers.extend(held_back());
    live.notices = vec![Notice::DelayAccountingOff.sentence().into()];
    live.host = HostView {
        memory_bytes: Some(16_700_000_000),
        cached_bytes: Some(9_100_000_000),
        background_from_bytes: Some(1_400_000_000),
        throttled_from_bytes: Some(2_100_000_000),
        throttle: Some(Duration::from_secs(13)),
        cache_hits: Some(0.874),
        pressure_some: Some(0.12 + 0.001 * step as f64),
        ..live.host
    };
    live.growing = vec![GrowingFile {
        path: "/srv/log/a-rather-long-name-of-a-file/access.log".into(),
        pid: 1207,
        command: "nginx".into(),
        size_bytes: 18_400_000_000,
        growth_bytes_per_s: 2.4e6,
    }];
    live
}

fn file_system(device: (u32, u32)) -> FileSystem {
    FileSystem {
        number: device,
        device,
        at: "/srv".to_owned(),
        at_is_exact: true,
        kind: "xfs".to_owned(),
        options: ["rw", "strictatime", "discard"].map(str::to_owned).to_vec(),
        usage: Some(Usage {
            size_bytes: 8_000_000_000_000,
            free_bytes: 1_200_000_000_000,
            available_bytes: 800_000_000_000,
            inodes: 1_000_000,
            free_inodes: 20_000,
        }),
    }
}

fn devices(step: usize) -> Vec<DeviceView> {
    let device = |name: &str, lies_on: &[&str], milliseconds: f64| DeviceView {
        name: name.into(),
        label: "ST8000NM000A".into(),
        size_bytes: Some(8_001_563_222_016),
        parent: lies_on.first().map(|it| (*it).into()),
        lies_on: lies_on.iter().map(|it| (*it).into()).collect(),
        serial: true,
        read_ios_per_s: Some(96.0),
        write_ios_per_s: Some(41.0),
        read_bytes_per_s: Some(1e6 * (step % 17) as f64),
        write_bytes_per_s: Some(9.8e7),
        read_await_ns: Some(milliseconds * 1e6),
        write_await_ns: Some(milliseconds * 4e6),
        in_flight: Some(7),
        queue_size: Some(6.9),
        request_bytes: Some(733_184.0),
        read_request_bytes: Some(16_384.0),
        write_request_bytes: Some(1_048_576.0),
        read_merged: Some(0.04),
        write_merged: Some(0.61),
        busy: Some(0.97),
        ..DeviceView::default()
    };
    let mounted = DeviceView {
        mounted_at: Some("/srv".into()),
        discard_ios_per_s: Some(12.0),
        discard_bytes_per_s: Some(4e6),
        discard_await_ns: Some(800_000.0),
        ..device("dm-0", &["md0"], 12.5)
    };
    vec![
        device("sda", &[], 11.2),
        device("sda1", &["sda"], 11.3),
        device("sdb", &[], 10.9),
        device("md0", &["sda1", "sdb"], 12.0),
        mounted,
    ]
}

/// A stalled transfer, a throttled one and a job.
fn held_back() -> Vec<TransferView> {
    let dump = TransferView {
        command: "mysqldump".into(),
        destination: Some("/srv/dump.sql".into()),
        position_bytes: Some(4_000_000_000),
        state: TransferState::Stalled,
        ..TransferView::default()
    };
    let job = TransferView {
        command: "rsync".into(),
        source: Some("/home".into()),
        destination: Some("/mnt/backup".into()),
        position_bytes: Some(12_400_000_000),
        size_bytes: Some(31_000_000_000),
        rate_bytes_per_s: Some(2e6),
        files_done: Some(4118),
        files_total: Some(9301),
        waits_for: Some(Bottleneck::Destination),
        throttled: Some(Throttle::ControlGroup),
        ..TransferView::default()
    };
    vec![job, dump]
}

fn live() -> State {
    let mut state = State::new(Duration::from_secs(1));
    for step in 0..120 {
        hear(&mut state, News::Sample(Arc::new(moment(step))));
    }
    state
}

/// The line of the logical volume is selected.
fn on_the_volume() -> State {
    let mut state = live();
    canned::press(&mut state, Code::Tab);
    canned::press(&mut state, Code::End);
    state
}

#[test]
fn lists() {
    assert_drawn("pane-lists", &on_the_volume());
}

#[test]
fn a_device_with_its_stack_and_advice() {
    let mut state = on_the_volume();
    canned::press(&mut state, Code::Enter);
    assert_drawn("pane-device", &state);
    // How far a page can be scrolled is measured when it is drawn.
    drawn(&state, Look::FULL, 80, 24);
    canned::press(&mut state, Code::PageDown);
    canned::press(&mut state, Code::PageDown);
    assert_drawn("pane-device-below", &state);
}

#[test]
fn a_whole_drive() {
    let mut state = live();
    canned::press(&mut state, Code::Tab);
    canned::press(&mut state, Code::Home);
    canned::press(&mut state, Code::Enter);
    assert_drawn("pane-drive", &state);
}

#[test]
fn only_processes_on_the_selected_device() {
    let mut state = on_the_volume();
    press(&mut state, "o");
    assert_eq!(state.live.filter.as_string(), "dm-0");
    assert!(state.live.processes().is_empty());
}

#[test]
fn a_process() {
    let mut state = live();
    canned::press(&mut state, Code::Down);
    canned::press(&mut state, Code::Enter);
    assert_drawn("pane-process", &state);
}

#[test]
fn open_files() {
    let mut state = live();
    canned::press(&mut state, Code::Down);
    let effects = press(&mut state, "f");
    assert!(matches!(effects[..], [Effect::ListFiles(5120)]));
    let file = |descriptor, path: &str, deleted| FileView {
        descriptor,
        path: path.into(),
        position_bytes: Some(3_100_000_000),
        size_bytes: (!path.starts_with("pipe")).then_some(3_990_000_000),
        flags: Some("r direct".into()),
        deleted,
    };
    let files = vec![
        file(0, "pipe:[4711]", false),
        file(3, "/srv/iso/debian-12.5.0-amd64-DVD-1.iso", false),
        file(4, "/var/tmp/scratch (deleted)", true),
    ];
    hear(&mut state, News::Files(5120, Ok(files)));
    assert_drawn("pane-files", &state);
    let refused = Err("cannot list what process 1 has open: permission denied".to_owned());
    hear(&mut state, News::Files(5120, refused));
    assert_drawn("pane-files-refused", &state);
}

#[test]
fn deleted_files() {
    let mut state = live();
    press(&mut state, "d");
    let holder = |pid, command: &str| Holder {
        pid,
        command: command.into(),
        descriptor: 7,
    };
    hear(
        &mut state,
        News::Deleted(vec![DeletedView {
            path: "/var/log/nginx/access.log".into(),
            device: Some("dm-0".into()),
            mounted_at: Some("/srv".into()),
            held_bytes: 41_000_000_000,
            size_bytes: 41_000_000_001,
            holders: vec![holder(1207, "nginx"), holder(1208, "nginx")],
            release: ": > /proc/1207/fd/7".into(),
            rescue: "cp --sparse=always /proc/1207/fd/7 /where/there/is/room".into(),
        }]),
    );
    assert_drawn("pane-deleted", &state);
    hear(&mut state, News::Deleted(Vec::new()));
    assert_drawn("pane-deleted-none", &state);
}

#[test]
fn memory_and_pressure() {
    let mut state = live();
    press(&mut state, "m");
    assert_drawn("pane-memory", &state);
}

#[test]
fn questions() {
    let mut state = live();
    canned::press(&mut state, Code::Down);
    press(&mut state, "c");
    assert_drawn("question-class", &state);
    press(&mut state, "1");
    assert_drawn("question-class-confirm", &state);
    assert!(matches!(press(&mut state, "n")[..], []));
    press(&mut state, "x");
    assert_drawn("question-signal", &state);
    press(&mut state, "1");
    assert!(matches!(press(&mut state, "y")[..], [Effect::Do(..)]));
    press(&mut state, "w");
    assert_drawn("question-accounting", &state);
    assert!(matches!(
        press(&mut state, "y")[..],
        [Effect::Account(true)]
    ));
}
