//! The thread that begins and ends captures for the Requests screen: both may take the kernel
//! a while.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::requests::{Detail, Scope, follow};
use super::services::Sources;
use super::threads::join_within;
use crate::app::News;
use crate::model::requests::Board;
use crate::probe::now;
use crate::probe::trace::{Capture, Then};
use crate::roots::Roots;

/// Time between two views in nanoseconds of the trace's clock.
const VIEW_EVERY: u64 = 200_000_000;

/// How long the end waits for the kernel to take a capture down; what stays is swept by the next
/// start.
const PATIENCE: Duration = Duration::from_millis(600);

/// What to do when a capture ended by itself.
const ENDED: &str = "press r to begin anew; rates, transfers and benchmarks work without it";

/// Follows the requests of one device at a time; ends when this is dropped.
#[derive(Debug)]
pub(super) struct Follower {
    orders: Option<Sender<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    pub(super) fn start(roots: Roots, sources: Sources) -> std::io::Result<Self> {
        let (orders, inbox) = channel();
        let thread = thread::Builder::new()
            .name("follower".to_owned())
            .spawn(move || obey(&roots, &sources, &inbox))?;
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    /// Follows this device from now on, or none.
    pub(super) fn follow(&self, device: Option<String>) {
        if let Some(orders) = &self.orders {
            // A thread that is gone has panicked, which the loop is told by other means.
            let _ = orders.send(device);
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            join_within(thread, PATIENCE);
        }
    }
}

fn obey(roots: &Roots, sources: &Sources, inbox: &Receiver<Option<String>>) {
    let mut capture: Option<Capture> = None;
    while let Ok(mut device) = inbox.recv() {
        // Who pages through the devices wants the last of them only.
        while let Ok(later) = inbox.try_recv() {
            device = later;
        }
        if let Some(before) = capture.take() {
            before.stop();
        }
        let Some(device) = device else { continue };
        match begin(roots, &device, sources) {
            Ok(begun) => capture = Some(begun),
            Err(refused) => {
                // Nobody listens any more once the program ends.
                let _ = sources.news.blocking_send(refused);
            }
        }
    }
}

fn begin(roots: &Roots, device: &str, sources: &Sources) -> Result<Capture, News> {
    let refused = |message: String, advice: &str| News::NotFollowed {
        message,
        advice: advice.to_owned(),
    };
    let scope =
        Scope::of(roots, device).map_err(|error| refused(error.to_string(), error.advice()))?;
    let began = u64::try_from(now().as_nanos()).unwrap_or(0);
    let mut board = Board::new(device, began);
    let views = sources.requests.clone();
    let news = sources.news.clone();
    let mut last = 0;
    follow(roots, scope, Detail::Full, move |told| {
        board.add(&told.requests);
        board.stand(told.lost, told.gaps, told.under_way);
        if told.until.saturating_sub(last) >= VIEW_EVERY {
            last = told.until;
            views.send_replace(Some(Arc::new(board.view(told.until))));
        }
        if let Some(message) = told.ended {
            // Nobody listens any more once the program ends.
            let _ = news.blocking_send(refused(message, ENDED));
        }
        Then::Follow
    })
    .map_err(|error| refused(error.to_string(), &error.advice()))
}
