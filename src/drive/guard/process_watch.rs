//! A thread that examines processes while a medium is written.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::drive::guard::conflicts::new_openers::{OpenerProgress, OpenerSearch};
use crate::drive::guard::conflicts::use_conflict::UnresolvedUse;
use crate::drive::guard::refusal::Refusal;
use crate::drive::guard::write_permit::KnownUse;
use crate::drive::medium::TargetKind;
use crate::drive::medium::open_medium::OpenMedium;
use crate::roots::SysPaths;

/// Interval between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Priority of the thread (nice(2)), unless the process has a lower one: that of the workers is 0.
const NICE_VALUE: i32 = 10;
/// How long to wait for the thread to end; the examination of a process can hang in the kernel.
const END_TIMEOUT: Duration = Duration::from_millis(50);
/// Number of checks in which the thread examines nothing, after which a device is no longer written.
/// The limit counts checks instead of time because a stopped process makes none.
const MAX_IDLE_CHECKS: u32 = 100;

/// Looks for processes that open a medium while it is written. A thread of its own does it: neither a
/// process with many descriptors nor one whose memory is locked delays the other checks.
#[derive(Debug)]
pub(super) struct ProcessWatch {
    shared: Arc<WatchState>,
    thread: Option<JoinHandle<()>>,
    name: String,
    is_device: bool,
    /// The steps of the thread as of the last check, and the checks since they changed.
    steps: u64,
    idle_checks: u32,
}

/// What the thread and its owner share.
#[derive(Debug, Default)]
struct WatchState {
    ended: AtomicBool,
    /// Changes of the kernel's tables: what shares bytes with the medium may be something else.
    table_changes: AtomicU64,
    /// Steps that the thread has done.
    steps: AtomicU64,
    /// Why writing must stop.
    refusal: Mutex<Option<Refusal>>,
}

impl ProcessWatch {
    /// Starts the thread.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(
        roots: &SysPaths,
        medium: &Arc<OpenMedium>,
        known: &Arc<KnownUse>,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(WatchState::default());
        let state = Arc::clone(&shared);
        let (paths, target, known) = (roots.clone(), Arc::clone(medium), Arc::clone(known));
        let thread = thread::Builder::new()
            .name("process-watch".to_owned())
            .spawn(move || {
                // Workers that wake up go first: listing thousands of processes takes milliseconds.
                if rustix::process::getpriority_process(None).is_ok_and(|own| own < NICE_VALUE) {
                    let _ = rustix::process::setpriority_process(None, NICE_VALUE);
                }
                if let Err(refusal) = state.watch(&paths, &target, &known) {
                    state.stop(refusal);
                }
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
            name: medium.target.name.clone(),
            is_device: medium.target.kind == TargetKind::BlockDevice,
            steps: 0,
            idle_checks: 0,
        })
    }

    /// Has what shares bytes with the medium searched again.
    pub(super) fn tables_changed(&self) {
        self.shared.table_changes.fetch_add(1, Ordering::Release);
    }

    /// Why writing must stop, when that came up since the last call.
    pub(super) fn check(&mut self) -> Option<Refusal> {
        let mut refusal = self
            .shared
            .refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(refusal) = refusal.take() {
            return Some(refusal);
        }
        let steps = self.shared.steps.load(Ordering::Acquire);
        self.idle_checks = match steps == self.steps {
            true => self.idle_checks + 1,
            false => 0,
        };
        self.steps = steps;
        (self.is_device && self.idle_checks > MAX_IDLE_CHECKS).then(|| Refusal::Unresolved {
            name: self.name.clone(),
            unresolved: vec![UnresolvedUse::UseWhileWriting {
                reason: "the processes could not be examined for 10 s",
            }],
        })
    }
}

impl WatchState {
    /// Looks until the owner ends it.
    fn watch(
        &self,
        roots: &SysPaths,
        medium: &OpenMedium,
        known: &KnownUse,
    ) -> Result<(), Refusal> {
        let mut progress = OpenerProgress::after(&known.processes);
        while self.goes_on() {
            let changes = self.table_changes.load(Ordering::Acquire);
            let mut search = OpenerSearch::new(roots, medium)?;
            // At least one look for each search, which lists the processes where that is due: tables that
            // change all the time do not prevent it. And not more searches than lists: a search reads many
            // tables.
            loop {
                search.look(&mut progress, &|| self.goes_on())?;
                if self.goes_on() {
                    thread::park_timeout(LOOK_INTERVAL);
                }
                let has_changed = self.table_changes.load(Ordering::Acquire) != changes;
                if !self.goes_on() || has_changed && OpenerSearch::is_list_due(&progress) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Counts a step; yields whether there is another one.
    fn goes_on(&self) -> bool {
        self.steps.fetch_add(1, Ordering::AcqRel);
        !self.ended.load(Ordering::Acquire)
    }

    fn stop(&self, refusal: Refusal) {
        let mut shared = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        *shared = Some(refusal);
    }
}

impl Drop for ProcessWatch {
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
