//! The session of a request with its journal, shared by the thread that measures and the one that waits
//! for it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use super::machine;
use super::start_error::StartStep;
use crate::bench::RunRequest;
use crate::files::safe_text::SafeText;
use crate::roots::SysPaths;
use crate::session::document::{BenchmarkRun, HostRecord, RunState, SCHEMA, Session, VERSION};
use crate::session::stability;
use crate::session::store::{Journal, StoreError};
use crate::time;

/// How long to wait for a session to be saved on a drive that does not respond, when the program
/// ends.
const SAVE_TIMEOUT: Duration = Duration::from_millis(200);

/// Result of a run.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// The session: one benchmark run per repeat, complete or not.
    pub session: Session,
    /// Where it was saved.
    pub saved_path: Option<PathBuf>,
    /// Errors outside the benchmark.
    pub save_errors: Vec<SaveError>,
    /// Whether it was stopped because the target came into use while it was written.
    pub write_refused: bool,
}

/// Why a session is not saved, or not all of it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SaveError {
    /// There is no directory for sessions.
    #[error("neither XDG_STATE_HOME nor HOME is set: the session is not saved")]
    NoDirectory,
    /// The journal could not be created, or not be replaced by the session file.
    #[error("the session is not saved: {0}")]
    NotSaved(Arc<StoreError>),
    /// The session is saved, but its journal could not be written for a while.
    #[error("the journal was incomplete for a while: {0}")]
    JournalIncomplete(Arc<StoreError>),
    /// The file system of the session does not respond.
    #[error("saving the session takes too long: until it is saved, {} holds it", journal.display())]
    Pending {
        /// The journal.
        journal: PathBuf,
    },
    /// The target did not respond when the run was stopped.
    #[error(
        "{target} did not answer when the run was stopped: the result is that of its last journal entry"
    )]
    LastJournalEntry {
        /// The target.
        target: SafeText,
    },
}

/// The session, shared by the thread that measures and the one that waits for it. Whichever closes
/// it first owns it, and nothing is written afterwards.
///
/// The lock is held while the journal is written, never during an access to the target.
#[derive(Default)]
pub(super) struct SharedSession(Mutex<SessionState>);

enum SessionState {
    /// It has not started; the target is being prepared.
    Starting(StartStep),
    Open(Box<OpenSession>),
    /// The measuring thread is saving it; the report so far.
    Saving(Box<RunReport>),
    Closed,
}

impl Default for SessionState {
    fn default() -> Self {
        Self::Starting(StartStep::default())
    }
}

/// Result of closing a session from another thread.
pub(super) enum CloseOutcome {
    /// It is closed.
    Closed(Box<RunReport>),
    /// It has not started and never will.
    NotStarted(StartStep),
    /// The other thread is writing to it, or has just closed it.
    Busy,
}

impl SharedSession {
    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses the session while it is open.
    fn with_open<T>(&self, use_it: impl FnOnce(&mut OpenSession) -> T) -> Option<T> {
        match &mut *self.state() {
            SessionState::Open(session) => Some(use_it(session)),
            _ => None,
        }
    }

    /// Notes what is about to be done to the target.
    pub(super) fn set_start_step(&self, step: StartStep) {
        if let SessionState::Starting(current) = &mut *self.state() {
            *current = step;
        }
    }

    /// Starts the session and its journal. False if the other thread has closed it already.
    pub(super) fn start(&self, request: &RunRequest, roots: &SysPaths) -> bool {
        let session = OpenSession::create(request, roots);
        let mut state = self.state();
        let starts = matches!(*state, SessionState::Starting(_));
        if starts {
            *state = SessionState::Open(Box::new(session));
        } else {
            session.discard();
        }
        starts
    }

    /// The machine.
    pub(super) fn host(&self) -> HostRecord {
        self.with_open(|open| open.report.session.host.clone())
            .unwrap_or_default()
    }

    /// Appends the current state of a run in progress to the journal.
    pub(super) fn append_run(&self, run: &BenchmarkRun) {
        self.with_open(|open| {
            open.write_journal(|journal| journal.append_progress(run));
            open.take_active(run);
            open.active_runs.push(run.clone());
        });
    }

    /// Adds a run that has ended.
    pub(super) fn finish_run(&self, run: BenchmarkRun) {
        self.with_open(|open| {
            open.write_journal(|journal| journal.append_completed(&run));
            open.take_active(&run);
            open.report.session.runs.push(run);
        });
    }

