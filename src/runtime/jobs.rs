//! Benchmarks on a thread of their own: one at a time.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::benchmark::{self, Beside, Order, Start, Watcher};
use super::services::Sources;
use super::threads::join_within;
use crate::app::{News, RunView, Saved};
use crate::bench::{Job, Progress};
use crate::engine::Control;
use crate::roots::Roots;
use crate::session::store;

/// How long the end of the program waits for a drive that does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A benchmark that runs.
#[derive(Debug)]
pub struct Running {
    control: Arc<Control>,
    thread: JoinHandle<()>,
}

impl Running {
    /// Starts a job; how it gets on goes to `sources`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(job: Job, roots: Roots, sources: Sources) -> std::io::Result<Self> {
        let control = Arc::new(Control::default());
        let switch = Arc::clone(&control);
        // What an earlier run left there must not be taken for this one.
        sources.progress.send_replace(None);
        let thread = thread::Builder::new()
            .name("benchmark".to_owned())
            .spawn(move || {
                let ended = measure(job, roots, &switch, &sources);
                // Nobody listens any more once the program ends.
                let _ = sources.news.blocking_send(News::Ended(Box::new(ended)));
            })?;
        Ok(Self { control, thread })
    }

    /// Asks it to stop; what was measured is kept.
    pub fn stop(&self) {
        self.control.cancel();
        self.thread.thread().unpark();
    }

    /// Stops it and waits until it is saved.
    pub fn finish(self) {
        self.stop();
        join_within(self.thread, PATIENCE);
    }
}

fn measure(
    job: Job,
    roots: Roots,
    control: &Arc<Control>,
    sources: &Sources,
) -> Result<Saved, String> {
    let order = Order {
        job,
        repeat: 1,
        keep_in: store::directory(),
        outputs: Vec::new(),
    };
    let publisher = Box::new(Publisher {
        sources: sources.clone(),
    });
    let report = benchmark::run_detached(order, roots, control, publisher)
        .map_err(|refused| format!("{refused}; {}", refused.advice()))?;
    let run = report.session.runs.into_iter().next();
    Ok(Saved {
        run: run.ok_or("nothing was measured")?,
        path: report.saved,
        problems: report.problems,
    })
}

/// Publishes how a job is getting on.
struct Publisher {
    sources: Sources,
}

impl Publisher {
    fn publish(&self, view: RunView) {
        self.sources.progress.send_replace(Some(Arc::new(view)));
    }
}

impl Watcher for Publisher {
    fn preparing(&mut self, done: u64, total: u64) {
        self.publish(RunView {
            preparing: Some((done, total)),
            ..RunView::default()
        });
    }

    fn started(&mut self, _: &Start) {
        self.publish(RunView::default());
    }

    fn progress(&mut self, progress: &Progress, beside: Beside<'_>) {
        let mut progress = progress.clone();
        if !beside.verdicts.is_empty() {
            Arc::make_mut(&mut progress.findings).verdicts = beside.verdicts.to_vec();
        }
        self.publish(RunView {
            preparing: None,
            progress,
            kernel: beside.counts.cloned(),
            stages: beside.stages.cloned(),
        });
    }
}
