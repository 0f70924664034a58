//! A hard disk made of arithmetic: when would a spinning drive answer?
//!
//! The platter turns with the clock, whether the host asks or not; the arm needs time for its way;
//! what was read lately, and what passed under the head since, is in the drive's cache. Times are
//! nanoseconds since the clock's origin.

use std::collections::VecDeque;

use super::geometry::{Geometry, Place, SECTOR};
pub use super::hdd_settings::Settings;
use crate::drive::random::Random;

/// A request as the drive sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// First byte.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it writes.
    pub write: bool,
}

impl Access {
    fn sectors(&self) -> std::ops::Range<u64> {
        let end = self.address + u64::from(self.bytes);
        self.address / SECTOR..end.div_ceil(SECTOR)
    }
}

/// The drive's answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// Done at this time.
    Done(f64),
    /// Given up at this time: the medium cannot be read or written there.
    Failed(f64),
}

/// What the drive reads on its own after a request.
#[derive(Debug, Clone, Copy)]
struct Stream {
    /// First sector that is in the cache.
    from: u64,
    /// Sector that comes next under the head.
    next: u64,
    /// When it could begin.
    at: f64,
    /// Sector at which it stops.
    stop: u64,
}

/// A simulated hard disk: answers one request after the other.
#[derive(Debug)]
pub struct Hdd {
    settings: Settings,
    geometry: Geometry,
    random: Random,
    cylinder: u32,
    head: u32,
    free_at: f64,
    stream: Option<Stream>,
    cached: VecDeque<std::ops::Range<u64>>,
    dirty: f64,
    drained_at: f64,
}

