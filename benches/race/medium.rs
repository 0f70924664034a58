//! What is read: a loop device with direct I/O over a file in memory, which adds no noise of a drive, or a
//! file on the disk of the build directory.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::loop_device::LoopDevice;
use crate::random_file::write_random_file;

/// Bytes of the file.
const FILE_BYTES: u64 = 256 << 20;
/// A tmpfs on every Linux system.
const TMPFS: &str = "/dev/shm";

pub struct Medium {
    path: PathBuf,
    _device: Option<LoopDevice>,
    /// Gone with the medium.
    _directory: TempDir,
}

impl Medium {
    /// # Errors
    /// When the file or the loop device cannot be made; the reason of the latter was printed.
    pub fn loop_device() -> std::io::Result<Self> {
        let directory = tempfile::tempdir_in(TMPFS)?;
        let data = directory.path().join("data");
        write_random_file(&data, FILE_BYTES)?;
        let device = LoopDevice::attach(&data, &["--read-only", "--direct-io=on"])
            .ok_or(std::io::ErrorKind::Unsupported)?;
        Ok(Self {
            path: device.path().into(),
            _device: Some(device),
            _directory: directory,
        })
    }

    /// # Errors
    /// When the file cannot be written.
    pub fn file() -> std::io::Result<Self> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let path = directory.path().join("data");
        write_random_file(&path, FILE_BYTES)?;
        std::fs::File::open(&path)?.sync_all()?;
        Ok(Self {
            path,
            _device: None,
            _directory: directory,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}
