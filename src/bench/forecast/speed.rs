//! How fast media of a class are: good enough to tell seconds from minutes before anything is read.

use crate::bench::common;
use crate::drive::{DriveKind, Target, TargetKind};
use crate::engine::{BlockSize, CacheMode, Limits, Operation, Pattern, Plan, SyncMode};

/// How fast a medium is. Times in seconds, rates in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MediumSpeed {
    /// What a read at a random place takes, whatever it moves.
    read_command: f64,
    /// What a write that a drive's cache takes costs, and any request that continues the one before.
    quick_command: f64,
    /// Until the medium is at another place, over the whole of it; half of a revolution is in it.
    positioning: f64,
    /// The part of `positioning` that remains however near the other place is.
    least_positioning: f64,
    /// Requests at random places that are served at the same time.
    parallel: f64,
    /// How many times as many random requests a full queue gives where one place is reached at a time.
    reordering: f64,
    /// Reading in sequence.
    read: f64,
    /// Writing in sequence for a long time.
    write: f64,
    /// Until one small write is durable.
    durable: f64,
    /// What one write that continues the one before waits for, where no cache takes it: a disk has turned
    /// on meanwhile.
    missed_revolution: f64,
    /// Whether the kernel reads ahead and writes behind where it is not bypassed.
    has_page_cache: bool,
    /// Bytes of the whole medium, over which `positioning` is meant.
    capacity: f64,
}

/// What a phase does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// How long it takes, the ramp not counted.
    pub seconds: f64,
    /// Bytes that it moves.
    pub bytes: u64,
    /// Requests that it makes.
    pub requests: u64,
}

/// A disk with 7200 revolutions per minute.
const DISK: MediumSpeed = MediumSpeed {
    read_command: 100e-6,
    quick_command: 20e-6,
    positioning: 13e-3,
    least_positioning: 5e-3,
    parallel: 1.0,
    reordering: 2.5,
    read: 180e6,
    write: 170e6,
    durable: 8.3e-3,
    missed_revolution: 0.0,
    has_page_cache: true,
    capacity: 1e12,
};
/// An SSD at SATA or behind a virtual machine's interface.
const SOLID_STATE: MediumSpeed = MediumSpeed {
    read_command: 80e-6,
    quick_command: 15e-6,
    positioning: 0.0,
    least_positioning: 0.0,
    parallel: 10.0,
    reordering: 1.0,
    read: 1e9,
    write: 350e6,
    durable: 1e-3,
    missed_revolution: 0.0,
    has_page_cache: true,
    capacity: 1e12,
};
/// An SSD at NVMe.
const NVME: MediumSpeed = MediumSpeed {
    parallel: 32.0,
    read: 2.5e9,
    write: 1.2e9,
    durable: 0.5e-3,
    ..SOLID_STATE
};
/// Memory behind a block device or a file.
const MEMORY: MediumSpeed = MediumSpeed {
    read_command: 8e-6,
    quick_command: 5e-6,
    parallel: 2.0,
    read: 3e9,
    write: 2e9,
    durable: 10e-6,
    ..SOLID_STATE
};
/// The slowest disk that is not broken, as a share of an ordinary one.
const SLOWEST_DISK: f64 = 1.0 / 3.0;
/// The slowest solid state medium that is not broken: a memory card.
const SLOWEST_SOLID_STATE: f64 = 1.0 / 10.0;

impl MediumSpeed {
    /// An ordinary medium of the target's class.
    #[must_use]
    pub fn typical(target: &Target) -> Self {
        let class = match target.rotational() {
            Some(true) => DISK,
            _ if lies_in_memory(target) => MEMORY,
            _ if is_nvme(target) => NVME,
            _ => SOLID_STATE,
        };
        let is_simulated = target.kind == TargetKind::Simulated;
        Self {
            capacity: common::capacity(target).max(1) as f64,
            // A simulated drive keeps everything as soon as it says so, and has no page cache in front.
            durable: if is_simulated { 0.0 } else { class.durable },
            has_page_cache: !is_simulated,
            missed_revolution: match class.positioning > 0.0 && !has_write_cache(target) {
                true => class.durable,
                false => 0.0,
            },
            ..class
        }
    }

    /// The slowest medium of the target's class that is not broken.
    #[must_use]
    pub fn slowest(target: &Target) -> Self {
        let share = match target.rotational() {
            Some(true) => SLOWEST_DISK,
            _ => SLOWEST_SOLID_STATE,
        };
        Self::typical(target).times(share)
    }

