//! Records the evidence of a window for the diagnosis: snapshots, scans of the tasks, facts, and,
//! where root allows, the requests of the busiest device.

mod device_trace;
mod looks;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use self::device_trace::DeviceTrace;
use crate::drive::DriveKind;
use crate::files::safe_text::SafeText;
use crate::probe::boot_time;
use crate::probe::facts::{BlockedDetails, FactsReader, FactsSample};
use crate::probe::process::numbers::ProcessNumbers;
use crate::probe::process::task_scan::BlockedTask;
use crate::probe::system::kernel_log::{KernelIoError, NewErrors};
use crate::probe::waits::sleeps::slept_times;
use crate::roots::SysPaths;
use crate::snapshot::Snapshot;
use crate::why::window::{EvidenceWindow, LoadLooks};

pub(crate) use self::device_trace::process_of;

/// Time between two scans of the tasks; a scan that takes long is repeated less often.
pub const SCAN_INTERVAL: Duration = Duration::from_millis(200);
/// Requests in flight, mean of a snapshot, from which the busiest device is traced.
const MIN_QUEUE: f64 = 0.5;
/// Snapshots before the busiest device is chosen.
const SNAPSHOTS_BEFORE_TRACE: usize = 2;
/// Blocked tasks that are examined further at most.
const MAX_EXAMINED: usize = 16;
/// A task that has slept for this long is asked since when it does.
const LONG_SLEEP: Duration = Duration::from_secs(1);
/// Snapshots that a sliding window keeps at most, whatever their interval.
const MAX_SNAPSHOTS: usize = 60;
/// Snapshots that a sliding window keeps at least, whatever their interval.
const MIN_SNAPSHOTS: usize = 4;

/// Records a window: of fixed length, from its begin to [`Self::finish`], or sliding, with
/// [`Self::slide`] from time to time.
#[derive(Debug)]
pub struct WindowRecorder {
    roots: SysPaths,
    facts: FactsReader,
    /// Facts of the window, the oldest first.
    readings: VecDeque<FactsSample>,
    /// Errors in the kernel log, with the time at which they were read.
    logged: Vec<(Duration, KernelIoError)>,
    /// Why the log cannot be read, where it cannot.
    unreadable: Option<NewErrors>,
    window: EvidenceWindow,
    trace: Option<DeviceTrace>,
    may_trace: bool,
}

impl WindowRecorder {
    /// Begins a window; `may_trace` is whether requests may be traced, where the kernel permits it.
    pub fn begin(roots: SysPaths, may_trace: bool) -> Self {
        let mut facts = FactsReader::new(roots.clone());
        Self {
            readings: VecDeque::from([facts.read()]),
            logged: Vec::new(),
            unreadable: None,
            facts,
            window: EvidenceWindow::default(),
            trace: None,
            may_trace,
            roots,
        }
    }

    /// Adds a snapshot; the first one of a sampler, which has no rates, is ignored.
    pub fn add_snapshot(&mut self, snapshot: Arc<Snapshot>) {
        if snapshot.interval.is_none() {
            return;
        }
        self.window.snapshots.push(snapshot);
        if self.may_trace
            && self.trace.is_none()
            && self.window.snapshots.len() >= SNAPSHOTS_BEFORE_TRACE
        {
            self.start_trace();
        }
    }

    /// Scans the tasks, unless the last scan was too recent.
    pub fn scan(&mut self) {
        self.window.scans.extend(self.facts.scan());
    }

    /// Permits to trace requests from now on, or ends the trace.
    pub fn set_tracing(&mut self, may_trace: bool) {
        self.may_trace = may_trace;
        if let Some(trace) = self.trace.take_if(|_| !may_trace) {
            trace.stop();
            self.window.requests = None;
        }
    }

    /// The device whose requests are traced.
    pub fn traced_device(&self) -> Option<&SafeText> {
        self.trace.as_ref().map(DeviceTrace::device)
    }

    /// Drops what is older than `length`; a few snapshots remain where the interval is long.
    pub fn slide(&mut self, length: Duration) {
        let begin = boot_time().saturating_sub(length);
        self.window.scans.retain(|scan| scan.at >= begin);
        // The last reading before the begin shows the state at it.
        while self.readings.get(1).is_some_and(|next| next.at <= begin) {
            self.readings.pop_front();
        }
        self.logged.retain(|(at, _)| *at >= begin);
        if let Some(trace) = &self.trace {
            trace.drop_before(begin);
        }
        let last = self.window.snapshots.last();
        let interval = last.and_then(|it| it.interval).unwrap_or(length);
        let count = length.as_secs_f64() / interval.as_secs_f64().max(0.01);
        let count = (count.round() as usize).clamp(MIN_SNAPSHOTS, MAX_SNAPSHOTS);
        let dropped = self.window.snapshots.len().saturating_sub(count);
        self.window.snapshots.drain(..dropped);
    }

    /// Forgets scans and facts: the snapshots remain.
    pub fn rest(&mut self) {
        self.window.scans.clear();
        self.window.blocked.clear();
        self.window.looks = LoadLooks::default();
        self.window.facts = None;
        self.readings.clear();
    }

