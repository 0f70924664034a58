//! Runs a test on an engine: phases, progress, what was found so far.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::effort::Effort;
use super::{BenchError, Parameters, Test};
use crate::drive::{Settings, Target};
use crate::engine::{Control, End, Engine, EngineError, Moved, Outcome, Plan, Snapshot, Tally};
use crate::session::document::{Figure, Findings, RunState, Series, Verdict};

/// How often a phase that lasts is reported: at most a second is lost with a kill, and the moment
/// comes up to a fifth of a second late.
const REPORT_EVERY: Duration = Duration::from_millis(700);

/// Turns what was counted in some time into findings.
pub type Report<'a> = dyn FnMut(&mut Findings, &Tally, Duration) + 'a;

/// What a running test shows, 5 to 10 times a second.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// What is being done, such as `zone 17 of 100`.
    pub phase: String,
    /// How much of the whole test is done, 0 to 1; `None` where that cannot be known.
    pub fraction: Option<f64>,
    /// Time since the test began.
    pub elapsed: Duration,
    /// The present phase.
    pub snapshot: Snapshot,
    /// All that was asked of the medium since the test began.
    pub moved: Moved,
    /// What was found so far.
    pub findings: Arc<Findings>,
    /// Whether the findings were brought up to date just now: they want to be saved.
    pub is_news: bool,
}

impl Progress {
    /// Time left if it goes on as until now; `None` before one per cent is done.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        let fraction = self.fraction.filter(|fraction| *fraction > 0.01)?;
        Some(self.elapsed.mul_f64((1.0 - fraction.min(1.0)) / fraction))
    }
}

/// Who wants to know how a test is getting on.
pub trait Observer {
    /// The latest state; may be dropped when there is a later one.
    fn progress(&mut self, progress: &Progress);
    /// A phase ended: these findings stand. Must not be lost.
    fn phase_finished(&mut self, findings: &Findings);
}

/// How a test ended, and what it found.
#[derive(Debug)]
pub struct Finished {
    /// Finished, interrupted or failed.
    pub state: RunState,
    /// What made it fail.
    pub error: Option<BenchError>,
    /// How long it took.
    pub elapsed: Duration,
    /// What it found.
    pub findings: Findings,
    /// What it took.
    pub effort: Effort,
}

/// What a test works with while it runs.
pub struct Bench<'a> {
    /// What is measured.
    pub target: &'a Target,
    /// The test's parameters.
    pub parameters: &'a Parameters,
    /// The system's settings, for a test that changes one for a while.
    pub settings: &'a Settings,
    pub(super) engine: &'a dyn Engine,
    pub(super) control: &'a Control,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) began: Instant,
    pub(super) done: f64,
    pub(super) effort: Effort,
    pub(super) failure: Option<EngineError>,
    /// Whether a phase reached its limit before its ramp was over.
    pub(super) only_ramp: bool,
    /// What was found so far: the test adds to it, and replaces what it knows better now.
    pub findings: Findings,
}

