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

    /// Takes the requests that were queued since the last call, as lines of JSON.
    pub(super) fn take_lines(&mut self) -> Result<String, CommandFailure> {
        let mut lines = String::new();
        for batch in self.feed.batches.try_iter() {
            let requests = batch.requests.iter();
            lines += &json_lines(
                requests.map(|it| RequestLine::new(it, &self.feed.drive, self.feed.start_ns)),
            )?;
            let lost = batch.lost_events.saturating_sub(self.lost_events);
            if lost > 0 {
                print_status_line(&format!("note: {lost} events were lost"));
                self.lost_events = batch.lost_events;
            }
            if let Some(message) = batch.end_reason {
                print_status_line(&format!("note: {message}"));
            }
        }
        Ok(lines)
    }
}
