//! `sim:hdd`: the hard disk made of arithmetic behind a queue.

use super::hdd::{Access, Answer, Hdd, Settings as Disk};
use super::lateness::Lateness;
use super::model::{Completion, Model, SimRequest};
use super::{Kind, Settings, SimError, Simulation};

/// A request that was passed over this many times for each place of the drive's queue is served next,
/// wherever it lies. A limit in time would turn every long queue into one that keeps its order.
const PATIENCE: usize = 4;

/// `sim:hdd`: a hard disk that spins.
pub const HDD: Kind = Kind {
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

fn build(settings: &mut Settings) -> Result<Simulation, SimError> {
    let disk = read(settings)?;
    let rate = disk.rpm.round() as u32;
    let drive = Hdd::new(disk);
    let size = drive.size();
    let mut simulation = settings.finish(Box::new(Queue::new(drive)))?.rotating(true);
    // The geometry decides how much fits exactly.
    simulation.target.size = size;
    if let Some(drive) = &mut simulation.target.drive {
        drive.size_bytes = size;
        drive.rotation_rate = Some(rate);
    }
    // Made to be watched: a second of this drive takes a second, unless something else is asked.
    simulation.real_time |= !settings.is_given("clock");
    Ok(simulation)
}

/// The disk's settings from its parameters.
///
/// # Errors
/// When a value cannot be read, or no disk can be like that.
pub fn read(settings: &Settings) -> Result<Disk, SimError> {
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
        overhead: time("overhead", default.overhead)?,
        interface: settings.size("interface", default.interface as u64)? as f64,
        heads: settings.count("heads", default.heads)?,
        cylinders: settings.count("cylinders", default.cylinders)?,
        zones: settings.count("zones", default.zones)?,
        inner_ratio: settings.share("inner", default.inner_ratio)?,
        jitter: time("jitter", default.jitter)?,
        outliers: settings.share("outliers", default.outliers)?,
        outlier: time("outlier", default.outlier)?,
        cache_hits: settings.share("cache-hits", default.cache_hits)?,
        read_ahead: settings.size("read-ahead", default.read_ahead)?,
        segments: settings.count("segments", default.segments as u32)? as usize,
        write_cache: settings.size("write-cache", default.write_cache)?,
        drain: settings.size("drain", default.drain as u64)? as f64,
        ncq: settings.count("ncq", default.ncq as u32)? as usize,
        failing: settings.size("fail-from", 0)?..settings.size("fail-to", 0)?,
        lateness: time("lateness", default.lateness)?,
        seed: u64::from(settings.count("seed", 1)?),
    };
    check(&disk)?;
    Ok(disk)
}

/// Refuses what no disk can be.
fn check(disk: &Disk) -> Result<(), SimError> {
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
        "size must hold 8 sectors on every track: choose fewer cylinders or heads"
    } else if disk.interface <= 0.0 || disk.drain <= 0.0 {
        "interface and drain must be above 0"
    } else {
        return Ok(());
    };
    Err(SimError(format!("sim:hdd: {wrong}")))
}

/// A request in the drive's queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    since_ns: u64,
    id: u64,
    request: SimRequest,
    /// How often the drive, which knew of it, served another one.
    passed_over: usize,
}

/// One disk and the queue from which it chooses.
#[derive(Debug)]
struct Queue {
    drive: Hdd,
    waiting: Vec<Waiting>,
    done: Option<Completion>,
    free_ns: u64,
    lateness: Lateness,
    /// When the host saw the last answer.
    seen_ns: u64,
}

impl Queue {
    fn new(drive: Hdd) -> Self {
        let settings = drive.settings();
        Self {
            lateness: Lateness::new(settings.lateness, settings.seed),
            drive,
            waiting: Vec::new(),
            done: None,
            free_ns: 0,
            seen_ns: 0,
        }
    }

    /// When the next service begins; `None` while nothing waits.
    fn begin(&self) -> Option<u64> {
        let first = self.waiting.iter().map(|waiting| waiting.since_ns).min()?;
        Some(first.max(self.free_ns))
    }

