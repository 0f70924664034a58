//! The thread that takes samples at an interval.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::threads::join_within;

/// How long to wait at the end for a sample in progress.
const STOP_TIMEOUT: Duration = Duration::from_millis(300);

/// Commands to the sampling thread.
#[derive(Debug)]
enum SamplerCommand {
    SetInterval(Duration),
    SetPaused(bool),
}

/// A thread that takes samples; dropping it ends the thread.
#[derive(Debug)]
pub struct SampleThread {
    commands: Option<Sender<SamplerCommand>>,
    thread: Option<JoinHandle<()>>,
}

impl SampleThread {
    /// Calls `take` at once and then once per interval, on a separate thread.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn start(interval: Duration, take: impl FnMut() + Send + 'static) -> std::io::Result<Self> {
        let (orders, inbox) = channel();
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample_loop(interval, &inbox, take))?;
        Ok(Self {
            commands: Some(orders),
            thread: Some(thread),
        })
    }

    /// Changes the interval; the next sample is that long after the last.
    pub fn set_interval(&self, interval: Duration) {
        self.send_command(SamplerCommand::SetInterval(interval));
    }

    /// Pauses or resumes sampling.
    pub fn set_paused(&self, paused: bool) {
        self.send_command(SamplerCommand::SetPaused(paused));
    }

    fn send_command(&self, order: SamplerCommand) {
        if let Some(orders) = &self.commands {
            // A thread that has ended has panicked, which the loop learns from the panic hook.
            let _ = orders.send(order);
        }
    }
}

impl Drop for SampleThread {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            join_within(thread, STOP_TIMEOUT);
        }
    }
}

fn sample_loop(mut interval: Duration, inbox: &Receiver<SamplerCommand>, mut take: impl FnMut()) {
    let mut paused = false;
    let mut last = Instant::now();
    take();
    loop {
        let order = if paused {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            inbox.recv_timeout((last + interval).saturating_duration_since(Instant::now()))
        };
        match order {
            Ok(SamplerCommand::SetInterval(longer)) => interval = longer,
            Ok(SamplerCommand::SetPaused(pause)) => paused = pause,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                // On the grid, unless a whole interval was missed.
                last = (last + interval).max(Instant::now() - interval);
                take();
            }
        }
    }
}
