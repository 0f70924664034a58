//! Typical speeds of media classes, accurate enough to distinguish seconds from minutes without
//! I/O.

use crate::bench::framework;
use crate::drive::{DriveKind, Target, TargetKind};
use crate::engine::{AccessPattern, BlockSize, CacheMode, IoOperation, Plan, PlanLimits, SyncMode};

/// Speed of a medium. Times in seconds, rates in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MediumSpeed {
    /// Latency of a random read without the transfer.
    read_overhead: f64,
    /// Latency of a write that the drive's cache absorbs, and of any contiguous request.
    cached_overhead: f64,
    /// Positioning time over the whole medium, including half a revolution.
    positioning: f64,
    /// The part of `positioning` that remains at any distance.
    min_positioning: f64,
    /// Random requests served in parallel.
    parallelism: f64,
    /// Speedup of random requests with a full queue on a medium that serves one location at a time.
    reordering_gain: f64,
    /// Sequential read rate.
    read_rate: f64,
    /// Sustained sequential write rate.
    write_rate: f64,
    /// Time until a small write is durable.
    flush_time: f64,
    /// Delay of one contiguous write without a write cache: a disk has rotated past the sector
    /// meanwhile.
    missed_revolution: f64,
    /// Whether buffered I/O uses kernel read-ahead and write-back.
    has_page_cache: bool,
    /// Capacity in bytes, to which `positioning` refers.
    capacity: f64,
    /// Factor of all times.
    slowness: f64,
}

/// Predicted work of a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestedWork {
    /// Run time, excluding ramp time.
    pub seconds: f64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Number of requests.
    pub requests: u64,
}

/// A disk with 7200 revolutions per minute.
const TYPICAL_DISK: MediumSpeed = MediumSpeed {
    read_overhead: 100e-6,
    cached_overhead: 20e-6,
    positioning: 13e-3,
    min_positioning: 5e-3,
    parallelism: 1.0,
    reordering_gain: 2.5,
    read_rate: 180e6,
    write_rate: 170e6,
    flush_time: 8.3e-3,
    missed_revolution: 0.0,
    has_page_cache: true,
    capacity: 1e12,
    slowness: 1.0,
};
/// An SSD on SATA or behind a virtual machine's interface.
const TYPICAL_SATA_SSD: MediumSpeed = MediumSpeed {
    read_overhead: 80e-6,
    cached_overhead: 15e-6,
    positioning: 0.0,
    min_positioning: 0.0,
    parallelism: 10.0,
    reordering_gain: 1.0,
    read_rate: 1e9,
    write_rate: 350e6,
    flush_time: 1e-3,
    missed_revolution: 0.0,
    has_page_cache: true,
    capacity: 1e12,
    slowness: 1.0,
};
/// An NVMe SSD.
const TYPICAL_NVME: MediumSpeed = MediumSpeed {
    parallelism: 32.0,
    read_rate: 2.5e9,
    write_rate: 1.2e9,
    flush_time: 0.5e-3,
    ..TYPICAL_SATA_SSD
};
/// Memory behind a block device or a file.
const TYPICAL_MEMORY: MediumSpeed = MediumSpeed {
    read_overhead: 8e-6,
    cached_overhead: 5e-6,
    parallelism: 2.0,
    read_rate: 3e9,
    write_rate: 2e9,
    flush_time: 10e-6,
    ..TYPICAL_SATA_SSD
};
/// Times of the slowest healthy disk, relative to a typical one.
const SLOWEST_DISK: f64 = 3.0;
/// Times of the slowest healthy solid-state medium (a memory card), relative to a typical one.
const SLOWEST_SSD: f64 = 10.0;
/// Times of the fastest disk, relative to a typical one.
const FASTEST_DISK: f64 = 0.5;
/// Times of the fastest solid-state medium, or of a cache that absorbs all, relative to a typical one.
const FASTEST_SSD: f64 = 1.0 / 8.0;

