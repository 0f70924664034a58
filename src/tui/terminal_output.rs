//! Output to a terminal that never waits for it. A terminal over a slow or stalled line stops
//! accepting bytes; write(2) then waits, and with it everything that its thread has to do.
//!
//! A thread of its own writes. It takes the bytes of one frame; whoever draws checks
//! [`TerminalOutput::is_idle`] first and drops the frame otherwise, so that nothing is queued.
//!
//! The terminal is opened again: O_NONBLOCK belongs to the open file, which is usually shared with
//! stdin and with the shell.

use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::watch;

/// How long the thread waits for the terminal before it checks whether its bytes are still wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long [`TerminalOutput::discard`] waits for the thread; it needs one [`POLL_INTERVAL`].
const DISCARD_TIMEOUT: Duration = Duration::from_millis(200);
/// How long the last bytes may take, [`TerminalOutput::write_last`].
const LAST_WRITE_TIMEOUT: Duration = Duration::from_millis(300);
/// Bytes of one write(2) where it may wait, because the terminal may not have been opened again.
const BLOCKING_CHUNK: usize = 64;

/// A terminal that is written by a thread. Copies share the thread, which ends with the last one.
#[derive(Debug, Clone)]
pub struct TerminalOutput {
    shared: Arc<Shared>,
    /// Dropped with the last copy.
    _handle: Arc<ThreadHandle>,
}

#[derive(Debug)]
struct Shared {
    terminal: OwnedFd,
    /// Whether write(2) returns instead of waiting.
    is_nonblocking: bool,
    queue: Mutex<Queue>,
    changed: Condvar,
    idle: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    is_writing: bool,
    is_discarding: bool,
    is_closed: bool,
    error: Option<Errno>,
}

impl Queue {
    fn is_idle(&self) -> bool {
        self.bytes.is_empty() && !self.is_writing
    }
}

/// Ends the thread when it is dropped.
#[derive(Debug)]
struct ThreadHandle(Arc<Shared>);

impl Drop for ThreadHandle {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl TerminalOutput {
    /// Starts the thread for an open terminal.
    ///
    /// # Errors
    /// When neither the terminal nor the thread can be had.
    pub fn start(terminal: impl AsFd) -> io::Result<Self> {
        let terminal = terminal.as_fd();
        let (terminal, is_nonblocking) = match open_again(terminal.as_raw_fd()) {
            Ok(opened) => (opened, true),
            // The terminal of another user, for example after su(1).
            Err(_) => (terminal.try_clone_to_owned()?, false),
        };
        let shared = Arc::new(Shared {
            terminal,
            is_nonblocking,
            queue: Mutex::default(),
            changed: Condvar::new(),
            idle: watch::channel(true).0,
        });
        let writer = Arc::clone(&shared);
        thread::Builder::new()
            .name("terminal".to_owned())
            .spawn(move || writer.run())?;
        Ok(Self {
            _handle: Arc::new(ThreadHandle(Arc::clone(&shared))),
            shared,
        })
    }

    /// Whether the terminal has taken everything.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.shared.lock().is_idle()
    }

    /// Becomes true whenever the terminal has taken everything.
    #[must_use]
    pub fn idle(&self) -> watch::Receiver<bool> {
        self.shared.idle.subscribe()
    }

    /// Passes bytes to the thread.
    ///
    /// # Errors
    /// When an earlier write failed: the terminal is gone.
    pub fn push(&self, bytes: &[u8]) -> io::Result<()> {
        let mut queue = self.shared.lock();
        if let Some(error) = queue.error {
            return Err(error.into());
        }
        if !bytes.is_empty() {
            queue.bytes.extend_from_slice(bytes);
            self.shared.idle.send_replace(false);
            self.shared.changed.notify_all();
        }
        Ok(())
    }

    /// Passes bytes to the thread if it has none, else drops them. Whether they were passed on.
    pub fn offer(&self, bytes: &[u8]) -> bool {
        self.is_idle() && self.push(bytes).is_ok()
    }

