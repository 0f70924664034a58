//! A loop device of which one can see what was written, and how often.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

use crate::loop_device::LoopDevice;

/// Bytes of the device.
pub const DEVICE_BYTES: usize = 16 << 20;
/// What is compared.
const SECTOR_BYTES: usize = 512;

/// What became of the device while something ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// Which sectors are not what they were.
    pub changed_sectors: Vec<bool>,
    /// Reads that the device was asked for, before they were merged.
    pub read_ios: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Writes, before they were merged.
    pub write_ios: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
}

impl Effect {
    /// The blocks of that size that were written to.
    pub fn written_blocks(&self, size: usize) -> Vec<usize> {
        let block = |part: &[bool]| part.iter().any(|changed| *changed);
        let blocks = self.changed_sectors.chunks(size / SECTOR_BYTES).enumerate();
        blocks
            .filter(|(_, part)| block(part))
            .map(|(n, _)| n)
            .collect()
    }

    /// First and last byte after what was written.
    pub fn written_range(&self) -> Option<(usize, usize)> {
        let first = self.changed_sectors.iter().position(|changed| *changed)?;
        let last = self.changed_sectors.iter().rposition(|changed| *changed)?;
        Some((first * SECTOR_BYTES, (last + 1) * SECTOR_BYTES))
    }
}

/// The device, and a working directory in which nothing may be left.
pub struct Medium {
    device: LoopDevice,
    file: PathBuf,
    directory: tempfile::TempDir,
}

impl Medium {
    /// `None`, and why in one line, where no loop device is to be had.
    pub fn new() -> Option<Self> {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let file = directory.path().join("disk");
        fs::write(&file, device_pattern()).unwrap();
        fs::create_dir(directory.path().join("empty")).unwrap();
        let device = LoopDevice::attach(&file, &["--direct-io=on"])?;
        Some(Self {
            device,
            file,
            directory,
        })
    }

    pub fn path(&self) -> &str {
        self.device.path()
    }

    /// Runs diskscope on the device, with the consent to overwrite it: its document and its status.
    pub fn run_diskscope(&self, test: &str, options: &[&str]) -> (Value, Option<i32>) {
        let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
            .args(["run", test, self.path(), "--json", "-"])
            .args(options)
            .args(
                ["--overwrite", self.path()]
                    .iter()
                    .filter(|_| is_write_benchmark(test)),
            )
            .env("XDG_STATE_HOME", self.directory.path().join("state"))
            .current_dir(self.directory.path().join("empty"))
            .output()
            .unwrap();
        let document = serde_json::from_slice(&output.stdout);
        let document: Value = document.unwrap_or_else(|_| panic!("{options:?}: {output:?}"));
        (document["runs"][0].clone(), output.status.code())
    }

    /// Pastes a command into a shell, in an empty directory that has to stay so.
    pub fn run_in_shell(&self, lines: &str) -> Output {
        run_pasted_command(lines, &self.directory.path().join("empty"))
    }

    /// What becomes of the device while something runs.
    pub fn measure_effect<T>(&self, run: impl FnOnce() -> T) -> (T, Effect) {
        let open = || fs::File::options().write(true).open(self.path()).unwrap();
        // Closed before anything runs: a device that anybody has open for writing is in use.
        let device = open();
        std::os::unix::fs::FileExt::write_all_at(&device, device_pattern(), 0).unwrap();
        device.sync_all().unwrap();
        drop(device);
        let before = self.device_counts();
        let result = run();
        open().sync_all().unwrap();
        let after = self.device_counts();
        let content = fs::read(&self.file).unwrap();
        let changed = content
            .chunks(SECTOR_BYTES)
            .zip(device_pattern().chunks(SECTOR_BYTES))
            .map(|(now, then)| now != then)
            .collect();
        let [reads, read_sectors, writes, written_sectors] =
            std::array::from_fn(|index| after[index] - before[index]);
        let effect = Effect {
            changed_sectors: changed,
            read_ios: reads,
            read_bytes: read_sectors * 512,
            write_ios: writes,
            written_bytes: written_sectors * 512,
        };
        (result, effect)
    }

    /// Reads, sectors read, writes, sectors written; merged requests count as well.
    fn device_counts(&self) -> [u64; 4] {
        let name = self.path().trim_start_matches("/dev/");
        let text = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        let fields: Vec<u64> = text
            .split_whitespace()
            .map(|n| n.parse().unwrap())
            .collect();
        [
            fields[0] + fields[1],
            fields[2],
            fields[4] + fields[5],
            fields[6],
        ]
    }
}

fn is_write_benchmark(test: &str) -> bool {
    !test.contains("read")
}

/// Every sector of its own, and none like what a benchmark writes.
fn device_pattern() -> &'static [u8] {
    static PATTERN: OnceLock<Vec<u8>> = OnceLock::new();
    PATTERN.get_or_init(|| {
        let mut pattern = vec![0xa5; DEVICE_BYTES];
        for (number, sector) in pattern.chunks_mut(SECTOR_BYTES).enumerate() {
            sector[..8].copy_from_slice(&(number as u64).to_le_bytes());
        }
        pattern
    })
}

/// Pastes a command into a shell in a directory, which has to be as empty as before.
pub fn run_pasted_command(lines: &str, directory: &std::path::Path) -> Output {
    let listing = |at: &std::path::Path| {
        let mut names: Vec<_> = fs::read_dir(at)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let before = listing(directory);
    let output = Command::new("bash")
        .args(["-c", lines])
        .current_dir(directory)
        .output()
        .unwrap();
    assert_eq!(listing(directory), before, "left behind by {lines}");
    output
}
