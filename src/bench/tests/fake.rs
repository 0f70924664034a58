//! An engine for the tests of the tests: time is arithmetic, a closure says how long each request
//! takes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use crate::drive::random::{Random, below, unit};
use crate::drive::{Settings, Target, TargetKind};
use crate::engine::{
    self, Control, CpuTime, End, Engine, EngineError, FinishTimes, Operation, Outcome, Pattern,
    Plan, Request, Snapshot, Tally, ZoneMap,
};
use crate::roots::Roots;
use crate::session::document::Findings;

use crate::bench::runner::{self, Finished};
use crate::bench::{Job, Observer, Parameters, Progress, Test};

/// What a request is asked its response time for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The plan that it belongs to.
    pub plan: &'a Plan,
    /// Where.
    pub address: u64,
    /// How much.
    pub bytes: u32,
    /// Whether it writes.
    pub writes: bool,
}

/// A drive whose response times (nanoseconds) a closure says. Requests in flight are served in
/// parallel.
pub struct Fake<F> {
    latency: F,
    /// Plans that were executed.
    pub plans: Mutex<Vec<Plan>>,
}

impl<F> std::fmt::Debug for Fake<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fake")
    }
}

impl<F: Fn(&Asked<'_>) -> Option<u64> + Send + Sync> Fake<F> {
    /// A drive that answers after what `latency` says; `None` is a failure.
    pub fn new(latency: F) -> Self {
        Self {
            latency,
            plans: Mutex::new(Vec::new()),
        }
    }
}

/// Addresses in the plan's order.
struct Walk<'a> {
    plan: &'a Plan,
    random: Random,
    next: u64,
    index: usize,
}

impl Walk<'_> {
    fn next(&mut self, now_ns: u64) -> Option<(u64, u32, bool)> {
        let plan = self.plan;
        let bytes = plan.block_size.largest();
        let start = plan.window.start.next_multiple_of(plan.align);
        let blocks = ((plan.window.end - start - u64::from(bytes)) / plan.align) + 1;
        let address = match &plan.pattern {
            Pattern::Addresses(list) => *list.get(self.index)?,
            Pattern::Sequential => {
                let limited = plan.limits != crate::engine::Limits::default();
                if !limited && self.next >= blocks {
                    return None;
                }
                self.next += 1;
                start + (self.next - 1) % blocks * plan.align
            }
            Pattern::Zones { zones, requests } => {
                let map = ZoneMap::new(plan, *zones, *requests);
                if let Some(duration) = plan.limits.duration {
                    let share = now_ns as f64 / duration.as_nanos() as f64;
                    let zone = (share * map.zones() as f64) as u64;
                    self.next = self.next.max(map.requests_before(zone));
                }
                self.next += 1;
                map.address(self.next - 1)?
            }
            _ => start + below(self.random.word(), blocks) * plan.align,
        };
        self.index += 1;
        let writes = match plan.operation {
            Operation::Read => false,
            Operation::Write => true,
            Operation::Mixed { reads } => unit(self.random.word()) >= reads,
        };
        Some((address, bytes, writes))
    }
}

impl<F: Fn(&Asked<'_>) -> Option<u64> + Send + Sync> Engine for Fake<F> {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn features(&self) -> Vec<String> {
        Vec::new()
    }

    fn execute(
        &self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Outcome, EngineError> {
        self.plans.lock().unwrap().push(plan.clone());
        let mut walk = Walk {
            plan,
            random: Random::new(plan.seed),
            next: 0,
            index: 0,
        };
        let mut outcome = Outcome {
            end: End::Done,
            elapsed: Duration::ZERO,
            tally: Tally::default(),
            log: Vec::new(),
            pauses: Vec::new(),
            cpu: CpuTime::default(),
            finish: plan.finish.map(|_| FinishTimes {
                sync: Duration::from_millis(20),
                close: Duration::from_micros(10),
            }),
        };
        // When each slot of the queue is free again.
        let mut slots: BinaryHeap<Reverse<u64>> =
            (0..plan.depth * plan.workers).map(|_| Reverse(0)).collect();
        let mut observed = 0;
        while let Some(Reverse(start_ns)) = slots.pop() {
            let Some(request) = self.request(plan, &mut walk, start_ns, &mut outcome) else {
                break;
            };
            slots.push(Reverse(request.end_ns));
            if request.start_ns >= observed {
                observed = request.start_ns + 100_000_000;
                observe(&Snapshot {
                    elapsed: Duration::from_nanos(request.start_ns),
                    tally: outcome.tally.clone(),
                    ..Snapshot::default()
                });
            }
            if control.is_cancelled() {
                outcome.end = End::Cancelled;
                break;
            }
        }
        Ok(outcome)
    }
}

