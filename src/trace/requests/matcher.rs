//! Matches events to requests.
//!
//! A bio waits from its queueing until the sectors that a request is dispatched with cover it; the request is in
//! the drive until its sectors are completed. Merges and splits follow from the sectors.

use std::collections::HashMap;

use super::dirtied::WritebackAttribution;
use super::ranges::{RangeMap, SectorRange};
use super::request::{MatchKind, RequestActor, RequestOperation, TracedRequest};
use crate::trace::events::event::{DeviceNumber, Event, EventKind};

/// Remaps whose bio was not queued yet: usually it is queued next.
const MAX_REMAPS: usize = 4096;

/// Events that could not be matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchErrors {
    /// Completions of requests whose issue was not traced: they were in flight when the trace
    /// began, or events were lost.
    pub unmatched_completions: u64,
    /// Requests in flight when events were lost: their completion may be among these.
    pub abandoned_requests: u64,
}

/// Matches events to requests: pure, and in bounded memory.
#[derive(Debug, Default)]
pub struct RequestMatcher {
    drive_by_device: HashMap<DeviceNumber, DeviceNumber>,
    /// Bios, and what they were merged to.
    waiting: RangeMap<TracedRequest>,
    issued: RangeMap<TracedRequest>,
    remap_origins: HashMap<(DeviceNumber, u64), (DeviceNumber, u64)>,
    attribution: WritebackAttribution,
    match_errors: MatchErrors,
}

impl RequestMatcher {
    /// Creates a matcher with the drive of each partition. Events of bios name the partition, those
    /// of requests the drive; the sectors of both count from the start of the drive.
    #[must_use]
    pub fn new(drives: HashMap<DeviceNumber, DeviceNumber>) -> Self {
        Self {
            drive_by_device: drives,
            ..Self::default()
        }
    }

    /// Processes the next event, and passes the request that it completes to `done`.
    pub fn add_event(&mut self, event: &Event, done: impl FnMut(TracedRequest)) {
        match event.kind {
            EventKind::EventsLost => {
                self.match_errors.abandoned_requests += self.in_flight() as u64;
                self.clear_in_flight();
            }
            EventKind::RecordingResumed => self.clear_in_flight(),
            EventKind::Remapped => self.on_remap(event),
            EventKind::Queued => self.on_queue(event),
            EventKind::Allocated => self.on_allocate(event),
            EventKind::Inserted => self.on_insert(event),
            EventKind::Issued => self.on_issue(event),
            EventKind::Requeued => self.on_requeue(event),
            EventKind::Completed => self.on_complete(event).into_iter().for_each(done),
            EventKind::BioCompleted => self.on_bio_complete(event).into_iter().for_each(done),
            _ => self.attribution.record_event(event),
        }
    }

    /// Events that could not be matched so far.
    #[must_use]
    pub fn gaps(&self) -> MatchErrors {
        self.match_errors
    }

