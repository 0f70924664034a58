//! What a file, a job of several files and an operation have in common: what is shown of it, its rate,
//! its bottleneck, its pages in memory.

use std::time::Duration;

use super::bottleneck::Evidence;
use super::context::{Participants, TransferContext};
use super::estimate::RateEstimator;
use super::kind::is_rate_limited;
use super::pages::DestinationPages;
use super::view::{Throttle, TransferKind, TransferState, TransferView};
use crate::files::safe_text::SafeText;
use crate::probe::sample::ProcessSample;

/// A finished transfer is shown for this long.
pub(super) const FINISHED_DISPLAY_TIME: Duration = Duration::from_secs(10);

/// Progress of one transfer.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// What is shown; rates, times and what the devices tell are added to a copy.
    pub(super) shown: TransferView,
    /// Follows what is transferred.
    pub(super) estimator: RateEstimator,
    /// Where the estimator ends; `None` if unknown.
    pub(super) total: Option<u64>,
    /// Whether it waits at its end until everything is on the device.
    pub(super) flushes_at_end: bool,
    /// When it ended.
    pub(super) ended_at: Option<Duration>,
    pub(super) pages: DestinationPages,
    evidence: Evidence,
    /// Whether its own arguments limit its rate.
    is_rate_limited: bool,
}

impl Progress {
    /// Of a process that has not moved anything yet.
    pub(super) fn of_process(process: &ProcessSample, kind: TransferKind) -> Self {
        let (name, arguments) = process.identity.program();
        Self {
            shown: TransferView {
                pid: Some(process.identity.pid),
                kind,
                command: SafeText::from_bytes(name),
                ..TransferView::default()
            },
            is_rate_limited: is_rate_limited(name, arguments),
            ..Self::default()
        }
    }

    /// Sets its state while it runs: one that does not move for a while before its end is stalled.
    pub(super) fn set_running_state(&mut self, at: Duration, stalled_after: Duration) {
        let last = self.estimator.last_value();
        let is_complete = self.total.is_some_and(|total| last >= Some(total));
        let idle = self.estimator.time_without_movement(at);
        self.shown.state = if last.is_none() {
            TransferState::UnknownPosition
        } else if !is_complete && idle >= stalled_after {
            TransferState::Stalled
        } else {
            // At its end, its last bytes are in flight: no progress is normal.
            TransferState::Moving
        };
    }

    /// Its state at its end, by the last value; whether that is `exact` or only the last one that was seen.
    pub(super) fn final_state(&self, is_exact: bool) -> TransferState {
        let last = self.estimator.last_value();
        if self.total.is_some_and(|total| last >= Some(total)) {
            TransferState::Finished
        } else if is_exact {
            TransferState::Ended
        } else {
            TransferState::Closed
        }
    }

    /// Ends it in that state.
    pub(super) fn end(&mut self, at: Duration, state: TransferState) {
        self.ended_at.get_or_insert(at);
        self.shown.state = state;
    }

    /// Whether it is over, and not shown any more.
    pub(super) fn is_gone(&self, at: Duration) -> bool {
        self.ended_at.is_some_and(|end| {
            at.saturating_sub(self.pages.settled_at(end)) >= FINISHED_DISPLAY_TIME
        })
    }

    /// Its view, with what its processes and devices tell.
    pub(super) fn view(
        &mut self,
        participants: &Participants<'_>,
        context: &TransferContext<'_>,
    ) -> TransferView {
        let (state, at) = (self.shown.state, context.sample().boot_time);
        let mut view = TransferView {
            rate_bytes_per_s: self.estimator.displayed_rate(state),
            interval_rate_bytes_per_s: self.estimator.interval_rate(state),
            ..self.shown.clone()
        };
        if let (TransferState::Moving, None, Some(total)) = (state, self.ended_at, self.total) {
            let eta = self.estimator.eta(at, total);
            (view.eta, view.eta_low, view.eta_high) = (eta.likely, eta.low, eta.high);
        }
        let device = participants.destination;
        if view.destination.is_some() {
            self.pages.add_to(&mut view, device, context);
        }
        if self.flushes_at_end && view.state == TransferState::Moving {
            self.add_flush(&mut view, device.and_then(|it| it.write_speed));
        }
        if !view.state.is_over() {
            view.throttle = self.is_rate_limited.then_some(Throttle::OwnLimit);
            self.evidence.add_to(&mut view, participants, context);
        }
        view
    }

    /// Adds the flush that it waits for at its end to the time left: what is in memory and what is still
    /// to be copied is written as fast as before, or at the speed of the device.
    fn add_flush(&self, view: &mut TransferView, write_speed: Option<f64>) {
        let (Some(held), Some(total)) = (view.not_on_disk_bytes, self.total) else {
            return;
        };
        let copied = self.estimator.last_value().unwrap_or(0);
        let unwritten = held.saturating_add(total.saturating_sub(copied));
        let Some(flush) = self.pages.time_to_write(unwritten, write_speed) else {
            return;
        };
        let is_copied = copied >= total;
        for eta in [&mut view.eta, &mut view.eta_low, &mut view.eta_high] {
            if is_copied || eta.is_some_and(|eta| eta < flush) {
                *eta = Some(flush);
            }
        }
    }
}
