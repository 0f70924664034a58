//! The thread that sizes what jobs shall copy and looks what has arrived.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::arguments::Order;
use super::{Count, Key};

mod tree;

use tree::Tree;

/// Time between two looks at what has arrived.
const LOOK_EVERY: Duration = Duration::from_millis(500);

enum Request {
    Begin(Key, PathBuf, Arc<Order>),
    Forget(Key),
}

type Counts = Arc<Mutex<HashMap<Key, Count>>>;

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Counter {
    requests: Sender<Request>,
    counts: Counts,
}

impl Counter {
    /// Starts it; `None` where the system has no thread to give.
    pub(super) fn start() -> Option<Self> {
        let (requests, inbox) = channel();
        let counts = Counts::default();
        let published = Arc::clone(&counts);
        thread::Builder::new()
            .name("job counter".to_owned())
            .spawn(move || work(&inbox, &published))
            .ok()?;
        Some(Self { requests, counts })
    }

    /// Follows a job; `process` is its directory below `/proc`, through which its own root and
    /// working directory are reached.
    pub(super) fn begin(&self, key: Key, process: PathBuf, order: Arc<Order>) {
        // A thread that is gone counts nothing: unknown it stays.
        let _ = self.requests.send(Request::Begin(key, process, order));
    }

    /// Its process has ended.
    pub(super) fn forget(&self, key: Key) {
        lock(&self.counts).remove(&key);
        let _ = self.requests.send(Request::Forget(key));
    }

    /// What was counted until now.
    pub(super) fn count(&self, key: Key) -> Count {
        lock(&self.counts).get(&key).copied().unwrap_or_default()
    }
}

/// A thread that panicked leaves whole numbers behind.
fn lock(counts: &Counts) -> MutexGuard<'_, HashMap<Key, Count>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work(inbox: &Receiver<Request>, counts: &Counts) {
    let mut trees: BTreeMap<Key, Tree> = BTreeMap::new();
    loop {
        let request = if trees.is_empty() {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else if trees.values().all(Tree::is_sized) {
            inbox.recv_timeout(LOOK_EVERY)
        } else {
            inbox.recv_timeout(Duration::ZERO)
        };
        match request {
            Ok(Request::Begin(key, process, order)) => {
                trees.insert(key, Tree::new(&process, &order));
            }
            Ok(Request::Forget(key)) => {
                trees.remove(&key);
                lock(counts).remove(&key);
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                for (key, tree) in &mut trees {
                    tree.go_on();
                    lock(counts).insert(*key, tree.count());
                }
            }
        }
    }
}
