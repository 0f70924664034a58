//! What is under way: bios, and the requests that they become.

use super::operation::Kind;
use super::request::{Actor, Request};
use crate::probe::trace::event::{BlockEvent, Number};

/// Where something lies: the drive, what is done, the sector.
pub(super) type Key = (Number, Kind, u64);

/// An I/O that was handed over and for which no request was made yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bio {
    pub(super) sectors: u64,
    pub(super) queued: u64,
    pub(super) event: BlockEvent,
    pub(super) dirtied_by: Option<Actor>,
    pub(super) from: Option<(Number, u64)>,
    pub(super) split: bool,
}

/// A request under way.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) request: Request,
    /// Where the part begins that is not complete yet.
    pub(super) rest: u64,
    pub(super) sectors: u64,
    pub(super) is_issued: bool,
    pub(super) last: u64,
}

impl Open {
    /// Where it ends.
    pub(super) fn end(&self) -> u64 {
        self.rest + self.sectors
    }

    /// Something joined it, at its beginning or its end.
    pub(super) fn join(&mut self, event: &BlockEvent, bio: Option<&Bio>) {
        self.sectors += u64::from(event.sectors);
        self.request.bytes += u64::from(event.sectors) * 512;
        self.request.merged += 1;
        self.last = event.at;
        // It waits since the first of them came.
        let queued = bio.map(|bio| bio.queued);
        self.request.times.queued = self.request.times.queued.into_iter().chain(queued).min();
    }
}

/// A request of which this event is the first that was seen.
pub(super) fn new_request(key: Key, event: &BlockEvent) -> Open {
    Open {
        request: Request::new(
            key.0,
            key.1.operation(),
            event.flags,
            key.2,
            u64::from(event.bytes),
        ),
        rest: key.2,
        sectors: u64::from(event.sectors),
        is_issued: false,
        last: event.at,
    }
}

/// The request is the one of this bio.
pub(super) fn adopt(request: &mut Request, bio: &Bio) {
    request.times.queued = Some(bio.queued);
    request.submitter = Some(Actor {
        pid: bio.event.pid,
        name: bio.event.name,
    });
    request.dirtied_by = bio.dirtied_by;
    request.from = bio.from;
    request.split = bio.split;
}
