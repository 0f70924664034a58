//! Terminal setup, and its restoration on every exit path.

use std::io;
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use std::thread;

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::{cursor, queue, terminal};
use rustix::process::{Signal, getpgrp, getsid, kill_current_process_group};
use rustix::termios::tcgetpgrp;

use crate::files::supervisor;
use crate::tui::terminal_output::TerminalOutput;

/// Operations of the loop on the terminal, except for drawing.
pub trait TerminalDisplay {
    /// Restores the terminal, and stops the program with job control of its shell. Returns when it
    /// continues.
    ///
    /// # Errors
    ///
    /// When the program cannot be stopped.
    fn suspend(&mut self) -> io::Result<()>;

    /// Whether the program may use the terminal: a shell continues a program in the background by `bg`,
    /// and for a signal that ends it (`kill %1`).
    fn is_in_foreground(&self) -> bool;

    /// Sets the terminal up again after the program was stopped. In the background that would stop it
    /// again.
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
    /// Whether it is set up; not while the program is stopped.
    is_set_up: bool,
}

impl TerminalGuard {
    /// Sets the terminal up.
    ///
    /// # Errors
    ///
    /// When standard output is no terminal, or it cannot be configured.
    pub fn enter_screen(output: TerminalOutput, mouse: bool) -> io::Result<Self> {
        // From here on, dropping the guard restores everything set before a failure.
        let mut guard = Self {
            output,
            mouse,
            is_set_up: false,
        };
        guard.set_modes()?;
        Ok(guard)
    }

    fn set_modes(&mut self) -> io::Result<()> {
        self.is_set_up = true;
        // Before it is true: the supervisor may only restore too much.
        supervisor::report_screen(true);
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
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // A panic has restored it, and has been reported on it.
        if self.is_set_up && !thread::panicking() {
            leave_screen(&self.output);
        }
    }
}

impl TerminalDisplay for TerminalGuard {
    fn suspend(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_set_up) {
            leave_screen(&self.output);
        }
        // The process group of a session leader has no shell that could continue it.
        if getsid(None)? != getpgrp() {
            kill_current_process_group(Signal::STOP)?;
        }
        Ok(())
    }

    fn is_in_foreground(&self) -> bool {
        // Without a controlling terminal there is no background.
        tcgetpgrp(rustix::stdio::stdin()).map_or(true, |foreground| foreground == getpgrp())
    }

    fn resume(&mut self) -> io::Result<()> {
        self.set_modes()
    }

    async fn output_taken(&self) {
        // It fails only when the thread has ended, and then drawing fails.
        let _ = self.output.idle().wait_for(|idle| *idle).await;
    }
}

/// Restores the terminal, as far as it still exists and takes bytes. What it has not taken yet is
/// discarded first: over a slow line, frames that nobody will look at would delay the end by minutes.
pub fn leave_screen(output: &TerminalOutput) {
    output.discard();
    output.write_last(&leave_screen_sequences());
    let _ = terminal::disable_raw_mode();
    supervisor::report_screen(false);
}

/// What takes a terminal back from the alternate screen to the shell's: without a hidden cursor, mouse
/// reports and bracketed paste.
#[must_use]
pub fn leave_screen_sequences() -> Vec<u8> {
    // CAN ends a control sequence of which only the beginning was sent (ECMA-48).
    let mut bytes = b"\x18".to_vec();
    // Writing to memory does not fail.
    let _ = queue!(
        bytes,
        DisableMouseCapture,
        DisableBracketedPaste,
        terminal::LeaveAlternateScreen,
        cursor::Show
    );
    bytes
}

type PanicHook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// While this exists, a panic on any thread restores the terminal before it is reported.
pub struct PanicRestoration {
    /// Reports a panic, and takes over again afterwards.
    report: Arc<PanicHook>,
}

impl PanicRestoration {
    /// Installs the panic hook.
    #[must_use]
    pub fn install(output: TerminalOutput) -> Self {
        let report: Arc<PanicHook> = Arc::from(panic::take_hook());
        let reporter = Arc::clone(&report);
        panic::set_hook(Box::new(move |panic| {
            leave_screen(&output);
            reporter(panic);
        }));
        Self { report }
    }
}

impl Drop for PanicRestoration {
    fn drop(&mut self) {
        // A hook cannot be set while a panic is in progress.
        if !thread::panicking() {
            let report = Arc::clone(&self.report);
            panic::set_hook(Box::new(move |panic| report(panic)));
        }
    }
}
