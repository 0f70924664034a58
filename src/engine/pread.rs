//! The engine of plain system calls: one thread for each request in flight. For kernels,
//! containers and sysctls that allow no io_uring.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use super::buffers::Buffers;
use super::feeder::{Assigned, LaneId, Next};
use super::run::{self, Lane, Maker, Work};
use super::source::{Source, moved};
use super::{Control, Engine, EngineError, Outcome, Plan, Snapshot, finish, threads};

/// More threads than this tell more of the scheduler than of the drive.
pub(super) const MAX_THREADS: u32 = 1024;
/// The longest sleep: so soon a stop is noticed.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// A sleep ends up to this late: the rest is waited for awake.
const WAKE_MARGIN_NS: u64 = 60_000;

/// The engine of plain system calls.
#[derive(Debug)]
pub struct Pread {
    source: Source,
    reason: Option<String>,
}

impl Pread {
    /// For a medium; `reason` says why nothing better was taken, where there is one.
    #[must_use]
    pub fn new(source: Source, reason: Option<String>) -> Self {
        Self { source, reason }
    }
}

impl Engine for Pread {
    fn name(&self) -> &'static str {
        "pread"
    }

    fn features(&self) -> Vec<String> {
        vec!["threads".to_owned()]
    }

    fn reason(&self) -> Option<String> {
        self.reason.clone()
    }

    fn execute(
        &self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Outcome, EngineError> {
        let file = Arc::new(self.source.open(plan)?);
        let threads = plan.depth * plan.workers;
        if threads > MAX_THREADS {
            return Err(EngineError::Plan(format!(
                "--engine pread needs a thread for each request in flight: --depth {} x --workers \
                 {} must be at most {MAX_THREADS}",
                plan.depth, plan.workers
            )));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let wait_awake = (threads as usize) < cores.max(2);
        let (target, shared_plan) = (self.source.medium.target.name.clone(), plan.clone());
        let lanes_file = Arc::clone(&file);
        let maker: Maker = Arc::new(move |_: LaneId| {
            Ok(Box::new(Caller {
                file: Arc::clone(&lanes_file),
                buffers: Buffers::new(&shared_plan, 1)?,
                target: target.clone(),
                paced: shared_plan.rate.is_some(),
                wait_awake,
            }) as Box<dyn Work>)
        });
        let mut outcome = run::execute(plan, plan.depth, &maker, control, &self.source, observe)?;
        drop(maker);
        finish::finish(plan, file, &self.source.medium.target.name, &mut outcome);
        Ok(outcome)
    }
}

/// One thread's calls, one after the other.
struct Caller {
    file: Arc<OwnedFd>,
    buffers: Buffers,
    target: String,
    paced: bool,
    wait_awake: bool,
}

impl Work for Caller {
    fn run(&mut self, lane: &mut Lane) -> Result<(), EngineError> {
        if self.paced {
            threads::wake_punctually();
        }
        let mut now = lane.now();
        while !lane.shared.is_stopped() {
            match lane.feeder.next(now) {
                Next::Request(request) => now = self.call(lane, &request)?,
                Next::At(due) => {
                    self.wait(due, now);
                    now = lane.now();
                }
                Next::End => break,
            }
        }
        Ok(())
    }
}

impl Caller {
    /// Executes one request; yields the time of its end.
    fn call(&mut self, lane: &mut Lane, request: &Assigned) -> Result<u64, EngineError> {
        let job = request.job;
        let index = self.buffers.prepare(0, job.bytes, job.writes);
        let buffer = &mut self.buffers.area().bytes(index)[..job.bytes as usize];
        let mut start = lane.now();
        if job.writes && !lane.may_write(start) {
            if !lane.wait_for_look(&mut |_| Ok(()))? {
                return Ok(start);
            }
            start = lane.now();
        }
        let answer = loop {
            let answer = match job.writes {
                true => rustix::io::pwrite(&*self.file, buffer, job.address),
                false => rustix::io::pread(&*self.file, &mut *buffer, job.address),
            };
            if answer != Err(rustix::io::Errno::INTR) {
                break answer;
            }
        };
        let end = lane.now();
        // Requests are shorter than 2 GiB: the count fits, as it does in io_uring's answers.
        let answer = match answer {
            Ok(count) => i32::try_from(count).unwrap_or(i32::MAX),
            Err(error) => -error.raw_os_error(),
        };
        let bytes = moved(&self.target, request, answer)?;
        lane.recorder.record(request, start, end, bytes);
        lane.recorder.publish(end);
        Ok(end)
    }

    /// Sleeps until shortly before a request is due, at most until a stop has to be looked for.
    fn wait(&self, due_ns: u64, now_ns: u64) {
        let margin = if self.wait_awake { WAKE_MARGIN_NS } else { 0 };
        let sleep = due_ns.saturating_sub(now_ns).saturating_sub(margin);
        if sleep > 0 {
            std::thread::sleep(Duration::from_nanos(sleep).min(LONGEST_SLEEP));
        } else {
            std::hint::spin_loop();
        }
    }
}
