//! One execution on a model: a discrete-event simulation.

use std::time::{Duration, Instant};

use super::model::{DriveModel, SimCompletion, SimRequest};
use crate::engine::completion_recorder;
use crate::engine::completion_recorder::{CompletionRecorder, SharedStats};
use crate::engine::outcome::{CpuTime, EndReason, ExecutionOutcome, ExecutionSnapshot, IoStats};
use crate::engine::plan::Plan;
use crate::engine::progress::SnapshotPublisher;
use crate::engine::request_generator::{
    NextStep, RequestGenerator, ScheduledRequest, SequenceCounter, WorkerId, saturating_nanoseconds,
};
use crate::engine::{CancellationToken, EngineError, end_fsync, progress, threads};

/// Real-time intervals at which the cancellation token is polled and `observe` is called.
const CANCELLATION_POLL_INTERVAL: Duration = Duration::from_millis(20);
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(125);
/// Events between two readings of the real clock.
const EVENTS_PER_CLOCK_READ: u32 = 256;

/// One worker of the plan.
struct SimWorker {
    generator: RequestGenerator,
    free_slots: u32,
    ended: bool,
}

/// A request in flight.
#[derive(Debug, Clone, Copy, Default)]
struct SimRequestInFlight {
    request: ScheduledRequest,
    start_ns: u64,
    worker: usize,
}

/// One execution. Times are in nanoseconds since its origin; the model's are since power-on.
pub(super) struct SimExecution<'a> {
    plan: &'a Plan,
    target: &'a str,
    power_on_ns: u64,
    is_real_time: bool,
    /// How much later the drive gets a request that is waited for asleep: the worker wakes up so much later.
    wakeup_ns: u64,
    workers: Vec<SimWorker>,
    in_flight: Vec<SimRequestInFlight>,
    free_slots: Vec<usize>,
    recorder: CompletionRecorder,
    shared_stats: [SharedStats; 1],
    snapshot_publisher: SnapshotPublisher,
    started_at: Instant,
    last_observed: Instant,
    events: u32,
}

