//! What the loop needs from outside, and how it hears of it.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::app::{Effect, News, RunView};
use crate::model::Live;
use crate::model::requests::RequestsView;

/// News that wait to be heard before their sender has to wait.
const BACKLOG: usize = 64;

/// Does what the interface asks for. Nothing here blocks: the answers come through [`Feeds`].
pub trait Services {
    /// Begins to do it. Effects that concern the terminal or the loop itself never arrive here.
    fn perform(&mut self, effect: Effect);

    /// Stops whatever runs and waits until it is saved: the program ends.
    fn finish(&mut self) {}
}

/// How the loop hears from the services: of samples and progress the latest only, of everything
/// else each.
#[derive(Debug)]
pub struct Feeds {
    /// The latest sample.
    pub live: watch::Receiver<Option<Arc<Live>>>,
    /// The requests that are followed.
    pub requests: watch::Receiver<Option<Arc<RequestsView>>>,
    /// How the benchmark is getting on.
    pub progress: watch::Receiver<Option<Arc<RunView>>>,
    /// What must not be lost.
    pub news: mpsc::Receiver<News>,
}

/// The services' ends of the [`Feeds`].
#[derive(Debug, Clone)]
pub struct Sources {
    /// The latest sample.
    pub live: watch::Sender<Option<Arc<Live>>>,
    /// The requests that are followed.
    pub requests: watch::Sender<Option<Arc<RequestsView>>>,
    /// How the benchmark is getting on.
    pub progress: watch::Sender<Option<Arc<RunView>>>,
    /// What must not be lost.
    pub news: mpsc::Sender<News>,
}

/// A pair of ends.
#[must_use]
pub fn feeds() -> (Sources, Feeds) {
    let (live, live_feed) = watch::channel(None);
    let (requests, requests_feed) = watch::channel(None);
    let (progress, progress_feed) = watch::channel(None);
    let (news, news_feed) = mpsc::channel(BACKLOG);
    let feeds = Feeds {
        live: live_feed,
        requests: requests_feed,
        progress: progress_feed,
        news: news_feed,
    };
    (
        Sources {
            live,
            requests,
            progress,
            news,
        },
        feeds,
    )
}
