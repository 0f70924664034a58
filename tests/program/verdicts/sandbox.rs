//! Where the program is called, and on what.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::loop_device::LoopDevice;

/// Bytes of the file behind a loop device.
pub const DISK_BYTES: u64 = 64 << 20;

/// A run's document.
pub struct Run(Value);

impl Run {
    /// The codes of its verdicts.
    pub fn check_codes(&self) -> Vec<&str> {
        let verdicts = self.0["verdicts"].as_array().unwrap();
        verdicts
            .iter()
            .map(|it| it["code"].as_str().unwrap())
            .collect()
    }

    /// The evidence of a verdict that must be there, with these words in it.
    pub fn assert_check(&self, code: &str, words: &[&str]) {
        let verdicts = self.0["verdicts"].as_array().unwrap();
        let found = verdicts.iter().find(|verdict| verdict["code"] == code);
        let found =
            found.unwrap_or_else(|| panic!("no {code} in {verdicts:#?}\n{}", self.evidence_text()));
        let evidence = found["evidence"].as_str().unwrap();
        for word in words {
            assert!(
                evidence.contains(word),
                "no {word:?} in {evidence:?}\n{}",
                self.evidence_text()
            );
        }
    }

    /// That there are no verdicts but these.
    pub fn assert_only_checks(&self, allowed: &[&str]) {
        let verdicts = self.0["verdicts"].as_array().unwrap();
        let strange: Vec<&Value> = verdicts
            .iter()
            .filter(|verdict| !allowed.contains(&verdict["code"].as_str().unwrap()))
            .collect();
        assert!(strange.is_empty(), "{strange:#?}\n{}", self.evidence_text());
    }

    /// A part of the document.
    pub fn value_at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
    }

    fn evidence_text(&self) -> String {
        let kernel = &self.0["kernel"];
        format!("evidence: {:#}\nkernel: {kernel:#}", self.0["evidence"])
    }
}

/// A directory of its own, gone afterwards.
pub struct VerdictSandbox {
    directory: TempDir,
}

impl VerdictSandbox {
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
        }
    }

    pub fn file_path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file of random bytes.
    pub fn create_random_file(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.file_path(name);
        let mut random = Vec::new();
        let source = std::fs::File::open("/dev/urandom").unwrap();
        source.take(bytes).read_to_end(&mut random).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        std::io::Write::write_all(&mut &file, &random).unwrap();
        file.sync_all().unwrap();
        path
    }

    /// A loop device past the page cache, on a file of random bytes.
    pub fn attach_loop_device(&self) -> Option<LoopDevice> {
        LoopDevice::attach(
            &self.create_random_file("disk", DISK_BYTES),
            &["--direct-io=on"],
        )
    }

    /// `diskscope run` with these words; the run that it prints, which must have come to its end.
    pub fn run_benchmark(&self, words: &[&str]) -> Run {
        self.run_command(Command::new(env!("CARGO_BIN_EXE_diskscope")), words)
    }

    /// The same before everybody else, where that is permitted.
    pub fn run_benchmark_high_priority(&self, words: &[&str]) -> Run {
        let mut command = Command::new("nice");
        command.args(["-n", "-19", env!("CARGO_BIN_EXE_diskscope")]);
        self.run_command(command, words)
    }

    /// The same while something is done to it.
    pub fn run_benchmark_while(&self, words: &[&str], meanwhile: impl FnOnce(&Child)) -> Run {
        let command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
        self.run_command_while(command, words, meanwhile)
    }

    fn run_command(&self, command: Command, words: &[&str]) -> Run {
        self.run_command_while(command, words, |_| {})
    }

    fn run_command_while(
        &self,
        mut command: Command,
        words: &[&str],
        meanwhile: impl FnOnce(&Child),
    ) -> Run {
        let child = command
            .arg("run")
            .args(words)
            .args(["--json", "-"])
            .env("XDG_STATE_HOME", self.file_path("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        meanwhile(&child);
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {message}");
        let mut session: Value = serde_json::from_slice(&output.stdout).unwrap();
        Run(session["runs"][0].take())
    }
}
