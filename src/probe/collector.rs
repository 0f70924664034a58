//! The sample collector.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::CWD;
use rustix::time::{ClockId, clock_gettime};

use super::control_groups::{IoHierarchies, UnitNames, read_control_groups};
use super::mounts::{MountWatch, read_mounts};
use super::operations::{OperationSources, operations};
use super::process::closed_files;
use super::process::file_pages::FilePageReader;
use super::process::table::{ProcessReading, ProcessTable, WaitSource};
use super::process::task_scan::TaskScanner;
use super::process::taskstats::{ExitRecordSocket, TaskstatsSocket};
use super::sample::{
    ControlGroupsSample, DiskCounters, ExitRecord, FollowedFile, HostSample, IoAccounting,
    ProbeNotice, SystemSample, TaskScan,
};
use super::system::device_health::read_command_errors;
use super::system::kernel_log::{IoErrorSample, KernelLog, NewErrors};
use super::system::{diskstats, host};
use super::text::{open_relative, read_file, read_word};
use crate::drive::BlockDevice;
use crate::drive::identity::list_block_devices;
use crate::probe::file_systems::{self, MountedFileSystem};
use crate::probe::system::temperature::{self, Temperatures};
use crate::roots::SysPaths;

/// Maximum age of the facts about drives: a file system may be mounted, or a scheduler changed.
const FACTS_MAX_AGE: Duration = Duration::from_secs(15);

/// What is read for a sample beside what always is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The identity of idle processes.
    pub all_processes: bool,
    /// The threads of active processes.
    pub threads: bool,
    /// Control groups.
    pub units: bool,
    /// Mounted file systems.
    pub mounts: bool,
    /// Tasks that are blocked in the kernel.
    pub blocked: bool,
    /// I/O errors, those that are logged from the first sample on that they are wanted for.
    pub io_errors: bool,
}

/// Takes samples. Keeps open files and facts that rarely change in between.
#[derive(Debug)]
pub struct SampleCollector {
    roots: SysPaths,
    /// `/proc`, where it is mounted.
    proc: Option<OwnedFd>,
    wanted: Wanted,
    processes: ProcessTable,
    mounts: MountWatch,
    taskstats: Option<TaskstatsSocket>,
    /// The socket, or what is said where there is none.
    exit_records: Result<ExitRecordSocket, Option<ProbeNotice>>,
    host: HostSample,
    disks: Vec<DiskCounters>,
    drives: Arc<[BlockDevice]>,
    temperatures: Arc<Temperatures>,
    file_systems: Arc<[MountedFileSystem]>,
    hierarchies: IoHierarchies,
    units: UnitNames,
    drives_read_at: Option<Duration>,
    file_pages: FilePageReader,
    /// Scans the tasks, with the last scan.
    task_scanner: (TaskScanner, Option<Arc<TaskScan>>),
    /// The kernel log, while I/O errors are wanted.
    kernel_log: Option<KernelLog>,
}

impl SampleCollector {
    /// Prepares for taking samples without reading any counters yet.
    ///
    /// Raises the soft limit of open files of this process to the hard one, because descriptors of
    /// other processes' counters are kept open.
    #[must_use]
    pub fn new(roots: SysPaths) -> Self {
        // A socket reaches the running kernel, which is not the one that a test describes.
        let is_running_kernel = roots == SysPaths::default();
        let taskstats = is_running_kernel.then(TaskstatsSocket::open).flatten();
        let exit_records = if is_running_kernel {
            ExitRecordSocket::open(&roots)
        } else {
            Err(None)
        };
        Self {
            proc: open_relative(CWD, roots.proc.as_path()).ok(),
            wanted: Wanted::default(),
            processes: ProcessTable::new(&roots, exit_records.is_ok()),
            mounts: MountWatch::new(&roots),
            taskstats,
            exit_records,
            host: HostSample::default(),
            disks: Vec::new(),
            drives: Arc::default(),
            temperatures: Arc::default(),
            file_systems: Arc::default(),
            hierarchies: IoHierarchies::default(),
            units: UnitNames::default(),
            drives_read_at: None,
            file_pages: FilePageReader::default(),
            task_scanner: Default::default(),
            kernel_log: None,
            roots,
        }
    }

