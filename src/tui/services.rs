//! What the loop needs from outside, and how it hears of it.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::app::{Effect, Message, RunSnapshot};
use crate::model::Snapshot;
use crate::model::requests::RequestsView;

/// News that wait to be heard before their sender has to wait.
const MESSAGE_CAPACITY: usize = 64;

/// Does what the interface asks for. Nothing here blocks: the answers come through [`Feeds`].
pub trait AppServices {
    /// Begins to do it. Effects that concern the terminal or the loop itself never arrive here.
    fn perform_effect(&mut self, effect: Effect);

    /// Stops whatever runs and waits until it is saved: the program ends.
    fn stop_and_join(&mut self) {}
}

/// How the loop hears from the services: of samples and progress the latest only, of everything
/// else each.
#[derive(Debug)]
pub struct ServiceFeeds {
    /// The latest sample.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// The requests that are followed.
    pub requests: watch::Receiver<Option<Arc<RequestsView>>>,
    /// How the benchmark is getting on.
    pub progress: watch::Receiver<Option<Arc<RunSnapshot>>>,
    /// What must not be lost.
    pub messages: mpsc::Receiver<Message>,
}

/// The services' ends of the [`Feeds`].
#[derive(Debug, Clone)]
pub struct FeedSenders {
    /// The latest sample.
    pub snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    /// The requests that are followed.
    pub requests: watch::Sender<Option<Arc<RequestsView>>>,
    /// How the benchmark is getting on.
    pub progress: watch::Sender<Option<Arc<RunSnapshot>>>,
    /// What must not be lost.
    pub messages: mpsc::Sender<Message>,
}

/// A pair of ends.
#[must_use]
pub fn service_channels() -> (FeedSenders, ServiceFeeds) {
    let (live, live_feed) = watch::channel(None);
    let (requests, requests_feed) = watch::channel(None);
    let (progress, progress_feed) = watch::channel(None);
    let (news, news_feed) = mpsc::channel(MESSAGE_CAPACITY);
    let feeds = ServiceFeeds {
        snapshots: live_feed,
        requests: requests_feed,
        progress: progress_feed,
        messages: news_feed,
    };
    (
        FeedSenders {
            snapshots: live,
            requests,
            progress,
            messages: news,
        },
        feeds,
    )
}
