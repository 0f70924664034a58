//! How far a program is with all the files that its arguments name: cp, mv, install, rsync, tar
//! and scp are asked to copy trees, and a position in the file of the moment says little.
//!
//! The arguments are expanded and the sources sized on a thread of its own, which also looks which
//! of the files have arrived.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::sample::{Identity, Process};
use crate::roots::Roots;

pub mod arguments;
mod count;
mod counter;

pub use arguments::Measure;
pub use count::Count;
use counter::Counter;

/// How far a job is, as far as was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCount {
    /// What its arguments say.
    pub order: Arc<arguments::Order>,
    /// What was counted.
    pub count: Count,
}

/// A process by its id and the moment of its beginning.
type Key = (u32, u64);

/// Jobs that are being followed.
#[derive(Debug, Default)]
pub struct Jobs {
    counter: Option<Counter>,
    /// `None`: looked at, and no job.
    known: BTreeMap<Key, Option<Arc<arguments::Order>>>,
}

impl Jobs {
    /// Notes in each process that copies several files how far it is.
    pub fn update(&mut self, roots: &Roots, processes: &mut [Process]) {
        let mut gone: BTreeMap<Key, ()> = self.known.keys().map(|key| (*key, ())).collect();
        for place in 0..processes.len() {
            let identity = &processes[place].identity;
            if !arguments::PROGRAMS.contains(&identity.name.as_slice()) {
                continue;
            }
            let key = (identity.pid, identity.start_ticks);
            gone.remove(&key);
            if !self.known.contains_key(&key) {
                let order = self.begin(roots, identity, processes);
                self.known.insert(key, order);
            }
            if let Some(Some(order)) = self.known.get(&key)
                && let Some(counter) = &self.counter
            {
                processes[place].job = Some(JobCount {
                    order: Arc::clone(order),
                    count: counter.count(key),
                });
            }
        }
        for key in gone.into_keys() {
            self.known.remove(&key);
            if let Some(counter) = &self.counter {
                counter.forget(key);
            }
        }
    }

    fn begin(
        &mut self,
        roots: &Roots,
        identity: &Identity,
        processes: &[Process],
    ) -> Option<Arc<arguments::Order>> {
        if has_same_parent(identity, processes) {
            return None;
        }
        let order = Arc::new(arguments::order(&identity.name, &identity.arguments)?);
        if self.counter.is_none() {
            self.counter = Counter::start();
        }
        let process = roots.proc.join(identity.pid.to_string());
        let key = (identity.pid, identity.start_ticks);
        self.counter
            .as_ref()?
            .begin(key, process, Arc::clone(&order));
        Some(order)
    }
}

/// Whether its parent runs the same command: rsync has a process for either end, and one between.
fn has_same_parent(identity: &Identity, processes: &[Process]) -> bool {
    processes
        .binary_search_by_key(&identity.parent, |process| process.identity.pid)
        .is_ok_and(|place| processes[place].identity.name == identity.name)
}
