//! The terminal: taken over on entry, given back on every way out.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::{cursor, execute, terminal};
use rustix::process::{Signal, getpgrp, getsid, kill_current_process_group};
use tokio::sync::mpsc;

use super::signals::SignalNotice;

/// What the loop asks of the terminal besides drawing.
pub trait TerminalDisplay {
    /// Gives the terminal back, stops the program as a job of its shell, and takes the terminal
    /// over again when it goes on.
    ///
    /// # Errors
    /// When the terminal cannot be set.
    fn suspend(&mut self) -> io::Result<()>;

    /// Takes the terminal over again after somebody else stopped the program.
    ///
    /// # Errors
    /// When the terminal cannot be set.
    fn resume(&mut self) -> io::Result<()>;
}

/// The terminal in raw mode with its alternate screen; restored when it is dropped.
#[derive(Debug)]
pub struct TerminalGuard {
    mouse: bool,
}

impl TerminalGuard {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When standard output is no terminal, or it cannot be set.
    pub fn enter_screen(mouse: bool) -> io::Result<Self> {
        // From here on the drop gives back whatever was set before a failure.
        let guard = Self { mouse };
        guard.set_modes()?;
        Ok(guard)
    }

    fn set_modes(&self) -> io::Result<()> {
        terminal::enable_raw_mode()?;
        execute!(
            io::stdout(),
            terminal::EnterAlternateScreen,
            EnableBracketedPaste,
            cursor::Hide
        )?;
        if self.mouse {
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        Ok(())
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore_terminal();
    }
}

impl TerminalDisplay for TerminalGuard {
    fn suspend(&mut self) -> io::Result<()> {
        restore_terminal();
        // The process group of the session's leader has no shell that could bring it back.
        if getsid(None)? != getpgrp() {
            kill_current_process_group(Signal::STOP)?;
        }
        self.set_modes()
    }

    fn resume(&mut self) -> io::Result<()> {
        self.set_modes()
    }
}

/// Gives the terminal back, as far as there still is one. Does no harm when done twice.
pub fn restore_terminal() {
    let mut out = io::stdout();
    // Each for itself: a terminal that hung up refuses, and nothing can be done about it.
    let _ = execute!(out, DisableMouseCapture);
    let _ = execute!(
        out,
        DisableBracketedPaste,
        terminal::LeaveAlternateScreen,
        cursor::Show
    );
    let _ = out.flush();
    let _ = terminal::disable_raw_mode();
}

/// The message of a panic on another thread, kept until the terminal is restored.
#[derive(Debug, Clone, Default)]
pub struct PanicReport(Arc<Mutex<Option<String>>>);

impl PanicReport {
    /// From now on a panic on this thread restores the terminal before it is reported, and one on
    /// any other thread is told to the loop, which ends the program.
    #[must_use]
    pub fn install_hook(notices: mpsc::Sender<SignalNotice>) -> Self {
        let words = Self::default();
        let (kept, here) = (words.clone(), thread::current().id());
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if thread::current().id() == here {
                restore_terminal();
                report(panic);
                return;
            }
            let name = thread::current().name().unwrap_or("unnamed").to_owned();
            let mut words = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
            words.get_or_insert(format!("thread {name}: {panic}"));
            // When the channel is full the loop has been told to end already.
            let _ = notices.try_send(SignalNotice::Panicked);
        }));
        words
    }

    /// What a thread said when it panicked, if one did.
    #[must_use]
    pub fn panic_message(&self) -> Option<String> {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.clone()
    }
}

impl Drop for PanicReport {
    fn drop(&mut self) {
        // The hook holds a copy: the last but one to go is the program's own.
        if Arc::strong_count(&self.0) == 2 && !thread::panicking() {
            let _ = std::panic::take_hook();
        }
    }
}
