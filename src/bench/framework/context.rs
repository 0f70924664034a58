//! Runs a benchmark on an engine: phases, progress and intermediate findings.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde_json::json;

use super::budget::PhaseBudget;
use super::cpu_usage::CpuUsage;
use super::phases::{Phase, PhaseGroup, Phases};
use super::progress::{ProgressReporter, ProgressSpan};
use super::run_event::RunSink;
use crate::bench::{BenchError, ParameterSet};
use crate::drive::{SettingsManager, Target};
use crate::engine::{
    CancellationToken, EndReason, Engine, EngineError, ExecutionOutcome, ExecutionSnapshot,
    IoCounts, IoStats, Plan, RequestErrors,
};
use crate::session::document::check::Check;
use crate::session::document::{Findings, Metric, RunState, Series, Verdict};

/// Report interval of a long phase: a kill loses at most one second of data, given that reports are
/// up to a fifth of a second late.
const REPORT_INTERVAL: Duration = Duration::from_millis(700);

/// Converts an outcome, complete or intermediate, into findings.
pub type OutcomeReporter<'a> = dyn FnMut(&mut Findings, &IoStats, Duration) + 'a;

/// What was measured of a phase so far.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredPhase<'a> {
    /// Index of the phase among those of all groups.
    pub index: usize,
    /// The plan, with the limits that it had.
    pub plan: &'a Plan,
    /// Its requests.
    pub stats: &'a IoStats,
    /// Time since the end of the ramp time.
    pub elapsed: Duration,
}

/// What a phase calls while it is executed.
#[derive(Default)]
pub(crate) struct PhaseHooks<'a, 'b> {
    /// Called as soon as the target is open for the phase, before the first request.
    pub(crate) on_open: Option<&'a mut dyn FnMut()>,
    /// Receives intermediate outcomes about once per second.
    pub(crate) report: Option<&'a mut OutcomeReporter<'b>>,
    /// Receives the elapsed time 5 to 10 times per second.
    pub(crate) clock: Option<&'a mut dyn FnMut(Duration)>,
}

/// Result of a benchmark run.
#[derive(Debug)]
pub struct FinishedRun {
    /// Finished, interrupted or failed.
    pub state: RunState,
    /// Cause of a failure.
    pub error: Option<BenchError>,
    /// Elapsed time.
    pub elapsed: Duration,
    /// Findings of the run.
    pub findings: Findings,
    /// Processor time and requests used.
    pub cpu_usage: CpuUsage,
}

/// What a benchmark runs on.
#[derive(Clone, Copy)]
pub struct RunEnvironment<'a> {
    /// Target under test.
    pub target: &'a Target,
    /// Parameters of the benchmark.
    pub parameters: &'a ParameterSet,
    /// Settings manager, for benchmarks that change a system setting temporarily.
    pub settings: &'a SettingsManager,
    /// Executes the plans.
    pub engine: &'a dyn Engine,
    /// Stops the benchmark.
    pub cancellation: &'a CancellationToken,
}

/// A running benchmark: what it runs on, its findings, and where its progress goes.
pub struct RunContext<'a> {
    /// Target under test.
    pub target: &'a Target,
    /// Parameters of the benchmark.
    pub parameters: &'a ParameterSet,
    /// Settings manager, for benchmarks that change a system setting temporarily.
    pub settings: &'a SettingsManager,
    /// Findings so far; the benchmark adds to them and replaces entries as better values arrive.
    pub findings: Findings,
    pub(super) engine: &'a dyn Engine,
    pub(super) cancellation: &'a CancellationToken,
    pub(super) progress: ProgressReporter<'a>,
    pub(super) totals: RunTotals,
}

/// Requests failed that did not end the run.
pub(crate) const IO_ERRORS: Check = Check::invalid(
    "io-errors",
    "The medium answered requests with errors; no other result includes them.",
);

/// The verdict on failed requests; `None` where there are none.
fn io_errors(errors: &RequestErrors) -> Option<Verdict> {
    let first = errors.first.first()?;
    let error = std::io::Error::from_raw_os_error(first.errno);
    let listed = errors.first.iter().map(|failed| {
        json!({ "offset": failed.address, "bytes": failed.bytes, "write": failed.is_write,
            "errno": failed.errno })
    });
    let requests = if errors.count == 1 {
        "request"
    } else {
        "requests"
    };
    Some(IO_ERRORS.found(
        format!(
            "{} {requests} failed, the first at byte {}: {error}",
            errors.count, first.address
        ),
        "read the kernel's log (dmesg) and the drive's own state (smartctl -a): the drive or its link is \
         faulty",
        json!({ "count": errors.count, "first": listed.collect::<Vec<_>>() }),
    ))
}

