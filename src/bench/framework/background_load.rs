//! Two executions at once: a foreground, and a background that joins and leaves.

use std::ops::Range;
use std::sync::mpsc;
use std::time::Duration;

use super::context::{OutcomeReporter, RunContext};
use crate::bench::BenchError;
use crate::engine::{CancellationToken, EngineError, ExecutionOutcome, Plan};

/// What runs beside a foreground, and when.
#[derive(Debug)]
pub struct BackgroundLoad<'a> {
    /// What it does; it ends when it is told to, or by its own limits.
    pub plan: &'a Plan,
    /// When it joins and leaves, by the foreground's clock.
    pub active_interval: Range<Duration>,
}

/// What both found.
#[derive(Debug)]
pub struct ConcurrentOutcome {
    /// The foreground.
    pub foreground: ExecutionOutcome,
    /// The background; `None` when the foreground ended before it joined, or the engine's
    /// time is virtual.
    pub background: Option<ExecutionOutcome>,
}

/// What the foreground tells the background's thread.
struct StartSignal;

impl RunContext<'_> {
    /// Executes a foreground plan and, for a part of its time, another one beside it. The
    /// foreground is reported as by [`measure`](Self::measure).
    ///
    /// # Errors
    /// When either could not be started.
    pub fn measure_with_background(
        &mut self,
        phase: &str,
        plan: &Plan,
        background: &BackgroundLoad<'_>,
        report: &mut OutcomeReporter<'_>,
    ) -> Result<ConcurrentOutcome, BenchError> {
        let engine = self.engine;
        let leave = CancellationToken::default();
        let (sender, joined) = mpsc::sync_channel(1);
        let (foreground, thread) = std::thread::scope(|scope| {
            let leave = &leave;
            let thread = scope.spawn(move || {
                // No word at all: the foreground was over before the background's time.
                let StartSignal = joined.recv().ok()?;
                Some(engine.execute(background.plan, leave, &mut |_| {}))
            });
            // Without overlap in time there is no interference to be seen.
            let mut sender = (!engine.has_virtual_time()).then_some(sender);
            let mut clock = |elapsed| {
                if background.active_interval.contains(&elapsed)
                    && let Some(sender) = sender.take()
                {
                    // The thread waits for this word alone; it cannot be gone.
                    let _ = sender.send(StartSignal);
                }
                if elapsed >= background.active_interval.end {
                    leave.cancel();
                }
            };
            let foreground = self.execute_phase(phase, 1.0, plan, Some(report), &mut clock);
            leave.cancel();
            drop(sender);
            (foreground, thread.join())
        });
        let foreground = foreground?;
        report(&mut self.findings, &foreground.stats, foreground.elapsed);
        self.phase_finished();
        let mut joined = thread
            .map_err(|_| EngineError::WorkerPanicked)?
            .transpose()?;
        if let Some(outcome) = &mut joined {
            self.add_outcome(background.plan, outcome);
        }
        Ok(ConcurrentOutcome {
            foreground,
            background: joined,
        })
    }
}
