//! The sampler and the model together, and files and processes to look at.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use diskscope::probe::SampleCollector;
use diskscope::roots::SysPaths;
use diskscope::snapshot::view::TransferView;
use diskscope::snapshot::{Snapshot, ViewBuilder};
use diskscope::transfers::counting::JobCounter;

use crate::requirement::{Requirement, skip};

pub const MIB: u64 = 1 << 20;
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// A child that does not outlive the test.
pub struct RunningChild(pub Child);

impl Drop for RunningChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks at this machine.
pub struct LiveSampler {
    collector: SampleCollector,
    view_builder: ViewBuilder,
    job_counter: JobCounter,
}

impl LiveSampler {
    pub fn start() -> Self {
        let mut sampler = Self {
            collector: SampleCollector::new(SysPaths::default()),
            view_builder: ViewBuilder::default(),
            job_counter: JobCounter::new(SysPaths::default()),
        };
        sampler.next_snapshot();
        sampler
    }

    pub fn next_snapshot(&mut self) -> Snapshot {
        self.collector
            .follow_files(self.view_builder.followed_files());
        let sample = Arc::new(self.collector.collect());
        self.view_builder
            .set_job_counts(self.job_counter.update(&sample.processes));
        self.view_builder.update(sample)
    }

    /// Looks until there is a transfer of which this holds.
    pub fn find_transfer(&mut self, holds: impl Fn(&TransferView) -> bool) -> TransferView {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let mut last = Vec::new();
        while Instant::now() < deadline {
            last = self.next_snapshot().transfers;
            if let Some(found) = last.iter().find(|transfer| holds(transfer)) {
                return found.clone();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("no such transfer was seen, last: {last:#?}");
    }

    pub fn transfer_of(&mut self, pid: u32) -> Option<TransferView> {
        let live = self.next_snapshot();
        live.transfers
            .into_iter()
            .find(|transfer| transfer.pid == Some(pid))
    }
}

/// A real file, not one with holes.
pub fn create_file(directory: &Path, name: &str, mib: u64) -> PathBuf {
    let path = directory.join(name);
    let mut file = File::create(&path).unwrap();
    let block: Vec<u8> = (0..MIB as u32)
        .map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for _ in 0..mib {
        file.write_all(&block).unwrap();
    }
    path
}

pub fn program_exists(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !found {
        skip(Requirement::Program, format!("{program} is not installed"));
    }
    found
}

pub fn path_text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
