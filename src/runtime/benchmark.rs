//! One job from the wish to the saved session: the target is opened, the test runs, the kernel's
//! own counts are taken before and after, and the journal is kept.

use std::path::PathBuf;
use std::time::Duration;

use self::book::{Book, SharedBook, Underway};
pub use self::detached::run_detached;
use super::overwrite;
use crate::bench::common::window;
use crate::bench::runner;
use crate::bench::{BenchError, Forecast, Job, Observer, Parameters, Progress, RunTime, Value};
use crate::drive::{DriveError, ErrorKind, Inspection, Target};
use crate::engine::{Choice, Control, Engine, EngineError, OpenError, Opened};
use crate::named_file::FileId;
use crate::roots::Roots;
use crate::session::document::{
    EngineRecord, Findings, KernelCounts, RunState, Session, StageSplit, Verdict,
};

mod book;
mod detached;

/// How often the journal is appended to while a phase lasts that brings no news.
const JOURNAL_EVERY: Duration = Duration::from_millis(900);

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Order {
    /// The test, its target and parameters.
    pub job: Job,
    /// How often it is measured, one run after the other.
    pub repeat: u32,
    /// Directory for journal and document; `None` keeps nothing on disk.
    pub keep_in: Option<PathBuf>,
    /// Files that the result is written to at the end: none of them may be the target.
    pub outputs: Vec<FileId>,
}

/// What became of it.
#[derive(Debug, Clone)]
pub struct Report {
    /// The document: one run, complete or not.
    pub session: Session,
    /// Where it was saved.
    pub saved: Option<PathBuf>,
    /// What went wrong beside the test, such as a journal that could not be written.
    pub problems: Vec<String>,
    /// Whether it was stopped because the target came into use while it was written.
    pub refused: bool,
}

/// What is known once the target is open and before the first request.
#[derive(Debug, Clone)]
pub struct Start {
    /// Name of the test.
    pub test: &'static str,
    /// What is measured.
    pub target: Target,
    /// What the test will do.
    pub forecast: Forecast,
    /// What executes the requests.
    pub engine: EngineRecord,
    /// What is overwritten, where the test writes to something that was there before.
    pub overwritten: Option<Inspection>,
}

/// Who watches a job.
pub trait Watcher {
    /// The target may be measured: name of the benchmark, and what it will do.
    fn announced(&mut self, _test: &'static str, _forecast: &Forecast) {}
    /// The scratch file is being filled: bytes done, bytes in all.
    fn preparing(&mut self, done: u64, total: u64);
    /// The target is open, the test begins.
    fn started(&mut self, start: &Start);
    /// The latest state, and what the kernel says of the same device.
    fn progress(&mut self, progress: &Progress, kernel: Beside<'_>);
    /// Nothing more will come.
    fn ended(&mut self) {}
}

/// What the kernel says of the device under test since the start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Its counts, where it keeps any for the target.
    pub counts: Option<&'a KernelCounts>,
    /// Where the requests' time went, as of the last time that the journal was written.
    pub stages: Option<&'a StageSplit>,
    /// What is to be thought of the figures, as of the same time.
    pub verdicts: &'a [Verdict],
}

/// Why a job did not begin.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The target cannot be had.
    #[error(transparent)]
    Target(#[from] OpenError),
    /// Writing is not permitted; what is known of the target stands beside it.
    #[error("{refusal}")]
    Writing {
        /// Why not.
        refusal: OpenError,
        /// Model, serial number, size, partitions, signatures, who uses it.
        facts: Vec<String>,
    },
    /// The result would be written over the target.
    #[error("{target} is also an output of this command")]
    Output {
        /// The target, as the user named it.
        target: String,
    },
    /// The parameters do not fit the target.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// It was stopped while its journal was written, which does not end.
    #[error("interrupted, and the directory of the sessions does not answer")]
    NotSaved,
    /// It was stopped before anything was measured, and the target does not let go.
    #[error("interrupted {doing} {target}, which does not answer: nothing was measured")]
    NoAnswer {
        /// What was being done, such as `while opening`.
        doing: &'static str,
        /// The target.
        target: String,
    },
}

impl From<DriveError> for Refused {
    fn from(error: DriveError) -> Self {
        Self::Target(error.into())
    }
}

impl Refused {
    /// How it counts for the exit status.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Target(error) | Self::Writing { refusal: error, .. } => error.kind(),
            Self::Output { .. } => ErrorKind::Usage,
            Self::Bench(
                BenchError::Parameters(_) | BenchError::Parameter(_) | BenchError::Goal { .. },
            ) => ErrorKind::Usage,
            Self::Bench(BenchError::Engine(EngineError::Plan(_))) => ErrorKind::Usage,
            Self::Bench(BenchError::SettingInUse(_)) => ErrorKind::Refused,
            Self::Bench(BenchError::Engine(_)) | Self::NotSaved | Self::NoAnswer { .. } => {
                ErrorKind::Failed
            }
        }
    }

    /// What is known of a target that may not be written, a line each.
    #[must_use]
    pub fn facts(&self) -> &[String] {
        match self {
            Self::Writing { facts, .. } => facts,
            Self::Target(_)
            | Self::Output { .. }
            | Self::Bench(_)
            | Self::NotSaved
            | Self::NoAnswer { .. } => &[],
        }
    }

    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Target(error) | Self::Writing { refusal: error, .. } => error.advice(),
            Self::Output { .. } => "name another file for the result".to_owned(),
            Self::Bench(error) => error.advice(),
            Self::NotSaved => "its journal holds what reached it: diskscope show".to_owned(),
            Self::NoAnswer { .. } => "see the kernel's log (dmesg)".to_owned(),
        }
    }
}

