//! The sample collector.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::control_groups::{ControlGroupReader, IoHierarchies};
use super::copy_jobs::CopyJobs;
use super::mounts::{MountReader, MountWatch};
use super::operations::{OperationReader, OperationSources};
use super::process::closed_files;
use super::process::exit_records::{ExitRecordSocket, ExitRecords, NoExitRecords};
use super::process::file_pages::{FilePageReader, FollowedFile};
use super::process::table::{ProcessTable, WaitSource};
use super::process::task_scan::TaskScan;
use super::process::task_scanner::TaskScanner;
use super::process::taskstats::TaskstatsSocket;
use super::sample::{
    DiskCounters, ExitRecord, HostSample, IoAccounting, ProbeNotice, SystemSample,
};
use super::system::kernel_log::{IoErrorSample, KernelLog, NewErrors};
use super::system::{diskstats, host};
use super::text::{read_file, read_word};
use crate::drive::BlockDevice;
use crate::drive::identity::list_block_devices;
use crate::probe::file_systems::{self, MountedFileSystem};
use crate::probe::system::temperature::{self, Temperatures};
use crate::roots::SysPaths;

/// Maximum age of the facts about drives: a file system may be mounted, or a scheduler changed.
const FACTS_MAX_AGE: Duration = Duration::from_secs(15);