    /// Sets what is read, from the next sample on.
    pub fn set_wanted(&mut self, wanted: Wanted) {
        if wanted.io_errors != self.kernel_log.is_some() {
            let log = || KernelLog::open_at_end(&self.roots);
            self.kernel_log = wanted.io_errors.then(log);
        }
        self.wanted = wanted;
    }

    /// Sets the written files whose pages in memory are looked at, from the next sample on.
    pub fn follow_files(&mut self, files: Vec<FollowedFile>) {
        self.file_pages.follow(files);
    }

    /// Takes a sample. Unreadable values are missing from it, and a notice says why.
    pub fn collect(&mut self) -> SystemSample {
        let mut notices = Vec::new();
        let at = boot_time();
        let host = host::read_host(&self.roots, &self.host);
        let charged = host.paging.zip(self.host.paging);
        let charged = charged.map(|(now, before)| now.charged_bytes_since(&before));
        self.host = host;
        let disks = read_file(&self.roots.proc.join("diskstats"));
        notices.extend(disks.is_none().then_some(ProbeNotice::NoDiskstats));
        let mut disks = diskstats::parse(&disks.unwrap_or_default());
        diskstats::read_dirty_bytes(&self.roots, &self.host.memory, &mut disks);
        self.refresh_facts(&disks, at);
        self.disks.clone_from(&disks);
        let exit_records = self.read_processes((at, charged), &mut notices);
        let control_groups = self.read_control_groups(&mut notices);
        let io_errors = self.read_io_errors(&mut notices);
        let processes = self.processes.snapshot();
        let sources = OperationSources {
            roots: &self.roots,
            disks: &disks,
            file_systems: &self.file_systems,
            processes: &processes,
        };
        let operations = operations(&sources);
        let closed = self.processes.take_closed_files();
        let mounts = || read_mounts(&self.roots, &self.file_systems);
        SystemSample {
            boot_time: at,
            time: jiff::Timestamp::now().to_string(),
            host: self.host.clone(),
            disks,
            drives: Arc::clone(&self.drives),
            temperatures: Arc::clone(&self.temperatures),
            file_systems: Arc::clone(&self.file_systems),
            processes,
            exit_records,
            // The kernel gives file systems without a block device of their own major number 0.
            closed_files: closed_files::last_look(&closed, |number| {
                number.0 != 0 || self.file_systems.iter().any(|it| it.device_id == number)
            }),
            file_pages: self.file_pages.read(&self.roots, &self.file_systems, at),
            operations,
            mounts: self.wanted.mounts.then(mounts),
            control_groups,
            task_scan: self.scan_tasks(at),
            io_errors,
            notices,
        }
    }

    /// Reads the processes, and what ended ones did that no sample contains.
    fn read_processes(
        &mut self,
        (at, charged): (Duration, Option<u64>),
        notices: &mut Vec<ProbeNotice>,
    ) -> Vec<ExitRecord> {
        if self.host.pressure.is_none() {
            notices.push(ProbeNotice::NoPressure);
        }
        let Some(proc) = &self.proc else {
            return Vec::new();
        };
        let waits = self.wait_source();
        if waits == WaitSource::None {
            notices.push(ProbeNotice::DelayAccountingOff);
        }
        self.processes.update(&ProcessReading {
            proc: proc.as_fd(),
            roots: &self.roots,
            hierarchies: &self.hierarchies,
            at,
            now: &boot_time,
            charged,
            waits,
            threads: self.wanted.threads,
        });
        if waits == WaitSource::Taskstats
            && let Some(taskstats) = &mut self.taskstats
        {
            let pids: Vec<u32> = self.processes.pids_needing_details().collect();
            taskstats.query_delays(&pids, |pid, delays| self.processes.set_delays(pid, delays));
        }
        // After the processes: one that is missing there has its record here.
        let (ended, notice) = match &mut self.exit_records {
            Ok(socket) => {
                let (threads, lost) = socket.take();
                let notice = lost.then_some(ProbeNotice::ExitRecordsLost);
                (self.processes.count_ended(&threads), notice)
            }
            Err(notice) => (Vec::new(), *notice),
        };
        let all = self.wanted.all_processes;
        self.processes.identify(proc.as_fd(), all);
        notices.extend(self.processes.notice());
        notices.extend(notice);
        ended
    }

