//! The triggers of a flight recorder.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cli::output::print_status_line;
use crate::cli::pace;
use crate::condition::ConditionSet;
use crate::engine::CancellationToken;
use crate::flight_recorder::{FlightRecorder, KeptTrigger, TRIGGER_SAMPLE_INTERVAL};
use crate::model::Snapshot;
use crate::recording::AFTER_TRIGGER;
use crate::roots::SysPaths;
use crate::window_recorder::SCAN_INTERVAL;

/// Watches for triggers while a recording waits for its next sample.
pub(super) struct TriggerWatch {
    recorder: FlightRecorder,
    /// When the pending trigger is finished.
    finish_due: Option<Instant>,
}

impl TriggerWatch {
    /// Starts watching; says why requests cannot be kept.
    pub(super) fn start(conditions: ConditionSet, most_requests: usize) -> Self {
        let recorder = FlightRecorder::start(SysPaths::default(), conditions, most_requests);
        if let Some(reason) = recorder.trace_problem() {
            print_status_line(&format!(
                "note: triggers are kept without requests: {reason}"
            ));
        }
        Self {
            recorder,
            finish_due: None,
        }
    }

    /// Adds a snapshot of this time on the boot clock.
    pub(super) fn observe(&mut self, live: &Arc<Snapshot>, now: Duration) {
        if let Some(trigger) = self.recorder.observe(live, now) {
            print_status_line(&format!(
                "{} {}: triggered",
                trigger.time, trigger.condition
            ));
            self.finish_due = Some(Instant::now() + AFTER_TRIGGER);
        }
    }

    /// Waits until the next sample is due: a pending trigger is followed closely. False if a signal
    /// arrived.
    pub(super) fn wait_until_due(&mut self, due: Instant, control: &CancellationToken) -> bool {
        let Some(finish_due) = self.finish_due else {
            return pace::wait_until_due(due, control);
        };
        let due = due
            .min(finish_due)
            .min(Instant::now() + TRIGGER_SAMPLE_INTERVAL);
        loop {
            self.recorder.scan();
            let now = Instant::now();
            if now >= due {
                return true;
            }
            if !pace::wait_until_due(due.min(now + SCAN_INTERVAL), control) {
                return false;
            }
        }
    }

    /// Whether the time after the pending trigger has passed.
    pub(super) fn is_due(&self) -> bool {
        self.finish_due.is_some_and(|due| Instant::now() >= due)
    }

    /// Ends the time after the pending trigger, if there is one.
    pub(super) fn finish(&mut self) -> Option<KeptTrigger> {
        self.finish_due = None;
        self.recorder.finish_pending()
    }
}