/// Sums over all phases of a benchmark.
#[derive(Debug, Default)]
pub(super) struct RunTotals {
    pub(super) cpu_usage: CpuUsage,
    /// The first failure of a request.
    failure: Option<EngineError>,
    /// Requests that failed without ending the run.
    errors: RequestErrors,
    /// Whether a phase reached its limit before its ramp time ended.
    only_ramp: bool,
    /// Whether any phase has counted a request.
    has_counted: bool,
}

impl RunTotals {
    /// Adds one execution. Takes its failure from it.
    fn add_outcome(&mut self, engine: &dyn Engine, plan: &Plan, outcome: &mut ExecutionOutcome) {
        self.cpu_usage += CpuUsage::of(engine, plan, outcome);
        let limited = plan.limits.bytes.is_some() || plan.limits.requests.is_some();
        let only_ramp =
            outcome.stats.requests() == 0 && outcome.stats.ramp_counts != IoCounts::default();
        self.has_counted |= outcome.stats.requests() > 0;
        if limited && only_ramp && matches!(outcome.end_reason, EndReason::Completed) {
            self.only_ramp = true;
        }
        self.errors.merge(&outcome.errors);
        if let EndReason::Failed(error) =
            std::mem::replace(&mut outcome.end_reason, EndReason::Completed)
        {
            self.failure = Some(error);
        }
    }

    /// Adds the totals of a nested benchmark.
    pub(super) fn add_nested(&mut self, nested: Self) {
        self.cpu_usage += nested.cpu_usage;
        self.only_ramp |= nested.only_ramp;
        self.has_counted |= nested.has_counted;
        self.errors.merge(&nested.errors);
        self.failure = self.failure.take().or(nested.failure);
    }

    /// Why the benchmark failed. A sweep may lack a point; a benchmark that has counted nothing has
    /// failed.
    pub(super) fn take_failure(&mut self) -> Option<EngineError> {
        let nothing = self.only_ramp && !self.has_counted;
        let failure = self.failure.take();
        failure.or(nothing.then_some(EngineError::NothingMeasured))
    }
}

impl<'a> RunContext<'a> {
    /// A benchmark that starts now.
    pub(crate) fn new(
        environment: RunEnvironment<'a>,
        span: ProgressSpan,
        sink: &'a mut RunSink<'a>,
    ) -> Self {
        Self::with_reporter(environment, ProgressReporter::new(span, sink))
    }

    pub(super) fn with_reporter(
        environment: RunEnvironment<'a>,
        progress: ProgressReporter<'a>,
    ) -> Self {
        let RunEnvironment {
            target,
            parameters,
            settings,
            engine,
            cancellation,
        } = environment;
        Self {
            target,
            parameters,
            settings,
            findings: Findings::default(),
            engine,
            cancellation,
            progress,
            totals: RunTotals::default(),
        }
    }
}

