//! Each rule on literal windows, for its cause and for its absence.

use std::sync::Arc;
use std::time::Duration;

use super::evidence;
use super::window::LoadLooks;
use super::*;
use crate::drive::identity::list_block_devices;
use crate::drive::mounts::MountEntry;
use crate::drive::{BlockDevice, DriveKind};
use crate::files::safe_text::SafeText;
use crate::probe::facts::{BlockedDetails, FactsSample};
use crate::probe::file_systems::{FileSystemUsage, MountedFileSystem};
use crate::probe::mounts::counters::FuseConnection;
use crate::probe::operations::OperationKind;
use crate::probe::process::blocked_task::ThreadSleep;
use crate::probe::process::blocked_task::UsedMount;
use crate::probe::process::numbers::ProcessNumbers;
use crate::probe::process::task_scan::{BlockedTask, TaskScan};
use crate::probe::sample::ProbeNotice;
use crate::probe::sample::UnitKind;
use crate::probe::system::device_health::{DeviceHealth, LinkSpeed};
use crate::probe::system::kernel_log::{KernelIoError, NewErrors};
use crate::probe::waits::groups::LimitedGroup;
use crate::probe::waits::locks::LockWait;
use crate::probe::waits::servers::FuseServer;
use crate::roots::SysPaths;
use crate::snapshot::Snapshot;
use crate::snapshot::files::{DeletedView, FileHolder};
use crate::snapshot::view::{
    BlockedTaskView, DeviceShare, DeviceView, HostView, IoErrorsView, MountView, ProcessView,
    TotalRates, TransferKind, TransferView, UnitLimit, UnitView,
};

/// Snapshots and scans per window.
const LENGTH: usize = 10;

/// A window of ten seconds of a quiet machine, to be changed.
struct Scene {
    host: HostView,
    devices: Vec<DeviceView>,
    processes: Vec<ProcessView>,
    units: Vec<UnitView>,
    file_systems: Vec<MountedFileSystem>,
    drives: Vec<BlockDevice>,
    transfers: Vec<TransferView>,
    blocked: Vec<BlockedTask>,
    facts: FactsSample,
}

impl Scene {
    fn quiet() -> Self {
        Self {
            host: HostView {
                cpu_busy: Some(0.1),
                pressure_some: Some(0.01),
                memory_pressure_some: Some(0.0),
                cpu_pressure_some: Some(0.02),
                swap_in_bytes_per_s: Some(0.0),
                swap_out_bytes_per_s: Some(0.0),
                refault_bytes_per_s: Some(0.0),
                dirty_bytes: Some(1 << 20),
                writeback_bytes: Some(0),
                throttle_threshold_bytes: Some(1 << 30),
                ..HostView::default()
            },
            devices: vec![device("sda", 0.1, 5.0, 2e6)],
            processes: Vec::new(),
            units: Vec::new(),
            file_systems: Vec::new(),
            drives: Vec::new(),
            transfers: Vec::new(),
            blocked: Vec::new(),
            facts: FactsSample {
                kernel_errors: NewErrors::Available(Vec::new()),
                ..FactsSample::default()
            },
        }
    }

    /// A process that moves that many bytes per second on `sda` and is blocked in that function.
    fn with_process(mut self, pid: u32, command: &str, bytes: f64, channel: Option<&str>) -> Self {
        self.processes.push(ProcessView {
            pid,
            tid: pid,
            command: command.into(),
            write_bytes_per_s: Some(bytes),
            devices: vec![DeviceShare::named("sda".into())],
            ..ProcessView::default()
        });
        if let Some(channel) = channel {
            self.blocked.push(BlockedTask {
                pid,
                tid: pid,
                name: command.as_bytes().to_vec(),
                wait_channel: Some(channel.to_owned()),
                switches: None,
                is_kernel_thread: false,
            });
        }
        self
    }

    fn snapshot(&self, second: usize) -> Snapshot {
        Snapshot {
            time: format!("2026-01-01T00:00:{second:02}Z").into(),
            interval: Some(Duration::from_secs(1)),
            host: self.host.clone(),
            devices: self.devices.clone(),
            processes: self.processes.clone(),
            process_count: self.processes.len(),
            transfers: self.transfers.clone(),
            growing_files: Vec::new(),
            units: Some(self.units.clone()),
            mounts: None,
            blocked: None,
            io_errors: None,
            total: TotalRates::default(),
            traced: None,
            notices: Vec::new(),
            drives: self.drives.clone().into(),
            temperatures: Default::default(),
            file_systems: self.file_systems.clone().into(),
        }
    }

    fn window(&self) -> EvidenceWindow {
        let scan = |second: usize| TaskScan {
            at: Duration::from_secs(100 + second as u64),
            blocked: self.blocked.clone(),
            ..TaskScan::default()
        };
        EvidenceWindow {
            snapshots: (0..LENGTH).map(|it| Arc::new(self.snapshot(it))).collect(),
            scans: (0..=LENGTH).map(scan).collect(),
            facts: Some((FactsSample::default(), self.facts.clone())),
            looks: LoadLooks {
                stoppable: self.processes.iter().map(|it| it.pid).collect(),
                ..LoadLooks::default()
            },
            process_numbers: ProcessNumbers::Own,
            ..EvidenceWindow::default()
        }
    }

    /// The diagnosis, in which each rule has an answer.
    fn diagnosis(&self) -> Diagnosis {
        let diagnosis = diagnose(&self.window()).unwrap();
        for rule in &rules::RULES {
            let found = diagnosis.causes.iter().map(|it| it.code);
            let ruled_out = diagnosis.ruled_out.iter().map(|it| it.code);
            let not_examined = diagnosis.not_examined.iter().map(|it| it.code);
            let mut answered = found.chain(ruled_out).chain(not_examined);
            assert!(answered.any(|code| code == rule.code), "{}", rule.code);
        }
        diagnosis
    }

    fn codes(&self) -> Vec<&str> {
        codes(&self.diagnosis())
    }
}

/// A device with that queue, requests per second and latency of writes.
fn device(name: &str, queue: f64, iops: f64, latency: f64) -> DeviceView {
    DeviceView {
        name: name.into(),
        kind: Some(DriveKind::Disk),
        read_ios_per_s: Some(0.0),
        write_ios_per_s: Some(iops),
        read_bytes_per_s: Some(0.0),
        write_bytes_per_s: Some(iops * 4096.0),
        write_await_ns: Some(latency),
        in_flight: Some(queue as u64),
        queue_size: Some(queue),
        busy: Some((queue / 2.0).min(1.0)),
        flush_ios_per_s: Some(0.0),
        ..DeviceView::default()
    }
}

/// The first drive of a literal tree as `sda`.
fn some_drive() -> BlockDevice {
    let tree = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/4.15/before");
    let mut drives = list_block_devices(&SysPaths::under_root(&tree));
    drives[0].name = "sda".to_owned();
    drives[0].parent = None;
    drives.swap_remove(0)
}

/// A saturated device, a process that takes nearly all of it, and one that waits.
fn saturated() -> Scene {
    let mut scene = Scene::quiet()
        .with_process(10, "cp -a /srv /mnt", 90e6, Some("balance_dirty_pages"))
        .with_process(20, "postgres: writer", 1e6, Some("folio_wait_bit_common"));
    scene.devices = vec![device("sda", 32.0, 800.0, 40e6)];
    scene.blocked.remove(0);
    scene
}

#[test]
fn quiet_machine_has_no_cause_and_its_values_are_known() {
    let diagnosis = Scene::quiet().diagnosis();
    assert_eq!(diagnosis.causes, []);
    assert!(!diagnosis.is_problem() && !diagnosis.machine.is_empty());
    let examined = diagnosis.ruled_out.len() + diagnosis.not_examined.len();
    assert_eq!(examined, rules::RULES.len());
}

#[test]
fn window_without_rates_has_no_diagnosis() {
    assert_eq!(diagnose(&EvidenceWindow::default()), None);
    let mut window = Scene::quiet().window();
    let first = Arc::new(Snapshot {
        interval: None,
        ..Scene::quiet().snapshot(0)
    });
    window.snapshots = vec![first];
    assert_eq!(diagnose(&window), None);
}

/// The codes of all causes but the notes about what limits work.
fn codes(diagnosis: &Diagnosis) -> Vec<&'static str> {
    let codes = diagnosis.causes.iter().map(|it| it.code);
    codes.filter(|code| *code != "at-limit").collect()
}

/// The commands of the measures of all causes that contain this.
fn commands(diagnosis: &Diagnosis, part: &str) -> Vec<String> {
    let remedies = diagnosis.causes.iter().flat_map(|it| &it.remedies);
    let commands = remedies.filter_map(|it| it.command.clone());
    commands.filter(|it| it.contains(part)).collect()
}

/// A value in the proof of a cause.
fn value(cause: &Cause, name: &str) -> Option<f64> {
    let found = cause.evidence.iter().find(|it| it.name == name);
    found.map(|it| it.value)
}

