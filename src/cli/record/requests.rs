//! The single requests of a device, for a recording.

use std::sync::mpsc::{Receiver, sync_channel};

use crate::cli::failure::CommandFailure;
use crate::cli::output::{json_lines, print_status_line};
use crate::probe::boot_time;
use crate::roots::SysPaths;
use crate::trace::events::{CaptureControl, TraceCapture};
use crate::trace::requests::RequestLine;
use crate::trace::stream::{RequestBatch, TraceDetail, TraceScope, follow_requests};

/// Capacity of the queue of request batches, which is drained at least at every view.
const REQUEST_QUEUE_BATCHES: usize = 65_536;

/// Traces the requests of a device.
pub(super) struct RequestRecording {
    // Dropped first, before the capture: its thread may be blocked on the full channel.
    receiver: Receiver<RequestBatch>,
    _capture: TraceCapture,
    drive: String,
    start_ns: u64,
    lost_events: u64,
}

impl RequestRecording {
    pub(super) fn start(device: &str) -> Result<Self, CommandFailure> {
        let roots = SysPaths::default();
        let scope = TraceScope::of_device(&roots, device)?;
        let (sender, receiver) = sync_channel(REQUEST_QUEUE_BATCHES);
        let drive = scope.drive_name.clone();
        let began = u64::try_from(boot_time().as_nanos()).unwrap_or(0);
        let capture = follow_requests(
            &roots,
            scope,
            TraceDetail::Full,
            move |batch: RequestBatch| {
                if !batch.requests.is_empty() || batch.status.end_reason.is_some() {
                    // The receiver is gone once the recording has ended.
                    let _ = sender.send(batch);
                }
                CaptureControl::Continue
            },
        )?;
        Ok(Self {
            receiver,
            _capture: capture,
            drive,
            start_ns: began,
            lost_events: 0,
        })
    }

    /// Takes the requests that completed since the last call, some lines of JSON at a time.
    pub(super) fn take_lines(&mut self) -> impl Iterator<Item = Result<String, CommandFailure>> {
        self.receiver.try_iter().map(|batch| {
            let lost = batch.status.lost_events.saturating_sub(self.lost_events);
            if lost > 0 {
                print_status_line(&format!("note: {lost} events were lost"));
                self.lost_events = batch.status.lost_events;
            }
            if let Some(message) = batch.status.end_reason {
                print_status_line(&format!("note: {message}"));
            }
            let requests = batch.requests.iter();
            json_lines(requests.map(|it| RequestLine::new(it, &self.drive, self.start_ns)))
        })
    }
}
