//! Requests of the last seconds, which the kernel keeps in its memory until something happens.

use std::collections::{BTreeMap, HashMap};

use crate::drive::identity;
use crate::roots::SysPaths;
use crate::trace::events::event::DeviceNumber;
use crate::trace::events::{Event, EventKind, EventRecorder, TraceDetail, TraceError};
use crate::trace::partitions::drives_of_partitions;
use crate::trace::requests::{RequestMatcher, TracedRequest};

/// Memory of the buffers of all processors together.
const TOTAL_BUFFER_KIB: usize = 32 * 1024;
/// Limits of the buffer of one processor.
const MIN_BUFFER_KIB: usize = 256;
const MAX_BUFFER_KIB: usize = 8 * 1024;

/// A trace of all drives that nobody reads until something has happened: the kernel overwrites the oldest
/// events. Dropping it ends the recording.
#[derive(Debug)]
pub struct RetainedRequestTrace {
    roots: SysPaths,
    recorder: EventRecorder,
    /// Start of the recording, or of its continuation, on the events' clock.
    recording_since: u64,
}

/// The requests around a time.
#[derive(Debug, Clone, Default)]
pub struct RetainedRequests {
    /// In order of completion.
    pub requests: Vec<TracedRequest>,
    /// Requests of that time that were left out, because there were too many: those farthest away.
    pub left_out: u64,
    /// Time since which they are complete (`CLOCK_BOOTTIME`, nanoseconds).
    pub complete_since: u64,
    /// Requests that had not completed at the end.
    pub in_flight: u64,
    /// Events that the kernel dropped.
    pub dropped_events: u64,
    /// Names of the drives.
    pub drive_names: HashMap<DeviceNumber, String>,
}

impl RetainedRequestTrace {
    /// Starts tracing.
    ///
    /// # Errors
    /// When requests cannot be traced, and why.
    pub fn start(roots: &SysPaths) -> Result<Self, TraceError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let buffer = (TOTAL_BUFFER_KIB / processors).clamp(MIN_BUFFER_KIB, MAX_BUFFER_KIB);
        let recorder = EventRecorder::new(roots, &[], TraceDetail::Full, buffer as u32)?;
        recorder.set_overwrite()?;
        Ok(Self {
            recording_since: recorder.start()?,
            recorder,
            roots: roots.clone(),
        })
    }

    /// Reads what the kernel has kept, and starts anew. Recording stops meanwhile. Returns the requests that completed
    /// from a time on, at most so many of all drives together: of each drive those nearest to the time of interest.
    /// Times are on the trace's clock (`CLOCK_BOOTTIME`, nanoseconds).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take(
        &mut self,
        (from, at): (u64, u64),
        most: usize,
    ) -> Result<RetainedRequests, TraceError> {
        self.recorder.stop()?;
        let read = self.recorder.reader.read_events();
        let dropped_events = self.recorder.reader.dropped_events();
        let since = self.recording_since;
        self.recording_since = self.recorder.start()?;
        read?;
        let devices = identity::list_block_devices(&self.roots);
        let matcher = RequestMatcher::new(drives_of_partitions(&devices));
        let found = self.recorder.reader.deliver(None, |events| {
            let mut found = match_retained(events, since, matcher);
            found.keep(from, at, most);
            found
        });
        let names = devices
            .into_iter()
            .map(|device| (device.number, device.name));
        Ok(RetainedRequests {
            dropped_events,
            drive_names: names.collect(),
            ..found
        })
    }
}

/// The requests of events that began to be recorded at a time.
fn match_retained(events: &[Event], since: u64, mut matcher: RequestMatcher) -> RetainedRequests {
    // A processor's first page says whether earlier ones were overwritten.
    let overwritten = events
        .iter()
        .filter(|event| event.kind == EventKind::EventsLost);
    let complete_since = overwritten.map(|event| event.at).fold(since, u64::max);
    let mut requests = Vec::new();
    let complete = events.iter().filter(|event| event.at >= complete_since);
    for event in complete.filter(|event| event.kind != EventKind::EventsLost) {
        matcher.add_event(event, |request| requests.push(request));
    }
    RetainedRequests {
        requests,
        complete_since,
        in_flight: matcher.in_flight() as u64,
        ..RetainedRequests::default()
    }
}

