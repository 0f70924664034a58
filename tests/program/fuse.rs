//! The simulated hard disk as a real file, served through FUSE in real time, and measured by the
//! engine that real drives get. Says in one line why where FUSE is not to be had.

use std::ffi::OsStr;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use diskscope::engine::simulated::SimRequest;
use diskscope::engine::simulated::hdd::{HardDisk, HardDiskSettings};
use diskscope::engine::{self, EngineChoice};
use diskscope::roots::SysPaths;
use diskscope::session::document::MetricId;
use diskscope::session::store;
use fuser::{
    Config, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
};

use crate::file_attributes::file_attributes;
use crate::requirement::{Requirement, skip};
use crate::support::run_on;

const DISK_INODE: INodeNo = INodeNo(2);
const ATTRIBUTE_TTL: Duration = Duration::from_secs(3600);

/// One file, `disk`, whose reads take as long as the drive's.
struct SpinningFileSystem {
    drive: Mutex<HardDisk>,
    started_at: Instant,
    /// Reads from this address on fail.
    fails_from: u64,
}

impl SpinningFileSystem {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let size = self.drive.lock().expect("no reader panicked").size();
        file_attributes(inode, size, (0o555, 0o444), 0)
    }

    /// Waits for that moment: asleep at first, awake for the last tenth of a millisecond.
    fn wait_until(&self, nanoseconds: f64) {
        let moment = self.started_at + Duration::from_nanos(nanoseconds as u64);
        let early = moment.saturating_duration_since(Instant::now());
        std::thread::sleep(early.saturating_sub(Duration::from_micros(100)));
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
    }
}

impl Filesystem for SpinningFileSystem {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name.to_str() {
            Some("disk") => {
                reply.entry(&ATTRIBUTE_TTL, &self.attributes(DISK_INODE), Generation(0))
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&ATTRIBUTE_TTL, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if offset + u64::from(size) > self.fails_from {
            return reply.error(Errno::EIO);
        }
        let now = self.started_at.elapsed().as_nanos() as f64;
        let request = SimRequest {
            address: offset,
            bytes: size,
            is_write: false,
        };
        let mut drive = self.drive.lock().expect("no reader panicked");
        let done = drive.serve(&request, now);
        self.wait_until(done);
        reply.data(&vec![0; size as usize]);
    }
}

/// A simulated drive as the file `disk` of a mounted file system.
struct MountedDrive {
    mount: tempfile::TempDir,
    /// There until it is unmounted.
    session: Option<fuser::BackgroundSession>,
}

impl Drop for MountedDrive {
    fn drop(&mut self) {
        // Lazily, for the file may be held open a moment longer; root needs no helper for it.
        let by = |program: &str, option: &str| {
            let status = Command::new(program)
                .arg(option)
                .arg(self.mount.path())
                .status();
            status.is_ok_and(|status| status.success())
        };
        assert!(
            by("umount", "-l") || by("fusermount3", "-uz"),
            "it stays mounted"
        );
        drop(self.session.take());
    }
}

impl MountedDrive {
    /// `None`, and why, where FUSE is not to be had.
    fn new(settings: HardDiskSettings) -> Option<Self> {
        Self::failing_from(settings, u64::MAX)
    }

    /// A drive whose reads from this address on fail.
    fn failing_from(settings: HardDiskSettings, fails_from: u64) -> Option<Self> {
        if rustix::fs::access("/dev/fuse", rustix::fs::Access::WRITE_OK).is_err() {
            skip(Requirement::Fuse, "/dev/fuse cannot be opened here");
            return None;
        }
        let mount = tempfile::tempdir().unwrap();
        let spindle = SpinningFileSystem {
            drive: Mutex::new(HardDisk::new(settings)),
            started_at: Instant::now(),
            fails_from,
        };
        let mut options = Config::default();
        options.mount_options = vec![MountOption::RO, MountOption::FSName("spindle".to_owned())];
        match fuser::spawn_mount(spindle, mount.path(), &options) {
            Ok(session) => Some(Self {
                mount,
                session: Some(session),
            }),
            Err(error) => {
                let reason = format!("no FUSE file system can be mounted here: {error}");
                skip(Requirement::Fuse, reason);
                None
            }
        }
    }

    fn disk_path(&self) -> String {
        self.mount.path().join("disk").to_str().unwrap().to_owned()
    }
}

/// A sequential read of a drive whose second half fails: what it prints, and its exit status.
fn read_half_broken_drive(options: &[&str]) -> Option<(serde_json::Value, Option<i32>)> {
    let size = HardDisk::new(HardDiskSettings::default()).size();
    let mounted = MountedDrive::failing_from(HardDiskSettings::default(), size / 2)?;
    let state = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["run", "sequential-read", &mounted.disk_path()])
        .args(["--block-size", "64KiB", "--zone-bytes", "64KiB"])
        .args(["--requests", "100", "--json", "-"])
        .args(options)
        .env("XDG_STATE_HOME", state.path())
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    Some((document["runs"][0].clone(), output.status.code()))
}

