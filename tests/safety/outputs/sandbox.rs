//! A directory of the test's own, and the program run in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

pub use crate::requirement::is_root;

/// A run that takes no time: 100 requests to a simulated drive.
pub const SHORT_RUN: [&str; 5] = [
    "run",
    "random-read",
    "sim:constant,latency=100us,size=1GB",
    "--requests",
    "100",
];

/// A run that a test ends, on a scratch file in the directory `scratch`, with the output `out.json`.
pub const LONG_RUN: [&str; 9] = [
    "run",
    "random-read",
    "scratch",
    "--scratch-size",
    "16MiB",
    "--duration",
    "60s",
    "--json",
    "out.json",
];

/// How long anything may take on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An ordinary user.
pub const ORDINARY_USER: u32 = 1000;

/// Mounts a /dev of the script's own: a program that goes wrong replaces no node of the machine.
/// Nodes that a test needs are made there; `$LOOP` is `major minor` of a loop device.
const PRIVATE_DEV_SCRIPT: &str = r#"
    set -e
    mount -t tmpfs -o mode=755 none /dev
    [ "$(stat -f -c %T /dev)" = tmpfs ] && [ -z "$(ls -A /dev)" ]
    mknod -m 666 /dev/null c 1 3
    mknod -m 666 /dev/zero c 1 5
    mknod -m 666 /dev/full c 1 7
    mknod -m 600 /dev/random c 1 8
    ln -s /proc/self/fd /dev/fd
    ln -s fd/0 /dev/stdin
    ln -s fd/1 /dev/stdout
    if [ -n "${LOOP:-}" ]; then mknod -m 600 /dev/loop$LOOP b 7 $LOOP; fi
    set +e
"#;

pub struct OutputSandbox {
    directory: tempfile::TempDir,
}

impl OutputSandbox {
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
        command.args(words);
        self.apply_environment(&mut command);
        command
    }

    /// A shell script with the program in `$P` and this directory in `$D`; bash, for `>(command)`.
    pub fn script(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        command.args(["-uc", script]);
        self.apply_environment(&mut command);
        command
    }

    /// The same in a mount namespace of its own, as root; `None`, and why, where there is none.
    pub fn script_in_mount_namespace(&self, script: &str) -> Option<Output> {
        if !is_root() {
            return None;
        }
        let may = Command::new("unshare").args(["--mount", "true"]).output();
        if !may.is_ok_and(|output| output.status.success()) {
            skip(Requirement::Namespaces, "unshare --mount fails");
            return None;
        }
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "--propagation",
            "private",
            "bash",
            "-euc",
            script,
        ]);
        self.apply_environment(&mut command);
        Some(command.output().unwrap())
    }

    /// The same with a /dev of its own, and in it the node of a loop device.
    pub fn with_private_dev(&self, disk: Option<&LoopDevice>, script: &str) -> Option<Output> {
        let number = disk.map_or("", |disk| disk.path().trim_start_matches("/dev/loop"));
        self.script_in_mount_namespace(&format!("LOOP={number}\n{PRIVATE_DEV_SCRIPT}\n{script}"))
    }

    fn apply_environment(&self, command: &mut Command) {
        command
            .current_dir(self.path())
            .env("P", env!("CARGO_BIN_EXE_diskscope"))
            .env("D", self.path())
            .env("RUN", SHORT_RUN.join(" "))
            .env("XDG_STATE_HOME", self.join("state"))
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// Runs the short benchmark with its document to `json`.
    pub fn run_to(&self, json: &str) -> Output {
        let words = [&SHORT_RUN[..], &["--json", json]].concat();
        self.command(&words).output().unwrap()
    }

    /// A saved session by the name `name`.
    pub fn write_session(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        let output = self.run_to(path.to_str().unwrap());
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        path
    }

    /// Names of the sessions that the program kept.
    pub fn saved_session_count(&self) -> usize {
        fs::read_dir(self.join("state/diskscope/sessions")).map_or(0, Iterator::count)
    }

    /// The journal of a run that was started just now.
    pub fn wait_for_journal(&self) -> PathBuf {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let entries = fs::read_dir(self.join("state/diskscope/sessions"));
            let mut paths = entries
                .into_iter()
                .flatten()
                .map(|entry| entry.unwrap().path());
            if let Some(path) = paths.find(|path| path.extension() == Some("journal".as_ref())) {
                return path;
            }
            assert!(Instant::now() < deadline, "no journal");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Names in the directory, sorted.
    pub fn file_names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.join(directory)).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A directory that everybody can write, as /tmp is.
    pub fn sticky_directory(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).unwrap();
        path
    }
}

/// Refused before anything was measured: status 2, nothing on stdout, no session.
#[track_caller]
pub fn assert_refused(sandbox: &OutputSandbox, output: &Output, why: &str) {
    let message = stderr(output);
    assert_eq!(exit_code(output), 2, "{message}");
    assert!(message.contains(why), "{message}");
    assert_eq!(stdout(output), "");
    assert_eq!(sandbox.saved_session_count(), 0);
}

#[track_caller]
pub fn assert_document(text: &str) {
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(document["schema"], "diskscope-session");
}

pub fn exit_code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