/// The diagnosis of a recording of a quiet machine, with this in each of its snapshots.
fn recorded(change: impl Fn(usize, &mut Snapshot)) -> Diagnosis {
    let snapshots = (0..15).map(|second| {
        let mut snapshot = Scene::quiet().snapshot(second);
        change(second, &mut snapshot);
        Arc::new(snapshot)
    });
    diagnose(&EvidenceWindow::of_snapshots(snapshots)).unwrap()
}

/// Code and device of the first cause.
fn first(diagnosis: &Diagnosis) -> Option<(&str, Option<&str>)> {
    let mut causes = diagnosis.causes.iter();
    let cause = causes.find(|cause| cause.code != "at-limit")?;
    Some((cause.code, cause.device.as_deref()))
}

#[test]
fn recording_without_tasks_mounts_and_errors_says_what_it_cannot_show() {
    let diagnosis = recorded(|_, _| ());
    assert_eq!(diagnosis.causes, []);
    for code in [
        "hung-io",
        "fuse-or-network-stalled",
        "drive-errors",
        "file-system-full",
    ] {
        let reason = NotExamined::NotRecorded;
        let expected = Unexamined { code, reason };
        assert!(diagnosis.not_examined.contains(&expected), "{code}");
    }
}

#[test]
fn tasks_that_a_recording_shows_blocked_hang() {
    let task = |second: usize, blocked_in: &str| BlockedTaskView {
        pid: 40,
        tid: 41,
        command: "dd if=/dev/sda".into(),
        unit: None,
        blocked_ns: 1_000_000_000 * second as u64,
        wait_channel: Some(blocked_in.into()),
    };
    let hung = recorded(|second, it| it.blocked = Some(vec![task(second, "submit_bio_wait")]));
    assert_eq!(first(&hung), Some(("hung-io", None)));
    assert_eq!(hung.causes[0].victims[0].pid, 40);
    let served =
        recorded(|second, it| it.blocked = Some(vec![task(second, "request_wait_answer")]));
    assert_eq!(first(&served), Some(("fuse-or-network-stalled", None)));
    // It made a context switch: each sleep is a new one.
    let awake = recorded(|_, it| it.blocked = Some(vec![task(0, "submit_bio_wait")]));
    assert_eq!(first(&awake), None);
}

#[test]
fn errors_that_a_recording_counts_are_named() {
    let errors = |logged| IoErrorsView {
        device: "sda".into(),
        logged,
        failed_commands: Some(3),
        message: Some("I/O error, dev sda, sector 8".into()),
    };
    let logged = recorded(|second, it| {
        it.io_errors = Some((second == 4).then(|| errors(Some(2))).into_iter().collect());
    });
    assert_eq!(first(&logged), Some(("drive-errors", Some("sda"))));
    let harmless = recorded(|_, it| it.io_errors = Some(vec![errors(None)]));
    assert_eq!(first(&harmless), None);
}

#[test]
fn resync_that_a_recording_lists_as_a_transfer_is_one_of_its_array() {
    let resync = |name: &str, kind| {
        recorded(move |_, it| {
            it.devices.push(DeviceView {
                name: name.into(),
                kind: Some(kind),
                ..DeviceView::default()
            });
            it.transfers = vec![TransferView {
                command: name.into(),
                kind: TransferKind::Operation(OperationKind::Resync),
                ..TransferView::default()
            }];
        })
    };
    let array = resync("md0", DriveKind::Raid);
    assert_eq!(first(&array), Some(("raid-resync", Some("md0"))));
    let mirror = resync("dm-3", DriveKind::DeviceMapper);
    assert_eq!(first(&mirror), None);
}

#[test]
fn file_system_that_a_recording_shows_full_is_named() {
    let full = |kind: &str, size_bytes| {
        recorded(move |_, it| {
            it.mounts = Some(vec![MountView {
                mount_point: "/srv".into(),
                file_system: kind.into(),
                size_bytes: Some(size_bytes),
                available_bytes: Some(4096),
                ..MountView::default()
            }]);
        })
    };
    assert_eq!(full("ext4", 1 << 40).causes[0].code, "file-system-full");
    assert_eq!(first(&full("squashfs", 1 << 30)), None);
}

#[test]
fn saturated_device_is_blamed_on_who_takes_most_of_it() {
    let diagnosis = saturated().diagnosis();
    let cause = &diagnosis.causes[0];
    assert_eq!(cause.code, "device-saturated");
    assert_eq!(cause.culprits[0].pid, 10);
    assert_eq!(cause.victims[0].pid, 20);
    assert_eq!(cause.certainty, Certainty::Probable);
    assert!(value(cause, "traffic_share").unwrap() > 0.9);
    assert!(diagnosis.is_problem());
}

#[test]
fn fast_copy_that_saturates_a_device_alone_is_no_problem() {
    let mut scene = saturated();
    scene.processes.truncate(1);
    scene.blocked = vec![BlockedTask {
        pid: 10,
        tid: 10,
        wait_channel: Some("balance_dirty_pages".into()),
        ..BlockedTask::default()
    }];
    scene.devices[0].write_bytes_per_s = Some(90e6);
    assert!(scene.codes().is_empty());
}

/// The codes of a window in which `bursts` of the snapshots are those of `busy`, the others quiet.
fn codes_of_bursts(busy: &Scene, bursts: usize) -> Vec<&str> {
    let mut window = busy.window();
    let mut between = saturated();
    between.processes.clone_from(&busy.processes);
    between.devices = vec![device("sda", 1.0, 100.0, 7e6)];
    for second in bursts..LENGTH {
        window.snapshots[second] = Arc::new(between.snapshot(second));
    }
    let diagnosis = diagnose(&window).unwrap();
    codes(&diagnosis)
}

#[test]
fn bursts_of_writeback_that_delay_others_for_seconds_are_saturation() {
    let mut busy = saturated();
    busy.devices = vec![device("sda", 22.0, 20.0, 1.1e9)];
    assert_eq!(codes_of_bursts(&busy, 2), ["device-saturated"]);
    assert!(codes_of_bursts(&busy, 1).is_empty(), "too short to suffer");
    busy.devices = vec![device("sda", 4.0, 80.0, 50e6)];
    assert!(
        codes_of_bursts(&busy, 3).is_empty(),
        "not noticed as a delay"
    );
    busy.devices = vec![device("sda", 22.0, 20.0, 1.1e9)];
    busy.blocked.clear();
    assert!(codes_of_bursts(&busy, 3).is_empty(), "nobody waits");
}

#[test]
fn unit_of_a_user_is_not_limited_under_the_name_of_one_of_the_system() {
    let of_system = ("/system.slice/db.service", "db.service");
    let of_user = (
        "/user.slice/user@1000.service/app.slice/db.service",
        "db.service",
    );
    for (units, is_limited) in [
        (&[of_system][..], true),
        (&[("/system.slice/a.service", "a.service"), of_system], true),
        (&[of_user], false),
        // Whose it is, is unknown.
        (&[of_system, of_user], false),
        (&[], false),
    ] {
        let mut scene = saturated();
        scene.processes[0].unit = Some("db.service".into());
        scene.units = units
            .iter()
            .map(|(path, name)| UnitView::without_io(path, name))
            .collect();
        let found = commands(&scene.diagnosis(), " -- db.service ");
        assert_eq!(!found.is_empty(), is_limited, "{units:?}");
    }
}

#[test]
fn unit_is_limited_to_half_of_what_it_moves_in_each_direction() {
    let mut scene = saturated();
    scene.processes[0].unit = Some("db.service".into());
    scene.processes[0].read_bytes_per_s = Some(30e6);
    scene.devices[0].read_bytes_per_s = Some(40e6);
    scene.devices[0].write_bytes_per_s = Some(200e6);
    scene.units = vec![UnitView::without_io(
        "/system.slice/db.service",
        "db.service",
    )];
    let (read, write) = (
        "IOReadBandwidthMax=/dev/sda",
        "IOWriteBandwidthMax=/dev/sda",
    );
    for (of_device, of_process, expected) in [
        (40e6, 30e6, format!("'{read} 15000000' '{write} 45000000'")),
        // Files on other devices.
        (10e6, 30e6, format!("'{read} 5000000' '{write} 45000000'")),
        (10e6, 2e5, format!("'{write} 45000000'")),
    ] {
        scene.devices[0].read_bytes_per_s = Some(of_device);
        scene.processes[0].read_bytes_per_s = Some(of_process);
        let found = commands(&scene.diagnosis(), "set-property");
        assert!(
            found[0].ends_with(&format!(" db.service {expected}")),
            "{found:?}"
        );
    }
}

