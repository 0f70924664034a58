//! What a simulated hard disk is like.

use super::geometry::DiskShape;

/// What a simulated hard disk is like. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct HardDiskSettings {
    /// Size in bytes.
    pub capacity: u64,
    /// Revolutions per minute.
    pub rpm: f64,
    /// Seek to the next cylinder.
    pub track_to_track: f64,
    /// Seek over all cylinders.
    pub full_stroke: f64,
    /// Change to another head of the same cylinder.
    pub head_switch: f64,
    /// What every command costs, cache answers too.
    pub command_overhead: f64,
    /// Bytes per second between drive and host.
    pub interface_rate: f64,
    /// Surfaces.
    pub heads: u32,
    /// Tracks of a surface.
    pub cylinders: u32,
    /// Zones of equal sectors per track.
    pub zones: u32,
    /// Sectors per track, inner over outer.
    pub inner_ratio: f64,
    /// Spread of the seek's duration.
    pub seek_jitter: f64,
    /// Share of requests that take much longer (retries, thermal recalibration).
    pub outlier_fraction: f64,
    /// How much longer, on the average.
    pub mean_outlier_delay: f64,
    /// Share of reads that the cache answers although nobody could know why.
    pub random_hit_fraction: f64,
    /// Bytes that the drive reads on after a request as long as nobody calls the arm away.
    pub read_ahead: u64,
    /// Pieces that the read cache holds.
    pub cache_segments: usize,
    /// Bytes of volatile write cache; 0 writes through.
    pub write_cache: u64,
    /// Bytes per second at which the write cache empties.
    pub drain_rate: f64,
    /// Requests among which the drive chooses (native command queueing); 1 keeps their order.
    pub ncq_depth: usize,
    /// Bytes that cannot be read or written.
    pub failing_range: std::ops::Range<u64>,
    /// How late the host sees an answer: median of the part that differs with every answer; 0 sees
    /// all at once.
    pub completion_delay: f64,
    /// Seed of jitter, outliers and cache hits.
    pub seed: u64,
}

impl Default for HardDiskSettings {
    fn default() -> Self {
        Self {
            capacity: 1_000_000_000_000,
            rpm: 7200.0,
            track_to_track: 1.2e6,
            full_stroke: 18e6,
            head_switch: 0.9e6,
            command_overhead: 120e3,
            interface_rate: 550e6,
            heads: 4,
            cylinders: 150_000,
            zones: 16,
            inner_ratio: 0.5,
            seek_jitter: 15e3,
            outlier_fraction: 0.005,
            mean_outlier_delay: 60e6,
            random_hit_fraction: 0.0,
            read_ahead: 2 << 20,
            cache_segments: 32,
            write_cache: 0,
            drain_rate: 60e6,
            ncq_depth: 32,
            failing_range: 0..0,
            completion_delay: 0.0,
            seed: 1,
        }
    }
}

impl HardDiskSettings {
    /// One revolution.
    #[must_use]
    pub fn revolution_time(&self) -> f64 {
        60e9 / self.rpm
    }

    /// Duration of a seek over that many cylinders: it begins with the square root of the
    /// distance, as long as the arm accelerates, and ends nearly straight (Ruemmler and Wilkes,
    /// "An Introduction to Disk Drive Modeling", IEEE Computer 27 (1994)).
    #[must_use]
    pub fn seek_time(&self, cylinders: u32) -> f64 {
        if cylinders == 0 {
            return 0.0;
        }
        let most = f64::from(self.cylinders.max(3) - 2);
        let share = f64::from(cylinders - 1) / most;
        let way = 0.6 * share.sqrt() + 0.4 * share;
        self.track_to_track + (self.full_stroke - self.track_to_track) * way
    }

    pub(super) fn disk_shape(&self) -> DiskShape {
        // A head that has switched finds the next sector just before it: a little more than the
        // switch takes, or a sequential read would lose a revolution on every track.
        let skew = |switch: f64| switch / self.revolution_time() + 0.004;
        DiskShape {
            capacity: self.capacity,
            heads: self.heads,
            cylinders: self.cylinders,
            zones: self.zones,
            inner_ratio: self.inner_ratio,
            head_skew: skew(self.head_switch),
            cylinder_skew: skew(self.track_to_track),
        }
    }
}
