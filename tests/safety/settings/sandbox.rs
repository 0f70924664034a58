//! A `/run` and a HOME of a test's own, and the program started on them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::file_system::LoopFileSystem;
use crate::held_opens::HeldOpens;
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, is_root, skip};

pub struct SettingsSandbox {
    directory: tempfile::TempDir,
}

impl SettingsSandbox {
    /// `None`, and why, where there is neither root nor a mount namespace.
    pub fn new() -> Option<Self> {
        if !is_root() {
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

    /// Makes the directory of root's records.
    pub fn create_records(&self) -> PathBuf {
        let records = self.path().join("run/diskscope/settings");
        for directory in [self.path().join("run/diskscope"), records.clone()] {
            fs::create_dir(&directory).unwrap();
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        }
        records
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

    /// A benchmark that changes the read-ahead of the device of its target.
    pub fn read_ahead(&self, target: &ReadAheadTarget) -> Command {
        let path = target.path().to_str().unwrap();
        self.diskscope(&["run", "read-ahead", path, "--engine", "pread"])
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

/// A file on a loop device whose read-ahead is that.
pub struct ReadAheadTarget {
    file_system: LoopFileSystem,
    file: PathBuf,
}

impl ReadAheadTarget {
    pub fn new() -> Option<Self> {
        let file_system = LoopFileSystem::ext4(FILE_SYSTEM_BYTES)?;
        let is_set = file_system
            .device()
            .set("read_ahead_kb", ORIGINAL_READ_AHEAD.trim());
        let file = file_system.file_path("file");
        fs::write(&file, vec![7; TARGET_BYTES]).unwrap();
        fs::File::open(&file).unwrap().sync_all().unwrap();
        is_set.then_some(Self { file_system, file })
    }

    pub fn path(&self) -> &Path {
        &self.file
    }

    pub fn drive(&self) -> &LoopDevice {
        self.file_system.device()
    }

    /// The setting now.
    pub fn read_ahead(&self) -> String {
        self.drive().queue("read_ahead_kb")
    }

    /// The opens of the file while the setting is changed: a benchmark changes it before it opens its target,
    /// and restores it afterwards.
    pub fn hold_opens(&self) -> Option<HeldOpens> {
        self.hold_opens_when(|setting| setting != ORIGINAL_READ_AHEAD)
    }

    /// The opens of the file when the setting meets a condition.
    pub fn hold_opens_when(
        &self,
        mut condition: impl FnMut(String) -> bool + Send + 'static,
    ) -> Option<HeldOpens> {
        let name = self.drive().name();
        let setting = format!("/sys/block/{name}/queue/read_ahead_kb");
        HeldOpens::of(self.path(), move || {
            condition(fs::read_to_string(&setting).unwrap())
        })
    }
}

/// For a file system with a journal.
const FILE_SYSTEM_BYTES: u64 = 128 << 20;
const TARGET_BYTES: usize = 64 << 20;

/// What the read-ahead is before anything is changed.
pub const ORIGINAL_READ_AHEAD: &str = "96\n";