#[test]
fn idle_class_is_advised_where_the_scheduler_heeds_it_only() {
    for (scheduler, kernel, is_advised) in [
        ("bfq", Some("4.18.0-553.el8.x86_64"), true),
        ("mq-deadline", Some("6.1.0-18-amd64"), true),
        ("mq-deadline", Some("5.10.0-28-amd64"), false),
        ("mq-deadline", None, false),
        ("none", Some("6.1.0-18-amd64"), false),
    ] {
        let mut scene = saturated();
        scene.host.kernel = kernel.map(SafeText::from);
        scene.drives = vec![some_drive()];
        scene.drives[0].scheduler = Some(scheduler.to_owned());
        let found = commands(&scene.diagnosis(), "ionice -c 3");
        assert_eq!(!found.is_empty(), is_advised, "{scheduler} {kernel:?}");
    }
}

#[test]
fn process_on_which_others_depend_is_not_to_be_stopped() {
    let is_stopped =
        |window: &EvidenceWindow| !commands(&diagnose(window).unwrap(), "kill -STOP 10").is_empty();
    let mut throttled = Scene::quiet()
        .with_process(10, "mergerfs", 90e6, None)
        .with_process(20, "postgres", 1e6, Some("balance_dirty_pages"));
    throttled.host.dirty_bytes = Some(1 << 30);
    for scene in [saturated(), throttled] {
        let mut window = scene.window();
        assert!(is_stopped(&window));
        window.looks.stoppable.retain(|pid| *pid != 10);
        assert!(!is_stopped(&window));
    }
}

#[test]
fn diagnosis_of_a_recording_has_no_measure_for_a_process_number() {
    let acts_on_process = |diagnosis: &Diagnosis| {
        let mut remedies = diagnosis.causes.iter().flat_map(|cause| &cause.remedies);
        remedies.any(|it| it.reach == RemedyReach::Process)
    };
    let scene = saturated();
    assert!(acts_on_process(&scene.diagnosis()));
    let diagnosis = recorded(|_, snapshot| {
        snapshot.devices.clone_from(&scene.devices);
        snapshot.processes.clone_from(&scene.processes);
        let blocked = scene.blocked.iter().map(|task| BlockedTaskView {
            pid: task.pid,
            tid: task.tid,
            command: SafeText::from_bytes(&task.name),
            unit: None,
            blocked_ns: 0,
            wait_channel: task.wait_channel.as_deref().map(SafeText::from),
        });
        snapshot.blocked = Some(blocked.collect());
    });
    assert!(!diagnosis.causes.is_empty() && !acts_on_process(&diagnosis));
    // Numbers of another PID namespace are those of other processes in a command.
    let mut window = scene.window();
    window.process_numbers = ProcessNumbers::Other;
    assert!(!acts_on_process(&diagnose(&window).unwrap()));
}

#[test]
fn bursts_of_a_maintenance_program_are_maintenance() {
    let mut busy = saturated();
    busy.devices = vec![device("sda", 22.0, 20.0, 1.1e9)];
    busy.processes[0].command = "/usr/sbin/e2fsck -f /dev/sda1".into();
    assert_eq!(codes_of_bursts(&busy, 2)[0], "maintenance");
    assert!(codes_of_bursts(&busy, 1).is_empty());
}

#[test]
fn deep_queue_at_low_latency_is_no_saturation() {
    let mut scene = saturated();
    scene.devices = vec![device("sda", 32.0, 40_000.0, 0.8e6)];
    assert!(scene.codes().is_empty());
}

#[test]
fn equal_writers_that_wait_for_each_other_saturate_a_device() {
    let mut scene = Scene::quiet();
    for pid in 1..=6 {
        scene = scene.with_process(pid, "writer", 1e6, Some("submit_bio_wait"));
    }
    scene.devices = vec![device("sda", 6.0, 100.0, 60e6)];
    assert_eq!(scene.codes(), ["device-saturated"]);
    scene.processes.truncate(2);
    scene.blocked.truncate(2);
    assert_eq!(scene.codes(), ["device-saturated"]);
    scene.processes.truncate(1);
    scene.blocked.truncate(1);
    assert!(scene.codes().is_empty(), "it waits for itself");
}

#[test]
fn partition_and_upper_device_are_not_named_beside_their_drive() {
    let mut scene = saturated();
    let mut upper = device("dm-0", 32.0, 800.0, 41e6);
    upper.underlying = vec!["sda1".into()];
    let mut part = device("sda1", 32.0, 800.0, 40e6);
    part.kind = Some(DriveKind::Partition);
    part.underlying = vec!["sda".into()];
    scene.devices.extend([part, upper]);
    for process in &mut scene.processes {
        process.devices = vec![DeviceShare::named("dm-0".into())];
    }
    let diagnosis = scene.diagnosis();
    assert_eq!(diagnosis.causes.len(), 1);
    assert_eq!(diagnosis.causes[0].device.as_deref(), Some("sda"));
    assert_eq!(diagnosis.causes[0].victims[0].pid, 20);
}

#[test]
fn few_slow_requests_are_a_slow_device() {
    let mut scene = Scene::quiet().with_process(20, "mysqld", 1e5, Some("submit_bio_wait"));
    scene.devices = vec![device("sda", 1.0, 5.0, 200e6)];
    let diagnosis = scene.diagnosis();
    assert_eq!(diagnosis.causes[0].code, "device-slow");
    assert_eq!(diagnosis.causes[0].severity, Severity::Warning);
    scene.blocked.clear();
    assert!(scene.codes().is_empty());
}

#[test]
fn writer_is_throttled_by_another_that_fills_the_memory() {
    let mut scene = Scene::quiet()
        .with_process(10, "dd of=/mnt/usb", 90e6, Some("balance_dirty_pages"))
        .with_process(20, "logger", 1e4, Some("balance_dirty_pages"));
    scene.devices[0].write_bytes_per_s = Some(90e6);
    let diagnosis = scene.diagnosis();
    let cause = &diagnosis.causes[0];
    assert_eq!(cause.code, "dirty-throttled");
    assert_eq!((cause.culprits[0].pid, cause.victims[0].pid), (10, 20));
    scene.processes.truncate(1);
    scene.blocked.truncate(1);
    assert!(scene.codes().is_empty());
    scene.devices[0].write_bytes_per_s = Some(2e6);
    assert_eq!(scene.codes(), ["dirty-throttled"]);
}

#[test]
fn limits_of_dirty_memory_are_only_lowered() {
    let mut scene = Scene::quiet().with_process(1, "dd", 1e6, Some("balance_dirty_pages"));
    scene.devices[0].write_bytes_per_s = Some(2e6);
    for (throttled_from, limit) in [
        (8 << 30, Some(256 << 20)),
        (64 << 20, Some(32 << 20)),
        (48_123_456, Some(22 << 20)),
        (20 << 20, None),
    ] {
        scene.host.throttle_threshold_bytes = Some(throttled_from);
        let found = commands(&scene.diagnosis(), "sysctl vm.dirty_background");
        let expected = limit.map(|bytes: u64| format!(" vm.dirty_bytes={bytes}"));
        let ends = expected.map(|end| found.iter().any(|line| line.ends_with(&end)));
        assert!(ends.unwrap_or(found.is_empty()), "{found:?}");
    }
}

#[test]
fn writer_of_one_device_is_not_throttled_because_of_another_device() {
    let mut scene = Scene::quiet()
        .with_process(1, "dd", 1e6, Some("balance_dirty_pages"))
        .with_process(2, "rustc", 300e6, None);
    scene.processes[1].devices = vec![DeviceShare::named("sdb".into())];
    scene.devices.push(device("sdb", 0.1, 5.0, 2e6));
    let culprit = |scene: &Scene| {
        let diagnosis = scene.diagnosis();
        let mut causes = diagnosis.causes.iter();
        let cause = causes.find(|it| it.code == "dirty-throttled");
        cause.unwrap().culprits[0].pid
    };
    assert_eq!(culprit(&scene), 1);
    // Unless the memory as a whole is full.
    scene.host.dirty_bytes = Some(900 << 20);
    assert_eq!(culprit(&scene), 2);
}

#[test]
fn virtual_disk_at_a_constant_rate_is_slow() {
    let mut scene = Scene::quiet()
        .with_process(1, "postgres", 1e6, Some("folio_wait_bit_common"))
        .with_process(2, "pg_dump", 40e6, Some("folio_wait_bit_common"));
    scene.devices = vec![device("sda", 12.0, 3000.0, 40e6)];
    scene.drives = vec![some_drive()];
    scene.drives[0].transport = Some("virtio".to_owned());
    // The culprit is named before the limit, which is evidence.
    let cause = scene.diagnosis().causes.remove(0);
    assert_eq!((cause.code, cause.culprits[0].pid), ("device-saturated", 2));
    assert_eq!(value(&cause, "throughput_spread"), Some(0.0));
    scene.processes.remove(1);
    scene.blocked.remove(1);
    let cause = scene.diagnosis().causes.remove(0);
    assert_eq!(cause.code, "device-slow");
    assert!(
        cause.sentence.contains("and not more"),
        "{}",
        cause.sentence
    );
    scene.drives[0].transport = Some("sata".to_owned());
    assert!(!scene.codes().contains(&"device-slow"));
}