impl RunContext<'_> {
    /// Executes one phase. `share` is the fraction (0 to 1) of the benchmark that the phase
    /// represents.
    ///
    /// An error in the middle of a phase is recorded: the outcome holds what was measured, and
    /// [`is_stopped`](Self::is_stopped) returns true from then on.
    ///
    /// # Errors
    /// When the phase could not be started.
    pub fn execute(
        &mut self,
        phase: &str,
        share: f64,
        plan: &Plan,
    ) -> Result<ExecutionOutcome, BenchError> {
        self.execute_phase(phase, share, plan, PhaseHooks::default())
    }

    /// Executes one phase as [`execute`](Self::execute); `on_open` is called as soon as the target is open for
    /// the phase, before the first request.
    ///
    /// # Errors
    /// When the phase could not be started.
    pub fn execute_with_open_hook(
        &mut self,
        phase: &str,
        share: f64,
        plan: &Plan,
        on_open: &mut dyn FnMut(),
    ) -> Result<ExecutionOutcome, BenchError> {
        let hooks = PhaseHooks {
            on_open: Some(on_open),
            ..PhaseHooks::default()
        };
        self.execute_phase(phase, share, plan, hooks)
    }

    /// Executes one phase with intermediate reports: `report` converts the outcome into findings
    /// about once per second and at the end, so that a kill loses no more than that.
    ///
    /// # Errors
    /// When the phase could not be started.
    pub fn measure(
        &mut self,
        phase: &str,
        share: f64,
        plan: &Plan,
        report: &mut OutcomeReporter<'_>,
    ) -> Result<ExecutionOutcome, BenchError> {
        let hooks = PhaseHooks {
            report: Some(&mut *report),
            ..PhaseHooks::default()
        };
        let outcome = self.execute_phase(phase, share, plan, hooks)?;
        report(&mut self.findings, &outcome.stats, outcome.elapsed);
        self.phase_finished();
        Ok(outcome)
    }

    /// Executes phases that are not repeated, each within its part of the common limits. `report`
    /// converts what was measured into findings, about once per second and at the end of a phase.
    ///
    /// # Errors
    /// When a phase could not be started.
    pub fn run_phases(
        &mut self,
        phases: &Phases,
        report: &mut dyn FnMut(&mut Findings, &MeasuredPhase<'_>),
    ) -> Result<(), BenchError> {
        let count: usize = phases.groups.iter().map(|group| group.phases.len()).sum();
        let mut first = 0;
        for PhaseGroup {
            limits,
            sharing,
            phases,
            ..
        } in &phases.groups
        {
            let mut budget = PhaseBudget::new(*limits);
            for (index, Phase { label, plan, .. }) in phases.iter().enumerate() {
                let left = sharing.phases_left(index, phases.len());
                let block = u64::from(plan.block_size.max_bytes());
                let limits = budget.next_phase_limits(left, block, plan.limits);
                let Some(limits) = limits.filter(|_| !self.is_stopped()) else {
                    break;
                };
                let plan = &Plan {
                    limits,
                    ..plan.clone()
                };
                let mut report = |findings: &mut Findings, stats: &IoStats, elapsed| {
                    let measured = MeasuredPhase {
                        index: first + index,
                        plan,
                        stats,
                        elapsed,
                    };
                    report(findings, &measured);
                };
                let outcome = self.measure(label, 1.0 / count as f64, plan, &mut report)?;
                budget.consume_outcome(&outcome);
            }
            first += phases.len();
        }
        Ok(())
    }

    /// Executes one phase.
    pub(crate) fn execute_phase(
        &mut self,
        phase: &str,
        share: f64,
        plan: &Plan,
        hooks: PhaseHooks<'_, '_>,
    ) -> Result<ExecutionOutcome, BenchError> {
        let PhaseHooks {
            on_open,
            mut report,
            mut clock,
        } = hooks;
        let counts = self.totals.cpu_usage.counts;
        let progress = &mut self.progress;
        let mut running = progress.phase(phase, share, counts, &self.findings);
        // Copied when the first report changes them.
        let mut findings = Cow::Borrowed(&self.findings);
        let mut last_report = Instant::now();
        let mut observe = |snapshot: &ExecutionSnapshot| {
            if let Some(clock) = &mut clock {
                clock(snapshot.elapsed);
            }
            if let Some(report) = &mut report
                && last_report.elapsed() >= REPORT_INTERVAL
            {
                report(findings.to_mut(), &snapshot.stats, snapshot.elapsed);
                progress.update(&mut running, &findings);
                last_report = Instant::now();
            }
            progress.report(&mut running, snapshot);
        };
        let mut outcome = self.engine.execute_with_open_hook(
            plan,
            self.cancellation,
            on_open.unwrap_or(&mut || {}),
            &mut observe,
        )?;
        self.progress.advance(share);
        self.add_outcome(plan, &mut outcome);
        Ok(outcome)
    }

    /// Records the parts of an outcome that concern the whole benchmark: failure and processor
    /// usage.
    pub(super) fn add_outcome(&mut self, plan: &Plan, outcome: &mut ExecutionOutcome) {
        self.totals.add_outcome(self.engine, plan, outcome);
        if let Some(verdict) = io_errors(&self.totals.errors) {
            self.set_check(verdict);
        }
    }

    /// Skips the work that this fraction represents, such as the phases after an early end:
    /// progress jumps ahead.
    pub fn skip_fraction(&mut self, share: f64) {
        self.progress.advance(share);
    }

    /// Whether the benchmark must end: the user stopped it, or a request failed.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.totals.failure.is_some() || self.cancellation.is_cancelled()
    }

    /// Reports that a phase ended with final findings, which are saved before they are displayed.
    pub fn phase_finished(&mut self) {
        self.progress.phase_finished(&self.findings);
    }

    /// Sets a metric and replaces an earlier one of the same name.
    pub fn set_metric(&mut self, metric: Metric) {
        self.findings.set_metric(metric);
    }

    /// Sets a series and replaces an earlier one of the same name.
    pub fn set_series(&mut self, series: Series) {
        self.findings.set_series(series);
    }

    /// Sets a check that did not pass and replaces an earlier one of the same kind.
    pub fn set_check(&mut self, verdict: Verdict) {
        self.findings.set_check(verdict);
    }
}
