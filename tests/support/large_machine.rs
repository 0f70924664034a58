//! Machines with many devices, descriptors or control groups, as files below a directory, and what a
//! sample of them costs.

#![allow(dead_code, reason = "not every program needs all of it")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diskscope::app::{AppEvent, AppState, Message, update};
use diskscope::probe::{SampleCollector, Wanted};
use diskscope::roots::SysPaths;
use diskscope::snapshot::ViewBuilder;
use diskscope::ui::{self, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

/// Samples whose cost is measured, after the first ones.
const SAMPLES: usize = 9;
/// Samples until everything is in memory that is kept.
const WARM_UP_SAMPLES: usize = 3;
/// Partitions of one drive.
const PARTITIONS_PER_DRIVE: usize = 50;
/// A terminal.
const SCREEN: Rect = Rect::new(0, 0, 120, 40);
/// The process that has descriptors and transfers bytes.
const PID: u32 = 50;

/// What there is many of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crowd {
    /// Drives that transfer.
    Drives,
    /// Half of them partitions, half device-mapper nodes on partitions; all transfer.
    Volumes,
    /// Descriptors of one process, which transfers.
    Descriptors,
    /// Control groups with counters.
    Groups,
}

impl Crowd {
    /// All, with the number that the documented table is for.
    pub const ALL: [(Self, usize); 4] = [
        (Self::Drives, 100),
        (Self::Volumes, 2000),
        (Self::Descriptors, 50_000),
        (Self::Groups, 1000),
    ];

    /// Words for a table.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Drives => "block devices",
            Self::Volumes => "partitions and device-mapper nodes",
            Self::Descriptors => "open descriptors in one process",
            Self::Groups => "control groups",
        }
    }
}

/// Processor time of the first sample and of a later one: reading, computing, drawing.
#[derive(Debug, Clone, Copy)]
pub struct SampleCost {
    pub first: Duration,
    pub later: Duration,
}