#[test]
fn limit_of_control_group_is_a_cause_only_when_somebody_waits() {
    let limit = |usage| UnitView {
        path: "/backup.service".into(),
        name: "backup.service".into(),
        kind: UnitKind::Service,
        read_bytes_per_s: Some(4e6),
        write_bytes_per_s: Some(0.0),
        read_ios_per_s: Some(10.0),
        write_ios_per_s: Some(0.0),
        pressure_some: Some(0.6),
        pressure_full: Some(0.5),
        limits: vec![UnitLimit {
            device: "sda".into(),
            read_bytes_per_s: Some(4_000_000),
            write_bytes_per_s: None,
            read_ios_per_s: None,
            write_ios_per_s: None,
            usage: Some(usage),
        }],
    };
    let mut scene = Scene::quiet();
    scene.units = vec![limit(1.0)];
    assert_eq!(scene.codes(), ["cgroup-throttled"]);
    scene.units = vec![limit(0.3)];
    assert!(scene.codes().is_empty());
    scene.units = vec![UnitView {
        pressure_some: Some(0.0),
        ..limit(1.0)
    }];
    assert!(scene.codes().is_empty());
    // Of 25 requests per second the kernel lets two pass in each 100 ms.
    let mut few = limit(0.8);
    few.limits[0].read_bytes_per_s = None;
    few.limits[0].read_ios_per_s = Some(25);
    scene.units = vec![few];
    assert_eq!(scene.codes(), ["cgroup-throttled"]);
    scene.units = vec![limit(0.8)];
    assert!(scene.codes().is_empty());
}

#[test]
fn limit_that_holds_one_request_back_is_named_before_the_process_that_hangs() {
    let mut scene = Scene::quiet().with_process(7, "tar", 0.0, Some("submit_bio_wait"));
    scene.processes[0].unit = Some("backup.service".into());
    scene.blocked[0].switches = Some(3);
    scene.devices[0].in_flight = Some(0);
    assert_eq!(scene.codes(), ["hung-io"]);
    scene.units = vec![UnitView {
        path: "/backup.service".into(),
        name: "backup.service".into(),
        kind: UnitKind::Service,
        read_bytes_per_s: Some(0.0),
        write_bytes_per_s: Some(0.0),
        read_ios_per_s: Some(0.0),
        write_ios_per_s: Some(0.0),
        pressure_some: None,
        pressure_full: None,
        limits: vec![UnitLimit {
            device: "sda".into(),
            read_bytes_per_s: Some(4096),
            write_bytes_per_s: None,
            read_ios_per_s: None,
            write_ios_per_s: None,
            usage: Some(0.0),
        }],
    }];
    let diagnosis = scene.diagnosis();
    let codes = codes(&diagnosis);
    assert_eq!(codes, ["cgroup-throttled", "hung-io"]);
    let hung = &diagnosis.causes[1];
    assert_eq!(hung.consequence_of, Some("cgroup-throttled"));
    // A request in flight all the time is in the device: the limit has let it pass.
    scene.devices[0].in_flight = Some(1);
    assert_eq!(scene.codes(), ["hung-io"]);
}

#[test]
fn many_flushes_that_several_wait_for_are_a_sync_storm() {
    let mut scene = Scene::quiet();
    for pid in 1..=5 {
        scene = scene.with_process(pid, "committer", 1e5, Some("jbd2_log_wait_commit"));
    }
    scene.devices = vec![DeviceView {
        flush_ios_per_s: Some(90.0),
        flush_await_ns: Some(10e6),
        ..device("sda", 5.0, 200.0, 50e6)
    }];
    let diagnosis = scene.diagnosis();
    assert_eq!(diagnosis.causes[0].code, "sync-storm");
    assert_eq!(diagnosis.causes[1].code, "device-saturated");
    assert_eq!(diagnosis.causes[1].consequence_of, Some("sync-storm"));
    scene.blocked.truncate(1);
    assert!(!scene.codes().contains(&"sync-storm"));
}

#[test]
fn swapping_under_pressure_is_thrashing() {
    let mut scene = Scene::quiet();
    scene.host.swap_in_bytes_per_s = Some(20e6);
    scene.host.swap_out_bytes_per_s = Some(20e6);
    scene.host.memory_pressure_some = Some(0.5);
    assert_eq!(scene.codes()[0], "swap-thrashing");
    scene.host.memory_pressure_some = Some(0.01);
    assert!(scene.codes().is_empty());
}

#[test]
fn pages_that_go_round_are_thrashing_without_much_pressure() {
    let mut scene = Scene::quiet();
    scene.host.memory_pressure_some = Some(0.03);
    scene.host.swap_in_bytes_per_s = Some(18e6);
    assert!(scene.codes().is_empty());
    scene.host.swap_out_bytes_per_s = Some(18e6);
    assert_eq!(scene.codes(), ["swap-thrashing"]);
}

#[test]
fn refaults_under_pressure_are_cache_thrashing() {
    let mut scene = Scene::quiet();
    scene.host.refault_bytes_per_s = Some(80e6);
    scene.host.memory_pressure_some = Some(0.2);
    assert_eq!(scene.codes(), ["cache-thrashing"]);
    scene.host.memory_pressure_some = Some(0.0);
    assert!(scene.codes().is_empty());
}

#[test]
fn files_that_go_round_while_tasks_wait_for_io_are_cache_thrashing() {
    let mut scene = Scene::quiet();
    scene.host.refault_bytes_per_s = Some(80e6);
    scene.host.memory_pressure_some = Some(0.01);
    scene.host.pressure_some = Some(0.2);
    assert!(scene.codes().contains(&"cache-thrashing"));
    scene.host.refault_bytes_per_s = Some(20e6);
    assert!(!scene.codes().contains(&"cache-thrashing"));
}

#[test]
fn readers_that_are_gone_are_named_by_who_started_them() {
    let mut scene = Scene::quiet();
    scene.host.refault_bytes_per_s = Some(80e6);
    scene.host.memory_pressure_some = Some(0.2);
    let mut window = scene.window();
    for (second, snapshot) in window.snapshots.iter_mut().enumerate() {
        let reader = |pid: u32, parent_pid, exited| ProcessView {
            pid,
            tid: pid,
            parent_pid,
            exited,
            command: "[cat]".into(),
            read_bytes_per_s: Some(20e6),
            ..ProcessView::default()
        };
        let shell = ProcessView {
            pid: 50,
            tid: 50,
            parent_pid: 1,
            command: "sh /usr/local/bin/index-files".into(),
            ..ProcessView::default()
        };
        let child = 100 + second as u32;
        let mut live = Snapshot::clone(snapshot);
        // One whose shell is known, one that nobody is left of.
        live.processes = vec![shell, reader(child, 50, true), reader(child + 50, 9, true)];
        live.processes[1].read_bytes_per_s = Some(60e6);
        *snapshot = Arc::new(live);
    }
    let cause = &diagnose(&window).unwrap().causes[0];
    let named: Vec<&str> = cause.victims.iter().map(|it| it.command.as_str()).collect();
    assert_eq!(named, ["sh /usr/local/bin/index-files"]);
    assert_eq!(cause.victims[0].pid, 50);
}

#[test]
fn busy_processors_without_io_are_not_io() {
    let mut scene = Scene::quiet();
    scene.host.cpu_busy = Some(0.99);
    scene.host.cpu_pressure_some = Some(0.8);
    assert_eq!(scene.codes(), ["not-io"]);
    scene.host.cpu_pressure_some = Some(0.05);
    assert!(scene.codes().is_empty());
}

#[test]
fn resync_is_a_note_until_somebody_waits() {
    let mut scene = Scene::quiet();
    scene.transfers = vec![TransferView {
        command: "md0".into(),
        kind: TransferKind::Operation(OperationKind::Check),
        ..TransferView::default()
    }];
    scene.devices.push(DeviceView {
        kind: Some(DriveKind::Raid),
        underlying: vec!["sda".into()],
        ..device("md0", 1.0, 5.0, 1e6)
    });
    let diagnosis = scene.diagnosis();
    assert_eq!(diagnosis.causes[0].code, "raid-resync");
    assert!(!diagnosis.is_problem());
    let mut scene = scene.with_process(20, "postgres", 1e5, Some("submit_bio_wait"));
    scene.processes[0].devices = vec![DeviceShare::named("md0".into())];
    assert!(scene.diagnosis().is_problem());
}

#[test]
fn maintenance_program_explains_saturation() {
    let mut scene = saturated();
    scene.processes[0].command = "/usr/sbin/e2fsck -f /dev/sda1".into();
    let diagnosis = scene.diagnosis();
    assert_eq!(diagnosis.causes[0].code, "maintenance");
    assert_eq!(diagnosis.causes[1].consequence_of, Some("maintenance"));
}