    /// Closes a session in which nothing was measured.
    pub(super) fn discard(&self) {
        let state = std::mem::replace(&mut *self.state(), SessionState::Closed);
        if let SessionState::Open(session) = state {
            session.discard();
        }
    }

    /// Saves the session at the end of all runs. `None` if the other thread has closed it.
    pub(super) fn close(&self) -> Option<RunReport> {
        let session = {
            let mut state = self.state();
            let SessionState::Open(mut session) =
                std::mem::replace(&mut *state, SessionState::Closed)
            else {
                return None;
            };
            session.check_stability();
            *state = SessionState::Saving(Box::new(session.unsaved_report()));
            session
        };
        let report = session.save();
        *self.state() = SessionState::Closed;
        Some(report)
    }

    /// Closes the session in place of the thread that measures, which does not respond.
    pub(super) fn interrupt(&self) -> CloseOutcome {
        let Ok(mut state) = self.0.try_lock() else {
            return CloseOutcome::Busy;
        };
        match std::mem::replace(&mut *state, SessionState::Closed) {
            SessionState::Starting(step) => CloseOutcome::NotStarted(step),
            SessionState::Closed => CloseOutcome::Busy,
            SessionState::Open(mut session) => {
                drop(state);
                session.interrupt_runs();
                session.check_stability();
                CloseOutcome::Closed(Box::new(session.save_within(SAVE_TIMEOUT)))
            }
            SessionState::Saving(report) => CloseOutcome::Closed(report),
        }
    }
}

/// A session with its finished runs, and its journal.
struct OpenSession {
    report: RunReport,
    /// The runs in progress, as last appended to the journal.
    active_runs: Vec<BenchmarkRun>,
    journal: Option<Journal>,
    /// The first error of the journal.
    journal_error: Option<StoreError>,
}

