//! The same reads by diskscope and by fio, in turns: request and byte counts exactly, rates and
//! percentiles within bounds so wide that only a mistake leaves them. On a loop device with direct
//! I/O where one can be made, else on a file. Says in one line why where it cannot run.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/loop_device.rs"]
mod loop_device;
#[path = "support/requirement.rs"]
mod requirement;

use crate::requirement::{Requirement, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use loop_device::LoopDevice;
use serde_json::Value;

/// Bytes of the file.
const SIZE: usize = 64 << 20;
/// Turns of each program; as many more where the medians of these disagree.
const TURNS: usize = 3;

/// A file of random bytes, and a loop device on it where one can be had.
struct Medium {
    device: Option<LoopDevice>,
    directory: tempfile::TempDir,
}

impl Medium {
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let data = directory.path().join("data");
        let mut bytes = vec![0; SIZE];
        diskscope::drive::random::Random::unforeseen().fill(&mut bytes);
        fs::write(&data, bytes).unwrap();
        fs::File::open(&data).unwrap().sync_all().unwrap();
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
    test: &'static str,
    fio: &'static str,
    block: u64,
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
    fn ours(&self, path: &Path, kernel_counts: bool) -> Lap {
        let state = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
            .args(["run", self.test, path.to_str().unwrap(), "--json", "-"])
            .args(["--block-size", &self.block.to_string()])
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
            let bytes = self.requests * self.block;
            assert_eq!(run["kernel"]["read_bytes"], bytes, "{}", run["kernel"]);
        }
        let figure = |name: &str| {
            let mut figures = run["figures"].as_array().unwrap().iter();
            let found = figures.find(|figure| figure["name"] == name);
            found.and_then(|figure| figure["value"].as_f64())
        };
        // Between zones there is a pause, which is not the requests': Little's law leaves it out.
        let by_waiting = || f64::from(self.depth) / figure("latency_mean").unwrap() * 1e9;
        Lap {
            iops: figure("iops").unwrap_or_else(by_waiting),
            p50_ns: figure("latency_p50").unwrap(),
            p99_ns: figure("latency_p99").unwrap(),
        }
    }

    fn fios(&self, path: &Path) -> Lap {
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
                format!("--rw={}", self.fio),
                format!("--filename={}", path.display()),
                format!("--bs={}", self.block),
                format!("--iodepth={}", self.depth),
                format!("--number_ios={}", self.requests),
                // So many bytes that the number of requests ends it.
                format!("--io_size={}", 2 * self.requests * self.block),
            ])
            .stderr(Stdio::null())
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let read = &document["jobs"][0]["read"];
        let percentile = |name: &str| read["lat_ns"]["percentile"][name].as_f64().unwrap();
        Lap {
            iops: read["iops"].as_f64().unwrap(),
            p50_ns: percentile("50.000000"),
            p99_ns: percentile("99.000000"),
        }
    }
}

/// Medians of our laps over fio's, each pair made one right after the other.
fn ratios(laps: &[(Lap, Lap)]) -> [f64; 3] {
    [
        |lap: &Lap| lap.iops,
        |lap: &Lap| lap.p50_ns,
        |lap: &Lap| lap.p99_ns,
    ]
    .map(|of| {
        let mut ratios: Vec<f64> = laps
            .iter()
            .map(|(our, their)| of(our) / of(their))
            .collect();
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    })
}

/// Whether nobody can call it noise: the median within a factor of 2.5. IOPS, which hold the slowest
/// requests and the start of the program's threads, within 4, and the 99th percentile, which a single
/// interruption moves, within 6; a build without optimisation, which uses more of a busy processor
/// than fio and is interrupted more often, is not held to those two.
fn agree([iops, p50, p99]: [f64; 3]) -> bool {
    let within = |ratio: f64, factor: f64| (1.0 / factor..=factor).contains(&ratio);
    let tails = cfg!(debug_assertions) || (within(iops, 4.0) && within(p99, 6.0));
    within(p50, 2.5) && tails
}

#[test]
fn the_same_reads_take_as_long_as_with_fio() {
    let fio = Command::new("fio").arg("--version").output();
    if !fio.is_ok_and(|output| output.status.success()) {
        return skip(Requirement::Fio, "fio is not installed");
    }
    let medium = Medium::new();
    let path = medium.path();
    for (test, fio, block, depth, requests) in [
        ("random-read", "randread", 4096, 1, 2000),
        ("random-read", "randread", 4096, 32, 8000),
        ("sequential-read", "read", 65_536, 1, 1000),
    ] {
        let task = Task {
            test,
            fio,
            block,
            depth,
            requests,
        };
        let lap = || (task.ours(&path, medium.device.is_some()), task.fios(&path));
        let mut laps: Vec<(Lap, Lap)> = (0..TURNS).map(|_| lap()).collect();
        if !agree(ratios(&laps)) {
            // The machine may have had other work: as many pairs again decide.
            laps.extend((0..2 * TURNS).map(|_| lap()));
        }
        let ratios = ratios(&laps);
        println!("{test}, depth {depth}: IOPS, p50 and p99 over fio's {ratios:.2?}");
        assert!(agree(ratios), "{test}, depth {depth}: {laps:?}");
    }
}
