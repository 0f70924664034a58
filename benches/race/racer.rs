//! The programs: each makes random reads of 4 KiB and records every response time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::fio::FioReads;
use crate::processor::children_cpu_us;

/// This build.
const OURS: &str = env!("CARGO_BIN_EXE_diskscope");

/// What one run measured.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub iops: f64,
    pub cpu_us_per_request: f64,
    pub percentiles: Option<Percentiles>,
}

/// Of the latency, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Percentiles {
    pub p50_us: f64,
    pub p99_us: f64,
}

/// A program with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Racer {
    Diskscope,
    /// With `--wait spin`.
    DiskscopeSpinning,
    /// Another build of diskscope.
    Baseline(PathBuf),
    /// fio as its manual's examples call it.
    Fio,
    /// The same with registered buffers and files, without its map of blocks already read, and
    /// submitting in batches: its best.
    FioTuned,
    /// fio's `t/io_uring` at this path, which records no latency.
    TIoUring(PathBuf),
}

impl Racer {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Diskscope => "diskscope",
            Self::DiskscopeSpinning => "diskscope, --wait spin",
            Self::Baseline(_) => "baseline",
            Self::Fio => "fio",
            Self::FioTuned => "fio tuned",
            Self::TIoUring(_) => "t/io_uring",
        }
    }

    /// One run of that many seconds.
    pub fn run(&self, path: &Path, depth: u32, seconds: u32) -> Run {
        let path = path.to_str().unwrap();
        let mut command = match self {
            Self::Diskscope => diskscope(Path::new(OURS), path, depth, seconds),
            Self::DiskscopeSpinning => {
                let mut command = diskscope(Path::new(OURS), path, depth, seconds);
                command.args(["--wait", "spin"]);
                command
            }
            Self::Baseline(program) => diskscope(program, path, depth, seconds),
            Self::Fio => fio(path, depth, seconds),
            Self::FioTuned => fio_tuned(path, depth, seconds),
            Self::TIoUring(program) => t_io_uring(program, path, depth, seconds),
        };
        let (before, started) = (children_cpu_us(), Instant::now());
        let output = command.stderr(Stdio::null()).output().unwrap();
        let cpu_us = children_cpu_us() - before;
        let elapsed_s = started.elapsed().as_secs_f64();
        assert!(output.status.success(), "{self:?}");
        match self {
            Self::Diskscope | Self::DiskscopeSpinning | Self::Baseline(_) => {
                run_of_diskscope(&output.stdout, cpu_us)
            }
            Self::Fio | Self::FioTuned => run_of_fio(&output.stdout, cpu_us),
            Self::TIoUring(_) => run_of_t_io_uring(&output.stdout, cpu_us / elapsed_s),
        }
    }
}

fn diskscope(program: &Path, path: &str, depth: u32, seconds: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["run", "random-read", path, "--block-size", "4KiB"]);
    command.args(["--duration", &format!("{seconds}s"), "--json", "-"]);
    command.args(["--depth", &depth.to_string()]);
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

fn fio(path: &str, depth: u32, seconds: u32) -> Command {
    let mut command = Command::new("fio");
    command.args(["--name=race", "--rw=randread", "--bs=4k", "--direct=1"]);
    command.args(["--ioengine=io_uring", "--thread", "--time_based"]);
    command.args(["--lat_percentiles=1", "--output-format=json"]);
    command.args(["--readonly", "--allow_file_create=0"]);
    command.args([
        format!("--filename={path}"),
        format!("--iodepth={depth}"),
        format!("--runtime={seconds}"),
    ]);
    command
}

fn fio_tuned(path: &str, depth: u32, seconds: u32) -> Command {
    let mut command = fio(path, depth, seconds);
    command.args(["--fixedbufs", "--registerfiles", "--norandommap"]);
    command.arg(format!("--iodepth_batch_submit={depth}"));
    command
}

/// Interrupts instead of polling, which a loop device does not support; registered file and buffers;
/// batches of 8, the fastest of 1 to 32 at these depths. It prints its requests after each second but
/// the last.
fn t_io_uring(program: &Path, path: &str, depth: u32, seconds: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["-p0", "-b4096", "-n1", "-s8", "-c8", &format!("-d{depth}")]);
    command.args([&format!("-r{}", seconds + 1), path]);
    command
}

fn run_of_diskscope(output: &[u8], cpu_us: f64) -> Run {
    let document: Value = serde_json::from_slice(output).unwrap();
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
        percentiles: Some(Percentiles {
            p50_us: metric("latency_p50") / 1e3,
            p99_us: metric("latency_p99") / 1e3,
        }),
    }
}

fn run_of_fio(output: &[u8], cpu_us: f64) -> Run {
    let reads = FioReads::from_json(output);
    Run {
        iops: reads.iops,
        cpu_us_per_request: cpu_us / reads.requests,
        percentiles: Some(Percentiles {
            p50_us: reads.p50_ns / 1e3,
            p99_us: reads.p99_ns / 1e3,
        }),
    }
}

/// From lines such as `IOPS=345.67K, BW=1350MiB/s, IOS/call=32/31`, and the processor time that it
/// took per second: it does not tell how many requests it made in all.
fn run_of_t_io_uring(output: &[u8], cpu_us_per_s: f64) -> Run {
    let text = std::str::from_utf8(output).unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("IOPS="));
    let number = lines
        .next_back()
        .and_then(|line| line.split(',').next())
        .unwrap();
    let (digits, factor) = match number.as_bytes().last() {
        Some(b'K') => (&number[..number.len() - 1], 1e3),
        Some(b'M') => (&number[..number.len() - 1], 1e6),
        _ => (number, 1.0),
    };
    let iops = digits.parse::<f64>().unwrap() * factor;
    Run {
        iops,
        cpu_us_per_request: cpu_us_per_s / iops,
        percentiles: None,
    }
}
