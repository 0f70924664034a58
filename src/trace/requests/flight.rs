//! Bios and requests in flight.

use super::operation::MatchKind;
use super::request::{RequestActor, TracedRequest};
use crate::trace::events::event::{BlockEvent, DeviceNumber};

/// Key of a request: device, kind, sector.
pub(super) type RequestKey = (DeviceNumber, MatchKind, u64);

/// A queued bio for which no request was allocated yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingBio {
    pub(super) sectors: u64,
    pub(super) queued_at: u64,
    pub(super) event: BlockEvent,
    pub(super) dirtied_by: Option<RequestActor>,
    pub(super) remapped_from: Option<(DeviceNumber, u64)>,
    pub(super) is_split: bool,
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct OpenRequest {
    pub(super) request: TracedRequest,
    /// First sector of the part that is not complete yet.
    pub(super) remaining_sector: u64,
    pub(super) remaining_sectors: u64,
    pub(super) is_issued: bool,
    pub(super) last_event_at: u64,
}

impl OpenRequest {
    /// The sector after the last.
    pub(super) fn end_sector(&self) -> u64 {
        self.remaining_sector + self.remaining_sectors
    }

    /// Merges a bio or request at the front or the back.
    pub(super) fn merge(&mut self, event: &BlockEvent, bio: Option<&PendingBio>) {
        self.remaining_sectors += u64::from(event.sectors);
        self.request.bytes += u64::from(event.sectors) * 512;
        self.request.merged_count += 1;
        self.last_event_at = event.timestamp_ns;
        // It has been waiting since the first of them was queued.
        let queued = bio.map(|bio| bio.queued_at);
        self.request.timestamps.queued = self
            .request
            .timestamps
            .queued
            .into_iter()
            .chain(queued)
            .min();
    }
}

/// Creates a request whose first traced event is this one.
pub(super) fn new_request(key: RequestKey, event: &BlockEvent) -> OpenRequest {
    OpenRequest {
        request: TracedRequest::new(
            key.0,
            key.1.operation(),
            event.flags,
            key.2,
            u64::from(event.bytes),
        ),
        remaining_sector: key.2,
        remaining_sectors: u64::from(event.sectors),
        is_issued: false,
        last_event_at: event.timestamp_ns,
    }
}

/// Copies the data of the bio to its request.
pub(super) fn apply_bio(request: &mut TracedRequest, bio: &PendingBio) {
    request.timestamps.queued = Some(bio.queued_at);
    request.submitter = Some(RequestActor {
        pid: bio.event.pid,
        name: bio.event.thread_name,
    });
    request.dirtied_by = bio.dirtied_by;
    request.remapped_from = bio.remapped_from;
    request.is_split = bio.is_split;
}
