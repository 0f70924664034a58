//! The session, shared by the thread that measures and the one that waits for it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::open_session::OpenSession;
use super::run_spec::RunReport;
use super::start_error::StartStep;
use crate::session::document::{BenchmarkRun, HostRecord};

/// How long to wait for a session to be saved on a drive that does not respond, when the program
/// ends.
const SAVE_TIMEOUT: Duration = Duration::from_millis(200);

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
    /// It had not started, and will not start.
    NotStarted(StartStep),
    /// The measuring thread is writing to it or has closed it.
    Busy,
}

impl SharedSession {
    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_session<T>(&self, use_it: impl FnOnce(&mut OpenSession) -> T) -> Option<T> {
        match &mut *self.state() {
            SessionState::Open(session) => Some(use_it(session)),
            SessionState::Starting(_) | SessionState::Saving(_) | SessionState::Closed => None,
        }
    }

    /// Records the step before the session starts.
    pub(super) fn set_start_step(&self, step: StartStep) {
        if let SessionState::Starting(current) = &mut *self.state() {
            *current = step;
        }
    }

    /// Stores the session at its start; returns false when it was closed before.
    pub(super) fn start(&self, session: OpenSession) -> bool {
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
        self.with_session(|session| session.host().clone())
            .unwrap_or_default()
    }

    /// Appends the current state of the active run to the journal.
    pub(super) fn append_run(&self, run: &BenchmarkRun) {
        self.with_session(|session| session.append_run(run));
    }

    /// Appends a finished run.
    pub(super) fn finish_run(&self, run: BenchmarkRun) {
        self.with_session(|session| session.finish_run(run));
    }

    /// Whether no run is finished.
    pub(super) fn is_empty(&self) -> bool {
        self.with_session(|session| session.is_empty())
            .unwrap_or(true)
    }

    /// Deletes the journal.
    pub(super) fn discard(&self) {
        let state = std::mem::replace(&mut *self.state(), SessionState::Closed);
        if let SessionState::Open(session) = state {
            session.discard();
        }
    }

    /// Closes the session and saves it; `None` when the other thread has closed it.
    pub(super) fn close(&self) -> Option<RunReport> {
        let unsaved = {
            let mut state = self.state();
            let SessionState::Open(session) = std::mem::replace(&mut *state, SessionState::Closed)
            else {
                return None;
            };
            let unsaved = session.close_finished();
            *state = SessionState::Saving(Box::new(unsaved.unsaved_report()));
            unsaved
        };
        let report = unsaved.save();
        *self.state() = SessionState::Closed;
        Some(report)
    }

    /// Closes the session of a thread that hangs.
    pub(super) fn interrupt(&self) -> CloseOutcome {
        let Ok(mut state) = self.0.try_lock() else {
            return CloseOutcome::Busy;
        };
        match std::mem::replace(&mut *state, SessionState::Closed) {
            SessionState::Starting(step) => CloseOutcome::NotStarted(step),
            SessionState::Closed => CloseOutcome::Busy,
            SessionState::Open(session) => {
                drop(state);
                let unsaved = session.close_interrupted();
                CloseOutcome::Closed(Box::new(unsaved.save_within(SAVE_TIMEOUT)))
            }
            SessionState::Saving(report) => CloseOutcome::Closed(report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{self, BenchmarkSpec};
    use crate::benchmark_run::run_spec::{RunSpec, SaveError};
    use crate::roots::SysPaths;
    use crate::session::document::{RunState, Session};
    use crate::session::store;

    fn open_session(directory: &std::path::Path) -> OpenSession {
        let benchmark = bench::find_benchmark("random-read").unwrap();
        let spec = RunSpec {
            spec: BenchmarkSpec::new(benchmark, "sim:constant"),
            repeat_count: 1,
            session_directory: Some(directory.join("sessions")),
            output_files: Vec::new(),
        };
        OpenSession::create(&spec, &SysPaths::under_root(directory))
    }

    fn running_run() -> BenchmarkRun {
        let session: Session =
            serde_json::from_str(include_str!("../../tests/sessions/nvme-random.json")).unwrap();
        let mut run = session.runs.into_iter().next().unwrap();
        run.state = RunState::Running;
        run
    }

    #[test]
    fn session_closed_by_waiting_thread_holds_last_journal_entry() {
        let directory = tempfile::tempdir().unwrap();
        let session = SharedSession::default();
        session.set_start_step(StartStep::FillScratchFile);
        assert!(session.start(open_session(directory.path())));
        let run = running_run();
        session.append_run(&run);
        let CloseOutcome::Closed(report) = session.interrupt() else {
            panic!("the session is open");
        };
        assert_eq!(report.session.runs[0].state, RunState::Interrupted);
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
        assert!(!session.start(open_session(directory.path())));
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
