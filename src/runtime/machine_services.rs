//! The services on the real machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::follower::Follower;
use super::jobs::Running;
use super::sampler::Sampler;
use super::services::{Services, Sources};
use super::{archive, overwrite, processes, targets};
use crate::app::{Effect, News};
use crate::drive::settings::{Guard, Settings};
use crate::model::Modeler;
use crate::probe::Collector;
use crate::roots::Roots;
use crate::session::store;

/// Sampling, measuring and saving on this machine.
#[derive(Debug)]
pub struct Machine {
    roots: Roots,
    sources: Sources,
    sampler: Sampler,
    follower: Follower,
    all_processes: Arc<AtomicBool>,
    threads: Arc<AtomicBool>,
    accounting: Option<Guard>,
    running: Option<Running>,
}

impl Machine {
    /// Begins to take samples.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(roots: Roots, interval: Duration, sources: Sources) -> std::io::Result<Self> {
        let all_processes = Arc::new(AtomicBool::new(false));
        let (mut collector, mut modeler) = (Collector::new(roots.clone()), Modeler::default());
        let (live, all) = (sources.live.clone(), Arc::clone(&all_processes));
        let threads = Arc::new(AtomicBool::new(false));
        let threads_shown = Arc::clone(&threads);
        let sampler = Sampler::start(interval, move || {
            collector.show_threads(threads_shown.load(Ordering::Relaxed));
            let all = all.load(Ordering::Relaxed);
            collector.show_all(all);
            modeler.show_all_processes(all);
            let view = modeler.update(Arc::new(collector.collect()));
            live.send_replace(Some(Arc::new(view)));
        })?;
        let follower = Follower::start(roots.clone(), sources.clone())?;
        Ok(Self {
            roots,
            sources,
            sampler,
            follower,
            all_processes,
            threads,
            accounting: None,
            running: None,
        })
    }

    /// Does something that may take a while on a thread of its own, and tells what came of it.
    fn ask(&self, question: impl FnOnce(&Roots) -> News + Send + 'static) {
        let (roots, sources) = (self.roots.clone(), self.sources.clone());
        thread::spawn(move || {
            let answer = question(&roots);
            // Nobody listens any more once the program ends.
            let _ = sources.news.blocking_send(answer);
        });
    }

    /// Tells something that is known already.
    fn tell(&self, news: News) {
        self.ask(move |_| news);
    }

    fn account(&mut self, on: bool) {
        let done = if on {
            processes::count_waiting(&Settings::default()).map(|guard| {
                self.accounting = Some(guard);
                true
            })
        } else {
            let guard = self.accounting.take();
            guard
                .map_or(Ok(()), Guard::put_back)
                .map(|()| false)
                .map_err(|error| format!("{error}; {}", error.advice()))
        };
        self.tell(News::Accounting(done));
    }

    fn measure(&mut self, job: crate::bench::Job) {
        match Running::start(job, self.roots.clone(), self.sources.clone()) {
            Ok(running) => self.running = Some(running),
            Err(error) => {
                let message = format!("cannot start a thread for the benchmark: {error}");
                self.ask(move |_| News::Ended(Box::new(Err(message))));
            }
        }
    }
}

impl Services for Machine {
    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::SetInterval(interval) => self.sampler.set_interval(interval),
            Effect::Pause(paused) => self.sampler.pause(paused),
            Effect::ShowAll(all) => self.all_processes.store(all, Ordering::Relaxed),
            Effect::Follow(device) => self.follower.follow(device.map(String::from)),
            Effect::ShowThreads(shown) => self.threads.store(shown, Ordering::Relaxed),
            Effect::ListFiles(pid) => {
                self.ask(move |roots| News::Files(pid, processes::files(roots, pid)));
            }
            Effect::ListDeleted => self.ask(|roots| News::Deleted(processes::deleted(roots))),
            Effect::Do(victim, deed) => {
                self.ask(move |roots| News::Done(processes::act(roots, victim, deed)));
            }
            Effect::Account(on) => self.account(on),
            Effect::ListTargets => self.ask(|roots| News::Targets(targets::list(roots))),
            Effect::Inspect(path) => {
                self.ask(move |roots| News::Inspected(Box::new(targets::inspect(roots, &path))))
            }
            Effect::Weigh(path) => self.ask(move |roots| {
                let stakes = overwrite::stakes(roots, &path);
                News::AtStake(path, stakes)
            }),
            Effect::Start(job) => self.measure(*job),
            Effect::Stop => {
                if let Some(running) = &self.running {
                    running.stop();
                }
            }
            Effect::ListSessions => self.ask(|_| News::Sessions(sessions())),
            Effect::Open(path) => self.ask(move |_| News::Opened(Box::new(archive::open(path)))),
            Effect::Compare(paths, ignored) => {
                self.ask(move |_| News::Compared(Box::new(archive::compare(paths, ignored))))
            }
            Effect::Export(path) => {
                self.ask(move |_| News::Exported(archive::export(&path, &here())))
            }
            Effect::Report(paths, ignored) => {
                self.ask(move |_| News::Exported(archive::report(&paths, &ignored, &here())))
            }
            Effect::Quit
            | Effect::Suspend
            | Effect::Redraw
            | Effect::Travel(_)
            | Effect::ExportView => {}
        }
    }

    fn finish(&mut self) {
        // Puts delay accounting back.
        self.accounting = None;
        if let Some(running) = self.running.take() {
            running.finish();
        }
    }
}

fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

fn sessions() -> Result<Vec<crate::app::SessionEntry>, String> {
    match store::directory() {
        Some(directory) => archive::list(&directory),
        None => Err("neither XDG_STATE_HOME nor HOME is set: nothing is saved".to_owned()),
    }
}
