//! `sim:hdd`: the hard disk with its command queue.

use super::hdd::HardDisk;
use super::hdd_settings::{DISK_PARAMETERS, read_disk_parameters};
use super::lateness::Lateness;
use super::model::{DriveModel, SimCompletion, SimRequest};
use super::parameters::{SimError, SimParameters, SimulatedDrive, SimulatedKind};

/// A request that was overtaken this many times per entry of the drive's queue is served next,
/// regardless of its location. A limit in time would make every long queue first come, first
/// served.
const MAX_TIMES_OVERTAKEN: usize = 4;

/// `sim:hdd`: a rotational disk.
pub(super) const HDD: SimulatedKind = SimulatedKind {
    name: "hdd",
    parameters: DISK_PARAMETERS,
    rotational: Some(true),
    build,
};

fn build(parameters: &SimParameters) -> Result<SimulatedDrive, SimError> {
    let drive = HardDisk::new(read_disk_parameters(parameters)?);
    // The geometry determines the exact size.
    let (size, rpm) = (drive.size(), drive.settings().rpm.round() as u32);
    parameters.build_around(HardDiskQueue::new(drive), size, Some(rpm))
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
        let queued = self.waiting.iter().map(|waiting| waiting.queued_at_ns);
        Some(queued.min()?.max(self.free_ns))
    }

    fn serve(&mut self, begin_ns: u64) -> Option<SimCompletion> {
        let here: Vec<usize> = (0..self.waiting.len())
            .filter(|index| self.waiting[*index].queued_at_ns <= begin_ns)
            .collect();
        let queue = self.drive.settings().ncq_depth.max(1);
        let overdue = here
            .iter()
            .position(|index| self.waiting[*index].times_overtaken > MAX_TIMES_OVERTAKEN * queue);
        let requests: Vec<(SimRequest, f64)> = here
            .iter()
            .map(|index| &self.waiting[*index])
            .map(|waiting| (waiting.request, waiting.queued_at_ns as f64))
            .collect();
        let chosen = overdue.or_else(|| self.drive.choose_next(&requests))?;
        for index in here.iter().take(queue) {
            self.waiting[*index].times_overtaken += 1;
        }
        let QueuedRequest { id, request, .. } = self.waiting.remove(here[chosen]);
        let since = requests[chosen].1;
        let at = self.drive.serve(&request, since);
        self.free_ns = at.ceil() as u64;
        let late = self.completion_delay.delay_of(at, at - since);
        self.last_seen_ns = self.last_seen_ns.max((at + late).ceil() as u64);
        Some(SimCompletion {
            completed_at_ns: self.last_seen_ns,
            id,
            result: Ok(request.bytes),
        })
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
    use crate::engine::simulated::hdd::HardDiskSettings as Disk;

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
