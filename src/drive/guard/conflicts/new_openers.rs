//! Processes that open a medium, or what shares bytes with it, while it is written. Nothing keeps a
//! process from that that takes no locks, or whose locks are on another node of the device.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::drive::guard::conflicts::device_stack::StackSearch;
use crate::drive::guard::conflicts::file_locks::{LOCK_RETRY_INTERVAL, LOCK_TIMEOUT};
use crate::drive::guard::conflicts::open_file::OpenKind;
use crate::drive::guard::conflicts::open_users::{
    ProcessExaminer, ProcessUses, UnexaminedProcesses,
};
use crate::drive::guard::conflicts::process_list;
use crate::drive::guard::conflicts::process_list::{ListedProcess, ProcessList};
use crate::drive::guard::conflicts::process_schedule::{MAX_FAILURES, ProcessSchedule};
use crate::drive::guard::conflicts::unseen_processes::UnseenProcesses;
use crate::drive::guard::conflicts::use_conflict::UnresolvedUse;
use crate::drive::guard::refusal::Refusal;
use crate::drive::medium::FileId;
use crate::drive::medium::open_medium::OpenMedium;
use crate::roots::SysPaths;

/// How often the processes are listed.
const LIST_INTERVAL: Duration = Duration::from_secs(1);
/// CPU time per look for processes that were examined before. Asked ten times a second, that is 1 %
/// of one CPU.
const LOOK_CPU_TIME: Duration = Duration::from_millis(1);

/// Most CPU time that looks without an examination make up for: processes that are started all the time
/// do not keep the others from being examined.
const MAX_DEBT_NS: i64 = -100_000_000;

/// Where the examination of processes is; kept while what is searched for changes.
#[derive(Debug)]
pub(in crate::drive::guard) struct OpenerProgress {
    schedule: ProcessSchedule,
    /// When the processes were last listed; `None` before the first time.
    listed: Option<Instant>,
    /// What is left of the CPU time, in nanoseconds. An examination that takes long is made up for by
    /// looks without one.
    budget_ns: i64,
    failed_lists: u32,
}

impl OpenerProgress {
    /// Begins with the processes that were examined when the permit was given.
    pub(in crate::drive::guard) fn after(examined: &ProcessList) -> Self {
        Self {
            schedule: ProcessSchedule::with_examined(examined.listed(), Instant::now()),
            listed: None,
            budget_ns: 0,
            failed_lists: 0,
        }
    }

    fn refill(&mut self) {
        let most = nanoseconds(LOOK_CPU_TIME);
        self.budget_ns = self.budget_ns.saturating_add(most).min(most);
    }
}

/// What is compared with what processes have open.
pub(in crate::drive::guard) struct OpenerSearch<'a> {
    roots: &'a SysPaths,
    medium: &'a OpenMedium,
    shared: StackSearch<'a>,
    examiner: ProcessExaminer<'a>,
}

impl<'a> OpenerSearch<'a> {
    /// Searches what shares bytes with the medium.
    ///
    /// # Errors
    /// When a table of the kernel cannot be read.
    pub(in crate::drive::guard) fn new(
        roots: &'a SysPaths,
        medium: &'a OpenMedium,
    ) -> Result<Self, Refusal> {
        let name = &medium.target.name;
        let mut shared = StackSearch::new(roots, name)?;
        shared.search_target(medium.file_id(), name, Some(medium.anchor()))?;
        Ok(Self {
            roots,
            medium,
            shared,
            examiner: ProcessExaminer::new(roots),
        })
    }

    /// Whether it is time to list the processes again.
    pub(in crate::drive::guard) fn is_list_due(progress: &OpenerProgress) -> bool {
        let listed = progress.listed.as_ref();
        listed.is_none_or(|at| at.elapsed() >= LIST_INTERVAL)
    }

    /// Examines new processes, and some of the others. `go_on` is asked before each, and while a use is
    /// waited for.
    ///
    /// # Errors
    /// The use that forbids writing.
    pub(in crate::drive::guard) fn look(
        &mut self,
        progress: &mut OpenerProgress,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), Refusal> {
        if Self::is_list_due(progress) {
            self.list(progress)?;
        }
        progress.refill();
        let now = Instant::now();
        while go_on() {
            let mut next = progress.schedule.next_new();
            if next.is_none() && progress.budget_ns > 0 {
                next = progress.schedule.next_known(now);
            }
            let Some(process) = next else {
                break;
            };
            let before = thread_cpu_time();
            let examined = self.examine(process, progress, go_on);
            let spent = nanoseconds(thread_cpu_time().saturating_sub(before));
            progress.budget_ns = progress.budget_ns.saturating_sub(spent).max(MAX_DEBT_NS);
            examined?;
        }
        Ok(())
    }

