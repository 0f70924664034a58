//! Notices that a medium comes into use while it is written, or that it is another one.
//!
//! What the descriptor itself tells (disk sequence number, size, lease) is asked for several times a second. What
//! has to be searched for (loop devices, exports, other paths, processes) is searched for on a thread of low
//! priority, which uses 1 % of a processor at most.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::drive::fcntl;
use crate::drive::guard::permit::WritePermit;
use crate::drive::guard::processes::ProcessScan;
use crate::drive::guard::refusal::{Reason, Refusal};
use crate::drive::guard::stack::Stack;
use crate::drive::guard::uses::{Usage, Uses};
use crate::drive::identity::sysfs::directory_entries;
use crate::drive::medium::{IdentityChange, OpenMedium, TargetKind};
use crate::roots::SysPaths;

/// Share of a processor that the search may use: it pauses so many times as long as it works.
const PAUSE_PER_WORK: u32 = 99;
/// Work between two pauses.
const WORK_SLICE: Duration = Duration::from_millis(1);
/// Shortest time between the starts of two searches of the processes.
const SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// Interval at which the list of block devices is compared.
const DEVICES_INTERVAL: Duration = Duration::from_secs(1);
/// Priority of the thread (nice(2)).
const NICE_VALUE: i32 = 10;
/// How long to wait for the thread to end: reading /proc can hang.
const END_TIMEOUT: Duration = Duration::from_millis(50);

/// Watches a medium that is being written.
#[derive(Debug)]
pub struct WriteWatch {
    medium: Arc<OpenMedium>,
    search: Option<UserSearch>,
}

impl WriteWatch {
    /// Begins to watch what a permit is for.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(permit: &WritePermit) -> std::io::Result<Self> {
        let medium = permit.medium();
        // A file that is opened breaks its lease: there is nothing to search for.
        let is_device = medium.target.kind == TargetKind::BlockDevice;
        let start = || UserSearch::start(Arc::clone(medium), permit.other_paths());
        Ok(Self {
            medium: Arc::clone(medium),
            search: is_device.then(start).transpose()?,
        })
    }

    /// Why writing must end, if anything came up since the last call. Asks the kernel a few questions about one
    /// descriptor, and does not wait for the search.
    pub fn check(&mut self) -> Option<Refusal> {
        self.find_reason()
            .map(|reason| Refusal::new(&self.medium.target.name, reason))
    }

    fn find_reason(&mut self) -> Option<Reason> {
        let medium = &self.medium;
        match medium.target.kind {
            TargetKind::File => (!fcntl::has_lease(&medium.file())).then_some(Reason::LeaseBroken),
            TargetKind::BlockDevice => match medium.difference_to(&medium.file()) {
                // It was removed: every request fails, and says why.
                Some(IdentityChange::Size(_, 0)) => None,
                Some(change) => Some(Reason::ChangedWhileWriting(change)),
                None => self.search.as_ref().and_then(UserSearch::take_reason),
            },
            TargetKind::ScratchFile | TargetKind::Simulated => None,
        }
    }
}

/// A thread that searches for users of a block device. It ends when this value is dropped.
#[derive(Debug)]
struct UserSearch {
    shared: Arc<SearchState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct SearchState {
    ended: AtomicBool,
    reason: Mutex<Option<Reason>>,
}

impl UserSearch {
    fn start(medium: Arc<OpenMedium>, known_paths: Vec<String>) -> std::io::Result<Self> {
        let shared = Arc::new(SearchState::default());
        let state = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("user-search".to_owned())
            .spawn(move || {
                if rustix::process::getpriority_process(None).is_ok_and(|own| own < NICE_VALUE) {
                    let _ = rustix::process::setpriority_process(None, NICE_VALUE);
                }
                let drive = medium.target.drive.as_ref();
                let device = drive.map_or_else(String::new, |drive| drive.name.clone());
                let devices = DeviceSearch {
                    roots: medium.roots(),
                    device,
                    known_paths,
                    known_devices: BlockDevices::default(),
                    looked: None,
                };
                if let Some(reason) = state.search(devices) {
                    *state.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
                }
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    fn take_reason(&self) -> Option<Reason> {
        let mut reason = self
            .shared
            .reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        reason.take()
    }
}

impl SearchState {
    /// Searches until a user is found, or until the owner ends it.
    fn search(&self, mut devices: DeviceSearch<'_>) -> Option<Reason> {
        while !self.is_ended() {
            let began = Instant::now();
            devices.known_devices = BlockDevices::default();
            let stack = Stack::of_devices(devices.roots, &[&devices.device]);
            let mut scan = ProcessScan::new(devices.roots, &stack);
            let mut slice = Instant::now();
            while !self.is_ended() && scan.examine_next() {
                if slice.elapsed() >= WORK_SLICE {
                    self.pause(slice.elapsed() * PAUSE_PER_WORK);
                    if let Some(reason) = devices.look() {
                        return Some(reason);
                    }
                    slice = Instant::now();
                }
            }
            let mut uses = Uses::default();
            uses.add_scan(scan);
            if !uses.users.is_empty() {
                return Some(Reason::InUse(uses.users));
            }
            while !self.is_ended() && began.elapsed() < SCAN_INTERVAL {
                if let Some(reason) = devices.look() {
                    return Some(reason);
                }
                self.pause(DEVICES_INTERVAL);
            }
        }
        None
    }

    fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Waits; the owner ends the wait.
    fn pause(&self, duration: Duration) {
        if !self.is_ended() {
            thread::park_timeout(duration);
        }
    }
}

/// Searches for what uses a device without a claim and without a process. What was there before was claimed or
/// refused.
struct DeviceSearch<'m> {
    roots: &'m SysPaths,
    device: String,
    /// Other paths to the disk that are claimed.
    known_paths: Vec<String>,
    known_devices: BlockDevices,
    looked: Option<Instant>,
}

impl DeviceSearch<'_> {
    /// Compares the list of block devices once in a second, and searches where it changed.
    fn look(&mut self) -> Option<Reason> {
        if self
            .looked
            .is_some_and(|at| at.elapsed() < DEVICES_INTERVAL)
        {
            return None;
        }
        self.looked = Some(Instant::now());
        let devices = BlockDevices::read(self.roots);
        if devices == self.known_devices {
            return None;
        }
        self.known_devices = devices;
        let stack = Stack::of_devices(self.roots, &[&self.device]);
        let mut uses = Uses::default();
        uses.add_unclaimed(self.roots, &stack);
        for device in stack.other_paths(self.roots) {
            if !self.known_paths.contains(&device) {
                uses.add(&device, Usage::OtherPath);
            }
        }
        (!uses.users.is_empty()).then_some(Reason::InUse(uses.users))
    }
}

/// The block devices with their sequence numbers: equal while nothing is attached.
#[derive(Debug, Default, PartialEq, Eq)]
struct BlockDevices(Vec<(String, Option<Vec<u8>>)>);

impl BlockDevices {
    fn read(roots: &SysPaths) -> Self {
        let directory: PathBuf = roots.sys.join("block");
        let names = directory_entries(&directory).into_iter();
        let sequence = |name: &str| fs::read(directory.join(name).join("diskseq")).ok();
        Self(names.map(|name| (name.clone(), sequence(&name))).collect())
    }
}

impl Drop for UserSearch {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else {
            return;
        };
        thread.thread().unpark();
        // The thread holds the target open. Wait for it unless it hangs.
        let deadline = Instant::now() + END_TIMEOUT;
        while !thread.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}