#[test]
fn discards_that_others_wait_for_are_maintenance() {
    let mut scene = Scene::quiet()
        .with_process(5, "/sbin/fstrim -av", 0.0, Some("submit_bio_wait"))
        .with_process(6, "postgres: writer", 1e6, Some("folio_wait_bit_common"));
    scene.devices = vec![device("sda", 12.0, 80.0, 60e6)];
    scene.devices[0].discard_ios_per_s = Some(150.0);
    scene.devices[0].discard_await_ns = Some(50e6);
    let diagnosis = scene.diagnosis();
    let cause = &diagnosis.causes[0];
    assert_eq!(cause.code, "maintenance");
    assert_eq!((cause.culprits[0].pid, cause.victims[0].pid), (5, 6));
    assert!(value(cause, "discard_share").unwrap() > 0.5);
    scene.devices[0].discard_ios_per_s = Some(1.0);
    assert!(!scene.codes().contains(&"maintenance"));
}

#[test]
fn error_in_kernel_log_is_critical() {
    let mut scene = Scene::quiet();
    scene.facts.kernel_errors = NewErrors::Available(vec![KernelIoError {
        device: "sda".into(),
        message: "I/O error, dev sda, sector 8".into(),
    }]);
    let diagnosis = scene.diagnosis();
    assert_eq!(diagnosis.causes[0].code, "drive-errors");
    assert_eq!(diagnosis.causes[0].severity, Severity::Critical);
    scene.facts.kernel_errors = NewErrors::NotPermitted;
    let diagnosis = scene.diagnosis();
    let unknown = Unexamined {
        code: "drive-errors",
        reason: NotExamined::NotPermitted,
    };
    assert!(diagnosis.not_examined.contains(&unknown));
}

#[test]
fn slow_link_is_a_problem_only_when_it_is_used() {
    let mut scene = Scene::quiet();
    scene.facts.devices = vec![DeviceHealth {
        name: "sda".into(),
        link: Some(LinkSpeed {
            current: 150e6,
            supported: 600e6,
        }),
        ..DeviceHealth::default()
    }];
    assert_eq!(scene.codes(), ["link-degraded"]);
    assert!(!scene.diagnosis().is_problem());
    scene.devices[0].write_bytes_per_s = Some(140e6);
    assert!(scene.diagnosis().is_problem());
    scene.facts.devices[0].link = Some(LinkSpeed {
        current: 600e6,
        supported: 600e6,
    });
    assert!(scene.codes().is_empty());
}

#[test]
fn task_without_context_switch_for_ten_seconds_hangs() {
    let mut scene = Scene::quiet().with_process(20, "cat /dev/sda", 0.0, Some("io_schedule"));
    scene.blocked[0].switches = Some(7);
    let diagnosis = scene.diagnosis();
    assert_eq!(diagnosis.causes[0].code, "hung-io");
    assert_eq!(diagnosis.causes[0].victims[0].pid, 20);
    // The same task in a new sleep each time does not hang, nor does a frozen one.
    scene.blocked[0].switches = None;
    assert!(scene.codes().is_empty());
    scene.blocked[0].switches = Some(7);
    scene.blocked[0].wait_channel = Some("__refrigerator".into());
    assert!(scene.codes().is_empty());
}

#[test]
fn server_that_does_not_answer_is_stalled() {
    for channel in ["request_wait_answer", "rpc_wait_bit_killable"] {
        let mut scene = Scene::quiet().with_process(20, "ls /mnt", 0.0, Some(channel));
        scene.blocked[0].switches = Some(7);
        assert_eq!(scene.codes(), ["fuse-or-network-stalled"], "{channel}");
        scene.blocked[0].switches = None;
        assert!(scene.codes().is_empty(), "{channel}");
    }
}

#[test]
fn stack_tells_that_a_wait_for_pages_is_one_for_a_server() {
    let scene = || {
        let channel = Some("folio_wait_bit_common");
        let mut scene = Scene::quiet().with_process(20, "dd of=/mnt/a", 0.0, channel);
        scene.blocked[0].switches = Some(7);
        scene
    };
    assert_eq!(scene().codes(), ["hung-io"]);
    let codes = |innermost: &[&str]| {
        let mut window = scene().window();
        window.blocked = vec![BlockedDetails {
            pid: 20,
            tid: 20,
            stack: Some(innermost.iter().map(ToString::to_string).collect()),
            ..BlockedDetails::default()
        }];
        let diagnosis = diagnose(&window).unwrap();
        diagnosis
            .causes
            .iter()
            .map(|it| it.code)
            .collect::<Vec<_>>()
    };
    let served = codes(&[
        "folio_wait_bit_common",
        "file_write_and_wait_range",
        "nfs_file_fsync",
    ]);
    assert_eq!(served, ["fuse-or-network-stalled"]);
    let local = codes(&[
        "folio_wait_bit_common",
        "file_write_and_wait_range",
        "ext4_sync_file",
    ]);
    assert_eq!(local, ["hung-io"]);
}

/// A mounted file system.
fn mount(id: u64, parent: u64, kind: &str, place: &str) -> MountEntry {
    MountEntry {
        id,
        parent,
        device_id: (0, 40 + id as u32),
        root: "/".to_owned(),
        mount_point: place.to_owned(),
        path: place.into(),
        file_system: kind.to_owned(),
        source: "server:/a".to_owned(),
        source_number: None,
        options: Vec::new(),
    }
}

/// The root and two served file systems.
fn two_served(kind: &str) -> Vec<MountEntry> {
    vec![
        mount(0, 9, "ext4", "/"),
        mount(1, 0, kind, "/home"),
        mount(2, 0, kind, "/mnt/b"),
    ]
}

/// A window in which a process waits for a server, with these file systems mounted. It has a file open on the
/// second one.
fn waiting_for_server(channel: &str, mounts: Vec<MountEntry>) -> EvidenceWindow {
    let mut scene = Scene::quiet().with_process(20, "cp /mnt/a", 0.0, Some(channel));
    scene.blocked[0].switches = Some(7);
    scene.facts.at = Duration::from_secs(100 + LENGTH as u64);
    let used = &mounts[1];
    let details = BlockedDetails {
        pid: 20,
        tid: 20,
        mounts: vec![UsedMount {
            id: used.id,
            device_id: used.device_id,
            kind: used.file_system.clone(),
        }],
        sleep: Some(ThreadSleep {
            pid: 20,
            tid: 20,
            run_times: [81_234, 1204, 31],
        }),
        ..BlockedDetails::default()
    };
    scene.facts.mounts = mounts;
    let mut window = scene.window();
    window.blocked = vec![details];
    window
}

/// What is said of the server, and the measure.
fn awaited(window: &EvidenceWindow) -> (String, Remedy) {
    let mut cause = diagnose(window).unwrap().causes.remove(0);
    assert_eq!(cause.code, "fuse-or-network-stalled");
    let sentence = cause.sentence.split(" waits for ").nth(1).unwrap();
    (sentence.to_owned(), cause.remedies.remove(0))
}

/// Whether the server is told to be that of this place, with a command.
fn is_certain(window: &EvidenceWindow, place: &str) -> bool {
    let (sentence, remedy) = awaited(window);
    let is_of = sentence.starts_with(&format!("the server of {place} ("));
    let end = format!(" && umount -f -l -- {place}");
    let command = remedy.command.filter(|it| it.ends_with(&end));
    assert_eq!(is_of, command.is_some(), "{sentence}");
    is_of
}

#[test]
fn open_file_on_a_served_file_system_does_not_make_it_the_one_that_is_waited_for() {
    let connections = |counts: [Option<u64>; 2]| {
        let connection = |(minor, waiting)| FuseConnection {
            device_id: (0, minor),
            waiting,
        };
        Some((41..).zip(counts).map(connection).collect())
    };
    let mut window = waiting_for_server("request_wait_answer", two_served("fuse.sshfs"));
    let both = "possibly /home (fuse.sshfs) or /mnt/b (fuse.sshfs).";
    for (counts, expected) in [
        (None, both),
        (Some(Vec::new()), both),
        (connections([Some(1), Some(1)]), both),
        (connections([None, Some(1)]), both),
        (
            connections([Some(0), None]),
            "possibly /mnt/b (fuse.sshfs).",
        ),
    ] {
        window.facts.as_mut().unwrap().1.fuse = counts;
        let (sentence, remedy) = awaited(&window);
        assert!(sentence.ends_with(expected), "{sentence}");
        assert_eq!(remedy.command, None);
    }
    window.facts.as_mut().unwrap().1.fuse = connections([Some(0), Some(1)]);
    assert!(is_certain(&window, "/mnt/b"));
    // It was answered, and sleeps again, or waits in something else.
    let mut answered = window.clone();
    answered.scans[LENGTH].blocked[0].switches = Some(8);
    assert!(!is_certain(&answered, "/mnt/b"));
    let mut earlier = window.clone();
    earlier.facts.as_mut().unwrap().1.at = Duration::from_secs(99);
    assert!(!is_certain(&earlier, "/mnt/b"));
    // One that is mounted in another namespace, or not any more.
    window.facts.as_mut().unwrap().1.mounts.pop();
    assert!(!is_certain(&window, "/mnt/b"));
}