    /// Waits until the terminal has taken everything; false if it did not in time.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut queue = self.shared.lock();
        while !queue.is_idle() && queue.error.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Discards what the terminal has not taken. What is passed afterwards is written again.
    pub fn discard(&self) {
        {
            let mut queue = self.shared.lock();
            queue.bytes.clear();
            queue.is_discarding = true;
        }
        // A terminal that hung up refuses, which cannot be handled.
        let _ = tcflush(&self.shared.terminal, QueueSelector::OFlush);
        self.wait_idle(DISCARD_TIMEOUT);
        let _ = tcflush(&self.shared.terminal, QueueSelector::OFlush);
        self.shared.lock().is_discarding = false;
    }

    /// Writes the last bytes from this thread, after everything that was passed before. A terminal
    /// that does not take them in time loses what it has not taken.
    pub fn write_last(&self, bytes: &[u8]) {
        if !self.wait_idle(LAST_WRITE_TIMEOUT) {
            self.discard();
        }
        write_in_time(bytes, |rest| self.shared.write_some(rest));
    }
}

/// Writes bytes until the terminal has taken them, or does not take them in time.
fn write_in_time(bytes: &[u8], write_some: impl Fn(&[u8]) -> Result<usize, Errno>) {
    let deadline = Instant::now() + LAST_WRITE_TIMEOUT;
    let mut rest = bytes;
    while !rest.is_empty() && Instant::now() < deadline {
        match write_some(rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(_) => return,
        }
    }
}

impl Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes)?;
        Ok(bytes.len())
    }

    /// Does not wait.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Body of the thread.
    fn run(&self) {
        let mut bytes = Vec::new();
        while self.take_bytes(&mut bytes) {
            let mut rest = bytes.as_slice();
            while !rest.is_empty() && !self.lock().is_discarding {
                match self.write_some(rest) {
                    Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                    Err(error) => {
                        let mut queue = self.lock();
                        queue.error = Some(error);
                        break;
                    }
                }
            }
        }
    }

    /// Waits for bytes; false when there will be none any more.
    fn take_bytes(&self, bytes: &mut Vec<u8>) -> bool {
        bytes.clear();
        let mut queue = self.lock();
        queue.is_writing = false;
        loop {
            if queue.is_closed || queue.error.is_some() {
                queue.bytes.clear();
                self.idle.send_replace(true);
                self.changed.notify_all();
                return false;
            }
            if !queue.bytes.is_empty() {
                std::mem::swap(bytes, &mut queue.bytes);
                queue.is_writing = true;
                return true;
            }
            self.idle.send_replace(true);
            self.changed.notify_all();
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write_some(&self, bytes: &[u8]) -> Result<usize, Errno> {
        write_some(&self.terminal, self.is_nonblocking, bytes)
    }
}

/// Writes as much as the terminal takes, after waiting for it for at most [`POLL_INTERVAL`].
fn write_some(terminal: &impl AsFd, is_nonblocking: bool, bytes: &[u8]) -> Result<usize, Errno> {
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: i64::try_from(POLL_INTERVAL.as_nanos()).unwrap_or(0),
    };
    let mut events = [PollFd::new(terminal, PollFlags::OUT)];
    match poll(&mut events, Some(&timeout)) {
        Ok(0) | Err(Errno::INTR) => return Ok(0),
        Ok(_) => {}
        Err(error) => return Err(error),
    }
    let part = match is_nonblocking {
        true => bytes,
        false => bytes.get(..BLOCKING_CHUNK).unwrap_or(bytes),
    };
    match rustix::io::write(terminal, part) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        result => result,
    }
}

/// Opens a terminal again, for writing only and so that write(2) does not wait.
fn open_again(terminal: i32) -> Result<OwnedFd, Errno> {
    let path = format!("/proc/self/fd/{terminal}");
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}
