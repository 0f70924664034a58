//! Beside a benchmark: how long its requests wait in the kernel and how long in the drive, and who
//! else sends requests there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::sampling::Sampling;
use super::strangers::Strangers;
use crate::engine::WORKER;
use crate::model::requests::{Actor, Operation};
use crate::probe::trace::{Capture, Then};
use crate::roots::Roots;
use crate::runtime::requests::{Detail, Scope, Told, follow};
use crate::session::document::{LatencyByDirection, LatencySummary, OtherUser, StageSplit};
use crate::stats::latency::Latency;

/// Follows the requests that this process sends to the device under test, or a sample of them, where
/// the kernel allows it; does nothing otherwise. Ends when it is dropped.
pub struct StageWatch {
    device: String,
    tally: Arc<Mutex<Tally>>,
    capture: Option<Capture>,
    allowed: bool,
}

/// Reads and writes.
#[derive(Default)]
struct Tally {
    strangers: Strangers,
    queue: [Latency; 2],
    drive: [Latency; 2],
    requests: u64,
    lost: u64,
    sampling: Sampling,
    /// Whether some of the time nothing was followed.
    rested: bool,
}

impl StageWatch {
    /// Begins to follow the requests to a device, if there is one.
    #[must_use]
    pub fn start(roots: &Roots, device: Option<&str>) -> Self {
        let tally: Arc<Mutex<Tally>> = Arc::default();
        let scope = device.and_then(|device| Scope::of(roots, device).ok());
        let device = device.unwrap_or_default().to_owned();
        let mut ours = Ours::new(roots);
        let proc = roots.proc.clone();
        let shared = Arc::clone(&tally);
        let capture = scope.and_then(|scope| {
            let add = move |told: Told| {
                let mut tally = shared.lock().unwrap_or_else(PoisonError::into_inner);
                tally.add(&told, &mut ours, &proc)
            };
            // Without root or tracefs there is no such split: the document says so by its absence.
            follow(roots, scope, Detail::Coarse, add).ok()
        });
        Self {
            device,
            tally,
            allowed: capture.is_some(),
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
            device: self.device.clone().into(),
            requests: tally.requests,
            lost: tally.lost,
            queue: by_direction(&tally.queue),
            drive: by_direction(&tally.drive),
        })
    }
}

impl StageWatch {
    /// Who else sent requests to the device, and whether that is all of them: everything was
    /// followed from the start, and nothing was lost.
    #[must_use]
    pub fn others(&self) -> (Vec<OtherUser>, bool) {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let complete = self.allowed && !tally.rested && tally.lost == 0;
        (tally.strangers.list(), complete)
    }
}

impl Tally {
    fn add(&mut self, told: &Told, ours: &mut Ours, proc: &Path) -> Then {
        self.lost = told.lost;
        self.sampling.note(told.requests.len(), told.since);
        for request in &told.requests {
            let side = match request.operation {
                Operation::Read => 0,
                Operation::Write => 1,
                _ => continue,
            };
            match request.submitter {
                Some(actor) if ours.includes(actor) => {}
                Some(actor) => {
                    self.strangers.add(proc, actor, side == 1, request.bytes);
                    continue;
                }
                None => continue,
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
        let then = self.sampling.then(told.until, told.oldest_queued);
        self.rested |= then != Then::Follow;
        then
    }
}

fn by_direction([read, write]: &[Latency; 2]) -> LatencyByDirection {
    LatencyByDirection {
        read: LatencySummary::of(read),
        write: LatencySummary::of(write),
    }
}

/// Names of threads that the kernel makes for io_uring on behalf of a process (io_uring/io-wq.c).
const RING_WORKER: &[u8] = b"iou-wrk-";

/// Which threads belong to this process.
struct Ours {
    proc: PathBuf,
    known: HashMap<u32, bool>,
}

impl Ours {
    fn new(roots: &Roots) -> Self {
        Self {
            proc: roots.proc.clone(),
            known: HashMap::new(),
        }
    }

    /// Asked for each thread once, when its first requests are told. A thread that is gone by then,
    /// as after a phase of a few milliseconds, is known by its name.
    fn includes(&mut self, actor: Actor) -> bool {
        let proc = &self.proc;
        *self.known.entry(actor.pid).or_insert_with(|| {
            let thread = actor.pid.to_string();
            let name = actor.name.bytes();
            proc.join("self/task").join(&thread).exists()
                || !proc.join(&thread).exists()
                    && (name.starts_with(WORKER.as_bytes()) || name.starts_with(RING_WORKER))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::trace::event::Name;

    #[test]
    fn threads_that_are_gone_are_known_by_name() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::below(root.path());
        for thread in ["self/task/10", "10", "20"] {
            std::fs::create_dir_all(roots.proc.join(thread)).unwrap();
        }
        let mut ours = Ours::new(&roots);
        let mut includes = |pid: u32, name: &str| {
            ours.includes(Actor {
                pid,
                name: Name::of(name.as_bytes()),
            })
        };
        assert!(includes(10, "main"));
        assert!(includes(30, "worker-0-1") && includes(31, "iou-wrk-30"));
        assert!(!includes(20, "worker-0-1"), "another's that lives");
        assert!(!includes(40, "dd"));
    }
}
