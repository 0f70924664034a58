//! The session as it grows, and the journal that keeps it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Zoned;

use super::{Order, Report};
use crate::bench::fio::FioFile;
use crate::bench::runner::Finished;
use crate::bench::{BenchError, Job, Parameters, Value, common};
use crate::drive::{Drive, Target};
use crate::engine::{CacheMode, Moved};
use crate::roots::Roots;
use crate::runtime::machine;
use crate::runtime::surroundings::{Scene, Surroundings};
use crate::session::document::{
    Cpu, EngineRecord, Evidence, Findings, Reproduce, Run, RunError, RunState, SCHEMA, Session,
    TargetRecord, VERSION,
};
use crate::session::goal::Wanted;
use crate::session::store::{Journal, StoreError};
use crate::session::{stability, verdicts};

/// The session with the runs that are over, and its journal.
pub(super) struct Book {
    session: Session,
    journal: Option<Journal>,
    problems: Vec<String>,
    /// The first that went wrong with the journal.
    journal_error: Option<StoreError>,
}

impl Book {
    /// Begins a session, and its journal where there is a place for one.
    pub(super) fn open(order: &Order, roots: &Roots) -> Self {
        let now = Zoned::now();
        let name = order.job.test.description().name;
        let session = Session {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            program: concat!("diskscope ", env!("CARGO_PKG_VERSION")).to_owned(),
            started: machine::rfc3339(&now),
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
            journal,
            problems,
            journal_error: None,
        }
    }

    /// Appends a run as it stands to the journal.
    fn append(&mut self, run: &Run) {
        self.note(|journal| journal.append(run));
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
    pub(super) fn put(&mut self, run: Run) {
        self.note(|journal| journal.keep(&run));
        self.session.runs.push(run);
    }

    /// Leaves nothing behind.
    pub(super) fn discard(self) {
        if let Some(journal) = self.journal {
            journal.discard();
        }
    }

    /// Whether anything is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.session.runs.is_empty()
    }

    /// Judges repeated runs together, and puts the document in the journal's place.
    pub(super) fn close(mut self) -> Report {
        let unstable = stability::judge(&self.session.runs.iter().collect::<Vec<_>>());
        for run in &mut self.session.runs {
            unstable
                .iter()
                .for_each(|verdict| run.findings.put_verdict(verdict.clone()));
        }
        let (saved, problem) = save(self.journal, self.journal_error, &self.session);
        self.problems.extend(problem);
        Report {
            session: self.session,
            saved,
            problems: self.problems,
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
        book: &Book,
        job: &Job,
        roots: &Roots,
        (target, parameters): (&Target, &Parameters),
        engine: EngineRecord,
    ) -> Self {
        let started = machine::rfc3339(&Zoned::now());
        let scene = Scene {
            target,
            window: common::window(target, parameters),
            writes: job.test.writes(parameters),
            direct: common::cache_mode(parameters) == CacheMode::Bypass,
            host: &book.session.host,
        };
        let surroundings = Surroundings::new(roots, &scene);
        let began = Instant::now();
        Self {
            run: Run {
                test: job.test.description().name.to_owned(),
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
    pub(super) fn append(&mut self, book: &mut Book, findings: &Findings) {
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
    let text = |field: fn(&Drive) -> &Option<String>| drive.and_then(|drive| field(drive).clone());
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
    let fio = FioFile::of(target, &job.target).and_then(|file| {
        let fio = job.test.fio(target, parameters)?;
        Ok(fio.command_lines(&file))
    });
    Reproduce {
        diskscope: job.command_line(),
        fio_gap: fio.as_ref().err().copied(),
        fio: fio.ok(),
    }
}
