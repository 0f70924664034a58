//! Runs a benchmark on an engine: phases, progress and intermediate findings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cpu_usage::CpuUsage;
use crate::bench::{BenchError, Benchmark, ParameterSet};
use crate::drive::{SettingsManager, Target};
use crate::engine::{
    CancellationToken, EndReason, Engine, EngineError, ExecutionOutcome, ExecutionSnapshot,
    IoCounts, IoStats, Plan,
};
use crate::session::document::check::CheckEvidence;
use crate::session::document::{Findings, Metric, RunState, Series};

/// Report interval of a long phase: a kill loses at most one second of data, given that reports are
/// up to a fifth of a second late.
const REPORT_INTERVAL: Duration = Duration::from_millis(700);

/// Converts an outcome, complete or intermediate, into findings.
pub type OutcomeReporter<'a> = dyn FnMut(&mut Findings, &IoStats, Duration) + 'a;

/// State of a running benchmark, published 5 to 10 times per second.
#[derive(Debug, Clone, Default)]
pub struct RunProgress {
    /// Current activity, such as `zone 17 of 100`.
    pub phase: String,
    /// Fraction of the benchmark that is complete, 0 to 1; `None` if unknown.
    pub fraction: Option<f64>,
    /// Time since the benchmark started.
    pub elapsed: Duration,
    /// Progress of the current phase.
    pub snapshot: ExecutionSnapshot,
    /// I/O counts since the benchmark started.
    pub counts: IoCounts,
    /// Findings so far.
    pub findings: Arc<Findings>,
    /// Whether the findings were just updated and should be saved.
    pub has_new_findings: bool,
}

impl RunProgress {
    /// Estimated time left at the current rate; `None` below one per cent of completion.
    #[must_use]
    pub fn remaining_time(&self) -> Option<Duration> {
        let fraction = self.fraction.filter(|fraction| *fraction > 0.01)?;
        Some(self.elapsed.mul_f64((1.0 - fraction.min(1.0)) / fraction))
    }
}

/// Receiver of progress reports.
pub trait RunObserver {
    /// Receives the latest state. Implementations may drop it when a later state exists.
    fn progress(&mut self, progress: &RunProgress);
    /// A phase ended and its findings are final. Implementations must not drop them.
    fn phase_finished(&mut self, findings: &Findings);
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

/// State of a running benchmark.
pub struct RunContext<'a> {
    /// Target under test.
    pub target: &'a Target,
    /// Parameters of the benchmark.
    pub parameters: &'a ParameterSet,
    /// Settings manager, for benchmarks that change a system setting temporarily.
    pub settings: &'a SettingsManager,
    pub(crate) engine: &'a dyn Engine,
    pub(crate) control: &'a CancellationToken,
    pub(crate) observer: &'a mut dyn RunObserver,
    pub(crate) started_at: Instant,
    pub(crate) completed_fraction: f64,
    pub(crate) cpu_usage: CpuUsage,
    pub(crate) failure: Option<EngineError>,
    /// Whether a phase reached its limit before its ramp time ended.
    pub(crate) only_ramp: bool,
    /// Whether any phase has counted a request.
    pub(crate) has_counted: bool,
    /// Findings so far; the benchmark adds to them and replaces entries as better values arrive.
    pub findings: Findings,
}

