//! The session as it grows, and the journal that keeps it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Order, Report};
use crate::bench::fio::FioFile;
use crate::bench::runner::Finished;
use crate::bench::{BenchError, Job, Parameters, Value, common};
use crate::drive::{Drive, Target};
use crate::engine::{CacheMode, Moved};
use crate::local_time;
use crate::roots::Roots;
use crate::runtime::machine;
use crate::runtime::surroundings::{Scene, Surroundings};
use crate::safe_text::{SafeLines, SafeText};
use crate::session::document::{
    Cpu, EngineRecord, Evidence, Findings, Host, Reproduce, Run, RunError, RunState, SCHEMA,
    Session, TargetRecord, VERSION,
};
use crate::session::goal::Wanted;
use crate::session::store::{Journal, StoreError};
use crate::session::{stability, verdicts};

/// How long a session is saved whose drive does not answer: the program is to end.
const SAVING: Duration = Duration::from_millis(200);

/// The session with the runs that are over, and its journal.
pub(super) struct Book {
    session: Session,
    /// The run that goes on, as it was last put into the journal.
    current: Option<Run>,
    journal: Option<Journal>,
    problems: Vec<String>,
    /// The first that went wrong with the journal.
    journal_error: Option<StoreError>,
}

impl Book {
    /// Begins a session, and its journal where there is a place for one.
    pub(super) fn open(order: &Order, roots: &Roots) -> Self {
        let now = local_time::now();
        let name = order.job.test.description().name;
        let session = Session {
            schema: SCHEMA.into(),
            version: VERSION,
            program: concat!("diskscope ", env!("CARGO_PKG_VERSION")).into(),
            started: machine::rfc3339(&now).into(),
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
        Self {
            session,
            current: None,
            journal,
            problems,
            journal_error: None,
        }
    }

    /// Appends a run as it stands to the journal.
    fn append(&mut self, run: &Run) {
        self.note(|journal| journal.append(run));
        self.current = Some(run.clone());
    }

    fn note(&mut self, write: impl FnOnce(&mut Journal) -> Result<(), StoreError>) {
        if let Some(journal) = &mut self.journal
            && let Err(error) = write(journal)
        {
            // A full disk must not end the measurement, and there may be room again later.
            self.journal_error.get_or_insert(error);
        }
    }

    /// Puts down a run that is over.
    fn put(&mut self, run: Run) {
        self.note(|journal| journal.keep(&run));
        self.current = None;
        self.session.runs.push(run);
    }

    /// Leaves nothing behind.
    fn discard(self) {
        if let Some(journal) = self.journal {
            journal.discard();
        }
    }

    /// Closes it although a run goes on, which counts as interrupted.
    fn interrupt(mut self) -> Unsaved {
        if let Some(mut run) = self.current.take() {
            run.state = RunState::Interrupted;
            self.problems.push(format!(
                "{} did not answer when the run was stopped: the result is that of the last time \
                 that it was saved",
                run.target.path
            ));
            self.session.runs.push(run);
        }
        self.close()
    }

    /// Judges repeated runs together.
    fn close(mut self) -> Unsaved {
        let unstable = stability::judge(&self.session.runs.iter().collect::<Vec<_>>());
        for run in &mut self.session.runs {
            unstable
                .iter()
                .for_each(|verdict| run.findings.put_verdict(verdict.clone()));
        }
        Unsaved {
            report: Report {
                session: self.session,
                saved: None,
                problems: self.problems,
                refused: false,
            },
            journal: self.journal,
            journal_error: self.journal_error,
        }
    }
}

/// A session that is complete and not saved yet.
struct Unsaved {
    report: Report,
    journal: Option<Journal>,
    journal_error: Option<StoreError>,
}

impl Unsaved {
    /// Puts the document in the journal's place.
    fn save(mut self) -> Report {
        let (saved, problem) = save(self.journal, self.journal_error, &self.report.session);
        self.report.saved = saved;
        self.report.problems.extend(problem);
        self.report
    }

    /// The report as it is as long as it is not saved.
    fn so_far(&self) -> Report {
        let mut report = self.report.clone();
        if let Some(journal) = &self.journal {
            report.problems.push(format!(
                "saving the session takes too long: until it is saved, {} holds it",
                journal.path().display()
            ));
        }
        report
    }

    /// Saves it on a thread of its own, which is not waited for any longer than that.
    fn save_within(self, limit: Duration) -> Report {
        let so_far = self.so_far();
        let (sender, saved) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("save".to_owned());
        // Nobody listens when it took too long.
        let started = thread.spawn(move || drop(sender.send(self.save())));
        match started {
            Ok(_) => saved.recv_timeout(limit).unwrap_or(so_far),
            Err(_) => so_far,
        }
    }
}

/// Puts the document in the journal's place. Says where it is, and what went wrong on the way.
fn save(
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
        Some(Err(error)) => (None, Some(not_saved(&error))),
        None => (None, None),
    }
}

/// The [`Book`] between the thread that measures and the one that waits for it: whoever closes it
/// first has it, and nothing is written afterwards.
#[derive(Default)]
pub(super) struct SharedBook {
    state: Mutex<BookState>,
    doing: Mutex<&'static str>,
}

#[derive(Default)]
enum BookState {
    #[default]
    NotBegun,
    Open(Box<Book>),
    /// The thread that measures saves it; what there is in the meantime.
    Saving(Box<Report>),
    Closed,
}

/// What became of the attempt to close a session from outside.
pub(super) enum Interrupted {
    /// It is closed.
    Closed(Box<Report>),
    /// It had not begun, and will not.
    NotBegun,
    /// The thread that measures is writing to it or has closed it.
    Busy,
}

