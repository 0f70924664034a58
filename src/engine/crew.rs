//! Runs the lanes of a plan on threads: starts them together, looks at them a few times a second,
//! stops them, and puts together what they found.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::feeder::{Feeder, LaneId, Tickets, nanoseconds};
use super::outcome::{CpuTime, End, Outcome, Request, Snapshot, Tally};
use super::plan::Plan;
use super::progress::Progress;
use super::recorder::{self, Recorder, Slot};
use super::run::{Lane, Maker, Shared, Work, elapsed};
use super::write_gate::{WorkerGate, WriteGate};
use super::{Control, EngineError, pauses, threads};

/// How often the hand on the switch is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often `observe` is called: 8 times a second.
const OBSERVE_EVERY: Duration = Duration::from_millis(125);
/// How long lanes are waited for after the user stopped, until they are left to themselves.
const PATIENCE: Duration = Duration::from_millis(90);

/// The threads of one execution.
pub(super) struct Crew<'a> {
    plan: &'a Plan,
    shared: Arc<Shared>,
    gate: Arc<Gate>,
    /// What writing requests have to pass.
    write_gate: Option<Arc<WriteGate>>,
    slots: Vec<Slot>,
    messages: Receiver<Message>,
    handles: Vec<JoinHandle<()>>,
    reports: Vec<Report>,
    /// When the user stopped it.
    cancelled_at: Option<Instant>,
}

impl<'a> Crew<'a> {
    /// A thread for each lane, which waits for the start.
    pub(super) fn spawn(
        plan: &'a Plan,
        lanes: u32,
        maker: &Maker,
        write_gate: Option<&Arc<WriteGate>>,
    ) -> Result<Self, EngineError> {
        pauses::watch();
        let (sender, messages) = channel();
        let mut crew = Self {
            plan,
            shared: Arc::default(),
            gate: Arc::default(),
            write_gate: write_gate.cloned(),
            slots: Vec::new(),
            messages,
            handles: Vec::new(),
            reports: Vec::new(),
            cancelled_at: None,
        };
        for worker in 0..plan.workers {
            let tickets = match lanes {
                1 => Tickets::Own(0),
                _ => Tickets::Shared(Arc::new(AtomicU64::new(0))),
            };
            crew.slots.push(Slot::default());
            for slot in 0..lanes {
                let id = LaneId {
                    worker,
                    slot,
                    slots: lanes,
                };
                if let Err(error) = crew.spawn_lane(id, tickets.clone(), maker, &sender) {
                    crew.gate.open(None);
                    return Err(error);
                }
            }
        }
        Ok(crew)
    }

    fn spawn_lane(
        &mut self,
        id: LaneId,
        tickets: Tickets,
        maker: &Maker,
        sender: &Sender<Message>,
    ) -> Result<(), EngineError> {
        let lanes = self.plan.workers * id.slots;
        let slot = Arc::clone(&self.slots[id.worker as usize]);
        let room = self.plan.log.div_ceil(lanes as usize);
        let log = (room, self.plan.log_every);
        let mut lane = Lane {
            id,
            feeder: Feeder::new(self.plan, id, tickets),
            recorder: Recorder::new(slot, self.plan.ramp, log, lanes),
            shared: Arc::clone(&self.shared),
            origin: Instant::now(),
            gate: None,
        };
        let (gate, maker, sender) = (Arc::clone(&self.gate), Arc::clone(maker), sender.clone());
        let shared = Arc::clone(&self.shared);
        let priority = self.plan.priority;
        let write_gate = self.write_gate.clone();
        let body = move || {
            let result = catch_unwind(AssertUnwindSafe(|| {
                let prepared = threads::take_priority(priority).and_then(|()| maker(id));
                let mut work = match prepared {
                    Ok(work) => work,
                    Err(error) => return Some(Message::NotReady(error)),
                };
                // A listener that is gone has given the execution up.
                let _ = sender.send(Message::Ready);
                lane.origin = gate.wait()?;
                lane.gate = write_gate.map(|gate| WorkerGate::new(gate, lane.origin));
                lane.recorder.start(lane.origin);
                Some(Message::Finished(run_lane(work.as_mut(), lane)))
            }));
            let message = result.unwrap_or_else(|_| {
                shared.stop();
                Some(Message::Finished(Report::of_panic(id)))
            });
            if let Some(message) = message {
                // As above.
                let _ = sender.send(message);
            }
        };
        let handle = Builder::new()
            .name(format!("{}{}-{}", threads::WORKER, id.worker, id.slot))
            .spawn(body)
            .map_err(|source| EngineError::Start {
                tried: "start a thread".to_owned(),
                source,
            })?;
        self.handles.push(handle);
        Ok(())
    }

    /// Starts all lanes in the same moment, which is returned.
    pub(super) fn start(&self) -> Instant {
        let origin = Instant::now();
        self.gate.open(Some(origin));
        origin
    }