#[test]
fn read_error_fails_the_run_and_keeps_partial_result() {
    let Some((run, status)) = read_half_broken_drive(&[]) else {
        return;
    };
    assert_eq!(status, Some(1));
    assert_eq!(run["state"], "failed");
    let message = run["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("read of 65536 bytes at byte") && message.contains("disk"),
        "{message}"
    );
    assert!(
        run["error"]["advice"].as_str().unwrap().contains("dmesg"),
        "{run}"
    );
    let zones = run["series"][0]["points"].as_array().unwrap();
    assert!(
        // The zones are of equal length, so that the 51st may begin just before the middle.
        (40..=51).contains(&zones.len()),
        "the zones before it are kept: {}",
        zones.len()
    );
}

#[test]
fn read_errors_are_counted_with_continue_on_error() {
    let Some((run, status)) = read_half_broken_drive(&["--continue-on-error"]) else {
        return;
    };
    assert_eq!((status, run["state"].as_str()), (Some(0), Some("finished")));
    let checks = run["verdicts"].as_array().unwrap();
    let errors = checks.iter().find(|check| check["code"] == "io-errors");
    let errors = &errors.unwrap_or_else(|| panic!("{checks:?}"))["facts"];
    let count = errors["count"].as_u64().unwrap();
    assert!((48..=51).contains(&count), "{errors}");
    let first = errors["first"].as_array().unwrap();
    assert_eq!(first.len(), 16, "{errors}");
    assert_eq!(first[0]["errno"], libc::EIO, "{errors}");
    let half = HardDisk::new(HardDiskSettings::default()).size() / 2;
    let offset = first[0]["offset"].as_u64().unwrap();
    assert!(offset + 65_536 > half, "{errors}");
}

impl MountedDrive {
    /// The drive is gone: every request fails from now on, those in flight too (umount(2),
    /// MNT_FORCE). It stays mounted, for the file is open. False, and why, where that is not to be
    /// had.
    fn abort_connection(&self) -> bool {
        if !rustix::process::geteuid().is_root() {
            skip(Requirement::Root, "only root can take a mounted drive away");
            return false;
        }
        let forced = Command::new("umount")
            .arg("-f")
            .arg(self.mount.path())
            .output();
        assert!(!forced.unwrap().status.success(), "nobody had it open");
        true
    }
}

#[test]
fn removed_drive_ends_the_run_and_keeps_partial_result() {
    let Some(mounted) = MountedDrive::new(HardDiskSettings::default()) else {
        return;
    };
    for engine in ["uring", "pread"] {
        let mounted = match engine {
            "uring" => &mounted,
            _ => &MountedDrive::new(HardDiskSettings::default()).unwrap(),
        };
        let state = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_diskscope"))
            .args(["run", "random-read", &mounted.disk_path(), "--json", "-"])
            .args(["--duration", "60s", "--depth", "4", "--engine", engine])
            .env("XDG_STATE_HOME", state.path())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let sessions = state.path().join("diskscope/sessions");
        let measured = || {
            let saved = store::list_sessions(&sessions).unwrap();
            let run = saved
                .first()
                .and_then(|path| store::load_session(path).ok());
            run.is_some_and(|session| {
                let run = session.runs.first();
                run.is_some_and(|run| run.findings.metric(&MetricId::IOPS).is_some())
            })
        };
        while !measured() {
            assert!(child.try_wait().unwrap().is_none(), "it ended too early");
            std::thread::sleep(Duration::from_millis(20));
        }
        if !mounted.abort_connection() {
            child.kill().unwrap();
            child.wait().unwrap();
            return;
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{engine}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let run = &document["runs"][0];
        assert_eq!(run["state"], "failed", "{engine}");
        let advice = run["error"]["advice"].as_str().unwrap();
        assert!(advice.contains("the drive is gone"), "{engine}: {run}");
        let metrics = run["figures"].as_array().unwrap();
        assert!(metrics.iter().any(|metric| metric["name"] == "iops"));
    }
}

#[test]
fn rotation_speed_of_fuse_file_is_found() {
    let settings = HardDiskSettings {
        rpm: 15_000.0,
        full_stroke: 8e6,
        ..HardDiskSettings::default()
    };
    let Some(mounted) = MountedDrive::new(settings) else {
        return;
    };
    let opened = engine::open_target(
        &SysPaths::default(),
        &mounted.disk_path(),
        EngineChoice::Auto,
        None,
    );
    let opened = opened.unwrap();
    let findings = run_on(
        "rotation",
        &opened.target,
        opened.engine(),
        &[("duration", "5s")],
    );
    drop(opened);
    let speed = findings
        .metric(&MetricId::ROTATION_SPEED)
        .map(|metric| metric.value);
    println!("{speed:?} {:?} {:?}", findings.metrics, findings.verdicts);
    // A machine with much else to do delays answers, which is told: then there is no number to
    // hold against the truth.
    let doubtful = findings
        .verdicts
        .iter()
        .any(|verdict| verdict.code == "rotation-doubtful");
    match speed {
        Some(speed) if !doubtful => assert!((speed / 15_000.0 - 1.0).abs() < 2e-4, "{speed}"),
        _ => println!("not certain: {:?}", findings.verdicts),
    }
}
