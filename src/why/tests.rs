//! Literal windows with what is to be said of them: one table for each family of causes.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::drive::identity::list_block_devices;
use crate::drive::mounts::MountEntry;
use crate::drive::{BlockDevice, DriveKind};
use crate::files::safe_text::SafeText;
use crate::probe::facts::{BlockedDetails, FactsSample};
use crate::probe::file_systems::{FileSystemUsage, MountedFileSystem};
use crate::probe::mounts::counters::FuseConnection;
use crate::probe::operations::OperationKind;
use crate::probe::process::blocked_task::UsedMount;
use crate::probe::process::numbers::ProcessNumbers;
use crate::probe::process::task_scan::{BlockedTask, TaskScan};
use crate::probe::sample::ProbeNotice;
use crate::probe::system::device_health::{DeviceHealth, LinkSpeed};
use crate::probe::system::kernel_log::{KernelIoError, NewErrors};
use crate::probe::waits::groups::LimitedGroup;
use crate::probe::waits::locks::LockWait;
use crate::probe::waits::servers::FuseServer;
use crate::roots::SysPaths;
use crate::snapshot::Snapshot;
use crate::snapshot::files::{DeletedView, FileHolder};
use crate::snapshot::view::{
    BlockedTaskView, DeviceShare, DeviceView, HostView, IoErrorsView, ProcessView, TotalRates,
    TransferKind, TransferView, UnitLimit, UnitView,
};
use crate::why::window::LoadLooks;

/// Snapshots and scans per window, one each second.
const LENGTH: usize = 10;

/// Checks the rows of a table: what it is, the window, the codes of its causes without the notes about what limits
/// work, a part of the conclusion, and the numbers of those who cause and suffer in the first cause, as `10>20`.
macro_rules! cases {
    ($($name:expr, $window:expr => $codes:literal $(, $says:expr $(, $parties:literal)?)?;)*) => {
        $(check($name, &$window, $codes, &[$($says, $($parties)?)?]);)*
    };
}

fn check(name: &str, window: &EvidenceWindow, expected: &str, says: &[&str]) {
    let diagnosis = diagnose(window).unwrap();
    for rule in rules::RULES {
        let found = diagnosis.causes.iter().map(|it| it.code);
        let ruled_out = diagnosis.ruled_out.iter().map(|it| it.code);
        let not_examined = diagnosis.not_examined.iter().map(|it| it.code);
        let mut answered = found.chain(ruled_out).chain(not_examined);
        assert!(answered.any(|it| it == rule.code), "{name}: {}", rule.code);
    }
    let conclusion = diagnosis.conclusion();
    assert_eq!(codes(&diagnosis), expected, "{name}: {conclusion}");
    let part = says.first().copied().unwrap_or_default();
    assert!(conclusion.contains(part), "{name}: {conclusion}");
    let pids = |parties: &[Party]| {
        let pids = parties.iter().map(|it| it.pid.to_string());
        pids.collect::<Vec<_>>().join(",")
    };
    if let Some(parties) = says.get(1) {
        let cause = &diagnosis.causes[0];
        let found = format!("{}>{}", pids(&cause.culprits), pids(&cause.victims));
        assert_eq!(found, *parties, "{name}: {conclusion}");
    }
}

fn codes(diagnosis: &Diagnosis) -> String {
    let codes = diagnosis.causes.iter().map(|it| it.code);
    let codes: Vec<&str> = codes.filter(|code| *code != "at-limit").collect();
    codes.join(" ")
}

/// The commands of all measures that contain this.
fn commands(window: &EvidenceWindow, part: &str) -> Vec<String> {
    let diagnosis = diagnose(window).unwrap();
    let remedies = diagnosis.causes.iter().flat_map(|it| &it.remedies);
    let commands = remedies.filter_map(|it| it.command.clone());
    commands.filter(|it| it.contains(part)).collect()
}

/// A window of ten seconds of a quiet machine, to be changed.
#[derive(Clone)]
struct Scene {
    host: HostView,
    devices: Vec<DeviceView>,
    processes: Vec<ProcessView>,
    units: Vec<UnitView>,
    file_systems: Vec<MountedFileSystem>,
    drives: Vec<BlockDevice>,
    transfers: Vec<TransferView>,
    notices: Vec<SafeText>,
    blocked: Vec<BlockedTask>,
    details: Vec<BlockedDetails>,
    begin: FactsSample,
    facts: FactsSample,
    looks: LoadLooks,
}

fn quiet() -> Scene {
    Scene {
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
        notices: Vec::new(),
        blocked: Vec::new(),
        details: Vec::new(),
        begin: FactsSample::default(),
        facts: FactsSample {
            kernel_errors: NewErrors::Available(Vec::new()),
            at: Duration::from_secs(100 + LENGTH as u64),
            ..FactsSample::default()
        },
        looks: LoadLooks::default(),
    }
}

impl Scene {
    /// A process that moves that many bytes per second on `sda` and is blocked in that function.
    fn process(mut self, pid: u32, command: &str, bytes: f64, channel: Option<&str>) -> Self {
        self.processes.push(ProcessView {
            pid,
            tid: pid,
            command: command.into(),
            write_bytes_per_s: Some(bytes),
            devices: vec![DeviceShare::named("sda".into())],
            ..ProcessView::default()
        });
        self.looks.stoppable.push(pid);
        let task = channel.map(|channel| BlockedTask {
            pid,
            tid: pid,
            name: command.as_bytes().to_vec(),
            wait_channel: Some(channel.to_owned()),
            ..BlockedTask::default()
        });
        self.blocked.extend(task);
        self
    }