    fn read_control_groups(
        &mut self,
        notices: &mut Vec<ProbeNotice>,
    ) -> Option<ControlGroupsSample> {
        if !self.wanted.units {
            return None;
        }
        let groups = read_control_groups(&self.roots, &self.hierarchies, &mut self.units);
        match groups.accounting {
            IoAccounting::None => notices.push(ProbeNotice::NoControlGroupIo),
            IoAccounting::V1 => notices.push(ProbeNotice::BufferedWritesUnattributed),
            IoAccounting::V2 => {}
        }
        Some(groups)
    }

    fn read_io_errors(&mut self, notices: &mut Vec<ProbeNotice>) -> Option<IoErrorSample> {
        let logged = self.kernel_log.as_mut()?.new_errors();
        if !matches!(logged, NewErrors::Available(_)) {
            notices.push(ProbeNotice::NoKernelLog);
        }
        Some(IoErrorSample {
            logged,
            command_errors: read_command_errors(&self.roots),
        })
    }

    /// The tasks, where blocked ones are wanted; the previous scan again while the next one is not due.
    fn scan_tasks(&mut self, at: Duration) -> Option<Arc<TaskScan>> {
        let (scanner, last) = &mut self.task_scanner;
        if self.wanted.blocked && scanner.is_due(at) {
            *last = Some(Arc::new(scanner.scan(&self.roots, at, false)));
        }
        last.clone().filter(|_| self.wanted.blocked)
    }

    /// Whether delay accounting is on. Before kernel 5.14 there is no switch for it, and it is on
    /// unless a boot parameter disables it.
    fn wait_source(&self) -> WaitSource {
        match read_word(&self.roots.proc.join("sys/kernel/task_delayacct")) {
            Some(word) if word == "0" => WaitSource::None,
            _ if self.taskstats.is_some() => WaitSource::Taskstats,
            _ => WaitSource::Stat,
        }
    }

    /// Whether the facts about drives have to be read again: they are old, the set of devices changed, or a
    /// device got a medium.
    fn facts_are_stale(&self, disks: &[DiskCounters], at: Duration) -> bool {
        let is_fresh = |read: Duration| at.saturating_sub(read) < FACTS_MAX_AGE;
        let had_medium = |name: &str| {
            let mut drives = self.drives.iter();
            drives.any(|drive| drive.name == name && drive.size_bytes > 0)
        };
        let has_changed = |(now, before): (&DiskCounters, &DiskCounters)| {
            let was_read = now.reads.completed != before.reads.completed;
            now.device_number != before.device_number
                || now.name != before.name
                || (was_read && !had_medium(&now.name))
        };
        let mut pairs = disks.iter().zip(&self.disks);
        !self.drives_read_at.is_some_and(is_fresh)
            || disks.len() != self.disks.len()
            || pairs.any(has_changed)
    }

    /// Reads facts that rarely change, where they may have changed.
    fn refresh_facts(&mut self, disks: &[DiskCounters], at: Duration) {
        let has_new_mounts = self.mounts.has_changed();
        if has_new_mounts || self.drives_read_at.is_none() {
            self.hierarchies = IoHierarchies::find(&self.roots);
        }
        if !has_new_mounts && !self.facts_are_stale(disks, at) {
            return;
        }
        self.drives_read_at = Some(at);
        let drives = list_block_devices(&self.roots);
        // A new pointer indicates a change.
        if *drives != *self.drives {
            self.drives = drives.into();
        }
        self.temperatures = temperature::temperatures(&self.roots, &self.drives).into();
        let file_systems = file_systems::list_file_systems(&self.roots);
        if *file_systems != *self.file_systems {
            self.file_systems = file_systems.into();
        }
    }
}

/// Time since boot, suspension included.
pub fn boot_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}
