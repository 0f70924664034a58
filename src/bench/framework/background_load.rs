//! Concurrent execution of a foreground plan and a background load that starts and stops.

use std::ops::Range;
use std::sync::mpsc;
use std::time::Duration;

use super::context::{OutcomeReporter, PhaseHooks, RunContext};
use crate::bench::BenchError;
use crate::engine::{CancellationToken, EngineError, ExecutionOutcome, Plan};

/// A background load and its schedule.
#[derive(Debug)]
pub struct BackgroundLoad<'a> {
    /// The background plan; it ends on request or at its own limits.
    pub plan: &'a Plan,
    /// Start and end time on the foreground's clock.
    pub active_interval: Range<Duration>,
}

/// Outcomes of both executions.
#[derive(Debug)]
pub struct ConcurrentOutcome {
    /// Outcome of the foreground plan.
    pub foreground: ExecutionOutcome,
    /// Outcome of the background load, or why it did not start.
    pub background: Result<ExecutionOutcome, NotStarted>,
}

/// Why a background load did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotStarted {
    /// The engine uses virtual time, in which two loads cannot overlap.
    VirtualTime,
    /// The foreground ended before the load was due.
    ForegroundEnded,
}

/// Start message from the foreground to the background thread.
struct StartSignal;

impl RunContext<'_> {
    /// Executes a foreground plan and, for part of its run time, a background load. The foreground
    /// is reported in the same way as by [`measure`](Self::measure).
    ///
    /// # Errors
    /// When either plan could not be started.
    pub fn measure_with_background(
        &mut self,
        phase: &str,
        plan: &Plan,
        background: &BackgroundLoad<'_>,
        report: &mut OutcomeReporter<'_>,
    ) -> Result<ConcurrentOutcome, BenchError> {
        let engine = self.engine;
        let stop = CancellationToken::default();
        let (sender, start) = mpsc::sync_channel(1);
        let (foreground, thread) = std::thread::scope(|scope| {
            let stop = &stop;
            let thread = scope.spawn(move || {
                // The channel closes without a message: the foreground ended before the
                // background's start.
                let StartSignal = start.recv().ok()?;
                Some(engine.execute(background.plan, stop, &mut |_| {}))
            });
            // Without overlap in time no interference can be observed.
            let mut sender = (!engine.has_virtual_time()).then_some(sender);
            let mut clock = |elapsed| {
                if background.active_interval.contains(&elapsed)
                    && let Some(sender) = sender.take()
                {
                    // The thread blocks on this message only, so it still exists.
                    let _ = sender.send(StartSignal);
                }
                if elapsed >= background.active_interval.end {
                    stop.cancel();
                }
            };
            let hooks = PhaseHooks {
                report: Some(&mut *report),
                clock: Some(&mut clock),
                ..PhaseHooks::default()
            };
            let foreground = self.execute_phase(phase, 1.0, plan, hooks);
            stop.cancel();
            drop(sender);
            (foreground, thread.join())
        });
        let foreground = foreground?;
        report(&mut self.findings, &foreground.stats, foreground.elapsed);
        self.phase_finished();
        let mut background_outcome = thread
            .map_err(|_| EngineError::WorkerPanicked)?
            .transpose()?;
        if let Some(outcome) = &mut background_outcome {
            self.add_outcome(background.plan, outcome);
        }
        Ok(ConcurrentOutcome {
            foreground,
            background: background_outcome.ok_or(match engine.has_virtual_time() {
                true => NotStarted::VirtualTime,
                false => NotStarted::ForegroundEnded,
            }),
        })
    }
}