fn engine_record(engine: &dyn Engine) -> EngineRecord {
    EngineRecord {
        name: engine.name().into(),
        features: engine.features().into_iter().map(Into::into).collect(),
        reason: engine.reason().map(Into::into),
    }
}

/// Runs a job to its end on the calling thread. What was measured is saved and returned, however
/// it ended.
///
/// # Errors
/// When it could not begin: nothing was measured.
pub fn run(
    order: &Order,
    roots: &Roots,
    control: &Control,
    watcher: &mut dyn Watcher,
) -> Result<Report, Refused> {
    run_into(
        order,
        roots,
        control,
        watcher,
        &SharedBook::default(),
        &mut None,
    )
}

/// Runs a job whose session another thread may close at any moment; `kept` holds the target open
/// beyond the end, for closing it may take as long as any request.
fn run_into(
    order: &Order,
    roots: &Roots,
    control: &Control,
    watcher: &mut dyn Watcher,
    book: &SharedBook,
    kept: &mut Option<Opened>,
) -> Result<Report, Refused> {
    let job = &order.job;
    let choice = Choice::named(&job.engine).unwrap_or_default();
    book.set_doing("while opening");
    let opened = kept.insert(overwrite::open(roots, job, choice)?);
    let target = opened.target.clone();
    if order
        .outputs
        .iter()
        .any(|output| opened.consists_of(*output))
    {
        return Err(Refused::Output {
            target: job.target.clone(),
        });
    }
    let parameters = job.parameters(&target);
    // What does not fit is said before a scratch file is filled or anything is permitted.
    let mut forecast = job.forecast(&target)?;
    let overwritten = match job.test.writes(&parameters) {
        true => {
            book.set_doing("while looking at what is on");
            let overwritten = overwrite::permit(opened, job)?;
            opened.check_room(window(&target, &parameters), forecast.writes)?;
            overwritten
        }
        false => None,
    };
    let mut refused = false;
    forecast.time = repeated(
        &forecast,
        job.test.forecast(&target, &parameters)?,
        order.repeat,
    );
    watcher.announced(job.test.description().name, &forecast);
    book.set_doing("while filling the scratch file in");
    opened.prepare(control, &mut |done, total| watcher.preparing(done, total))?;
    let engine = opened.engine();
    let record = engine_record(engine);
    watcher.started(&Start {
        test: job.test.description().name,
        target: target.clone(),
        forecast,
        engine: record.clone(),
        overwritten,
    });
    let left = || Refused::NoAnswer {
        doing: book.doing(),
        target: job.target.clone(),
    };
    if !book.begin(Book::open(order, roots)) {
        return Err(left());
    }
    for index in 0..order.repeat.max(1) {
        let parameters = of_repeat(&parameters, index);
        let scene = (&target, &parameters);
        let mut underway = Underway::begin(book, job, roots, scene, record.clone());
        let mut recorder = Recorder {
            book,
            underway: &mut underway,
            watcher,
            repeat: (index, order.repeat.max(1)),
        };
        let mut finished = runner::run(
            job.test,
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
                error @ (BenchError::Engine(EngineError::Plan(_)) | BenchError::SettingInUse(_)),
            ) if finished.findings.is_empty() && book.is_empty() => {
                book.discard();
                return Err(error.into());
            }
            _ => {}
        }
        let over = finished.state != RunState::Finished;
        book.put(underway.finish(finished, &job.goals));
        if over {
            break;
        }
    }
    let mut report = book.close().ok_or_else(left)?;
    report.refused = refused;
    Ok(report)
}

/// The time of a run that is repeated: the scratch file is filled once.
fn repeated(first: &Forecast, each: Forecast, times: u32) -> RunTime {
    first.time + each.time * times.saturating_sub(1)
}

/// Whether a run ended because its target may not be written any more.
fn is_refusal(error: &BenchError) -> bool {
    matches!(
        error,
        BenchError::Engine(EngineError::Drive(
            DriveError::Refused(_) | DriveError::Changed { .. }
        ))
    )
}

/// The parameters of a repeated run: each has a seed of its own, or a drive's cache might know all
/// of its addresses from the one before.
fn of_repeat(parameters: &Parameters, index: u32) -> Parameters {
    let mut own = parameters.clone();
    if let Some(seed) = parameters.count("seed").filter(|_| index > 0) {
        own.set("seed", Value::Count(seed.wrapping_add(u64::from(index))));
    }
    own
}

/// Saves what the test reports before it is passed on to be drawn.
struct Recorder<'a> {
    book: &'a SharedBook,
    underway: &'a mut Underway,
    watcher: &'a mut dyn Watcher,
    /// Which run it is, from 0, of how many.
    repeat: (u32, u32),
}

impl Observer for Recorder<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.underway.moved = progress.moved;
        if progress.is_news || self.underway.unsaved() >= JOURNAL_EVERY {
            self.underway.append(self.book, &progress.findings);
        }
        let counts = self.underway.surroundings.counts();
        let beside = Beside {
            counts: counts.as_ref(),
            stages: self.underway.run.stages.as_ref(),
            verdicts: &self.underway.run.findings.verdicts,
        };
        match self.repeat {
            (_, 1) => self.watcher.progress(progress, beside),
            (index, count) => self
                .watcher
                .progress(&within(progress, index, count), beside),
        }
    }

    fn phase_finished(&mut self, findings: &Findings) {
        self.underway.append(self.book, findings);
    }
}

/// The progress of one of several runs as that of all of them.
fn within(progress: &Progress, index: u32, count: u32) -> Progress {
    Progress {
        phase: format!("run {} of {count}: {}", index + 1, progress.phase),
        fraction: progress
            .fraction
            .map(|fraction| (f64::from(index) + fraction) / f64::from(count)),
        ..progress.clone()
    }
}
