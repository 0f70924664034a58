//! Progress of a program over all files that its arguments name: an offset in the current file says
//! little of a copied tree.
//!
//! A separate thread finds the sources, sums their sizes, and looks which files have arrived at the
//! destination. The thread that takes the samples tells it what runs, and takes its counts.

mod arrivals;
mod paths;
mod tree;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::tree::CopyTree;
use super::arguments::{CopyOrder, parse_copy_order};
use crate::probe::sample::{ProcessIdentity, ProcessKey, ProcessSample, process_with_id};
use crate::roots::SysPaths;

pub use self::tree::FileCount;

/// Interval between checks of the destination.
const RECOUNT_INTERVAL: Duration = Duration::from_millis(500);
/// A check that takes longer is followed by a pause of so many times its duration.
const IDLE_FACTOR: u32 = 10;
/// Pause between two steps while sources are looked for, so that they do not take a whole processor.
const STEP_PAUSE: Duration = Duration::from_millis(5);
/// Jobs that are counted at once: any user can start more.
const MAX_JOBS: usize = 32;
/// Bytes of the names that are remembered, of all jobs together.
const MAX_NAME_BYTES: usize = 64 << 20;

/// A job whose process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCount {
    /// What its arguments request.
    pub order: Arc<CopyOrder>,
    /// The counts so far.
    pub count: FileCount,
}

/// What is counted at the time of a sample.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// The jobs whose process runs.
    pub running: BTreeMap<ProcessKey, JobCount>,
    /// The jobs whose process has ended and for which the last look at the destination is done, once
    /// each, with their final counts; `None` where these cannot be determined.
    pub ended: Vec<(ProcessKey, Option<FileCount>)>,
}

/// Counts the files of jobs.
#[derive(Debug)]
pub struct JobCounter {
    roots: SysPaths,
    /// To the thread, which ends with this sender. A thread that has ended counts nothing: the counts
    /// stay unknown.
    requests: Sender<CountRequest>,
    counts: Arc<Mutex<JobCounts>>,
    /// The processes whose arguments were looked at. Between fork(2) and the end of execve(2) a process
    /// has the name or the arguments of another one, so what was found is valid for one identity only.
    judged: BTreeMap<ProcessKey, Arc<ProcessIdentity>>,
}

impl JobCounter {
    /// Creates a counter that counts nothing yet, with its thread. Where that cannot be started, all
    /// counts stay unknown.
    #[must_use]
    pub fn new(roots: SysPaths) -> Self {
        let (requests, inbox) = channel();
        let counts = Arc::<Mutex<JobCounts>>::default();
        let published = Arc::clone(&counts);
        let thread = thread::Builder::new().name("job counter".to_owned());
        let _ = thread.spawn(move || count_loop(&inbox, &published));
        Self {
            roots,
            requests,
            counts,
            judged: BTreeMap::new(),
        }
    }

    /// The counts of the jobs among the processes of a sample.
    pub fn update(&mut self, processes: &[ProcessSample]) -> JobCounts {
        // Arguments are known of processes that have transferred something.
        let with_arguments = processes
            .iter()
            .filter(|it| !it.identity.arguments.is_empty());
        for ProcessSample { identity, .. } in with_arguments {
            let known = self.judged.insert(identity.key(), Arc::clone(identity));
            if !known.is_some_and(|known| Arc::ptr_eq(&known, identity)) {
                self.start_job(identity, processes);
            }
        }
        let is_running = |key: &ProcessKey| {
            let process = process_with_id(processes, key.0);
            process.is_some_and(|process| process.identity.key() == *key)
        };
        self.judged.retain(|key, _| is_running(key));
        let mut counts = lock(&self.counts);
        counts.running.retain(|key, _| {
            let is_over = !is_running(key);
            if is_over {
                let _ = self.requests.send(CountRequest::Stop(*key));
            }
            !is_over
        });
        JobCounts {
            running: counts.running.clone(),
            ended: std::mem::take(&mut counts.ended),
        }
    }

