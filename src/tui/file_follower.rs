//! The thread that traces which files the requests belong to, while the pane of hot files is shown.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::services::FeedSenders;
use super::threads::CommandThread;
use crate::app::Message;
use crate::roots::SysPaths;
use crate::trace::hot_files::FileTrace;
use crate::tui::screens::requests::TraceUnavailable;

/// Time between two views.
const VIEW_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two looks at the commands.
const COMMAND_INTERVAL: Duration = Duration::from_millis(100);
/// How long to wait at the end for the kernel to remove a capture; the next start removes what is
/// left.
const STOP_TIMEOUT: Duration = Duration::from_millis(600);
/// Advice when a trace ended by itself.
const ENDED_ADVICE: &str = "press r to start a new trace";

/// Traces files on demand; dropping it ends the trace.
#[derive(Debug)]
pub(crate) struct FileFollower(CommandThread<bool>);

impl FileFollower {
    pub(crate) fn start(roots: SysPaths, senders: FeedSenders) -> std::io::Result<Self> {
        let body = move |inbox: &Receiver<_>| handle_commands(&roots, &senders, inbox);
        CommandThread::start("files", STOP_TIMEOUT, body).map(Self)
    }

    /// Starts a new trace, or ends the running one.
    pub(crate) fn set_tracing(&self, traced: bool) {
        self.0.send(traced);
    }
}

/// A trace in progress.
struct ShownTrace {
    trace: FileTrace,
    next_view: Instant,
}

impl ShownTrace {
    /// Sends why files cannot be traced, if they cannot.
    fn start(roots: &SysPaths, senders: &FeedSenders) -> Option<Self> {
        match FileTrace::start(roots) {
            Ok(trace) => Some(Self {
                trace,
                next_view: Instant::now() + VIEW_INTERVAL,
            }),
            Err(error) => {
                send_unavailable(senders, &error.to_string(), &error.advice());
                None
            }
        }
    }

    /// Follows the trace for a moment, and sends a view when one is due. Returns false when the
    /// trace has ended.
    fn follow(&mut self, senders: &FeedSenders) -> bool {
        std::thread::sleep(COMMAND_INTERVAL);
        let end_reason = self.trace.end_reason();
        if Instant::now() >= self.next_view || end_reason.is_some() {
            self.next_view = Instant::now() + VIEW_INTERVAL;
            let message = Message::HotFiles(Ok(Arc::new(self.trace.view())));
            // The receiver is gone once the program ends.
            let _ = senders.messages.blocking_send(message);
        }
        if let Some(reason) = &end_reason {
            send_unavailable(senders, reason, ENDED_ADVICE);
        }
        end_reason.is_none()
    }
}

fn handle_commands(roots: &SysPaths, senders: &FeedSenders, inbox: &Receiver<bool>) {
    let mut shown: Option<ShownTrace> = None;
    loop {
        let command = match &mut shown {
            None => inbox.recv().map_err(|_| TryRecvError::Disconnected),
            Some(running) => {
                if !running.follow(senders) {
                    shown = None;
                }
                inbox.try_recv()
            }
        };
        match command {
            Ok(traced) => {
                // The previous trace ends before the next one begins.
                shown = None;
                if traced {
                    shown = ShownTrace::start(roots, senders);
                }
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return,
        }
    }
}

fn send_unavailable(senders: &FeedSenders, reason: &str, advice: &str) {
    let unavailable = TraceUnavailable {
        reason: reason.into(),
        advice: advice.into(),
        concerns_all_devices: true,
    };
    let message = Message::HotFiles(Err(unavailable));
    // The receiver is gone once the program ends.
    let _ = senders.messages.blocking_send(message);
}
