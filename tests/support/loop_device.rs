//! A loop device on a file of its own. Needs root; says so and passes over where there is none.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A loop device, detached when it is dropped.
pub struct LoopDevice {
    device: String,
    file: PathBuf,
    _directory: TempDir,
}

impl LoopDevice {
    /// Attaches one to a file with that content; says why there is none.
    pub fn with(content: &[u8]) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: a loop device needs root");
            return None;
        }
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = directory.path().join("disk");
        std::fs::write(&file, content).unwrap();
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&file)
            .output();
        match output {
            Ok(output) if output.status.success() => Some(Self {
                device: String::from_utf8(output.stdout).unwrap().trim().to_owned(),
                file,
                _directory: directory,
            }),
            _ => {
                println!("skipped: no loop device to be had");
                None
            }
        }
    }

    /// Its path, such as `/dev/loop3`.
    pub fn path(&self) -> &str {
        &self.device
    }

    /// The file behind it.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}
