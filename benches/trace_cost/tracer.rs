//! diskscope beside the load.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::load::LoadRun;
use crate::processor::{children, tree_cpu_ns};

/// The thread that reads the events; it starts when the kernel records.
const READER_THREAD: &str = "requests";
/// The longest that a trace may take to start.
const START_LIMIT: Duration = Duration::from_secs(10);

/// What runs beside the load.
#[derive(Debug, Clone)]
pub enum Tracer {
    None,
    /// `files --hot`, which records a part of the time where all of it costs too much.
    Limited(PathBuf),
    /// `files --hot --no-sampling`.
    Unlimited(PathBuf),
    /// `files --hot --no-sampling` of another build.
    Baseline(PathBuf),
}

/// What a trace cost and recorded.
#[derive(Debug, Clone, Copy)]
pub struct TraceRun {
    /// Processor time during the load, as a fraction of one processor.
    pub cpu_share: f64,
    /// The part of the time that was recorded.
    pub recorded_share: f64,
    pub events_lost: f64,
}

impl Tracer {
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Limited(_) => "`files --hot`",
            Self::Unlimited(_) => "`files --hot --no-sampling`",
            Self::Baseline(_) => "baseline, `--no-sampling`",
        }
    }

    /// Starts it; returns when it records.
    pub fn start(&self) -> RunningTrace {
        let (program, options): (&Path, &[&str]) = match self {
            Self::None => {
                return RunningTrace {
                    child: None,
                    cpu_ns: 0,
                };
            }
            Self::Limited(program) => (program.as_path(), &[]),
            Self::Unlimited(program) | Self::Baseline(program) => {
                (program.as_path(), &["--no-sampling"])
            }
        };
        let child = Command::new(program)
            .args(["files", "--hot", "--json", "--duration", "10m"])
            .args(options)
            .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let started = Instant::now();
        while !has_reader(child.id()) {
            assert!(started.elapsed() < START_LIMIT, "no trace was started");
            thread::sleep(Duration::from_millis(5));
        }
        let cpu_ns = tree_cpu_ns(child.id());
        RunningTrace {
            child: Some(child),
            cpu_ns,
        }
    }
}

/// Whether a process or a child of it reads events.
fn has_reader(id: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{id}/task"))
        .into_iter()
        .flatten();
    let mut names = tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.any(|name| name.trim_end() == READER_THREAD) || children(id).into_iter().any(has_reader)
}

/// A trace in progress.
pub struct RunningTrace {
    child: Option<Child>,
    /// Processor time before the load.
    cpu_ns: u64,
}

impl RunningTrace {
    /// Ends it after the load.
    pub fn stop(self, load: &LoadRun) -> TraceRun {
        let Some(child) = self.child else {
            return TraceRun {
                cpu_share: 0.0,
                recorded_share: 1.0,
                events_lost: 0.0,
            };
        };
        let cpu_ns = tree_cpu_ns(child.id()).saturating_sub(self.cpu_ns);
        let pid = Pid::from_child(&child);
        kill_process(pid, Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        let view: Value = serde_json::from_slice(&output.stdout).unwrap();
        let number = |key: &str| view[key].as_f64().unwrap();
        TraceRun {
            cpu_share: cpu_ns as f64 / load.elapsed.as_nanos() as f64,
            recorded_share: number("recorded_ns") / number("duration_ns"),
            events_lost: number("events_lost"),
        }
    }
}