    fn serve(&mut self, begin_ns: u64) -> Option<Completion> {
        let here: Vec<usize> = (0..self.waiting.len())
            .filter(|index| self.waiting[*index].since_ns <= begin_ns)
            .collect();
        let queue = self.drive.settings().ncq.max(1);
        let impatient = here
            .iter()
            .position(|index| self.waiting[*index].passed_over > PATIENCE * queue);
        let accesses: Vec<(Access, f64)> = here
            .iter()
            .map(|index| &self.waiting[*index])
            .map(|waiting| (access(&waiting.request), waiting.since_ns as f64))
            .collect();
        let chosen = impatient.or_else(|| self.drive.choose(&accesses))?;
        for index in here.iter().take(queue) {
            self.waiting[*index].passed_over += 1;
        }
        let Waiting { id, request, .. } = self.waiting.remove(here[chosen]);
        let (access, since) = &accesses[chosen];
        let (at, result) = match self.drive.serve(access, *since) {
            Answer::Done(at) => (at, Ok(request.bytes)),
            Answer::Failed(at) => (at, Err(libc::EIO)),
        };
        self.free_ns = at.ceil() as u64;
        let late = self.lateness.of(at, at - since);
        self.seen_ns = self.seen_ns.max((at + late).ceil() as u64);
        Some(Completion {
            at_ns: self.seen_ns,
            id,
            result,
        })
    }
}

fn access(request: &SimRequest) -> Access {
    Access {
        address: request.address,
        bytes: request.bytes,
        write: request.writes,
    }
}

impl Model for Queue {
    fn submit(&mut self, now_ns: u64, id: u64, request: SimRequest) {
        self.waiting.push(Waiting {
            since_ns: now_ns,
            id,
            request,
            passed_over: 0,
        });
    }

    fn advance(&mut self, until_ns: u64) -> Option<Completion> {
        if self.done.is_none() {
            let begin_ns = self.begin().filter(|begin| *begin <= until_ns)?;
            self.done = self.serve(begin_ns);
        }
        self.done.take_if(|done| done.at_ns <= until_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plan::DataKind;

    fn simulation(name: &str) -> Result<Simulation, SimError> {
        Settings::parse(name)?.build()
    }

    #[test]
    fn parameters_have_units_and_bounds() {
        let drive = simulation("sim:hdd,rpm=5400,full=25ms,size=250GB,cache-hits=20%").unwrap();
        assert!(drive.real_time);
        assert_eq!(drive.target.rotational(), Some(true));
        assert!((drive.target.size as f64 / 250e9 - 1.0).abs() < 0.01);
        assert!(!simulation("sim:hdd,clock=virtual").unwrap().real_time);
        for (name, hint) in [
            ("sim:hdd,rpm=0", "rpm"),
            ("sim:hdd,heads=0", "heads"),
            ("sim:hdd,zones=0", "zones"),
            ("sim:hdd,size=1MB", "size"),
            ("sim:hdd,cache-hits=120%", "0% to 100%"),
        ] {
            let error = simulation(name).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
    }

    #[test]
    fn the_queue_serves_what_is_near_first_and_nobody_starves() {
        let disk = Disk {
            outliers: 0.0,
            jitter: 0.0,
            ..Disk::default()
        };
        let mut queue = Queue::new(Hdd::new(disk));
        let request = |address: u64| SimRequest {
            address,
            bytes: 4096,
            writes: false,
            data: DataKind::Random,
        };
        queue.submit(0, 0, request(900_000_000_000));
        assert!(queue.advance(1000).is_none());
        // Nearer than what is being served, but that began already.
        (1..20).for_each(|id| queue.submit(1000, id, request(id << 28)));
        let order: Vec<u64> = std::iter::from_fn(|| queue.advance(u64::MAX))
            .map(|one| one.id)
            .collect();
        assert_eq!(order.len(), 20);
        assert_eq!(order[0], 0);
        assert_ne!(order, (0..20).collect::<Vec<_>>());
    }
}
