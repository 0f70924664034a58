//! The thread that starts and stops captures for the Requests screen: both may take the kernel a
//! while.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::services::FeedSenders;
use super::threads::join_within;
use crate::app::Message;
use crate::app::requests::TraceUnavailable;
use crate::model::requests::RequestAggregator;
use crate::probe::boot_time;
use crate::probe::trace::{CaptureControl, TraceCapture};
use crate::request_trace::{TraceDetail, TraceScope, follow_requests};
use crate::roots::SysPaths;

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
pub(crate) struct RequestFollower {
    commands: Option<Sender<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl RequestFollower {
    pub(crate) fn start(roots: SysPaths, sources: FeedSenders) -> std::io::Result<Self> {
        let (orders, inbox) = channel();
        let thread = thread::Builder::new()
            .name("follower".to_owned())
            .spawn(move || handle_command(&roots, &sources, &inbox))?;
        Ok(Self {
            commands: Some(orders),
            thread: Some(thread),
        })
    }

    /// Traces this device from now on, or none.
    pub(crate) fn follow_device(&self, device: Option<String>) {
        if let Some(orders) = &self.commands {
            // A thread that has ended has panicked, which the loop learns from the panic hook.
            let _ = orders.send(device);
        }
    }
}

impl Drop for RequestFollower {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            join_within(thread, STOP_TIMEOUT);
        }
    }
}

fn handle_command(roots: &SysPaths, sources: &FeedSenders, inbox: &Receiver<Option<String>>) {
    let mut capture: Option<TraceCapture> = None;
    while let Ok(mut device) = inbox.recv() {
        // When the user pages through the devices, only the last one matters.
        while let Ok(later) = inbox.try_recv() {
            device = later;
        }
        if let Some(before) = capture.take() {
            before.stop();
        }
        let Some(device) = device else { continue };
        match start_capture(roots, &device, sources) {
            Ok(begun) => capture = Some(begun),
            Err(refused) => {
                // The receiver is gone once the program ends.
                let _ = sources.messages.blocking_send(refused);
            }
        }
    }
}

fn start_capture(
    roots: &SysPaths,
    device: &str,
    sources: &FeedSenders,
) -> Result<TraceCapture, Message> {
    let unavailable = |reason: String, advice: &str| {
        Message::FollowFailed(TraceUnavailable {
            reason: reason.into(),
            advice: advice.into(),
        })
    };
    let scope = TraceScope::of_device(roots, device)
        .map_err(|error| unavailable(error.to_string(), error.advice()))?;
    let began = u64::try_from(boot_time().as_nanos()).unwrap_or(0);
    let mut board = RequestAggregator::new(device, began);
    let views = sources.requests.clone();
    let messages = sources.messages.clone();
    let mut last = 0;
    follow_requests(roots, scope, TraceDetail::Full, move |told| {
        board.add_requests(&told.requests);
        board.set_trace_status(told.lost_events, told.match_errors, told.in_flight);
        if told.complete_until.saturating_sub(last) >= VIEW_INTERVAL_NS {
            last = told.complete_until;
            views.send_replace(Some(Arc::new(board.view(told.complete_until))));
        }
        if let Some(reason) = told.end_reason {
            // The receiver is gone once the program ends.
            let _ = messages.blocking_send(unavailable(reason, ENDED_ADVICE));
        }
        CaptureControl::Continue
    })
    .map_err(|error| unavailable(error.to_string(), &error.advice()))
}
