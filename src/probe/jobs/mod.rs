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

/// What a process was taken for.
#[derive(Debug)]
struct Judged {
    /// Who it was then. Between fork(2) and the end of execve(2) a process has the name or the
    /// arguments of another one, so a judgement holds for one identity only.
    identity: Arc<Identity>,
    /// What it copies; `None`: no job.
    order: Option<Arc<arguments::Order>>,
}

/// Jobs that are being followed.
#[derive(Debug, Default)]
pub struct Jobs {
    counter: Option<Counter>,
    known: BTreeMap<Key, Judged>,
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
            let judged = self.known.get(&key);
            if judged.is_none_or(|judged| !Arc::ptr_eq(&judged.identity, identity)) {
                let identity = Arc::clone(identity);
                let order = self.begin(roots, &identity, processes);
                self.known.insert(key, Judged { identity, order });
            }
            processes[place].job = self.count(key);
        }
        for key in gone.into_keys() {
            self.known.remove(&key);
            if let Some(counter) = &self.counter {
                counter.forget(key);
            }
        }
    }

    fn count(&self, key: Key) -> Option<JobCount> {
        let order = self.known.get(&key)?.order.as_ref()?;
        Some(JobCount {
            order: Arc::clone(order),
            count: self.counter.as_ref()?.count(key),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn process(arguments: &[u8]) -> Process {
        Process {
            identity: Arc::new(Identity {
                pid: 7,
                name: b"cp".to_vec(),
                arguments: arguments.to_vec(),
                ..Identity::default()
            }),
            ..Process::default()
        }
    }

    #[test]
    fn a_process_seen_before_its_arguments_were_there_is_judged_anew() {
        let empty = tempfile::tempdir().unwrap();
        let roots = Roots::below(empty.path());
        let mut jobs = Jobs::default();
        let mut early = [process(b"")];
        jobs.update(&roots, &mut early);
        assert_eq!(early[0].job, None);
        let mut whole = [process(b"cp\0-r\0tree\0copy\0")];
        jobs.update(&roots, &mut whole);
        assert!(whole[0].job.is_some());
        jobs.update(&roots, &mut []);
        assert!(jobs.known.is_empty());
    }
}
