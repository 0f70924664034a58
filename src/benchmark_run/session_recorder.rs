//! The session in progress, and its journal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::evidence::{EvidenceCollector, RunScope};
use super::machine;
use super::runner::{RunReport, RunSpec};
use crate::bench::framework::context::FinishedRun;
use crate::bench::framework::fio::FioFile;
use crate::bench::{BenchError, BenchmarkSpec, ParameterSet, ParameterValue, framework};
use crate::drive::{BlockDevice, Target};
use crate::engine::{CacheMode, IoCounts};
use crate::local_time;
use crate::report;
use crate::roots::SysPaths;
use crate::safe_text::{SafeLines, SafeText};
use crate::session::checks::Workload;
use crate::session::document::check::CheckEvidence;
use crate::session::document::{
    BenchmarkRun, EngineRecord, Findings, HostRecord, Invocation, RunCpuTime, RunError,
    RunEvidence, RunState, SCHEMA, Session, TargetRecord, VERSION,
};
use crate::session::slo::SloSpec;
use crate::session::store::{Journal, StoreError};
use crate::session::{checks, stability};

/// How long to wait for a session to be saved on a drive that does not respond, when the program
/// ends.
const SAVE_TIMEOUT: Duration = Duration::from_millis(200);

/// The session with its finished runs, and its journal.
pub(crate) struct SessionRecorder {
    session: Session,
    /// The active run, as last appended to the journal.
    current_run: Option<BenchmarkRun>,
    journal: Option<Journal>,
    save_errors: Vec<String>,
    /// The first error of the journal.
    journal_error: Option<StoreError>,
}

impl SessionRecorder {
    /// Starts a session, and its journal where a directory is given.
    pub(crate) fn open(order: &RunSpec, roots: &SysPaths) -> Self {
        let now = local_time::now();
        let name = order.spec.benchmark.description().name;
        let session = Session {
            schema: SCHEMA.into(),
            version: VERSION,
            program: concat!("diskscope ", env!("CARGO_PKG_VERSION")).into(),
            started: machine::rfc3339(&now).into(),
            host: machine::host_record(roots),
            runs: Vec::new(),
        };
        let mut problems = Vec::new();
        let file = format!("{}-{name}", now.strftime("%Y-%m-%dT%H%M%S"));
        let journal = order.session_directory.as_ref().and_then(|directory| {
            let journal = Journal::create(directory, &file, &session);
            journal
                .map_err(|error| problems.push(save_error_text(&error)))
                .ok()
        });
        if order.session_directory.is_none() {
            problems.push(
                "neither XDG_STATE_HOME nor HOME is set: the session is not saved".to_owned(),
            );
        }
        Self {
            session,
            current_run: None,
            journal,
            save_errors: problems,
            journal_error: None,
        }
    }

    /// Appends the current state of a run to the journal.
    fn append_run(&mut self, run: &BenchmarkRun) {
        self.write_journal(|journal| journal.append_progress(run));
        self.current_run = Some(run.clone());
    }

    fn write_journal(&mut self, write: impl FnOnce(&mut Journal) -> Result<(), StoreError>) {
        if let Some(journal) = &mut self.journal
            && let Err(error) = write(journal)
        {
            // A full disk must not end the measurement, and space may become free later.
            self.journal_error.get_or_insert(error);
        }
    }

    /// Appends a finished run.
    fn finish_run(&mut self, run: BenchmarkRun) {
        self.write_journal(|journal| journal.append_completed(&run));
        self.current_run = None;
        self.session.runs.push(run);
    }

    /// Deletes the journal.
    fn discard(self) {
        if let Some(journal) = self.journal {
            journal.discard();
        }
    }

    /// Closes the session during a run; the run counts as interrupted.
    fn close_interrupted(mut self) -> UnsavedSession {
        if let Some(mut run) = self.current_run.take() {
            run.state = RunState::Interrupted;
            self.save_errors.push(format!(
                "{} did not answer when the run was stopped: the result is that of the last time \
                 that it was saved",
                run.target.path
            ));
            self.session.runs.push(run);
        }
        self.close_finished()
    }

