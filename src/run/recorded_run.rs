//! One run of a benchmark: measured, and recorded in the journal first, then on the screen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::evidence::EvidenceCollector;
use super::record;
use super::session::SharedSession;
use crate::bench::framework::context::{FinishedRun, RunEnvironment};
use crate::bench::framework::progress::ProgressSpan;
use crate::bench::framework::run;
use crate::bench::{ParameterSet, RunEvent, RunProgress, RunRequest, RunSink};
use crate::drive::SettingsManager;
use crate::engine::{CancellationToken, IoCounts, OpenedTarget};
use crate::roots::SysPaths;
use crate::session::checks;
use crate::session::document::{BenchmarkRun, Findings, RunCpuTime, RunError, RunEvidence};

/// How often the journal is appended to during a phase without other events.
const JOURNAL_INTERVAL: Duration = Duration::from_millis(900);

/// A request that is executed: what stops it, and its session, which another thread may close at any
/// time.
#[derive(Clone, Copy)]
pub(super) struct Execution<'a> {
    pub(super) request: &'a RunRequest,
    pub(super) roots: &'a SysPaths,
    pub(super) cancellation: &'a CancellationToken,
    pub(super) session: &'a SharedSession,
}

/// One run: what is measured, with what, and what has been found.
///
/// It belongs to the measuring thread, and collecting evidence may take as long as any request. The
/// thread that waits closes the session without it, with the run as last appended to the journal.
pub(super) struct Run<'a> {
    execution: Execution<'a>,
    opened: &'a OpenedTarget,
    parameters: &'a ParameterSet,
    record: BenchmarkRun,
    evidence: EvidenceCollector,
    /// All I/O issued until the last progress event.
    issued_counts: IoCounts,
    started_at: Instant,
    last_append: Instant,
}

impl<'a> Run<'a> {
    /// Starts the record of a run and its evidence.
    pub(super) fn start(
        execution: Execution<'a>,
        opened: &'a OpenedTarget,
        parameters: &'a ParameterSet,
    ) -> Self {
        let Execution {
            request,
            roots,
            session,
            ..
        } = execution;
        let record = record::new_run(request, opened, parameters);
        // The next step already reads from the drive.
        session.append_run(&record);
        let host = session.host();
        let evidence = EvidenceCollector::new(roots, request.benchmark, opened, parameters, &host);
        let now = Instant::now();
        Self {
            execution,
            opened,
            parameters,
            record,
            evidence,
            issued_counts: IoCounts::default(),
            started_at: now,
            last_append: now,
        }
    }

    /// Runs the benchmark, and passes its events on.
    pub(super) fn measure(&mut self, span: ProgressSpan, sink: &mut RunSink<'_>) -> FinishedRun {
        let environment = RunEnvironment {
            target: &self.opened.target,
            parameters: self.parameters,
            settings: &SettingsManager::default(),
            engine: self.opened.engine(),
            cancellation: self.execution.cancellation,
        };
        let benchmark = self.execution.request.benchmark;
        run::run_benchmark(benchmark, environment, span, &mut |mut event| {
            match &mut event {
                RunEvent::Progress(progress) => self.record_progress(progress),
                RunEvent::PhaseFinished(findings) => self.append_to_journal(findings),
                _ => {}
            }
            sink(event);
        })
    }

    /// Adds what the kernel counted, and the checks, to a progress event.
    fn record_progress(&mut self, progress: &mut RunProgress) {
        self.issued_counts = progress.counts;
        self.evidence.observe_progress(progress);
        if progress.has_new_findings || self.last_append.elapsed() >= JOURNAL_INTERVAL {
            self.append_to_journal(&progress.findings);
        }
        progress.kernel_counts = self.evidence.kernel_counts();
        progress.stages.clone_from(&self.record.stages);
        let checks = &self.record.findings.verdicts;
        if !checks.is_empty() {
            Arc::make_mut(&mut progress.findings)
                .verdicts
                .clone_from(checks);
        }
    }

    fn append_to_journal(&mut self, findings: &Findings) {
        let evidence = self.evidence.evidence_so_far(self.issued_counts);
        self.update(findings.clone(), evidence, self.started_at.elapsed());
        self.last_append = Instant::now();
        self.execution.session.append_run(&self.record);
    }

    fn update(&mut self, findings: Findings, evidence: RunEvidence, elapsed: Duration) {
        self.record.findings = findings;
        self.record.elapsed_ns = nanoseconds(elapsed);
        self.record.kernel = self.evidence.kernel_counts();
        self.record.stages = self.evidence.stages();
        self.record.evidence = evidence;
        let workload = self.execution.request.benchmark.description().workload;
        checks::add_rule_verdicts(&mut self.record, workload);
    }

    /// Completes the record: goals, checks, processor time, reason of a failure.
    pub(super) fn finish(mut self, finished: FinishedRun) {
        let mut findings = finished.findings;
        let goals = self.execution.request.goals.iter();
        findings.goals = goals.map(|goal| goal.evaluate(&findings)).collect();
        self.record.engine = record::engine_record(self.opened.engine());
        self.record.state = finished.state;
        self.record.error = finished.error.as_ref().map(|error| RunError {
            message: error.to_string().into(),
            advice: error.advice().into(),
        });
        let usage = &finished.cpu_usage;
        self.record.cpu = Some(RunCpuTime {
            user_ns: nanoseconds(usage.cpu_time.user_time),
            system_ns: nanoseconds(usage.cpu_time.system_time),
            machine_busy_ns: self.evidence.machine_busy(),
        });
        let evidence = self.evidence.final_evidence(usage);
        self.update(findings, evidence, finished.elapsed);
        self.execution.session.finish_run(self.record);
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