impl RetainedRequests {
    /// Keeps of each drive as many requests, so that a busy drive does not push out those of the others.
    fn keep(&mut self, from: u64, at: u64, most: usize) {
        let mut by_drive: BTreeMap<DeviceNumber, Vec<TracedRequest>> = BTreeMap::new();
        for request in self.requests.drain(..) {
            if request.timestamps.completed >= from {
                by_drive.entry(request.device).or_default().push(request);
            }
        }
        let mut drives: Vec<Vec<TracedRequest>> = by_drive.into_values().collect();
        drives.sort_by_key(Vec::len);
        let count = drives.len();
        for (index, mut requests) in drives.into_iter().enumerate() {
            // What the quiet drives leave is for the busy ones.
            let share = (most - self.requests.len()) / (count - index);
            self.left_out += requests.len().saturating_sub(share) as u64;
            requests.sort_by_key(|request| request.timestamps.completed.abs_diff(at));
            requests.truncate(share);
            self.requests.append(&mut requests);
        }
        self.requests
            .sort_by_key(|request| request.timestamps.completed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::event::RwbsFlags;

    const BUSY: DeviceNumber = (8, 0);
    const QUIET: DeviceNumber = (8, 16);

    fn kept(most: usize, requests: &[(DeviceNumber, u64)]) -> (Vec<(DeviceNumber, u64)>, u64) {
        let request = |(device, completed): &(DeviceNumber, u64)| {
            let mut request = TracedRequest {
                device: *device,
                ..TracedRequest::block_read()
            };
            request.timestamps.completed = *completed;
            request
        };
        let mut found = RetainedRequests {
            requests: requests.iter().map(request).collect(),
            ..RetainedRequests::default()
        };
        found.keep(0, 1000, most);
        let kept = found.requests.iter();
        let kept = kept.map(|it| (it.device, it.timestamps.completed));
        (kept.collect(), found.left_out)
    }

    #[test]
    fn requests_nearest_to_the_time_are_kept_in_order() {
        let busy: Vec<_> = (0..300).map(|index| (BUSY, 50 + index * 10)).collect();
        let (kept, left_out) = kept(30, &busy);
        let times: Vec<u64> = kept.iter().map(|(_, completed)| *completed).collect();
        assert_eq!(times, (0..30).map(|it| 850 + it * 10).collect::<Vec<u64>>());
        assert_eq!(left_out, 300 - 30);
    }

    #[test]
    fn busy_drive_does_not_push_out_requests_of_another() {
        let mut requests: Vec<_> = (0..400).map(|index| (BUSY, 200 + index * 4)).collect();
        requests.extend([110, 300, 1500].map(|completed| (QUIET, completed)));
        requests.sort_by_key(|(_, completed)| *completed);
        let (kept, left_out) = kept(30, &requests);
        let quiet: Vec<u64> = kept
            .iter()
            .filter(|(device, _)| *device == QUIET)
            .map(|(_, completed)| *completed)
            .collect();
        assert_eq!(quiet, [110, 300, 1500]);
        assert_eq!((kept.len(), left_out), (30, 403 - 30));
    }

    #[test]
    fn requests_are_complete_since_the_last_event_that_was_overwritten() {
        let event = |kind, at, sector| Event {
            device: BUSY,
            sector,
            sectors: 8,
            flags: RwbsFlags::from_field(b"R"),
            ..Event::new(kind, at)
        };
        let events = [
            event(EventKind::Queued, 10, 0),
            event(EventKind::EventsLost, 20, 0),
            event(EventKind::Issued, 30, 8),
            event(EventKind::Completed, 40, 8),
            event(EventKind::Issued, 50, 16),
            event(EventKind::Completed, 60, 16),
            event(EventKind::Issued, 70, 24),
        ];
        let mut found = match_retained(&events, 5, RequestMatcher::default());
        found.keep(60, 60, 10);
        let sectors: Vec<u64> = found.requests.iter().map(|it| it.sector).collect();
        assert_eq!((sectors, found.complete_since), (vec![16], 20));
        assert_eq!((found.in_flight, found.left_out), (1, 0));
    }
}
