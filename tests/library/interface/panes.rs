//! What the Live screen shows instead of its lists, and what it asks.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use diskscope::app::error::OpenFilesError;
use diskscope::app::key::{KeyPress, KeySymbol};
use diskscope::app::{AppEvent, AppState, Effect, Message, update};
use diskscope::drive::identity;
use diskscope::probe::file_systems::FileSystemUsage;
use diskscope::probe::file_systems::MountedFileSystem;
use diskscope::probe::sample::{ProbeNotice, UnitKind};
use diskscope::roots::SysPaths;
use diskscope::snapshot::Snapshot;
use diskscope::snapshot::files::{DeletedView, FileHolder, FileView};
use diskscope::snapshot::view::{
    Bottleneck, DeviceView, GrowingFile, HostView, MountErrors, MountView, NoMountValues, Throttle,
    TransferState, TransferView, UnitLimit, UnitView,
};
use diskscope::trace::hot_files::Access;
use diskscope::trace::hot_files::view::{
    FileNameView, FileUserView, HotFileView, HotFilesView, ProcessView,
};
use diskscope::tui::screens::requests::TraceUnavailable;
use diskscope::ui::Theme;

use crate::interface::canned;
use crate::interface::screens::{buffer_text, draw_to_buffer};

/// Draws at the size of an old terminal and of a usual one.
fn assert_snapshots(name: &str, state: &AppState) {
    for (width, height) in [(80, 24), (120, 40)] {
        let buffer = draw_to_buffer(state, Theme::FULL, width, height);
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), buffer_text(&buffer));
    }
}

fn press_letters(state: &mut AppState, keys: &str) -> Vec<Effect> {
    let press = |letter| canned::press_key(state, KeyPress::char(letter));
    keys.chars().flat_map(press).collect()
}

fn send_message(state: &mut AppState, message: Message) {
    update(state, AppEvent::Message(message));
}

/// A logical volume on a mirror of two disks, one of them partitioned, in a machine that is short
/// of memory.
fn snapshot_at(step: usize) -> Snapshot {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/4.15/before");
    let mut live = canned::sample_snapshot(step);
    live.drives = identity::list_block_devices(&SysPaths::under_root(&tree)).into();
    live.file_systems = vec![file_system((253, 0))].into();
    live.devices = devices(step);
    live.transfers.extend(throttled_transfers());
    live.notices = vec![ProbeNotice::DelayAccountingOff.message().into()];
    live.host = HostView {
        memory_bytes: Some(16_700_000_000),
        cached_bytes: Some(9_100_000_000),
        background_threshold_bytes: Some(1_400_000_000),
        throttle_threshold_bytes: Some(2_100_000_000),
        time_to_throttle: Some(Duration::from_secs(13)),
        cache_hit_fraction: Some(0.874),
        pressure_some: Some(0.12 + 0.001 * step as f64),
        ..live.host
    };
    live.growing_files = vec![GrowingFile {
        path: "/srv/log/a-rather-long-name-of-a-file/access.log".into(),
        pid: 1207,
        command: "nginx".into(),
        size_bytes: 18_400_000_000,
        growth_bytes_per_s: 2.4e6,
    }];
    live
}