impl OpenSession {
    /// Starts a session, and its journal where a directory is given.
    fn create(request: &RunRequest, roots: &SysPaths) -> Self {
        let now = time::local_now();
        let session = Session {
            schema: SCHEMA.into(),
            version: VERSION,
            program: concat!("diskscope ", env!("CARGO_PKG_VERSION")).into(),
            started: machine::rfc3339(&now).into(),
            host: machine::host_record(roots),
            note: None,
            runs: Vec::new(),
        };
        let name = request.benchmark.description().name;
        let file = format!("{}-{name}", now.strftime("%Y-%m-%dT%H%M%S"));
        let journal = match &request.session_directory {
            None => Err(SaveError::NoDirectory),
            Some(directory) => Journal::create(directory, &file, &session)
                .map_err(|error| SaveError::NotSaved(Arc::new(error))),
        };
        let (journal, error) = match journal {
            Ok(journal) => (Some(journal), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            report: RunReport {
                session,
                saved_path: None,
                save_errors: error.into_iter().collect(),
                write_refused: false,
            },
            active_runs: Vec::new(),
            journal,
            journal_error: None,
        }
    }

    /// A failed write is reported at the end: a full disk must not end the measurement, and space may
    /// become free later.
    fn write_journal(&mut self, write: impl FnOnce(&mut Journal) -> Result<(), StoreError>) {
        if let Some(journal) = &mut self.journal
            && let Err(error) = write(journal)
        {
            self.journal_error.get_or_insert(error);
        }
    }

    /// Removes the state of a run from those in progress.
    fn take_active(&mut self, run: &BenchmarkRun) {
        self.active_runs.retain(|active| !active.is_same_run(run));
    }

    fn discard(self) {
        if let Some(journal) = self.journal {
            journal.discard();
        }
    }

    /// Ends the runs in progress as they were last appended to the journal.
    fn interrupt_runs(&mut self) {
        for mut run in std::mem::take(&mut self.active_runs) {
            run.state = RunState::Interrupted;
            let target = run.target.path.clone();
            let error = SaveError::LastJournalEntry { target };
            self.report.save_errors.push(error);
            self.report.session.runs.push(run);
        }
    }

    /// Adds a check to all runs if repeats differ.
    fn check_stability(&mut self) {
        let session = &mut self.report.session;
        let runs: Vec<&BenchmarkRun> = session.runs.iter().collect();
        if let Some(unstable) = stability::find_instability(&runs, None) {
            for run in &mut session.runs {
                run.findings.set_check(unstable.clone());
            }
        }
    }

    /// Replaces the journal by the session file.
    fn save(self) -> RunReport {
        let mut report = self.report;
        let saved = self.journal.map(|journal| journal.finish(&report.session));
        let error = match saved {
            Some(Ok(path)) => {
                report.saved_path = Some(path);
                let error = self.journal_error.map(Arc::new);
                error.map(SaveError::JournalIncomplete)
            }
            Some(Err(error)) => Some(SaveError::NotSaved(Arc::new(error))),
            None => None,
        };
        report.save_errors.extend(error);
        report
    }

    /// The report while the session is not saved yet.
    fn unsaved_report(&self) -> RunReport {
        let mut report = self.report.clone();
        let journal = self.journal.iter().map(Journal::path);
        let pending = journal.map(|journal| SaveError::Pending { journal });
        report.save_errors.extend(pending);
        report
    }

    /// Saves it on a thread of its own, which the end of the program does not wait for.
    fn save_within(self, limit: Duration) -> RunReport {
        let so_far = self.unsaved_report();
        let (sender, saved) = mpsc::channel();
        let thread = thread::Builder::new().name("save".to_owned());
        // The receiver is gone after a timeout.
        let started = thread.spawn(move || drop(sender.send(self.save())));
        match started {
            Ok(_) => saved.recv_timeout(limit).unwrap_or(so_far),
            Err(_) => so_far,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;
    use crate::session::compare::sample;
    use crate::session::store;

    fn start(session: &SharedSession, directory: &std::path::Path) -> bool {
        let benchmark = bench::find_benchmark("random-read").unwrap();
        let mut request = RunRequest::new(benchmark, "sim:constant");
        request.session_directory = Some(directory.join("sessions"));
        session.start(&request, &SysPaths::under_root(directory))
    }

    fn running_on(target: &str) -> BenchmarkRun {
        let mut run = sample::sample_run("iops", 100.0, 1.0);
        run.state = RunState::Running;
        run.target.path = target.into();
        run
    }

    #[test]
    fn session_closed_by_waiting_thread_holds_last_journal_entry() {
        let directory = tempfile::tempdir().unwrap();
        let session = SharedSession::default();
        session.set_start_step(StartStep::FillScratchFile);
        assert!(start(&session, directory.path()));
        // Two targets side by side, whose lines alternate.
        let (run, other) = (running_on("/dev/sda"), running_on("/dev/sdb"));
        for _ in 0..2 {
            session.append_run(&run);
            session.append_run(&other);
        }
        let mut ended = other.clone();
        ended.state = RunState::Finished;
        session.finish_run(ended.clone());
        let CloseOutcome::Closed(report) = session.interrupt() else {
            panic!("the session is open");
        };
        let mut interrupted = run.clone();
        interrupted.state = RunState::Interrupted;
        assert_eq!(report.session.runs, [ended, interrupted]);
        assert!(
            matches!(report.save_errors[..], [SaveError::LastJournalEntry { .. }]),
            "{:?}",
            report.save_errors
        );
        // What the measuring thread does later changes nothing.
        session.append_run(&run);
        session.finish_run(run);
        assert!(session.close().is_none());
        assert!(matches!(session.interrupt(), CloseOutcome::Busy));
        let saved = store::load_session(report.saved_path.as_ref().unwrap()).unwrap();
        assert_eq!(saved, report.session);
    }

    #[test]
    fn session_closed_before_its_start_never_starts() {
        let directory = tempfile::tempdir().unwrap();
        let session = SharedSession::default();
        session.set_start_step(StartStep::Inspect);
        assert!(matches!(
            session.interrupt(),
            CloseOutcome::NotStarted(StartStep::Inspect)
        ));
        session.set_start_step(StartStep::FillScratchFile);
        assert!(!start(&session, directory.path()));
        assert!(session.close().is_none());
        let files = std::fs::read_dir(directory.path().join("sessions")).unwrap();
        assert_eq!(files.count(), 0);
    }

    #[test]
    fn session_being_written_to_is_busy() {
        let session = SharedSession::default();
        let state = session.state();
        assert!(matches!(session.interrupt(), CloseOutcome::Busy));
        drop(state);
    }
}
