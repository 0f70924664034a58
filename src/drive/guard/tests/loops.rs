//! Files, loop devices on them, and their cleanup.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::requirement::{Requirement, skip};

/// Runs a program; returns its output if it succeeded.
pub fn run_program(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A file and a loop device attached to it, detached on drop.
pub struct LoopFixture {
    /// Path of the device node.
    pub device: String,
    /// Path of the backing file.
    pub file: PathBuf,
    directory: tempfile::TempDir,
}

impl LoopFixture {
    /// `None`, with the reason printed, if loop devices are not available.
    pub fn new(options: &[&str]) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("image");
        fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(file.to_str().unwrap());
        let device = run_program("losetup", &arguments);
        if device.is_none() {
            skip(
                Requirement::Loop,
                "no loop device can be attached here (root is needed)",
            );
        }
        Some(Self {
            device: device?,
            file,
            directory,
        })
    }

    /// A path in the directory of this fixture.
    pub fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }
}

impl Drop for LoopFixture {
    fn drop(&mut self) {
        run_program("losetup", &["--detach", &self.device]);
    }
}

/// Runs a command on drop, also after a failed assertion.
pub struct CleanupCommand(pub &'static str, pub Vec<String>);

impl Drop for CleanupCommand {
    fn drop(&mut self) {
        let arguments: Vec<&str> = self.1.iter().map(String::as_str).collect();
        run_program(self.0, &arguments);
    }
}