impl MediumSpeed {
    /// A typical medium of the target's class.
    #[must_use]
    pub fn typical(target: &Target) -> Self {
        let class = match target.is_rotational() {
            Some(true) => TYPICAL_DISK,
            _ if is_in_memory(target) => TYPICAL_MEMORY,
            _ if is_nvme(target) => TYPICAL_NVME,
            _ => TYPICAL_SATA_SSD,
        };
        let is_simulated = target.kind == TargetKind::Simulated;
        Self {
            capacity: framework::underlying_capacity(target).max(1) as f64,
            // A simulated drive completes a write durably, and has no page cache.
            flush_time: if is_simulated { 0.0 } else { class.flush_time },
            has_page_cache: !is_simulated,
            missed_revolution: match class.positioning > 0.0 && !has_write_cache(target) {
                true => class.flush_time,
                false => 0.0,
            },
            ..class
        }
    }

    /// The slowest healthy medium of the target's class. What stores the data of a virtual disk is not
    /// known, and may be a disk.
    #[must_use]
    pub fn slowest(target: &Target) -> Self {
        let class = Self::typical(target);
        if target.is_rotational() == Some(true) {
            Self {
                slowness: SLOWEST_DISK,
                ..class
            }
        } else if is_virtual(target) {
            Self {
                slowness: SLOWEST_DISK,
                read_rate: class.read_rate.min(TYPICAL_DISK.read_rate),
                write_rate: class.write_rate.min(TYPICAL_DISK.write_rate),
                capacity: class.capacity,
                has_page_cache: class.has_page_cache,
                ..TYPICAL_DISK
            }
        } else {
            Self {
                slowness: SLOWEST_SSD,
                ..class
            }
        }
    }

    /// The fastest medium of the target's class.
    #[must_use]
    pub fn fastest(target: &Target) -> Self {
        let slowness = match target.is_rotational() {
            Some(true) => FASTEST_DISK,
            _ => FASTEST_SSD,
        };
        Self {
            slowness,
            ..Self::typical(target)
        }
    }

    /// Seconds to write and sync a new file of this many bytes.
    #[must_use]
    pub fn fill_seconds(self, bytes: u64) -> f64 {
        self.slowness * (bytes as f64 / self.write_rate + self.flush_time)
    }

    /// Predicted work of a phase within these limits, which include its own.
    #[must_use]
    pub fn phase_work(self, plan: &Plan, limits: PlanLimits) -> RequestedWork {
        let size = mean_block_size(plan.block_size);
        let own = self.seconds_per_request(plan);
        let each = plan.arrival_rate.map_or(own, |rate| own.max(1.0 / rate));
        let limited = [
            limits.requests.map(|requests| requests as f64),
            limits.bytes.map(|bytes| bytes as f64 / size),
            requests_in_pattern(plan, limits, size),
        ];
        let most = limited.into_iter().flatten().fold(f64::INFINITY, f64::min);
        let time = limits
            .duration
            .map_or(f64::INFINITY, |limit| limit.as_secs_f64());
        let requests = (time / each).min(most);
        let drained = match time < most * each {
            true => self.drain_seconds(plan),
            false => 0.0,
        };
        let seconds = (most * each).min(time) + drained;
        RequestedWork {
            seconds,
            bytes: (requests * size) as u64,
            requests: requests as u64,
        }
    }

    /// Time to complete the requests in flight at the end of the run time.
    #[must_use]
    pub fn drain_seconds(self, plan: &Plan) -> f64 {
        self.seconds_per_request(plan) * f64::from(plan.depth) * f64::from(plan.workers)
    }

