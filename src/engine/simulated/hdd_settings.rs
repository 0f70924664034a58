//! Settings of a simulated hard disk.

use super::parameters::{SimError, SimParameters};

/// Settings of a simulated hard disk. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct HardDiskSettings {
    /// Approximate size in bytes: the last zone ends with a whole cylinder.
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
    /// Fraction of reads that the cache answers unpredictably.
    pub random_hit_fraction: f64,
    /// Bytes that the drive prefetches after a request until the next seek.
    pub read_ahead: u64,
    /// Number of segments in the read cache.
    pub cache_segments: usize,
    /// Bytes of volatile write cache; 0 writes through.
    pub write_cache: u64,
    /// Queue depth for reordering (native command queueing); 1 is first come, first served.
    pub ncq_depth: usize,
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
            heads: 4,
            cylinders: 150_000,
            zones: 16,
            inner_ratio: 0.5,
            seek_jitter: 15e3,
            outlier_fraction: 0.005,
            random_hit_fraction: 0.0,
            read_ahead: 2 << 20,
            cache_segments: 32,
            write_cache: 0,
            ncq_depth: 32,
            completion_delay: 0.0,
            seed: 1,
        }
    }
}

/// Names of the parameters that are read below.
pub(super) const DISK_PARAMETERS: &str = "rpm full t2t head-switch overhead heads cylinders zones \
     inner jitter outliers cache-hits read-ahead write-cache ncq lateness seed";

/// The disk's settings from its parameters.
///
/// # Errors
/// When a value cannot be parsed, or the combination is physically impossible.
pub fn read_disk_parameters(given: &SimParameters) -> Result<HardDiskSettings, SimError> {
    let default = HardDiskSettings::default();
    let disk = HardDiskSettings {
        capacity: given.size("size", default.capacity)?,
        rpm: given.number("rpm", default.rpm)?,
        track_to_track: given.time("t2t", default.track_to_track)?,
        full_stroke: given.time("full", default.full_stroke)?,
        head_switch: given.time("head-switch", default.head_switch)?,
        command_overhead: given.time("overhead", default.command_overhead)?,
        heads: given.count("heads", default.heads)?,
        cylinders: given.count("cylinders", default.cylinders)?,
        zones: given.count("zones", default.zones)?,
        inner_ratio: given.fraction("inner", default.inner_ratio)?,
        seek_jitter: given.time("jitter", default.seek_jitter)?,
        outlier_fraction: given.fraction("outliers", default.outlier_fraction)?,
        random_hit_fraction: given.fraction("cache-hits", default.random_hit_fraction)?,
        read_ahead: given.size("read-ahead", default.read_ahead)?,
        write_cache: given.size("write-cache", default.write_cache)?,
        ncq_depth: given.count("ncq", default.ncq_depth as u32)? as usize,
        completion_delay: given.time("lateness", default.completion_delay)?,
        seed: u64::from(given.count("seed", 1)?),
        ..default
    };
    match disk.impossibility() {
        Some(wrong) => Err(SimError(format!("sim:hdd: {wrong}"))),
        None => Ok(disk),
    }
}

impl HardDiskSettings {
    /// Why such a disk is physically impossible.
    fn impossibility(&self) -> Option<&'static str> {
        let tracks = u64::from(self.heads) * u64::from(self.cylinders);
        if !(60.0..=100_000.0).contains(&self.rpm) {
            Some("rpm must be from 60 to 100000")
        } else if self.heads == 0 || self.cylinders < 3 {
            Some("heads must be at least 1 and cylinders at least 3")
        } else if self.zones == 0 || self.zones > self.cylinders {
            Some("zones must be from 1 to the number of cylinders")
        } else if self.inner_ratio <= 0.0 {
            Some("inner must be above 0%")
        } else if self.capacity / tracks < 8 * 512 {
            Some("size must allow 8 sectors per track: choose fewer cylinders or heads")
        } else {
            None
        }
    }

    /// Duration of one revolution.
    pub fn revolution_time(&self) -> f64 {
        60e9 / self.rpm
    }

    /// Duration of a seek over that many cylinders. It grows with the square root of the distance
    /// while the actuator accelerates, and becomes nearly linear (Ruemmler and Wilkes, "An
    /// Introduction to Disk Drive Modeling", IEEE Computer 27 (1994)).
    pub fn seek_time(&self, cylinders: u32) -> f64 {
        if cylinders == 0 {
            return 0.0;
        }
        let most = f64::from(self.cylinders.max(3) - 2);
        let share = f64::from(cylinders - 1) / most;
        let way = 0.6 * share.sqrt() + 0.4 * share;
        self.track_to_track + (self.full_stroke - self.track_to_track) * way
    }

    /// The skew, in revolutions, that hides a switch of this duration: the next sector is then just
    /// ahead of the head. It is slightly longer than the switch; otherwise a sequential read would
    /// lose a revolution on every track.
    pub fn skew(&self, switch: f64) -> f64 {
        switch / self.revolution_time() + 0.004
    }
}