    /// Waits until every lane is ready, or one is not, or the user stops it.
    pub(super) fn gather(&mut self, control: &Control) -> Result<(), EngineError> {
        let mut ready = 0;
        while ready < self.handles.len() && !control.is_cancelled() {
            match self.messages.recv_timeout(LOOK_EVERY) {
                Ok(Message::Ready) => ready += 1,
                Ok(Message::NotReady(error)) => {
                    self.gate.open(None);
                    return Err(error);
                }
                Ok(Message::Finished(report)) => {
                    self.gate.open(None);
                    return Err(report.error.unwrap_or(EngineError::Worker));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(EngineError::Worker),
            }
        }
        if control.is_cancelled() {
            self.shared.cancel();
        }
        Ok(())
    }

    /// Looks at the lanes until all have ended, or until they are given up after a stop; says
    /// whether the user stopped it.
    pub(super) fn watch(
        &mut self,
        control: &Control,
        origin: Instant,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> bool {
        let mut progress = Progress::new(self.plan);
        let mut observed = origin;
        while self.reports.len() < self.handles.len() {
            match self.messages.recv_timeout(LOOK_EVERY) {
                Ok(Message::Finished(report)) => self.reports.push(report),
                Ok(Message::Ready | Message::NotReady(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.stop_when_closed(control);
            if self.cancelled_at.is_none() && control.is_cancelled() {
                self.shared.cancel();
                self.cancelled_at = Some(Instant::now());
            }
            if self.cancelled_at.is_some_and(|at| at.elapsed() > PATIENCE) {
                break;
            }
            if observed.elapsed() >= OBSERVE_EVERY {
                observed = Instant::now();
                observe(progress.look(running(origin), &self.slots));
            }
        }
        observe(progress.look(running(origin), &self.slots));
        // The lanes may have seen it first.
        if self.stop_when_closed(control) {
            self.cancelled_at.get_or_insert_with(Instant::now);
        }
        self.cancelled_at.is_some()
    }

    /// Stops everything under this control when the target must not be written any more.
    fn stop_when_closed(&self, control: &Control) -> bool {
        let gate = self.write_gate.as_ref();
        let is_closed = gate.is_some_and(|gate| gate.is_closed());
        if is_closed {
            control.cancel();
        }
        is_closed
    }

    /// Puts together what the lanes found.
    pub(super) fn conclude(mut self, cancelled: bool, origin: Instant) -> Outcome {
        // A lane that hangs in the kernel is left behind: its thread ends when the kernel lets go.
        let mut last_end_ns = 0;
        if let Some(at) = self.cancelled_at
            && self.reports.len() < self.handles.len()
        {
            // Its requests took until the stop, at least.
            last_end_ns = nanoseconds(at.saturating_duration_since(origin));
        } else {
            for handle in self.handles {
                let _ = handle.join();
            }
        }
        self.reports
            .sort_by_key(|report| (report.id.worker, report.id.slot));
        let mut outcome = Outcome {
            end: if cancelled { End::Cancelled } else { End::Done },
            elapsed: Duration::ZERO,
            tally: Tally::default(),
            log: Vec::new(),
            pauses: Vec::new(),
            cpu: CpuTime::default(),
            finish: None,
        };
        for report in self.reports {
            last_end_ns = last_end_ns.max(report.last_end_ns);
            outcome.log.extend(report.log);
            outcome.cpu.user += report.cpu.user;
            outcome.cpu.system += report.cpu.system;
            if let (Some(error), End::Done | End::Cancelled) = (report.error, &outcome.end) {
                outcome.end = End::Failed(error);
            }
        }
        outcome.log.truncate(self.plan.log);
        for slot in &self.slots {
            recorder::add(&mut outcome.tally, slot);
        }
        outcome.elapsed = elapsed(self.plan, last_end_ns, &outcome.end);
        let first = origin + self.plan.ramp;
        let paused = pauses::between(first, first + outcome.elapsed);
        outcome.pauses = pauses_since(origin);
        outcome.elapsed = outcome.elapsed.saturating_sub(paused);
        outcome
    }
}

/// Pauses of this process, in nanoseconds since the origin.
fn pauses_since(origin: Instant) -> Vec<std::ops::Range<u64>> {
    let at = |moment: Instant| nanoseconds(moment.saturating_duration_since(origin));
    pauses::since(origin)
        .iter()
        .map(|pause| {
            let end = at(pause.end);
            end.saturating_sub(nanoseconds(pause.length))..end
        })
        .collect()
}

/// Nanoseconds since the origin, pauses of this process left out.
fn running(origin: Instant) -> u64 {
    let now = Instant::now();
    let paused = pauses::between(origin, now);
    nanoseconds(now.duration_since(origin).saturating_sub(paused))
}

/// What a lane reports, once before the start and once after its end.
enum Message {
    Ready,
    NotReady(EngineError),
    Finished(Report),
}

/// What a lane found.
struct Report {
    id: LaneId,
    error: Option<EngineError>,
    log: Vec<Request>,
    last_end_ns: u64,
    cpu: CpuTime,
}

impl Report {
    fn of_panic(id: LaneId) -> Self {
        Self {
            id,
            error: Some(EngineError::Worker),
            log: Vec::new(),
            last_end_ns: 0,
            cpu: CpuTime::default(),
        }
    }
}

/// Opens once, for all lanes at the same moment.
#[derive(Default)]
struct Gate {
    state: Mutex<Option<Option<Instant>>>,
    changed: Condvar,
}

impl Gate {
    /// `Some(origin)` starts, `None` sends home.
    fn open(&self, origin: Option<Instant>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(origin);
        self.changed.notify_all();
    }

    fn wait(&self) -> Option<Instant> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(origin) = *state {
                return origin;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The whole life of a lane after the start.
fn run_lane(work: &mut dyn Work, mut lane: Lane) -> Report {
    let before = threads::processor_time();
    let result = work.run(&mut lane);
    if result.is_err() {
        lane.shared.stop();
    }
    let cpu = threads::between(before, threads::processor_time());
    let id = lane.id;
    let (log, last_end_ns) = lane.recorder.finish();
    Report {
        id,
        error: result.err(),
        log,
        last_end_ns,
        cpu,
    }
}
