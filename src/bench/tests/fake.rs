//! A simulated engine for tests of the benchmarks: time is virtual, and a closure returns the
//! latency of each request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use crate::bench::framework::context::{FinishedRun, RunEnvironment};
use crate::bench::framework::progress::ProgressSpan;
use crate::bench::framework::run;
use crate::bench::{Benchmark, ParameterSet, RunRequest};
use crate::drive::{SettingsManager, Target, TargetKind};
use crate::engine;
use crate::engine::{
    AccessPattern, CancellationToken, CpuTime, EndReason, Engine, EngineError, ExecutionOutcome,
    ExecutionSnapshot, FinishTimes, IoOperation, IoStats, LoggedRequest, Plan, ZoneMap,
};
use crate::roots::SysPaths;
use crate::session::document::MetricId;

/// Description of a request, from which its latency is computed.
#[derive(Debug, Clone, Copy)]
pub struct FakeRequest<'a> {
    /// The plan of the request.
    pub plan: &'a Plan,
    /// Byte offset.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it is a write.
    pub is_write: bool,
    /// When it was issued, in nanoseconds since the start of the phase.
    pub start_ns: u64,
}

/// A drive whose latencies (nanoseconds) come from a closure. Requests in flight are served in
/// parallel.
pub struct FakeDrive<F> {
    latency_of: F,
    when_opened: Box<dyn Fn() + Send + Sync>,
    pub executed_plans: Mutex<Vec<Plan>>,
}

impl<F> std::fmt::Debug for FakeDrive<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fake")
    }
}

impl<F: Fn(&FakeRequest<'_>) -> Option<u64> + Send + Sync> FakeDrive<F> {
    /// A drive with the latencies returned by `latency`; `None` is an I/O error.
    pub fn new(latency: F) -> Self {
        Self {
            latency_of: latency,
            when_opened: Box::new(|| {}),
            executed_plans: Mutex::new(Vec::new()),
        }
    }

    /// The same drive, which calls a closure whenever it is opened for a plan.
    pub fn when_opened(self, opened: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            when_opened: Box::new(opened),
            ..self
        }
    }
}

/// Addresses in the plan's order.
struct PlannedAddresses<'a> {
    plan: &'a Plan,
    random: Xoshiro256PlusPlus,
    next: u64,
    index: usize,
}

impl PlannedAddresses<'_> {
    fn next(&mut self, now_ns: u64) -> Option<(u64, u32, bool)> {
        let plan = self.plan;
        let bytes = plan.block_size.max_bytes();
        let start = plan.window.start.next_multiple_of(plan.alignment);
        let blocks = ((plan.window.end - start - u64::from(bytes)) / plan.alignment) + 1;
        let address = match &plan.pattern {
            AccessPattern::AddressList(list) => *list.get(self.index)?,
            AccessPattern::Sequential => {
                let limited = plan.limits != crate::engine::PlanLimits::default();
                if !limited && self.next >= blocks {
                    return None;
                }
                self.next += 1;
                start + (self.next - 1) % blocks * plan.alignment
            }
            AccessPattern::Zones { zones, requests } => {
                let map = ZoneMap::new(plan, *zones, *requests);
                if let Some(duration) = plan.limits.duration {
                    let share = now_ns as f64 / duration.as_nanos() as f64;
                    let zone = (share * map.zones() as f64) as u64;
                    self.next = self.next.max(map.requests_before(zone));
                }
                self.next += 1;
                map.request_address(self.next - 1)?
            }
            _ => start + self.random.random_range(0..blocks) * plan.alignment,
        };
        self.index += 1;
        let writes = match plan.operation {
            IoOperation::Read => false,
            IoOperation::Write => true,
            IoOperation::Mixed { reads } => self.random.random::<f64>() >= reads,
        };
        Some((address, bytes, writes))
    }
}

impl<F: Fn(&FakeRequest<'_>) -> Option<u64> + Send + Sync> Engine for FakeDrive<F> {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn features(&self) -> Vec<String> {
        Vec::new()
    }

    fn execute_with_open_hook(
        &self,
        plan: &Plan,
        control: &CancellationToken,
        on_open: &mut dyn FnMut(),
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<ExecutionOutcome, EngineError> {
        (self.when_opened)();
        on_open();
        self.executed_plans.lock().unwrap().push(plan.clone());
        let mut walk = PlannedAddresses {
            plan,
            random: Xoshiro256PlusPlus::seed_from_u64(plan.seed),
            next: 0,
            index: 0,
        };
        let mut outcome = ExecutionOutcome {
            end_reason: EndReason::Completed,
            elapsed: Duration::ZERO,
            stats: IoStats::default(),
            request_log: Vec::new(),
            cpu_time: CpuTime::default(),
            errors: crate::engine::RequestErrors::default(),
            run_delay: None,
            finish_times: plan.end_fsync.map(|_| FinishTimes {
                sync_time: Duration::from_millis(20),
                close_time: Duration::from_micros(10),
            }),
        };
        // Time at which each slot of the queue becomes free.
        let mut slots: BinaryHeap<Reverse<u64>> =
            (0..plan.depth * plan.workers).map(|_| Reverse(0)).collect();
        let mut observed = 0;
        while let Some(Reverse(start_ns)) = slots.pop() {
            let Some(request) = self.add_request(plan, &mut walk, start_ns, &mut outcome) else {
                break;
            };
            slots.push(Reverse(request.end_ns));
            if request.start_ns >= observed {
                observed = request.start_ns + 100_000_000;
                observe(&ExecutionSnapshot {
                    elapsed: Duration::from_nanos(request.start_ns),
                    stats: outcome.stats.clone(),
                    ..ExecutionSnapshot::default()
                });
            }
            if control.is_cancelled() {
                outcome.end_reason = EndReason::Cancelled;
                break;
            }
        }
        Ok(outcome)
    }
}

