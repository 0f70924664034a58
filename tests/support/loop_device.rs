//! A loop device of the test's own. Needs root; the test is skipped without.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs::File;
use std::io::{self, Write};
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::requirement::{Requirement, skip};

/// A loop device, detached when it is dropped.
pub struct LoopDevice {
    device: String,
    file: PathBuf,
    /// Of the file, where that is its own: gone with it.
    directory: Option<TempDir>,
}

impl LoopDevice {
    /// On a file, with options of losetup(8); `None`, and why in one line, where that is not to be
    /// had.
    pub fn attach(file: &Path, options: &[&str]) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip(Requirement::Loop, "a loop device needs root");
            return None;
        }
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .args(options)
            .arg(file)
            .output();
        match output {
            Ok(output) if output.status.success() => Some(Self {
                device: String::from_utf8(output.stdout).unwrap().trim().to_owned(),
                file: file.to_owned(),
                directory: None,
            }),
            Ok(output) => {
                let message = String::from_utf8_lossy(&output.stderr);
                skip(Requirement::Loop, message.trim());
                None
            }
            Err(error) => {
                skip(Requirement::Loop, format!("losetup: {error}"));
                None
            }
        }
    }

    /// On a file of its own with that content.
    pub fn with(content: &[u8]) -> Option<Self> {
        Self::on_new_file(|file| file.write_all(content))
    }

    /// On a sparse file of its own of that many bytes.
    pub fn sparse(bytes: u64) -> Option<Self> {
        Self::on_new_file(|file| file.set_len(bytes))
    }

    fn on_new_file(fill: impl FnOnce(&mut File) -> io::Result<()>) -> Option<Self> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = directory.path().join("disk");
        fill(&mut File::create(&path).unwrap()).unwrap();
        let mut attached = Self::attach(&path, &[])?;
        attached.directory = Some(directory);
        Some(attached)
    }

    /// Its path, such as `/dev/loop3`.
    pub fn path(&self) -> &str {
        &self.device
    }

    /// Its name, such as `loop3`.
    pub fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    /// Its major and minor number.
    pub fn number(&self) -> (u32, u32) {
        let number = std::fs::metadata(&self.device).unwrap().st_rdev();
        (rustix::fs::major(number), rustix::fs::minor(number))
    }

    /// The file behind it.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// A value of its queue.
    pub fn queue(&self, setting: &str) -> String {
        std::fs::read_to_string(self.place(setting)).unwrap()
    }

    /// Sets a value of its queue; `false`, and why in one line, where the kernel has none such.
    pub fn set(&self, setting: &str, value: &str) -> bool {
        let path = self.place(setting);
        let done = std::fs::write(&path, value);
        if let Err(error) = &done {
            skip(Requirement::Kernel, format!("cannot write {path}: {error}"));
        }
        done.is_ok()
    }

    fn place(&self, setting: &str) -> String {
        format!("/sys/class/block/{}/queue/{setting}", self.name())
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let detached = Command::new("losetup")
            .args(["--detach", &self.device])
            .status();
        let done = detached.is_ok_and(|status| status.success());
        assert!(done || std::thread::panicking(), "{} stays", self.device);
    }
}
