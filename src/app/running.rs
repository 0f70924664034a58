//! A running benchmark.

use std::sync::Arc;

use super::effect::Effect;
use super::keymap::KeyCommand;
use crate::bench::{BenchmarkSpec, RunProgress};
use crate::session::document::{KernelCounts, StageBreakdown};

/// Progress of a running benchmark.
#[derive(Debug, Clone, Default)]
pub struct RunSnapshot {
    /// Bytes of the scratch file that are written, and its size; `None` once it is complete.
    pub scratch_fill: Option<(u64, u64)>,
    /// Progress of the benchmark itself.
    pub progress: RunProgress,
    /// The device's own counters since the benchmark began, where the kernel keeps any.
    pub kernel_counts: Option<KernelCounts>,
    /// Q2D and D2C times of the requests, where the kernel can be traced.
    pub stages: Option<StageBreakdown>,
}

/// The view of a running benchmark.
#[derive(Debug, Clone)]
pub struct RunningState {
    /// The benchmark and its parameters.
    pub spec: BenchmarkSpec,
    /// The latest state; `None` until the first arrives.
    pub snapshot: Option<Arc<RunSnapshot>>,
    /// Whether the user asked it to stop.
    pub is_stopping: bool,
}

impl RunningState {
    /// Creates the state of a benchmark that was just started.
    #[must_use]
    pub fn new(spec: BenchmarkSpec) -> Self {
        Self {
            spec,
            snapshot: None,
            is_stopping: false,
        }
    }

    /// Handles a key command of this screen.
    pub fn handle_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        if command == KeyCommand::Stop && !self.is_stopping {
            self.is_stopping = true;
            return vec![Effect::StopBenchmark];
        }
        Vec::new()
    }
}
