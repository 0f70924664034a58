//! Notices that a medium comes into use while it is written, or that it is another one.
//!
//! What the descriptor itself tells (disk sequence number, size, lease) is asked for several times a second. What
//! has to be searched for (loop devices, exports, other paths, processes) is searched for on a thread of low
//! priority, which uses 1 % of a processor at most.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
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
                None => self.search.as_ref()?.found.try_recv().ok(),
            },
            TargetKind::ScratchFile | TargetKind::Simulated => None,
        }
    }
}

/// A thread that searches for users of a block device. It ends when this value is dropped.
#[derive(Debug)]
struct UserSearch {
    found: Receiver<Reason>,
    /// The thread ends when this is dropped.
    stop: Option<Sender<()>>,
    thread: JoinHandle<()>,
}

impl UserSearch {
    fn start(medium: Arc<OpenMedium>, known_paths: Vec<String>) -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let (sender, found) = mpsc::channel();
        let body = move || {
            if rustix::process::getpriority_process(None).is_ok_and(|own| own < NICE_VALUE) {
                let _ = rustix::process::setpriority_process(None, NICE_VALUE);
            }
            let drive = medium.target.drive.as_ref();
            let mut search = DeviceSearch {
                roots: medium.roots(),
                device: drive.map_or("", |drive| &drive.name),
                known_paths,
                known_devices: BlockDevices::new(),
                looked: None,
                stopped,
            };
            if let Some(reason) = search.run() {
                // The owner is gone where nobody receives it.
                let _ = sender.send(reason);
            }
        };
        let thread = thread::Builder::new().name("user-search".to_owned());
        Ok(Self {
            found,
            stop: Some(stop),
            thread: thread.spawn(body)?,
        })
    }
}

impl Drop for UserSearch {
    fn drop(&mut self) {
        self.stop = None;
        // The thread holds the target open. Wait for it unless it hangs.
        let deadline = Instant::now() + END_TIMEOUT;
        while !self.thread.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Block devices with their sequence numbers: equal while nothing is attached.
type BlockDevices = Vec<(String, Option<Vec<u8>>)>;

/// Searches for processes that use a device, and for what uses it without a claim. What was there before was claimed
/// or refused.
struct DeviceSearch<'m> {
    roots: &'m SysPaths,
    device: &'m str,
    /// Other paths to the disk that are claimed.
    known_paths: Vec<String>,
    known_devices: BlockDevices,
    looked: Option<Instant>,
    /// Disconnected when the search is to end.
    stopped: Receiver<()>,
}

impl DeviceSearch<'_> {
    /// Searches until a user is found, or until the owner ends it.
    fn run(&mut self) -> Option<Reason> {
        loop {
            let began = Instant::now();
            self.known_devices.clear();
            let stack = Stack::of_devices(self.roots, &[self.device]);
            let mut scan = ProcessScan::new(self.roots, &stack);
            let mut slice = Instant::now();
            while scan.examine_next() {
                if slice.elapsed() >= WORK_SLICE {
                    if self.is_stopped_within(slice.elapsed() * PAUSE_PER_WORK) {
                        return None;
                    }
                    if let Some(reason) = self.look() {
                        return Some(reason);
                    }
                    slice = Instant::now();
                }
            }
            let (users, _) = scan.finish();
            if !users.is_empty() {
                return Some(Reason::InUse(users));
            }
            while began.elapsed() < SCAN_INTERVAL {
                if let Some(reason) = self.look() {
                    return Some(reason);
                }
                if self.is_stopped_within(DEVICES_INTERVAL) {
                    return None;
                }
            }
        }
    }

    /// Waits; the owner ends the wait.
    fn is_stopped_within(&self, duration: Duration) -> bool {
        self.stopped.recv_timeout(duration) != Err(RecvTimeoutError::Timeout)
    }

    /// Compares the list of block devices once in a second, and searches where it changed.
    fn look(&mut self) -> Option<Reason> {
        let is_early = |at: Instant| at.elapsed() < DEVICES_INTERVAL;
        if self.looked.is_some_and(is_early) {
            return None;
        }
        self.looked = Some(Instant::now());
        let devices = self.read_devices();
        if devices == self.known_devices {
            return None;
        }
        self.known_devices = devices;
        let stack = Stack::of_devices(self.roots, &[self.device]);
        let mut uses = Uses::default();
        uses.add_unclaimed(self.roots, &stack);
        for device in stack.other_paths(self.roots) {
            if !self.known_paths.contains(&device) {
                uses.add(&device, Usage::OtherPath);
            }
        }
        (!uses.users.is_empty()).then_some(Reason::InUse(uses.users))
    }

    fn read_devices(&self) -> BlockDevices {
        let directory = self.roots.sys.join("block");
        let with_sequence = |name: String| {
            let sequence = fs::read(directory.join(&name).join("diskseq")).ok();
            (name, sequence)
        };
        let names = directory_entries(&directory).into_iter();
        names.map(with_sequence).collect()
    }
}