    /// Closes the session and evaluates repeated runs together.
    fn close_finished(mut self) -> UnsavedSession {
        let unstable = stability::find_instability(&self.session.runs.iter().collect::<Vec<_>>());
        if let Some(unstable) = unstable.map(CheckEvidence::Unstable) {
            for run in &mut self.session.runs {
                run.findings.set_check(unstable.clone());
                report::checks::describe_verdicts(&mut run.findings.verdicts);
            }
        }
        UnsavedSession {
            report: RunReport {
                session: self.session,
                saved_path: None,
                save_errors: self.save_errors,
                write_refused: false,
            },
            journal: self.journal,
            journal_error: self.journal_error,
        }
    }
}

/// A complete session that is not saved yet.
struct UnsavedSession {
    report: RunReport,
    journal: Option<Journal>,
    journal_error: Option<StoreError>,
}

impl UnsavedSession {
    /// Replaces the journal by the session file.
    fn save(mut self) -> RunReport {
        let (saved, problem) = save_journal(self.journal, self.journal_error, &self.report.session);
        self.report.saved_path = saved;
        self.report.save_errors.extend(problem);
        self.report
    }

    /// The report while the session is not saved.
    fn unsaved_report(&self) -> RunReport {
        let mut report = self.report.clone();
        if let Some(journal) = &self.journal {
            report.save_errors.push(format!(
                "saving the session takes too long: until it is saved, {} holds it",
                journal.path().display()
            ));
        }
        report
    }

    /// Saves the session on another thread and waits for it no longer than `limit`.
    fn save_within(self, limit: Duration) -> RunReport {
        let so_far = self.unsaved_report();
        let (sender, saved) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("save".to_owned());
        // The receiver is gone after a timeout.
        let started = thread.spawn(move || drop(sender.send(self.save())));
        match started {
            Ok(_) => saved.recv_timeout(limit).unwrap_or(so_far),
            Err(_) => so_far,
        }
    }
}

/// Replaces the journal by the session file. Returns its path, and the errors.
fn save_journal(
    journal: Option<Journal>,
    journal_error: Option<StoreError>,
    session: &Session,
) -> (Option<PathBuf>, Option<String>) {
    match journal.map(|journal| journal.finish(session)) {
        Some(Ok(path)) => {
            let told = journal_error
                .map(|error| format!("a kill would have lost some of it, for a while: {error}"));
            (Some(path), told)
        }
        Some(Err(error)) => (None, Some(save_error_text(&error))),
        None => (None, None),
    }
}

/// The [`SessionRecorder`] shared by the thread that measures and the one that waits for it.
/// Whichever closes it first owns the session, and nothing is written afterwards.
#[derive(Default)]
pub(crate) struct SharedRecorder {
    state: Mutex<RecorderState>,
    current_step: Mutex<&'static str>,
}

#[derive(Default)]
enum RecorderState {
    #[default]
    NotStarted,
    Open(Box<SessionRecorder>),
    /// The measuring thread is saving it; the report so far.
    Saving(Box<RunReport>),
    Closed,
}

/// Result of closing a session from another thread.
pub(crate) enum CloseOutcome {
    /// It is closed.
    Closed(Box<RunReport>),
    /// It had not started, and will not start.
    NotStarted,
    /// The measuring thread is writing to it or has closed it.
    Busy,
}

impl SharedRecorder {
    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_recorder<T>(&self, use_it: impl FnOnce(&mut SessionRecorder) -> T) -> Option<T> {
        match &mut *self.state() {
            RecorderState::Open(book) => Some(use_it(book)),
            RecorderState::NotStarted | RecorderState::Saving(_) | RecorderState::Closed => None,
        }
    }

    fn take_recorder(&self) -> Option<Box<SessionRecorder>> {
        match std::mem::replace(&mut *self.state(), RecorderState::Closed) {
            RecorderState::Open(book) => Some(book),
            RecorderState::NotStarted | RecorderState::Saving(_) | RecorderState::Closed => None,
        }
    }

