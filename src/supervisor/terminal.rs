//! The terminal that the worker draws on, restored where the worker could not do it: the kernel ended
//! it (SIGKILL, out of memory), or it was abandoned.

use std::io::stdin;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Signal, getpgrp};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr};

use crate::supervisor::system;
use crate::terminal_output::write_once;

/// A terminal and its modes before the worker changed them.
pub(super) struct SavedTerminal {
    terminal: OwnedFd,
    modes: Termios,
    /// What takes the terminal back from the interface's screen.
    leave_screen: fn() -> Vec<u8>,
}

impl SavedTerminal {
    /// Saves the modes of the terminal that the worker will set up: stdin, or the controlling one.
    /// `None` without a terminal.
    pub(super) fn save(leave_screen: fn() -> Vec<u8>) -> Option<Self> {
        let terminal = match isatty(stdin()) {
            // It may belong to another user, for example after su(1).
            true => open("/proc/self/fd/0").or_else(|| stdin().as_fd().try_clone_to_owned().ok()),
            false => open("/dev/tty"),
        }?;
        let modes = tcgetattr(&terminal).ok()?;
        Some(Self {
            terminal,
            modes,
            leave_screen,
        })
    }

    /// Restores the modes and leaves the alternate screen, as far as the terminal takes it in time. A
    /// terminal that another process group uses is left alone.
    pub(super) fn restore(&self) {
        // An error says that it is not the controlling terminal: nobody else has it.
        if tcgetpgrp(&self.terminal).is_ok_and(|group| group != getpgrp()) {
            return;
        }
        // Another process group may take the terminal at this moment; the kernel would then stop this
        // process.
        system::ignore_signal(Signal::TTOU);
        write_once(&self.terminal, &(self.leave_screen)());
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.modes);
    }
}

/// Opens a terminal so that write(2) does not wait for it.
fn open(path: &str) -> Option<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).ok()
}
