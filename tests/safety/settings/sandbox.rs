//! A `/run` and a HOME of a test's own, and the program started on them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

pub use crate::process::wait_until;

pub struct SettingsSandbox {
    directory: tempfile::TempDir,
}

impl SettingsSandbox {
    /// `None`, and why, where there is neither root nor a mount namespace.
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip(Requirement::Root, "a setting is changed by root only");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        for name in ["run", "home"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let sandbox = Self { directory };
        let probe = sandbox.shell(&["true"]).output().unwrap();
        if !probe.status.success() {
            skip(Requirement::Namespaces, stderr(&probe));
            return None;
        }
        Some(sandbox)
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where root's records are.
    pub fn records(&self) -> PathBuf {
        self.path().join("run/diskscope/settings")
    }

    /// The same, made.
    pub fn create_records(&self) -> PathBuf {
        for directory in [self.path().join("run/diskscope"), self.records()] {
            fs::create_dir(&directory).unwrap();
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        }
        self.records()
    }

    /// A command on the `/run` of the test; its process is the one that is started.
    fn shell(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command
            .args([
                "--mount",
                "sh",
                "-c",
                "mount --bind \"$0\" /run && exec \"$@\"",
            ])
            .arg(self.path().join("run"))
            .args(words)
            .current_dir(self.path())
            .env("HOME", self.path().join("home"))
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn diskscope(&self, words: &[&str]) -> Command {
        self.shell(&[&[env!("CARGO_BIN_EXE_diskscope")], words].concat())
    }

    /// A benchmark that changes the device's read-ahead.
    pub fn read_ahead(&self, drive: &LoopDevice) -> Command {
        self.diskscope(&["run", "read-ahead", drive.path(), "--engine", "pread"])
    }

    /// Any start, which puts back what a kill left.
    pub fn start_and_restore(&self) -> Output {
        let output = self.diskscope(&["tests", "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        output
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A loop device whose read-ahead is 96 KiB, a value that no benchmark sets.
pub fn loop_device() -> Option<LoopDevice> {
    let drive = LoopDevice::with(&vec![7; 16 << 20])?;
    drive
        .set("read_ahead_kb", ORIGINAL_READ_AHEAD.trim())
        .then_some(drive)
}

/// What the read-ahead is before anything is changed.
pub const ORIGINAL_READ_AHEAD: &str = "96\n";

/// The device's name, as `loop3`.
pub fn device_name(drive: &LoopDevice) -> &str {
    drive.path().trim_start_matches("/dev/")
}