impl SharedBook {
    fn state(&self) -> MutexGuard<'_, BookState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Book) -> T) -> Option<T> {
        match &mut *self.state() {
            BookState::Open(book) => Some(use_it(book)),
            BookState::NotBegun | BookState::Saving(_) | BookState::Closed => None,
        }
    }

    fn take(&self) -> Option<Box<Book>> {
        match std::mem::replace(&mut *self.state(), BookState::Closed) {
            BookState::Open(book) => Some(book),
            BookState::NotBegun | BookState::Saving(_) | BookState::Closed => None,
        }
    }

    /// Notes what is done before the session begins.
    pub(super) fn set_doing(&self, doing: &'static str) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = doing;
    }

    /// What was done last before the session began.
    pub(super) fn doing(&self) -> &'static str {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a session that begins; false when it was closed before.
    pub(super) fn begin(&self, book: Book) -> bool {
        let mut state = self.state();
        if matches!(*state, BookState::Closed) {
            book.discard();
            return false;
        }
        *state = BookState::Open(Box::new(book));
        true
    }

    fn host(&self) -> Host {
        self.with(|book| book.session.host.clone())
            .unwrap_or_default()
    }

    fn append(&self, run: &Run) {
        self.with(|book| book.append(run));
    }

    /// Puts down a run that is over.
    pub(super) fn put(&self, run: Run) {
        self.with(|book| book.put(run));
    }

    /// Leaves nothing behind.
    pub(super) fn discard(&self) {
        if let Some(book) = self.take() {
            book.discard();
        }
    }

    /// Whether no run is over.
    pub(super) fn is_empty(&self) -> bool {
        self.with(|book| book.session.runs.is_empty())
            .unwrap_or(true)
    }

    /// Closes the session; `None` when another thread has done that.
    pub(super) fn close(&self) -> Option<Report> {
        let unsaved = self.take()?.close();
        *self.state() = BookState::Saving(Box::new(unsaved.so_far()));
        let report = unsaved.save();
        *self.state() = BookState::Closed;
        Some(report)
    }

    /// Closes the session of a thread that does not come back.
    pub(super) fn interrupt(&self) -> Interrupted {
        let Ok(mut state) = self.state.try_lock() else {
            return Interrupted::Busy;
        };
        match std::mem::replace(&mut *state, BookState::Closed) {
            BookState::NotBegun => Interrupted::NotBegun,
            BookState::Closed => Interrupted::Busy,
            BookState::Open(book) => {
                drop(state);
                Interrupted::Closed(Box::new(book.interrupt().save_within(SAVING)))
            }
            BookState::Saving(report) => Interrupted::Closed(report),
        }
    }
}

/// A run that goes on.
pub(super) struct Underway {
    pub(super) run: Run,
    pub(super) surroundings: Surroundings,
    /// All that was asked for until the last report.
    pub(super) moved: Moved,
    began: Instant,
    appended: Instant,
}

impl Underway {
    /// A run that begins now.
    pub(super) fn begin(
        book: &SharedBook,
        job: &Job,
        roots: &Roots,
        (target, parameters): (&Target, &Parameters),
        engine: EngineRecord,
    ) -> Self {
        let started = machine::rfc3339(&local_time::now());
        let run = Run {
            test: job.test.description().name.into(),
            state: RunState::Running,
            error: None,
            started: started.into(),
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
        };
        // What follows reads from the drive already.
        book.append(&run);
        let host = book.host();
        let scene = Scene {
            target,
            window: common::window(target, parameters),
            writes: job.test.writes(parameters),
            direct: common::cache_mode(parameters) == CacheMode::Bypass,
            host: &host,
        };
        let surroundings = Surroundings::new(roots, &scene);
        let began = Instant::now();
        Self {
            run,
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

    /// Time since it was last put into the journal.
    pub(super) fn unsaved(&self) -> Duration {
        self.appended.elapsed()
    }

    /// Puts it into the journal with these findings.
    pub(super) fn append(&mut self, book: &SharedBook, findings: &Findings) {
        let evidence = self.surroundings.so_far(self.moved);
        self.take(findings, evidence);
        self.appended = Instant::now();
        book.append(&self.run);
    }

    /// The run, now that it is over.
    pub(super) fn finish(mut self, finished: Finished, goals: &[Wanted]) -> Run {
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
        self.run
    }
}

/// The parameters for which there is such a thing, by name.
fn by_name<T>(parameters: &Parameters, of: fn(&Value) -> Option<T>) -> BTreeMap<SafeText, T> {
    parameters
        .iter()
        .filter_map(|(name, value)| Some((name.into(), of(value)?)))
        .collect()
}

fn not_saved(error: &StoreError) -> String {
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
    let text = |field: fn(&Drive) -> &Option<String>| drive.and_then(|drive| field(drive).clone());
    TargetRecord {
        path: target.name.clone().into(),
        kind: target.kind.word().into(),
        size_bytes: target.size,
        logical_block_bytes: target.logical_block,
        physical_block_bytes: target.physical_block,
        device: drive.map(|drive| drive.name.clone()).map(Into::into),
        model: text(|drive| &drive.model).map(Into::into),
        serial: text(|drive| &drive.serial).map(Into::into),
        firmware: text(|drive| &drive.firmware).map(Into::into),
        transport: text(|drive| &drive.transport).map(Into::into),
        rotational: target.rotational(),
        file_system: target.file_system.clone().map(Into::into),
    }
}

fn reproduce(job: &Job, target: &Target, parameters: &Parameters) -> Reproduce {
    let fio = FioFile::of(target, &job.path).and_then(|file| {
        let fio = job.test.fio(target, parameters)?;
        Ok(fio.command_lines(&file))
    });
    Reproduce {
        diskscope: job.command_line().into(),
        fio_gap: fio.as_ref().err().copied(),
        fio: fio.ok().map(SafeLines::from),
    }
}
