//! The system calls of the split that neither the standard library nor rustix provides.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

use rustix::process::{Pid, Signal, getpid, kill_process};

use crate::probe::process::stat::parse_ignored_signals;

/// Signals that the supervisor forwards to the worker: those of job control, and those that would
/// end the supervisor, and with it the worker before it has restored what it changed. The kernel
/// delivers a fault of the supervisor itself although its signal is blocked.
pub(crate) const FORWARDED_SIGNALS: [Signal; 18] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::TSTP,
    Signal::CONT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::VTALARM,
    Signal::PROF,
    Signal::XCPU,
    Signal::IO,
    Signal::POWER,
    Signal::STKFLT,
    Signal::TRAP,
    Signal::SYS,
    Signal::ABORT,
];

/// The supervisor's signals: blocked, and read from a descriptor instead (signalfd(2)).
pub(crate) struct SignalDescriptor {
    /// Yields `struct signalfd_siginfo`.
    pub(crate) file: File,
    previous_mask: libc::sigset_t,
}

/// Blocks the signals that the supervisor waits for, except those that the program was started to
/// ignore, as by nohup(1). `None` where the kernel refuses.
pub(crate) fn block_signals() -> Option<SignalDescriptor> {
    let status = std::fs::read("/proc/self/status").ok()?;
    let ignored = parse_ignored_signals(&status).unwrap_or(0);
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: sigemptyset and sigaddset write to the one set that they are given, and a zeroed set
    // is a valid one. SIGCHLD gets its default action, without which a program that was started
    // with it ignored could not wait for its child. No other thread exists yet.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in FORWARDED_SIGNALS {
            if ignored >> (signal.as_raw() - 1) & 1 == 0 {
                libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
            }
        }
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: both sets are valid and live during the calls; the descriptor is new and owned by
    // nobody else.
    unsafe {
        let set = set.assume_init();
        let number = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if number < 0 {
            return None;
        }
        let file = File::from(OwnedFd::from_raw_fd(number));
        libc::sigprocmask(libc::SIG_BLOCK, &set, before.as_mut_ptr());
        Some(SignalDescriptor {
            file,
            previous_mask: before.assume_init(),
        })
    }
}

impl SignalDescriptor {
    /// Restores the previous signal mask.
    pub(crate) fn restore_mask(&self) {
        // SAFETY: the set was filled by sigprocmask; no old set is asked for.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.previous_mask, std::ptr::null_mut()) };
    }
}

/// Forks: returns `None` in the child, and its id in the parent.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the process has one thread, so that no lock can be held by a thread which the child
    // lacks.
    let answer = unsafe { libc::fork() };
    match answer {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child)),
    }
}

/// Closes all descriptors but stdin, stdout and stderr. Kernels before 5.9 do not support this; the
/// descriptors stay open.
pub(crate) fn close_all_but_standard() {
    // SAFETY: nothing in this process, which was forked just now, uses any of them.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// Ends this process with that signal, so that the shell sees what ended the worker.
pub(crate) fn end_by_signal(signal: Signal, signals: &SignalDescriptor) {
    let no_core = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // The worker has written a core file already, where one was enabled.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, no_core);
    signals.restore_mask();
    // SAFETY: the default action takes no function.
    unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
    let _ = kill_process(getpid(), signal);
}

/// Ignores a signal from now on.
pub(crate) fn ignore_signal(signal: Signal) {
    // SAFETY: ignoring a signal takes no function.
    unsafe { libc::signal(signal.as_raw(), libc::SIG_IGN) };
}

/// The state letter of a /proc/PID/stat (proc_pid_stat(5)): it follows the name in parentheses,
/// which may hold any character.
pub(crate) fn process_state(stat: &[u8]) -> Option<u8> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(end + 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_state_with_parentheses_in_name_is_found() {
        assert_eq!(process_state(b"12 (a) R (b) D 1 2"), Some(b'D'));
        assert_eq!(process_state(b"12 (sh) T 1"), Some(b'T'));
        assert_eq!(process_state(b"12 (sh)"), None);
        assert_eq!(process_state(b""), None);
    }
}
