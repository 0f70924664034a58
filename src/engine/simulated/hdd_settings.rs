//! Settings of a simulated hard disk.

use super::geometry::DiskShape;

/// Settings of a simulated hard disk. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct HardDiskSettings {
    /// Size in bytes.
    pub capacity: u64,
    /// Revolutions per minute.
    pub rpm: f64,
    /// Track-to-track seek time.
    pub track_to_track: f64,
    /// Full-stroke seek time.
    pub full_stroke: f64,
    /// Head switch time within a cylinder.
    pub head_switch: f64,
    /// Overhead of every command, including cache hits.
    pub command_overhead: f64,
    /// Interface throughput between drive and host in bytes per second.
    pub interface_rate: f64,
    /// Number of surfaces.
    pub heads: u32,
    /// Tracks per surface.
    pub cylinders: u32,
    /// Number of zones with equal sectors per track.
    pub zones: u32,
    /// Ratio of sectors per track, inner zone over outer.
    pub inner_ratio: f64,
    /// Scale of the half-normal jitter of the seek time.
    pub seek_jitter: f64,
    /// Fraction of requests that take much longer (retries, thermal recalibration).
    pub outlier_fraction: f64,
    /// Mean additional time of those requests.
    pub mean_outlier_delay: f64,
    /// Fraction of reads that the cache answers unpredictably.
    pub random_hit_fraction: f64,
    /// Bytes that the drive prefetches after a request until the next seek.
    pub read_ahead: u64,
    /// Number of segments in the read cache.
    pub cache_segments: usize,
    /// Bytes of volatile write cache; 0 writes through.
    pub write_cache: u64,
    /// Bytes per second at which the write cache is written back.
    pub drain_rate: f64,
    /// Queue depth for reordering (native command queueing); 1 is first come, first served.
    pub ncq_depth: usize,
    /// Byte range that cannot be read or written.
    pub failing_range: std::ops::Range<u64>,
    /// Median delay between completion and the host's observation, for the part that differs with
    /// every completion; 0 has no delay.
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
    /// Duration of one revolution.
    #[must_use]
    pub fn revolution_time(&self) -> f64 {
        60e9 / self.rpm
    }

    /// Duration of a seek over that many cylinders. It grows with the square root of the distance
    /// while the actuator accelerates, and becomes nearly linear (Ruemmler and Wilkes, "An
    /// Introduction to Disk Drive Modeling", IEEE Computer 27 (1994)).
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
        // After a head switch the next sector is just ahead of the head. The skew is slightly
        // longer than the switch; otherwise a sequential read would lose a revolution on every
        // track.
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
