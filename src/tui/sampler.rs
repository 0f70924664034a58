//! The thread that takes samples at an interval.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::threads::CommandThread;

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
pub struct SampleThread(CommandThread<SamplerCommand>);

impl SampleThread {
    /// Calls `take` at once and then once per interval, on a separate thread.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn start(interval: Duration, take: impl FnMut() + Send + 'static) -> std::io::Result<Self> {
        let body = move |inbox: &Receiver<_>| sample_loop(interval, inbox, take);
        CommandThread::start("sampler", STOP_TIMEOUT, body).map(Self)
    }

    /// Changes the interval; the next sample is that long after the last.
    pub fn set_interval(&self, interval: Duration) {
        self.0.send(SamplerCommand::SetInterval(interval));
    }

    /// Pauses or resumes sampling.
    pub fn set_paused(&self, paused: bool) {
        self.0.send(SamplerCommand::SetPaused(paused));
    }
}

fn sample_loop(mut interval: Duration, inbox: &Receiver<SamplerCommand>, mut take: impl FnMut()) {
    let mut paused = false;
    let mut last = Instant::now();
    take();
    loop {
        let command = if paused {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            inbox.recv_timeout((last + interval).saturating_duration_since(Instant::now()))
        };
        match command {
            Ok(SamplerCommand::SetInterval(new)) => interval = new,
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
