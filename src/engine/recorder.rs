//! Counts one lane's completions and hands them out a few times a second.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

use super::feeder::{Assigned, nanoseconds};
use super::outcome::{Direction, Moved, Request, Tally};

/// The time between two hand-outs of a lane, when lanes are few.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);
/// With more lanes than this, each hands out less often: the sum stays bearable.
const LANES_AT_FULL_PACE: u32 = 16;

/// What one or several lanes have counted so far.
pub type Slot = Arc<Mutex<Tally>>;

/// Counts one lane's completions. Recording allocates nothing and takes no lock; the counts go
/// over into the shared slot when it is free and the time has come.
#[derive(Debug)]
pub struct Recorder {
    fresh: Tally,
    slot: Slot,
    log: Vec<Request>,
    ramp_end_ns: u64,
    last_end_ns: u64,
    publish_at_ns: u64,
    publish_every_ns: u64,
}

impl Recorder {
    /// For one of `lanes` lanes, with room for `log` single requests.
    #[must_use]
    pub fn new(slot: Slot, ramp: Duration, log: usize, lanes: u32) -> Self {
        let pace = lanes.div_ceil(LANES_AT_FULL_PACE).max(1);
        let publish_every_ns = nanoseconds(PUBLISH_EVERY * pace);
        Self {
            fresh: Tally::default(),
            slot,
            log: Vec::with_capacity(log),
            ramp_end_ns: nanoseconds(ramp),
            last_end_ns: 0,
            publish_at_ns: publish_every_ns,
            publish_every_ns,
        }
    }

    /// Records that a request started and ended at these times (nanoseconds since the origin) and
    /// moved that many bytes.
    #[inline]
    pub fn record(&mut self, request: &Assigned, start_ns: u64, end_ns: u64, moved: u32) {
        let job = request.job;
        if !request.counted {
            self.fresh.ramp.count(job.writes, u64::from(moved));
            return;
        }
        let start_ns = request.intended_ns.unwrap_or(start_ns);
        let direction = match job.writes {
            true => &mut self.fresh.write,
            false => &mut self.fresh.read,
        };
        let waited_ns = end_ns.saturating_sub(start_ns);
        direction.latency.record(waited_ns);
        direction.bytes += u64::from(moved);
        let at_ns = end_ns.saturating_sub(self.ramp_end_ns);
        direction
            .timeline
            .record(at_ns, u64::from(moved), waited_ns);
        self.fresh.short += u64::from(moved < job.bytes);
        self.last_end_ns = self.last_end_ns.max(end_ns);
        if self.log.len() < self.log.capacity() {
            self.log.push(Request {
                address: job.address,
                bytes: job.bytes,
                wrote: job.writes,
                start_ns,
                end_ns,
            });
        }
    }

    /// Hands out what is fresh, if it is time and nobody is looking at the slot.
    #[inline]
    pub fn publish(&mut self, now_ns: u64) {
        if now_ns < self.publish_at_ns {
            return;
        }
        self.publish_at_ns = now_ns.saturating_add(self.publish_every_ns);
        match self.slot.try_lock() {
            Ok(mut total) => absorb(&mut total, &mut self.fresh),
            Err(TryLockError::Poisoned(error)) => absorb(&mut error.into_inner(), &mut self.fresh),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// Hands out the rest. Yields the log and the end of the last request that counted, in
    /// nanoseconds since the origin.
    pub fn finish(mut self) -> (Vec<Request>, u64) {
        let mut total = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        absorb(&mut total, &mut self.fresh);
        drop(total);
        (self.log, self.last_end_ns)
    }
}

/// Moves all counts over.
fn absorb(total: &mut Tally, fresh: &mut Tally) {
    absorb_direction(&mut total.read, &mut fresh.read);
    absorb_direction(&mut total.write, &mut fresh.write);
    total.short += std::mem::take(&mut fresh.short);
    total.ramp += std::mem::take(&mut fresh.ramp);
}

fn absorb_direction(total: &mut Direction, fresh: &mut Direction) {
    if fresh.latency.count() == 0 {
        return;
    }
    total.latency.merge(&fresh.latency);
    total.timeline.merge(&fresh.timeline);
    total.bytes += std::mem::take(&mut fresh.bytes);
    fresh.latency.reset();
    fresh.timeline.reset();
}

/// Adds what a slot holds to a sum.
pub fn add(sum: &mut Tally, slot: &Slot) {
    let part = slot.lock().unwrap_or_else(PoisonError::into_inner);
    for (sum, part) in [(&mut sum.read, &part.read), (&mut sum.write, &part.write)] {
        if part.latency.count() > 0 {
            sum.latency.merge(&part.latency);
            sum.timeline.merge(&part.timeline);
            sum.bytes += part.bytes;
        }
    }
    sum.short += part.short;
    sum.ramp += part.ramp;
}

/// Empties a tally without giving its memory back.
pub fn clear(tally: &mut Tally) {
    for direction in [&mut tally.read, &mut tally.write] {
        direction.latency.reset();
        direction.timeline.reset();
        direction.bytes = 0;
    }
    tally.short = 0;
    tally.ramp = Moved::default();
}
