//! Where the program is called, and on what.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::loop_device::LoopDevice;

/// Bytes of the file behind a loop device.
pub const DISK: u64 = 64 << 20;

/// A run's document.
pub struct Run(Value);

impl Run {
    /// The codes of its verdicts.
    pub fn codes(&self) -> Vec<&str> {
        let verdicts = self.0["verdicts"].as_array().unwrap();
        verdicts
            .iter()
            .map(|it| it["code"].as_str().unwrap())
            .collect()
    }

    /// The evidence of a verdict that must be there, with these words in it.
    pub fn assert_found(&self, code: &str, words: &[&str]) {
        let verdicts = self.0["verdicts"].as_array().unwrap();
        let found = verdicts.iter().find(|verdict| verdict["code"] == code);
        let found = found.unwrap_or_else(|| panic!("no {code} in {verdicts:#?}\n{}", self.seen()));
        let evidence = found["evidence"].as_str().unwrap();
        for word in words {
            assert!(
                evidence.contains(word),
                "no {word:?} in {evidence:?}\n{}",
                self.seen()
            );
        }
    }

    /// That there are no verdicts but these.
    pub fn assert_only(&self, allowed: &[&str]) {
        let verdicts = self.0["verdicts"].as_array().unwrap();
        let strange: Vec<&Value> = verdicts
            .iter()
            .filter(|verdict| !allowed.contains(&verdict["code"].as_str().unwrap()))
            .collect();
        assert!(strange.is_empty(), "{strange:#?}\n{}", self.seen());
    }

    /// A part of the document.
    pub fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
    }

    fn seen(&self) -> String {
        let kernel = &self.0["kernel"];
        format!("evidence: {:#}\nkernel: {kernel:#}", self.0["evidence"])
    }
}

/// A directory of its own, gone afterwards.
pub struct Place {
    directory: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file of random bytes.
    pub fn file(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.path(name);
        let mut random = Vec::new();
        let source = std::fs::File::open("/dev/urandom").unwrap();
        source.take(bytes).read_to_end(&mut random).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        std::io::Write::write_all(&mut &file, &random).unwrap();
        file.sync_all().unwrap();
        path
    }

    /// A loop device past the page cache, on a file of random bytes.
    pub fn disk(&self) -> Option<LoopDevice> {
        LoopDevice::attach(&self.file("disk", DISK), &["--direct-io=on"])
    }

    /// `diskscope run` with these words; the run that it prints, which must have come to its end.
    pub fn run(&self, words: &[&str]) -> Run {
        self.run_by(Command::new(env!("CARGO_BIN_EXE_diskscope")), words)
    }

    /// The same before everybody else, where that is permitted.
    pub fn run_first(&self, words: &[&str]) -> Run {
        let mut command = Command::new("nice");
        command.args(["-n", "-19", env!("CARGO_BIN_EXE_diskscope")]);
        self.run_by(command, words)
    }

    /// The same while something is done to it.
    pub fn run_with(&self, words: &[&str], meanwhile: impl FnOnce(&Child)) -> Run {
        let command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
        self.run_while(command, words, meanwhile)
    }

    fn run_by(&self, command: Command, words: &[&str]) -> Run {
        self.run_while(command, words, |_| {})
    }

    fn run_while(
        &self,
        mut command: Command,
        words: &[&str],
        meanwhile: impl FnOnce(&Child),
    ) -> Run {
        let child = command
            .arg("run")
            .args(words)
            .args(["--json", "-"])
            .env("XDG_STATE_HOME", self.path("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        meanwhile(&child);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}");
        let mut session: Value = serde_json::from_slice(&output.stdout).unwrap();
        Run(session["runs"][0].take())
    }
}
