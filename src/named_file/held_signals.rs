//! The signals that end a program, held back while an output would be left half written.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

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

/// As long as one exists, no ending signal ends this process: one with its default action does so
/// afterwards.
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
        let mut holders = lock_holders();
        if *holders == 0 {
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

fn lock_holders() -> MutexGuard<'static, usize> {
    HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
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