    /// Starts the job that the arguments of a process request, if they do, in place of an earlier one.
    fn start_job(&self, identity: &ProcessIdentity, processes: &[ProcessSample]) {
        let (name, words) = identity.program();
        let key = identity.key();
        // The destination is the last of the arguments, which may have been cut off.
        let order = parse_copy_order(name, words)
            .filter(|_| words.ends_with(b"\0") && !has_same_parent(identity, processes));
        let Some(order) = order.map(Arc::new) else {
            if lock(&self.counts).running.remove(&key).is_some() {
                let _ = self.requests.send(CountRequest::Stop(key));
            }
            return;
        };
        let job = JobCount {
            order: Arc::clone(&order),
            count: FileCount::default(),
        };
        lock(&self.counts).running.insert(key, job);
        let process = self.roots.proc.join(identity.pid.to_string());
        let _ = self.requests.send(CountRequest::Start(key, process, order));
    }
}

/// Whether its parent runs the same command: rsync has a process for either end, and one between.
fn has_same_parent(identity: &ProcessIdentity, processes: &[ProcessSample]) -> bool {
    process_with_id(processes, identity.parent_pid)
        .is_some_and(|parent| parent.identity.name == identity.name)
}

#[derive(Debug)]
enum CountRequest {
    /// With the directory of the process below `/proc`, through which its root and its working directory
    /// are reached.
    Start(ProcessKey, PathBuf, Arc<CopyOrder>),
    Stop(ProcessKey),
}

/// A thread that panicked leaves consistent counts.
fn lock(counts: &Mutex<JobCounts>) -> MutexGuard<'_, JobCounts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn count_loop(inbox: &Receiver<CountRequest>, counts: &Mutex<JobCounts>) {
    let mut trees: BTreeMap<ProcessKey, CopyTree> = BTreeMap::new();
    let mut step_time = Duration::ZERO;
    loop {
        let request = if trees.is_empty() {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else if trees.values().all(CopyTree::is_complete) {
            inbox.recv_timeout(RECOUNT_INTERVAL.max(step_time * IDLE_FACTOR))
        } else {
            inbox.recv_timeout(STEP_PAUSE)
        };
        match request {
            Ok(CountRequest::Start(key, process, order)) => {
                if trees.len() < MAX_JOBS {
                    trees.insert(key, CopyTree::new(&process, order));
                }
            }
            Ok(CountRequest::Stop(key)) => {
                let count = trees.remove(&key).and_then(|mut tree| tree.last_look());
                lock(counts).ended.push((key, count));
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let begin = Instant::now();
                let name_bytes = MAX_NAME_BYTES / trees.len().max(1);
                for (key, tree) in &mut trees {
                    tree.next_step(name_bytes);
                    if let Some(job) = lock(counts).running.get_mut(key) {
                        job.count = tree.current_count();
                    }
                }
                step_time = begin.elapsed();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(arguments: &[u8]) -> ProcessSample {
        ProcessSample {
            identity: Arc::new(ProcessIdentity {
                pid: 7,
                name: b"cp".to_vec(),
                arguments: arguments.to_vec(),
                ..ProcessIdentity::default()
            }),
            ..ProcessSample::default()
        }
    }

    #[test]
    fn process_is_judged_again_when_its_arguments_appear() {
        let empty = tempfile::tempdir().unwrap();
        let mut jobs = JobCounter::new(SysPaths::under_root(empty.path()));
        assert_eq!(jobs.update(&[process(b"")]), JobCounts::default());
        assert!(jobs.update(&[process(b"cp\0")]).running.is_empty());
        let counts = jobs.update(&[process(b"cp\0-r\0tree\0copy\0")]);
        assert_eq!(counts.running.len(), 1);
        jobs.update(&[]);
        assert!(jobs.judged.is_empty());
    }
}
