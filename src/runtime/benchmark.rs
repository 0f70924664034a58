//! One job from the wish to the saved session: the target is opened, the test runs, the kernel's
//! own counts are taken before and after, and the journal is kept.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Zoned;

use super::surroundings::{Scene, Surroundings};
use super::{machine, overwrite};
use crate::bench::runner::{self, Finished};
use crate::bench::{BenchError, Forecast, Job, Observer, Parameters, Progress, Value, common};
use crate::drive::{DriveError, ErrorKind, Target, TargetKind};
use crate::engine::{self, CacheMode, Choice, Control, EngineError, Moved, OpenError};
use crate::roots::Roots;
use crate::session::document::{
    Cpu, EngineRecord, Evidence, Findings, KernelCounts, Reproduce, Run, RunError, RunState,
    SCHEMA, Session, StageSplit, TargetRecord, VERSION, Verdict,
};
use crate::session::goal::Wanted;
use crate::session::store::{Journal, StoreError};
use crate::session::verdicts;

/// How often the journal is appended to while a phase lasts.
const JOURNAL_EVERY: Duration = Duration::from_millis(900);

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Order {
    /// The test, its target and parameters.
    pub job: Job,
    /// Goals to be checked in the end.
    pub goals: Vec<Wanted>,
    /// Directory for journal and document; `None` keeps nothing on disk.
    pub keep_in: Option<PathBuf>,
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
}

/// Who watches a job.
pub trait Watcher {
    /// The scratch file is being filled: bytes done, bytes in all.
    fn preparing(&mut self, done: u64, total: u64);
    /// The target is open, the test begins.
    fn started(&mut self, start: &Start);
    /// The latest state, and what the kernel says of the same device.
    fn progress(&mut self, progress: &Progress, kernel: Beside<'_>);
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
    /// The parameters do not fit the target.
    #[error(transparent)]
    Bench(#[from] BenchError),
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
            Self::Bench(BenchError::Parameters(_) | BenchError::Parameter(_)) => ErrorKind::Usage,
            Self::Bench(BenchError::Engine(EngineError::Plan(_))) => ErrorKind::Usage,
            Self::Bench(BenchError::Engine(_)) => ErrorKind::Failed,
        }
    }

    /// What is known of a target that may not be written, a line each.
    #[must_use]
    pub fn facts(&self) -> &[String] {
        match self {
            Self::Writing { facts, .. } => facts,
            Self::Target(_) | Self::Bench(_) => &[],
        }
    }

    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Target(error) | Self::Writing { refusal: error, .. } => error.advice(),
            Self::Bench(error) => error.advice(),
        }
    }
}

/// Runs a job to its end. What was measured is saved and returned, however it ended.
///
/// # Errors
/// When it could not begin: nothing was measured.
pub fn run(
    order: &Order,
    roots: &Roots,
    control: &Control,
    watcher: &mut dyn Watcher,
) -> Result<Report, Refused> {
    let job = &order.job;
    let choice = Choice::named(&job.engine).unwrap_or_default();
    let mut opened = engine::open(roots, &job.target, choice, job.scratch_bytes)?;
    let target = opened.target.clone();
    let parameters = job.parameters(&target);
    // What does not fit is said before a scratch file is filled or anything is permitted.
    let forecast = job.test.forecast(&target, &parameters)?;
    if job.test.writes(&parameters) {
        overwrite::permit(&mut opened, job)?;
    }
    opened.prepare(control, &mut |done, total| watcher.preparing(done, total))?;
    let engine = opened.engine();
    let record = EngineRecord {
        name: engine.name().to_owned(),
        features: engine.features(),
        reason: engine.reason(),
    };
    watcher.started(&Start {
        test: job.test.description().name,
        target: target.clone(),
        forecast,
        engine: record.clone(),
    });
    let mut keeper = Keeper::new(order, roots, &target, &parameters, record);
    let mut recorder = Recorder {
        keeper: &mut keeper,
        watcher,
    };
    let finished = runner::run(
        job.test,
        &target,
        &parameters,
        engine,
        control,
        &mut recorder,
    );
    keeper.run.engine.features = engine.features();
    match finished.error {
        // Nothing was sent: the plan does not fit, and there is nothing to keep.
        Some(BenchError::Engine(error @ EngineError::Plan(_))) if finished.findings.is_empty() => {
            keeper.discard();
            Err(BenchError::Engine(error).into())
        }
        _ => Ok(keeper.finish(finished, &order.goals)),
    }
}

/// The run as it stands, and the journal that it goes to.
struct Keeper {
    run: Run,
    session: Session,
    journal: Option<Journal>,
    problems: Vec<String>,
    surroundings: Surroundings,
    moved: Moved,
    began: Instant,
    appended: Instant,
}

