//! What is read: a file full of random bytes, and a loop device with direct I/O on it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::loop_device::LoopDevice;

/// Bytes of the file.
const SIZE: usize = 1 << 30;

pub struct Medium {
    device: Option<LoopDevice>,
    data: PathBuf,
    /// Gone with the medium.
    _directory: TempDir,
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
        medium.device = LoopDevice::attach(&medium.data, &["--read-only", "--direct-io=on"]);
        medium.device.is_some().then_some(medium)
    }

    pub fn path(&self) -> &Path {
        match &self.device {
            Some(device) => Path::new(device.path()),
            None => &self.data,
        }
    }

    pub fn name(&self) -> &'static str {
        if self.device.is_some() {
            "loop device"
        } else {
            "file"
        }
    }
}
