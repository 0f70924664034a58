//! Signals, fork and terminal of the supervisor: what neither the standard library nor rustix provides.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process};
use rustix::termios::{
    OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp, tcsetattr,
};

/// Signals that are not forwarded: a fault is the supervisor's own, and the default action of the others
/// ends no process.
const OWN_SIGNALS: [libc::c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGURG,
    libc::SIGWINCH,
];
/// How long the last bytes to a terminal may take.
const WRITE_TIMEOUT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 300_000_000,
};

/// The process that gets the signals of this one.
static WORKER: AtomicI32 = AtomicI32::new(0);
/// Whether a signal that ends a program was forwarded.
static END_REQUESTED: AtomicBool = AtomicBool::new(false);

/// While it exists, signals wait: one that came between the split and the begin of forwarding would end the
/// supervisor alone, and the shell would not wait for the worker.
pub(super) struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    pub(super) fn new() -> Self {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: both sets live during the calls; zeroed memory is a valid, empty set if one fails.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::sigprocmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            Self {
                before: before.assume_init(),
            }
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set was read by `new`.
        unsafe {
            libc::sigprocmask(
                libc::SIG_SETMASK,
                &raw const self.before,
                std::ptr::null_mut(),
            )
        };
    }
}

/// Forks: returns `None` in the child, and its id in the parent.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the process has one thread, so that no lock can be held by a thread which the child
    // lacks.
    let answer = unsafe { libc::fork() };
    match answer {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child)),
    }
}

/// From now on signals go to the worker, which may have received them too: a terminal sends them to
/// both. Signals that the program was started to ignore, as by nohup(1), stay ignored.
pub(super) fn forward_signals(worker: Pid) {
    WORKER.store(worker.as_raw_nonzero().get(), Ordering::Release);
    for signal in (1..32).filter(|signal| !OWN_SIGNALS.contains(signal)) {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the structure is valid, as a zeroed one is, and lives during the calls. The handler makes
        // one system call and stores a flag. Without SA_RESTART it ends a wait.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
            let mut action = action.assume_init();
            // A program whose children are not waited for was started with SIGCHLD ignored.
            if action.sa_sigaction == libc::SIG_DFL || signal == libc::SIGCHLD {
                action.sa_sigaction = forward_signal as *const () as usize;
                action.sa_flags = 0;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    }
}

extern "C" fn forward_signal(signal: libc::c_int) {
    let worker = WORKER.load(Ordering::Acquire);
    if signal == libc::SIGCHLD || worker == 0 {
        return;
    }
    if !matches!(signal, libc::SIGCONT | libc::SIGTSTP) {
        END_REQUESTED.store(true, Ordering::Release);
    }
    // SAFETY: kill(2) may be called in a handler; errno is that of the code that it interrupts.
    unsafe {
        let errno = *libc::__errno_location();
        libc::kill(worker, signal);
        *libc::__errno_location() = errno;
    }
}

/// Whether a signal that ends a program was forwarded since the last call.
pub(super) fn take_end_request() -> bool {
    END_REQUESTED.swap(false, Ordering::AcqRel)
}

/// Ends this process with that signal, so that the shell sees what ended the worker.
pub(super) fn end_by_signal(signal: Signal) {
    // SAFETY: the default action takes no function.
    unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
    let _ = kill_process(getpid(), signal);
}

/// The controlling terminal and its modes before the worker changed them.
pub(super) struct SavedTerminal {
    terminal: File,
    modes: Termios,
    /// What takes the terminal back from the interface's screen.
    leave_screen: fn() -> Vec<u8>,
}

impl SavedTerminal {
    /// Saves the modes; `None` without a terminal.
    pub(super) fn save(leave_screen: fn() -> Vec<u8>) -> Option<Self> {
        let mut options = File::options();
        let terminal = options.read(true).write(true).open("/dev/tty").ok()?;
        Some(Self {
            modes: tcgetattr(&terminal).ok()?,
            terminal,
            leave_screen,
        })
    }

    /// Restores the modes and leaves the alternate screen, if the terminal takes it in time. A
    /// terminal that another process group uses is left alone.
    pub(super) fn restore(&self) {
        if tcgetpgrp(&self.terminal).is_ok_and(|group| group != getpgrp()) {
            return;
        }
        // Another process group may take the terminal at this moment; the kernel would then stop this
        // process.
        // SAFETY: ignoring a signal takes no function.
        unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
        // A terminal that hung up refuses all of this, which cannot be handled.
        let _ = tcflush(&self.terminal, QueueSelector::OFlush);
        let mut events = [PollFd::new(&self.terminal, PollFlags::OUT)];
        if poll(&mut events, Some(&WRITE_TIMEOUT)).is_ok_and(|ready| ready > 0) {
            let _ = rustix::io::write(&self.terminal, &(self.leave_screen)());
        }
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.modes);
    }
}
