//! The services on the real machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::benchmark_thread::RunningBenchmark;
use super::request_follower::RequestFollower;
use super::sampler::SampleThread;
use super::services::{AppServices, FeedSenders};
use super::{processes, session_archive, targets};
use crate::app::{Effect, Message};
use crate::benchmark_run::overwrite_consent;
use crate::drive::settings::{SettingLock, SettingsManager};
use crate::model::ViewBuilder;
use crate::probe::SampleCollector;
use crate::roots::SysPaths;
use crate::session::store;

/// Sampling, benchmarks and sessions on this machine.
#[derive(Debug)]
pub struct MachineServices {
    roots: SysPaths,
    senders: FeedSenders,
    sampler: SampleThread,
    follower: RequestFollower,
    show_all_processes: Arc<AtomicBool>,
    show_threads: Arc<AtomicBool>,
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
        sources: FeedSenders,
    ) -> std::io::Result<Self> {
        let all_processes = Arc::new(AtomicBool::new(false));
        let (mut collector, mut modeler) =
            (SampleCollector::new(roots.clone()), ViewBuilder::default());
        let (live, all) = (sources.snapshots.clone(), Arc::clone(&all_processes));
        let threads = Arc::new(AtomicBool::new(false));
        let threads_shown = Arc::clone(&threads);
        let sampler = SampleThread::start(interval, move || {
            collector.set_show_threads(threads_shown.load(Ordering::Relaxed));
            let all = all.load(Ordering::Relaxed);
            collector.set_show_all(all);
            modeler.show_all_processes(all);
            let view = modeler.update(Arc::new(collector.collect()));
            live.send_replace(Some(Arc::new(view)));
        })?;
        let follower = RequestFollower::start(roots.clone(), sources.clone())?;
        Ok(Self {
            roots,
            senders: sources,
            sampler,
            follower,
            show_all_processes: all_processes,
            show_threads: threads,
            accounting_lock: None,
            running_benchmark: None,
        })
    }

    /// Performs a slow operation on a separate thread, and sends its result.
    fn run_in_background(&self, question: impl FnOnce(&SysPaths) -> Message + Send + 'static) {
        let (roots, sources) = (self.roots.clone(), self.senders.clone());
        thread::spawn(move || {
            let answer = question(&roots);
            // The receiver is gone once the program ends.
            let _ = sources.messages.blocking_send(answer);
        });
    }

    /// Sends a message that is available at once.
    fn send_message(&self, news: Message) {
        self.run_in_background(move |_| news);
    }

    fn set_accounting(&mut self, on: bool) {
        let done = if on {
            processes::enable_delay_accounting(&SettingsManager::default()).map(|guard| {
                self.accounting_lock = Some(guard);
                true
            })
        } else {
            let guard = self.accounting_lock.take();
            guard
                .map_or(Ok(()), SettingLock::restore_original)
                .map(|()| false)
                .map_err(|error| format!("{error}; {}", error.advice()))
        };
        self.send_message(Message::AccountingChanged(done));
    }

    fn start_benchmark(&mut self, job: crate::bench::BenchmarkSpec) {
        match RunningBenchmark::start(job, self.roots.clone(), self.senders.clone()) {
            Ok(running) => self.running_benchmark = Some(running),
            Err(error) => {
                let message = format!("cannot start a thread for the benchmark: {error}");
                self.run_in_background(move |_| Message::BenchmarkEnded(Box::new(Err(message))));
            }
        }
    }
}

impl AppServices for MachineServices {
    fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::SetInterval(interval) => self.sampler.set_interval(interval),
            Effect::SetPaused(paused) => self.sampler.set_paused(paused),
            Effect::ShowAllProcesses(all) => self.show_all_processes.store(all, Ordering::Relaxed),
            Effect::FollowRequests(device) => self.follower.follow_device(device.map(String::from)),
            Effect::ShowThreads(shown) => self.show_threads.store(shown, Ordering::Relaxed),
            Effect::ListOpenFiles(pid) => {
                self.run_in_background(move |roots| {
                    Message::OpenFiles(pid, processes::list_open_files(roots, pid))
                });
            }
            Effect::ListDeletedFiles => self.run_in_background(|roots| {
                Message::DeletedFiles(processes::list_deleted_files(roots))
            }),
            Effect::ApplyProcessAction(victim, deed) => {
                self.run_in_background(move |roots| {
                    Message::ProcessActionDone(processes::apply_action(roots, victim, deed))
                });
            }
            Effect::SetAccounting(on) => self.set_accounting(on),
            Effect::ListTargets => {
                self.run_in_background(|roots| Message::Targets(targets::list_targets(roots)))
            }
            Effect::InspectTarget(path) => self.run_in_background(move |roots| {
                Message::TargetInspected(Box::new(targets::inspect_target(roots, &path)))
            }),
            Effect::InspectImpact(path) => self.run_in_background(move |roots| {
                let stakes = overwrite_consent::inspect_impact(roots, &path);
                Message::OverwriteImpact(path, stakes)
            }),
            Effect::StartBenchmark(job) => self.start_benchmark(*job),
            Effect::StopBenchmark => {
                if let Some(running) = &self.running_benchmark {
                    running.stop();
                }
            }
            Effect::ListSessions => self.run_in_background(|_| Message::Sessions(list_sessions())),
            Effect::OpenSession(path) => self.run_in_background(move |_| {
                Message::SessionOpened(Box::new(session_archive::open_session(path)))
            }),
            Effect::CompareSessions(paths, ignored) => self.run_in_background(move |_| {
                Message::SessionsCompared(Box::new(session_archive::compare_sessions(
                    paths, ignored,
                )))
            }),
            Effect::ExportSession(path) => self.run_in_background(move |_| {
                Message::SessionExported(session_archive::export_session(
                    &path,
                    &working_directory(),
                ))
            }),
            Effect::WriteReport(paths, ignored) => self.run_in_background(move |_| {
                Message::SessionExported(session_archive::write_report(
                    &paths,
                    &ignored,
                    &working_directory(),
                ))
            }),
            Effect::Quit
            | Effect::Suspend
            | Effect::Redraw
            | Effect::Seek(_)
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

fn list_sessions() -> Result<Vec<crate::app::SessionEntry>, String> {
    match store::sessions_directory() {
        Some(directory) => session_archive::list_sessions(&directory),
        None => Err("neither XDG_STATE_HOME nor HOME is set: nothing is saved".to_owned()),
    }
}