#[test]
fn network_file_system_is_known_by_the_file_that_all_tasks_read_or_write() {
    let mut window = waiting_for_server("rpc_wait_bit_killable", two_served("nfs4"));
    assert!(!is_certain(&window, "/mnt/b"));
    window.blocked[0].used_mount_id = Some(2);
    assert!(is_certain(&window, "/mnt/b"));
    let mut other = window.clone();
    for scan in &mut other.scans {
        let task = BlockedTask {
            pid: 21,
            tid: 21,
            ..scan.blocked[0].clone()
        };
        scan.blocked.push(task);
    }
    other.blocked.push(BlockedDetails {
        pid: 21,
        tid: 21,
        used_mount_id: Some(1),
        ..window.blocked[0].clone()
    });
    assert!(
        awaited(&other)
            .0
            .ends_with("possibly /mnt/b (nfs4) or /home (nfs4).")
    );
    // Without the sleep that a command would check there is none.
    window.blocked[0].sleep = None;
    let (_, remedy) = awaited(&window);
    assert_eq!(remedy.command, None);
    assert!(
        remedy.text.contains("umount -f -l of /mnt/b"),
        "{}",
        remedy.text
    );
}

#[test]
fn unmount_that_would_reach_others_has_no_command() {
    let with = |mounts: &[MountEntry]| {
        let mut all = vec![mount(0, 9, "ext4", "/"), mount(1, 0, "nfs4", "/mnt/a")];
        all.extend(mounts.iter().cloned());
        let mut window = waiting_for_server("nfs_wait_bit_killable", all);
        window.blocked[0].used_mount_id = Some(1);
        awaited(&window).1
    };
    assert!(with(&[mount(2, 0, "nfs4", "/mnt/ab")]).command.is_some());
    for (other, said) in [
        (mount(2, 1, "nfs4", "/mnt/a"), "mounted over /mnt/a"),
        (mount(2, 0, "nfs4", "/mnt"), "mounted over /mnt/a"),
        (mount(2, 1, "ext4", "/mnt/a/b"), "mounted below: /mnt/a/b"),
    ] {
        let remedy = with(&[other]);
        assert_eq!(remedy.command, None);
        assert!(remedy.text.contains(said), "{}", remedy.text);
    }
    for (kind, place) in [("nfs4", "/"), ("virtiofs", "/srv")] {
        let channel = match kind {
            "nfs4" => "rpc_wait_bit_killable",
            _ => "request_wait_answer",
        };
        let mounts = vec![mount(0, 9, "tmpfs", "/"), mount(1, 0, kind, place)];
        let mut window = waiting_for_server(channel, mounts);
        window.blocked[0].used_mount_id = Some(1);
        assert_eq!(awaited(&window).1.command, None);
    }
}

#[test]
fn recording_names_the_file_systems_that_a_task_may_have_waited_for() {
    let said = |channel: &str| {
        let task = |second: usize| BlockedTaskView {
            pid: 40,
            tid: 40,
            command: "ls /mnt".into(),
            blocked_ns: 1_000_000_000 * second as u64,
            wait_channel: Some(channel.into()),
            ..BlockedTaskView::default()
        };
        let view = |mount_point: &str, kind: &str, waiting| MountView {
            mount_point: mount_point.into(),
            file_system: kind.into(),
            waiting,
            ..MountView::default()
        };
        let mut diagnosis = recorded(|second, it| {
            it.blocked = Some(vec![task(second)]);
            it.mounts = Some(vec![
                view("/a", "fuse.sshfs", Some(0)),
                view("/b", "fuse.sshfs", Some(2)),
                view("/c", "nfs4", None),
            ]);
        });
        diagnosis.causes.remove(0).sentence
    };
    assert!(said("request_wait_answer").ends_with(": possibly /b (fuse.sshfs)."));
    assert!(said("rpc_wait_bit_killable").ends_with(": possibly /c (nfs4)."));
}

#[test]
fn first_snapshot_of_a_sampler_does_not_lengthen_the_window() {
    let diagnosis = Scene::quiet().diagnosis();
    assert_eq!(diagnosis.window, Duration::from_secs(LENGTH as u64));
}

#[test]
fn work_that_waits_for_itself_is_explained_by_name() {
    let note = |scene: &Scene| {
        let diagnosis = scene.diagnosis();
        assert!(!diagnosis.is_problem(), "{:?}", diagnosis.conclusion());
        let mut notes = diagnosis.causes.iter().filter(|it| it.code == "at-limit");
        notes
            .next()
            .map(|it| it.sentence.clone())
            .unwrap_or_default()
    };
    let reader = |queue: f64, latency: f64| {
        let mut scene = Scene::quiet().with_process(7, "tar", 1e6, Some("folio_wait_bit_common"));
        scene.devices = vec![device("sda", queue, 900.0, latency)];
        scene
    };
    for (scene, expected) in [
        (
            reader(0.9, 0.1e6),
            "tar (pid 7) waits 100 % of the time for sda, one request at a time, 100 us per write: latency-bound.",
        ),
        (
            reader(0.9, 8e6),
            "one request at a time, 8.00 ms per write: seek-bound.",
        ),
        (
            reader(6.0, 2e6),
            "for sda, whose limit its own requests reach: 3.69 MB/s",
        ),
    ] {
        assert!(note(&scene).contains(expected), "{}", note(&scene));
    }
    let mut flushing = reader(0.9, 1e6);
    flushing.devices[0].flush_ios_per_s = Some(400.0);
    flushing.devices[0].flush_await_ns = Some(2e6);
    assert!(note(&flushing).ends_with("for the flushes of sda, 2.00 ms each: flush-bound."));
    let locked = Scene::quiet().with_process(7, "tar", 0.0, Some("rwsem_down_write_slowpath"));
    assert!(note(&locked).contains("for a lock that another task holds"));
    // Depth without a blocked task, as of libaio and io_uring.
    let mut deep = reader(64.0, 2e6);
    deep.blocked.clear();
    assert!(
        note(&deep).contains("sda is at its limit, 100 % of it by tar (pid 7)"),
        "{}",
        note(&deep)
    );
    deep.processes.clear();
    assert!(
        note(&deep).contains("probably at its limit"),
        "{}",
        note(&deep)
    );
}

#[test]
fn waiting_that_makes_progress_is_no_hang() {
    let mut scene = Scene::quiet().with_process(20, "dd of=/mnt/usb", 0.0, Some("submit_bio_wait"));
    scene.blocked[0].switches = Some(7);
    assert_eq!(scene.codes(), ["hung-io"], "sda is nearly idle");
    scene.devices = vec![device("sda", 1.0, 50.0, 20e6)];
    assert!(scene.codes().is_empty(), "sda works");
    // sync(1) has no file open: it waits for all devices.
    let mut sync = Scene::quiet().with_process(20, "sync", 0.0, Some("wb_wait_for_completion"));
    sync.processes[0].devices.clear();
    sync.blocked[0].switches = Some(7);
    sync.host.dirty_bytes = Some(131_000_000);
    sync.devices[0].write_bytes_per_s = Some(7.1e6);
    let diagnosis = sync.diagnosis();
    let sentence = "sync (pid 20) waits 100 % of the time until 131 MB are written, at 7.10 MB/s: about 18.5 s.";
    assert_eq!(diagnosis.causes[0].sentence, sentence);
    assert!(!diagnosis.is_problem());
    sync.devices[0].write_bytes_per_s = Some(0.0);
    assert_eq!(sync.codes(), ["hung-io"]);
}

#[test]
fn severity_of_flushes_is_that_of_the_harm() {
    let scene = |tasks: u32, flush_ns: f64| {
        let mut scene = Scene::quiet();
        for pid in 1..=tasks {
            scene = scene.with_process(pid, "committer", 1e5, Some("jbd2_log_wait_commit"));
        }
        scene.devices = vec![DeviceView {
            flush_ios_per_s: Some(0.8e9 / flush_ns),
            flush_await_ns: Some(flush_ns),
            ..device("sda", 0.8, 0.8e9 / flush_ns, 0.03e6)
        }];
        let diagnosis = scene.diagnosis();
        let mut storms = diagnosis
            .causes
            .into_iter()
            .filter(|it| it.code == "sync-storm");
        storms.next().map(|it| it.severity)
    };
    assert_eq!(scene(4, 45e3), Some(Severity::Note));
    assert_eq!(scene(4, 5e6), Some(Severity::Warning));
    assert_eq!(scene(1, 1e6), None);
    assert_eq!(scene(1, 40e6), Some(Severity::Warning));
}

