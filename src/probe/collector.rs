//! The sampler.

use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::jobs::Jobs;
use super::mounts::MountWatch;
use super::processes::{Processes, WaitSource};
use super::sample::{Disk, Host, Notice, Sample};
use super::taskstats::Taskstats;
use super::text::{read, read_word};
use super::{diskstats, host};
use crate::drive::identity::list;
use crate::drive::{Drive, FileSystem, file_systems};
use crate::roots::Roots;

/// Facts about drives are read again after this time at the latest: a file system was mounted, a
/// scheduler changed.
const FACTS_LAST: Duration = Duration::from_secs(15);

/// Takes samples. Keeps what it needs between them: open files, facts that seldom change.
#[derive(Debug)]
pub struct Collector {
    roots: Roots,
    processes: Processes,
    mounts: MountWatch,
    taskstats: Option<Taskstats>,
    host: Host,
    disks: Vec<Disk>,
    drives: Arc<[Drive]>,
    file_systems: Arc<[FileSystem]>,
    jobs: Jobs,
    drives_read: Option<Duration>,
}

impl Collector {
    /// Prepares for taking samples; reads nothing of the moment yet.
    ///
    /// Raises the soft limit of open files of this process to the hard one, because descriptors
    /// of other processes' counters are kept open.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        // A socket reaches the kernel that runs, which is not the one that a test describes.
        let taskstats = (roots == Roots::default()).then(Taskstats::open).flatten();
        Self {
            processes: Processes::new(&roots),
            mounts: MountWatch::new(&roots),
            taskstats,
            host: Host::default(),
            disks: Vec::new(),
            drives: Arc::default(),
            file_systems: Arc::default(),
            jobs: Jobs::default(),
            drives_read: None,
            roots,
        }
    }

    /// Whether the threads of processes that move something are told one by one, from the next
    /// sample on.
    pub fn show_threads(&mut self, shown: bool) {
        self.processes.show_threads(shown);
    }

    /// Whether processes that do nothing are shown too, from the next sample on: otherwise who they
    /// are is not looked up.
    pub fn show_all(&mut self, shown: bool) {
        self.processes.show_all(shown);
    }

    /// Takes a sample. What cannot be read is missing from it, and a notice says why.
    pub fn collect(&mut self) -> Sample {
        let mut notices = Vec::new();
        let at = now();
        let host = host::read_host(&self.roots, &self.host);
        let charged = host.traffic.zip(self.host.traffic);
        let charged = charged.map(|(now, before)| now.charged_since(&before));
        self.host = host;
        let disks = match read(&self.roots.proc.join("diskstats")) {
            Some(text) => diskstats::parse(&text),
            None => {
                notices.push(Notice::NoDiskstats);
                Vec::new()
            }
        };
        if self.mounts.has_changed() || self.facts_are_stale(&disks, at) {
            self.drives_read = Some(at);
            self.renew_drives();
        }
        self.disks.clone_from(&disks);
        let waits = self.wait_source();
        self.processes.update(&self.roots, waits, (at, charged));
        if waits == WaitSource::Taskstats {
            self.ask_taskstats();
        }
        self.processes.identify();
        if waits == WaitSource::None {
            notices.push(Notice::DelayAccountingOff);
        }
        notices.extend(self.processes.notice());
        if self.host.pressure.is_none() {
            notices.push(Notice::NoPressure);
        }
        let mut processes = self.processes.snapshot();
        self.jobs.update(&self.roots, &mut processes);
        Sample {
            at,
            time: jiff::Timestamp::now().to_string(),
            host: self.host.clone(),
            disks,
            drives: Arc::clone(&self.drives),
            file_systems: Arc::clone(&self.file_systems),
            processes,
            notices,
        }
    }

    /// Whether delay accounting is on. Before kernel 5.14 there is no switch for it and it is on
    /// unless the boot line says otherwise.
    fn wait_source(&self) -> WaitSource {
        match read_word(&self.roots.proc.join("sys/kernel/task_delayacct")) {
            Some(word) if word == "0" => WaitSource::None,
            _ if self.taskstats.is_some() => WaitSource::Taskstats,
            _ => WaitSource::Stat,
        }
    }

    fn ask_taskstats(&mut self) {
        let Some(taskstats) = &mut self.taskstats else {
            return;
        };
        let pids: Vec<u32> = self.processes.attended().collect();
        let processes = &mut self.processes;
        taskstats.ask(&pids, |pid, delays| processes.set_delays(pid, delays));
    }

    /// Whether the facts about drives have to be read again: another set of devices, a device
    /// that came back or took up a medium, or simply time.
    fn facts_are_stale(&self, disks: &[Disk], at: Duration) -> bool {
        let old = self
            .drives_read
            .is_none_or(|read| at.saturating_sub(read) >= FACTS_LAST);
        old || disks.len() != self.disks.len()
            || disks
                .iter()
                .zip(&self.disks)
                .any(|(now, before)| is_another(now, before) || self.took_up_medium(now, before))
    }

    fn took_up_medium(&self, now: &Disk, before: &Disk) -> bool {
        now.reads.completed != before.reads.completed
            && !self
                .drives
                .iter()
                .any(|drive| drive.name == now.name && drive.size_bytes > 0)
    }

    /// Replaces the facts where they have changed, so that their identity tells a change.
    fn renew_drives(&mut self) {
        let drives = list(&self.roots);
        if *drives != *self.drives {
            self.drives = drives.into();
        }
        let file_systems = file_systems::list(&self.roots);
        if *file_systems != *self.file_systems {
            self.file_systems = file_systems.into();
        }
    }
}

/// Whether a line tells of another device than the line in the same place before.
fn is_another(now: &Disk, before: &Disk) -> bool {
    now.number != before.number
        || now.name != before.name
        || now.reads.completed < before.reads.completed
        || now.writes.completed < before.writes.completed
}

/// Time since boot, suspension included.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_and_this_process_are_seen() {
        let mut collector = Collector::new(Roots::default());
        let first = collector.collect();
        let second = collector.collect();
        assert!(second.at >= first.at);
        assert!(Arc::ptr_eq(&first.drives, &second.drives) || first.drives != second.drives);
        let own = std::process::id();
        let process = second
            .processes
            .iter()
            .find(|process| process.identity.pid == own)
            .expect("this process is listed");
        assert!(!process.identity.arguments.is_empty());
        assert!(process.identity.user.is_some());
    }

    #[test]
    fn an_empty_tree_is_no_error() {
        let empty = tempfile::tempdir().unwrap();
        let mut collector = Collector::new(Roots::below(empty.path()));
        let sample = collector.collect();
        assert!(sample.disks.is_empty() && sample.processes.is_empty());
        assert!(sample.notices.contains(&Notice::NoDiskstats));
        assert_eq!(sample.host, Host::default());
    }
}