impl<F: Fn(&Asked<'_>) -> Option<u64> + Send + Sync> Fake<F> {
    /// One more request, unless a limit is reached.
    fn request(
        &self,
        plan: &Plan,
        walk: &mut Walk<'_>,
        start_ns: u64,
        outcome: &mut Outcome,
    ) -> Option<Request> {
        let limits = &plan.limits;
        let tally = &mut outcome.tally;
        let over = limits.requests.is_some_and(|most| tally.requests() >= most)
            || limits.bytes.is_some_and(|most| tally.bytes() >= most)
            || limits
                .duration
                .is_some_and(|most| u128::from(start_ns) >= most.as_nanos());
        if over {
            return None;
        }
        let (address, bytes, writes) = walk.next(start_ns)?;
        let asked = Asked {
            plan,
            address,
            bytes,
            writes,
        };
        let Some(latency) = (self.latency)(&asked) else {
            outcome.end = End::Failed(EngineError::Request {
                operation: if writes { "write" } else { "read" },
                target: "the fake".to_owned(),
                address,
                bytes,
                source: std::io::Error::from_raw_os_error(libc::EIO),
            });
            return None;
        };
        let end_ns = start_ns + latency;
        let direction = if writes {
            &mut tally.write
        } else {
            &mut tally.read
        };
        direction.latency.record(latency);
        direction.bytes += u64::from(bytes);
        direction.timeline.record(end_ns, u64::from(bytes), latency);
        outcome.elapsed = outcome.elapsed.max(Duration::from_nanos(end_ns));
        let request = Request {
            address,
            bytes,
            wrote: writes,
            start_ns,
            end_ns,
        };
        let due = outcome
            .tally
            .requests()
            .is_multiple_of(u64::from(plan.log_every));
        if due && outcome.log.len() < plan.log {
            outcome.log.push(request);
        }
        Some(request)
    }
}

/// Nobody looks.
pub struct Nobody;

impl Observer for Nobody {
    fn progress(&mut self, _: &Progress) {}
    fn phase_finished(&mut self, _: &Findings) {}
}

/// A drive of that many bytes with 4 KiB blocks.
pub fn target(size: u64) -> Target {
    Target {
        name: "sim:fake".to_owned(),
        kind: TargetKind::Simulated,
        size,
        ..Target::ordinary()
    }
}

/// Runs a test on a fake with some parameters as the user would write them.
pub fn run<F: Fn(&Asked<'_>) -> Option<u64> + Send + Sync>(
    test: &'static dyn Test,
    target: &Target,
    set: &[(&str, &str)],
    fake: &Fake<F>,
) -> Finished {
    let parameters = parameters(test, target, set);
    let control = Control::default();
    runner::run(test, target, &parameters, fake, &control, &mut Nobody)
}

/// Lets a function measure on a fake, and returns what it found.
pub fn bench<F: Fn(&Asked<'_>) -> Option<u64> + Send + Sync>(
    fake: &Fake<F>,
    target: &Target,
    measure: impl FnOnce(&mut runner::Bench<'_>),
) -> Findings {
    let parameters = Parameters::default();
    let settings = Settings::default();
    let control = Control::default();
    let mut bench = runner::Bench {
        target,
        parameters: &parameters,
        settings: &settings,
        engine: fake,
        control: &control,
        observer: &mut Nobody,
        began: std::time::Instant::now(),
        done: 0.0,
        effort: crate::bench::effort::Effort::default(),
        failure: None,
        only_ramp: false,
        findings: Findings::default(),
    };
    measure(&mut bench);
    bench.findings
}

/// A test's parameters, some of them as the user would write them.
pub fn parameters(test: &'static dyn Test, target: &Target, set: &[(&str, &str)]) -> Parameters {
    let mut job = Job::new(test, &target.name);
    for (name, text) in set {
        job.set(name, text).unwrap();
    }
    job.parameters(target)
}

/// Runs a test on one of the engine's simulated drives, by its name.
pub fn simulate(test: &'static dyn Test, name: &str, set: &[(&str, &str)]) -> Finished {
    let opened = engine::open(&Roots::default(), name, engine::Choice::Auto, None).unwrap();
    let parameters = parameters(test, &opened.target, set);
    let control = Control::default();
    let engine = opened.engine();
    runner::run(
        test,
        &opened.target,
        &parameters,
        engine,
        &control,
        &mut Nobody,
    )
}

/// A figure of a finished test.
pub fn value(finished: &Finished, name: &str) -> f64 {
    let figure = finished.findings.figure(name);
    figure
        .unwrap_or_else(|| panic!("no {name} in {:?}", finished.findings))
        .value
}

/// Codes of a finished test's verdicts.
pub fn codes(finished: &Finished) -> Vec<&str> {
    let verdicts = &finished.findings.verdicts;
    verdicts
        .iter()
        .map(|verdict| verdict.code.as_str())
        .collect()
}

/// The settings of a system in a directory, which has the simulated device `sim:constant`.
pub fn settings(root: &Path) -> Settings {
    let device = root.join("sys/class/block/sim:constant");
    fs::create_dir_all(&device).unwrap();
    fs::write(device.join("dev"), "7:0\n").unwrap();
    let random = root.join("proc/sys/kernel/random");
    fs::create_dir_all(&random).unwrap();
    let boot = "01234567-89ab-cdef-0123-456789abcdef\n";
    fs::write(random.join("boot_id"), boot).unwrap();
    Settings::new(Roots::below(root), &root.join("records"))
}