    /// The same medium, that many times as fast.
    fn times(self, factor: f64) -> Self {
        Self {
            read_command: self.read_command / factor,
            quick_command: self.quick_command / factor,
            positioning: self.positioning / factor,
            least_positioning: self.least_positioning / factor,
            read: self.read * factor,
            write: self.write * factor,
            durable: self.durable / factor,
            missed_revolution: self.missed_revolution / factor,
            ..self
        }
    }

    /// Seconds to write and sync a new file of so many bytes.
    #[must_use]
    pub fn fill_seconds(self, bytes: u64) -> f64 {
        bytes as f64 / self.write + self.durable
    }

    /// What a phase does within these limits, which include its own.
    #[must_use]
    pub fn work(self, plan: &Plan, limits: Limits) -> Work {
        let size = mean_size(plan.block_size);
        let own = self.seconds_per_request(plan);
        let each = plan.rate.map_or(own, |rate| own.max(1.0 / rate));
        let limited = [
            limits.requests.map(|requests| requests as f64),
            limits.bytes.map(|bytes| bytes as f64 / size),
            end_of(plan, limits, size),
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
        Work {
            seconds,
            bytes: (requests * size) as u64,
            requests: requests as u64,
        }
    }

    /// Until what is in flight when the time is over is complete.
    #[must_use]
    pub fn drain_seconds(self, plan: &Plan) -> f64 {
        self.seconds_per_request(plan) * f64::from(plan.depth) * f64::from(plan.workers)
    }

    /// Mean time from one completion to the next.
    fn seconds_per_request(self, plan: &Plan) -> f64 {
        let size = mean_size(plan.block_size);
        let in_flight = f64::from(plan.depth) * f64::from(plan.workers);
        let reading = match plan.operation {
            Operation::Read => 1.0,
            Operation::Write => 0.0,
            Operation::Mixed { reads } => reads,
        };
        let buffered = plan.cache != CacheMode::Bypass && self.has_page_cache;
        let moving = reading * size / self.read + (1.0 - reading) * size / self.write;
        let sync = match plan.sync {
            SyncMode::None => 0.0,
            SyncMode::DataSync | SyncMode::Sync => (1.0 - reading) * self.durable,
        };
        if is_in_sequence(plan) {
            let command = self.quick_command / in_flight.min(self.parallel.max(4.0));
            let command = match plan.operation {
                Operation::Write if in_flight <= 1.0 => command + self.missed_revolution,
                _ => command,
            };
            return moving.max(if buffered { 0.0 } else { command }) + sync;
        }
        let command = reading * self.read_command + (1.0 - reading) * self.quick_command;
        let queued = match self.positioning > 0.0 {
            true => 1.0 + (self.reordering - 1.0) * (in_flight.log2() / 5.0).min(1.0),
            false => in_flight.min(self.parallel),
        };
        (command + self.reach(plan)) / queued + moving + sync
    }

    /// Time to another place in the plan's window.
    fn reach(self, plan: &Plan) -> f64 {
        let length = plan.window.end.saturating_sub(plan.window.start) as f64;
        let share = (length / self.capacity).clamp(0.0, 1.0);
        self.least_positioning + (self.positioning - self.least_positioning) * share.sqrt()
    }
}

/// Whether the drive has a volatile cache for writes that is in use; of a disk that says nothing it is
/// assumed, a simulated one has none unless asked for.
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

fn is_in_sequence(plan: &Plan) -> bool {
    matches!(plan.pattern, Pattern::Sequential | Pattern::Zones { .. })
}

/// Requests after which the plan's own pattern ends.
fn end_of(plan: &Plan, limits: Limits, size: f64) -> Option<f64> {
    match &plan.pattern {
        Pattern::Zones { requests, .. } => Some(*requests as f64),
        Pattern::Addresses(addresses) => Some(addresses.len() as f64),
        Pattern::Sequential if limits == Limits::default() => {
            Some(plan.window.end.saturating_sub(plan.window.start) as f64 / size)
        }
        Pattern::Sequential | Pattern::Random | Pattern::Zipf { .. } => None,
    }
}

fn mean_size(size: BlockSize) -> f64 {
    0.5 * (f64::from(size.smallest()) + f64::from(size.largest())).max(2.0)
}

fn lies_in_memory(target: &Target) -> bool {
    let kind = target.drive.as_ref().map(|drive| drive.kind);
    let file_system = target.file_system.as_deref();
    kind == Some(DriveKind::Memory) || matches!(file_system, Some("tmpfs" | "ramfs"))
}

fn is_nvme(target: &Target) -> bool {
    let transport = target
        .drive
        .as_ref()
        .and_then(|drive| drive.transport.as_deref());
    target.kind != TargetKind::Simulated && transport == Some("nvme")
}
