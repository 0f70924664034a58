//! The services on the real machine.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::benchmark_thread::RunningBenchmark;
use super::diagnosis_watch::{DiagnosisWatch, WatchCommand};
use super::file_follower::FileFollower;
use super::request_follower::RequestFollower;
use super::sampler::SampleThread;
use super::services::{AppServices, FeedSenders};
use super::{processes, session_archive, targets};
use crate::app::error::{ArchiveError, BenchmarkError};
use crate::app::{Effect, Message, SessionEntry};
use crate::drive::settings::{SettingLock, SettingsManager};
use crate::probe::{SampleCollector, Wanted};
use crate::roots::SysPaths;
use crate::run::consent;
use crate::session::store;
use crate::snapshot::ViewBuilder;
use crate::transfers::counting::JobCounter;
use crate::tui::screens::sessions::SessionEdit;

/// Sampling, benchmarks and sessions on this machine.
#[derive(Debug)]
pub struct MachineServices {
    roots: SysPaths,
    senders: FeedSenders,
    sampler: SampleThread,
    follower: RequestFollower,
    diagnosis_watch: DiagnosisWatch,
    file_follower: FileFollower,
    wanted: Arc<Mutex<Wanted>>,
    accounting_lock: Option<SettingLock>,
    running_benchmark: Option<RunningBenchmark>,
}