    fn list(&mut self, progress: &mut OpenerProgress) -> Result<(), Refusal> {
        let now = Instant::now();
        progress.listed = Some(now);
        self.check_nfs_clients()?;
        self.examiner.renew_special_files();
        match process_list::list_identified(self.roots) {
            Ok(listed) => {
                progress.failed_lists = 0;
                progress.schedule.update(&listed, now);
                Ok(())
            }
            Err(error) => {
                progress.failed_lists += 1;
                if progress.failed_lists < MAX_FAILURES {
                    return Ok(());
                }
                self.unseen(UnseenProcesses::ExaminationFailed {
                    count: 0,
                    process: 0,
                    reason: error.to_string(),
                })
            }
        }
    }

    /// Clients of the NFS server, for which no process has the file open.
    fn check_nfs_clients(&self) -> Result<(), Refusal> {
        let name = &self.medium.target.name;
        let mut found = self.shared.find_nfs_clients();
        if !found.conflicts.is_empty() {
            return Err(Refusal::InUse {
                name: name.clone(),
                conflicts: found.conflicts,
            });
        }
        // Tables that cannot be read now could be read when the permit was given. Of a regular file a lease
        // has proven that it was another one.
        let is_client = |it: &UnresolvedUse| matches!(it, UnresolvedUse::OpenByNfsClient { .. });
        found.unresolved.retain(is_client);
        if self.is_device() && !found.unresolved.is_empty() {
            return Err(Refusal::Unresolved {
                name: name.clone(),
                unresolved: found.unresolved,
            });
        }
        Ok(())
    }

    fn examine(
        &mut self,
        process: ListedProcess,
        progress: &mut OpenerProgress,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), Refusal> {
        let found = self.lasting_uses(&process, go_on);
        let directory = self.roots.proc.join(process.process.to_string());
        let mut unexamined = UnexaminedProcesses::default();
        for error in &found.errors {
            unexamined.add(&process, &directory, error);
        }
        self.check_uses(found)?;
        let unseen = unexamined.into_unseen(|| process_list::may_examine_all(self.roots));
        let fails = progress
            .schedule
            .examined(process, unseen.is_some(), Instant::now());
        match unseen {
            Some(unseen) if fails => self.unseen(unseen),
            _ => Ok(()),
        }
    }

    /// What a process uses for more than a brief moment. Nothing lasts when there is nothing more to examine.
    fn lasting_uses(&mut self, process: &ListedProcess, go_on: &dyn Fn() -> bool) -> ProcessUses {
        let began = Instant::now();
        let shared = &self.shared;
        loop {
            let mut found = self
                .examiner
                .examine(process, &|id, path| shared.compare_with_all(id, path));
            // udev examines a disk after each change of one of its partitions.
            found
                .users
                .retain(|user| user.kind != OpenKind::LockedByReader);
            let is_unused = found.users.is_empty() && !found.incomparable;
            if is_unused || began.elapsed() > LOCK_TIMEOUT {
                return found;
            }
            if !go_on() {
                return ProcessUses::default();
            }
            std::thread::park_timeout(LOCK_RETRY_INTERVAL);
        }
    }

    fn check_uses(&self, found: ProcessUses) -> Result<(), Refusal> {
        let name = &self.medium.target.name;
        let users = found.users.into_iter().filter_map(|user| {
            let device = self.shared.shared_name(user.id, name);
            user.into_conflict(device)
        });
        let conflicts: Vec<_> = users.collect();
        if !conflicts.is_empty() {
            return Err(Refusal::InUse {
                name: name.clone(),
                conflicts,
            });
        }
        // That nobody had a regular file open was proven by a lease.
        if found.incomparable && self.is_device() {
            return Err(Refusal::Unresolved {
                name: name.clone(),
                unresolved: vec![self.shared.incomparable_file(name)],
            });
        }
        Ok(())
    }

    /// Processes of which it is not known what they have open. They forbid writing to a device, as
    /// when the permit was given.
    fn unseen(&self, unseen: UnseenProcesses) -> Result<(), Refusal> {
        if !self.is_device() {
            return Ok(());
        }
        Err(Refusal::Unresolved {
            name: self.medium.target.name.clone(),
            unresolved: vec![UnresolvedUse::OpenDescriptors(unseen)],
        })
    }

    fn is_device(&self) -> bool {
        matches!(self.medium.file_id(), FileId::Device(..))
    }
}

fn thread_cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
