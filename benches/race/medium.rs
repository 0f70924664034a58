//! What is read: a loop device with direct I/O over a file in memory, which adds no noise of a drive.

use std::path::Path;

use tempfile::TempDir;

use crate::loop_device::LoopDevice;
use crate::random_file::write_random_file;

/// Bytes of the file.
const FILE_BYTES: u64 = 256 << 20;
/// A tmpfs on every Linux system.
const TMPFS: &str = "/dev/shm";

pub struct Medium {
    device: LoopDevice,
    /// Gone with the medium.
    _directory: TempDir,
}

impl Medium {
    /// # Errors
    /// When the file or the loop device cannot be made; the reason of the latter was printed.
    pub fn new() -> std::io::Result<Self> {
        let directory = tempfile::tempdir_in(TMPFS)?;
        let data = directory.path().join("data");
        write_random_file(&data, FILE_BYTES)?;
        let device = LoopDevice::attach(&data, &["--read-only", "--direct-io=on"])
            .ok_or(std::io::ErrorKind::Unsupported)?;
        Ok(Self {
            device,
            _directory: directory,
        })
    }

    pub fn path(&self) -> &Path {
        Path::new(self.device.path())
    }
}
