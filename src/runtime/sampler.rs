//! The thread that takes samples at an interval.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::threads::join_within;

/// How long the end waits for a sample that is being taken.
const PATIENCE: Duration = Duration::from_millis(300);

/// What the sampling thread is told.
#[derive(Debug)]
enum Order {
    Interval(Duration),
    Pause(bool),
}

/// A thread that takes samples; ends when this is dropped.
#[derive(Debug)]
pub struct Sampler {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Calls `take` at once and then once every interval, on a thread of its own.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(interval: Duration, take: impl FnMut() + Send + 'static) -> std::io::Result<Self> {
        let (orders, inbox) = channel();
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample(interval, &inbox, take))?;
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    /// Changes the interval; the next sample is that long after the last.
    pub fn set_interval(&self, interval: Duration) {
        self.tell(Order::Interval(interval));
    }

    /// Stops taking samples, or goes on.
    pub fn pause(&self, paused: bool) {
        self.tell(Order::Pause(paused));
    }

    fn tell(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // A thread that is gone has panicked, which the loop is told by other means.
            let _ = orders.send(order);
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            join_within(thread, PATIENCE);
        }
    }
}

fn sample(mut interval: Duration, inbox: &Receiver<Order>, mut take: impl FnMut()) {
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
            Ok(Order::Interval(longer)) => interval = longer,
            Ok(Order::Pause(pause)) => paused = pause,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                // On the grid, unless a whole interval was missed.
                last = (last + interval).max(Instant::now() - interval);
                take();
            }
        }
    }
}
