//! The programs: each makes random reads of 4 KiB and records every response time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::processor::children_cpu_us;

/// Seconds of one run.
const SECONDS: u32 = 1;

/// What one run measured.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub iops: f64,
    pub cpu_us_per_request: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

/// A program with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Racer {
    Diskscope,
    /// Another build of diskscope.
    Baseline(PathBuf),
    /// fio as its manual's examples call it.
    Fio,
    /// The same with registered buffers and files, without its map of blocks already read, and
    /// submitting in batches: its best.
    FioTuned,
}

impl Racer {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Diskscope => "diskscope",
            Self::Baseline(_) => "baseline",
            Self::Fio => "fio",
            Self::FioTuned => "fio tuned",
        }
    }

    pub fn run(&self, path: &Path, depth: u32) -> Run {
        let before = children_cpu_us();
        let output = self
            .command(path, depth)
            .stderr(Stdio::null())
            .output()
            .unwrap();
        let cpu_us = children_cpu_us() - before;
        assert!(output.status.success(), "{self:?}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        match self {
            Self::Diskscope | Self::Baseline(_) => ours(&document, cpu_us),
            Self::Fio | Self::FioTuned => fios(&document, cpu_us),
        }
    }

    fn command(&self, path: &Path, depth: u32) -> Command {
        let path = path.to_str().unwrap();
        let own = match self {
            Self::Diskscope => Some(Path::new(env!("CARGO_BIN_EXE_diskscope"))),
            Self::Baseline(program) => Some(program.as_path()),
            Self::Fio | Self::FioTuned => None,
        };
        if let Some(program) = own {
            let mut command = Command::new(program);
            command.args([
                "run",
                "random-read",
                path,
                "--block-size",
                "4KiB",
                "--json",
                "-",
            ]);
            command.args([
                "--duration",
                &format!("{SECONDS}s"),
                "--depth",
                &depth.to_string(),
            ]);
            command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
            return command;
        }
        let mut command = Command::new("fio");
        command.args([
            "--name=race",
            "--rw=randread",
            "--bs=4k",
            "--direct=1",
            "--ioengine=io_uring",
        ]);
        command.args(["--thread", "--time_based", "--lat_percentiles=1"]);
        command.args([
            "--output-format=json",
            "--readonly",
            "--allow_file_create=0",
        ]);
        command.args([
            format!("--filename={path}"),
            format!("--iodepth={depth}"),
            format!("--runtime={SECONDS}"),
        ]);
        if *self == Self::FioTuned {
            command.args([
                "--fixedbufs".to_owned(),
                "--registerfiles".to_owned(),
                "--norandommap".to_owned(),
                format!("--iodepth_batch_submit={depth}"),
            ]);
        }
        command
    }
}

pub fn fio_is_here() -> bool {
    Command::new("fio")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok()
}

fn ours(document: &Value, cpu_us: f64) -> Run {
    let run = &document["runs"][0];
    let metric = |name: &str| {
        let metrics = run["figures"].as_array().unwrap();
        let one = metrics.iter().find(|metric| metric["name"] == name);
        one.and_then(|metric| metric["value"].as_f64()).unwrap()
    };
    let read = &run["latency"]["read"];
    Run {
        iops: metric("iops"),
        cpu_us_per_request: cpu_us / read["count"].as_f64().unwrap(),
        p50_us: metric("latency_p50") / 1e3,
        p99_us: metric("latency_p99") / 1e3,
    }
}

fn fios(document: &Value, cpu_us: f64) -> Run {
    let read = &document["jobs"][0]["read"];
    let percentile = |name: &str| read["lat_ns"]["percentile"][name].as_f64().unwrap() / 1e3;
    Run {
        iops: read["iops"].as_f64().unwrap(),
        cpu_us_per_request: cpu_us / read["total_ios"].as_f64().unwrap(),
        p50_us: percentile("50.000000"),
        p99_us: percentile("99.000000"),
    }
}
