//! Runs one job from its specification to the saved session: opens the target, runs the benchmark,
//! reads the kernel's counters before and after, and keeps the journal.

use std::path::PathBuf;
use std::time::Duration;

pub use super::detached::run_detached;
use super::overwrite_consent;
use super::session_recorder::{ActiveRun, SessionRecorder, SharedRecorder};
use crate::bench::framework::context;
use crate::bench::framework::error::open_advice;
use crate::bench::framework::{SEED, plan_window};
use crate::bench::{
    BenchError, BenchmarkSpec, Forecast, ParameterSet, RunObserver, RunProgress, RunTime,
};
use crate::drive::{DriveError, ErrorKind, Inspection, Target};
use crate::engine::{CancellationToken, Engine, EngineError, OpenError, OpenedTarget};
use crate::named_file::FileId;
use crate::roots::SysPaths;
use crate::session::document::{
    EngineRecord, Findings, KernelCounts, RunState, Session, StageBreakdown, Verdict,
};

/// How often the journal is appended to during a phase without other events.
const JOURNAL_INTERVAL: Duration = Duration::from_millis(900);

/// Specification of a job.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// The benchmark, its target and parameters.
    pub spec: BenchmarkSpec,
    /// Number of runs, one after the other.
    pub repeat_count: u32,
    /// Directory of journal and session file; `None` keeps nothing on disk.
    pub session_directory: Option<PathBuf>,
    /// Files that the result is written to at the end; none of them may be the target.
    pub output_files: Vec<FileId>,
}

/// Result of a job.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// The session: one run, complete or not.
    pub session: Session,
    /// Where it was saved.
    pub saved_path: Option<PathBuf>,
    /// Errors outside the benchmark, such as a journal that could not be written.
    pub save_errors: Vec<String>,
    /// Whether it was stopped because the target came into use while it was written.
    pub write_refused: bool,
}

/// What is known once the target is open and before the first request.
#[derive(Debug, Clone)]
pub struct RunStart {
    /// Name of the benchmark.
    pub benchmark_name: &'static str,
    /// What is measured.
    pub target: Target,
    /// What the benchmark will do.
    pub forecast: Forecast,
    /// The engine that executes the requests.
    pub engine: EngineRecord,
    /// What is overwritten, where the benchmark writes to existing data.
    pub overwritten_target: Option<Inspection>,
}

/// Observer of a job.
pub trait RunWatcher {
    /// The target can be measured: name of the benchmark and its forecast.
    fn on_forecast(&mut self, _test: &'static str, _forecast: &Forecast) {}
    /// The scratch file is being written: bytes written, total bytes.
    fn on_scratch_fill(&mut self, done: u64, total: u64);
    /// The target is open and the benchmark begins.
    fn on_start(&mut self, start: &RunStart);
    /// The latest progress, and the kernel's statistics of the same device.
    fn on_progress(&mut self, progress: &RunProgress, kernel: KernelStats<'_>);
    /// No further events follow.
    fn on_end(&mut self) {}
}

/// The kernel's statistics of the device under test since the start.
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelStats<'a> {
    /// Its counts, where it keeps any for the target.
    pub counts: Option<&'a KernelCounts>,
    /// Q2D and D2C times, as of the last journal entry.
    pub stages: Option<&'a StageBreakdown>,
    /// Results of the checks, as of the last journal entry.
    pub checks: &'a [Verdict],
}

/// Why a job did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The target cannot be opened.
    #[error(transparent)]
    OpenTarget(#[from] OpenError),
    /// Writing is not permitted.
    #[error("{refusal}")]
    WriteRefused {
        /// The reason.
        refusal: OpenError,
        /// Model, serial number, size, partitions, signatures and users of the target.
        facts: Vec<String>,
    },
    /// An output file is the target.
    #[error("{target} is also an output of this command")]
    OutputIsTarget {
        /// The target, as the user named it.
        target: String,
    },
    /// The parameters do not fit the target.
    #[error(transparent)]
    InvalidParameters(#[from] BenchError),
    /// It was stopped while a write of its journal hung.
    #[error("interrupted, and the directory of the sessions does not answer")]
    JournalHangs,
    /// It was stopped before anything was measured, and the target hangs.
    #[error("interrupted {doing} {target}, which does not answer: nothing was measured")]
    TargetHangs {
        /// The step that hangs, such as `while opening`.
        doing: &'static str,
        /// The target.
        target: String,
    },
}

impl From<DriveError> for StartError {
    fn from(error: DriveError) -> Self {
        Self::OpenTarget(error.into())
    }
}

impl StartError {
    /// Category of the error for the exit status.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::OpenTarget(error) | Self::WriteRefused { refusal: error, .. } => error.kind(),
            Self::OutputIsTarget { .. } => ErrorKind::Usage,
            Self::InvalidParameters(
                BenchError::InvalidParameters(_)
                | BenchError::ParameterSyntax(_)
                | BenchError::UnknownGoalMetric { .. },
            ) => ErrorKind::Usage,
            Self::InvalidParameters(BenchError::Engine(EngineError::InvalidPlan(_))) => {
                ErrorKind::Usage
            }
            Self::InvalidParameters(BenchError::SettingInUse(_)) => ErrorKind::Refused,
            Self::InvalidParameters(BenchError::Engine(_))
            | Self::JournalHangs
            | Self::TargetHangs { .. } => ErrorKind::Failed,
        }
    }

