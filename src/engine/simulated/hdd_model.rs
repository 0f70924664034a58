//! `sim:hdd`: the hard disk model with a command queue.

use super::hdd::{DriveAccess, DriveAnswer, HardDisk, HardDiskSettings as Disk};
use super::lateness::Lateness;
use super::model::{DriveModel, SimCompletion, SimRequest};
use super::{SimError, SimParameters, SimulatedDrive, SimulatedKind};

/// A request that was overtaken this many times per entry of the drive's queue is served next,
/// regardless of its location. A limit in time would make every long queue first come, first
/// served.
const MAX_TIMES_OVERTAKEN: usize = 4;

/// `sim:hdd`: a rotational disk.
pub const HDD: SimulatedKind = SimulatedKind {
    name: "hdd",
    summary: "a hard disk: seeks, rotation, zones, read-ahead, cache, command queueing",
    parameters: &[
        "rpm",
        "full",
        "t2t",
        "head-switch",
        "overhead",
        "interface",
        "heads",
        "cylinders",
        "zones",
        "inner",
        "jitter",
        "outliers",
        "outlier",
        "cache-hits",
        "read-ahead",
        "segments",
        "write-cache",
        "drain",
        "ncq",
        "fail-from",
        "fail-to",
        "lateness",
        "seed",
    ],
    build,
};

fn build(settings: &mut SimParameters) -> Result<SimulatedDrive, SimError> {
    let disk = read_disk_parameters(settings)?;
    let rate = disk.rpm.round() as u32;
    let drive = HardDisk::new(disk);
    let size = drive.size();
    let mut simulation = settings
        .build_around(Box::new(HardDiskQueue::new(drive)))?
        .with_rotational(true);
    // The geometry determines the exact capacity.
    simulation.target.size_bytes = size;
    if let Some(drive) = &mut simulation.target.drive {
        drive.size_bytes = size;
        drive.rotation_rate = Some(rate);
    }
    // For demonstrations: the drive runs in real time unless the parameters say otherwise.
    simulation.is_real_time |= !settings.is_given("clock");
    Ok(simulation)
}

/// The disk's settings from its parameters.
///
/// # Errors
/// When a value cannot be parsed, or the combination is physically impossible.
pub fn read_disk_parameters(settings: &SimParameters) -> Result<Disk, SimError> {
    let default = Disk::default();
    let time = |key: &str, default: f64| {
        settings
            .duration_ns(key, default as u64)
            .map(|time| time as f64)
    };
    let disk = Disk {
        capacity: settings.size("size", default.capacity)?,
        rpm: settings.number("rpm", default.rpm)?,
        track_to_track: time("t2t", default.track_to_track)?,
        full_stroke: time("full", default.full_stroke)?,
        head_switch: time("head-switch", default.head_switch)?,
        command_overhead: time("overhead", default.command_overhead)?,
        interface_rate: settings.size("interface", default.interface_rate as u64)? as f64,
        heads: settings.count("heads", default.heads)?,
        cylinders: settings.count("cylinders", default.cylinders)?,
        zones: settings.count("zones", default.zones)?,
        inner_ratio: settings.fraction("inner", default.inner_ratio)?,
        seek_jitter: time("jitter", default.seek_jitter)?,
        outlier_fraction: settings.fraction("outliers", default.outlier_fraction)?,
        mean_outlier_delay: time("outlier", default.mean_outlier_delay)?,
        random_hit_fraction: settings.fraction("cache-hits", default.random_hit_fraction)?,
        read_ahead: settings.size("read-ahead", default.read_ahead)?,
        cache_segments: settings.count("segments", default.cache_segments as u32)? as usize,
        write_cache: settings.size("write-cache", default.write_cache)?,
        drain_rate: settings.size("drain", default.drain_rate as u64)? as f64,
        ncq_depth: settings.count("ncq", default.ncq_depth as u32)? as usize,
        failing_range: settings.size("fail-from", 0)?..settings.size("fail-to", 0)?,
        completion_delay: time("lateness", default.completion_delay)?,
        seed: u64::from(settings.count("seed", 1)?),
    };
    check_disk_parameters(&disk)?;
    Ok(disk)
}

/// Rejects physically impossible settings.
fn check_disk_parameters(disk: &Disk) -> Result<(), SimError> {
    let tracks = u64::from(disk.heads) * u64::from(disk.cylinders);
    let wrong = if !(60.0..=100_000.0).contains(&disk.rpm) {
        "rpm must be from 60 to 100000"
    } else if disk.heads == 0 || disk.cylinders < 3 {
        "heads must be at least 1 and cylinders at least 3"
    } else if disk.zones == 0 || disk.zones > disk.cylinders {
        "zones must be from 1 to the number of cylinders"
    } else if disk.inner_ratio <= 0.0 {
        "inner must be above 0%"
    } else if disk.capacity / tracks.max(1) < 8 * 512 {
        "size must allow 8 sectors per track: choose fewer cylinders or heads"
    } else if disk.interface_rate <= 0.0 || disk.drain_rate <= 0.0 {
        "interface and drain must be above 0"
    } else {
        return Ok(());
    };
    Err(SimError(format!("sim:hdd: {wrong}")))
}

/// A request in the drive's queue.
#[derive(Debug, Clone, Copy)]
struct QueuedRequest {
    queued_at_ns: u64,
    id: u64,
    request: SimRequest,
    /// How often the drive served another request although it knew of this one.
    times_overtaken: usize,
}

