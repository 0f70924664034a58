//! Whether a drive can be unplugged, on a loop device with a file system: each step that a user takes
//! before pulling a cable, and the steps that make it unsafe again.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use diskscope::drive::guard::{Usage, User, Uses};
use diskscope::drive::identity;
use diskscope::drive::unplug::{FlushState, UnplugAnswer, UnplugObstacle, unplug_answer};
use diskscope::roots::SysPaths;

use serde_json::Value;

use crate::file_system::LoopFileSystem;
use crate::live::live_sampler::{LiveSampler, MIB, RunningChild, WAIT_TIMEOUT};
use crate::process::wait_until;
use crate::requirement::{Requirement, skip};

/// Tries until no other request, such as a read of udev, was in flight beside a flush.
const ATTEMPTS: usize = 20;

/// Held by each test here: the mount namespace that one of them makes has the file systems of the
/// others too.
static MOUNTS: Mutex<()> = Mutex::new(());

/// The drive, looked at as the Live screen does.
struct Watched {
    sampler: LiveSampler,
    name: String,
    path: String,
}

impl Watched {
    /// The answer after what was done since the last one.
    fn answer(&mut self) -> UnplugAnswer {
        let live = self.sampler.next_snapshot();
        let drives = identity::list_block_devices(&SysPaths::default());
        let drive = drives.iter().find(|drive| drive.name == self.name).unwrap();
        let mut devices = live.devices.iter();
        let device = devices.find(|device| *device.name == *self.name).unwrap();
        let dirty = device.dirty_bytes.zip(device.writeback_bytes);
        let dirty = dirty.map(|(dirty, writeback)| dirty + writeback);
        // Live does not look for other users: here there are none.
        let users = Uses::default();
        let flush = device.flush_state.unwrap();
        unplug_answer(drive, &drives, Some(&users), dirty, flush).unwrap()
    }

    /// `sync DEVICE`, and the answer after it.
    fn sync_device(&mut self) -> UnplugAnswer {
        let mut answer = self.answer();
        for _ in 0..ATTEMPTS {
            assert!(
                Command::new("sync")
                    .arg(&self.path)
                    .status()
                    .unwrap()
                    .success()
            );
            answer = self.answer();
            if answer.safe.is_some() {
                break;
            }
        }
        answer
    }

    /// Synchronizes the device until the answer is yes: losetup of another test opens each device for a
    /// moment.
    fn sync_until_safe(&mut self) {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        loop {
            let flushed = self.sync_device();
            if flushed.safe == Some(true) {
                assert_eq!(flushed.obstacles, []);
                return;
            }
            assert!(Instant::now() < deadline, "{flushed:?}");
        }
    }

    /// Writes directly to the device: only the drive's own cache is between it and the medium.
    fn write_block(&self) {
        // A write of O_DIRECT has to be aligned in memory as well.
        let block = vec![7_u8; 8192];
        let begin = block.as_ptr().align_offset(4096);
        let mut device = OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_DIRECT)
            .open(&self.path)
            .unwrap();
        device.write_all(&block[begin..begin + 4096]).unwrap();
    }
}

fn is_mounted(answer: &UnplugAnswer) -> bool {
    let mut obstacles = answer.obstacles.iter();
    obstacles.any(|obstacle| {
        matches!(
            obstacle,
            UnplugObstacle::InUse(User {
                usage: Usage::Mounted { .. },
                ..
            })
        )
    })
}

#[test]
fn drive_can_be_unplugged_only_when_unmounted_and_flushed_after_its_last_write() {
    let _turn = MOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(file_system) = LoopFileSystem::ext4(64 * MIB) else {
        return;
    };
    let mut watched = Watched {
        sampler: LiveSampler::start(),
        name: file_system.device_name().to_owned(),
        path: file_system.device().path().to_owned(),
    };
    let mounted = watched.answer();
    assert!(
        mounted.safe == Some(false) && is_mounted(&mounted),
        "{mounted:?}"
    );

    // Dirty pages, then all of it on the medium: it stays mounted.
    let file = file_system.file_path("copy");
    std::fs::write(&file, vec![1_u8; 8 * MIB as usize]).unwrap();
    let dirty = watched.answer();
    assert!(dirty.safe == Some(false) && is_mounted(&dirty), "{dirty:?}");
    let synced = watched.sync_device();
    assert!(
        synced.safe == Some(false) && is_mounted(&synced),
        "{synced:?}"
    );

    // Unmounting writes what is dirty. Writes and flushes are in one interval, so their order is
    // unknown until another flush.
    std::fs::write(&file, vec![2_u8; 8 * MIB as usize]).unwrap();
    // A trace of files that another test runs has each mount point open for a moment.
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while let Err(error) = file_system.unmount() {
        assert!(Instant::now() < deadline, "{error}");
        std::thread::sleep(Duration::from_millis(100));
    }
    // A mount namespace of another process can have it still.
    wait_until("nothing holds it", || {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_EXCL);
        options.open(&watched.path).is_ok()
    });
    let unmounted = watched.answer();
    assert!(unmounted.safe != Some(true), "{unmounted:?}");
    assert!(!is_mounted(&unmounted), "{unmounted:?}");
    watched.sync_until_safe();

    // A write after the flush.
    watched.write_block();
    let written = watched.answer();
    assert_eq!(written.safe, Some(false), "{written:?}");
    assert_eq!(written.obstacles, [UnplugObstacle::NotFlushed]);
    watched.sync_until_safe();

    // A write and a flush between two samples.
    watched.write_block();
    assert!(
        Command::new("sync")
            .arg(&watched.path)
            .status()
            .unwrap()
            .success()
    );
    let both = watched.answer();
    let state = FlushState::SameInterval;
    assert_eq!(both.safe, None, "{both:?}");
    assert_eq!(both.obstacles, [UnplugObstacle::FlushUnknown { state }]);
}