fn file_system(device: (u32, u32)) -> MountedFileSystem {
    MountedFileSystem {
        device_id: device,
        block_device: device,
        mount_point: "/srv".to_owned(),
        path: Some("/srv".into()),
        kind: "xfs".to_owned(),
        options: ["rw", "strictatime", "discard"].map(str::to_owned).to_vec(),
        usage: Some(FileSystemUsage {
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
        underlying: lies_on.iter().map(|it| (*it).into()).collect(),
        serves_serially: true,
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
        read_merged_fraction: Some(0.04),
        write_merged_fraction: Some(0.61),
        busy: Some(0.97),
        ..DeviceView::default()
    };
    let mounted = DeviceView {
        mount_point: Some("/srv".into()),
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
fn throttled_transfers() -> Vec<TransferView> {
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
        interval_rate_bytes_per_s: Some(2e6),
        files_done: Some(4118),
        files_total: Some(9301),
        bottleneck: Some(Bottleneck::Destination),
        throttle: Some(Throttle::ControlGroup),
        ..TransferView::default()
    };
    vec![job, dump]
}

fn live_state() -> AppState {
    let mut state = AppState::new(Duration::from_secs(1));
    for step in 0..120 {
        send_message(&mut state, Message::Snapshot(Arc::new(snapshot_at(step))));
    }
    state
}

/// The line of the logical volume is selected.
fn volume_selected() -> AppState {
    let mut state = live_state();
    canned::press_code(&mut state, KeySymbol::Tab);
    canned::press_code(&mut state, KeySymbol::End);
    canned::press_code(&mut state, KeySymbol::Up);
    state
}

#[test]
fn lists() {
    assert_snapshots("pane-lists", &volume_selected());
}

#[test]
fn device_pane_shows_stack_and_advice() {
    let mut state = volume_selected();
    canned::press_code(&mut state, KeySymbol::Enter);
    assert_snapshots("pane-device", &state);
    // How far a page can be scrolled is measured when it is drawn.
    draw_to_buffer(&state, Theme::FULL, 80, 24);
    canned::press_code(&mut state, KeySymbol::PageDown);
    canned::press_code(&mut state, KeySymbol::PageDown);
    assert_snapshots("pane-device-below", &state);
}

#[test]
fn device_pane_shows_the_command_of_an_advice_whole_or_not_at_all() {
    let mut state = volume_selected();
    let mut snapshot = snapshot_at(120);
    let long = "/srv/archive".repeat(7);
    snapshot.file_systems = vec![MountedFileSystem {
        path: Some(long.into()),
        ..file_system((253, 0))
    }]
    .into();
    send_message(&mut state, Message::Snapshot(Arc::new(snapshot)));
    canned::press_code(&mut state, KeySymbol::Enter);
    let shown = buffer_text(&draw_to_buffer(&state, Theme::FULL, 80, 60));
    assert!(!shown.contains("remount"), "{shown}");
    let sentence = "(a command too wide for this screen: diskscope devices prints it)";
    assert!(shown.contains(sentence), "{shown}");
}

#[test]
fn nothing_is_beside_a_command_of_the_device_pane() {
    let mut state = volume_selected();
    let mut snapshot = snapshot_at(120);
    snapshot.file_systems = vec![MountedFileSystem {
        path: Some("/srv".into()),
        ..file_system((253, 0))
    }]
    .into();
    send_message(&mut state, Message::Snapshot(Arc::new(snapshot)));
    canned::press_code(&mut state, KeySymbol::Enter);
    for width in [80, 120, 200] {
        let shown = buffer_text(&draw_to_buffer(&state, Theme::FULL, width, 60));
        let mut lines = shown.lines();
        let command = lines.find(|line| line.contains("remount")).unwrap();
        assert!(command.trim_end().ends_with(" /srv"), "{shown}");
    }
}

#[test]
fn device_pane_shows_whole_drive() {
    let mut state = live_state();
    canned::press_code(&mut state, KeySymbol::Tab);
    canned::press_code(&mut state, KeySymbol::Home);
    canned::press_code(&mut state, KeySymbol::Enter);
    assert_snapshots("pane-drive", &state);
}

#[test]
fn transfer_pane_shows_paths_and_rate() {
    let mut state = live_state();
    canned::press_code(&mut state, KeySymbol::Tab);
    canned::press_code(&mut state, KeySymbol::Tab);
    canned::press_code(&mut state, KeySymbol::Enter);
    assert_snapshots("pane-transfer", &state);
}

#[test]
fn process_list_filtered_by_selected_device() {
    let mut state = volume_selected();
    press_letters(&mut state, "o");
    assert_eq!(state.live.filter.as_string(), "dm-0");
    assert!(state.live.visible_processes().is_empty());
}

#[test]
fn a_process() {
    let mut state = live_state();
    canned::press_code(&mut state, KeySymbol::Down);
    canned::press_code(&mut state, KeySymbol::Enter);
    assert_snapshots("pane-process", &state);
}

#[test]
fn open_files() {
    let mut state = live_state();
    let effects = press_letters(&mut state, "f");
    assert!(matches!(effects[..], [Effect::ListOpenFiles(5120)]));
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
    send_message(
        &mut state,
        Message::OpenFiles {
            pid: 5120,
            files: Ok(files),
        },
    );
    assert_snapshots("pane-files", &state);
    let ended = Message::OpenFiles {
        pid: 5120,
        files: Err(Arc::new(OpenFilesError::Ended { pid: 5120 })),
    };
    send_message(&mut state, ended);
    assert_snapshots("pane-files-refused", &state);
}

#[test]
fn deleted_files() {
    let mut state = live_state();
    press_letters(&mut state, "d");
    let holder = |pid, command: &str| FileHolder {
        pid,
        command: command.into(),
        descriptor: 7,
    };
    send_message(
        &mut state,
        Message::DeletedFiles(vec![DeletedView {
            path: "/var/log/nginx/access.log".into(),
            device: Some("dm-0".into()),
            mount_point: Some("/srv".into()),
            held_bytes: 41_000_000_000,
            size_bytes: 41_000_000_001,
            holders: vec![holder(1207, "nginx"), holder(1208, "nginx")],
            needed_by: None,
            truncate_command: Some(": > /proc/1207/fd/7".into()),
            copy_command: Some("cp --sparse=always /proc/1207/fd/7 /where/there/is/room".into()),
        }]),
    );
    assert_snapshots("pane-deleted", &state);
    send_message(&mut state, Message::DeletedFiles(Vec::new()));
    assert_snapshots("pane-deleted-none", &state);
}

fn unit(name: &str, kind: UnitKind, read: f64) -> UnitView {
    UnitView {
        path: format!("/system.slice/{name}").into(),
        name: name.into(),
        kind,
        read_bytes_per_s: Some(read),
        write_bytes_per_s: Some(read / 10.0),
        read_ios_per_s: Some(read / 65536.0),
        write_ios_per_s: Some(0.0),
        pressure_some: Some(0.38),
        pressure_full: Some(0.02),
        limits: Vec::new(),
    }
}

#[test]
fn units_are_sampled_while_their_pane_is_open_and_lead_to_their_processes() {
    let mut state = live_state();
    let opened = press_letters(&mut state, "u");
    assert!(matches!(opened[..], [Effect::ShowUnits(true)]));
    assert_snapshots("pane-units-waiting", &state);
    let mut sample = canned::sample_snapshot(0);
    let mut limited = unit("nightly-backup.service", UnitKind::Service, 101.2e6);
    limited.limits = vec![UnitLimit {
        device: "sda".into(),
        read_bytes_per_s: Some(104_857_600),
        write_bytes_per_s: None,
        read_ios_per_s: Some(2000),
        write_ios_per_s: None,
        usage: Some(0.965),
    }];
    let mut idle = unit("cron.service", UnitKind::Service, 0.0);
    idle.pressure_some = None;
    idle.read_bytes_per_s = None;
    sample.units = Some(vec![
        idle,
        limited,
        unit("shop/db-0/postgres", UnitKind::Container, 12e6),
    ]);
    sample.notices = vec![ProbeNotice::BufferedWritesUnattributed.message().into()];
    sample.processes[0].unit = Some("nightly-backup.service".into());
    sample.processes[0].unit_path = Some("/system.slice/nightly-backup.service".into());
    let backup = sample.processes[0].pid;
    send_message(&mut state, Message::Snapshot(Arc::new(sample)));
    assert_snapshots("pane-units", &state);
    press_letters(&mut state, "/shop");
    canned::press_code(&mut state, KeySymbol::Enter);
    let rows = state.live.units.rows(state.live.snapshot.as_deref());
    assert_eq!(rows.unwrap().len(), 1);
    canned::press_code(&mut state, KeySymbol::Esc);
    let effects = update(&mut state, AppEvent::Key(KeyPress::new(KeySymbol::Enter)));
    assert!(matches!(effects[..], [Effect::ShowUnits(false)]));
    let listed = state.live.visible_processes();
    let pids: Vec<u32> = listed.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [backup], "the processes of the unit");
}

#[test]
fn mounts_are_sampled_while_their_pane_is_open() {
    let mut state = live_state();
    let opened = press_letters(&mut state, "M");
    assert!(matches!(opened[..], [Effect::ShowMounts(true)]));
    let mount = |mount_point: &str, file_system: &str, source: &str| MountView {
        mount_point: mount_point.into(),
        file_system: file_system.into(),
        source: source.into(),
        ..MountView::default()
    };
    let mut sample = canned::sample_snapshot(0);
    sample.mounts = Some(vec![
        MountView {
            version: Some("4.2".into()),
            read_bytes_per_s: Some(1.2e6),
            write_bytes_per_s: Some(101e6),
            requests_per_s: Some(120.0),
            retransmissions_per_s: Some(3.0),
            round_trip_ns: Some(14.1e6),
            execution_ns: Some(250e6),
            available_bytes: Some(1 << 40),
            ..mount("/srv/home", "nfs4", "filer:/home")
        },
        MountView {
            waiting: Some(3),
            ..mount("/mnt/ssh", "fuse.sshfs", "backup@vault:")
        },
        MountView {
            device: Some("sdb".into()),
            no_values: Some(NoMountValues::BlockDevice),
            read_bytes_per_s: Some(18.9e6),
            write_bytes_per_s: Some(0.0),
            requests_per_s: Some(310.0),
            mounts_on_device: Some(1),
            errors: vec![MountErrors {
                device: "/dev/sdb".into(),
                corruption: 2,
                ..MountErrors::default()
            }],
            ..mount("/srv/images/of/virtual/machines", "btrfs", "/dev/sdb")
        },
    ]);
    send_message(&mut state, Message::Snapshot(Arc::new(sample)));
    assert_snapshots("pane-mounts", &state);
    let closed = update(&mut state, AppEvent::Key(KeyPress::new(KeySymbol::Esc)));
    assert!(matches!(closed[..], [Effect::ShowMounts(false)]));
}

fn hot_files() -> HotFilesView {
    let process = |pid, command: &str, unit: Option<&str>| ProcessView {
        pid,
        command: command.into(),
        unit: unit.map(Into::into),
    };
    let name = |path: Option<&str>, device: &str| FileNameView {
        path: path.map(Into::into),
        deleted: false,
        device: device.into(),
        mount_point: "/srv".into(),
        inode: 131_073,
    };
    let user = |process: ProcessView, bytes| FileUserView { process, bytes };
    let postgres = process(993, "postgres", Some("postgresql@15-main"));
    let read = HotFileView {
        file: name(Some("/srv/db/base/16384/2619"), "sda1"),
        read_bytes: 1_000_000_000,
        written_bytes: 8192,
        read_ios: 122_070,
        write_ios: 1,
        p50_ns: Some(80_000),
        p99_ns: Some(2_100_000),
        who: vec![
            user(postgres, 999_000_000),
            user(process(4711, "cp", None), 1_008_192),
        ],
        via: Some(Access::Buffered),
    };
    let written = HotFileView {
        file: name(None, "sdb"),
        read_bytes: 0,
        written_bytes: 40_960,
        read_ios: 0,
        write_ios: 10,
        p50_ns: None,
        p99_ns: None,
        who: vec![user(process(4711, "cp", None), 40_960)],
        via: Some(Access::Writeback),
    };
    HotFilesView {
        duration_ns: 12_000_000_000,
        files: vec![read, written],
        file_bytes: 1_000_049_152,
        metadata_bytes: 4_100_000,
        events_lost: 12,
        ..HotFilesView::default()
    }
}

#[test]
fn hot_files_are_traced_for_the_device_or_process_that_is_shown() {
    let mut state = live_state();
    let opened = press_letters(&mut state, "F");
    assert!(matches!(opened[..], [Effect::TraceFiles(true)]));
    assert_snapshots("pane-hot-files-waiting", &state);
    send_message(&mut state, Message::HotFiles(Ok(Arc::new(hot_files()))));
    assert_snapshots("pane-hot-files", &state);
    let closed = update(&mut state, AppEvent::Key(KeyPress::new(KeySymbol::Esc)));
    assert!(matches!(closed[..], [Effect::TraceFiles(false)]));
    assert!(state.live.pane.is_lists());

    let mut state = canned::requests_state();
    press_letters(&mut state, "F");
    send_message(&mut state, Message::HotFiles(Ok(Arc::new(hot_files()))));
    let devices: Vec<_> = state
        .hot_files
        .files()
        .iter()
        .map(|file| file.file.device.clone())
        .collect();
    let traced = state.requests.device.clone().unwrap();
    assert!(
        devices.iter().all(|name| name.starts_with(&*traced)),
        "{devices:?} on {traced}"
    );
    let failed = TraceUnavailable {
        reason: "tracing requests is not permitted".into(),
        advice: "run it as root".into(),
        concerns_all_devices: true,
    };
    press_letters(&mut state, "r");
    send_message(&mut state, Message::HotFiles(Err(failed)));
    assert_snapshots("pane-hot-files-refused", &state);
}

#[test]
fn memory_pane_snapshot() {
    let mut state = live_state();
    press_letters(&mut state, "m");
    assert_snapshots("pane-memory", &state);
}

#[test]
fn questions() {
    let mut state = live_state();
    canned::press_code(&mut state, KeySymbol::Down);
    press_letters(&mut state, "c");
    assert_snapshots("question-class", &state);
    press_letters(&mut state, "1");
    assert_snapshots("question-class-confirm", &state);
    assert!(matches!(press_letters(&mut state, "n")[..], []));
    press_letters(&mut state, "x");
    assert_snapshots("question-signal", &state);
    press_letters(&mut state, "1");
    assert!(matches!(
        press_letters(&mut state, "y")[..],
        [Effect::ApplyProcessAction(..)]
    ));
    press_letters(&mut state, "w");
    assert_snapshots("question-accounting", &state);
    assert!(matches!(
        press_letters(&mut state, "y")[..],
        [Effect::SetAccounting(true)]
    ));
}

#[test]
fn recording_does_not_offer_delay_accounting_and_its_panes_show_the_way_back() {
    let mut state = canned::replay_state();
    let mut snapshot = Snapshot::clone(state.live.snapshot.as_ref().unwrap());
    let notice = ProbeNotice::DelayAccountingOff.message();
    snapshot.notices.insert(0, notice.into());
    state.live.snapshot = Some(Arc::new(snapshot));
    let text = |state: &AppState| buffer_text(&draw_to_buffer(state, Theme::FULL, 80, 24));
    let lists = text(&state);
    assert!(lists.contains("delay accounting was off"), "{lists}");
    assert!(!lists.contains("w turns on"), "{lists}");
    let keys = lists.lines().last().unwrap();
    assert!(!keys.contains("Esc"), "{keys}");
    assert!(keys.contains("F find"), "{keys}");
    assert!(
        !keys.contains("b benchmark"),
        "refused in a recording: {keys}"
    );
    canned::press_code(&mut state, KeySymbol::Down);
    canned::press_code(&mut state, KeySymbol::Enter);
    let pane = text(&state);
    assert!(!pane.contains("w turns it on"), "{pane}");
    assert!(pane.lines().last().unwrap().contains("Esc back"), "{pane}");
}