/// What a sample of a machine with `count` of them costs this thread.
pub fn sample_cost(crowd: Crowd, count: usize) -> SampleCost {
    let machine = LargeMachine::new(crowd, count);
    let mut collector = SampleCollector::new(SysPaths::under_root(machine.root.path()));
    collector.set_wanted(Wanted {
        units: crowd == Crowd::Groups,
        ..Wanted::default()
    });
    let mut builder = ViewBuilder::default();
    let mut state = AppState::new(Duration::from_secs(1));
    let mut costs = Vec::new();
    for step in 0..WARM_UP_SAMPLES + SAMPLES {
        machine.transfer(step as u64);
        let before = thread_time();
        let sample = collector.collect();
        machine.check(&sample);
        let view = builder.update(Arc::new(sample));
        let message = Message::Snapshot(Arc::new(view));
        update(&mut state, AppEvent::Message(message));
        ui::draw(&state, &Theme::FULL, SCREEN, &mut Buffer::empty(SCREEN));
        costs.push(thread_time() - before);
    }
    let first = costs[0];
    let later = &mut costs[WARM_UP_SAMPLES..];
    later.sort();
    SampleCost {
        first,
        later: later[later.len() / 2],
    }
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A machine that exists as files only.
struct LargeMachine {
    root: TempDir,
    crowd: Crowd,
    count: usize,
    devices: Vec<(String, (usize, usize))>,
}

impl LargeMachine {
    fn new(crowd: Crowd, count: usize) -> Self {
        let memory = Path::new("/dev/shm");
        let root = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let mut machine = Self {
            root: root.unwrap(),
            crowd,
            count,
            devices: Vec::new(),
        };
        machine.write("proc/loadavg", "0.00 0.00 0.00 1/1 50\n");
        machine.write("proc/uptime", "1000.00 1000.00\n");
        machine.write("proc/self/mountinfo", MOUNTS);
        machine.add_process();
        match crowd {
            Crowd::Drives => (0..count).for_each(|index| machine.add_drive(index)),
            Crowd::Volumes => machine.add_volumes(),
            Crowd::Descriptors => machine.add_descriptors(),
            Crowd::Groups => machine.add_groups(),
        }
        machine
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A device with that directory below `/sys/devices`.
    fn add_device(&mut self, directory: &str, number: (usize, usize)) {
        let name = directory.rsplit('/').next().unwrap().to_owned();
        let (major, minor) = number;
        self.write(
            &format!("sys/devices/{directory}/dev"),
            &format!("{major}:{minor}\n"),
        );
        self.write(&format!("sys/devices/{directory}/size"), "2000000\n");
        let class = self.root.path().join("sys/class/block");
        fs::create_dir_all(&class).unwrap();
        let target = PathBuf::from("../../devices").join(directory);
        symlink(target, class.join(&name)).unwrap();
        self.devices.push((name, number));
    }

    fn add_drive(&mut self, index: usize) {
        let directory = drive_directory(index);
        self.write(&format!("sys/devices/{directory}/queue/rotational"), "0\n");
        self.add_device(&directory, (8, index * 64));
    }

    fn add_volumes(&mut self) {
        for index in 0..self.count / 2 {
            let (drive, partition) = (
                index / PARTITIONS_PER_DRIVE,
                index % PARTITIONS_PER_DRIVE + 1,
            );
            if partition == 1 {
                self.add_drive(drive);
            }
            let name = format!("drive{drive}p{partition}");
            let directory = format!("{}/{name}", drive_directory(drive));
            self.write(
                &format!("sys/devices/{directory}/partition"),
                &format!("{partition}\n"),
            );
            self.add_device(&directory, (8, drive * 64 + partition));
            let volume = format!("virtual/block/dm-{index}");
            self.write(
                &format!("sys/devices/{volume}/dm/name"),
                &format!("vg0-volume{index}\n"),
            );
            self.write(&format!("sys/devices/{volume}/dm/uuid"), "LVM-abc\n");
            let slaves = format!("sys/devices/{volume}/slaves/{name}");
            fs::create_dir_all(self.root.path().join(slaves)).unwrap();
            self.add_device(&volume, (253, index));
        }
    }

    fn add_process(&self) {
        let zeros = "0 ".repeat(30);
        let stat = format!("{PID} (server) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 {zeros}\n");
        self.write(&format!("proc/{PID}/stat"), &stat);
        self.write(&format!("proc/{PID}/cmdline"), "server\0");
        self.write(&format!("proc/{PID}/status"), "Uid:\t0\t0\t0\t0\n");
        for directory in ["fd", "fdinfo"] {
            let directory = format!("proc/{PID}/{directory}");
            fs::create_dir_all(self.root.path().join(directory)).unwrap();
        }
    }

    fn add_descriptors(&self) {
        let data = self.root.path().join("data");
        let file = fs::File::create(&data).unwrap();
        file.set_len(2 << 20).unwrap();
        let process = self.root.path().join(format!("proc/{PID}"));
        for descriptor in 0..self.count {
            let descriptor = descriptor.to_string();
            symlink(&data, process.join("fd").join(&descriptor)).unwrap();
            let info = "pos:\t0\nflags:\t0100000\nmnt_id:\t25\nino:\t5\n";
            fs::write(process.join("fdinfo").join(&descriptor), info).unwrap();
        }
    }

    fn add_groups(&mut self) {
        self.add_drive(0);
        self.write("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
        for index in 0..self.count {
            let group = group_directory(index);
            let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n\
                            full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
            self.write(&format!("{group}/io.pressure"), pressure);
            self.write(
                &format!("{group}/io.max"),
                "8:0 rbps=max wbps=1000 riops=max wiops=max\n",
            );
        }
    }

    /// Lets everything transfer.
    fn transfer(&self, step: u64) {
        let ios = step * 10;
        let mut lines = String::new();
        for (name, (major, minor)) in &self.devices {
            let sectors = ios * 8;
            writeln!(
                lines,
                "{major:4} {minor:7} {name} {ios} 0 {sectors} {ios} {ios} 0 {sectors} {ios} 0 {ios} {ios}"
            )
            .unwrap();
        }
        self.write("proc/diskstats", &lines);
        let bytes = step << 20;
        let io = format!(
            "rchar: {bytes}\nwchar: 0\nsyscr: {step}\nsyscw: 0\nread_bytes: {bytes}\n\
             write_bytes: 0\ncancelled_write_bytes: 0\n"
        );
        self.write(&format!("proc/{PID}/io"), &io);
        if self.crowd == Crowd::Groups {
            for index in 0..self.count {
                let line = format!("8:0 rbytes={bytes} wbytes={bytes} rios={ios} wios={ios}\n");
                self.write(&format!("{}/io.stat", group_directory(index)), &line);
            }
        }
    }

    /// The sample contains what the machine has many of.
    fn check(&self, sample: &diskscope::probe::SystemSample) {
        assert_eq!(sample.processes.len(), 1);
        assert_eq!(sample.disks.len(), self.devices.len());
        assert_eq!(sample.drives.len(), self.devices.len());
        let groups = sample.control_groups.as_ref();
        let groups = groups.map_or(0, |groups| groups.groups.len());
        let expected = if self.crowd == Crowd::Groups {
            // And the slice that contains them.
            self.count + 1
        } else {
            0
        };
        assert_eq!(groups, expected);
    }
}

fn drive_directory(index: usize) -> String {
    format!("pci/port{index}/block/drive{index}")
}

fn group_directory(index: usize) -> String {
    format!("sys/fs/cgroup/system.slice/service{index}.service")
}

/// A file system on the first drive, and the control groups.
const MOUNTS: &str = "25 1 8:0 / / rw - ext4 /dev/drive0 rw\n\
                      30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
