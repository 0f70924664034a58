//! Two executions at once: a foreground, and a background that joins and leaves.

use std::ops::Range;
use std::sync::mpsc;
use std::time::Duration;

use super::BenchError;
use super::runner::{Bench, Report};
use crate::engine::{Control, EngineError, Outcome, Plan};

/// What runs beside a foreground, and when.
#[derive(Debug)]
pub struct Background<'a> {
    /// What it does; it ends when it is told to, or by its own limits.
    pub plan: &'a Plan,
    /// When it joins and leaves, by the foreground's clock.
    pub during: Range<Duration>,
}

/// What both found.
#[derive(Debug)]
pub struct Both {
    /// The foreground.
    pub foreground: Outcome,
    /// The background; `None` when the foreground ended before it joined, or the engine's
    /// time is virtual.
    pub background: Option<Outcome>,
}

/// What the foreground tells the background's thread.
struct Join;

impl Bench<'_> {
    /// Executes a foreground plan and, for a part of its time, another one beside it. The
    /// foreground is reported as by [`measure`](Self::measure).
    ///
    /// # Errors
    /// When either could not be started.
    pub fn beside(
        &mut self,
        phase: &str,
        plan: &Plan,
        background: &Background<'_>,
        report: &mut Report<'_>,
    ) -> Result<Both, BenchError> {
        let engine = self.engine;
        let leave = Control::default();
        let (sender, joined) = mpsc::sync_channel(1);
        let (foreground, thread) = std::thread::scope(|scope| {
            let leave = &leave;
            let thread = scope.spawn(move || {
                // No word at all: the foreground was over before the background's time.
                let Join = joined.recv().ok()?;
                Some(engine.execute(background.plan, leave, &mut |_| {}))
            });
            // Without overlap in time there is no interference to be seen.
            let mut sender = (!engine.has_virtual_time()).then_some(sender);
            let mut clock = |elapsed| {
                if background.during.contains(&elapsed)
                    && let Some(sender) = sender.take()
                {
                    // The thread waits for this word alone; it cannot be gone.
                    let _ = sender.send(Join);
                }
                if elapsed >= background.during.end {
                    leave.cancel();
                }
            };
            let foreground = self.phase(phase, 1.0, plan, Some(report), &mut clock);
            leave.cancel();
            drop(sender);
            (foreground, thread.join())
        });
        let foreground = foreground?;
        report(&mut self.findings, &foreground.tally, foreground.elapsed);
        self.phase_finished();
        let mut joined = thread.map_err(|_| EngineError::Worker)?.transpose()?;
        if let Some(outcome) = &mut joined {
            self.account(background.plan, outcome);
        }
        Ok(Both {
            foreground,
            background: joined,
        })
    }
}
