//! The thread that starts and stops captures for the Requests screen: both may take the kernel a
//! while.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::services::FeedSenders;
use super::threads::CommandThread;
use crate::app::Message;
use crate::probe::boot_time;
use crate::roots::SysPaths;
use crate::trace::events::{CaptureControl, TraceCapture};
use crate::trace::stream::{TraceDetail, TraceScope, follow_requests};
use crate::tui::screens::requests::TraceUnavailable;
use crate::tui::screens::requests::view::RequestAggregator;

/// Time between two views in nanoseconds of the trace's clock.
const VIEW_INTERVAL_NS: u64 = 200_000_000;

/// How long to wait at the end for the kernel to remove a capture; the next start removes what is
/// left.
const STOP_TIMEOUT: Duration = Duration::from_millis(600);

/// Advice when a capture ended by itself.
const ENDED_ADVICE: &str =
    "press r to start a new trace; rates, transfers and benchmarks work without it";

/// Traces the requests of one device at a time; dropping it ends the trace.
#[derive(Debug)]
pub(crate) struct RequestFollower(CommandThread<Option<String>>);

impl RequestFollower {
    pub(crate) fn start(roots: SysPaths, senders: FeedSenders) -> std::io::Result<Self> {
        let body = move |inbox: &Receiver<_>| handle_commands(&roots, &senders, inbox);
        CommandThread::start("follower", STOP_TIMEOUT, body).map(Self)
    }

    /// Traces this device from now on, or none.
    pub(crate) fn follow_device(&self, device: Option<String>) {
        self.0.send(device);
    }
}

fn handle_commands(roots: &SysPaths, senders: &FeedSenders, inbox: &Receiver<Option<String>>) {
    let mut capture: Option<TraceCapture> = None;
    while let Ok(mut device) = inbox.recv() {
        // When the user pages through the devices, only the last one matters.
        while let Ok(later) = inbox.try_recv() {
            device = later;
        }
        if let Some(previous) = capture.take() {
            previous.stop();
        }
        let Some(device) = device else { continue };
        match start_capture(roots, &device, senders) {
            Ok(started) => capture = Some(started),
            Err(message) => {
                // The receiver is gone once the program ends.
                let _ = senders.messages.blocking_send(message);
            }
        }
    }
}

fn start_capture(
    roots: &SysPaths,
    device: &str,
    senders: &FeedSenders,
) -> Result<TraceCapture, Message> {
    let unavailable = |reason: String, advice: &str, concerns_all_devices| {
        Message::FollowFailed(TraceUnavailable {
            reason: reason.into(),
            advice: advice.into(),
            concerns_all_devices,
        })
    };
    let scope = TraceScope::of_device(roots, device)
        .map_err(|error| unavailable(error.to_string(), error.advice(), false))?;
    let started_ns = u64::try_from(boot_time().as_nanos()).unwrap_or(0);
    let mut aggregator = RequestAggregator::new(device, started_ns);
    let views = senders.requests.clone();
    let messages = senders.messages.clone();
    let mut last = 0;
    follow_requests(roots, scope, TraceDetail::Full, move |batch| {
        aggregator.add_requests(&batch.requests);
        aggregator.set_trace_status(batch.status.lost_events, batch.in_flight);
        if batch.status.complete_until.saturating_sub(last) >= VIEW_INTERVAL_NS {
            last = batch.status.complete_until;
            views.send_replace(Some(Arc::new(aggregator.view(batch.status.complete_until))));
        }
        if let Some(reason) = batch.status.end_reason {
            // The receiver is gone once the program ends.
            let _ = messages.blocking_send(unavailable(reason, ENDED_ADVICE, false));
        }
        CaptureControl::Continue
    })
    .map_err(|error| {
        let concerns_all = error.concerns_all_devices();
        unavailable(error.to_string(), &error.advice(), concerns_all)
    })
}
