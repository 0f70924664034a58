//! The traced process: fio on a file of an ext4 over memory.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::file_system::LoopFileSystem;
use crate::fio::FioReads;
use crate::loop_device::LoopDevice;
use crate::processor::children_cpu_us;
use crate::random_file::write_random_file;
use crate::requirement::Requirement;

/// Bytes of the file that is read.
const FILE_BYTES: u64 = 256 << 20;
/// Bytes of the file system.
const IMAGE_BYTES: u64 = 400 << 20;
/// A tmpfs on every Linux system.
const TMPFS: &str = "/dev/shm";
/// Requests in flight.
const DEPTH: u32 = 8;

/// A file whose reads cost no more than the kernel's path to memory and back.
pub struct TracedFile {
    path: PathBuf,
    _file_system: LoopFileSystem,
    /// Gone after the file system.
    _directory: TempDir,
}

impl TracedFile {
    /// # Errors
    /// When one of its parts cannot be made; the reason was printed.
    pub fn new() -> std::io::Result<Self> {
        let directory = tempfile::tempdir_in(TMPFS)?;
        let image = directory.path().join("image");
        File::create(&image)?.set_len(IMAGE_BYTES)?;
        let unsupported = std::io::ErrorKind::Unsupported;
        let device = LoopDevice::attach(&image, &["--direct-io=on"]).ok_or(unsupported)?;
        let file_system = LoopFileSystem::on(device, "ext4", &[], Requirement::Ext4);
        let file_system = file_system.ok_or(unsupported)?;
        let path = file_system.file_path("data");
        write_random_file(&path, FILE_BYTES)?;
        Ok(Self {
            path,
            _file_system: file_system,
            _directory: directory,
        })
    }
}

/// How fast fio reads.
#[derive(Debug, Clone, Copy)]
pub enum Load {
    /// So many requests per second.
    Limited(u32),
    /// As fast as it can.
    Unlimited,
}

/// What fio measured of itself.
#[derive(Debug, Clone, Copy)]
pub struct LoadRun {
    pub iops: f64,
    pub cpu_us_per_request: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    /// Of the whole program.
    pub elapsed: Duration,
}

impl Load {
    pub fn run(self, file: &TracedFile, seconds: u32) -> LoadRun {
        let mut command = Command::new("fio");
        command.args(["--name=load", "--rw=randread", "--bs=4k", "--direct=1"]);
        command.args([
            "--ioengine=io_uring",
            "--thread",
            "--time_based",
            "--readonly",
        ]);
        command.args([
            "--output-format=json",
            "--lat_percentiles=1",
            "--norandommap",
        ]);
        command.args([
            format!("--filename={}", file.path.display()),
            format!("--iodepth={DEPTH}"),
            format!("--runtime={seconds}"),
        ]);
        if let Self::Limited(rate) = self {
            command.arg(format!("--rate_iops={rate}"));
        }
        let (before, started) = (children_cpu_us(), Instant::now());
        let output = command.stderr(Stdio::null()).output().unwrap();
        let (cpu_us, elapsed) = (children_cpu_us() - before, started.elapsed());
        assert!(output.status.success(), "fio failed");
        let reads = FioReads::from_json(&output.stdout);
        LoadRun {
            iops: reads.iops,
            cpu_us_per_request: cpu_us / reads.requests,
            p50_us: reads.p50_ns / 1e3,
            p99_us: reads.p99_ns / 1e3,
            elapsed,
        }
    }
}
