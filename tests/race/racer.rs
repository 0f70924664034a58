//! Who runs: each racer makes random reads of 4 KiB with every response time recorded.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::processor::children_cpu_us;

/// Seconds of one lap.
const SECONDS: u32 = 3;

/// What one lap showed.
#[derive(Debug, Clone, Copy)]
pub struct Lap {
    pub iops: f64,
    pub cpu_us_per_request: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub mean_us: f64,
    /// From the queue's entrance to the completion, as the block layer tells it of some of these
    /// very requests; ours alone can say.
    pub traced_mean_us: Option<f64>,
}

/// A program with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Racer {
    Diskscope,
    /// fio with registered buffers and files.
    Fio,
    /// The same, without its map of blocks already read, and submitting in batches: its best.
    FioTuned,
}

impl Racer {
    pub const ALL: [Self; 3] = [Self::Diskscope, Self::Fio, Self::FioTuned];

    pub fn name(self) -> &'static str {
        match self {
            Self::Diskscope => "diskscope",
            Self::Fio => "fio",
            Self::FioTuned => "fio tuned",
        }
    }

    pub fn run(self, path: &Path, depth: u32) -> Lap {
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
            Self::Diskscope => ours(&document, cpu_us),
            _ => fios(&document, cpu_us),
        }
    }

    fn command(self, path: &Path, depth: u32) -> Command {
        let path = path.to_str().unwrap();
        if self == Self::Diskscope {
            let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
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
        command.args([
            "--fixedbufs",
            "--registerfiles",
            "--thread",
            "--time_based",
            "--lat_percentiles=1",
        ]);
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
        if self == Self::FioTuned {
            command.args([
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

fn ours(document: &Value, cpu_us: f64) -> Lap {
    let run = &document["runs"][0];
    let figure = |name: &str| {
        let figures = run["figures"].as_array().unwrap();
        let one = figures.iter().find(|figure| figure["name"] == name);
        one.and_then(|figure| figure["value"].as_f64()).unwrap()
    };
    let read = &run["latency"]["read"];
    let mean_us = |latency: &Value| Some(latency["mean_ns"].as_f64()? / 1e3);
    let stage = |name: &str| mean_us(&run["stages"][name]["read"]);
    Lap {
        iops: figure("iops"),
        cpu_us_per_request: cpu_us / read["count"].as_f64().unwrap(),
        mean_us: mean_us(read).unwrap(),
        traced_mean_us: stage("queue").zip(stage("drive")).map(|(q, d)| q + d),
        p50_us: figure("latency_p50") / 1e3,
        p99_us: figure("latency_p99") / 1e3,
    }
}

fn fios(document: &Value, cpu_us: f64) -> Lap {
    let read = &document["jobs"][0]["read"];
    let percentile = |name: &str| read["lat_ns"]["percentile"][name].as_f64().unwrap() / 1e3;
    Lap {
        iops: read["iops"].as_f64().unwrap(),
        mean_us: read["lat_ns"]["mean"].as_f64().unwrap() / 1e3,
        traced_mean_us: None,
        cpu_us_per_request: cpu_us / read["total_ios"].as_f64().unwrap(),
        p50_us: percentile("50.000000"),
        p99_us: percentile("99.000000"),
    }
}
