//! The session of a run, and its journal.

use std::sync::Arc;
use std::time::Duration;

use super::machine;
use super::run_spec::{RunReport, RunSpec, SaveError};
use crate::roots::SysPaths;
use crate::session::document::{BenchmarkRun, HostRecord, RunState, SCHEMA, Session, VERSION};
use crate::session::stability;
use crate::session::store::{Journal, StoreError};
use crate::time;

/// A session with its finished runs, and its journal.
pub(super) struct OpenSession {
    session: Session,
    /// The active run, as last appended to the journal.
    active_run: Option<BenchmarkRun>,
    journal: Option<Journal>,
    save_errors: Vec<SaveError>,
    /// The first error of the journal.
    journal_error: Option<StoreError>,
}

impl OpenSession {
    /// Starts a session, and its journal where a directory is given.
    pub(super) fn create(spec: &RunSpec, roots: &SysPaths) -> Self {
        let now = time::local_now();
        let name = spec.spec.benchmark.description().name;
        let session = Session {
            schema: SCHEMA.into(),
            version: VERSION,
            program: concat!("diskscope ", env!("CARGO_PKG_VERSION")).into(),
            started: machine::rfc3339(&now).into(),
            host: machine::host_record(roots),
            note: None,
            runs: Vec::new(),
        };
        let file = format!("{}-{name}", now.strftime("%Y-%m-%dT%H%M%S"));
        let journal = match &spec.session_directory {
            None => Err(SaveError::NoDirectory),
            Some(directory) => Journal::create(directory, &file, &session)
                .map_err(|error| SaveError::NotSaved(Arc::new(error))),
        };
        let (journal, error) = match journal {
            Ok(journal) => (Some(journal), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            session,
            active_run: None,
            journal,
            save_errors: error.into_iter().collect(),
            journal_error: None,
        }
    }

    /// The machine.
    pub(super) fn host(&self) -> &HostRecord {
        &self.session.host
    }

    /// Whether no run is finished.
    pub(super) fn is_empty(&self) -> bool {
        self.session.runs.is_empty()
    }

    /// Appends the current state of the active run to the journal.
    pub(super) fn append_run(&mut self, run: &BenchmarkRun) {
        self.write_journal(|journal| journal.append_progress(run));
        self.active_run = Some(run.clone());
    }

    /// Appends a finished run.
    pub(super) fn finish_run(&mut self, run: BenchmarkRun) {
        self.write_journal(|journal| journal.append_completed(&run));
        self.active_run = None;
        self.session.runs.push(run);
    }

    fn write_journal(&mut self, write: impl FnOnce(&mut Journal) -> Result<(), StoreError>) {
        if let Some(journal) = &mut self.journal
            && let Err(error) = write(journal)
        {
            // A full disk must not end the measurement, and space may become free later.
            self.journal_error.get_or_insert(error);
        }
    }

    /// Deletes the journal.
    pub(super) fn discard(self) {
        if let Some(journal) = self.journal {
            journal.discard();
        }
    }

    /// Closes the session during a run; the run counts as interrupted.
    pub(super) fn close_interrupted(mut self) -> UnsavedSession {
        if let Some(mut run) = self.active_run.take() {
            run.state = RunState::Interrupted;
            self.save_errors.push(SaveError::LastJournalEntry {
                target: run.target.path.clone(),
            });
            self.session.runs.push(run);
        }
        self.close_finished()
    }

    /// Closes the session and evaluates repeated runs together.
    pub(super) fn close_finished(mut self) -> UnsavedSession {
        let runs: Vec<&BenchmarkRun> = self.session.runs.iter().collect();
        if let Some(unstable) = stability::find_instability(&runs, None) {
            for run in &mut self.session.runs {
                run.findings.set_check(unstable.clone());
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
pub(super) struct UnsavedSession {
    report: RunReport,
    journal: Option<Journal>,
    journal_error: Option<StoreError>,
}

impl UnsavedSession {
    /// Replaces the journal by the session file.
    pub(super) fn save(self) -> RunReport {
        let mut report = self.report;
        match self.journal.map(|journal| journal.finish(&report.session)) {
            Some(Ok(path)) => {
                let incomplete = |error| SaveError::JournalIncomplete(Arc::new(error));
                report
                    .save_errors
                    .extend(self.journal_error.map(incomplete));
                report.saved_path = Some(path);
            }
            Some(Err(error)) => report
                .save_errors
                .push(SaveError::NotSaved(Arc::new(error))),
            None => {}
        }
        report
    }

    /// The report while the session is not saved.
    pub(super) fn unsaved_report(&self) -> RunReport {
        let mut report = self.report.clone();
        if let Some(journal) = &self.journal {
            report.save_errors.push(SaveError::Pending {
                journal: journal.path(),
            });
        }
        report
    }

    /// Saves the session on another thread and waits for it no longer than `limit`.
    pub(super) fn save_within(self, limit: Duration) -> RunReport {
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