    /// Records the step before the session begins.
    pub(crate) fn set_current_step(&self, doing: &'static str) {
        *self
            .current_step
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = doing;
    }

    /// The last step before the session began.
    pub(crate) fn doing(&self) -> &'static str {
        *self
            .current_step
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the session at its start; returns false when it was closed before.
    pub(crate) fn start_session(&self, book: SessionRecorder) -> bool {
        let mut state = self.state();
        if matches!(*state, RecorderState::Closed) {
            book.discard();
            return false;
        }
        *state = RecorderState::Open(Box::new(book));
        true
    }

    fn host(&self) -> HostRecord {
        self.with_recorder(|book| book.session.host.clone())
            .unwrap_or_default()
    }

    fn append_run(&self, run: &BenchmarkRun) {
        self.with_recorder(|book| book.append_run(run));
    }

    /// Appends a finished run.
    pub(crate) fn finish_run(&self, run: BenchmarkRun) {
        self.with_recorder(|book| book.finish_run(run));
    }

    /// Deletes the journal.
    pub(crate) fn discard(&self) {
        if let Some(book) = self.take_recorder() {
            book.discard();
        }
    }

    /// Whether no run is finished.
    pub(crate) fn is_empty(&self) -> bool {
        self.with_recorder(|book| book.session.runs.is_empty())
            .unwrap_or(true)
    }

    /// Closes the session; `None` when another thread has closed it.
    pub(crate) fn close(&self) -> Option<RunReport> {
        let unsaved = self.take_recorder()?.close_finished();
        *self.state() = RecorderState::Saving(Box::new(unsaved.unsaved_report()));
        let report = unsaved.save();
        *self.state() = RecorderState::Closed;
        Some(report)
    }

    /// Closes the session of a thread that hangs.
    pub(crate) fn interrupt(&self) -> CloseOutcome {
        let Ok(mut state) = self.state.try_lock() else {
            return CloseOutcome::Busy;
        };
        match std::mem::replace(&mut *state, RecorderState::Closed) {
            RecorderState::NotStarted => CloseOutcome::NotStarted,
            RecorderState::Closed => CloseOutcome::Busy,
            RecorderState::Open(book) => {
                drop(state);
                CloseOutcome::Closed(Box::new(book.close_interrupted().save_within(SAVE_TIMEOUT)))
            }
            RecorderState::Saving(report) => CloseOutcome::Closed(report),
        }
    }
}

/// An active run.
pub(crate) struct ActiveRun {
    pub(crate) run: BenchmarkRun,
    pub(crate) evidence_collector: EvidenceCollector,
    /// What the checks of every run need to know about the benchmark.
    workload: Workload,
    /// All I/O issued until the last report.
    pub(crate) issued_counts: IoCounts,
    started_at: Instant,
    last_append: Instant,
}

impl ActiveRun {
    /// Starts a run now.
    pub(crate) fn start(
        book: &SharedRecorder,
        job: &BenchmarkSpec,
        roots: &SysPaths,
        (target, parameters): (&Target, &ParameterSet),
        engine: EngineRecord,
    ) -> Self {
        let started = machine::rfc3339(&local_time::now());
        let run = BenchmarkRun {
            test: job.benchmark.description().name.into(),
            state: RunState::Running,
            error: None,
            started: started.into(),
            elapsed_ns: 0,
            target: target_record(target),
            parameters: parameters_by_name(parameters, |value| Some(value.to_json())),
            parameter_units: parameters_by_name(parameters, ParameterValue::unit),
            engine,
            findings: Findings::default(),
            kernel: None,
            stages: None,
            cpu: None,
            evidence: RunEvidence::default(),
            reproduce: invocation(job, target, parameters),
        };
        // The next step already reads from the drive.
        book.append_run(&run);
        let host = book.host();
        let scene = RunScope {
            target,
            window: framework::plan_window(target, parameters),
            writes: job.benchmark.writes(parameters),
            direct: framework::cache_mode(parameters) == CacheMode::Bypass,
            host: &host,
        };
        let surroundings = EvidenceCollector::new(roots, &scene);
        let began = Instant::now();
        Self {
            run,
            evidence_collector: surroundings,
            workload: job.benchmark.description().workload,
            issued_counts: IoCounts::default(),
            started_at: began,
            last_append: began,
        }
    }