    /// Number of requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        let waiting = self.waiting.values();
        // A bio without a request is merged later, or it is one of a device that completes none.
        let allocated = waiting.filter(|request| request.timestamps.allocated.is_some());
        self.issued.len() + allocated.count()
    }

    /// Queue time of the oldest request in flight whose queueing was traced.
    #[must_use]
    pub fn oldest_queued(&self) -> Option<u64> {
        let requests = self.waiting.values().chain(self.issued.values());
        let queued = requests.filter_map(|request| request.timestamps.queued);
        queued.min()
    }

    fn range_of(&self, event: &Event) -> SectorRange {
        range_of_event(event, &self.drive_by_device)
    }

    fn on_remap(&mut self, event: &Event) {
        let to = self.range_of(event).lane.0;
        if self.remap_origins.len() >= MAX_REMAPS {
            self.remap_origins.clear();
        }
        // Where a remap names the drive twice, the partition is reported.
        self.remap_origins.insert((to, event.sector), event.origin);
    }

    fn on_queue(&mut self, event: &Event) {
        let range = self.range_of(event);
        let mut request = queued_bio(range, event);
        if request.operation == RequestOperation::Write {
            request.dirtied_by = self.attribution.charged_actor(event.pid);
        }
        request.remapped_from = self.remap_origins.remove(&(range.lane.0, event.sector));
        self.waiting.begin(range, request);
    }

    /// Makes one request of what waits in the sectors of an event.
    fn take_waiting(&mut self, range: SectorRange, event: &Event) -> TracedRequest {
        let mut whole: Option<TracedRequest> = None;
        self.waiting.take(range, |begun| {
            let mut value = begun.value;
            value.is_split |= begun.is_part;
            whole = Some(match whole.take() {
                Some(other) => merged(other, value),
                None => value,
            });
        });
        let mut request = whole.unwrap_or_else(|| new_request(range, event));
        request.sector = range.sector;
        request.bytes = u64::from(event.bytes);
        request
    }

    fn on_allocate(&mut self, event: &Event) {
        let range = self.range_of(event);
        let mut request = self.take_waiting(range, event);
        request.timestamps.allocated = Some(event.at);
        self.waiting.begin(range, request);
    }

    fn on_insert(&mut self, event: &Event) {
        if let Some(request) = self.waiting.at_mut(self.range_of(event)) {
            request.timestamps.inserted.get_or_insert(event.at);
        }
    }

    fn on_issue(&mut self, event: &Event) {
        let range = self.range_of(event);
        let mut request = self.take_waiting(range, event);
        request.flags = event.flags;
        request.timestamps.issued = Some(event.at);
        self.issued.begin(range, request);
    }

    fn on_requeue(&mut self, event: &Event) {
        if let Some(mut begun) = self.issued.take_at(self.range_of(event)) {
            begun.value.requeue_count += 1;
            begun.value.timestamps.issued = None;
            self.waiting.begin(begun.range, begun.value);
        }
    }

    fn on_complete(&mut self, event: &Event) -> Option<TracedRequest> {
        let range = self.range_of(event);
        let mut taken = self.issued.take_at(range);
        if taken.is_none() && range.lane.1 == MatchKind::FlushRequest {
            // It is served by a command and never issued itself.
            taken = self.waiting.take_at(range);
        }
        let Some(mut begun) = taken else {
            // A write with a flush is completed twice, the second time without sectors.
            self.match_errors.unmatched_completions += u64::from(event.sectors > 0);
            return None;
        };
        if event.error != 0 {
            begun.value.error = event.error;
        }
        let end = begun.range.end();
        if range.end() < end {
            // The rest follows.
            begun.range.sector = range.end();
            begun.range.sectors = end - range.end();
            self.issued.begin(begun.range, begun.value);
            return None;
        }
        begun.value.timestamps.completed = event.at;
        Some(begun.value)
    }

    /// A bio-based device: only the start and the end of the bio are known.
    fn on_bio_complete(&mut self, event: &Event) -> Option<TracedRequest> {
        let range = self.range_of(event);
        let mut request = self.waiting.take_at(range)?.value;
        request.bytes = u64::from(event.bytes);
        request.timestamps.completed = event.at;
        request.error = event.error;
        Some(request)
    }

    /// Drops all requests in flight: their next event may be among the lost ones, and an event of a
    /// later request at the same sector would be matched to them.
    fn clear_in_flight(&mut self) {
        self.issued.clear();
        self.waiting.clear();
        self.remap_origins.clear();
        self.attribution.clear_writeback();
    }
}

/// What an event is about; `drives` has the drive of each partition.
pub(crate) fn range_of_event(
    event: &Event,
    drives: &HashMap<DeviceNumber, DeviceNumber>,
) -> SectorRange {
    let kind = MatchKind::from_flags(event.flags, event.sectors);
    let drive = drives.get(&event.device).copied();
    // Flushes and commands to the drive have no sector: it is 0 in one event and -1 in the next
    // (kernel `blk_rq_trace_sector`, include/linux/blktrace_api.h).
    let (sector, sectors) = match kind {
        MatchKind::FlushCommand | MatchKind::DataOperation(RequestOperation::Other) => (0, 1),
        _ => (event.sector, u64::from(event.sectors).max(1)),
    };
    SectorRange {
        lane: (drive.unwrap_or(event.device), kind),
        sector,
        sectors,
    }
}

/// A request of which nothing but this event is known.
pub(crate) fn new_request(range: SectorRange, event: &Event) -> TracedRequest {
    TracedRequest {
        device: range.lane.0,
        operation: range.lane.1.operation(),
        flags: event.flags,
        sector: range.sector,
        bytes: u64::from(event.bytes),
        ..TracedRequest::default()
    }
}

/// A bio that was queued.
pub(crate) fn queued_bio(range: SectorRange, event: &Event) -> TracedRequest {
    let mut bio = new_request(range, event);
    bio.timestamps.queued = Some(event.at);
    bio.submitter = Some(RequestActor::of_event(event));
    bio
}

/// One request of two. It has been waiting since the first of them was queued.
fn merged(one: TracedRequest, other: TracedRequest) -> TracedRequest {
    let mut in_order = [one, other];
    in_order.sort_by_key(|request| request.timestamps.queued.unwrap_or(u64::MAX));
    let [mut whole, part] = in_order;
    let earliest = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
    let (times, more) = (&mut whole.timestamps, part.timestamps);
    times.allocated = earliest(times.allocated, more.allocated);
    times.inserted = earliest(times.inserted, more.inserted);
    whole.merged_count += 1 + part.merged_count;
    whole.requeue_count = whole.requeue_count.max(part.requeue_count);
    whole.is_split |= part.is_split;
    whole
}

#[cfg(test)]
mod tests;