/// A disk with its command queue.
#[derive(Debug)]
struct HardDiskQueue {
    drive: HardDisk,
    waiting: Vec<QueuedRequest>,
    done: Option<SimCompletion>,
    free_ns: u64,
    completion_delay: Lateness,
    /// When the host received the last completion.
    last_seen_ns: u64,
}

impl HardDiskQueue {
    fn new(drive: HardDisk) -> Self {
        let settings = drive.settings();
        Self {
            completion_delay: Lateness::new(settings.completion_delay, settings.seed),
            drive,
            waiting: Vec::new(),
            done: None,
            free_ns: 0,
            last_seen_ns: 0,
        }
    }

    /// When the next service begins; `None` while the queue is empty.
    fn next_start(&self) -> Option<u64> {
        let first = self
            .waiting
            .iter()
            .map(|waiting| waiting.queued_at_ns)
            .min()?;
        Some(first.max(self.free_ns))
    }

    fn serve(&mut self, begin_ns: u64) -> Option<SimCompletion> {
        let here: Vec<usize> = (0..self.waiting.len())
            .filter(|index| self.waiting[*index].queued_at_ns <= begin_ns)
            .collect();
        let queue = self.drive.settings().ncq_depth.max(1);
        let overdue = here
            .iter()
            .position(|index| self.waiting[*index].times_overtaken > MAX_TIMES_OVERTAKEN * queue);
        let accesses: Vec<(DriveAccess, f64)> = here
            .iter()
            .map(|index| &self.waiting[*index])
            .map(|waiting| (drive_access(&waiting.request), waiting.queued_at_ns as f64))
            .collect();
        let chosen = overdue.or_else(|| self.drive.choose_next(&accesses))?;
        for index in here.iter().take(queue) {
            self.waiting[*index].times_overtaken += 1;
        }
        let QueuedRequest { id, request, .. } = self.waiting.remove(here[chosen]);
        let (access, since) = &accesses[chosen];
        let (at, result) = match self.drive.serve(access, *since) {
            DriveAnswer::Completed(at) => (at, Ok(request.bytes)),
            DriveAnswer::Failed(at) => (at, Err(libc::EIO)),
        };
        self.free_ns = at.ceil() as u64;
        let late = self.completion_delay.delay_of(at, at - since);
        self.last_seen_ns = self.last_seen_ns.max((at + late).ceil() as u64);
        Some(SimCompletion {
            completed_at_ns: self.last_seen_ns,
            id,
            result,
        })
    }
}

fn drive_access(request: &SimRequest) -> DriveAccess {
    DriveAccess {
        address: request.address,
        bytes: request.bytes,
        is_write: request.is_write,
    }
}

impl DriveModel for HardDiskQueue {
    fn submit(&mut self, now_ns: u64, id: u64, request: SimRequest) {
        self.waiting.push(QueuedRequest {
            queued_at_ns: now_ns,
            id,
            request,
            times_overtaken: 0,
        });
    }

    fn advance(&mut self, until_ns: u64) -> Option<SimCompletion> {
        if self.done.is_none() {
            let begin_ns = self.next_start().filter(|begin| *begin <= until_ns)?;
            self.done = self.serve(begin_ns);
        }
        self.done.take_if(|done| done.completed_at_ns <= until_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plan::DataKind;

    fn build_simulation(name: &str) -> Result<SimulatedDrive, SimError> {
        SimParameters::parse(name)?.build()
    }

    #[test]
    fn simulated_disk_parameters_check_units_and_bounds() {
        let drive =
            build_simulation("sim:hdd,rpm=5400,full=25ms,size=250GB,cache-hits=20%").unwrap();
        assert!(drive.is_real_time);
        assert_eq!(drive.target.is_rotational(), Some(true));
        assert!((drive.target.size_bytes as f64 / 250e9 - 1.0).abs() < 0.01);
        assert!(
            !build_simulation("sim:hdd,clock=virtual")
                .unwrap()
                .is_real_time
        );
        for (name, hint) in [
            ("sim:hdd,rpm=0", "rpm"),
            ("sim:hdd,heads=0", "heads"),
            ("sim:hdd,zones=0", "zones"),
            ("sim:hdd,size=1MB", "size"),
            ("sim:hdd,cache-hits=120%", "0% to 100%"),
        ] {
            let error = build_simulation(name).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
    }

    #[test]
    fn simulated_disk_queue_serves_nearest_first_without_starvation() {
        let disk = Disk {
            outlier_fraction: 0.0,
            seek_jitter: 0.0,
            ..Disk::default()
        };
        let mut queue = HardDiskQueue::new(HardDisk::new(disk));
        let request = |address: u64| SimRequest {
            address,
            bytes: 4096,
            is_write: false,
            data: DataKind::Random,
        };
        queue.submit(0, 0, request(900_000_000_000));
        assert!(queue.advance(1000).is_none());
        // Nearer than the request in service, which has already begun.
        (1..20).for_each(|id| queue.submit(1000, id, request(id << 28)));
        let order: Vec<u64> = std::iter::from_fn(|| queue.advance(u64::MAX))
            .map(|one| one.id)
            .collect();
        assert_eq!(order.len(), 20);
        assert_eq!(order[0], 0);
        assert_ne!(order, (0..20).collect::<Vec<_>>());
    }
}