impl Bench<'_> {
    /// Executes one phase. `share` is how much of the whole test (0 to 1) it stands for.
    ///
    /// A failure in the middle is kept: the outcome holds what was measured, and
    /// [`stopped`](Self::stopped) is true from then on.
    ///
    /// # Errors
    /// When the phase could not be started.
    pub fn execute(&mut self, phase: &str, share: f64, plan: &Plan) -> Result<Outcome, BenchError> {
        self.phase(phase, share, plan, None, &mut |_| {})
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
        report: &mut Report<'_>,
    ) -> Result<Outcome, BenchError> {
        let outcome = self.phase(phase, share, plan, Some(report), &mut |_| {})?;
        report(&mut self.findings, &outcome.tally, outcome.elapsed);
        self.phase_finished();
        Ok(outcome)
    }

    /// Executes one phase; `clock` hears its time 5 to 10 times a second.
    pub(super) fn phase(
        &mut self,
        phase: &str,
        share: f64,
        plan: &Plan,
        mut report: Option<&mut Report<'_>>,
        clock: &mut dyn FnMut(Duration),
    ) -> Result<Outcome, BenchError> {
        let (began, done, observer) = (self.began, self.done, &mut *self.observer);
        let before = self.effort.moved;
        let mut progress = Progress {
            phase: phase.to_owned(),
            findings: Arc::new(self.findings.clone()),
            ..Progress::default()
        };
        let mut reported = Instant::now();
        let mut outcome = self.engine.execute(plan, self.control, &mut |snapshot| {
            clock(snapshot.elapsed);
            progress.elapsed = began.elapsed();
            progress.fraction = snapshot.fraction.map(|fraction| done + share * fraction);
            progress.snapshot = snapshot.clone();
            progress.moved = before;
            progress.moved += snapshot.tally.moved();
            progress.is_news = false;
            if let Some(report) = &mut report
                && reported.elapsed() >= REPORT_EVERY
            {
                report(
                    Arc::make_mut(&mut progress.findings),
                    &snapshot.tally,
                    snapshot.elapsed,
                );
                reported = Instant::now();
                progress.is_news = true;
            }
            observer.progress(&progress);
        })?;
        self.done += share;
        self.account(plan, &mut outcome);
        Ok(outcome)
    }

    /// Keeps what an outcome says of the test as a whole: its failure and its effort.
    pub(super) fn account(&mut self, plan: &Plan, outcome: &mut Outcome) {
        self.effort += Effort::of(self.engine, plan, outcome);
        let limited = plan.limits.bytes.is_some() || plan.limits.requests.is_some();
        let only_ramp = outcome.tally.requests() == 0 && outcome.tally.ramp != Moved::default();
        if limited && only_ramp && matches!(outcome.end, End::Done) {
            self.only_ramp = true;
        }
        if let End::Failed(error) = std::mem::replace(&mut outcome.end, End::Done) {
            self.failure = Some(error);
        }
    }

    /// What the test still has to do for this share is left out, such as phases after an early
    /// end: the progress jumps.
    pub fn skip(&mut self, share: f64) {
        self.done += share;
    }

    /// Whether the test shall come to its end: the user stopped it, or a request failed.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.failure.is_some() || self.control.is_cancelled()
    }

    /// Says that a phase ended and its findings stand: they are saved before they are drawn.
    pub fn phase_finished(&mut self) {
        self.observer.phase_finished(&self.findings);
    }

    /// Sets a figure, in place of an earlier one of that name.
    pub fn figure(&mut self, figure: Figure) {
        self.findings.put_figure(figure);
    }

    /// Sets a series, in place of an earlier one of that name.
    pub fn series(&mut self, series: Series) {
        self.findings.put_series(series);
    }

    /// Sets a verdict, in place of an earlier one of that code.
    pub fn verdict(&mut self, verdict: Verdict) {
        self.findings.put_verdict(verdict);
    }
}

/// Runs a test to its end, its failure, or until it is stopped.
pub fn run(
    test: &dyn Test,
    target: &Target,
    parameters: &Parameters,
    engine: &dyn Engine,
    control: &Control,
    observer: &mut dyn Observer,
) -> Finished {
    let settings = Settings::default();
    run_with(
        test, target, parameters, &settings, engine, control, observer,
    )
}

/// Like [`run`], with the system's settings found elsewhere.
pub fn run_with(
    test: &dyn Test,
    target: &Target,
    parameters: &Parameters,
    settings: &Settings,
    engine: &dyn Engine,
    control: &Control,
    observer: &mut dyn Observer,
) -> Finished {
    let mut bench = Bench {
        target,
        parameters,
        settings,
        engine,
        control,
        observer,
        began: Instant::now(),
        done: 0.0,
        effort: Effort::default(),
        failure: None,
        only_ramp: false,
        findings: Findings::default(),
    };
    let result = test.run(&mut bench);
    // One point of a sweep may be missing; a benchmark without any metric has failed.
    if bench.only_ramp && bench.findings.figures.is_empty() {
        bench.failure.get_or_insert(EngineError::OnlyRamp);
    }
    let error = result
        .err()
        .or(bench.failure.take().map(BenchError::Engine));
    let state = match &error {
        Some(_) => RunState::Failed,
        None if control.is_cancelled() => RunState::Interrupted,
        None => RunState::Finished,
    };
    Finished {
        state,
        error,
        elapsed: bench.began.elapsed(),
        findings: bench.findings,
        effort: bench.effort,
    }
}