    /// Facts about a target that must not be written, one per line.
    #[must_use]
    pub fn facts(&self) -> &[String] {
        match self {
            Self::WriteRefused { facts, .. } => facts,
            Self::OpenTarget(_)
            | Self::OutputIsTarget { .. }
            | Self::InvalidParameters(_)
            | Self::JournalHangs
            | Self::TargetHangs { .. } => &[],
        }
    }

    /// Advice, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::OpenTarget(error) | Self::WriteRefused { refusal: error, .. } => {
                open_advice(error)
            }
            Self::OutputIsTarget { .. } => "name another file for the result".to_owned(),
            Self::InvalidParameters(error) => error.advice(),
            Self::JournalHangs => "its journal holds what reached it: diskscope show".to_owned(),
            Self::TargetHangs { .. } => "see the kernel's log (dmesg)".to_owned(),
        }
    }
}

fn engine_record(engine: &dyn Engine) -> EngineRecord {
    EngineRecord {
        name: engine.name().into(),
        features: engine.features().into_iter().map(Into::into).collect(),
        reason: engine.selection_reason().map(Into::into),
    }
}

/// Runs a job to its end on the calling thread. The metrics measured are saved and returned,
/// however it ended.
///
/// # Errors
///
/// When it could not start: nothing was measured.
pub fn run_benchmark(
    order: &RunSpec,
    roots: &SysPaths,
    control: &CancellationToken,
    watcher: &mut dyn RunWatcher,
) -> Result<RunReport, StartError> {
    run_recorded(
        order,
        roots,
        control,
        watcher,
        &SharedRecorder::default(),
        &mut None,
    )
}

