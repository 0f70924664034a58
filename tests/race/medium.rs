//! What is read: a file full of random bytes, and a loop device with direct I/O on it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Bytes of the file.
const SIZE: usize = 1 << 30;

pub struct Medium {
    /// Gone with the medium.
    _directory: TempDir,
    data: PathBuf,
    device: Option<PathBuf>,
}

impl Medium {
    pub fn file() -> Option<Self> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).ok()?;
        let data = directory.path().join("data");
        let mut file = File::create(&data).ok()?;
        let mut random = diskscope::drive::random::Random::unforeseen();
        let mut block = vec![0; 1 << 20];
        for _ in 0..SIZE / block.len() {
            random.fill(&mut block);
            file.write_all(&block).ok()?;
        }
        file.sync_all().ok()?;
        Some(Self {
            _directory: directory,
            data,
            device: None,
        })
    }

    pub fn loop_device() -> Option<Self> {
        let mut medium = Self::file()?;
        let output = Command::new("losetup")
            .args(["--find", "--show", "--read-only", "--direct-io=on"])
            .arg(&medium.data)
            .output()
            .ok()?;
        let device = String::from_utf8(output.stdout).ok()?;
        medium.device = Some(PathBuf::from(device.trim())).filter(|path| path.exists());
        medium.device.is_some().then_some(medium)
    }

    pub fn path(&self) -> &Path {
        self.device.as_deref().unwrap_or(&self.data)
    }

    pub fn name(&self) -> &'static str {
        if self.device.is_some() {
            "loop device"
        } else {
            "file"
        }
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            let _ = Command::new("losetup").arg("--detach").arg(device).status();
        }
    }
}