impl<'a> RunContext<'a> {
    /// A benchmark that starts now.
    pub(crate) fn new(
        target: &'a Target,
        parameters: &'a ParameterSet,
        settings: &'a SettingsManager,
        engine: &'a dyn Engine,
        control: &'a CancellationToken,
        observer: &'a mut dyn RunObserver,
    ) -> Self {
        Self {
            target,
            parameters,
            settings,
            engine,
            control,
            observer,
            started_at: Instant::now(),
            completed_fraction: 0.0,
            cpu_usage: CpuUsage::default(),
            failure: None,
            only_ramp: false,
            has_counted: false,
            findings: Findings::default(),
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
    /// When the phase could not be started.
    pub fn execute(
        &mut self,
        phase: &str,
        share: f64,
        plan: &Plan,
    ) -> Result<ExecutionOutcome, BenchError> {
        self.execute_phase(phase, share, plan, None, &mut |_| {})
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
        let outcome = self.execute_phase(phase, share, plan, Some(report), &mut |_| {})?;
        report(&mut self.findings, &outcome.stats, outcome.elapsed);
        self.phase_finished();
        Ok(outcome)
    }

    /// Executes one phase; `clock` receives its elapsed time 5 to 10 times per second.
    pub(crate) fn execute_phase(
        &mut self,
        phase: &str,
        share: f64,
        plan: &Plan,
        mut report: Option<&mut OutcomeReporter<'_>>,
        clock: &mut dyn FnMut(Duration),
    ) -> Result<ExecutionOutcome, BenchError> {
        let (began, done, observer) = (
            self.started_at,
            self.completed_fraction,
            &mut *self.observer,
        );
        let before = self.cpu_usage.counts;
        let mut progress = RunProgress {
            phase: phase.to_owned(),
            findings: Arc::new(self.findings.clone()),
            ..RunProgress::default()
        };
        let mut reported = Instant::now();
        let mut outcome = self.engine.execute(plan, self.control, &mut |snapshot| {
            clock(snapshot.elapsed);
            progress.elapsed = began.elapsed();
            progress.fraction = snapshot
                .completed_fraction
                .map(|share| done + share * share);
            progress.snapshot = snapshot.clone();
            progress.counts = before;
            progress.counts += snapshot.stats.all_counts();
            progress.has_new_findings = false;
            if let Some(report) = &mut report
                && reported.elapsed() >= REPORT_INTERVAL
            {
                report(
                    Arc::make_mut(&mut progress.findings),
                    &snapshot.stats,
                    snapshot.elapsed,
                );
                reported = Instant::now();
                progress.has_new_findings = true;
            }
            observer.progress(&progress);
        })?;
        self.completed_fraction += share;
        self.add_outcome(plan, &mut outcome);
        Ok(outcome)
    }

    /// Records the parts of an outcome that concern the whole benchmark: failure and processor
    /// usage.
    pub(crate) fn add_outcome(&mut self, plan: &Plan, outcome: &mut ExecutionOutcome) {
        self.cpu_usage += CpuUsage::of(self.engine, plan, outcome);
        let limited = plan.limits.bytes.is_some() || plan.limits.requests.is_some();
        let only_ramp =
            outcome.stats.requests() == 0 && outcome.stats.ramp_counts != IoCounts::default();
        self.has_counted |= outcome.stats.requests() > 0;
        if limited && only_ramp && matches!(outcome.end_reason, EndReason::Completed) {
            self.only_ramp = true;
        }
        if let EndReason::Failed(error) =
            std::mem::replace(&mut outcome.end_reason, EndReason::Completed)
        {
            self.failure = Some(error);
        }
    }

    /// Skips the work that this fraction represents, such as the phases after an early end:
    /// progress jumps ahead.
    pub fn skip_fraction(&mut self, share: f64) {
        self.completed_fraction += share;
    }

    /// Whether the benchmark must end: the user stopped it, or a request failed.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.failure.is_some() || self.control.is_cancelled()
    }

    /// Reports that a phase ended with final findings, which are saved before they are displayed.
    pub fn phase_finished(&mut self) {
        self.observer.phase_finished(&self.findings);
    }

    /// Sets a metric and replaces an earlier one of the same name.
    pub fn set_metric(&mut self, figure: Metric) {
        self.findings.set_metric(figure);
    }

    /// Sets a series and replaces an earlier one of the same name.
    pub fn set_series(&mut self, series: Series) {
        self.findings.set_series(series);
    }

    /// Sets a check that did not pass and replaces an earlier one of the same kind.
    pub fn set_check(&mut self, evidence: CheckEvidence) {
        self.findings.set_check(evidence);
    }
}

/// Runs a benchmark until it finishes, fails or is stopped.
pub fn run_benchmark(
    test: &dyn Benchmark,
    target: &Target,
    parameters: &ParameterSet,
    engine: &dyn Engine,
    control: &CancellationToken,
    observer: &mut dyn RunObserver,
) -> FinishedRun {
    let settings = SettingsManager::default();
    run_benchmark_with_settings(
        test, target, parameters, &settings, engine, control, observer,
    )
}

/// Like [`run_benchmark`], with another settings manager.
pub fn run_benchmark_with_settings(
    test: &dyn Benchmark,
    target: &Target,
    parameters: &ParameterSet,
    settings: &SettingsManager,
    engine: &dyn Engine,
    control: &CancellationToken,
    observer: &mut dyn RunObserver,
) -> FinishedRun {
    let mut bench = RunContext::new(target, parameters, settings, engine, control, observer);
    let result = test.run(&mut bench);
    test.description().assert_checks_declared(&bench.findings);
    // A sweep may lack a point; a benchmark that has counted nothing has failed.
    if bench.only_ramp && !bench.has_counted {
        bench.failure.get_or_insert(EngineError::NothingMeasured);
    }
    let error = result
        .err()
        .or(bench.failure.take().map(BenchError::Engine));
    let state = match &error {
        Some(_) => RunState::Failed,
        None if control.is_cancelled() => RunState::Interrupted,
        None => RunState::Finished,
    };
    FinishedRun {
        state,
        error,
        elapsed: bench.started_at.elapsed(),
        findings: bench.findings,
        cpu_usage: bench.cpu_usage,
    }
}
