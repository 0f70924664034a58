//! The signals that end a program, held back while an output would be left half written.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Signal, getpid, kill_process};

/// Signals whose default action ends a process, and that a user or a resource limit sends to it, in
/// addition to SIGINT, SIGTERM, SIGHUP and SIGQUIT.
pub const OTHER_END_SIGNALS: [Signal; 7] = [
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::VTALARM,
    Signal::PROF,
    Signal::XCPU,
    Signal::IO,
];

/// How many parts of the program hold signals back.
static HOLDERS: Mutex<usize> = Mutex::new(0);
/// Notified when there are none.
static ALL_RELEASED: Condvar = Condvar::new();
/// The latest signal that was held back; 0 is none.
static HELD_SIGNAL: AtomicI32 = AtomicI32::new(0);
/// A pipe to the process that may kill this one: a lock on it tells that process not to.
static PIPE_TO_PARENT: OnceLock<OwnedFd> = OnceLock::new();

/// As long as one exists, no ending signal ends this process: one with its default action does so
/// afterwards, and a parent that waits with [`may_kill`] does not kill it. It does not hold back
/// SIGKILL by others.
#[derive(Debug)]
pub struct HeldSignals {
    /// The signal mask of the thread before: its system calls are not interrupted. `None` where nothing is
    /// held back.
    mask: Option<libc::sigset_t>,
    /// The mask belongs to a thread.
    _thread: PhantomData<*const ()>,
}

impl HeldSignals {
    /// Holds the signals back from now on.
    #[must_use]
    pub fn hold() -> Self {
        // Without a parent that gives up some time, nothing but SIGKILL would end a program that waits for a
        // file system.
        if PIPE_TO_PARENT.get().is_none() {
            return Self {
                mask: None,
                _thread: PhantomData,
            };
        }
        let mut holders = lock_holders();
        if *holders == 0 {
            lock_pipe(FlockOperation::LockExclusive);
            exchange_actions(libc::SIG_DFL, note_signal as *const () as usize);
        }
        *holders += 1;
        Self {
            mask: Some(block_signals()),
            _thread: PhantomData,
        }
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        let Some(mask) = self.mask else {
            return;
        };
        let mut holders = lock_holders();
        *holders -= 1;
        let is_last = *holders == 0;
        if is_last {
            exchange_actions(note_signal as *const () as usize, libc::SIG_DFL);
            lock_pipe(FlockOperation::Unlock);
            ALL_RELEASED.notify_all();
        }
        drop(holders);
        // SAFETY: the set was filled by pthread_sigmask; no old set is asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut()) };
        if is_last
            && let Some(signal) = Signal::from_named_raw(HELD_SIGNAL.swap(0, Ordering::AcqRel))
        {
            let _ = kill_process(getpid(), signal);
        }
    }
}

/// Waits until nothing holds signals back; from then on whoever begins to waits for the end of the
/// process.
pub fn finish_writes() {
    let holders = ALL_RELEASED.wait_while(lock_holders(), |count| *count > 0);
    std::mem::forget(holders);
}

/// In a child process: shares the pipe to its parent, which is never closed.
pub fn share_pipe(pipe: OwnedFd) {
    // Set here for the first time: a process has one parent.
    let _ = PIPE_TO_PARENT.set(pipe);
}

/// In the parent, with the other end of the pipe: whether the child may be killed. Then it does not
/// begin to hold signals back any more.
#[must_use]
pub fn may_kill(pipe: impl AsFd) -> bool {
    let locked = fcntl_lock(pipe, FlockOperation::NonBlockingLockShared);
    !matches!(locked, Err(Errno::AGAIN | Errno::ACCESS))
}

/// In the parent: whether the child holds signals back. It may begin to afterwards.
#[must_use]
pub fn is_writing(pipe: impl AsFd) -> bool {
    // SAFETY: a zeroed structure is a valid one: the whole of the pipe.
    let mut lock: libc::flock = unsafe { MaybeUninit::zeroed().assume_init() };
    lock.l_type = libc::F_RDLCK as libc::c_short;
    let pipe = pipe.as_fd().as_raw_fd();
    // SAFETY: the structure lives during the call.
    let asked = unsafe { libc::fcntl(pipe, libc::F_GETLK, &raw mut lock) };
    asked == 0 && i32::from(lock.l_type) != libc::F_UNLCK
}

fn lock_holders() -> MutexGuard<'static, usize> {
    HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lock_pipe(operation: FlockOperation) {
    if let Some(pipe) = PIPE_TO_PARENT.get() {
        // Where there are no locks the parent does not wait.
        let _ = retry_on_intr(|| fcntl_lock(pipe, operation));
    }
}

fn end_signals() -> impl Iterator<Item = libc::c_int> {
    [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT]
        .into_iter()
        .chain(OTHER_END_SIGNALS)
        .map(Signal::as_raw)
}

/// Gives another action to the ending signals that have this one: those that are ignored, or that the
/// program handles, keep theirs.
fn exchange_actions(old: libc::sighandler_t, new: libc::sighandler_t) {
    for signal in end_signals() {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the structure is valid and lives during the call, and a zeroed one is valid too. The
        // new action is the default one or a handler that only stores a number.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
            if action.assume_init().sa_sigaction == old {
                libc::signal(signal, new);
            }
        }
    }
}

extern "C" fn note_signal(number: libc::c_int) {
    HELD_SIGNAL.store(number, Ordering::Release);
}

/// Blocks the ending signals in this thread; the mask before.
fn block_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: both sets are valid, as zeroed ones are, and live during the calls.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in end_signals() {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}