    /// Stores the findings and the evidence so far, and evaluates the checks.
    fn update_findings(&mut self, findings: &Findings, evidence: RunEvidence) {
        self.run.findings = findings.clone();
        self.run.elapsed_ns = nanoseconds(self.started_at.elapsed());
        self.run.kernel = self.evidence_collector.kernel_counts();
        self.run.stages = self.evidence_collector.stages();
        self.run.evidence = evidence;
        checks::add_rule_verdicts(&mut self.run, self.workload);
        report::checks::describe_verdicts(&mut self.run.findings.verdicts);
    }

    /// Time since the last journal entry.
    pub(crate) fn time_since_append(&self) -> Duration {
        self.last_append.elapsed()
    }

    /// Appends the run with these findings to the journal.
    pub(crate) fn append_to_journal(&mut self, book: &SharedRecorder, findings: &Findings) {
        let evidence = self.evidence_collector.evidence_so_far(self.issued_counts);
        self.update_findings(findings, evidence);
        self.last_append = Instant::now();
        book.append_run(&self.run);
    }

    /// The finished run.
    pub(crate) fn finish(mut self, finished: FinishedRun, goals: &[SloSpec]) -> BenchmarkRun {
        let mut findings = finished.findings;
        findings.goals = goals.iter().map(|goal| goal.evaluate(&findings)).collect();
        self.run.state = finished.state;
        self.run.error = finished.error.as_ref().map(run_error);
        self.run.cpu = Some(RunCpuTime {
            user_ns: nanoseconds(finished.cpu_usage.cpu_time.user_time),
            system_ns: nanoseconds(finished.cpu_usage.cpu_time.system_time),
            machine_busy_ns: self.evidence_collector.machine_busy(),
        });
        let evidence = self.evidence_collector.final_evidence(&finished.cpu_usage);
        self.update_findings(&findings, evidence);
        self.run.elapsed_ns = nanoseconds(finished.elapsed);
        self.run
    }
}

/// The values of the parameters that have one of this kind, by name.
fn parameters_by_name<T>(
    parameters: &ParameterSet,
    of: fn(&ParameterValue) -> Option<T>,
) -> BTreeMap<SafeText, T> {
    parameters
        .iter()
        .filter_map(|(name, value)| Some((name.into(), of(value)?)))
        .collect()
}

fn save_error_text(error: &StoreError) -> String {
    format!("the session is not saved: {error}")
}

fn run_error(error: &BenchError) -> RunError {
    RunError {
        message: error.to_string().into(),
        advice: error.advice().into(),
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn target_record(target: &Target) -> TargetRecord {
    let drive = target.drive.as_ref();
    let text =
        |field: fn(&BlockDevice) -> &Option<String>| drive.and_then(|drive| field(drive).clone());
    TargetRecord {
        path: target.name.clone().into(),
        kind: target.kind.document_name().into(),
        size_bytes: target.size_bytes,
        logical_block_bytes: target.logical_block_bytes,
        physical_block_bytes: target.physical_block_bytes,
        device: drive.map(|drive| drive.name.clone()).map(Into::into),
        model: text(|drive| &drive.model).map(Into::into),
        serial: text(|drive| &drive.serial).map(Into::into),
        firmware: text(|drive| &drive.firmware).map(Into::into),
        transport: text(|drive| &drive.transport).map(Into::into),
        rotational: target.is_rotational(),
        file_system: target.file_system.clone().map(Into::into),
    }
}

fn invocation(job: &BenchmarkSpec, target: &Target, parameters: &ParameterSet) -> Invocation {
    let fio = FioFile::from_target(target, &job.target_path).and_then(|file| {
        let fio = job.benchmark.fio(target, parameters)?;
        Ok(fio.command_lines(&file))
    });
    Invocation {
        diskscope: job.command_line().into(),
        fio_gap: fio.as_ref().err().copied(),
        fio: fio.ok().map(SafeLines::from),
    }
}