impl<F: Fn(&FakeRequest<'_>) -> Option<u64> + Send + Sync> FakeDrive<F> {
    /// Adds a request unless a limit is reached.
    fn add_request(
        &self,
        plan: &Plan,
        walk: &mut PlannedAddresses<'_>,
        start_ns: u64,
        outcome: &mut ExecutionOutcome,
    ) -> Option<LoggedRequest> {
        let limits = &plan.limits;
        let stats = &mut outcome.stats;
        let over = limits.requests.is_some_and(|most| stats.requests() >= most)
            || limits.bytes.is_some_and(|most| stats.bytes() >= most)
            || limits
                .duration
                .is_some_and(|most| u128::from(start_ns) >= most.as_nanos());
        if over {
            return None;
        }
        let (address, bytes, writes) = walk.next(start_ns)?;
        let issued = FakeRequest {
            plan,
            address,
            bytes,
            is_write: writes,
            start_ns,
        };
        let Some(latency) = (self.latency_of)(&issued) else {
            outcome.end_reason = EndReason::Failed(EngineError::RequestFailed {
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
            &mut stats.write
        } else {
            &mut stats.read
        };
        direction.latency.record(latency);
        direction.bytes += u64::from(bytes);
        direction
            .counts_over_time
            .record(end_ns, u64::from(bytes), latency);
        outcome.elapsed = outcome.elapsed.max(Duration::from_nanos(end_ns));
        let request = LoggedRequest {
            address,
            bytes,
            is_write: writes,
            start_ns,
            end_ns,
        };
        let due = outcome
            .stats
            .requests()
            .is_multiple_of(u64::from(plan.log_interval));
        if due && outcome.request_log.len() < plan.log_capacity {
            outcome.request_log.push(request);
        }
        Some(request)
    }
}

/// A drive of this many bytes with 4 KiB blocks.
pub fn simulated_target(size: u64) -> Target {
    Target {
        name: "sim:fake".to_owned(),
        kind: TargetKind::Simulated,
        size_bytes: size,
        ..Target::example_drive()
    }
}

/// Runs a benchmark on a fake drive, with parameters as written by the user.
pub fn run_on_fake<F: Fn(&FakeRequest<'_>) -> Option<u64> + Send + Sync>(
    test: &'static dyn Benchmark,
    target: &Target,
    set: &[(&str, &str)],
    fake: &FakeDrive<F>,
) -> FinishedRun {
    let parameters = parameters(test, target, set);
    run_on_engine(test, target, &parameters, &SettingsManager::default(), fake)
}

/// Runs a benchmark to its end; nobody receives its events.
pub fn run_on_engine(
    benchmark: &dyn Benchmark,
    target: &Target,
    parameters: &ParameterSet,
    settings: &SettingsManager,
    engine: &dyn Engine,
) -> FinishedRun {
    let environment = RunEnvironment {
        target,
        parameters,
        settings,
        engine,
        cancellation: &CancellationToken::default(),
    };
    run::run_benchmark(
        benchmark,
        environment,
        ProgressSpan::whole_run(),
        &mut |_| {},
    )
}

/// A benchmark's parameters, some of them as written by the user.
pub fn parameters(
    test: &'static dyn Benchmark,
    target: &Target,
    set: &[(&str, &str)],
) -> ParameterSet {
    let mut job = RunRequest::new(test, &target.name);
    for (name, text) in set {
        job.set(name, text).unwrap();
    }
    job.parameters(target)
}

/// Runs a benchmark on a simulated drive of the engine, by name.
pub fn run_on_simulated(
    test: &'static dyn Benchmark,
    name: &str,
    set: &[(&str, &str)],
) -> FinishedRun {
    let opened =
        engine::open_target(&SysPaths::default(), name, engine::EngineChoice::Auto, None).unwrap();
    let parameters = parameters(test, &opened.target, set);
    let settings = SettingsManager::default();
    run_on_engine(
        test,
        &opened.target,
        &parameters,
        &settings,
        opened.engine(),
    )
}

/// Value of a metric of a finished run.
pub fn metric_value(finished: &FinishedRun, id: &MetricId) -> f64 {
    let metric = finished.findings.metric(id);
    metric
        .unwrap_or_else(|| panic!("no {id} in {:?}", finished.findings))
        .value
}

/// Codes of the checks of a finished run.
pub fn check_codes(finished: &FinishedRun) -> Vec<String> {
    let verdicts = &finished.findings.verdicts;
    verdicts
        .iter()
        .map(|verdict| verdict.code.to_string())
        .collect()
}

/// System settings below a directory, which contains the simulated device `sim:constant`.
pub fn settings_below(root: &Path) -> SettingsManager {
    let device = root.join("sys/class/block/sim:constant");
    fs::create_dir_all(&device).unwrap();
    fs::write(device.join("dev"), "7:0\n").unwrap();
    let random = root.join("proc/sys/kernel/random");
    fs::create_dir_all(&random).unwrap();
    let boot = "01234567-89ab-cdef-0123-456789abcdef\n";
    fs::write(random.join("boot_id"), boot).unwrap();
    SettingsManager::new(SysPaths::under_root(root), root.to_owned())
}