    /// Mean time between completions.
    fn seconds_per_request(self, plan: &Plan) -> f64 {
        let size = mean_block_size(plan.block_size);
        let in_flight = f64::from(plan.depth) * f64::from(plan.workers);
        let reading = match plan.operation {
            IoOperation::Read => 1.0,
            IoOperation::Write => 0.0,
            IoOperation::Mixed { reads } => reads,
        };
        let buffered = plan.cache_mode != CacheMode::Bypass && self.has_page_cache;
        let moving = reading * size / self.read_rate + (1.0 - reading) * size / self.write_rate;
        let sync = match plan.sync_mode {
            SyncMode::None => 0.0,
            SyncMode::DataSync | SyncMode::Sync | SyncMode::Flush => {
                (1.0 - reading) * self.flush_time
            }
        };
        if is_sequential(plan) {
            let command = self.cached_overhead / in_flight.min(self.parallelism.max(4.0));
            let command = match plan.operation {
                IoOperation::Write if in_flight <= 1.0 => command + self.missed_revolution,
                _ => command,
            };
            let command = if buffered { 0.0 } else { command };
            return self.slowness * (moving.max(command) + sync);
        }
        let command = reading * self.read_overhead + (1.0 - reading) * self.cached_overhead;
        let queued = match self.positioning > 0.0 {
            true => 1.0 + (self.reordering_gain - 1.0) * (in_flight.log2() / 5.0).min(1.0),
            false => in_flight.min(self.parallelism),
        };
        let answer = (command + self.positioning_in_window(plan)) / queued;
        self.slowness * (answer + moving + sync)
    }

    /// Positioning time within the plan's window.
    fn positioning_in_window(self, plan: &Plan) -> f64 {
        let length = plan.window.end.saturating_sub(plan.window.start) as f64;
        let share = (length / self.capacity).clamp(0.0, 1.0);
        self.min_positioning + (self.positioning - self.min_positioning) * share.sqrt()
    }
}

/// Whether the drive has an active volatile write cache. Assumed for a disk that does not report
/// it; a simulated drive has one only if configured.
fn has_write_cache(target: &Target) -> bool {
    let state = target
        .drive
        .as_ref()
        .and_then(|drive| drive.write_cache.as_deref());
    match state {
        Some(state) => state == "write back",
        None => target.kind != TargetKind::Simulated,
    }
}

fn is_sequential(plan: &Plan) -> bool {
    matches!(
        plan.pattern,
        AccessPattern::Sequential | AccessPattern::Zones { .. }
    )
}

/// Number of requests after which the plan's address pattern ends.
fn requests_in_pattern(plan: &Plan, limits: PlanLimits, size: f64) -> Option<f64> {
    match &plan.pattern {
        AccessPattern::Zones { requests, .. } => Some(*requests as f64),
        AccessPattern::AddressList(addresses) => Some(addresses.len() as f64),
        AccessPattern::Sequential if limits == PlanLimits::default() => {
            Some(plan.window.end.saturating_sub(plan.window.start) as f64 / size)
        }
        AccessPattern::Sequential | AccessPattern::Random | AccessPattern::Zipf { .. } => None,
    }
}

fn mean_block_size(size: BlockSize) -> f64 {
    0.5 * (f64::from(size.min_bytes()) + f64::from(size.max_bytes())).max(2.0)
}

fn is_in_memory(target: &Target) -> bool {
    let kind = target.drive.as_ref().map(|drive| drive.kind);
    let file_system = target.file_system.as_deref();
    kind == Some(DriveKind::RamDisk) || matches!(file_system, Some("tmpfs" | "ramfs"))
}

fn is_virtual(target: &Target) -> bool {
    let drive = target.drive.as_ref();
    let transport = drive.and_then(|drive| drive.transport.as_deref());
    matches!(transport, Some("virtio" | "loop" | "nbd" | "xen")) && !is_in_memory(target)
}

fn is_nvme(target: &Target) -> bool {
    let transport = target
        .drive
        .as_ref()
        .and_then(|drive| drive.transport.as_deref());
    target.kind != TargetKind::Simulated && transport == Some("nvme")
}
