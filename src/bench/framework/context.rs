//! Runs a test on an engine: phases, progress, what was found so far.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cpu_usage::CpuUsage;
use crate::bench::{BenchError, Benchmark, ParameterSet};
use crate::drive::{SettingsManager, Target};
use crate::engine::{
    CancellationToken, EndReason, Engine, EngineError, ExecutionOutcome, ExecutionSnapshot,
    IoCounts, IoStats, Plan,
};
use crate::session::document::{Findings, Metric, RunState, Series, Verdict};

/// How often a phase that lasts is reported: at most a second is lost with a kill, and the moment
/// comes up to a fifth of a second late.
const REPORT_INTERVAL: Duration = Duration::from_millis(700);

/// Turns what was counted in some time into findings.
pub type OutcomeReporter<'a> = dyn FnMut(&mut Findings, &IoStats, Duration) + 'a;

/// What a running test shows, 5 to 10 times a second.
#[derive(Debug, Clone, Default)]
pub struct RunProgress {
    /// What is being done, such as `zone 17 of 100`.
    pub phase: String,
    /// How much of the whole test is done, 0 to 1; `None` where that cannot be known.
    pub fraction: Option<f64>,
    /// Time since the test began.
    pub elapsed: Duration,
    /// The present phase.
    pub snapshot: ExecutionSnapshot,
    /// All that was asked of the medium since the test began.
    pub counts: IoCounts,
    /// What was found so far.
    pub findings: Arc<Findings>,
    /// Whether the findings were brought up to date just now: they want to be saved.
    pub has_new_findings: bool,
}

impl RunProgress {
    /// Time left if it goes on as until now; `None` before one per cent is done.
    #[must_use]
    pub fn remaining_time(&self) -> Option<Duration> {
        let fraction = self.fraction.filter(|fraction| *fraction > 0.01)?;
        Some(self.elapsed.mul_f64((1.0 - fraction.min(1.0)) / fraction))
    }
}

/// Who wants to know how a test is getting on.
pub trait RunObserver {
    /// The latest state; may be dropped when there is a later one.
    fn progress(&mut self, progress: &RunProgress);
    /// A phase ended: these findings stand. Must not be lost.
    fn phase_finished(&mut self, findings: &Findings);
}

/// How a test ended, and what it found.
#[derive(Debug)]
pub struct FinishedRun {
    /// Finished, interrupted or failed.
    pub state: RunState,
    /// What made it fail.
    pub error: Option<BenchError>,
    /// How long it took.
    pub elapsed: Duration,
    /// What it found.
    pub findings: Findings,
    /// What it took.
    pub cpu_usage: CpuUsage,
}

/// What a test works with while it runs.
pub struct RunContext<'a> {
    /// What is measured.
    pub target: &'a Target,
    /// The test's parameters.
    pub parameters: &'a ParameterSet,
    /// The system's settings, for a test that changes one for a while.
    pub settings: &'a SettingsManager,
    pub(crate) engine: &'a dyn Engine,
    pub(crate) control: &'a CancellationToken,
    pub(crate) observer: &'a mut dyn RunObserver,
    pub(crate) started_at: Instant,
    pub(crate) completed_fraction: f64,
    pub(crate) cpu_usage: CpuUsage,
    pub(crate) failure: Option<EngineError>,
    /// Whether a phase reached its limit before its ramp was over.
    pub(crate) only_ramp: bool,
    /// Whether any phase has counted a request.
    pub(crate) has_counted: bool,
    /// What was found so far: the test adds to it, and replaces what it knows better now.
    pub findings: Findings,
}

impl RunContext<'_> {
    /// Executes one phase. `share` is how much of the whole test (0 to 1) it stands for.
    ///
    /// A failure in the middle is kept: the outcome holds what was measured, and
    /// [`stopped`](Self::stopped) is true from then on.
    ///
    /// # Errors
    /// When the phase could not be started.
    pub fn execute(
        &mut self,
        phase: &str,
        share: f64,
        plan: &Plan,
    ) -> Result<ExecutionOutcome, BenchError> {
        self.execute_phase(phase, share, plan, None, &mut |_| {})
    }

    /// Executes one phase that is reported while it lasts: `report` turns what was counted into
    /// findings, about once a second and at the end, so that a kill loses no more than that.
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

    /// Executes one phase; `clock` hears its time 5 to 10 times a second.
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

    /// Keeps what an outcome says of the test as a whole: its failure and its effort.
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

    /// What the test still has to do for this share is left out, such as phases after an early
    /// end: the progress jumps.
    pub fn skip_fraction(&mut self, share: f64) {
        self.completed_fraction += share;
    }

    /// Whether the test shall come to its end: the user stopped it, or a request failed.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.failure.is_some() || self.control.is_cancelled()
    }

    /// Says that a phase ended and its findings stand: they are saved before they are drawn.
    pub fn phase_finished(&mut self) {
        self.observer.phase_finished(&self.findings);
    }

    /// Sets a figure, in place of an earlier one of that name.
    pub fn set_metric(&mut self, figure: Metric) {
        self.findings.set_metric(figure);
    }

    /// Sets a series, in place of an earlier one of that name.
    pub fn set_series(&mut self, series: Series) {
        self.findings.set_series(series);
    }

    /// Sets a verdict, in place of an earlier one of that code.
    pub fn set_verdict(&mut self, verdict: Verdict) {
        self.findings.set_verdict(verdict);
    }
}

/// Runs a test to its end, its failure, or until it is stopped.
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

/// Like [`run`], with the system's settings found elsewhere.
pub fn run_benchmark_with_settings(
    test: &dyn Benchmark,
    target: &Target,
    parameters: &ParameterSet,
    settings: &SettingsManager,
    engine: &dyn Engine,
    control: &CancellationToken,
    observer: &mut dyn RunObserver,
) -> FinishedRun {
    let mut bench = RunContext {
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
    };
    let result = test.run(&mut bench);
    // One point of a sweep may be missing; a benchmark that has counted nothing has failed.
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