impl Keeper {
    fn new(
        order: &Order,
        roots: &Roots,
        target: &Target,
        parameters: &Parameters,
        engine: EngineRecord,
    ) -> Self {
        let job = &order.job;
        let now = Zoned::now();
        let started = machine::rfc3339(&now);
        let name = job.test.description().name;
        let session = Session {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            program: concat!("diskscope ", env!("CARGO_PKG_VERSION")).to_owned(),
            started: started.clone(),
            host: machine::describe(roots),
            runs: Vec::new(),
        };
        let mut problems = Vec::new();
        let file = format!("{}-{name}", now.strftime("%Y-%m-%dT%H%M%S"));
        let journal = order.keep_in.as_ref().and_then(|directory| {
            let journal = Journal::create(directory, &file, &session);
            journal
                .map_err(|error| problems.push(not_saved(&error)))
                .ok()
        });
        if order.keep_in.is_none() {
            problems.push(
                "neither XDG_STATE_HOME nor HOME is set: the session is not saved".to_owned(),
            );
        }
        let scene = Scene {
            target,
            window: common::window(target, parameters),
            writes: job.test.writes(parameters),
            direct: common::cache_mode(parameters) == CacheMode::Bypass,
            host: &session.host,
        };
        let surroundings = Surroundings::new(roots, &scene);
        let began = Instant::now();
        Self {
            run: Run {
                test: name.to_owned(),
                state: RunState::Running,
                error: None,
                started,
                elapsed_ns: 0,
                target: target_record(target),
                parameters: by_name(parameters, |value| Some(value.to_json())),
                parameter_units: by_name(parameters, Value::unit),
                engine,
                findings: Findings::default(),
                kernel: None,
                stages: None,
                cpu: None,
                evidence: Evidence::default(),
                reproduce: reproduce(job, target, parameters),
            },
            session,
            journal,
            problems,
            surroundings,
            moved: Moved::default(),
            began,
            appended: began,
        }
    }

    /// Takes over what was found and seen so far, and judges it.
    fn take(&mut self, findings: &Findings, evidence: Evidence) {
        self.run.findings = findings.clone();
        self.run.elapsed_ns = nanoseconds(self.began.elapsed());
        self.run.kernel = self.surroundings.counts();
        self.run.stages = self.surroundings.stages();
        self.run.evidence = evidence;
        verdicts::judge(&mut self.run);
    }

    /// Appends the run with these findings to the journal.
    fn append(&mut self, findings: &Findings) {
        let evidence = self.surroundings.so_far(self.moved);
        self.take(findings, evidence);
        self.appended = Instant::now();
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.append(&self.run)
        {
            // A full disk must not end the measurement: it goes on without a journal.
            self.problems.push(not_saved(&error));
            self.journal = None;
        }
    }

    /// Leaves nothing behind.
    fn discard(self) {
        if let Some(journal) = self.journal {
            journal.discard();
        }
    }

    fn finish(mut self, finished: Finished, goals: &[Wanted]) -> Report {
        let mut findings = finished.findings;
        findings.goals = goals.iter().map(|goal| goal.check(&findings)).collect();
        self.run.state = finished.state;
        self.run.error = finished.error.as_ref().map(run_error);
        self.run.cpu = Some(Cpu {
            user_ns: nanoseconds(finished.effort.cpu.user),
            system_ns: nanoseconds(finished.effort.cpu.system),
            machine_busy_ns: self.surroundings.machine_busy(),
        });
        let evidence = self.surroundings.end(&finished.effort);
        self.take(&findings, evidence);
        self.run.elapsed_ns = nanoseconds(finished.elapsed);
        let session = Session {
            runs: vec![self.run],
            ..self.session
        };
        let mut problems = self.problems;
        let saved = self.journal.and_then(|journal| {
            journal
                .finish(&session)
                .map_err(|error| problems.push(not_saved(&error)))
                .ok()
        });
        Report {
            session,
            saved,
            problems,
        }
    }
}

/// The parameters for which there is such a thing, by name.
fn by_name<T>(parameters: &Parameters, of: fn(&Value) -> Option<T>) -> BTreeMap<String, T> {
    parameters
        .iter()
        .filter_map(|(name, value)| Some((name.to_owned(), of(value)?)))
        .collect()
}

fn not_saved(error: &StoreError) -> String {
    format!("the session is not saved: {error}")
}

fn run_error(error: &BenchError) -> RunError {
    RunError {
        message: error.to_string(),
        advice: error.advice(),
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn target_record(target: &Target) -> TargetRecord {
    let drive = target.drive.as_ref();
    let text = |field: fn(&crate::drive::Drive) -> &Option<String>| {
        drive.and_then(|drive| field(drive).clone())
    };
    TargetRecord {
        path: target.name.clone(),
        kind: target.kind.word().to_owned(),
        size_bytes: target.size,
        logical_block_bytes: target.logical_block,
        physical_block_bytes: target.physical_block,
        device: drive.map(|drive| drive.name.clone()),
        model: text(|drive| &drive.model),
        serial: text(|drive| &drive.serial),
        firmware: text(|drive| &drive.firmware),
        transport: text(|drive| &drive.transport),
        rotational: target.rotational(),
        file_system: target.file_system.clone(),
    }
}

fn reproduce(job: &Job, target: &Target, parameters: &Parameters) -> Reproduce {
    let fio = job.test.fio(target, parameters);
    Reproduce {
        diskscope: job.command_line(),
        fio: fio.map(|options| match target.kind {
            TargetKind::Scratch => {
                format!("{options} --directory={} --unlink=1", job.quoted_target())
            }
            _ => format!("{options} --filename={}", job.quoted_target()),
        }),
    }
}

/// Saves what the test reports before it is passed on to be drawn.
struct Recorder<'a> {
    keeper: &'a mut Keeper,
    watcher: &'a mut dyn Watcher,
}

impl Observer for Recorder<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.keeper.moved = progress.moved;
        if self.keeper.appended.elapsed() >= JOURNAL_EVERY {
            self.keeper.append(&progress.findings);
        }
        let counts = self.keeper.surroundings.counts();
        let beside = Beside {
            counts: counts.as_ref(),
            stages: self.keeper.run.stages.as_ref(),
            verdicts: &self.keeper.run.findings.verdicts,
        };
        self.watcher.progress(progress, beside);
    }

    fn phase_finished(&mut self, findings: &Findings) {
        self.keeper.append(findings);
    }
}