/// What `devices --json` says about a device.
fn printed_answer(name: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["devices", "--json"])
        .output()
        .unwrap();
    let devices: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut devices = devices.as_array().unwrap().iter();
    devices.find(|device| device["name"] == name).unwrap()["unplug"].clone()
}

/// The obstacles of that kind.
fn obstacles<'a>(answer: &'a Value, kind: &str) -> Vec<&'a Value> {
    let all = answer["obstacles"].as_array().unwrap().iter();
    all.filter(|obstacle| obstacle["kind"] == kind).collect()
}

#[test]
fn drive_in_use_in_another_namespace_or_by_a_process_is_not_safe_to_unplug() {
    let _turn = MOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(file_system) = LoopFileSystem::ext4(64 * MIB) else {
        return;
    };
    let name = file_system.device_name();
    // A container inherits the mount and keeps it.
    let container = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sleep", "600"])
        .spawn();
    let Ok(container) = container else {
        skip(Requirement::Namespaces, "no unshare");
        return;
    };
    let container = RunningChild(container);
    let namespace = |process: u32| std::fs::read_link(format!("/proc/{process}/ns/mnt")).unwrap();
    let process = container.0.id();
    wait_until("it has a namespace of its own", || {
        namespace(process) != namespace(std::process::id())
    });
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while let Err(error) = file_system.unmount() {
        assert!(Instant::now() < deadline, "{error}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let mounted = printed_answer(name);
    assert_eq!(mounted["safe"], false, "{mounted}");
    let elsewhere = obstacles(&mounted, "mounted-elsewhere");
    assert_eq!(elsewhere[0]["device"], name, "{mounted}");
    assert_eq!(
        elsewhere[0]["at"].as_str(),
        file_system.mount_point().to_str(),
        "{mounted}"
    );
    drop(container);

    // A virtual machine has its disk open.
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open(file_system.device().path())
        .unwrap();
    let machine = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::from(device))
        .spawn()
        .unwrap();
    let machine = RunningChild(machine);
    let open = printed_answer(name);
    assert_eq!(open["safe"], false, "{open}");
    let users = obstacles(&open, "process");
    // losetup of another test opens each device for a moment.
    let is_machine = |user: &&Value| user["pid"] == machine.0.id();
    assert_eq!(users.into_iter().filter(is_machine).count(), 1, "{open}");
    drop(machine);

    // Whether there is another one depends on what this machine lets its tests see.
    wait_for_answer_without(name, "process");
}

/// Waits until a drive has no obstacle of that kind, and no other one that is known: losetup of another
/// test opens each device for a moment.
fn wait_for_answer_without(name: &str, kind: &str) {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    loop {
        let free = printed_answer(name);
        if obstacles(&free, kind).is_empty() && free["safe"] != false {
            return;
        }
        assert!(Instant::now() < deadline, "{free}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn drive_whose_file_system_is_unmounted_lazily_is_not_safe_to_unplug() {
    let _turn = MOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(file_system) = LoopFileSystem::ext4(64 * MIB) else {
        return;
    };
    let name = file_system.device_name();
    let kept = std::fs::File::create(file_system.mount_point().join("kept")).unwrap();
    let unmounted = Command::new("umount")
        .arg("--lazy")
        .arg(file_system.mount_point())
        .status();
    assert!(unmounted.unwrap().success());
    let used = printed_answer(name);
    assert_eq!(used["safe"], false, "{used}");
    assert_eq!(obstacles(&used, "exclusive")[0]["device"], name, "{used}");
    drop(kept);
    wait_for_answer_without(name, "exclusive");
}
