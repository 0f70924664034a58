//! The thread that sizes the sources of copy jobs and checks their destinations.

mod arrivals;
mod paths;
mod tree;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::probe::copy_jobs::arguments::CopyOrder;
use crate::probe::copy_jobs::count::FileCount;
use crate::probe::copy_jobs::counter::tree::CopyTree;
use crate::probe::copy_jobs::job_count::EndedJob;
use crate::probe::sample::ProcessKey;

/// Interval between checks of the destination.
const RECOUNT_INTERVAL: Duration = Duration::from_millis(500);
/// Pause between two steps while sources are looked for, so that they do not take a whole processor.
const STEP_PAUSE: Duration = Duration::from_millis(5);
/// Jobs that are counted at once: any user can start more.
const MAX_JOBS: usize = 32;
/// Bytes of the names of all jobs; with more, the largest job is counted without names.
const MAX_NAME_BYTES: usize = 64 << 20;

enum CountRequest {
    Start(ProcessKey, PathBuf, Arc<CopyOrder>),
    Stop(ProcessKey),
}

/// What the thread has counted.
#[derive(Debug, Default)]
struct JobCounts {
    running: HashMap<ProcessKey, FileCount>,
    ended: Vec<EndedJob>,
}

type SharedCounts = Arc<Mutex<JobCounts>>;

/// Handle of the thread; dropping it ends the thread.
#[derive(Debug)]
pub(super) struct TreeCounter {
    requests: Sender<CountRequest>,
    counts: SharedCounts,
}

impl TreeCounter {
    /// Starts the thread; `None` where that fails.
    pub(super) fn start() -> Option<Self> {
        let (requests, inbox) = channel();
        let counts = SharedCounts::default();
        let published = Arc::clone(&counts);
        thread::Builder::new()
            .name("job counter".to_owned())
            .spawn(move || count_loop(&inbox, &published))
            .ok()?;
        Some(Self { requests, counts })
    }

    /// Starts counting a job; `process` is its directory below `/proc`, through which its root and
    /// working directory are reached.
    pub(super) fn start_job(&self, key: ProcessKey, process: PathBuf, order: Arc<CopyOrder>) {
        // A thread that has ended counts nothing: the counts stay unknown.
        let _ = self.requests.send(CountRequest::Start(key, process, order));
    }

    /// Stops counting a job whose process has ended, after a last look at its destination.
    pub(super) fn stop_job(&self, key: ProcessKey) {
        let _ = self.requests.send(CountRequest::Stop(key));
    }

    /// The counts so far.
    pub(super) fn count_of(&self, key: ProcessKey) -> FileCount {
        lock_counts(&self.counts)
            .running
            .get(&key)
            .copied()
            .unwrap_or_default()
    }

    /// The jobs for which the last look is done, once each.
    pub(super) fn take_ended(&self) -> Vec<EndedJob> {
        std::mem::take(&mut lock_counts(&self.counts).ended)
    }
}

/// A thread that panicked leaves consistent counts.
fn lock_counts(counts: &SharedCounts) -> MutexGuard<'_, JobCounts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets the names of the largest jobs until the rest is within [`MAX_NAME_BYTES`].
fn limit_names(trees: &mut BTreeMap<ProcessKey, CopyTree>) {
    while trees.values().map(CopyTree::name_bytes).sum::<usize>() > MAX_NAME_BYTES {
        let Some(largest) = trees.values_mut().max_by_key(|tree| tree.name_bytes()) else {
            return;
        };
        largest.forget_names();
    }
}

fn count_loop(inbox: &Receiver<CountRequest>, counts: &SharedCounts) {
    let mut trees: BTreeMap<ProcessKey, CopyTree> = BTreeMap::new();
    loop {
        let request = if trees.is_empty() {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else if trees.values().all(CopyTree::is_complete) {
            inbox.recv_timeout(RECOUNT_INTERVAL)
        } else {
            inbox.recv_timeout(STEP_PAUSE)
        };
        match request {
            Ok(CountRequest::Start(..)) if trees.len() >= MAX_JOBS => {}
            Ok(CountRequest::Start(key, process, order)) => {
                trees.insert(key, CopyTree::new(&process, &order));
            }
            Ok(CountRequest::Stop(key)) => {
                let tree = trees.remove(&key);
                let count = tree.and_then(|mut tree| tree.last_look());
                let mut counts = lock_counts(counts);
                counts.running.remove(&key);
                let (pid, start_ticks) = key;
                counts.ended.push(EndedJob {
                    pid,
                    start_ticks,
                    count,
                });
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                for tree in trees.values_mut() {
                    tree.next_step();
                }
                limit_names(&mut trees);
                for (key, tree) in &trees {
                    lock_counts(counts)
                        .running
                        .insert(*key, tree.current_count());
                }
            }
        }
    }
}
