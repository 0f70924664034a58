//! Terminal setup, and its restoration on every exit path.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::{cursor, queue, terminal};
use rustix::process::{Signal, getpgrp, getsid, kill_current_process_group};
use tokio::sync::mpsc;

use super::signals::SignalNotice;
use crate::terminal_output::TerminalOutput;

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

    /// Completes when the terminal has taken everything that was drawn. Until then no frame is
    /// drawn: one that is queued would be out of date when the terminal shows it.
    fn output_taken(&self) -> impl Future<Output = ()>;
}

/// The terminal in raw mode with its alternate screen; restored when it is dropped.
#[derive(Debug)]
pub struct TerminalGuard {
    output: TerminalOutput,
    mouse: bool,
}

impl TerminalGuard {
    /// Sets the terminal up.
    ///
    /// # Errors
    ///
    /// When standard output is no terminal, or it cannot be configured.
    pub fn enter_screen(output: TerminalOutput, mouse: bool) -> io::Result<Self> {
        // From here on, dropping the guard restores everything set before a failure.
        let guard = Self { output, mouse };
        guard.set_modes()?;
        Ok(guard)
    }

    fn set_modes(&self) -> io::Result<()> {
        terminal::enable_raw_mode()?;
        let mut bytes = Vec::new();
        queue!(
            bytes,
            terminal::EnterAlternateScreen,
            EnableBracketedPaste,
            cursor::Hide
        )?;
        if self.mouse {
            queue!(bytes, EnableMouseCapture)?;
        }
        self.output.push(&bytes)
    }

    /// Discards output that the terminal has not taken yet, then restores it: over a slow line,
    /// frames that nobody will look at would delay the end by minutes.
    fn leave_screen(&self) {
        self.output.discard();
        // CAN ends a control sequence of which only the beginning was sent (ECMA-48).
        self.output.write_last(b"\x18");
        restore_terminal(&self.output);
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // A panic has been reported on the terminal already.
        if thread::panicking() {
            restore_terminal(&self.output);
        } else {
            self.leave_screen();
        }
    }
}

impl TerminalDisplay for TerminalGuard {
    fn suspend(&mut self) -> io::Result<()> {
        self.leave_screen();
        // The process group of a session leader has no shell that could continue it.
        if getsid(None)? != getpgrp() {
            kill_current_process_group(Signal::STOP)?;
        }
        self.set_modes()
    }

    fn resume(&mut self) -> io::Result<()> {
        self.set_modes()
    }

    async fn output_taken(&self) {
        // It fails only when the thread has ended, and then drawing fails.
        let _ = self.output.idle().wait_for(|idle| *idle).await;
    }
}

/// Restores the terminal, as far as it still exists and takes bytes. May be called twice.
pub fn restore_terminal(output: &TerminalOutput) {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = queue!(
        bytes,
        DisableMouseCapture,
        DisableBracketedPaste,
        terminal::LeaveAlternateScreen,
        cursor::Show
    );
    output.write_last(&bytes);
    let _ = terminal::disable_raw_mode();
}

/// The message of a panic on another thread, kept until the terminal is restored.
#[derive(Debug, Clone, Default)]
pub struct PanicReport(Arc<Mutex<Option<String>>>);

impl PanicReport {
    /// Installs a panic hook: a panic on this thread restores the terminal before it is reported,
    /// and one on any other thread is sent to the loop, which ends the program.
    #[must_use]
    pub fn install_hook(notices: mpsc::Sender<SignalNotice>, output: TerminalOutput) -> Self {
        let report_text = Self::default();
        let (hook_text, here) = (report_text.clone(), thread::current().id());
        let default_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if thread::current().id() == here {
                restore_terminal(&output);
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
