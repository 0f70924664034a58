//! A directory with images and mounts, all undone at the end, and the program's answer to the wish
//! to overwrite something.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use tempfile::TempDir;

use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

pub use crate::process::wait_until;
pub use crate::requirement::is_root;

/// Bytes of an image.
pub const IMAGE_BYTES: u64 = 32 << 20;

/// What a program printed; `None` when it failed.
pub fn command_output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// Held by every test of the guard, and alone by one that would disturb them.
static MACHINE_LOCK: RwLock<()> = RwLock::new(());

pub struct GuardSandbox {
    pub directory: TempDir,
    mounts: Vec<PathBuf>,
    _shared: RwLockReadGuard<'static, ()>,
}

impl GuardSandbox {
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
            mounts: Vec::new(),
            _shared: MACHINE_LOCK.read().unwrap_or_else(PoisonError::into_inner),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn subdirectory(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// A file of zeroes.
    pub fn create_image(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let file = File::create(&path).unwrap();
        file.set_len(IMAGE_BYTES).unwrap();
        path
    }

    /// Mounts something until the end; false, said so, where that is not possible.
    pub fn mount(&mut self, arguments: &[&str], requirement: Requirement) -> bool {
        let point = PathBuf::from(arguments.last().unwrap());
        fs::create_dir_all(&point).unwrap();
        let mounted = command_output("mount", arguments).is_some();
        if mounted {
            self.mounts.push(point);
        } else {
            skip(requirement, format!("mount {arguments:?} failed"));
        }
        mounted
    }

    /// A loop device on a file, with ext4 mounted from it.
    pub fn mounted_loop_device(&mut self, file: &Path, options: &[&str]) -> Option<LoopDevice> {
        let device = LoopDevice::attach(file, options)?;
        if command_output("mkfs.ext4", &["-q", device.path()]).is_none() {
            skip(Requirement::Ext4, "no mkfs.ext4");
            return None;
        }
        let point = self.path(&format!("mounted-{}", self.mounts.len()));
        let arguments = [device.path(), point.to_str().unwrap()];
        self.mount(&arguments, Requirement::Ext4).then_some(device)
    }
}

impl Drop for GuardSandbox {
    fn drop(&mut self) {
        for point in self.mounts.iter().rev() {
            command_output("umount", &[point.to_str().unwrap()]);
        }
    }
}

/// The command that overwrites a target.
pub fn overwrite_command(target: &OsStr, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    overwrite_arguments(&mut command, target, more);
    command
}

/// The words of that command behind the program's name.
pub fn overwrite_arguments(command: &mut Command, target: &OsStr, more: &[&str]) {
    command.arg("run").arg("random-write").arg(target);
    command.arg("--overwrite").arg(target);
    command.args(["--ramp", "0s", "--cache", "keep", "--json", "-"]);
    command.args(more);
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::null());
}

/// Overwrites a target with a few requests.
pub fn run_overwrite(target: impl AsRef<OsStr>) -> Output {
    let few = ["--requests", "20"];
    overwrite_command(target.as_ref(), &few).output().unwrap()
}

/// Asserts that a target is refused for that reason.
#[track_caller]
pub fn assert_refused(output: &Output, reason: &str) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains(reason), "{message}");
    assert!(output.stdout.is_empty(), "nothing was measured");
}

/// Asserts that a target was overwritten.
#[track_caller]
pub fn assert_written(output: &Output) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
}

/// Content that must not change.
pub fn test_content(path: &Path) -> Vec<u8> {
    let file = File::open(path).unwrap();
    let mut bytes = vec![0; IMAGE_BYTES as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// A program in the background, killed at the end.
pub struct Background(pub std::process::Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a script of the shell in a mount namespace of its own, with these words as `$0` and so on, and
/// waits until the file `ready` exists. `missing`: what there is not when the script ends before that.
pub fn start_in_mount_namespace(
    script: &str,
    words: &[&OsStr],
    ready: &Path,
    missing: &'static str,
) -> Option<Background> {
    let child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script])
        .args(words)
        .stdin(Stdio::null())
        .spawn();
    let Ok(child) = child else {
        skip(Requirement::Namespaces, "no unshare");
        return None;
    };
    let mut child = Background(child);
    wait_until("the script is ready", || {
        ready.exists() || child.0.try_wait().unwrap().is_some()
    });
    if !ready.exists() {
        skip(Requirement::Namespaces, missing);
        return None;
    }
    Some(child)
}
