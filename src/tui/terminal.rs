//! Terminal setup, and its restoration on every exit path.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::{cursor, execute, terminal};
use rustix::process::{Signal, getpgrp, getsid, kill_current_process_group};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

use super::signals::SignalNotice;

/// Operations of the loop on the terminal, except for drawing.
pub trait TerminalDisplay {
    /// Restores the terminal, stops the program with job control of its shell, and sets the
    /// terminal up again when it continues.
    ///
    /// # Errors
    ///
    /// When the terminal cannot be configured.
    fn suspend(&mut self) -> io::Result<()>;

    /// Sets the terminal up again after another process stopped the program.
    ///
    /// # Errors
    ///
    /// When the terminal cannot be configured.
    fn resume(&mut self) -> io::Result<()>;
}

/// The terminal in raw mode with its alternate screen; restored when it is dropped.
#[derive(Debug)]
pub struct TerminalGuard {
    mouse: bool,
}

impl TerminalGuard {
    /// Sets the terminal up.
    ///
    /// # Errors
    ///
    /// When standard output is no terminal, or it cannot be configured.
    pub fn enter_screen(mouse: bool) -> io::Result<Self> {
        // From here on, dropping the guard restores everything set before a failure.
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
        discard_output();
        restore_terminal();
    }
}

/// Discards output that the terminal has not taken yet: over a slow line, frames that nobody will
/// look at would delay the end by minutes.
fn discard_output() {
    let mut out = io::stdout();
    // A terminal that hung up refuses, which cannot be handled.
    let _ = tcflush(&out, QueueSelector::OFlush);
    // CAN ends a control sequence of which only the beginning was sent (ECMA-48).
    let _ = out.write_all(b"\x18");
    let _ = out.flush();
}

impl TerminalDisplay for TerminalGuard {
    fn suspend(&mut self) -> io::Result<()> {
        restore_terminal();
        // The process group of a session leader has no shell that could continue it.
        if getsid(None)? != getpgrp() {
            kill_current_process_group(Signal::STOP)?;
        }
        self.set_modes()
    }

    fn resume(&mut self) -> io::Result<()> {
        self.set_modes()
    }
}

/// Restores the terminal, as far as it still exists. May be called twice.
pub fn restore_terminal() {
    let mut out = io::stdout();
    // Each step on its own: a terminal that hung up refuses, which cannot be handled.
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
    /// Installs a panic hook: a panic on this thread restores the terminal before it is reported,
    /// and one on any other thread is sent to the loop, which ends the program.
    #[must_use]
    pub fn install_hook(notices: mpsc::Sender<SignalNotice>) -> Self {
        let report_text = Self::default();
        let (hook_text, here) = (report_text.clone(), thread::current().id());
        let default_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if thread::current().id() == here {
                restore_terminal();
                default_hook(panic);
                return;
            }
            let name = thread::current().name().unwrap_or("unnamed").to_owned();
            let mut report_text = hook_text.0.lock().unwrap_or_else(PoisonError::into_inner);
            report_text.get_or_insert(format!("thread {name}: {panic}"));
            // When the channel is full, the loop has a notice to end already.
            let _ = notices.try_send(SignalNotice::Panicked);
        }));
        report_text
    }

    /// The panic message, if a thread panicked.
    #[must_use]
    pub fn panic_message(&self) -> Option<String> {
        let report_text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        report_text.clone()
    }
}

impl Drop for PanicReport {
    fn drop(&mut self) {
        // The hook holds a copy: the last but one to be dropped is the program's own.
        if Arc::strong_count(&self.0) == 2 && !thread::panicking() {
            let _ = std::panic::take_hook();
        }
    }
}