impl<'a> SimExecution<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        target: &'a str,
        power_ns: u64,
        real_time: bool,
        wakeup_ns: u64,
    ) -> Self {
        let slot = SharedStats::default();
        let count = (plan.depth * plan.workers) as usize;
        let worker_id = |worker| WorkerId {
            worker,
            thread: 0,
            threads_per_worker: 1,
        };
        Self {
            plan,
            target,
            power_on_ns: power_ns,
            is_real_time: real_time,
            wakeup_ns,
            workers: (0..plan.workers)
                .map(|worker| SimWorker {
                    generator: RequestGenerator::new(
                        plan,
                        worker_id(worker),
                        SequenceCounter::PerThread(0),
                    ),
                    free_slots: plan.depth,
                    ended: false,
                })
                .collect(),
            in_flight: vec![SimRequestInFlight::default(); count],
            free_slots: (0..count).rev().collect(),
            recorder: CompletionRecorder::new(slot.clone(), plan, 1),
            shared_stats: [slot],
            snapshot_publisher: SnapshotPublisher::new(plan),
            started_at: Instant::now(),
            last_observed: Instant::now(),
            events: 0,
        }
    }

    /// Returns the outcome and the model's time at its end.
    pub(super) fn execute(
        mut self,
        model: &mut dyn DriveModel,
        cancellation: &CancellationToken,
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<(ExecutionOutcome, u64), EngineError> {
        let before = threads::thread_cpu_time();
        let mut now_ns = 0;
        let end = self.run(model, &mut now_ns, cancellation, observe)?;
        let cpu = threads::cpu_time_between(before, threads::thread_cpu_time());
        let power_ns = self.power_on_ns + now_ns;
        Ok((self.into_outcome(end, cpu, now_ns, observe), power_ns))
    }

    fn run(
        &mut self,
        model: &mut dyn DriveModel,
        now_ns: &mut u64,
        cancellation: &CancellationToken,
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<EndReason, EngineError> {
        let mut failed = None;
        loop {
            let arrival = match failed {
                None => self.submit(model, *now_ns),
                Some(_) => None,
            };
            let until = arrival.map_or(u64::MAX, |due| due.saturating_add(self.power_on_ns));
            let event = model.advance(until);
            let Some(at_ns) = event
                .map(|done| done.completed_at_ns - self.power_on_ns)
                .or(arrival)
            else {
                break;
            };
            if self.poll_cancellation(at_ns, cancellation, observe) {
                *now_ns = (*now_ns).max(self.drain_model(model));
                return Ok(EndReason::Cancelled);
            }
            *now_ns = at_ns;
            if let Some(Err(error)) = event.map(|done| self.record_completion(done, at_ns)) {
                failed = failed.or(Some(error));
            }
        }
        Ok(failed.map_or(EndReason::Completed, EndReason::Failed))
    }

    /// Submits all requests that are due and fit the queue. Returns when the next scheduled request
    /// is due, if its submission does not depend on a completion.
    fn submit(&mut self, model: &mut dyn DriveModel, now_ns: u64) -> Option<u64> {
        let mut next: Option<u64> = None;
        for (index, worker) in self.workers.iter_mut().enumerate() {
            while worker.free_slots > 0 && !worker.ended {
                match worker.generator.next_step(now_ns) {
                    NextStep::Request(request) => {
                        let Some(id) = self.free_slots.pop() else {
                            break;
                        };
                        worker.free_slots -= 1;
                        self.in_flight[id] = SimRequestInFlight {
                            request,
                            start_ns: now_ns,
                            worker: index,
                        };
                        let sim_request = SimRequest {
                            address: request.request.offset,
                            bytes: request.request.length,
                            is_write: request.request.writes,
                        };
                        let is_awake = self.plan.wait_mode.spins_at(now_ns);
                        let wakeup_ns = if is_awake { 0 } else { self.wakeup_ns };
                        let at_ns = now_ns + wakeup_ns + self.power_on_ns;
                        model.submit(at_ns, id as u64, sim_request);
                    }
                    NextStep::WaitUntil(due) => {
                        next = Some(next.map_or(due, |next| next.min(due)));
                        break;
                    }
                    NextStep::End => worker.ended = true,
                }
            }
        }
        next
    }

    fn record_completion(&mut self, done: SimCompletion, at_ns: u64) -> Result<(), EngineError> {
        let id = done.id as usize;
        let flight = self.in_flight[id];
        self.free_slots.push(id);
        self.workers[flight.worker].free_slots += 1;
        let answer = match done.result {
            Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
            Err(number) => -number,
        };
        let times = (flight.start_ns, at_ns);
        self.recorder
            .record_answer(self.target, &flight.request, times, answer)
    }

    /// In real time, waits for the clock; publishes a snapshot and returns whether to stop.
    fn poll_cancellation(
        &mut self,
        at_ns: u64,
        cancellation: &CancellationToken,
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> bool {
        self.events += 1;
        if !self.is_real_time && self.events < EVENTS_PER_CLOCK_READ {
            return false;
        }
        self.events = 0;
        loop {
            if self.last_observed.elapsed() >= SNAPSHOT_INTERVAL {
                self.last_observed = Instant::now();
                let shown_ns = match self.is_real_time {
                    true => saturating_nanoseconds(self.started_at.elapsed()),
                    false => at_ns,
                };
                self.recorder.publish(u64::MAX);
                observe(
                    self.snapshot_publisher
                        .take_snapshot(shown_ns, &self.shared_stats),
                );
            }
            if cancellation.is_cancelled() {
                return true;
            }
            let ahead = Duration::from_nanos(at_ns).saturating_sub(self.started_at.elapsed());
            if !self.is_real_time || ahead.is_zero() {
                return false;
            }
            std::thread::sleep(ahead.min(CANCELLATION_POLL_INTERVAL));
        }
    }

    /// Lets the model complete its pending requests without counting them.
    fn drain_model(&self, model: &mut dyn DriveModel) -> u64 {
        let mut last_ns = 0;
        while let Some(done) = model.advance(u64::MAX) {
            last_ns = done.completed_at_ns - self.power_on_ns;
        }
        last_ns
    }

    fn into_outcome(
        mut self,
        end: EndReason,
        cpu: CpuTime,
        now_ns: u64,
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> ExecutionOutcome {
        let records = self.recorder.finish();
        observe(
            self.snapshot_publisher
                .take_snapshot(now_ns, &self.shared_stats),
        );
        let mut stats = IoStats::default();
        completion_recorder::add_shared_stats(&mut stats, &self.shared_stats[0]);
        ExecutionOutcome {
            elapsed: progress::measured_time(self.plan, records.last_completion_ns, &end),
            end_reason: end,
            stats,
            request_log: records.log,
            cpu_time: cpu,
            run_delay: None,
            errors: records.errors,
            finish_times: end_fsync::simulated_finish_times(self.plan),
        }
    }
}
