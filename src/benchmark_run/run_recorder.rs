//! Records one benchmark run: the journal first, then the screen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::evidence::{EvidenceCollector, RunScope};
use super::run_record::{self, RunSubject};
use super::shared_session::SharedSession;
use crate::bench::framework::context::FinishedRun;
use crate::bench::{BenchError, RunEvent, RunProgress, RunSink, framework};
use crate::engine::{CacheMode, IoCounts};
use crate::roots::SysPaths;
use crate::session::checks;
use crate::session::checks::Workload;
use crate::session::document::{BenchmarkRun, Findings, RunCpuTime, RunError, RunEvidence};

/// How often the journal is appended to during a phase without other events.
const JOURNAL_INTERVAL: Duration = Duration::from_millis(900);

/// Records the events of one benchmark run, adds what the kernel says about it, and passes them on.
///
/// It belongs to the measuring thread, and collecting evidence may take as long as any request. The
/// thread that waits closes the session without it, with the run as last appended to the journal.
pub(super) struct RunRecorder<'a> {
    session: &'a SharedSession,
    run: BenchmarkRun,
    /// What the checks of every run need to know about the benchmark.
    workload: Workload,
    evidence: EvidenceCollector,
    /// All I/O issued until the last progress event.
    issued_counts: IoCounts,
    started_at: Instant,
    last_append: Instant,
    sink: &'a mut RunSink<'a>,
}

impl<'a> RunRecorder<'a> {
    /// Starts a run now.
    pub(super) fn start(
        session: &'a SharedSession,
        roots: &SysPaths,
        subject: &RunSubject<'_>,
        sink: &'a mut RunSink<'a>,
    ) -> Self {
        let run = run_record::new_run(subject);
        // The next step already reads from the drive.
        session.append_run(&run);
        let RunSubject {
            target,
            file,
            parameters,
            ..
        } = *subject;
        let scope = RunScope {
            target,
            file,
            window: framework::plan_window(target, parameters),
            writes: subject.spec.benchmark.writes(parameters),
            direct: framework::cache_mode(parameters) == CacheMode::Bypass,
            arrival_rate: framework::arrival_rate(parameters),
            host: &session.host(),
        };
        let evidence = EvidenceCollector::new(roots, &scope);
        let now = Instant::now();
        Self {
            session,
            run,
            workload: subject.spec.benchmark.description().workload,
            evidence,
            issued_counts: IoCounts::default(),
            started_at: now,
            last_append: now,
            sink,
        }
    }

    /// Records an event, then passes it on.
    pub(super) fn handle_event(&mut self, mut event: RunEvent) {
        match &mut event {
            RunEvent::Progress(progress) => self.record_progress(progress),
            RunEvent::PhaseFinished(findings) => self.append_to_journal(findings),
            RunEvent::Forecast { .. }
            | RunEvent::ScratchFill { .. }
            | RunEvent::Started(_)
            | RunEvent::Ended => {}
        }
        (self.sink)(event);
    }

    /// Records progress where it is due, and adds the kernel's statistics and the checks to it.
    fn record_progress(&mut self, progress: &mut RunProgress) {
        self.issued_counts = progress.counts;
        self.evidence.observe_progress(progress);
        if progress.has_new_findings || self.last_append.elapsed() >= JOURNAL_INTERVAL {
            self.append_to_journal(&progress.findings);
        }
        progress.kernel_counts = self.evidence.kernel_counts();
        progress.stages.clone_from(&self.run.stages);
        let checks = &self.run.findings.verdicts;
        if !checks.is_empty() {
            Arc::make_mut(&mut progress.findings)
                .verdicts
                .clone_from(checks);
        }
    }

    /// Appends the run with these findings to the journal.
    fn append_to_journal(&mut self, findings: &Findings) {
        let evidence = self.evidence.evidence_so_far(self.issued_counts);
        let elapsed = self.started_at.elapsed();
        self.update_run(findings.clone(), evidence, elapsed);
        self.last_append = Instant::now();
        self.session.append_run(&self.run);
    }

    /// Stores the findings and the evidence so far, and evaluates the checks.
    fn update_run(&mut self, findings: Findings, evidence: RunEvidence, elapsed: Duration) {
        self.run.findings = findings;
        self.run.elapsed_ns = nanoseconds(elapsed);
        self.run.kernel = self.evidence.kernel_counts();
        self.run.stages = self.evidence.stages();
        self.run.evidence = evidence;
        checks::add_rule_verdicts(&mut self.run, self.workload);
    }

    /// Completes the run and appends it to the session. The I/O paths of the engine that were used
    /// are known only now.
    pub(super) fn finish(mut self, finished: FinishedRun, subject: &RunSubject<'_>) {
        let mut findings = finished.findings;
        let goals = subject.spec.goals.iter();
        findings.goals = goals.map(|goal| goal.evaluate(&findings)).collect();
        self.run.engine = run_record::engine_record(subject.engine);
        self.run.state = finished.state;
        let run_error = |error| describe_error(error);
        self.run.error = finished.error.as_ref().map(run_error);
        self.run.cpu = Some(RunCpuTime {
            user_ns: nanoseconds(finished.cpu_usage.cpu_time.user_time),
            system_ns: nanoseconds(finished.cpu_usage.cpu_time.system_time),
            machine_busy_ns: self.evidence.machine_busy(),
        });
        let evidence = self.evidence.final_evidence(&finished.cpu_usage);
        self.update_run(findings, evidence, finished.elapsed);
        self.session.finish_run(self.run);
    }
}

fn describe_error(error: &BenchError) -> RunError {
    RunError {
        message: error.to_string().into(),
        advice: error.advice().into(),
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