    /// Scans of the tasks so far.
    pub fn scan_count(&self) -> usize {
        self.window.scans.len()
    }

    /// Whether requests wait for FUSE servers or the kernel logged an I/O error: reason to scan the tasks
    /// although no snapshot shows it. It costs little.
    pub fn has_signals(&mut self) -> bool {
        let (fuse_waiting, errors) = self.facts.read_signals();
        let logged = self.logged.len();
        self.keep_errors(errors);
        fuse_waiting > 0 || self.logged.len() > logged
    }

    fn keep_errors(&mut self, errors: NewErrors) {
        match errors {
            NewErrors::Available(errors) => {
                let now = boot_time();
                self.logged.extend(errors.into_iter().map(|it| (now, it)));
            }
            unreadable => self.unreadable = Some(unreadable),
        }
    }

    fn read_facts(&mut self) {
        let mut facts = self.facts.read();
        let errors = std::mem::take(&mut facts.kernel_errors);
        self.keep_errors(errors);
        let window = &mut self.window;
        let scanned = window.scans.last();
        let is_blocked = scanned.is_some_and(|scan| !scan.blocked.is_empty());
        window.looks = looks::look(&self.roots, &window.snapshots, &facts, is_blocked);
        self.readings.push_back(facts);
    }

    /// The evidence up to now. The facts are read unless they are younger than `age`.
    pub fn evidence(&mut self, age: Duration) -> &EvidenceWindow {
        let last = self.readings.back();
        if last.is_none_or(|last| boot_time() >= last.at + age) {
            self.read_facts();
        }
        let Some(mut end) = self.readings.back().cloned() else {
            return &self.window;
        };
        self.examine_blocked(&end);
        self.window.process_numbers = ProcessNumbers::of_procfs(&self.roots);
        let logged = self.logged.iter().map(|(_, error)| error.clone());
        let logged = NewErrors::Available(logged.collect());
        end.kernel_errors = self.unreadable.clone().unwrap_or(logged);
        let begin = self.readings.front().cloned();
        self.window.facts = Some((begin.unwrap_or_default(), end));
        let requests = self.trace.as_ref();
        self.window.requests = requests.map(|trace| trace.evidence(&self.roots));
        &self.window
    }

    /// Looks at the tasks that are blocked, and since when those are that have slept for a while.
    fn examine_blocked(&mut self, facts: &FactsSample) {
        let known = std::mem::take(&mut self.window.blocked);
        let [.., before, last] = &self.window.scans[..] else {
            return;
        };
        let was_blocked = |task: &&BlockedTask| {
            let mut tasks = before.blocked.iter();
            !task.is_kernel_thread && tasks.any(|it| (it.pid, it.tid) == (task.pid, task.tid))
        };
        let tasks = last.blocked.iter().filter(was_blocked).take(MAX_EXAMINED);
        let begin = boot_time().saturating_sub(LONG_SLEEP);
        let earlier = self.window.scans.iter().rfind(|scan| scan.at <= begin);
        let mut long_asleep = Vec::new();
        for task in tasks {
            let mut details = BlockedDetails::read(&self.roots, &facts.mounts, task);
            let key = (task.pid, task.tid);
            let switches = details.switches;
            let mut same = known.iter().filter(|it| it.switches == switches);
            let same = same.find(|it| (it.pid, it.tid) == key);
            details.asleep_since = same.and_then(|it| it.asleep_since);
            let mut slept = earlier.into_iter().flat_map(|scan| &scan.blocked);
            let slept = slept.any(|it| it.tid == key.1 && it.switches == switches);
            if details.asleep_since.is_none() && switches.is_some() && slept {
                long_asleep.push(key);
            }
            self.window.blocked.push(details);
        }
        let slept = slept_times(&self.roots, &long_asleep);
        for details in &mut self.window.blocked {
            if let Some(slept) = slept.get(&(details.pid, details.tid)) {
                details.asleep_since = Some(boot_time().saturating_sub(*slept));
            }
        }
    }

    /// Ends the window.
    pub fn finish(mut self) -> EvidenceWindow {
        self.scan();
        self.evidence(Duration::ZERO);
        if let Some(trace) = self.trace.take() {
            trace.stop();
        }
        self.window
    }

    /// Traces the drive with the most requests in flight, once there is one.
    fn start_trace(&mut self) {
        let devices = self.window.snapshots.iter().rev().take(1);
        let drives = devices
            .flat_map(|it| &it.devices)
            .filter(|it| matches!(it.kind, Some(DriveKind::Disk | DriveKind::Loop)));
        let queues = drives.map(|it| (it.queue_size.unwrap_or(0.0), &it.name));
        let busiest = queues.max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, name)) = busiest.filter(|(queue, _)| *queue >= MIN_QUEUE) {
            self.trace = DeviceTrace::start(&self.roots, name.clone());
            // One attempt: what is refused once is refused again.
            self.may_trace = self.trace.is_some();
        }
    }
}