/// Takes samples. Keeps open files and facts that rarely change in between.
#[derive(Debug)]
pub struct SampleCollector {
    roots: SysPaths,
    processes: ProcessTable,
    mounts: MountWatch,
    taskstats: Option<TaskstatsSocket>,
    exit_records: Result<ExitRecordSocket, NoExitRecords>,
    host: HostSample,
    disks: Vec<DiskCounters>,
    drives: Arc<[BlockDevice]>,
    temperatures: Arc<Temperatures>,
    file_systems: Arc<[MountedFileSystem]>,
    copy_jobs: CopyJobs,
    hierarchies: Arc<IoHierarchies>,
    /// Reads the control groups, where they are requested.
    control_groups: Option<ControlGroupReader>,
    drives_read_at: Option<Duration>,
    file_pages: FilePageReader,
    operations: OperationReader,
    /// Reads the mounted file systems, where they are requested.
    mount_reader: Option<MountReader>,
    /// Scans the tasks, where blocked ones are requested, with the last scan.
    task_scanner: Option<(TaskScanner, Option<Arc<TaskScan>>)>,
    /// The kernel log, where I/O errors are requested.
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
        let exit_records = match is_running_kernel {
            true => ExitRecordSocket::open(&roots),
            false => Err(NoExitRecords::NotSupported),
        };
        Self {
            processes: ProcessTable::new(&roots),
            mounts: MountWatch::new(&roots),
            taskstats,
            exit_records,
            host: HostSample::default(),
            disks: Vec::new(),
            drives: Arc::default(),
            temperatures: Arc::default(),
            file_systems: Arc::default(),
            copy_jobs: CopyJobs::default(),
            hierarchies: Arc::default(),
            control_groups: None,
            drives_read_at: None,
            file_pages: FilePageReader::default(),
            operations: OperationReader::default(),
            mount_reader: None,
            task_scanner: None,
            kernel_log: None,
            roots,
        }
    }

    /// Sets whether the threads of active processes are sampled, from the next sample on.
    pub fn set_show_threads(&mut self, shown: bool) {
        self.processes.set_show_threads(shown);
    }

    /// Sets whether idle processes are shown, from the next sample on: otherwise their identity is
    /// not looked up.
    pub fn set_show_all(&mut self, shown: bool) {
        self.processes.set_show_all(shown);
    }

    /// Sets whether control groups are sampled, from the next sample on.
    pub fn set_show_units(&mut self, shown: bool) {
        if shown != self.control_groups.is_some() {
            self.control_groups = shown.then(ControlGroupReader::default);
        }
    }

    /// Sets whether mounted file systems are sampled, from the next sample on.
    pub fn set_show_mounts(&mut self, shown: bool) {
        if shown != self.mount_reader.is_some() {
            self.mount_reader = shown.then(MountReader::default);
        }
    }

    /// Sets whether blocked tasks are sampled, from the next sample on.
    pub fn set_show_blocked(&mut self, shown: bool) {
        if shown != self.task_scanner.is_some() {
            self.task_scanner = shown.then(Default::default);
        }
    }

    /// Sets whether I/O errors are sampled: those from now on.
    pub fn set_show_io_errors(&mut self, shown: bool) {
        if shown != self.kernel_log.is_some() {
            self.kernel_log = shown.then(|| KernelLog::open_at_end(&self.roots));
        }
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
        let disks = match read_file(&self.roots.proc.join("diskstats")) {
            Some(text) => diskstats::parse(&text),
            None => {
                notices.push(ProbeNotice::NoDiskstats);
                Vec::new()
            }
        };
        let new_mounts = self.mounts.has_changed();
        if new_mounts || self.drives_read_at.is_none() {
            self.hierarchies = Arc::new(IoHierarchies::find(&self.roots));
            self.processes
                .set_hierarchies(Arc::clone(&self.hierarchies));
        }
        if new_mounts || self.facts_are_stale(&disks, at) {
            self.drives_read_at = Some(at);
            self.refresh_drives();
        }
        self.disks.clone_from(&disks);
        let device_writeback =
            diskstats::read_device_writeback(&self.roots, &self.host.memory, &disks);
        let waits = self.wait_source();
        self.processes.update(&self.roots, waits, (at, charged));
        if waits == WaitSource::Taskstats {
            self.query_taskstats();
        }
        // After the processes: a process that is missing there has its record here.
        let (exit_records, exit_notice) = self.take_exit_records();
        self.processes.identify();
        if waits == WaitSource::None {
            notices.push(ProbeNotice::DelayAccountingOff);
        }
        notices.extend(self.processes.notice());
        notices.extend(exit_notice);
        if self.host.pressure.is_none() {
            notices.push(ProbeNotice::NoPressure);
        }
        let control_groups = self
            .control_groups
            .as_mut()
            .map(|reader| reader.read(&self.roots, &self.hierarchies));
        match control_groups.as_ref().map(|groups| groups.accounting) {
            Some(IoAccounting::None) => notices.push(ProbeNotice::NoControlGroupIo),
            Some(IoAccounting::V1) => notices.push(ProbeNotice::BufferedWritesUnattributed),
            Some(IoAccounting::V2) | None => {}
        }
        let io_errors = self
            .kernel_log
            .as_mut()
            .map(|log| IoErrorSample::read(&self.roots, log));
        let logged = io_errors.as_ref().map(|errors| &errors.logged);
        if logged.is_some_and(|logged| !matches!(logged, NewErrors::Read(_))) {
            notices.push(ProbeNotice::NoKernelLog);
        }
        let mut processes = self.processes.snapshot();
        let ended_jobs = self.copy_jobs.update_counts(&self.roots, &mut processes);
        let sources = OperationSources {
            roots: &self.roots,
            disks: &disks,
            file_systems: &self.file_systems,
            processes: &processes,
        };
        let operations = self.operations.read(&sources, at);
        SystemSample {
            boot_time: at,
            time: jiff::Timestamp::now().to_string(),
            host: self.host.clone(),
            disks,
            device_writeback,
            drives: Arc::clone(&self.drives),
            temperatures: Arc::clone(&self.temperatures),
            file_systems: Arc::clone(&self.file_systems),
            processes,
            exit_records,
            closed_files: closed_files::last_look(
                &self.processes.take_closed_files(),
                // The kernel gives file systems without a block device of their own major number 0.
                |number| number.0 != 0 || self.has_block_device(number),
            ),
            file_pages: self.file_pages.read(&self.roots, &self.file_systems, at),
            ended_jobs,
            operations,
            mounts: self
                .mount_reader
                .as_mut()
                .map(|reader| reader.read(&self.roots, &self.file_systems, at)),
            control_groups,
            task_scan: self.scan_tasks(at),
            io_errors,
            notices,
        }
    }

    /// The tasks, where blocked ones are requested; the previous scan again while the next one is not
    /// due.
    fn scan_tasks(&mut self, at: Duration) -> Option<Arc<TaskScan>> {
        let (scanner, last) = self.task_scanner.as_mut()?;
        if scanner.is_due(at) {
            *last = Some(Arc::new(scanner.scan(&self.roots, at, false)));
        }
        last.clone()
    }

    /// Whether a mounted file system with this device number is on a block device: btrfs has numbers
    /// of its own.
    fn has_block_device(&self, number: (u32, u32)) -> bool {
        self.file_systems.iter().any(|it| it.device_id == number)
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

    fn query_taskstats(&mut self) {
        let Some(taskstats) = &mut self.taskstats else {
            return;
        };
        let pids: Vec<u32> = self.processes.pids_needing_details().collect();
        let processes = &mut self.processes;
        taskstats.query_delays(&pids, |pid, delays| processes.set_delays(pid, delays));
    }

    /// What ended threads did, and what of it is missing.
    fn take_exit_records(&mut self) -> (Vec<ExitRecord>, Option<ProbeNotice>) {
        match &mut self.exit_records {
            Ok(socket) => {
                let ExitRecords { records, lost } = socket.take();
                (records, lost.then_some(ProbeNotice::ExitRecordsLost))
            }
            Err(reason) => (Vec::new(), notice_of_missing_records(*reason)),
        }
    }

    /// Whether the facts about drives have to be read again: the set of devices changed, a device
    /// was replaced or got a medium, or the facts are too old.
    fn facts_are_stale(&self, disks: &[DiskCounters], at: Duration) -> bool {
        let old = self
            .drives_read_at
            .is_none_or(|read| at.saturating_sub(read) >= FACTS_MAX_AGE);
        old || disks.len() != self.disks.len()
            || disks
                .iter()
                .zip(&self.disks)
                .any(|(now, before)| is_different_device(now, before))
            || self.any_has_new_medium(disks)
    }

    /// Whether a device that had no medium was read.
    fn any_has_new_medium(&self, disks: &[DiskCounters]) -> bool {
        let with_medium = self.drives.iter().filter(|drive| drive.size_bytes > 0);
        let with_medium: HashSet<&str> = with_medium.map(|drive| &*drive.name).collect();
        disks.iter().zip(&self.disks).any(|(now, before)| {
            now.reads.completed != before.reads.completed && !with_medium.contains(&*now.name)
        })
    }

    /// Replaces the facts where they have changed, so that a new pointer indicates a change.
    fn refresh_drives(&mut self) {
        let drives = list_block_devices(&self.roots);
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

/// Nothing is said where the kernel has none, or where the notice about the I/O of other users says
/// it: ended processes are part of their parents then.
fn notice_of_missing_records(reason: NoExitRecords) -> Option<ProbeNotice> {
    match reason {
        NoExitRecords::OtherNamespace => Some(ProbeNotice::ExitRecordsOtherNamespace),
        NoExitRecords::OtherNetworkNamespace => Some(ProbeNotice::ExitRecordsOtherNetwork),
        NoExitRecords::NotSupported
        | NoExitRecords::NotPermitted
        | NoExitRecords::ProcessNotNamed => None,
    }
}

/// Whether a line describes another device than the previous line at its index.
fn is_different_device(now: &DiskCounters, before: &DiskCounters) -> bool {
    now.device_number != before.device_number
        || now.name != before.name
        || now.reads.completed < before.reads.completed
        || now.writes.completed < before.writes.completed
}

/// Time since boot, suspension included.
pub fn boot_time() -> Duration {
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
    fn collector_samples_own_process() {
        let mut collector = SampleCollector::new(SysPaths::default());
        let first = collector.collect();
        let second = collector.collect();
        assert!(second.boot_time >= first.boot_time);
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
    fn collector_accepts_empty_proc_and_sys() {
        let empty = tempfile::tempdir().unwrap();
        let mut collector = SampleCollector::new(SysPaths::under_root(empty.path()));
        let sample = collector.collect();
        assert!(sample.disks.is_empty() && sample.processes.is_empty());
        assert!(sample.notices.contains(&ProbeNotice::NoDiskstats));
        assert_eq!(sample.host, HostSample::default());
    }
}
