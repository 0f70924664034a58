//! The same reads by diskscope and by fio, alternately: request and byte counts exactly; in a release
//! build IOPS and p50 within 15 % and p99 within 50 %, judged by confidence intervals. On a loop
//! device with direct I/O over a file in memory where one can be made, else on that file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fio::{FioReads, has_fio};
use crate::loop_device::LoopDevice;
use crate::median::Median;
use crate::random_file::write_random_file;

/// Bytes of the file, which lies in memory.
const FILE_BYTES: u64 = 64 << 20;
/// Pairs of runs before anything is decided.
const MIN_PAIRS: usize = 6;
/// Pairs of runs after which an interval that still holds a bound counts as agreement.
const MAX_PAIRS: usize = 30;

/// A file of random bytes, and a loop device on it where one can be had.
struct Medium {
    device: Option<LoopDevice>,
    directory: tempfile::TempDir,
}

impl Medium {
    fn new() -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let data = directory.path().join("data");
        write_random_file(&data, FILE_BYTES).unwrap();
        let device = LoopDevice::attach(&data, &["--read-only", "--direct-io=on"]);
        Self { directory, device }
    }

    fn path(&self) -> PathBuf {
        match &self.device {
            Some(device) => device.path().into(),
            None => self.directory.path().join("data"),
        }
    }
}

/// What both programs are to do.
struct Task {
    benchmark: &'static str,
    fio_rw: &'static str,
    block_bytes: u64,
    depth: u32,
    requests: u64,
}

/// What one of them says that it did.
#[derive(Debug, Clone, Copy)]
struct Lap {
    iops: f64,
    p50_ns: f64,
    p99_ns: f64,
}

impl Task {
    fn run_diskscope(&self, path: &Path, kernel_counts: bool) -> Lap {
        let state = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
            .args(["run", self.benchmark, path.to_str().unwrap(), "--json", "-"])
            .args(["--block-size", &self.block_bytes.to_string()])
            .args(["--depth", &self.depth.to_string()])
            .args(["--requests", &self.requests.to_string()])
            .env("XDG_STATE_HOME", state.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let run = &document["runs"][0];
        assert_eq!(run["latency"]["read"]["count"], self.requests);
        if kernel_counts {
            // Too small to be split; two that happen to be neighbours may be merged.
            let count = |name: &str| run["kernel"][name].as_u64().unwrap();
            let requests = count("reads") + count("reads_merged");
            assert_eq!(requests, self.requests, "{}", run["kernel"]);
            let bytes = self.requests * self.block_bytes;
            assert_eq!(run["kernel"]["read_bytes"], bytes, "{}", run["kernel"]);
        }
        let metric = |name: &str| {
            let mut metrics = run["figures"].as_array().unwrap().iter();
            let found = metrics.find(|metric| metric["name"] == name);
            found.and_then(|metric| metric["value"].as_f64())
        };
        // Between zones there is a pause, which is not the requests': Little's law leaves it out.
        let by_waiting = || f64::from(self.depth) / metric("latency_mean").unwrap() * 1e9;
        Lap {
            iops: metric("iops").unwrap_or_else(by_waiting),
            p50_ns: metric("latency_p50").unwrap(),
            p99_ns: metric("latency_p99").unwrap(),
        }
    }

    fn run_fio(&self, path: &Path) -> Lap {
        let output = Command::new("fio")
            .args([
                "--name=same",
                "--ioengine=io_uring",
                "--direct=1",
                "--thread",
            ])
            .args(["--norandommap", "--lat_percentiles=1", "--readonly"])
            .args(["--allow_file_create=0", "--output-format=json"])
            .args([
                format!("--rw={}", self.fio_rw),
                format!("--filename={}", path.display()),
                format!("--bs={}", self.block_bytes),
                format!("--iodepth={}", self.depth),
                format!("--number_ios={}", self.requests),
                // So many bytes that the number of requests ends it.
                format!("--io_size={}", 2 * self.requests * self.block_bytes),
            ])
            .stderr(Stdio::null())
            .output()
            .unwrap();
        let reads = FioReads::from_json(&output.stdout);
        Lap {
            iops: reads.iops,
            p50_ns: reads.p50_ns,
            p99_ns: reads.p99_ns,
        }
    }
}

/// Our IOPS, p50 and p99 over fio's: the median of pairs made one right after the other.
fn metric_ratios(laps: &[(Lap, Lap)]) -> [Median; 3] {
    [
        |lap: &Lap| lap.iops,
        |lap: &Lap| lap.p50_ns,
        |lap: &Lap| lap.p99_ns,
    ]
    .map(|of| Median::of(laps.iter().map(|(our, their)| of(our) / of(their))).unwrap())
}

/// The factors by which IOPS, p50 and p99 may differ. A build without optimisation uses more of the
/// processor than fio and is interrupted more often: it is held to the median alone.
const RATIO_BOUNDS: [f64; 3] = if cfg!(debug_assertions) {
    [f64::INFINITY, 2.5, f64::INFINITY]
} else {
    [1.15, 1.15, 1.5]
};

/// What the confidence intervals say: the ratios are within the bounds, outside them, or (`None`)
/// more pairs have to decide.
fn judge_ratios(ratios: &[Median; 3]) -> Option<bool> {
    let mut inside = true;
    for (ratio, bound) in ratios.iter().zip(RATIO_BOUNDS) {
        if ratio.low > bound || ratio.high < 1.0 / bound {
            return Some(false);
        }
        inside &= ratio.low >= 1.0 / bound && ratio.high <= bound;
    }
    inside.then_some(true)
}

#[test]
fn random_reads_match_fio_iops_and_latency() {
    if !has_fio() {
        return;
    }
    let medium = Medium::new();
    let path = medium.path();
    for (test, fio, block, depth, requests) in [
        ("random-read", "randread", 4096, 1, 2000),
        ("random-read", "randread", 4096, 32, 8000),
        ("sequential-read", "read", 65_536, 1, 1000),
    ] {
        let task = Task {
            benchmark: test,
            fio_rw: fio,
            block_bytes: block,
            depth,
            requests,
        };
        let lap = || {
            (
                task.run_diskscope(&path, medium.device.is_some()),
                task.run_fio(&path),
            )
        };
        let mut laps: Vec<(Lap, Lap)> = (0..MIN_PAIRS).map(|_| lap()).collect();
        let mut verdict = judge_ratios(&metric_ratios(&laps));
        while verdict.is_none() && laps.len() < MAX_PAIRS {
            laps.push(lap());
            verdict = judge_ratios(&metric_ratios(&laps));
        }
        let [iops, p50, p99] = metric_ratios(&laps);
        println!("{test}, depth {depth}: over fio's: IOPS {iops}, p50 {p50}, p99 {p99}");
        // Undecided after all pairs: an interval that holds the bound is no disagreement.
        assert_ne!(verdict, Some(false), "{test}, depth {depth}: {laps:?}");
    }
}