impl MachineServices {
    /// Starts sampling.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn start(
        roots: SysPaths,
        interval: Duration,
        senders: FeedSenders,
    ) -> std::io::Result<Self> {
        let wanted = Arc::new(Mutex::new(Wanted::default()));
        let (mut collector, mut builder) =
            (SampleCollector::new(roots.clone()), ViewBuilder::default());
        let mut job_counter = JobCounter::new(roots.clone());
        let (snapshots, shown) = (senders.snapshots.clone(), Arc::clone(&wanted));
        let wants_units = Arc::new(AtomicBool::new(false));
        let diagnosis_watch =
            DiagnosisWatch::start(roots.clone(), senders.clone(), Arc::clone(&wants_units))?;
        let examined = diagnosis_watch.sender();
        let sampler = SampleThread::start(interval, move || {
            let mut wanted = *shown.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.units |= wants_units.load(Ordering::Relaxed);
            collector.set_wanted(wanted);
            builder.show_all_processes(wanted.all_processes);
            collector.follow_files(builder.followed_files());
            let sample = Arc::new(collector.collect());
            builder.set_job_counts(job_counter.update(&sample.processes));
            let view = Arc::new(builder.update(sample));
            snapshots.send_replace(Some(Arc::clone(&view)));
            if let Some(examined) = &examined {
                // The thread is gone once the program ends.
                let _ = examined.send(WatchCommand::Snapshot(view));
            }
        })?;
        let follower = RequestFollower::start(roots.clone(), senders.clone())?;
        let file_follower = FileFollower::start(roots.clone(), senders.clone())?;
        Ok(Self {
            roots,
            senders,
            sampler,
            follower,
            diagnosis_watch,
            file_follower,
            wanted,
            accounting_lock: None,
            running_benchmark: None,
        })
    }

    /// Changes what is sampled.
    fn want(&self, change: impl FnOnce(&mut Wanted)) {
        change(&mut self.wanted.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Performs a slow operation on a separate thread, and sends its result.
    fn run_in_background(&self, operation: impl FnOnce(&SysPaths) -> Message + Send + 'static) {
        let (roots, senders) = (self.roots.clone(), self.senders.clone());
        thread::spawn(move || {
            let message = operation(&roots);
            // The receiver is gone once the program ends.
            let _ = senders.messages.blocking_send(message);
        });
    }

    /// Sends a message that is available at once.
    fn send_message(&self, message: Message) {
        self.run_in_background(move |_| message);
    }

    fn set_accounting(&mut self, on: bool) {
        let result = if on {
            processes::enable_delay_accounting(&SettingsManager::default()).map(|lock| {
                self.accounting_lock = Some(lock);
                true
            })
        } else {
            let lock = self.accounting_lock.take();
            lock.map_or(Ok(()), |mut lock| lock.restore())
                .map(|()| false)
        };
        self.send_message(Message::AccountingChanged(result.map_err(Arc::new)));
    }

    fn start_benchmark(&mut self, spec: crate::bench::RunRequest) {
        match RunningBenchmark::start(spec, self.roots.clone(), self.senders.clone()) {
            Ok(running) => self.running_benchmark = Some(running),
            Err(error) => {
                let error = Arc::new(BenchmarkError::Thread(error));
                self.send_message(Message::BenchmarkEnded(Box::new(Err(error))));
            }
        }
    }
}

impl AppServices for MachineServices {
    fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::SetInterval(interval) => self.sampler.set_interval(interval),
            Effect::SetPaused(paused) => self.sampler.set_paused(paused),
            Effect::ShowAllProcesses(all) => self.want(|wanted| wanted.all_processes = all),
            Effect::FollowRequests(device) => self.follower.follow_device(device.map(String::from)),
            Effect::WatchCauses(shown) => self.diagnosis_watch.set_shown(shown),
            Effect::TraceCauses(tracing) => self.diagnosis_watch.set_tracing(tracing),
            Effect::ShowThreads(shown) => self.want(|wanted| wanted.threads = shown),
            Effect::TraceFiles(traced) => self.file_follower.set_tracing(traced),
            Effect::ShowMounts(shown) => self.want(|wanted| wanted.mounts = shown),
            Effect::ShowUnits(shown) => self.want(|wanted| wanted.units = shown),
            Effect::ListOpenFiles(pid) => {
                self.run_in_background(move |roots| Message::OpenFiles {
                    pid,
                    files: processes::list_open_files(roots, pid).map_err(Arc::new),
                });
            }
            Effect::ListDeletedFiles => self.run_in_background(|roots| {
                Message::DeletedFiles(processes::list_deleted_files(roots))
            }),
            Effect::ApplyProcessAction(process, action) => self.run_in_background(move |roots| {
                let outcome = processes::apply_action(roots, process, action);
                Message::ProcessActionDone(outcome.map_err(Arc::new))
            }),
            Effect::SetAccounting(on) => self.set_accounting(on),
            Effect::ListTargets => {
                self.run_in_background(|roots| Message::Targets(targets::list_targets(roots)))
            }
            Effect::InspectTarget(path) => self.run_in_background(move |roots| {
                let inspected = targets::inspect_target(roots, &path).map_err(Arc::new);
                let result = Box::new(inspected);
                Message::TargetInspected { path, result }
            }),
            Effect::InspectImpact { question, path } => self.run_in_background(move |roots| {
                let impact = consent::inspect_impact(roots, &path).map_err(Arc::new);
                Message::OverwriteImpact { question, impact }
            }),
            Effect::StartBenchmark(spec) => self.start_benchmark(*spec),
            Effect::StopBenchmark => {
                if let Some(running) = &self.running_benchmark {
                    running.stop();
                }
            }
            Effect::ListSessions => {
                self.run_in_background(|_| Message::Sessions(list_sessions().map_err(Arc::new)))
            }
            Effect::DeleteSession(path) => self.run_in_background(move |_| {
                let deleted = store::delete_session(&path).map(|()| SessionEdit::Deleted);
                Message::SessionEdited(deleted.map_err(|error| Arc::new(error.into())))
            }),
            Effect::SetSessionNote(path, note) => self.run_in_background(move |_| {
                let stored = session_archive::set_note(&path, &note);
                let stored = stored.map(|()| SessionEdit::NoteStored);
                Message::SessionEdited(stored.map_err(Arc::new))
            }),
            Effect::OpenSession(path) => self.run_in_background(move |_| {
                let opened = session_archive::open_session(path).map_err(Arc::new);
                Message::SessionOpened(Box::new(opened))
            }),
            Effect::CompareSessions(paths, ignored) => self.run_in_background(move |_| {
                let compared = session_archive::compare_sessions(paths, ignored);
                Message::SessionsCompared(Box::new(compared.map_err(Arc::new)))
            }),
            Effect::ExportSession(path) => self.run_in_background(move |_| {
                let exported = session_archive::export_session(&path, &working_directory());
                Message::SessionExported(exported.map_err(Arc::new))
            }),
            Effect::WriteReport(paths, ignored) => self.run_in_background(move |_| {
                let written = session_archive::write_report(&paths, &ignored, &working_directory());
                Message::SessionExported(written.map_err(Arc::new))
            }),
            Effect::Quit
            | Effect::Suspend
            | Effect::Redraw
            | Effect::Seek(_)
            | Effect::FindFrame { .. }
            | Effect::ExportFrame => {}
        }
    }

    fn stop_and_join(&mut self) {
        // Restores delay accounting.
        self.accounting_lock = None;
        if let Some(running) = self.running_benchmark.take() {
            running.stop_and_join();
        }
    }
}

fn working_directory() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

fn list_sessions() -> Result<Vec<SessionEntry>, ArchiveError> {
    let directory = store::sessions_directory().ok_or(ArchiveError::NoDirectory)?;
    session_archive::list_sessions(&directory)
}
