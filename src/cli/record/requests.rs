//! The single requests of a device, for a recording.

use crate::cli::failure::CommandFailure;
use crate::cli::output::{json_lines, print_status_line};
use crate::cli::request_feed::RequestFeed;
use crate::trace::requests::RequestLine;

/// Capacity of the queue of request batches, which is drained at least at every view.
const QUEUED_BATCHES: usize = 65_536;

/// Traces the requests of a device.
pub(super) struct RequestRecording {
    feed: RequestFeed,
    lost_events: u64,
}

impl RequestRecording {
    pub(super) fn start(device: &str) -> Result<Self, CommandFailure> {
        Ok(Self {
            feed: RequestFeed::start(device, QUEUED_BATCHES)?,
            lost_events: 0,
        })
    }

    /// Takes the requests that completed since the last call, some lines of JSON at a time.
    pub(super) fn take_lines(&mut self) -> impl Iterator<Item = Result<String, CommandFailure>> {
        let Self { feed, lost_events } = self;
        feed.batches.try_iter().map(|batch| {
            let lost = batch.status.lost_events.saturating_sub(*lost_events);
            if lost > 0 {
                print_status_line(&format!("note: {lost} events were lost"));
                *lost_events = batch.status.lost_events;
            }
            if let Some(message) = batch.status.end_reason {
                print_status_line(&format!("note: {message}"));
            }
            let requests = batch.requests.iter();
            json_lines(requests.map(|it| RequestLine::new(it, &feed.drive, feed.start_ns)))
        })
    }
}