#[test]
fn task_whose_device_is_not_known_probably_waits_for_the_overloaded_one() {
    let mut scene = Scene::quiet().with_process(20, "postgres", 0.0, None);
    scene.processes[0].devices.clear();
    scene.blocked.push(BlockedTask {
        pid: 20,
        tid: 20,
        ..BlockedTask::default()
    });
    scene.devices = vec![device("sda", 33.0, 140.0, 232e6)];
    let cause = scene.diagnosis().causes.remove(0);
    assert_eq!(
        (cause.code, cause.certainty),
        ("device-saturated", Certainty::Probable)
    );
    assert!(
        cause.sentence.starts_with("postgres probably waits on sda"),
        "{}",
        cause.sentence
    );
}

#[test]
fn frozen_file_system_is_named_with_the_command_that_thaws_it() {
    let mut scene = Scene::quiet().with_process(20, "touch", 0.0, Some("percpu_rwsem_wait"));
    scene.blocked[0].switches = Some(7);
    scene.facts.mounts = vec![mount(0, 9, "ext4", "/"), mount(1, 0, "ext4", "/srv")];
    let mut window = scene.window();
    window.blocked = vec![BlockedDetails {
        pid: 20,
        tid: 20,
        used_mount_id: Some(1),
        ..BlockedDetails::default()
    }];
    let diagnosis = diagnose(&window).unwrap();
    let cause = &diagnosis.causes[0];
    assert_eq!(cause.code, "hung-io");
    assert!(
        cause.sentence.contains("the file system at /srv is thawed"),
        "{}",
        cause.sentence
    );
    assert_eq!(
        commands(&diagnosis, "fsfreeze"),
        ["fsfreeze --unfreeze /srv"]
    );
}

/// What a metric says it comes from is read somewhere.
#[test]
fn every_value_has_a_source_that_is_read() {
    fn read_all(directory: &std::path::Path, text: &mut String) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            if entry.path().is_dir() {
                read_all(&entry.path(), text);
            } else {
                *text += &std::fs::read_to_string(entry.path()).unwrap();
            }
        }
    }
    let mut readers = String::new();
    for module in ["probe", "drive", "trace"] {
        let place = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        read_all(&place.join("src").join(module), &mut readers);
    }
    let mut names = std::collections::BTreeSet::new();
    for Metric(name, label, unit, source) in evidence::ALL {
        assert!(names.insert((name, source)), "{name} is there twice");
        assert!(!name.contains(' ') && !label.is_empty(), "{name}");
        assert!(!unit.text(1.5).is_empty());
        let file = source.rsplit('/').next().unwrap().trim_end_matches('*');
        let is_read = readers.contains(file) || file.starts_with("block requests");
        assert!(is_read, "{name}: {source}");
    }
}

/// A scene in which that process sleeps, with the details of its sleep.
fn asleep(channel: &str, details: BlockedDetails) -> (Scene, BlockedDetails) {
    let mut scene = Scene::quiet().with_process(20, "dd of=/mnt/a/x", 0.0, Some(channel));
    scene.blocked[0].switches = Some(7);
    let details = BlockedDetails {
        pid: 20,
        tid: 20,
        switches: Some(7),
        ..details
    };
    (scene, details)
}

#[test]
fn hang_is_as_old_as_the_kernel_says() {
    let (scene, mut details) = asleep("submit_bio_wait", BlockedDetails::default());
    let first = |details: &BlockedDetails| {
        let mut window = scene.window();
        window.snapshots.truncate(1);
        window.scans.truncate(3);
        window.blocked = vec![details.clone()];
        diagnose(&window).unwrap()
    };
    assert!(!first(&details).is_problem());
    details.asleep_since = Some(Duration::from_secs(80));
    let diagnosis = first(&details);
    let cause = &diagnosis.causes[0];
    assert_eq!(cause.code, "hung-io");
    assert!(cause.sentence.contains("for 22.0 s"), "{}", cause.sentence);
    assert_eq!(cause.evidence[0].source, "/proc/PID/sched");
    // Another sleep.
    details.switches = Some(6);
    assert!(!first(&details).is_problem());
}

#[test]
fn file_system_that_the_arguments_lead_to_is_the_frozen_one() {
    let (mut scene, mut details) = asleep("percpu_rwsem_wait", BlockedDetails::default());
    details.named_paths = vec!["/dev/zero".into(), "/mnt/a/x".into()];
    scene.facts.mounts = vec![
        mount(0, 9, "ext4", "/"),
        mount(1, 0, "devtmpfs", "/dev"),
        mount(2, 0, "ext4", "/mnt/a"),
    ];
    scene.file_systems = vec![MountedFileSystem {
        device_id: (0, 42),
        block_device: (8, 1),
        mount_point: "/mnt/a".to_owned(),
        path: Some("/mnt/a".into()),
        kind: "ext4".to_owned(),
        options: Vec::new(),
        usage: None,
    }];
    let mut window = scene.window();
    window.blocked = vec![details];
    let found = commands(&diagnose(&window).unwrap(), "fsfreeze");
    assert_eq!(found, ["fsfreeze --unfreeze /mnt/a"]);
}

#[test]
fn stopped_server_is_named_with_the_command_that_continues_it() {
    let server = FuseServer {
        pid: 77,
        start_ticks: 5,
        name: b"sshfs".to_vec(),
        arguments: b"sshfs\0host:\0/mnt/b\0".to_vec(),
        is_stopped: true,
        connection: None,
    };
    let mut window = waiting_for_server("request_wait_answer", two_served("fuse.sshfs"));
    window.blocked[0].used_mount_id = Some(2);
    window.looks.fuse_servers = vec![server.clone()];
    let diagnosis = diagnose(&window).unwrap();
    let sentence = &diagnosis.causes[0].sentence;
    let expected = "the server of /mnt/b (fuse.sshfs), sshfs (pid 77), which is stopped (state T)";
    assert!(sentence.contains(expected), "{sentence}");
    assert_eq!(commands(&diagnosis, "kill -CONT 77").len(), 1);
    // A loop device whose file lies there.
    let (mut scene, mut details) = asleep("submit_bio_wait", BlockedDetails::default());
    details.device_paths = vec!["/dev/sda".to_owned()];
    scene.drives = vec![some_drive()];
    scene.drives[0].backing_file = Some("/mnt/b/image".to_owned());
    scene.facts.mounts = two_served("fuse.sshfs");
    let mut window = scene.window();
    window.blocked = vec![details];
    window.looks.fuse_servers = vec![server];
    let diagnosis = diagnose(&window).unwrap();
    let cause = &diagnosis.causes[0];
    assert_eq!(
        (cause.code, cause.device.as_deref()),
        ("hung-io", Some("sda"))
    );
    assert!(cause.sentence.contains(expected), "{}", cause.sentence);
    assert_eq!(commands(&diagnosis, "kill -CONT 77").len(), 1);
}

/// A window in which a group with these processes reaches its limits.
fn with_group(scene: &Scene, pids: &[u32]) -> EvidenceWindow {
    let group = |hits: u64, throttled_periods: u64| LimitedGroup {
        directory: "/sys/fs/cgroup/build".into(),
        memory_bytes: Some(48 << 20),
        memory_hits: hits,
        processors: Some(0.25),
        periods: throttled_periods * 2,
        throttled_periods,
        pids: pids.to_vec(),
        ..LimitedGroup::default()
    };
    let mut window = scene.window();
    let (begin, end) = window.facts.as_mut().unwrap();
    end.at = Duration::from_secs(10);
    begin.groups = vec![group(100, 0)];
    end.groups = vec![group(5000, 50)];
    window
}

#[test]
fn memory_limit_of_a_control_group_is_named_and_its_processes_suffer() {
    let mut scene = Scene::quiet()
        .with_process(30, "make", 1e6, Some("folio_wait_bit_common"))
        .with_process(31, "dd", 1e6, Some("folio_wait_bit_common"));
    for process in &mut scene.processes {
        process.state = Some('D');
        process.read_bytes_per_s = Some(50e6);
    }
    scene.host.memory_pressure_some = Some(0.5);
    let mut thrashing = scene;
    for (swap, code) in [(20e6, "swap-thrashing"), (0.0, "cache-thrashing")] {
        thrashing.host.swap_in_bytes_per_s = Some(swap);
        thrashing.host.swap_out_bytes_per_s = Some(swap);
        thrashing.host.refault_bytes_per_s = Some(80e6);
        let diagnosis = diagnose(&with_group(&thrashing, &[30])).unwrap();
        let cause = &diagnosis.causes[0];
        assert_eq!((cause.code, cause.certainty), (code, Certainty::Confirmed));
        let victims: Vec<u32> = cause.victims.iter().map(|it| it.pid).collect();
        assert_eq!(victims, [30], "a bystander does not suffer");
        let limit = "the memory limit of build, 50.3 MB,";
        assert!(cause.sentence.contains(limit), "{}", cause.sentence);
        let raise = commands(
            &diagnosis,
            "echo 100663296 > /sys/fs/cgroup/build/memory.max",
        );
        assert!(!raise.is_empty(), "{code}");
    }
    // Without a group, a task that waits for a disk is no victim of swapping.
    thrashing.host.swap_in_bytes_per_s = Some(20e6);
    thrashing.host.swap_out_bytes_per_s = Some(20e6);
    let cause = thrashing.diagnosis().causes.remove(0);
    assert_eq!(
        (cause.victims.len(), cause.certainty),
        (0, Certainty::Probable)
    );
}

