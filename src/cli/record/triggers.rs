//! The triggers of a flight recorder.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::alerts::ConditionSet;
use crate::cli::output::print_status_line;
use crate::cli::pace;
use crate::engine::CancellationToken;
use crate::recording::{AFTER_TRIGGER, FlightRecorder, TRIGGER_SAMPLE_INTERVAL, TriggerRecord};
use crate::roots::SysPaths;
use crate::snapshot::Snapshot;
use crate::why::recorder::SCAN_INTERVAL;

/// Watches for triggers while a recording waits for its next sample.
pub(super) struct TriggerWatch {
    recorder: FlightRecorder,
    /// When the pending trigger is to be finished.
    pending: Option<Instant>,
}

impl TriggerWatch {
    /// Starts watching; says why requests cannot be kept.
    pub(super) fn start(conditions: ConditionSet, most_requests: usize) -> Self {
        let recorder = FlightRecorder::start(SysPaths::default(), conditions, most_requests);
        if let Some(reason) = recorder.trace_problem() {
            let note = "note: triggers are kept without requests";
            print_status_line(&format!("{note}: {reason}"));
        }
        Self {
            recorder,
            pending: None,
        }
    }

    /// Adds a snapshot of this time on the boot clock.
    pub(super) fn observe(&mut self, live: &Arc<Snapshot>, now: Duration) {
        for trigger in self.recorder.observe(live, now) {
            let (time, condition) = (&trigger.time, &trigger.condition);
            print_status_line(&format!("{time} {condition}: triggered"));
            let due = Instant::now() + AFTER_TRIGGER;
            self.pending.get_or_insert(due);
        }
    }

    /// Waits until the next sample is due: a pending trigger is followed closely. False if a signal
    /// arrived.
    pub(super) fn wait_until_due(&mut self, due: Instant, control: &CancellationToken) -> bool {
        let Some(finish_due) = self.pending else {
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
        self.pending.is_some_and(|due| Instant::now() >= due)
    }

    /// Ends the time after the pending trigger, if there is one.
    pub(super) fn finish(&mut self) -> Option<(TriggerRecord, Vec<u8>)> {
        self.pending = None;
        self.recorder.finish_pending()
    }
}
