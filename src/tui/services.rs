//! The services that the loop uses, and the channels for their messages.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::app::{Effect, Message};
use crate::bench::RunEvent;
use crate::snapshot::Snapshot;
use crate::tui::screens::requests::view::RequestsView;
use crate::tui::screens::why::WatchedDiagnosis;

/// Messages that can be queued before their sender has to wait.
const MESSAGE_CAPACITY: usize = 64;

/// Performs effects. Nothing here blocks: the results arrive through [`ServiceFeeds`].
pub trait AppServices {
    /// Starts an effect. Effects that concern the terminal or the loop itself are not passed here.
    fn perform_effect(&mut self, effect: Effect);

    /// Stops a running benchmark and waits until it is saved, at the end of the program.
    fn stop_and_join(&mut self) {}
}

/// Receivers of the loop: only the latest value for samples and progress, every message otherwise.
#[derive(Debug)]
pub struct ServiceFeeds {
    /// The latest sample.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// The latest view of the traced requests.
    pub requests: watch::Receiver<Option<Arc<RequestsView>>>,
    /// The latest diagnosis.
    pub diagnosis: watch::Receiver<Option<Arc<WatchedDiagnosis>>>,
    /// The latest event of the benchmark.
    pub run_event: watch::Receiver<Option<Arc<RunEvent>>>,
    /// Messages that must not be lost.
    pub messages: mpsc::Receiver<Message>,
}

/// Senders of the services to the [`ServiceFeeds`].
#[derive(Debug, Clone)]
pub struct FeedSenders {
    /// The latest sample.
    pub snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    /// The latest view of the traced requests.
    pub requests: watch::Sender<Option<Arc<RequestsView>>>,
    /// The latest diagnosis.
    pub diagnosis: watch::Sender<Option<Arc<WatchedDiagnosis>>>,
    /// The latest event of the benchmark.
    pub run_event: watch::Sender<Option<Arc<RunEvent>>>,
    /// Messages that must not be lost.
    pub messages: mpsc::Sender<Message>,
}

/// Creates the channels.
#[must_use]
pub fn service_channels() -> (FeedSenders, ServiceFeeds) {
    let (snapshots, snapshots_feed) = watch::channel(None);
    let (requests, requests_feed) = watch::channel(None);
    let (diagnosis, diagnosis_feed) = watch::channel(None);
    let (run_event, run_event_feed) = watch::channel(None);
    let (messages, messages_feed) = mpsc::channel(MESSAGE_CAPACITY);
    let feeds = ServiceFeeds {
        snapshots: snapshots_feed,
        requests: requests_feed,
        diagnosis: diagnosis_feed,
        run_event: run_event_feed,
        messages: messages_feed,
    };
    let senders = FeedSenders {
        snapshots,
        requests,
        diagnosis,
        run_event,
        messages,
    };
    (senders, feeds)
}
