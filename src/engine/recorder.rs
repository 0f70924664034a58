//! Counts one lane's completions and hands them out a few times a second.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::feeder::{Assigned, nanoseconds};
use super::outcome::{Direction, Moved, Request, Tally};
use super::pauses;

/// The time between two hand-outs of a lane, when lanes are few.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);
/// With more lanes than this, each hands out less often: the sum stays bearable.
const LANES_AT_FULL_PACE: u32 = 16;

/// A request that took so long may have waited for this process and not for the drive.
const SUSPECT_NS: u64 = pauses::SHORTEST.as_nanos() as u64;
/// So soon it is known whether there was a pause.
const NEXT_BEAT: Duration = Duration::from_millis(150);

/// What one or several lanes have counted so far.
pub type Slot = Arc<Mutex<Tally>>;

/// Counts one lane's completions. Recording allocates nothing and takes no lock; the counts go
/// over into the shared slot when it is free and the time has come.
#[derive(Debug)]
pub struct Recorder {
    fresh: Tally,
    slot: Slot,
    log: Vec<Request>,
    /// One of so many requests is logged.
    log_every: u32,
    /// Requests since the last one that was logged.
    unlogged: u32,
    ramp_end_ns: u64,
    last_end_ns: u64,
    publish_at_ns: u64,
    publish_every_ns: u64,
    /// From when times are counted; unset where they are virtual.
    origin: Option<Instant>,
    /// Length of all pauses of this process when the first request counted, in nanoseconds.
    paused_before_ns: Option<u64>,
    /// Slow requests of which it is not known yet whether the process was paused meanwhile.
    suspects: Vec<Suspect>,
}

/// A request that was as slow as a pause of this process is long.
#[derive(Debug, Clone, Copy)]
struct Suspect {
    request: Assigned,
    start_ns: u64,
    end_ns: u64,
    moved: u32,
}

impl Recorder {
    /// For one of `lanes` lanes, with room for `log.0` single requests, one of `log.1`.
    #[must_use]
    pub fn new(slot: Slot, ramp: Duration, log: (usize, u32), lanes: u32) -> Self {
        let pace = lanes.div_ceil(LANES_AT_FULL_PACE).max(1);
        let publish_every_ns = nanoseconds(PUBLISH_EVERY * pace);
        Self {
            fresh: Tally::default(),
            slot,
            log: Vec::with_capacity(log.0),
            log_every: log.1.max(1),
            unlogged: 0,
            ramp_end_ns: nanoseconds(ramp),
            last_end_ns: 0,
            publish_at_ns: publish_every_ns,
            publish_every_ns,
            origin: None,
            paused_before_ns: None,
            suspects: Vec::new(),
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
        if end_ns.saturating_sub(start_ns) >= SUSPECT_NS && self.origin.is_some() {
            self.suspects.push(Suspect {
                request: *request,
                start_ns,
                end_ns,
                moved,
            });
            return;
        }
        self.count(request, start_ns, end_ns, moved);
    }

    /// Counts a request that was not touched by a pause.
    #[inline]
    fn count(&mut self, request: &Assigned, start_ns: u64, end_ns: u64, moved: u32) {
        let job = request.job;
        let direction = match job.writes {
            true => &mut self.fresh.write,
            false => &mut self.fresh.read,
        };
        let waited_ns = end_ns.saturating_sub(start_ns);
        direction.latency.record(waited_ns);
        direction.bytes += u64::from(moved);
        // The course of a run leaves pauses out.
        let paused_ns = self.origin.map_or(0, |_| pauses::total_ns());
        let paused_before_ns = *self.paused_before_ns.get_or_insert(paused_ns);
        let at_ns = end_ns.saturating_sub(self.ramp_end_ns + paused_ns - paused_before_ns);
        direction
            .timeline
            .record(at_ns, u64::from(moved), waited_ns);
        self.fresh.short += u64::from(moved < job.bytes);
        self.last_end_ns = self.last_end_ns.max(end_ns);
        self.unlogged = self.unlogged.saturating_add(1);
        if self.unlogged >= self.log_every && self.log.len() < self.log.capacity() {
            self.unlogged = 0;
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
        if !self.suspects.is_empty() {
            self.judge_suspects();
        }
        match self.slot.try_lock() {
            Ok(mut total) => absorb(&mut total, &mut self.fresh),
            Err(TryLockError::Poisoned(error)) => absorb(&mut error.into_inner(), &mut self.fresh),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// Counts the slow requests of which it is known whether this process was paused while they
    /// were under way. Those during a pause were moved, but their time is not the drive's.
    #[cold]
    fn judge_suspects(&mut self) {
        let Some((known_until, origin)) = pauses::known_until().zip(self.origin) else {
            return;
        };
        for suspect in std::mem::take(&mut self.suspects) {
            let moment = |ns| origin + Duration::from_nanos(ns);
            let end = moment(suspect.end_ns);
            if end > known_until {
                self.suspects.push(suspect);
            } else if pauses::overlaps(moment(suspect.start_ns), end) {
                let job = suspect.request.job;
                self.fresh.ramp.count(job.writes, u64::from(suspect.moved));
            } else {
                self.count_suspect(&suspect);
            }
        }
    }

    fn count_suspect(&mut self, suspect: &Suspect) {
        let Suspect {
            request,
            start_ns,
            end_ns,
            moved,
        } = *suspect;
        self.count(&request, start_ns, end_ns, moved);
    }

    /// Sets the moment from which times are counted: of real time, in which this process may be
    /// paused.
    pub fn start(&mut self, origin: Instant) {
        self.origin = Some(origin);
    }

    /// Hands out the rest. Yields the log and the end of the last request that counted, in
    /// nanoseconds since the origin.
    pub fn finish(mut self) -> (Vec<Request>, u64) {
        let deadline = Instant::now() + NEXT_BEAT;
        self.judge_suspects();
        while !self.suspects.is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
            self.judge_suspects();
        }
        for suspect in std::mem::take(&mut self.suspects) {
            self.count_suspect(&suspect);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW_NS: u64 = 2 * SUSPECT_NS;

    fn slow_request(recorder: &mut Recorder) {
        let request = Assigned {
            counted: true,
            ..Assigned::default()
        };
        recorder.record(&request, 0, SLOW_NS, 4096);
    }

    #[test]
    fn slow_request_of_a_process_that_ran_counts() {
        let slot = Slot::default();
        let mut recorder = Recorder::new(Arc::clone(&slot), Duration::ZERO, (0, 1), 1);
        pauses::watch();
        recorder.start(Instant::now());
        slow_request(&mut recorder);
        assert_eq!(recorder.finish().1, SLOW_NS);
        let tally = slot.lock().unwrap();
        assert_eq!((tally.requests(), tally.ramp.reads), (1, 0));
    }

    #[test]
    fn slow_request_in_virtual_time_counts_at_once() {
        let slot = Slot::default();
        let mut recorder = Recorder::new(Arc::clone(&slot), Duration::ZERO, (0, 1), 1);
        slow_request(&mut recorder);
        assert!(recorder.suspects.is_empty());
        recorder.publish(u64::MAX);
        assert_eq!(slot.lock().unwrap().requests(), 1);
    }
}
