//! Progress of a program over all files that its arguments name: cp, mv, install, rsync, tar and
//! scp copy trees, and an offset in the current file says little.
//!
//! A separate thread expands the arguments, sizes the sources, and checks which files are complete.

pub mod arguments;
mod count;
mod counter;
mod job_count;
pub mod temporary_name;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::probe::copy_jobs::counter::TreeCounter;
use crate::probe::sample::{ProcessIdentity, ProcessKey, ProcessSample, process_with_id};
use crate::roots::SysPaths;

pub use self::arguments::CountMethod;
pub use self::count::FileCount;
pub use self::job_count::{EndedJob, JobCount};

/// The classification of a process.
#[derive(Debug)]
struct JudgedProcess {
    /// Its identity at that time. Between fork(2) and the end of execve(2) a process has the name
    /// or the arguments of another one, so a classification is valid for one identity only.
    identity: Arc<ProcessIdentity>,
    /// What it copies; `None` if it is no copy job.
    order: Option<Arc<arguments::CopyOrder>>,
}

/// Copy jobs that are tracked.
#[derive(Debug, Default)]
pub struct CopyJobs {
    counter: Option<TreeCounter>,
    judged_processes: BTreeMap<ProcessKey, JudgedProcess>,
}

impl CopyJobs {
    /// Stores its progress in each process that copies several files; returns the jobs whose process
    /// has ended and for which the last look at the destination is done.
    pub fn update_counts(
        &mut self,
        roots: &SysPaths,
        processes: &mut [ProcessSample],
    ) -> Vec<EndedJob> {
        let mut gone: BTreeMap<ProcessKey, ()> =
            self.judged_processes.keys().map(|key| (*key, ())).collect();
        for index in 0..processes.len() {
            let identity = &processes[index].identity;
            if !arguments::COPY_PROGRAMS.contains(&identity.program().0) {
                continue;
            }
            let key = identity.key();
            gone.remove(&key);
            let judged = self.judged_processes.get(&key);
            if judged.is_none_or(|judged| !Arc::ptr_eq(&judged.identity, identity)) {
                let identity = Arc::clone(identity);
                let order = self.start_job(roots, &identity, processes);
                self.judged_processes
                    .insert(key, JudgedProcess { identity, order });
            }
            processes[index].job_count = self.count_of(key);
        }
        for key in gone.into_keys() {
            let judged = self.judged_processes.remove(&key);
            let is_job = judged.is_some_and(|judged| judged.order.is_some());
            if let Some(counter) = self.counter.as_ref().filter(|_| is_job) {
                counter.stop_job(key);
            }
        }
        self.counter
            .as_ref()
            .map_or_else(Vec::new, TreeCounter::take_ended)
    }

    fn count_of(&self, key: ProcessKey) -> Option<JobCount> {
        let order = self.judged_processes.get(&key)?.order.as_ref()?;
        Some(JobCount {
            order: Arc::clone(order),
            count: self.counter.as_ref()?.count_of(key),
        })
    }

    fn start_job(
        &mut self,
        roots: &SysPaths,
        identity: &ProcessIdentity,
        processes: &[ProcessSample],
    ) -> Option<Arc<arguments::CopyOrder>> {
        if has_same_parent(identity, processes) {
            return None;
        }
        let (name, words) = identity.program();
        // The destination is the last of the arguments.
        if !words.ends_with(b"\0") {
            return None;
        }
        let order = Arc::new(arguments::parse_copy_order(name, words)?);
        if self.counter.is_none() {
            self.counter = TreeCounter::start();
        }
        let process = roots.proc.join(identity.pid.to_string());
        let key = identity.key();
        self.counter
            .as_ref()?
            .start_job(key, process, Arc::clone(&order));
        Some(order)
    }
}

/// Whether its parent runs the same command: rsync has a process for either end, and one between.
fn has_same_parent(identity: &ProcessIdentity, processes: &[ProcessSample]) -> bool {
    process_with_id(processes, identity.parent_pid)
        .is_some_and(|parent| parent.identity.name == identity.name)
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
        let roots = SysPaths::under_root(empty.path());
        let mut jobs = CopyJobs::default();
        let mut early = [process(b"")];
        jobs.update_counts(&roots, &mut early);
        assert_eq!(early[0].job_count, None);
        let mut whole = [process(b"cp\0-r\0tree\0copy\0")];
        jobs.update_counts(&roots, &mut whole);
        assert!(whole[0].job_count.is_some());
        jobs.update_counts(&roots, &mut []);
        assert!(jobs.judged_processes.is_empty());
    }
}