#[test]
fn quota_and_lock_of_a_file_are_notes_with_names() {
    let notes = |window: &EvidenceWindow| {
        let diagnosis = diagnose(window).unwrap();
        assert!(!diagnosis.is_problem());
        let notes = diagnosis.causes.into_iter();
        let notes = notes
            .filter(|it| it.code == "at-limit")
            .map(|it| it.sentence);
        notes.collect::<Vec<String>>()
    };
    let scene = Scene::quiet()
        .with_process(30, "make", 0.0, None)
        .with_process(31, "dd", 1e6, None);
    let quota = notes(&with_group(&scene, &[30]));
    let expected = "make is stopped in 50 % of the periods because build has reached its quota of 0.25 processors";
    assert!(quota[0].contains(expected), "{quota:?}");
    let mut window = scene.window();
    let wait = LockWait {
        waiter: 30,
        holder: 31,
        device_number: (8, 1),
        inode: 5,
        slept: None,
    };
    window.facts.as_mut().unwrap().0.locks = vec![wait];
    assert_eq!(notes(&window), Vec::<String>::new(), "it ended");
    window.facts.as_mut().unwrap().1.locks = vec![wait];
    let lock = notes(&window);
    let expected = "make waits for the lock of a file that dd (pid 31) holds.";
    assert_eq!(lock, [expected]);
    let scene = Scene::quiet()
        .with_process(30, "make", 0.0, None)
        .with_process(31, "dd", 1e6, Some("folio_wait_bit_common"));
    let mut window = scene.window();
    let (begin, end) = window.facts.as_mut().unwrap();
    (begin.locks, end.locks) = (vec![wait], vec![wait]);
    let lock = notes(&window);
    assert_eq!(
        lock.len(),
        1,
        "no note of its own about the holder: {lock:?}"
    );
    assert!(
        lock[0].contains("holds, which waits 100 % of the time"),
        "{lock:?}"
    );
}

#[test]
fn limit_of_version_1_is_told_with_its_files() {
    let mut scene = Scene::quiet();
    scene.drives = vec![some_drive()];
    scene.drives[0].number = (8, 0);
    scene.units = vec![UnitView {
        pressure_some: Some(0.6),
        limits: vec![UnitLimit {
            device: "sda".into(),
            read_bytes_per_s: None,
            write_bytes_per_s: None,
            read_ios_per_s: Some(90),
            write_ios_per_s: None,
            usage: Some(1.0),
        }],
        ..UnitView::without_io("/backup", "backup")
    }];
    let mut window = scene.window();
    for snapshot in &mut window.snapshots {
        let mut first_version = Snapshot::clone(snapshot);
        first_version.notices = vec![ProbeNotice::BufferedWritesUnattributed.message().into()];
        *snapshot = Arc::new(first_version);
    }
    let diagnosis = diagnose(&window).unwrap();
    assert_eq!(diagnosis.causes[0].evidence[0].source, "blkio.throttle.*");
    let command = "echo '8:0 0' > /sys/fs/cgroup/blkio/backup/blkio.throttle.read_iops_device";
    assert_eq!(commands(&diagnosis, "blkio"), [command]);
}

#[test]
fn deleted_file_that_holds_the_space_is_named_with_a_guarded_command() {
    let mut scene = Scene::quiet();
    scene.file_systems = vec![MountedFileSystem {
        device_id: (8, 1),
        block_device: (8, 1),
        mount_point: "/srv".to_owned(),
        path: Some("/srv".into()),
        kind: "ext4".to_owned(),
        options: Vec::new(),
        usage: Some(FileSystemUsage {
            size_bytes: 1 << 30,
            free_bytes: 0,
            available_bytes: 0,
            inodes: 0,
            free_inodes: 0,
        }),
    }];
    let mut window = scene.window();
    assert_eq!(commands(&diagnose(&window).unwrap(), "du ").len(), 1);
    window.looks.deleted_files = vec![DeletedView {
        path: "/srv/big.log".into(),
        device: None,
        mount_point: Some("/srv".into()),
        held_bytes: 900 << 20,
        size_bytes: 900 << 20,
        holders: vec![FileHolder {
            pid: 7,
            command: "logger".into(),
            descriptor: 3,
        }],
        needed_by: None,
        truncate_command: Some("[ 1 ] && truncate -cs 0 /proc/7/fd/3".into()),
        copy_command: None,
    }];
    let diagnosis = diagnose(&window).unwrap();
    let cause = &diagnosis.causes[0];
    let held =
        "944 MB of that are held by the deleted file /srv/big.log, which logger (pid 7) has open.";
    assert!(cause.sentence.ends_with(held), "{}", cause.sentence);
    assert_eq!(cause.culprits[0].pid, 7);
    assert_eq!(commands(&diagnosis, "truncate").len(), 1);
    assert_eq!(commands(&diagnosis, "diskscope files").len(), 1);
    assert!(
        commands(&diagnosis, "du ").is_empty(),
        "du does not find it"
    );
}

#[test]
fn virtual_disk_is_judged_by_its_own_latency() {
    let mut scene = saturated();
    scene.drives = vec![some_drive()];
    scene.drives[0].transport = Some("virtio".to_owned());
    let mut window = scene.window();
    let light = |latency: f64| {
        let mut light = saturated();
        light.drives.clone_from(&scene.drives);
        light.devices = vec![device("sda", 1.0, 100.0, latency)];
        Arc::new(light.snapshot(0))
    };
    let is_saturated = |window: &EvidenceWindow| {
        let diagnosis = diagnose(window).unwrap();
        codes(&diagnosis).contains(&"device-saturated")
    };
    window.snapshots[0] = light(2e6);
    assert!(is_saturated(&window));
    // 40 ms is little more than what it takes for one request.
    window.snapshots[0] = light(20e6);
    assert!(!is_saturated(&window));
}

#[test]
fn waiters_of_io_uring_explain_the_pressure_of_an_idle_disk() {
    let mut scene = Scene::quiet();
    scene.host.pressure_some = Some(0.8);
    let mut window = scene.window();
    window.looks.uring_waiters = vec![(60, b"nginx".to_vec())];
    let diagnosis = diagnose(&window).unwrap();
    assert!(!diagnosis.is_problem());
    let conclusion = diagnosis.conclusion();
    let expected = "nginx (pid 60) waits for completions of io_uring";
    assert!(conclusion.contains(expected), "{conclusion}");
}

#[test]
fn writers_of_two_devices_are_throttled_by_those_of_their_own() {
    let mut scene = Scene::quiet()
        .with_process(1, "fio", 2e6, Some("balance_dirty_pages"))
        .with_process(2, "dd", 9e6, Some("balance_dirty_pages"));
    scene.processes[1].devices = vec![DeviceShare::named("sdb".into())];
    scene.devices.push(device("sdb", 0.1, 5.0, 2e6));
    let diagnosis = scene.diagnosis();
    let causes = diagnosis
        .causes
        .iter()
        .filter(|it| it.code == "dirty-throttled");
    let told: Vec<_> = causes
        .map(|it| (it.device.as_deref(), it.culprits[0].pid, it.victims[0].pid))
        .collect();
    assert_eq!(told.len(), 2);
    assert!(
        told.contains(&(Some("sda"), 1, 1)) && told.contains(&(Some("sdb"), 2, 2)),
        "{told:?}"
    );
}

#[test]
fn requests_that_do_not_reach_the_device_are_held_back() {
    let mut scene = Scene::quiet().with_process(7, "dd", 1e6, Some("folio_wait_bit_common"));
    scene.devices = vec![DeviceView {
        read_ios_per_s: Some(91.0),
        read_await_ns: Some(0.02e6),
        ..device("sda", 0.002, 1.0, 30e6)
    }];
    let diagnosis = scene.diagnosis();
    let sentence = &diagnosis.causes[0].sentence;
    assert!(
        sentence.contains("for sda, which is not busy: "),
        "{sentence}"
    );
    scene.devices[0].queue_size = Some(0.9);
    scene.devices[0].read_await_ns = Some(9e6);
    let diagnosis = scene.diagnosis();
    let sentence = &diagnosis.causes[0].sentence;
    assert!(
        sentence.ends_with("9.00 ms per read: seek-bound."),
        "{sentence}"
    );
}
