//! A directory of the test's own, and the program run in it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::loop_device::LoopDevice;
use crate::process::wait_until;
use crate::requirement::{Requirement, is_root, skip};

/// A run that takes no time: 100 requests to a simulated drive.
const SHORT_RUN: &str =
    "run random-read sim:constant,latency=100us,size=1GB --ramp 0s --requests 100";

/// What the scripts have: `user COMMAND...` is run by an ordinary user, and `home_is DIRECTORY` gives root that home in the
/// password file.
const FUNCTIONS: &str = r#"
    user() { setpriv --reuid 1000 --regid 1000 --clear-groups "$@"; }
    home_is() { echo "root:x:0:0::$1:/bin/sh" > "$D/passwd"; mount --bind "$D/passwd" /etc/passwd; }
"#;

/// Mounts a /dev of the script's own: a program that goes wrong replaces no node of the machine.
/// Nodes that a test needs are made there; `$LOOP` is the minor number of a loop device.
const PRIVATE_DEV: &str = r#"
    mount -t tmpfs -o mode=755 none /dev
    [ "$(stat -f -c %T /dev)" = tmpfs ] && [ -z "$(ls -A /dev)" ]
    mknod -m 666 /dev/null c 1 3
    mknod -m 666 /dev/full c 1 7
    mknod -m 600 /dev/random c 1 8
    ln -s /proc/self/fd /dev/fd
    ln -s fd/1 /dev/stdout
    if [ -n "${LOOP:-}" ]; then mknod -m 600 /dev/loop$LOOP b 7 $LOOP; fi
"#;

/// What a program printed, and its exit status: 128 and the number of a signal that ended it.
#[derive(Debug)]
pub struct Answer {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    pub fn new(output: Output) -> Self {
        let signal = output.status.signal().map(|signal| 128 + signal);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Self {
            status: output.status.code().or(signal).unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Asserts the exit status, and that the messages contain a text.
    #[track_caller]
    pub fn assert(&self, status: i32, why: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.stderr.contains(why), "{why}: {self:?}");
    }
}

pub struct OutputSandbox {
    directory: tempfile::TempDir,
}

impl OutputSandbox {
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
        }
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap_or_default()
    }

    /// Writes a file of the test.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.join(name), content).unwrap();
        self.join(name)
    }

    /// The program with these words, separated by blanks.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
        command.args(words.split(' '));
        self.with_environment(command)
    }

    /// Runs it.
    pub fn run(&self, words: &str) -> Answer {
        Answer::new(self.command(words).output().unwrap())
    }

    /// Runs the short benchmark with its document to `json`.
    pub fn run_to(&self, json: &str) -> Answer {
        let mut command = self.command(SHORT_RUN);
        Answer::new(command.args(["--json", json]).output().unwrap())
    }

    /// Runs a shell script with the program in `$P`, the words of the short benchmark in `$RUN`, and this directory in
    /// `$D`; bash, for `>(command)`.
    pub fn script(&self, script: &str) -> Answer {
        let mut command = Command::new("bash");
        command.args(["-uc", &format!("{FUNCTIONS}{script}")]);
        Answer::new(self.with_environment(command).output().unwrap())
    }

    /// The same in a mount namespace of its own, as root, until a command fails; `None`, and why, where there is none.
    pub fn script_with_mounts(&self, script: &str) -> Option<Answer> {
        if !is_root() {
            return None;
        }
        let unshare = |words: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private"]);
            self.with_environment(command).args(words).output().unwrap()
        };
        if !unshare(&["true"]).status.success() {
            skip(Requirement::Namespaces, "unshare --mount fails");
            return None;
        }
        let script = format!("{FUNCTIONS}{script}");
        Some(Answer::new(unshare(&["bash", "-euc", &script])))
    }

    /// The same with a /dev of its own, and in it the node of a loop device.
    pub fn script_with_dev(&self, disk: Option<&LoopDevice>, script: &str) -> Option<Answer> {
        let number = disk.map_or("", |disk| disk.path().trim_start_matches("/dev/loop"));
        self.script_with_mounts(&format!("LOOP={number}\n{PRIVATE_DEV}\n{script}"))
    }

    fn with_environment(&self, mut command: Command) -> Command {
        command
            .current_dir(self.directory.path())
            .env("P", env!("CARGO_BIN_EXE_diskscope"))
            .env("D", self.directory.path())
            .env("RUN", SHORT_RUN)
            .env("XDG_STATE_HOME", self.join("state"))
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A saved session by that name.
    pub fn write_session(&self, name: &str) -> PathBuf {
        self.run_to(name).assert(0, "");
        self.join(name)
    }

    /// How many sessions the program kept.
    pub fn saved_session_count(&self) -> usize {
        fs::read_dir(self.join("state/diskscope/sessions")).map_or(0, Iterator::count)
    }

    /// The journal of a run that was started just now.
    pub fn wait_for_journal(&self) -> PathBuf {
        let mut journal = None;
        wait_until("there is a journal", || {
            let entries = fs::read_dir(self.join("state/diskscope/sessions"));
            let mut paths = entries.into_iter().flatten().map(|it| it.unwrap().path());
            journal = paths.find(|path| path.extension() == Some("journal".as_ref()));
            journal.is_some()
        });
        journal.unwrap()
    }

    /// Names in the directory, sorted.
    pub fn file_names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Asserts that a run was refused before anything was measured: status 2, nothing on stdout, no session.
    #[track_caller]
    pub fn assert_refused(&self, answer: &Answer, why: &str) {
        answer.assert(2, why);
        assert_eq!(answer.stdout, "");
        assert_eq!(self.saved_session_count(), 0, "{why}");
    }
}

#[track_caller]
pub fn assert_document(text: &str) {
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(document["schema"], "diskscope-session");
}