    /// One that makes no context switch while it is blocked.
    fn asleep(self, pid: u32, command: &str, channel: &str) -> Self {
        let scene = self.process(pid, command, 0.0, Some(channel));
        scene.with(|it| it.blocked.last_mut().unwrap().switches = Some(7))
    }

    fn device(self, queue: f64, iops: f64, latency: f64) -> Self {
        self.with(|it| it.devices[0] = device("sda", queue, iops, latency))
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn host(self, change: impl FnOnce(&mut HostView)) -> Self {
        self.with(|it| change(&mut it.host))
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
            notices: self.notices.clone(),
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
            facts: Some((self.begin.clone(), self.facts.clone())),
            blocked: self.details.clone(),
            looks: self.looks.clone(),
            process_numbers: ProcessNumbers::Own,
            requests: None,
        }
    }

    /// A window that shows this in the first seconds, and another scene in the others.
    fn bursts(&self, seconds: usize, between: &Self) -> EvidenceWindow {
        let mut window = self.window();
        for second in seconds..LENGTH {
            window.snapshots[second] = Arc::new(between.snapshot(second));
        }
        window
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

/// The first drive of a literal tree as `sda`, with that transport.
fn drive(transport: &str) -> BlockDevice {
    let tree = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/4.15/before");
    let mut drives = list_block_devices(&SysPaths::under_root(&tree));
    let drive = &mut drives[0];
    drive.name = "sda".to_owned();
    drive.number = (8, 0);
    drive.parent = None;
    drive.transport = Some(transport.to_owned());
    drives.swap_remove(0)
}

/// A saturated device, a process that takes nearly all of it, and one that waits.
fn saturated() -> Scene {
    quiet()
        .process(10, "cp -a /srv /mnt", 90e6, None)
        .process(20, "postgres: writer", 1e6, Some("folio_wait_bit_common"))
        .device(32.0, 800.0, 40e6)
}

fn writers(count: u32, channel: &str) -> Scene {
    (1..=count).fold(quiet(), |scene, pid| {
        scene.process(pid, "writer", 1e6, Some(channel))
    })
}

#[test]
fn quiet_machine_has_no_cause_and_its_values_are_known() {
    cases! {
        "quiet", quiet().window() => "", "Nothing is wrong";
    }
    let diagnosis = diagnose(&quiet().window()).unwrap();
    assert!(!diagnosis.is_problem() && !diagnosis.machine.is_empty());
    assert_eq!(diagnosis.window, Duration::from_secs(LENGTH as u64));
    assert_eq!(diagnose(&EvidenceWindow::default()), None);
}

#[test]
fn device_with_more_requests_than_it_serves() {
    let two_layers = saturated().with(|it| {
        let mut upper = device("dm-0", 32.0, 800.0, 41e6);
        upper.underlying = vec!["sda1".into()];
        let mut part = device("sda1", 32.0, 800.0, 40e6);
        part.kind = Some(DriveKind::Partition);
        part.underlying = vec!["sda".into()];
        it.devices.extend([part, upper]);
        for process in &mut it.processes {
            process.devices = vec![DeviceShare::named("dm-0".into())];
        }
    });
    let alone = saturated().with(|it| {
        it.processes.truncate(1);
        it.blocked[0].pid = 10;
    });
    let slow_bursts = saturated().device(22.0, 20.0, 1.1e9);
    let short_bursts = saturated().device(4.0, 80.0, 50e6);
    let between = saturated().device(1.0, 100.0, 7e6);
    let nobody = slow_bursts.clone().with(|it| it.blocked.clear());
    let unknown = quiet()
        .process(20, "postgres", 0.0, Some("some_function"))
        .with(|it| it.processes[0].devices.clear())
        .device(33.0, 140.0, 232e6);
    let virtual_disk = saturated().with(|it| it.drives = vec![drive("virtio")]);
    let of_own = |latency| virtual_disk.clone().device(1.0, 100.0, latency);
    let saturated_by = "postgres waits 40.0 ms per write: sda is probably saturated by cp (pid 10); 99 % of the traffic is its.";
    cases! {
        "one takes most of it", saturated().window() => "device-saturated", saturated_by, "10>20";
        "the lowest of several layers is named", two_layers.window() => "device-saturated", "sda is", "10>20";
        "a fast copy alone", alone.window() => "";
        "six equal writers", writers(6, "submit_bio_wait").device(6.0, 100.0, 60e6).window() => "device-saturated",
            "writer and 5 others wait for each other";
        "two equal writers", writers(2, "submit_bio_wait").device(6.0, 100.0, 60e6).window() => "device-saturated",
            "writer and 1 other wait for each other";
        "one writer waits for itself", writers(1, "submit_bio_wait").device(6.0, 100.0, 60e6).window() => "",
            "its own requests reach";
        "deep queue at low latency", saturated().device(32.0, 40_000.0, 0.8e6).window() => "";
        "bursts of seconds", slow_bursts.bursts(2, &between) => "device-saturated", "", "10>20";
        "bursts too short to suffer", slow_bursts.bursts(1, &between) => "";
        "bursts that nobody notices", short_bursts.bursts(3, &between) => "";
        "bursts in which nobody waits", nobody.bursts(3, &between) => "";
        "without root", unknown.window() => "device-saturated", "postgres probably waits on sda", ">20";
        "virtual disk, far above its own latency", virtual_disk.bursts(9, &of_own(2e6)) => "device-saturated";
        "virtual disk, little above it", virtual_disk.bursts(9, &of_own(20e6)) => "";
    }
}

#[test]
fn maintenance_slow_device_and_flushes() {
    let check_of = |scene: Scene| {
        scene.with(|it| it.processes[0].command = "/usr/sbin/e2fsck -f /dev/sda1".into())
    };
    let slow = quiet()
        .process(20, "mysqld", 1e5, Some("submit_bio_wait"))
        .device(1.0, 5.0, 200e6);
    let resync = quiet().with(|it| {
        it.transfers = vec![TransferView {
            command: "md0".into(),
            kind: TransferKind::Operation(OperationKind::Check),
            ..TransferView::default()
        }];
        it.devices.push(DeviceView {
            kind: Some(DriveKind::Raid),
            underlying: vec!["sda".into()],
            ..device("md0", 1.0, 5.0, 1e6)
        });
    });
    let waiting = resync
        .clone()
        .process(20, "postgres", 1e5, Some("submit_bio_wait"))
        .with(|it| it.processes[0].devices = vec![DeviceShare::named("md0".into())]);
    let storm = |tasks: u32, flushes: f64, flush_ns: f64, of_device: DeviceView| {
        let scene = writers(tasks, "jbd2_log_wait_commit");
        scene.with(|it| {
            it.devices = vec![DeviceView {
                flush_ios_per_s: Some(flushes),
                flush_await_ns: Some(flush_ns),
                ..of_device
            }];
        })
    };
    let quick = |tasks, flush_ns: f64| {
        let rate = 0.8e9 / flush_ns;
        storm(tasks, rate, flush_ns, device("sda", 0.8, rate, 0.03e6)).window()
    };
    cases! {
        "fsck", check_of(saturated()).window() => "maintenance device-saturated",
            "postgres waits on sda 40.0 ms per write because of e2fsck (pid 10), a maintenance program", "10>20";
        "slow device", slow.window() => "device-slow",
            "which is slow although only 1 requests are in flight", ">20";
        "slow device without waiters", slow.with(|it| it.blocked.clear()).window() => "";
        "resync", resync.window() => "raid-resync", "md0 is checked; nobody waits for it";
        "resync that somebody waits for", waiting.window() => "raid-resync",
            "postgres waits on md0, which is checked", ">20";
        "many flushes", storm(5, 90.0, 10e6, device("sda", 5.0, 200.0, 50e6)).window() => "sync-storm device-saturated",
            "wait for each other's flushes on sda: 90 flushes per second, 10.0 ms each";
        "quick flushes", quick(4, 45e3) => "sync-storm", "Nothing is wrong with I/O: writer and 3 others";
        "flushes that somebody notices", quick(4, 5e6) => "sync-storm", "writer and 3 others wait";
        "one that flushes", quick(1, 1e6) => "", "flush-bound";
        "one with slow flushes", quick(1, 40e6) => "sync-storm",
            "writer waits for the flushes of sda, each of which takes long";
    }
    let diagnosis = diagnose(&check_of(saturated()).window()).unwrap();
    let consequence = diagnosis.causes[1].consequence_of;
    assert_eq!(consequence, Some("maintenance"));
}

#[test]
fn writers_that_are_throttled() {
    let throttled = Some("balance_dirty_pages");
    let filled = quiet()
        .process(10, "dd of=/mnt/usb", 90e6, throttled)
        .process(20, "logger", 1e4, throttled)
        .with(|it| it.devices[0].write_bytes_per_s = Some(90e6));
    let alone = |rate| {
        let scene = quiet().process(10, "dd", 90e6, throttled);
        scene
            .with(|it| it.devices[0].write_bytes_per_s = Some(rate))
            .window()
    };
    let on_other = |scene: Scene| {
        scene.with(|it| {
            it.processes[1].devices = vec![DeviceShare::named("sdb".into())];
            it.devices.push(device("sdb", 0.1, 5.0, 2e6));
        })
    };
    let beside = on_other(
        quiet()
            .process(1, "dd", 1e6, throttled)
            .process(2, "rustc", 300e6, None),
    );
    let full = beside.clone().host(|it| it.dirty_bytes = Some(900 << 20));
    let two = on_other(
        quiet()
            .process(1, "fio", 2e6, throttled)
            .process(2, "dd", 9e6, throttled),
    );
    cases! {
        "another one fills the memory", filled.window() => "dirty-throttled",
            "logger is throttled 100 % of the time because dd (pid 10) fills the memory with data for sda", "10>20";
        "fast device", alone(90e6) => "";
        "slow device", alone(2e6) => "dirty-throttled",
            "dd is throttled 100 % of the time: sda writes at 2.00 MB/s only", "10>10";
        "a writer of another device", beside.window() => "dirty-throttled", "", "1>1";
        "the same while the memory as a whole is full", full.window() => "dirty-throttled", "", "2>1";
        "two devices", two.window() => "dirty-throttled dirty-throttled", "", "1>1";
    }
    for (throttled_from, expected) in [(8 << 30, 1), (64 << 20, 0)] {
        let scene = quiet().process(1, "dd", 1e6, throttled);
        let scene = scene.host(|it| it.throttle_threshold_bytes = Some(throttled_from));
        let found = commands(&scene.window(), "sysctl vm.dirty_background");
        assert_eq!(found.len(), expected, "{throttled_from}");
    }
}

/// A unit that uses that part of its limit of 4 MB/s, or of so many requests.
fn limited(usage: f64, requests: Option<u64>) -> UnitView {
    UnitView {
        pressure_some: Some(0.6),
        limits: vec![UnitLimit {
            device: "sda".into(),
            read_bytes_per_s: requests.is_none().then_some(4_000_000),
            write_bytes_per_s: None,
            read_ios_per_s: requests,
            write_ios_per_s: None,
            usage: Some(usage),
        }],
        ..UnitView::without_io("/backup.service", "backup.service")
    }
}

#[test]
fn limits_of_control_groups() {
    let of_unit = |unit: UnitView| quiet().with(|it| it.units = vec![unit]).window();
    let idle = UnitView {
        pressure_some: Some(0.0),
        ..limited(1.0, None)
    };
    let held = quiet().asleep(7, "tar", "submit_bio_wait").with(|it| {
        it.processes[0].unit = Some("backup.service".into());
        it.units = vec![limited(0.0, None)];
        it.devices[0].in_flight = Some(0);
    });
    let in_device = held.clone().with(|it| it.devices[0].in_flight = Some(1));
    cases! {
        "limit of bytes", of_unit(limited(1.0, None)) => "cgroup-throttled",
            "backup.service waits because backup.service has reached its I/O limit on sda of 4.00 MB/s.";
        "below", of_unit(limited(0.3, None)) => "";
        "nobody waits", of_unit(idle) => "";
        // Of 29 requests per second the kernel lets two pass in each 100 ms.
        "few requests", of_unit(limited(0.69, Some(29))) => "cgroup-throttled", "of 29/s";
        "80 % of a rate", of_unit(limited(0.8, None)) => "";
        "one request is held back", held.window() => "cgroup-throttled hung-io",
            "tar (backup.service) waits because", ">7";
        "one request that the limit has let pass", in_device.window() => "hung-io",
            "tar (backup.service) hangs on sda", ">7";
    }
    let first_version = quiet().with(|it| {
        it.drives = vec![drive("sata")];
        it.units = vec![limited(1.0, Some(90))];
        it.notices = vec![ProbeNotice::BufferedWritesUnattributed.message().into()];
    });
    let window = first_version.window();
    let diagnosis = diagnose(&window).unwrap();
    assert_eq!(diagnosis.causes[0].evidence[0].source, "blkio.throttle.*");
    let file = "/sys/fs/cgroup/blkio/backup.service/blkio.throttle.read_iops_device";
    let expected = format!("echo '8:0 0' > {file}");
    assert_eq!(commands(&window, "blkio"), [expected]);
}

/// A scene in which a group with these processes reaches its limits of memory and of processor time.
fn with_group(scene: Scene, pids: &[u32]) -> Scene {
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
    scene.with(|it| {
        it.begin.at = it.facts.at - Duration::from_secs(10);
        it.begin.groups = vec![group(100, 0)];
        it.facts.groups = vec![group(5000, 50)];
    })
}

#[test]
fn memory_and_processors() {
    let memory = |pressure: f64, swap_in: f64, swap_out: f64, refaults: f64| {
        quiet().host(|it| {
            it.memory_pressure_some = Some(pressure);
            it.swap_in_bytes_per_s = Some(swap_in);
            it.swap_out_bytes_per_s = Some(swap_out);
            it.refault_bytes_per_s = Some(refaults);
        })
    };
    let files = |refaults, io| {
        let scene = memory(0.01, 0.0, 0.0, refaults);
        scene.host(|it| it.pressure_some = Some(io)).window()
    };
    let processors = |waiting| {
        let scene = quiet().host(|it| {
            it.cpu_busy = Some(0.99);
            it.cpu_pressure_some = Some(waiting);
        });
        scene.window()
    };
    let readers = |scene: Scene| {
        let scene = scene
            .process(30, "make", 1e6, Some("folio_wait_bit_common"))
            .process(31, "dd", 1e6, Some("folio_wait_bit_common"));
        scene.with(|it| {
            for process in &mut it.processes {
                process.read_bytes_per_s = Some(50e6);
            }
        })
    };
    let swapping = readers(memory(0.5, 20e6, 20e6, 80e6));
    let rereading = readers(memory(0.5, 0.0, 0.0, 80e6));
    cases! {
        "swapping under pressure", memory(0.5, 20e6, 20e6, 0.0).window() => "swap-thrashing",
            "The machine waits for memory; 20.0 MB/s are read from swap", ">";
        "without", memory(0.01, 20e6, 20e6, 0.0).window() => "";
        "read only", memory(0.03, 18e6, 0.0, 0.0).window() => "";
        "pages go round", memory(0.03, 18e6, 18e6, 0.0).window() => "swap-thrashing";
        "refaults under pressure", memory(0.2, 0.0, 0.0, 80e6).window() => "cache-thrashing",
            "80.0 MB/s in all, because the memory is too small";
        "refaults", memory(0.0, 0.0, 0.0, 80e6).window() => "";
        "files go round while tasks wait for I/O", files(80e6, 0.2) => "cache-thrashing", "is probably too small";
        "few files", files(20e6, 0.2) => "";
        "limit of a group, swapping", with_group(swapping.clone(), &[30]).window() => "swap-thrashing cache-thrashing",
            "make waits for memory", ">30";
        "limit of a group, files", with_group(rereading, &[30]).window() => "cache-thrashing",
            "most by make, because the memory limit of build, 50.3 MB, is too small", ">30";
        "who waits for a disk is no victim of swapping", swapping.window() => "swap-thrashing cache-thrashing",
            "", ">";
        "busy processors", processors(0.8) => "not-io", "The processors are the limit, not I/O: 99 % busy";
        "without waiting", processors(0.05) => "";
    }
    let raised = commands(&with_group(swapping, &[30]).window(), "memory.max");
    let expected = "echo 100663296 > /sys/fs/cgroup/build/memory.max";
    assert_eq!(raised[0], expected);
}

#[test]
fn drives_that_are_used_below_what_they_serve() {
    let flash = |queue, latency| {
        let reader = quiet().process(7, "tar", 1e6, Some("folio_wait_bit_common"));
        reader.device(queue, 900.0, latency).with(|it| {
            it.drives = vec![drive("nvme")];
            it.drives[0].rotational = Some(false);
        })
    };
    let one = flash(0.9, 0.1e6);
    let large = one
        .clone()
        .with(|it| it.devices[0].write_bytes_per_s = Some(90e6));
    let rotational = one.clone().with(|it| it.drives[0].rotational = Some(true));
    let flushing = one.clone().with(|it| {
        it.devices[0].flush_ios_per_s = Some(400.0);
    });
    let two = one
        .clone()
        .process(8, "cp", 1e6, Some("folio_wait_bit_common"));
    let linked = |current: f64, of_device: f64| {
        let scene = quiet().with(|it| {
            it.devices[0].write_bytes_per_s = Some(of_device);
            let link = LinkSpeed {
                current,
                supported: 4e9,
            };
            it.facts.devices = vec![DeviceHealth {
                name: "sda".to_owned(),
                link: Some(link),
                ..DeviceHealth::default()
            }];
        });
        scene.window()
    };
    let slow_link = "sda is connected at 1.00 GB/s, although 4.00 GB/s are supported.";
    cases! {
        "one request at a time", one.window() => "queue-starved",
            "wrong with I/O: tar waits 100 % of the time for sda, which serves many requests at once and has one in flight, 100 us per write.",
            ">7";
        "more of them", flash(1.6, 0.1e6).window() => "";
        "slow requests", flash(0.9, 8e6).window() => "";
        "large requests", large.window() => "", "latency-bound";
        "a disk", rotational.window() => "", "one request at a time";
        "flushes", flushing.window() => "", "flush-bound";
        "two in turn", two.window() => "", "one request at a time";
        "slow link, idle", linked(1e9, 0.0) => "link-degraded", "Nothing is wrong with I/O: sda";
        "slow link as the limit", linked(1e9, 800e6) => "link-degraded", slow_link;
        "full link", linked(4e9, 800e6) => "";
    }
    let told = diagnose(&one.window()).unwrap();
    assert!(told.ruled_out.iter().any(|it| it.code == "at-limit"));
    assert!(diagnose(&linked(1e9, 800e6)).unwrap().is_problem());
}

#[test]
fn work_that_waits_for_itself_is_explained_by_name() {
    let reader = |queue, latency| {
        let scene = quiet().process(7, "tar", 1e6, Some("folio_wait_bit_common"));
        scene.device(queue, 900.0, latency)
    };
    let flushing = reader(0.9, 1e6).with(|it| {
        it.devices[0].flush_ios_per_s = Some(400.0);
        it.devices[0].flush_await_ns = Some(2e6);
    });
    let held_back = reader(0.9, 1e6).with(|it| {
        it.devices[0] = DeviceView {
            read_ios_per_s: Some(91.0),
            read_await_ns: Some(0.02e6),
            ..device("sda", 0.002, 1.0, 30e6)
        };
    });
    // Depth without a blocked task, as of libaio and io_uring.
    let deep = reader(64.0, 2e6).with(|it| it.blocked.clear());
    let nobody = deep.clone().with(|it| it.processes.clear());
    let uring = quiet().host(|it| it.pressure_some = Some(0.8));
    let uring = uring.with(|it| it.looks.uring_waiters = vec![(60, b"nginx".to_vec())]);
    let sync = quiet()
        .asleep(20, "sync", "wb_wait_for_completion")
        .host(|it| it.dirty_bytes = Some(131_000_000))
        .with(|it| {
            it.processes[0].devices.clear();
            it.devices[0].write_bytes_per_s = Some(7.1e6);
        });
    let stuck_sync = sync
        .clone()
        .with(|it| it.devices[0].write_bytes_per_s = Some(0.0));
    let jobs = |channel| {
        let scene = quiet().process(30, "make", 0.0, None);
        scene.process(31, "dd", 1e6, channel)
    };
    let wait = LockWait {
        waiter: 30,
        holder: 31,
        device_number: (8, 1),
        inode: 5,
        slept: None,
    };
    let ended = jobs(None).with(|it| it.begin.locks = vec![wait]);
    let lock = ended.clone().with(|it| it.facts.locks = vec![wait]);
    let lock_of_reader = jobs(Some("folio_wait_bit_common"))
        .with(|it| (it.begin.locks, it.facts.locks) = (vec![wait], vec![wait]));
    let cases = [
        (
            reader(0.9, 0.1e6),
            "tar (pid 7) waits 100 % of the time for sda, one request at a time, 100 us per write: latency-bound.",
        ),
        (reader(0.9, 8e6), "8.00 ms per write: seek-bound."),
        (
            reader(6.0, 2e6),
            "for sda, whose limit its own requests reach: 3.69 MB/s",
        ),
        (
            flushing,
            "for the flushes of sda, 2.00 ms each: flush-bound.",
        ),
        (held_back, "for sda, which is not busy: "),
        (
            quiet().process(7, "tar", 0.0, Some("rwsem_down_write_slowpath")),
            "for a lock that another task holds",
        ),
        (deep, "sda is at its limit, 100 % of it by tar (pid 7)"),
        (nobody, "sda is probably at its limit"),
        (uring, "nginx (pid 60) waits for completions of io_uring"),
        (
            sync,
            "sync (pid 20) waits 100 % of the time until 131 MB are written, at 7.10 MB/s: about 18.5 s.",
        ),
        (
            with_group(jobs(None), &[30]),
            "make is stopped in 50 % of the periods because build has reached its quota of 0.25 processors",
        ),
        (ended, "Nothing is wrong with I/O: nobody waits"),
        (
            lock,
            "make waits for the lock of a file that dd (pid 31) holds.",
        ),
        (
            lock_of_reader,
            "make waits for the lock of a file that dd (pid 31) holds, which waits 100 % of the time for sda.",
        ),
    ];
    for (scene, says) in cases {
        check("note", &scene.window(), "", &[says]);
    }
    cases! {
        "sync without progress", stuck_sync.window() => "hung-io", "sync hangs", ">20";
    }
}

/// A mounted file system.
fn mount(id: u64, kind: &str, place: &str) -> MountEntry {
    MountEntry {
        id,
        parent: 0,
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

fn system(place: &str, minor: u32, usage: Option<FileSystemUsage>) -> MountedFileSystem {
    MountedFileSystem {
        device_id: (0, minor),
        block_device: (8, 1),
        mount_point: place.to_owned(),
        path: Some(place.into()),
        kind: "ext4".to_owned(),
        options: Vec::new(),
        usage,
    }
}

/// The process that sleeps with these details.
fn sleeping(channel: &str, change: impl FnOnce(&mut BlockedDetails)) -> Scene {
    quiet().asleep(20, "dd of=/mnt/a/x", channel).with(|it| {
        let mut details = BlockedDetails {
            pid: 20,
            tid: 20,
            switches: Some(7),
            ..BlockedDetails::default()
        };
        change(&mut details);
        it.details = vec![details];
    })
}

#[test]
fn tasks_that_hang() {
    let stack = |innermost: &'static str| {
        sleeping("folio_wait_bit_common", |it| {
            let names = ["folio_wait_bit_common", innermost];
            it.stack = Some(names.map(str::to_owned).to_vec());
        })
    };
    let hung = sleeping("submit_bio_wait", |_| ());
    let awake = hung.clone().with(|it| it.blocked[0].switches = None);
    let frozen_task = hung
        .clone()
        .with(|it| it.blocked[0].wait_channel = Some("__refrigerator".to_owned()));
    let frozen = sleeping("percpu_rwsem_wait", |it| it.used_mount_id = Some(1)).with(|it| {
        it.facts.mounts = vec![mount(0, "ext4", "/"), mount(1, "ext4", "/srv")];
    });
    let named = sleeping("percpu_rwsem_wait", |it| {
        it.named_paths = vec!["/dev/zero".into(), "/mnt/a/x".into()];
    });
    let named = named.with(|it| {
        it.facts.mounts = vec![mount(1, "devtmpfs", "/dev"), mount(2, "ext4", "/mnt/a")];
        it.file_systems = vec![system("/mnt/a", 42, None)];
    });
    let young = |since: Option<u64>| {
        let scene = sleeping("submit_bio_wait", |it| {
            it.asleep_since = since.map(Duration::from_secs);
        });
        let mut window = scene.window();
        window.snapshots.truncate(1);
        window.scans.truncate(3);
        window
    };
    cases! {
        "no context switch for ten seconds", hung.window() => "hung-io",
            "dd hangs on sda; blocked in submit_bio_wait without interruption for 10.0 s", ">20";
        "a new sleep each time", awake.window() => "";
        "a frozen task", frozen_task.window() => "";
        "its device works", hung.clone().device(1.0, 50.0, 20e6).window() => "";
        "a frozen file system", frozen.window() => "hung-io",
            "dd waits for 10.0 s until the file system at /srv is thawed", ">20";
        "a frozen one that an argument leads to", named.window() => "hung-io",
            "the file system at /mnt/a is thawed", ">20";
        "the kernel stack tells of a server", stack("nfs_file_fsync").window() => "fuse-or-network-stalled",
            "", ">20";
        "the kernel stack tells of a disk", stack("ext4_sync_file").window() => "hung-io", "", ">20";
        "a sleep of 2 s", young(None) => "";
        "a sleep that the kernel knows to be longer", young(Some(80)) => "hung-io", "for 22.0 s", ">20";
    }
    let thaw = commands(&frozen.window(), "fsfreeze");
    assert_eq!(thaw, ["fsfreeze --unfreeze /srv"]);
    let cause = diagnose(&young(Some(80))).unwrap().causes.remove(0);
    assert_eq!(cause.evidence[0].source, "/proc/PID/sched");
}

#[test]
fn servers_that_do_not_answer() {
    let waiting = |channel: &str, kind: &str, change: &dyn Fn(&mut Scene)| {
        let scene = sleeping(channel, |it| {
            // It has a file open on the first one.
            it.mounts = vec![UsedMount {
                id: 1,
                device_id: (0, 41),
                kind: kind.to_owned(),
            }];
        });
        let scene = scene.with(|it| {
            it.facts.mounts = vec![
                mount(0, "ext4", "/"),
                mount(1, kind, "/home"),
                mount(2, kind, "/mnt/b"),
            ];
            change(it);
        });
        scene.window()
    };
    let fuse = |counts: Option<[Option<u64>; 2]>| {
        let connection = |(minor, waiting)| FuseConnection {
            device_id: (0, minor),
            waiting,
        };
        let all = counts.map(|counts| (41..).zip(counts).map(connection).collect());
        let listed = |it: &mut Scene| it.facts.fuse.clone_from(&all);
        waiting("request_wait_answer", "fuse.sshfs", &listed)
    };
    let server = FuseServer {
        pid: 77,
        start_ticks: 5,
        name: b"sshfs".to_vec(),
        arguments: b"sshfs\0host:\0/mnt/b\0".to_vec(),
        is_stopped: true,
        connection: None,
    };
    let stopped = waiting("request_wait_answer", "fuse.sshfs", &|it| {
        it.details[0].used_mount_id = Some(2);
        it.looks.fuse_servers = vec![server.clone()];
    });
    // A loop device whose file lies there.
    let below_loop = sleeping("submit_bio_wait", |_| ()).with(|it| {
        it.drives = vec![drive("loop")];
        it.drives[0].backing_file = Some("/mnt/b/image".to_owned());
        it.facts.mounts = vec![mount(2, "fuse.sshfs", "/mnt/b")];
        it.looks.fuse_servers = vec![server.clone()];
    });
    let both = ": possibly /home (fuse.sshfs) or /mnt/b (fuse.sshfs).";
    let nfs = |change: &dyn Fn(&mut Scene)| waiting("rpc_wait_bit_killable", "nfs4", change);
    let of_both = "waits for the server of /mnt/b (fuse.sshfs), which has not answered for 10.0 s.";
    let named = "/mnt/b (fuse.sshfs), sshfs (pid 77), which is stopped (state T)";
    cases! {
        "not listed", fuse(None) => "fuse-or-network-stalled", both, ">20";
        "both wait", fuse(Some([Some(1), Some(1)])) => "fuse-or-network-stalled", both;
        "one unknown", fuse(Some([None, Some(1)])) => "fuse-or-network-stalled", both;
        "the other waits", fuse(Some([Some(0), Some(1)])) => "fuse-or-network-stalled", of_both;
        "two of a network", nfs(&|_| ()) => "fuse-or-network-stalled", ": possibly /home (nfs4) or /mnt/b (nfs4).";
        "the one that it reads", nfs(&|it| it.details[0].used_mount_id = Some(2)) => "fuse-or-network-stalled",
            "waits for the server of /mnt/b (nfs4), which";
        "a new sleep each time", nfs(&|it| it.blocked[0].switches = None) => "";
        "stopped", stopped.clone() => "fuse-or-network-stalled", named;
        "below a loop device", below_loop.window() => "hung-io", named, ">20";
    }
    for window in [stopped, below_loop.window()] {
        assert_eq!(commands(&window, "kill -CONT 77").len(), 1);
    }
}

#[test]
fn errors_and_space() {
    let logged = quiet().with(|it| {
        it.facts.kernel_errors = NewErrors::Available(vec![KernelIoError {
            device: "sda".into(),
            message: "I/O error, dev sda, sector 8".into(),
        }]);
    });
    let unreadable = quiet().with(|it| it.facts.kernel_errors = NewErrors::NotPermitted);
    let usage = |available_bytes: u64, free_inodes: u64| FileSystemUsage {
        size_bytes: 1 << 30,
        free_bytes: available_bytes,
        available_bytes,
        inodes: 1000,
        free_inodes,
    };
    let space = |usage| quiet().with(|it| it.file_systems = vec![system("/srv", 1, Some(usage))]);
    let image = space(usage(0, 0)).with(|it| it.file_systems[0].kind = "squashfs".to_owned());
    let deleted = space(usage(0, 900)).with(|it| {
        it.looks.deleted_files = vec![DeletedView {
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
    });
    cases! {
        "an error in the kernel log", logged.window() => "drive-errors",
            "sda fails: 1 I/O errors in the kernel log, the last: I/O error, dev sda, sector 8.";
        "the kernel log is not readable", unreadable.window() => "",
            "What can be seen without root shows nothing wrong";
        "full", space(usage(0, 900)).window() => "file-system-full",
            "The file system at /srv is full: 100 % of it is used, 0 B are available.";
        "nearly full", space(usage(20 << 20, 900)).window() => "file-system-full", "is nearly full: 98 %";
        "without inodes", space(usage(1 << 29, 0)).window() => "file-system-full", "has no inodes left";
        "an image", image.window() => "";
        "a deleted file holds the space", deleted.window() => "file-system-full",
            "; 944 MB of that are held by the deleted file /srv/big.log, which logger (pid 7) has open.", "7>";
    }
    for (part, expected) in [("truncate", 1), ("diskscope files", 1), ("du ", 0)] {
        assert_eq!(commands(&deleted.window(), part).len(), expected, "{part}");
    }
    let du = commands(&space(usage(0, 900)).window(), "du ");
    assert_eq!(du.len(), 1);
}

#[test]
fn recordings() {
    let recorded = |change: &dyn Fn(usize, &mut Snapshot)| {
        EvidenceWindow::of_snapshots((0..15).map(|second| {
            let mut snapshot = quiet().snapshot(second);
            change(second, &mut snapshot);
            Arc::new(snapshot)
        }))
    };
    let blocked = |channel: &'static str, nanoseconds: u64| {
        recorded(&move |second, it| {
            it.blocked = Some(vec![BlockedTaskView {
                pid: 40,
                tid: 41,
                command: "dd if=/dev/sda".into(),
                blocked_ns: nanoseconds * second as u64,
                wait_channel: Some(channel.into()),
                ..BlockedTaskView::default()
            }]);
        })
    };
    let errors = |logged| {
        recorded(&move |second, it| {
            let errors = (second == 4).then(|| IoErrorsView {
                device: "sda".into(),
                logged,
                failed_commands: Some(3),
                message: Some("I/O error, dev sda, sector 8".into()),
            });
            it.io_errors = Some(errors.into_iter().collect());
        })
    };
    let resync = |name: &'static str, kind| {
        recorded(&move |_, it| {
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
    cases! {
        "nothing", recorded(&|_, _| ()) => "", "What was recorded shows nothing wrong";
        "a task hangs", blocked("submit_bio_wait", 1_000_000_000) => "hung-io", "dd hangs", ">40";
        "a task waits for a server", blocked("request_wait_answer", 1_000_000_000) => "fuse-or-network-stalled",
            "dd waits for the server of a FUSE or network file system, which", ">40";
        "each sleep is a new one", blocked("submit_bio_wait", 0) => "";
        "errors", errors(Some(2)) => "drive-errors", "sda fails: 2 I/O errors";
        "failed commands alone", errors(None) => "";
        "an array", resync("md0", DriveKind::Raid) => "raid-resync";
        "a mirror", resync("dm-3", DriveKind::DeviceMapper) => "";
    }
    let diagnosis = diagnose(&recorded(&|_, _| ())).unwrap();
    let reasons = diagnosis.not_examined.iter();
    let missing = reasons.filter(|it| it.reason == NotExamined::NotRecorded);
    let missing: Vec<&str> = missing.map(|it| it.code).collect();
    for code in [
        "hung-io",
        "fuse-or-network-stalled",
        "drive-errors",
        "file-system-full",
    ] {
        assert!(missing.contains(&code), "{code}");
    }
}

#[test]
fn measures_are_those_that_have_an_effect() {
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
        let scene = saturated().with(|it| {
            it.processes[0].unit = Some("db.service".into());
            let units = units
                .iter()
                .map(|(path, name)| UnitView::without_io(path, name));
            it.units = units.collect();
        });
        let found = commands(&scene.window(), " -- db.service ");
        assert_eq!(!found.is_empty(), is_limited, "{units:?}");
    }
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
        let scene = saturated().with(|it| {
            it.processes[0].unit = Some("db.service".into());
            it.processes[0].read_bytes_per_s = Some(of_process);
            it.devices[0].read_bytes_per_s = Some(of_device);
            it.devices[0].write_bytes_per_s = Some(200e6);
            it.units = vec![UnitView::without_io(of_system.0, of_system.1)];
        });
        let found = commands(&scene.window(), "set-property");
        assert!(
            found[0].ends_with(&format!(" db.service {expected}")),
            "{found:?}"
        );
    }
    for (scheduler, kernel, is_advised) in [
        ("bfq", Some("4.18.0-553.el8.x86_64"), true),
        ("mq-deadline", Some("6.1.0-18-amd64"), true),
        ("mq-deadline", Some("5.10.0-28-amd64"), false),
        ("mq-deadline", None, false),
        ("none", Some("6.1.0-18-amd64"), false),
    ] {
        let scene = saturated().with(|it| {
            it.host.kernel = kernel.map(SafeText::from);
            it.drives = vec![drive("sata")];
            it.drives[0].scheduler = Some(scheduler.to_owned());
        });
        let found = commands(&scene.window(), "ionice -c 3");
        assert_eq!(!found.is_empty(), is_advised, "{scheduler} {kernel:?}");
    }
}

#[test]
fn no_measure_stops_a_process_that_must_not_be_stopped() {
    let throttled = quiet()
        .process(10, "mergerfs", 90e6, None)
        .process(20, "postgres", 1e6, Some("balance_dirty_pages"))
        .host(|it| it.dirty_bytes = Some(1 << 30));
    for scene in [saturated(), throttled] {
        let stops = |window: &EvidenceWindow| commands(window, "kill -STOP 10").len();
        assert_eq!(stops(&scene.window()), 1);
        let needed = scene.clone().with(|it| it.looks.stoppable.clear());
        assert_eq!(stops(&needed.window()), 0, "others would hang with it");
        // Numbers of another PID namespace are those of other processes in a command.
        let mut window = scene.window();
        window.process_numbers = ProcessNumbers::Other;
        assert_eq!(stops(&window), 0);
    }
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