impl Hdd {
    /// A drive with its arm on the outermost cylinder and nothing in its cache.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            geometry: Geometry::new(settings.shape()),
            random: Random::new(settings.seed),
            cylinder: 0,
            head: 0,
            free_at: 0.0,
            stream: None,
            cached: VecDeque::new(),
            dirty: 0.0,
            drained_at: 0.0,
            settings,
        }
    }

    /// What it is like: the truth that a test has to find.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where its sectors lie.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.geometry.sectors() * SECTOR
    }

    /// Answers a request that arrives at `at`; it begins when the one before is done. The
    /// electronics decode what waits in the queue while arm and platter still work for the request
    /// before it: only answers of the cache take the whole command one after the other.
    pub fn serve(&mut self, access: &Access, at: f64) -> Answer {
        let begin = self.free_at.max(at) + self.settings.overhead;
        let decoded = self.decoded(at);
        let failing = &self.settings.failing;
        let end = access.address + u64::from(access.bytes);
        if access.address < failing.end && end > failing.start {
            // The drive tries again and again before it gives up.
            self.free_at = begin + 5.0 * self.settings.revolution();
            return Answer::Failed(self.free_at);
        }
        let wire = f64::from(access.bytes) / self.settings.interface * 1e9;
        let done = if access.write {
            self.write(access, (begin, decoded), wire)
        } else {
            self.read(access, (begin, decoded), wire)
        };
        self.free_at = done;
        Answer::Done(done)
    }

    /// When the arm can begin with a request that arrived at `at`.
    fn decoded(&self, at: f64) -> f64 {
        self.free_at.max(at + self.settings.overhead)
    }

    /// Which of the waiting requests (each with its arrival) it takes next: the one that it
    /// reaches first, among as many as its queue holds; what the cache has or is about to read it
    /// reaches before anything else, in the order of addresses. Requests that continue another one that
    /// waits come after it. `None` when none waits.
    #[must_use]
    pub fn choose(&self, waiting: &[(Access, f64)]) -> Option<usize> {
        let known = &waiting[..waiting.len().min(self.settings.ncq.max(1))];
        let reach = |(access, at): &(Access, f64)| {
            let sectors = access.sectors();
            if !access.write && self.is_at_hand(&sectors) {
                return (0, sectors.start as f64);
            }
            let place = self.geometry.place(sectors.start);
            let ready = self.decoded(*at) + self.seek_to(&place);
            (1, self.arrival(&place, ready))
        };
        let continues = |access: &Access| {
            known.iter().any(|(other, _)| {
                other.write == access.write
                    && other.address < access.address
                    && other.address + u64::from(other.bytes) == access.address
            })
        };
        let earlier =
            |one: (u8, f64), other: (u8, f64)| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1));
        (0..known.len())
            .filter(|index| !continues(&known[*index].0))
            .min_by(|a, b| earlier(reach(&known[*a]), reach(&known[*b])))
    }

    /// Whether sectors are in the cache, or come next in the stream that is being read.
    fn is_at_hand(&self, sectors: &std::ops::Range<u64>) -> bool {
        let within =
            |piece: &std::ops::Range<u64>| piece.start <= sectors.start && sectors.end <= piece.end;
        let streamed = |stream: &Stream| {
            stream.from <= sectors.start
                && sectors.start <= stream.next
                && sectors.end <= stream.stop
        };
        self.cached.iter().any(within) || self.stream.as_ref().is_some_and(streamed)
    }

    /// Empties the write cache: when it is done.
    pub fn flush(&mut self, at: f64) -> f64 {
        self.drain(at);
        let begin = self.free_at.max(at) + self.settings.overhead;
        self.free_at = begin + self.dirty / self.settings.drain * 1e9;
        self.dirty = 0.0;
        self.drained_at = self.free_at;
        self.free_at
    }

    fn read(&mut self, access: &Access, (begin, decoded): (f64, f64), wire: f64) -> f64 {
        let sectors = access.sectors();
        let within =
            |piece: &std::ops::Range<u64>| piece.start <= sectors.start && sectors.end <= piece.end;
        if self.cached.iter().any(within) || self.random.share() < self.settings.cache_hits {
            return begin + wire;
        }
        if let Some(done) = self.stream_ahead(&sectors, begin) {
            return done.max(begin + wire);
        }
        let done = self.reach_medium(&sectors, decoded);
        let done = done + self.misfortune();
        self.stream = Some(Stream {
            from: sectors.start,
            next: sectors.end,
            at: done,
            stop: (sectors.end + self.settings.read_ahead / SECTOR).min(self.geometry.sectors()),
        });
        done
    }

    /// When the drive has it that read on by itself; `None` when this request is not on its way.
    fn stream_ahead(&mut self, sectors: &std::ops::Range<u64>, begin: f64) -> Option<f64> {
        let mut stream = self.stream?;
        if sectors.start < stream.from || sectors.end > stream.stop || stream.stop <= stream.next {
            return None;
        }
        if sectors.end > stream.next {
            stream.at = self.pass(&(stream.next..sectors.end), stream.at);
            stream.next = sectors.end;
        }
        let ahead = self.settings.read_ahead / SECTOR;
        stream.stop = (sectors.end + ahead)
            .min(self.geometry.sectors())
            .max(stream.stop);
        // A segment of the cache holds so much and no more: what was read long ago gives way.
        let segment = 2 * ahead.max(sectors.end - sectors.start);
        stream.from = stream.from.max(stream.next.saturating_sub(segment));
        self.stream = Some(stream);
        Some(stream.at.max(begin))
    }

    fn write(&mut self, access: &Access, (begin, decoded): (f64, f64), wire: f64) -> f64 {
        let sectors = access.sectors();
        self.cached
            .retain(|piece| piece.end <= sectors.start || sectors.end <= piece.start);
        if self.settings.write_cache > 0 {
            self.drain(begin);
            let room = self.settings.write_cache as f64 - self.dirty;
            let missing = (f64::from(access.bytes) - room).max(0.0);
            let begin = begin + missing / self.settings.drain * 1e9;
            self.drain(begin);
            self.dirty += f64::from(access.bytes);
            return begin + wire;
        }
        self.reach_medium(&sectors, decoded) + self.misfortune()
    }

    /// What the write cache gave to the medium since it was asked last.
    fn drain(&mut self, at: f64) {
        let written = (at - self.drained_at).max(0.0) * self.settings.drain / 1e9;
        self.dirty = (self.dirty - written).max(0.0);
        self.drained_at = at;
    }

    /// Moves the arm and waits for the sectors: when the last one has passed.
    fn reach_medium(&mut self, sectors: &std::ops::Range<u64>, begin: f64) -> f64 {
        self.keep_what_was_read(begin);
        let place = self.geometry.place(sectors.start);
        let seek = self.seek_to(&place);
        let jitter = if seek > 0.0 {
            self.random.normal().abs() * self.settings.jitter
        } else {
            0.0
        };
        self.pass(sectors, begin + seek + jitter)
    }

    /// The stream ends here: what it had read by now stays in a segment of the cache.
    fn keep_what_was_read(&mut self, now: f64) {
        let Some(mut stream) = self.stream.take() else {
            return;
        };
        while stream.next < stream.stop {
            let left = u64::from(self.geometry.place(stream.next).left_on_track);
            let end = (stream.next + left).min(stream.stop);
            let track_done = self.pass(&(stream.next..end), stream.at);
            if track_done > now {
                // The part of the track that had passed; the arm was called away in its middle.
                let share = ((now - stream.at) / (track_done - stream.at)).clamp(0.0, 1.0);
                stream.next += ((end - stream.next) as f64 * share) as u64;
                break;
            }
            (stream.next, stream.at) = (end, track_done);
        }
        self.cached.push_back(stream.from..stream.next);
        while self.cached.len() > self.settings.segments {
            self.cached.pop_front();
        }
    }

    /// When the last of the sectors has passed under the head, which can begin at `begin`.
    fn pass(&mut self, sectors: &std::ops::Range<u64>, begin: f64) -> f64 {
        let (mut next, mut time) = (sectors.start, begin);
        while next < sectors.end {
            let place = self.geometry.place(next);
            if next != sectors.start {
                time += self.seek_to(&place);
            }
            let count = u64::from(place.left_on_track).min(sectors.end - next);
            let share = count as f64 / f64::from(place.sectors_per_track);
            time = self.arrival(&place, time) + share * self.settings.revolution();
            (self.cylinder, self.head) = (place.cylinder, place.head);
            next += count;
        }
        time
    }

    /// Time that arm or heads need to be on a place's track.
    fn seek_to(&self, place: &Place) -> f64 {
        match place.cylinder.abs_diff(self.cylinder) {
            0 if place.head == self.head => 0.0,
            0 => self.settings.head_switch,
            distance => self.settings.seek(distance),
        }
    }

    /// When the sector comes under the head next, from `time` on.
    fn arrival(&self, place: &Place, time: f64) -> f64 {
        let turns = time / self.settings.revolution();
        let mut wait = place.angle - turns.fract();
        // The sector that is there just now counts as there: rounding must not cost a revolution.
        if wait < -1e-9 {
            wait += 1.0;
        }
        time + wait.max(0.0) * self.settings.revolution()
    }

    fn misfortune(&mut self) -> f64 {
        if self.random.share() < self.settings.outliers {
            self.settings.outlier * (0.3 + self.random.share())
        } else {
            0.0
        }
    }
}

#[cfg(test)]
#[path = "hdd_tests.rs"]
mod tests;
