//! Events of a run, from the forecast to the end.

use std::sync::Arc;
use std::time::Duration;

use super::forecast::Forecast;
use crate::drive::{Inspection, Target};
use crate::engine::{ExecutionSnapshot, IoCounts};
use crate::session::document::{EngineRecord, Findings, KernelCounts, StageBreakdown};

/// Receiver of the events of a run. It is called on the measuring thread, between two reports of the
/// engine, and never per request.
pub type RunSink<'a> = dyn FnMut(RunEvent) + 'a;

/// An event of a run, in the order in which they occur.
#[derive(Debug, Clone)]
pub enum RunEvent {
    /// The target can be measured.
    Forecast {
        /// Name of the benchmark.
        benchmark: &'static str,
        /// What it will do.
        forecast: Forecast,
    },
    /// The scratch file is being written.
    ScratchFill {
        /// Bytes written so far.
        written_bytes: u64,
        /// Size of the file.
        total_bytes: u64,
    },
    /// The target is open, and no request was sent yet.
    Started(Box<RunStart>),
    /// The latest state, 5 to 10 times per second. A receiver may drop it when a later one exists.
    Progress(Box<RunProgress>),
    /// A phase ended: these findings are final. A receiver that saves them must not drop them.
    PhaseFinished(Arc<Findings>),
    /// No further events follow.
    Ended,
}

/// What is known once the target is open and before the first request.
#[derive(Debug, Clone)]
pub struct RunStart {
    /// What is measured.
    pub target: Target,
    /// What the benchmark will do.
    pub forecast: Forecast,
    /// The engine that executes the requests.
    pub engine: EngineRecord,
    /// What is overwritten, where the benchmark writes to existing data.
    pub overwritten_target: Option<Inspection>,
    /// What the run takes space of without knowing how much is left, where it writes.
    pub unknown_space: Option<String>,
}

/// State of a running benchmark.
#[derive(Debug, Clone, Default)]
pub struct RunProgress {
    /// Current activity, such as `zone 17 of 100`.
    pub phase: String,
    /// Fraction of the run that is complete, 0 to 1; `None` if unknown.
    pub fraction: Option<f64>,
    /// Time since the run started, including earlier repeats.
    pub elapsed: Duration,
    /// Progress of the current phase.
    pub snapshot: ExecutionSnapshot,
    /// I/O counts since the benchmark started.
    pub counts: IoCounts,
    /// Findings so far, with the checks as of the last journal entry.
    pub findings: Arc<Findings>,
    /// Whether the findings were just updated and should be saved.
    pub has_new_findings: bool,
    /// The kernel's counters of the device since the benchmark started, where it keeps any.
    pub kernel_counts: Option<KernelCounts>,
    /// Q2D and D2C times as of the last journal entry, where the kernel can be traced.
    pub stages: Option<StageBreakdown>,
}

impl RunProgress {
    /// Estimated time left at the current rate; `None` below one per cent of completion.
    #[must_use]
    pub fn remaining_time(&self) -> Option<Duration> {
        let fraction = self.fraction.filter(|fraction| *fraction > 0.01)?;
        Some(self.elapsed.mul_f64((1.0 - fraction.min(1.0)) / fraction))
    }
}
