//! One job from the wish to the saved session: the target is opened, the test runs, the kernel's
//! own counts are taken before and after, and the journal is kept.

use std::path::PathBuf;
use std::time::Duration;

pub use super::detached::run_detached;
use super::overwrite_consent;
use super::session_recorder::{ActiveRun, SessionRecorder, SharedRecorder};
use crate::bench::framework::context;
use crate::bench::framework::plan_window;
use crate::bench::{
    BenchError, BenchmarkSpec, Forecast, ParameterSet, ParameterValue, RunObserver, RunProgress,
    RunTime,
};
use crate::drive::{DriveError, ErrorKind, Inspection, Target};
use crate::engine::{
    CancellationToken, Engine, EngineChoice, EngineError, OpenError, OpenedTarget,
};
use crate::named_file::FileId;
use crate::roots::SysPaths;
use crate::session::document::{
    EngineRecord, Findings, KernelCounts, RunState, Session, StageBreakdown, Verdict,
};

/// How often the journal is appended to while a phase lasts that brings no news.
const JOURNAL_INTERVAL: Duration = Duration::from_millis(900);

/// What is to be done.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// The test, its target and parameters.
    pub spec: BenchmarkSpec,
    /// How often it is measured, one run after the other.
    pub repeat_count: u32,
    /// Directory for journal and document; `None` keeps nothing on disk.
    pub session_directory: Option<PathBuf>,
    /// Files that the result is written to at the end: none of them may be the target.
    pub output_files: Vec<FileId>,
}

/// What became of it.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// The document: one run, complete or not.
    pub session: Session,
    /// Where it was saved.
    pub saved_path: Option<PathBuf>,
    /// What went wrong beside the test, such as a journal that could not be written.
    pub save_errors: Vec<String>,
    /// Whether it was stopped because the target came into use while it was written.
    pub write_refused: bool,
}

/// What is known once the target is open and before the first request.
#[derive(Debug, Clone)]
pub struct RunStart {
    /// Name of the test.
    pub benchmark_name: &'static str,
    /// What is measured.
    pub target: Target,
    /// What the test will do.
    pub forecast: Forecast,
    /// What executes the requests.
    pub engine: EngineRecord,
    /// What is overwritten, where the test writes to something that was there before.
    pub overwritten_target: Option<Inspection>,
}

/// Who watches a job.
pub trait RunWatcher {
    /// The target may be measured: name of the benchmark, and what it will do.
    fn on_forecast(&mut self, _test: &'static str, _forecast: &Forecast) {}
    /// The scratch file is being filled: bytes done, bytes in all.
    fn on_scratch_fill(&mut self, done: u64, total: u64);
    /// The target is open, the test begins.
    fn on_start(&mut self, start: &RunStart);
    /// The latest state, and what the kernel says of the same device.
    fn on_progress(&mut self, progress: &RunProgress, kernel: KernelStats<'_>);
    /// Nothing more will come.
    fn on_end(&mut self) {}
}

/// What the kernel says of the device under test since the start.
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelStats<'a> {
    /// Its counts, where it keeps any for the target.
    pub counts: Option<&'a KernelCounts>,
    /// Where the requests' time went, as of the last time that the journal was written.
    pub stages: Option<&'a StageBreakdown>,
    /// What is to be thought of the figures, as of the same time.
    pub checks: &'a [Verdict],
}

/// Why a job did not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The target cannot be had.
    #[error(transparent)]
    OpenTarget(#[from] OpenError),
    /// Writing is not permitted; what is known of the target stands beside it.
    #[error("{refusal}")]
    WriteRefused {
        /// Why not.
        refusal: OpenError,
        /// Model, serial number, size, partitions, signatures, who uses it.
        facts: Vec<String>,
    },
    /// The result would be written over the target.
    #[error("{target} is also an output of this command")]
    OutputIsTarget {
        /// The target, as the user named it.
        target: String,
    },
    /// The parameters do not fit the target.
    #[error(transparent)]
    InvalidParameters(#[from] BenchError),
    /// It was stopped while its journal was written, which does not end.
    #[error("interrupted, and the directory of the sessions does not answer")]
    JournalHangs,
    /// It was stopped before anything was measured, and the target does not let go.
    #[error("interrupted {doing} {target}, which does not answer: nothing was measured")]
    TargetHangs {
        /// What was being done, such as `while opening`.
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
    /// How it counts for the exit status.
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

    /// What is known of a target that may not be written, a line each.
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

    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::OpenTarget(error) | Self::WriteRefused { refusal: error, .. } => error.advice(),
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

/// Runs a job to its end on the calling thread. What was measured is saved and returned, however
/// it ended.
///
/// # Errors
/// When it could not begin: nothing was measured.
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

/// Runs a job whose session another thread may close at any moment; `kept` holds the target open
/// beyond the end, for closing it may take as long as any request.
pub(super) fn run_recorded(
    order: &RunSpec,
    roots: &SysPaths,
    control: &CancellationToken,
    watcher: &mut dyn RunWatcher,
    book: &SharedRecorder,
    kept: &mut Option<OpenedTarget>,
) -> Result<RunReport, StartError> {
    let job = &order.spec;
    let choice = EngineChoice::from_name(&job.engine_name).unwrap_or_default();
    book.set_current_step("while opening");
    let opened = kept.insert(overwrite_consent::open_target(roots, job, choice)?);
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
    // What does not fit is said before a scratch file is filled or anything is permitted.
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
        // Only now is it known which ways to the medium were taken.
        underway.run.engine = engine_record(engine);
        if let Some(refusal) = opened.take_refusal() {
            finished.state = RunState::Failed;
            finished.error = Some(EngineError::from(refusal).into());
        }
        refused |= finished.error.as_ref().is_some_and(is_refusal);
        match finished.error {
            // Nothing was sent: the plan does not fit or a setting is in use, and there is nothing
            // to keep.
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

/// The time of a run that is repeated: the scratch file is filled once.
fn total_run_time(first: &Forecast, each: Forecast, times: u32) -> RunTime {
    first.run_time + each.run_time * times.saturating_sub(1)
}

/// Whether a run ended because its target may not be written any more.
fn is_refusal(error: &BenchError) -> bool {
    matches!(
        error,
        BenchError::Engine(EngineError::OpenMedium(
            DriveError::Refused(_) | DriveError::TargetChanged { .. }
        ))
    )
}

/// The parameters of a repeated run: each has a seed of its own, or a drive's cache might know all
/// of its addresses from the one before.
fn parameters_of_repeat(parameters: &ParameterSet, index: u32) -> ParameterSet {
    let mut own = parameters.clone();
    if let Some(seed) = parameters.count("seed").filter(|_| index > 0) {
        own.set(
            "seed",
            ParameterValue::Count(seed.wrapping_add(u64::from(index))),
        );
    }
    own
}

/// Saves what the test reports before it is passed on to be drawn.
struct RecordingObserver<'a> {
    recorder: &'a SharedRecorder,
    active_run: &'a mut ActiveRun,
    watcher: &'a mut dyn RunWatcher,
    /// Which run it is, from 0, of how many.
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

/// The progress of one of several runs as that of all of them.
fn overall_progress(progress: &RunProgress, index: u32, count: u32) -> RunProgress {
    RunProgress {
        phase: format!("run {} of {count}: {}", index + 1, progress.phase),
        fraction: progress
            .fraction
            .map(|fraction| (f64::from(index) + fraction) / f64::from(count)),
        ..progress.clone()
    }
}
