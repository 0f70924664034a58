//! One execution against a model: jumps from event to event.

use std::time::{Duration, Instant};

use super::model::{Completion, Model, SimRequest};
use crate::engine::feeder::{Assigned, Feeder, LaneId, Next, Tickets, nanoseconds};
use crate::engine::outcome::{CpuTime, End, Outcome, Snapshot, Tally};
use crate::engine::plan::Plan;
use crate::engine::progress::Progress;
use crate::engine::recorder::{self, Recorder, Slot};
use crate::engine::source::moved;
use crate::engine::{Control, EngineError, finish, run, threads};

/// How often, in real time, the hand on the switch is looked at and `observe` is called.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const OBSERVE_EVERY: Duration = Duration::from_millis(125);
/// Events between two looks at the real clock.
const EVENTS: u32 = 256;

/// One worker of the plan.
struct Worker {
    feeder: Feeder,
    free: u32,
    ended: bool,
}

/// A request in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    request: Assigned,
    start_ns: u64,
    worker: usize,
}

/// One execution. Times are in nanoseconds since its origin; the model's are since power-on.
pub(super) struct Run<'a> {
    plan: &'a Plan,
    target: &'a str,
    power_ns: u64,
    real_time: bool,
    workers: Vec<Worker>,
    flights: Vec<Flight>,
    free_ids: Vec<usize>,
    recorder: Recorder,
    slots: [Slot; 1],
    progress: Progress,
    began: Instant,
    observed: Instant,
    events: u32,
}

impl<'a> Run<'a> {
    pub(super) fn new(plan: &'a Plan, target: &'a str, power_ns: u64, real_time: bool) -> Self {
        let slot = Slot::default();
        let count = (plan.depth * plan.workers) as usize;
        let lane = |worker| LaneId {
            worker,
            slot: 0,
            slots: 1,
        };
        Self {
            plan,
            target,
            power_ns,
            real_time,
            workers: (0..plan.workers)
                .map(|worker| Worker {
                    feeder: Feeder::new(plan, lane(worker), Tickets::Own(0)),
                    free: plan.depth,
                    ended: false,
                })
                .collect(),
            flights: vec![Flight::default(); count],
            free_ids: (0..count).rev().collect(),
            recorder: Recorder::new(slot.clone(), plan.ramp, (plan.log, plan.log_every), 1),
            slots: [slot],
            progress: Progress::new(plan),
            began: Instant::now(),
            observed: Instant::now(),
            events: 0,
        }
    }

    /// Yields the outcome and the model's time at its end.
    pub(super) fn execute(
        mut self,
        model: &mut dyn Model,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<(Outcome, u64), EngineError> {
        let before = threads::processor_time();
        let mut now_ns = 0;
        let end = self.run(model, &mut now_ns, control, observe)?;
        let cpu = threads::between(before, threads::processor_time());
        let power_ns = self.power_ns + now_ns;
        Ok((self.conclude(end, cpu, now_ns, observe), power_ns))
    }

    fn run(
        &mut self,
        model: &mut dyn Model,
        now_ns: &mut u64,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<End, EngineError> {
        let mut failed = None;
        loop {
            let arrival = match failed {
                None => self.submit(model, *now_ns),
                Some(_) => None,
            };
            let until = arrival.map_or(u64::MAX, |due| due.saturating_add(self.power_ns));
            let event = model.advance(until);
            let Some(at_ns) = event.map(|done| done.at_ns - self.power_ns).or(arrival) else {
                break;
            };
            if self.is_stopped(at_ns, control, observe) {
                *now_ns = (*now_ns).max(self.settle(model));
                return Ok(End::Cancelled);
            }
            *now_ns = at_ns;
            if let Some(Err(error)) = event.map(|done| self.complete(done, at_ns)) {
                failed = failed.or(Some(error));
            }
        }
        Ok(failed.map_or(End::Done, End::Failed))
    }

    /// Submits all that is due and fits; yields when the next request is due that does not come of
    /// itself when another completes.
    fn submit(&mut self, model: &mut dyn Model, now_ns: u64) -> Option<u64> {
        let mut next: Option<u64> = None;
        for (index, worker) in self.workers.iter_mut().enumerate() {
            while worker.free > 0 && !worker.ended {
                match worker.feeder.next(now_ns) {
                    Next::Request(request) => {
                        let Some(id) = self.free_ids.pop() else {
                            break;
                        };
                        worker.free -= 1;
                        self.flights[id] = Flight {
                            request,
                            start_ns: now_ns,
                            worker: index,
                        };
                        let sim_request = SimRequest {
                            address: request.job.address,
                            bytes: request.job.bytes,
                            writes: request.job.writes,
                            data: self.plan.data,
                        };
                        model.submit(now_ns + self.power_ns, id as u64, sim_request);
                    }
                    Next::At(due) => {
                        next = Some(next.map_or(due, |next| next.min(due)));
                        break;
                    }
                    Next::End => worker.ended = true,
                }
            }
        }
        next
    }

    fn complete(&mut self, done: Completion, at_ns: u64) -> Result<(), EngineError> {
        let id = done.id as usize;
        let flight = self.flights[id];
        self.free_ids.push(id);
        self.workers[flight.worker].free += 1;
        let answer = match done.result {
            Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
            Err(number) => -number,
        };
        let bytes = moved(self.target, &flight.request, answer)?;
        self.recorder
            .record(&flight.request, flight.start_ns, at_ns, bytes);
        Ok(())
    }

    /// Lets the real clock come along, shows how far it is, and says whether to stop.
    fn is_stopped(
        &mut self,
        at_ns: u64,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> bool {
        self.events += 1;
        if !self.real_time && self.events < EVENTS {
            return false;
        }
        self.events = 0;
        loop {
            if self.observed.elapsed() >= OBSERVE_EVERY {
                self.observed = Instant::now();
                let shown_ns = match self.real_time {
                    true => nanoseconds(self.began.elapsed()),
                    false => at_ns,
                };
                self.recorder.publish(u64::MAX);
                observe(self.progress.look(shown_ns, &self.slots));
            }
            if control.is_cancelled() {
                return true;
            }
            let ahead = Duration::from_nanos(at_ns).saturating_sub(self.began.elapsed());
            if !self.real_time || ahead.is_zero() {
                return false;
            }
            std::thread::sleep(ahead.min(LOOK_EVERY));
        }
    }

    /// Lets the model finish what it has; nobody counts it.
    fn settle(&self, model: &mut dyn Model) -> u64 {
        let mut last_ns = 0;
        while let Some(done) = model.advance(u64::MAX) {
            last_ns = done.at_ns - self.power_ns;
        }
        last_ns
    }

    fn conclude(
        mut self,
        end: End,
        cpu: CpuTime,
        now_ns: u64,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Outcome {
        let (log, last_end_ns) = self.recorder.finish();
        observe(self.progress.look(now_ns, &self.slots));
        let mut tally = Tally::default();
        recorder::add(&mut tally, &self.slots[0]);
        Outcome {
            elapsed: run::elapsed(self.plan, last_end_ns, &end),
            end,
            tally,
            log,
            pauses: Vec::new(),
            cpu,
            finish: finish::nothing_left(self.plan),
        }
    }
}
