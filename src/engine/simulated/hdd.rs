//! Model of a hard disk that computes when a request completes.
//!
//! The platter rotates with the clock, whether requests are pending or not; seeks take time;
//! recently read and prefetched sectors are in the drive's cache. Times are nanoseconds since the
//! clock's origin.

use std::collections::VecDeque;
use std::ops::Range;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::StandardNormal;

use super::geometry::{DiskGeometry, SECTOR_BYTES, SectorLocation};
use super::model::SimRequest;

pub use super::hdd_settings::HardDiskSettings;

/// Mean additional time of an outlier, and bytes per second of the interface and of the write-back.
const MEAN_OUTLIER_DELAY: f64 = 60e6;
const INTERFACE_RATE: f64 = 550e6;
const DRAIN_RATE: f64 = 60e6;

fn sectors_of(request: &SimRequest) -> Range<u64> {
    request.address / SECTOR_BYTES..request.end().div_ceil(SECTOR_BYTES)
}

fn contains(outer: &Range<u64>, inner: &Range<u64>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Sectors that the drive prefetches after a request.
#[derive(Debug, Clone, Copy)]
struct PrefetchStream {
    /// First sector in the cache.
    first_cached: u64,
    /// Next sector under the head.
    next_sector: u64,
    /// When prefetching could begin.
    start_time: f64,
    /// Sector at which prefetching ends.
    end_sector: u64,
}

/// A simulated hard disk: serves one request after the other.
#[derive(Debug)]
pub struct HardDisk {
    settings: HardDiskSettings,
    geometry: DiskGeometry,
    random: Xoshiro256PlusPlus,
    cylinder: u32,
    head: u32,
    free_at: f64,
    prefetch_stream: Option<PrefetchStream>,
    cached_ranges: VecDeque<Range<u64>>,
    dirty_bytes: f64,
    last_drain: f64,
}

impl HardDisk {
    /// A drive with its heads on the outermost cylinder and an empty cache.
    pub fn new(settings: HardDiskSettings) -> Self {
        Self {
            geometry: DiskGeometry::new(&settings),
            random: Xoshiro256PlusPlus::seed_from_u64(settings.seed),
            cylinder: 0,
            head: 0,
            free_at: 0.0,
            prefetch_stream: None,
            cached_ranges: VecDeque::new(),
            dirty_bytes: 0.0,
            last_drain: 0.0,
            settings,
        }
    }

    /// Parameters of the drive: the true values that a benchmark has to find.
    pub fn settings(&self) -> &HardDiskSettings {
        &self.settings
    }

    /// Physical geometry.
    pub fn geometry(&self) -> &DiskGeometry {
        &self.geometry
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.geometry.sectors() * SECTOR_BYTES
    }

    /// Serves a request that arrives at `at` and returns when it completes. It begins when the
    /// previous one is done. The controller decodes queued commands during the seek and rotation of
    /// the previous request; only cache hits take the full command overhead one after the other.
    pub fn serve(&mut self, request: &SimRequest, at: f64) -> f64 {
        let begin = self.free_at.max(at) + self.settings.command_overhead;
        let decoded = self.command_ready_at(at);
        let wire = f64::from(request.bytes) / INTERFACE_RATE * 1e9;
        self.free_at = match request.is_write {
            true => self.write(request, (begin, decoded), wire),
            false => self.read(request, (begin, decoded), wire),
        };
        self.free_at
    }

    /// When the seek for a request that arrived at `at` can begin.
    fn command_ready_at(&self, at: f64) -> f64 {
        self.free_at.max(at + self.settings.command_overhead)
    }

    /// Which of the waiting requests (each with its arrival time) is served next: the one with the
    /// shortest access time among as many as the queue holds. Requests that are cached or about to
    /// be prefetched come first, in the order of addresses. Requests that continue another waiting
    /// request come after it. `None` when none waits.
    pub fn choose_next(&self, waiting: &[(SimRequest, f64)]) -> Option<usize> {
        let known = &waiting[..waiting.len().min(self.settings.ncq_depth.max(1))];
        let reach = |(access, at): &(SimRequest, f64)| {
            let sectors = sectors_of(access);
            if !access.is_write && self.is_cached_or_prefetched(&sectors) {
                return (0, sectors.start as f64);
            }
            let location = self.geometry.locate(sectors.start);
            let ready = self.command_ready_at(*at) + self.seek_time(&location);
            (1, self.next_passage(&location, ready))
        };
        let continues = |access: &SimRequest| {
            known.iter().any(|(other, _)| {
                other.is_write == access.is_write
                    && other.address < access.address
                    && other.end() == access.address
            })
        };
        let earlier =
            |one: (u8, f64), other: (u8, f64)| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1));
        (0..known.len())
            .filter(|index| !continues(&known[*index].0))
            .min_by(|a, b| earlier(reach(&known[*a]), reach(&known[*b])))
    }

    fn is_cached(&self, sectors: &Range<u64>) -> bool {
        self.cached_ranges
            .iter()
            .any(|piece| contains(piece, sectors))
    }

    /// Whether sectors are cached, or come next in the current prefetch.
    fn is_cached_or_prefetched(&self, sectors: &Range<u64>) -> bool {
        let streamed = |stream: &PrefetchStream| {
            stream.first_cached <= sectors.start
                && sectors.start <= stream.next_sector
                && sectors.end <= stream.end_sector
        };
        self.is_cached(sectors) || self.prefetch_stream.as_ref().is_some_and(streamed)
    }

    fn read(&mut self, access: &SimRequest, (begin, decoded): (f64, f64), wire: f64) -> f64 {
        let sectors = sectors_of(access);
        if self.is_cached(&sectors)
            || self.random.random::<f64>() < self.settings.random_hit_fraction
        {
            return begin + wire;
        }
        if let Some(done) = self.prefetched_at(&sectors, begin) {
            return done.max(begin + wire);
        }
        let done = self.access_medium(&sectors, decoded);
        let done = done + self.outlier_delay();
        self.prefetch_stream = Some(PrefetchStream {
            first_cached: sectors.start,
            next_sector: sectors.end,
            start_time: done,
            end_sector: (sectors.end + self.settings.read_ahead / SECTOR_BYTES)
                .min(self.geometry.sectors()),
        });
        done
    }

    /// When the prefetched sectors are available; `None` when this request is not part of the
    /// prefetch.
    fn prefetched_at(&mut self, sectors: &Range<u64>, begin: f64) -> Option<f64> {
        let mut stream = self.prefetch_stream?;
        if sectors.start < stream.first_cached
            || sectors.end > stream.end_sector
            || stream.end_sector <= stream.next_sector
        {
            return None;
        }
        if sectors.end > stream.next_sector {
            stream.start_time =
                self.transfer_sectors(&(stream.next_sector..sectors.end), stream.start_time);
            stream.next_sector = sectors.end;
        }
        let ahead = self.settings.read_ahead / SECTOR_BYTES;
        stream.end_sector = (sectors.end + ahead)
            .min(self.geometry.sectors())
            .max(stream.end_sector);
        // A cache segment has a fixed capacity: the oldest sectors are evicted.
        let segment = 2 * ahead.max(sectors.end - sectors.start);
        stream.first_cached = stream
            .first_cached
            .max(stream.next_sector.saturating_sub(segment));
        self.prefetch_stream = Some(stream);
        Some(stream.start_time.max(begin))
    }

    fn write(&mut self, access: &SimRequest, (begin, decoded): (f64, f64), wire: f64) -> f64 {
        let sectors = sectors_of(access);
        self.cached_ranges
            .retain(|piece| piece.end <= sectors.start || sectors.end <= piece.start);
        if self.settings.write_cache > 0 {
            self.drain_write_cache(begin);
            let room = self.settings.write_cache as f64 - self.dirty_bytes;
            let missing = (f64::from(access.bytes) - room).max(0.0);
            let begin = begin + missing / DRAIN_RATE * 1e9;
            self.drain_write_cache(begin);
            self.dirty_bytes += f64::from(access.bytes);
            return begin + wire;
        }
        self.access_medium(&sectors, decoded) + self.outlier_delay()
    }

    /// Writes cached data back to the medium for the time since the last call.
    fn drain_write_cache(&mut self, at: f64) {
        let written = (at - self.last_drain).max(0.0) * DRAIN_RATE / 1e9;
        self.dirty_bytes = (self.dirty_bytes - written).max(0.0);
        self.last_drain = at;
    }

    /// Seeks and waits for the sectors. Returns when the last one has passed the head.
    fn access_medium(&mut self, sectors: &Range<u64>, begin: f64) -> f64 {
        self.end_prefetch(begin);
        let location = self.geometry.locate(sectors.start);
        let seek = self.seek_time(&location);
        let jitter = if seek > 0.0 {
            self.random.sample::<f64, _>(StandardNormal).abs() * self.settings.seek_jitter
        } else {
            0.0
        };
        self.transfer_sectors(sectors, begin + seek + jitter)
    }

    /// Ends the prefetch. What it has read stays in a cache segment.
    fn end_prefetch(&mut self, now: f64) {
        let Some(mut stream) = self.prefetch_stream.take() else {
            return;
        };
        while stream.next_sector < stream.end_sector {
            let left = u64::from(
                self.geometry
                    .locate(stream.next_sector)
                    .sectors_to_track_end,
            );
            let end = (stream.next_sector + left).min(stream.end_sector);
            let track_done = self.transfer_sectors(&(stream.next_sector..end), stream.start_time);
            if track_done > now {
                // The part of the track that had passed; a seek interrupted it.
                let share =
                    ((now - stream.start_time) / (track_done - stream.start_time)).clamp(0.0, 1.0);
                stream.next_sector += ((end - stream.next_sector) as f64 * share) as u64;
                break;
            }
            (stream.next_sector, stream.start_time) = (end, track_done);
        }
        self.cached_ranges
            .push_back(stream.first_cached..stream.next_sector);
        while self.cached_ranges.len() > self.settings.cache_segments {
            self.cached_ranges.pop_front();
        }
    }

    /// When the last of the sectors has passed the head, which can begin at `begin`.
    fn transfer_sectors(&mut self, sectors: &Range<u64>, begin: f64) -> f64 {
        let (mut next, mut time) = (sectors.start, begin);
        while next < sectors.end {
            let location = self.geometry.locate(next);
            if next != sectors.start {
                time += self.seek_time(&location);
            }
            let count = u64::from(location.sectors_to_track_end).min(sectors.end - next);
            let share = count as f64 / f64::from(location.sectors_per_track);
            time = self.next_passage(&location, time) + share * self.settings.revolution_time();
            (self.cylinder, self.head) = (location.cylinder, location.head);
            next += count;
        }
        time
    }

    /// Duration of the seek or head switch to the track of a location.
    fn seek_time(&self, location: &SectorLocation) -> f64 {
        match location.cylinder.abs_diff(self.cylinder) {
            0 if location.head == self.head => 0.0,
            0 => self.settings.head_switch,
            distance => self.settings.seek_time(distance),
        }
    }

    /// When the sector passes the head next, from `time` on.
    fn next_passage(&self, location: &SectorLocation, time: f64) -> f64 {
        let turns = time / self.settings.revolution_time();
        let mut wait = location.angle - turns.fract();
        // A sector that is exactly at the head counts as reachable: rounding must not cost a
        // revolution.
        if wait < -1e-9 {
            wait += 1.0;
        }
        time + wait.max(0.0) * self.settings.revolution_time()
    }

    fn outlier_delay(&mut self) -> f64 {
        if self.random.random::<f64>() < self.settings.outlier_fraction {
            MEAN_OUTLIER_DELAY * (0.3 + self.random.random::<f64>())
        } else {
            0.0
        }
    }
}

#[cfg(test)]
#[path = "hdd_tests.rs"]
mod tests;
