//! Beside a benchmark: how long its requests wait in the kernel, and how long in the drive.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::requests::{Detail, Scope, Told, follow};
use super::sampling::Sampling;
use crate::model::requests::Operation;
use crate::probe::trace::{Capture, Then};
use crate::roots::Roots;
use crate::session::document::{LatencyByDirection, LatencySummary, StageSplit};
use crate::stats::latency::Latency;

/// Follows the requests that this process sends to the device under test, or a sample of them, where
/// the kernel allows it; does nothing otherwise. Ends when it is dropped.
pub struct StageWatch {
    device: String,
    tally: Arc<Mutex<Tally>>,
    capture: Option<Capture>,
}

/// Reads and writes.
#[derive(Default)]
struct Tally {
    queue: [Latency; 2],
    drive: [Latency; 2],
    requests: u64,
    lost: u64,
    sampling: Sampling,
}

impl StageWatch {
    /// Begins to follow the requests to a device, if there is one.
    #[must_use]
    pub fn start(roots: &Roots, device: Option<&str>) -> Self {
        let tally: Arc<Mutex<Tally>> = Arc::default();
        let scope = device.and_then(|device| Scope::of(roots, device).ok());
        let device = device.unwrap_or_default().to_owned();
        let mut ours = Ours::new(roots);
        let shared = Arc::clone(&tally);
        let capture = scope.and_then(|scope| {
            let add = move |told: Told| {
                let mut tally = shared.lock().unwrap_or_else(PoisonError::into_inner);
                tally.add(&told, &mut ours)
            };
            // Without root or tracefs there is no such split: the document says so by its absence.
            follow(roots, scope, Detail::Coarse, add).ok()
        });
        Self {
            device,
            tally,
            capture,
        }
    }

    /// Waits for what the kernel still holds, and ends.
    pub fn end(&mut self) {
        if let Some(capture) = self.capture.take() {
            capture.stop();
        }
    }

    /// What is known so far; `None` when nothing is.
    #[must_use]
    pub fn so_far(&self) -> Option<StageSplit> {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        (tally.requests > 0).then(|| StageSplit {
            device: self.device.clone(),
            requests: tally.requests,
            lost: tally.lost,
            queue: by_direction(&tally.queue),
            drive: by_direction(&tally.drive),
        })
    }
}

impl Tally {
    fn add(&mut self, told: &Told, ours: &mut Ours) -> Then {
        self.lost = told.lost;
        self.sampling.note(told.requests.len(), told.since);
        for request in &told.requests {
            let side = match request.operation {
                Operation::Read => 0,
                Operation::Write => 1,
                _ => continue,
            };
            if !request
                .submitter
                .is_some_and(|actor| ours.includes(actor.pid))
            {
                continue;
            }
            let queued = request.times.queued;
            if !queued.is_some_and(|queued| self.sampling.includes(queued)) {
                continue;
            }
            let stages = request.times.stages();
            if let (Some(queue), Some(drive)) = (stages.q2d, stages.d2c) {
                self.requests += 1;
                self.queue[side].record(queue);
                self.drive[side].record(drive);
            }
        }
        self.sampling.then(told.until, told.oldest_queued)
    }
}

fn by_direction([read, write]: &[Latency; 2]) -> LatencyByDirection {
    LatencyByDirection {
        read: LatencySummary::of(read),
        write: LatencySummary::of(write),
    }
}

/// Which threads belong to this process.
struct Ours {
    tasks: PathBuf,
    known: HashMap<u32, bool>,
}

impl Ours {
    fn new(roots: &Roots) -> Self {
        Self {
            tasks: roots.proc.join("self/task"),
            known: HashMap::new(),
        }
    }

    /// Asked for each thread once, when its first requests come: it lives then.
    fn includes(&mut self, thread: u32) -> bool {
        *self
            .known
            .entry(thread)
            .or_insert_with(|| self.tasks.join(thread.to_string()).exists())
    }
}
