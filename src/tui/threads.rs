//! Threads of the interface. Each may wait for a device, so that their end is awaited for a limited
//! time.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often a thread is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Waits for a thread's end, at most this long; then the thread is abandoned.
pub(crate) fn join_within(thread: JoinHandle<()>, limit: Duration) {
    let deadline = Instant::now() + limit;
    while !thread.is_finished() {
        if Instant::now() > deadline {
            return;
        }
        thread::sleep(POLL_INTERVAL);
    }
    // Its panic was reported when it happened.
    let _ = thread.join();
}

/// A thread that executes commands of the event loop; dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct CommandThread<C> {
    /// `None` once the thread was asked to end.
    commands: Option<Sender<C>>,
    thread: Option<JoinHandle<()>>,
    stop_timeout: Duration,
}

impl<C: Send + 'static> CommandThread<C> {
    /// Runs `body` on a thread of this name. It returns when the channel of its commands closes; the
    /// end waits for it no longer than `stop_timeout`.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub(crate) fn start(
        name: &str,
        stop_timeout: Duration,
        body: impl FnOnce(&Receiver<C>) + Send + 'static,
    ) -> io::Result<Self> {
        let (commands, inbox) = channel();
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || body(&inbox))?;
        Ok(Self {
            commands: Some(commands),
            thread: Some(thread),
            stop_timeout,
        })
    }
}

impl<C> CommandThread<C> {
    /// Another sender of commands. The thread does not end before it is dropped.
    pub(crate) fn sender(&self) -> Option<Sender<C>> {
        self.commands.clone()
    }

    pub(crate) fn send(&self, command: C) {
        if let Some(commands) = &self.commands {
            // A thread ends early only when it panics, and that ends the program.
            let _ = commands.send(command);
        }
    }
}

impl<C> Drop for CommandThread<C> {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            join_within(thread, self.stop_timeout);
        }
    }
}