/// Runs a job whose session another thread may close at any time. `kept` keeps the target open
/// beyond the end, because closing it may take as long as any request.
pub(super) fn run_recorded(
    order: &RunSpec,
    roots: &SysPaths,
    control: &CancellationToken,
    watcher: &mut dyn RunWatcher,
    book: &SharedRecorder,
    kept: &mut Option<OpenedTarget>,
) -> Result<RunReport, StartError> {
    let job = &order.spec;
    book.set_current_step("while opening");
    let opened = kept.insert(overwrite_consent::open_target(roots, job)?);
    let target = opened.target.clone();
    if order
        .output_files
        .iter()
        .any(|output| opened.is_stored_in(*output))
    {
        return Err(StartError::OutputIsTarget {
            target: job.target_name.clone(),
        });
    }
    let parameters = job.parameters(&target);
    // Invalid parameters are reported before a scratch file is written or a permission is
    // requested.
    let mut forecast = job.forecast(&target)?;
    let overwritten = match job.benchmark.writes(&parameters) {
        true => {
            book.set_current_step("while looking at what is on");
            let overwritten = overwrite_consent::permit_writing(opened, job)?;
            opened.check_free_space(
                plan_window(&target, &parameters),
                forecast.max_written_bytes,
            )?;
            overwritten
        }
        false => None,
    };
    let mut refused = false;
    forecast.run_time = total_run_time(
        &forecast,
        job.benchmark.forecast(&target, &parameters)?,
        order.repeat_count,
    );
    watcher.on_forecast(job.benchmark.description().name, &forecast);
    book.set_current_step("while filling the scratch file in");
    opened.fill_scratch_file(control, &mut |done, total| {
        watcher.on_scratch_fill(done, total)
    })?;
    let engine = opened.engine();
    let record = engine_record(engine);
    watcher.on_start(&RunStart {
        benchmark_name: job.benchmark.description().name,
        target: target.clone(),
        forecast,
        engine: record.clone(),
        overwritten_target: overwritten,
    });
    let left = || StartError::TargetHangs {
        doing: book.doing(),
        target: job.target_name.clone(),
    };
    if !book.start_session(SessionRecorder::open(order, roots)) {
        return Err(left());
    }
    for index in 0..order.repeat_count.max(1) {
        let parameters = parameters_of_repeat(&parameters, index);
        let scene = (&target, &parameters);
        let mut underway = ActiveRun::start(book, job, roots, scene, record.clone());
        let mut recorder = RecordingObserver {
            recorder: book,
            active_run: &mut underway,
            watcher,
            repeat_position: (index, order.repeat_count.max(1)),
        };
        let mut finished = context::run_benchmark(
            job.benchmark,
            &target,
            &parameters,
            engine,
            control,
            &mut recorder,
        );
        // The I/O paths that were used are known only now.
        underway.run.engine = engine_record(engine);
        if let Some(refusal) = opened.take_refusal() {
            finished.state = RunState::Failed;
            finished.error = Some(EngineError::from(refusal).into());
        }
        refused |= finished.error.as_ref().is_some_and(is_refusal);
        match finished.error {
            // No request was sent: the plan is invalid or a setting is in use. There is nothing to
            // keep.
            Some(
                error @ (BenchError::Engine(EngineError::InvalidPlan(_))
                | BenchError::SettingInUse(_)),
            ) if finished.findings.is_empty() && book.is_empty() => {
                book.discard();
                return Err(error.into());
            }
            _ => {}
        }
        let over = finished.state != RunState::Finished;
        book.finish_run(underway.finish(finished, &job.goals));
        if over {
            break;
        }
    }
    let mut report = book.close().ok_or_else(left)?;
    report.write_refused = refused;
    Ok(report)
}

/// The time of repeated runs: the scratch file is written once.
fn total_run_time(first: &Forecast, each: Forecast, times: u32) -> RunTime {
    first.run_time + each.run_time * times.saturating_sub(1)
}

/// Whether a run ended because writing to its target is no longer permitted.
fn is_refusal(error: &BenchError) -> bool {
    matches!(
        error,
        BenchError::Engine(EngineError::OpenMedium(
            DriveError::Refused(_) | DriveError::TargetChanged { .. }
        ))
    )
}

/// The parameters of a repeated run: each has its own seed, because a drive's cache might otherwise
/// hold all addresses of the previous run.
fn parameters_of_repeat(parameters: &ParameterSet, index: u32) -> ParameterSet {
    let mut own = parameters.clone();
    if let Some(seed) = parameters.find(SEED) {
        own.set(SEED, seed.wrapping_add(u64::from(index)));
    }
    own
}

/// Records the events of the benchmark before it forwards them to the watcher.
struct RecordingObserver<'a> {
    recorder: &'a SharedRecorder,
    active_run: &'a mut ActiveRun,
    watcher: &'a mut dyn RunWatcher,
    /// Index of the run, from 0, and number of runs.
    repeat_position: (u32, u32),
}

impl RunObserver for RecordingObserver<'_> {
    fn progress(&mut self, progress: &RunProgress) {
        self.active_run.issued_counts = progress.counts;
        if progress.has_new_findings || self.active_run.time_since_append() >= JOURNAL_INTERVAL {
            self.active_run
                .append_to_journal(self.recorder, &progress.findings);
        }
        let counts = self.active_run.evidence_collector.kernel_counts();
        let beside = KernelStats {
            counts: counts.as_ref(),
            stages: self.active_run.run.stages.as_ref(),
            checks: &self.active_run.run.findings.verdicts,
        };
        match self.repeat_position {
            (_, 1) => self.watcher.on_progress(progress, beside),
            (index, count) => self
                .watcher
                .on_progress(&overall_progress(progress, index, count), beside),
        }
    }

    fn phase_finished(&mut self, findings: &Findings) {
        self.active_run.append_to_journal(self.recorder, findings);
    }
}

/// Converts the progress of one of several runs to that of all of them.
fn overall_progress(progress: &RunProgress, index: u32, count: u32) -> RunProgress {
    RunProgress {
        phase: format!("run {} of {count}: {}", index + 1, progress.phase),
        fraction: progress
            .fraction
            .map(|fraction| (f64::from(index) + fraction) / f64::from(count)),
        ..progress.clone()
    }
}
