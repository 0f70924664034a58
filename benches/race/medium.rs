//! What is read: a loop device with direct I/O over a file in memory, which adds no noise of a drive.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use rand::Rng as _;
use tempfile::TempDir;

use crate::loop_device::LoopDevice;

/// Bytes of the file.
const SIZE: usize = 256 << 20;
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
        let mut file = File::create(&data)?;
        let mut random = diskscope::entropy::generator();
        let mut block = vec![0; 1 << 20];
        for _ in 0..SIZE / block.len() {
            random.fill_bytes(&mut block);
            file.write_all(&block)?;
        }
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
