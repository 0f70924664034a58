//! Matches events to requests.

use std::collections::HashMap;

use super::flight::{OpenRequest, PendingBio, RequestKey, apply_bio, new_request};
use super::operation::{MatchKind, RequestOperation};
use super::pending::PendingMap;
use super::request::TracedRequest;
use super::writeback_attribution::WritebackAttribution;
use crate::trace::events::event::{BlockEvent, DeviceNumber, RequestStep};

/// Requests without an event for this long are abandoned: longer than any driver's timeout with its
/// retries.
const ABANDON_AFTER_NS: u64 = 600_000_000_000;
/// Interval between searches for abandoned requests.
const CLEANUP_INTERVAL_NS: u64 = 10_000_000_000;

/// Events that could not be matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchErrors {
    /// Completions of requests whose issue was not traced: they were in flight when the trace
    /// began, or events were lost.
    pub unmatched_completions: u64,
    /// Requests that were abandoned because their completion was not traced.
    pub abandoned_requests: u64,
}

/// Matches events to requests: pure, and in bounded memory.
#[derive(Debug, Default)]
pub struct RequestMatcher {
    drive_by_device: HashMap<DeviceNumber, DeviceNumber>,
    pending_bios: PendingMap<RequestKey, PendingBio>,
    open_requests: PendingMap<RequestKey, OpenRequest>,
    /// Start sectors of waiting requests by end sector, to find those that later requests may be
    /// merged with.
    start_by_end: HashMap<RequestKey, u64>,
    remap_origins: HashMap<(DeviceNumber, u64), (DeviceNumber, u64)>,
    writeback_attribution: WritebackAttribution,
    match_errors: MatchErrors,
    last_cleanup: u64,
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
    pub fn add_event(&mut self, event: &BlockEvent, mut done: impl FnMut(TracedRequest)) {
        match event.request_step {
            RequestStep::Dirtied
            | RequestStep::WritebackStarted
            | RequestStep::WritebackFinished => self.writeback_attribution.record_event(event),
            RequestStep::EventsLost => {
                self.match_errors.abandoned_requests += self.open_requests.len() as u64;
                self.clear_in_flight();
            }
            RequestStep::RecordingResumed => self.clear_in_flight(),
            RequestStep::Remapped => self.on_remap(event),
            RequestStep::Queued => self.on_queue(event),
            RequestStep::Split => self.on_split(event),
            RequestStep::Allocated => self.on_allocate(event),
            RequestStep::BackMerged => self.on_back_merge(event),
            RequestStep::FrontMerged => self.on_front_merge(event),
            RequestStep::RequestMerged => self.on_request_merge(event),
            RequestStep::Inserted => self.on_insert(event),
            RequestStep::Issued => self.on_issue(event),
            RequestStep::Requeued => self.on_requeue(event),
            RequestStep::Completed => {
                if let Some(request) = self.on_complete(event) {
                    done(request);
                }
            }
            RequestStep::BioCompleted => {
                if let Some(request) = self.on_bio_complete(event) {
                    done(request);
                }
            }
        }
        if event.timestamp_ns.saturating_sub(self.last_cleanup) > CLEANUP_INTERVAL_NS {
            self.abandon_expired(event.timestamp_ns);
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
        self.open_requests.len()
    }

    /// Queue time of the oldest request in flight whose queueing was traced.
    #[must_use]
    pub fn oldest_queued(&self) -> Option<u64> {
        let requests = self.open_requests.values();
        let requests = requests.filter_map(|open| open.request.timestamps.queued);
        requests
            .chain(self.pending_bios.values().map(|bio| bio.queued_at))
            .min()
    }

    fn drive_of(&self, device: DeviceNumber) -> DeviceNumber {
        self.drive_by_device.get(&device).copied().unwrap_or(device)
    }

    fn request_key(&self, event: &BlockEvent) -> RequestKey {
        let kind = MatchKind::from_flags(event.flags, event.sectors);
        // Flushes and commands to the drive have no sector: it is 0 in one event and -1 in the next
        // (kernel `blk_rq_trace_sector`, include/linux/blktrace_api.h).
        let sector = match kind {
            MatchKind::FlushCommand | MatchKind::DataOperation(RequestOperation::Other) => 0,
            _ => event.sector,
        };
        (self.drive_of(event.device), kind, sector)
    }

    fn on_remap(&mut self, event: &BlockEvent) {
        let to = self.drive_of(event.device);
        // Where a remap names the drive twice, the partition is reported.
        let from = (event.other_device, event.other_sector);
        self.remap_origins.insert((to, event.sector), from);
        // Rare: a remapped bio is queued next.
        if self.remap_origins.len() > 4096 {
            self.remap_origins.clear();
        }
    }

    fn on_queue(&mut self, event: &BlockEvent) {
        let key = self.request_key(event);
        let bio = PendingBio {
            sectors: u64::from(event.sectors),
            queued_at: event.timestamp_ns,
            event: *event,
            dirtied_by: match key.1 {
                MatchKind::DataOperation(RequestOperation::Write) => {
                    self.writeback_attribution.charged_actor(event.pid)
                }
                _ => None,
            },
            remapped_from: self.remap_origins.remove(&(key.0, event.sector)),
            is_split: false,
        };
        self.pending_bios.push_value(key, bio);
    }

    fn on_split(&mut self, event: &BlockEvent) {
        // The event has no length; all requests but a requested flush have one.
        let kind = MatchKind::from_flags(event.flags, 1);
        let drive = self.drive_of(event.device);
        let (first, second) = (event.sector, event.other_sector);
        let Some(mut bio) = self
            .pending_bios
            .take_oldest((drive, kind, first), |_| true)
        else {
            return;
        };
        bio.is_split = true;
        let Some(length) = second.checked_sub(first).filter(|l| *l < bio.sectors) else {
            self.pending_bios.push_value((drive, kind, first), bio);
            return;
        };
        let rest = PendingBio {
            sectors: bio.sectors - length,
            ..bio
        };
        bio.sectors = length;
        self.pending_bios.push_value((drive, kind, first), bio);
        self.pending_bios.push_value((drive, kind, second), rest);
    }

    fn take_bio(&mut self, key: RequestKey, sectors: u32) -> Option<PendingBio> {
        let sectors = u64::from(sectors);
        self.pending_bios
            .take_oldest(key, |bio| bio.sectors == sectors)
            .or_else(|| self.pending_bios.take_oldest(key, |_| true))
    }

    fn on_allocate(&mut self, event: &BlockEvent) {
        let key = self.request_key(event);
        let mut open = new_request(key, event);
        open.request.timestamps.allocated = Some(event.timestamp_ns);
        if let Some(bio) = self.take_bio(key, event.sectors) {
            apply_bio(&mut open.request, &bio);
        }
        self.push_open(key, open);
    }

    fn push_open(&mut self, key: RequestKey, open: OpenRequest) {
        if open.remaining_sectors > 0 && !open.is_issued {
            self.start_by_end
                .insert((key.0, key.1, open.end_sector()), open.remaining_sector);
        }
        if !self.open_requests.push_value(key, open) {
            self.match_errors.abandoned_requests += 1;
        }
    }

    /// Removes the waiting request that ends at a sector.
    fn take_ending_at(
        &mut self,
        (drive, kind, end): RequestKey,
    ) -> Option<(RequestKey, OpenRequest)> {
        let begin = self.start_by_end.remove(&(drive, kind, end))?;
        let key = (drive, kind, begin);
        let open = self
            .open_requests
            .take_oldest(key, |open| !open.is_issued && open.end_sector() == end)?;
        Some((key, open))
    }

    fn on_back_merge(&mut self, event: &BlockEvent) {
        let key = self.request_key(event);
        let bio = self.take_bio(key, event.sectors);
        if let Some((at, mut open)) = self.take_ending_at(key) {
            open.merge(event, bio.as_ref());
            self.push_open(at, open);
        }
    }

    fn on_front_merge(&mut self, event: &BlockEvent) {
        let key = self.request_key(event);
        let bio = self.take_bio(key, event.sectors);
        let behind = (key.0, key.1, event.sector + u64::from(event.sectors));
        if let Some(mut open) = self
            .open_requests
            .take_oldest(behind, |open| !open.is_issued)
        {
            self.start_by_end.remove(&(key.0, key.1, open.end_sector()));
            open.merge(event, bio.as_ref());
            open.remaining_sector = event.sector;
            open.request.sector = event.sector;
            self.push_open(key, open);
        }
    }

    /// The request of the event is merged into the one that ends at its start.
    fn on_request_merge(&mut self, event: &BlockEvent) {
        let key = self.request_key(event);
        let Some(next) = self.open_requests.take_oldest(key, |open| !open.is_issued) else {
            return;
        };
        self.start_by_end.remove(&(key.0, key.1, next.end_sector()));
        match self.take_ending_at(key) {
            Some((at, mut open)) => {
                open.merge(event, None);
                open.request.merged_count += next.request.merged_count;
                self.push_open(at, open);
            }
            // The previous request was not traced, so the completion of this one cannot be matched.
            None => self.match_errors.abandoned_requests += 1,
        }
    }

    fn on_insert(&mut self, event: &BlockEvent) {
        let key = self.request_key(event);
        if let Some(open) = self.open_requests.find_oldest(key, |open| !open.is_issued) {
            open.request
                .timestamps
                .inserted
                .get_or_insert(event.timestamp_ns);
            open.last_event_at = event.timestamp_ns;
        }
    }

    fn on_issue(&mut self, event: &BlockEvent) {
        let key = self.request_key(event);
        let sectors = u64::from(event.sectors);
        let mut open = self
            .open_requests
            .take_oldest(key, |open| {
                !open.is_issued && open.remaining_sectors == sectors
            })
            .or_else(|| self.open_requests.take_oldest(key, |open| !open.is_issued))
            .unwrap_or_else(|| self.new_unallocated(key, event));
        self.start_by_end.remove(&(key.0, key.1, open.end_sector()));
        open.remaining_sectors = sectors;
        open.is_issued = true;
        open.last_event_at = event.timestamp_ns;
        open.request.flags = event.flags;
        open.request.bytes = u64::from(event.bytes);
        open.request.timestamps.issued = Some(event.timestamp_ns);
        self.push_open(key, open);
    }

    /// Creates a request whose allocation was not traced.
    fn new_unallocated(&mut self, key: RequestKey, event: &BlockEvent) -> OpenRequest {
        let mut open = new_request(key, event);
        if let Some(bio) = self.take_bio(key, event.sectors) {
            apply_bio(&mut open.request, &bio);
        }
        open
    }

    fn on_requeue(&mut self, event: &BlockEvent) {
        let key = self.request_key(event);
        if let Some(mut open) = self.open_requests.take_oldest(key, |open| open.is_issued) {
            open.is_issued = false;
            open.last_event_at = event.timestamp_ns;
            open.request.requeue_count += 1;
            open.request.timestamps.issued = None;
            self.push_open(key, open);
        }
    }

    fn on_complete(&mut self, event: &BlockEvent) -> Option<TracedRequest> {
        let key = self.request_key(event);
        let sectors = u64::from(event.sectors);
        let taken = match key.1 {
            // It is served by another request and never issued itself.
            MatchKind::FlushRequest => self.open_requests.take_oldest(key, |_| true),
            _ => self
                .open_requests
                .take_oldest(key, |open| {
                    open.is_issued && open.remaining_sectors == sectors
                })
                .or_else(|| self.open_requests.take_oldest(key, |open| open.is_issued)),
        };
        let Some(mut open) = taken else {
            // A write with a flush is completed twice, the second time without sectors.
            if event.sectors > 0 {
                self.match_errors.unmatched_completions += 1;
            }
            return None;
        };
        if event.error != 0 {
            open.request.error = event.error;
        }
        if sectors > 0 && sectors < open.remaining_sectors {
            open.remaining_sector += sectors;
            open.remaining_sectors -= sectors;
            open.last_event_at = event.timestamp_ns;
            let rest = (key.0, key.1, open.remaining_sector);
            self.push_open(rest, open);
            return None;
        }
        open.request.timestamps.completed = event.timestamp_ns;
        Some(open.request)
    }

    /// A bio-based device: only the start and the end of the bio are known.
    fn on_bio_complete(&mut self, event: &BlockEvent) -> Option<TracedRequest> {
        let key = self.request_key(event);
        let bio = self.take_bio(key, event.sectors)?;
        let mut covered = bio.sectors;
        // Split into parts, and completed as a whole.
        while covered < u64::from(event.sectors) {
            match self
                .pending_bios
                .take_oldest((key.0, key.1, key.2 + covered), |bio| bio.is_split)
            {
                Some(part) => covered += part.sectors.max(1),
                None => break,
            }
        }
        let mut open = new_request(key, event);
        apply_bio(&mut open.request, &bio);
        open.request.timestamps.completed = event.timestamp_ns;
        open.request.error = event.error;
        Some(open.request)
    }

    /// Drops all requests in flight: their next event may be among the lost ones, and an event of a
    /// later request at the same sector would be matched to them.
    fn clear_in_flight(&mut self) {
        self.open_requests = PendingMap::default();
        self.pending_bios = PendingMap::default();
        self.start_by_end.clear();
        self.remap_origins.clear();
        self.writeback_attribution.clear_writeback();
    }

    /// Abandons expired requests.
    fn abandon_expired(&mut self, now: u64) {
        self.last_cleanup = now;
        let begin = now.saturating_sub(ABANDON_AFTER_NS);
        let before = self.open_requests.len();
        self.open_requests
            .retain(|open| open.last_event_at >= begin);
        self.match_errors.abandoned_requests += (before - self.open_requests.len()) as u64;
        self.pending_bios.retain(|bio| bio.queued_at >= begin);
        let open = &mut self.open_requests;
        self.start_by_end.retain(|(drive, kind, _), begin| {
            open.find_oldest((*drive, *kind, *begin), |_| true)
                .is_some()
        });
    }
}

#[cfg(test)]
mod tests;
