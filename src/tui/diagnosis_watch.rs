//! The thread that examines the samples of the Live screen for causes of waiting.
//!
//! On a quiet machine it keeps the snapshots of the last seconds and reads a few short files. It
//! scans the tasks, reads facts and has the control groups sampled only while a snapshot gives
//! reason to, or while the Why screen is shown. It traces requests only when the user asks for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::services::FeedSenders;
use super::threads::CommandThread;
use crate::probe::boot_time;
use crate::roots::SysPaths;
use crate::snapshot::Snapshot;
use crate::tui::screens::why::WatchedDiagnosis;
use crate::why::recorder::WindowRecorder;
use crate::why::suspicion::is_suspicious;
use crate::why::{Severity, WINDOW, diagnose};

/// Time between two scans of the tasks.
const SCAN_INTERVAL: Duration = Duration::from_millis(500);
/// How long scanning goes on after the last snapshot that gave reason to.
const ALERT_TIME: Duration = Duration::from_secs(15);
/// Scans before who waits is known: a process may be blocked in one by chance.
const MIN_SCANS: usize = 6;
/// Age of the facts at most.
const FACTS_AGE: Duration = Duration::from_secs(4);
/// How often the facts of a quiet machine are read: whether a file system is full, for example.
const QUIET_CHECK: Duration = Duration::from_secs(30);
/// How long to wait at the end for the kernel to remove a trace.
const STOP_TIMEOUT: Duration = Duration::from_millis(600);

/// Commands to the thread.
#[derive(Debug)]
pub(crate) enum WatchCommand {
    /// A new sample.
    Snapshot(Arc<Snapshot>),
    /// Whether the Why screen is shown.
    SetShown(bool),
    /// Whether the requests of the busiest device are traced as proof.
    SetTracing(bool),
}

/// The thread; dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct DiagnosisWatch(CommandThread<WatchCommand>);

impl DiagnosisWatch {
    /// Starts the thread; it sets `wants_units` while the control groups have to be sampled.
    pub(crate) fn start(
        roots: SysPaths,
        senders: FeedSenders,
        wants_units: Arc<AtomicBool>,
    ) -> std::io::Result<Self> {
        let body = move |inbox: &Receiver<_>| {
            let mut watch = Watch {
                recorder: WindowRecorder::begin(roots, false),
                senders,
                wants_units,
                previous: None,
                is_shown: false,
                // What waits already when the program starts is found at once.
                alert_until: Some(Instant::now() + ALERT_TIME),
                scan_due: Instant::now(),
                quiet_check: Instant::now(),
            };
            watch.run(inbox);
        };
        CommandThread::start("diagnosis", STOP_TIMEOUT, body).map(Self)
    }

    /// Where the samples go.
    pub(crate) fn sender(&self) -> Option<Sender<WatchCommand>> {
        self.0.sender()
    }

    pub(crate) fn set_shown(&self, shown: bool) {
        self.0.send(WatchCommand::SetShown(shown));
    }

    pub(crate) fn set_tracing(&self, tracing: bool) {
        self.0.send(WatchCommand::SetTracing(tracing));
    }
}

/// State of the thread.
struct Watch {
    recorder: WindowRecorder,
    senders: FeedSenders,
    wants_units: Arc<AtomicBool>,
    previous: Option<Arc<Snapshot>>,
    is_shown: bool,
    /// Until when the tasks are scanned.
    alert_until: Option<Instant>,
    /// When the next scan is due.
    scan_due: Instant,
    /// When the facts of a quiet machine are due.
    quiet_check: Instant,
}

impl Watch {
    fn run(&mut self, inbox: &Receiver<WatchCommand>) {
        loop {
            let command = if self.is_examining() {
                inbox.recv_timeout(self.scan_due.saturating_duration_since(Instant::now()))
            } else {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match command {
                Ok(WatchCommand::Snapshot(snapshot)) => self.add_snapshot(snapshot),
                Ok(WatchCommand::SetShown(shown)) => self.set_shown(shown),
                Ok(WatchCommand::SetTracing(tracing)) => self.recorder.set_tracing(tracing),
                Err(RecvTimeoutError::Timeout) => self.scan(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn scan(&mut self) {
        self.recorder.scan();
        self.scan_due = Instant::now() + SCAN_INTERVAL;
    }

    /// Whether the tasks are scanned at present.
    fn is_examining(&self) -> bool {
        let is_alert = self.alert_until.is_some_and(|until| Instant::now() < until);
        self.is_shown || is_alert
    }

    fn set_shown(&mut self, shown: bool) {
        self.is_shown = shown;
        self.wants_units
            .store(self.is_examining(), Ordering::Relaxed);
        if shown {
            self.scan();
        }
    }

    fn add_snapshot(&mut self, snapshot: Arc<Snapshot>) {
        let was_examining = self.is_examining();
        let has_signals = self.recorder.has_signals();
        if has_signals || is_suspicious(&snapshot, self.previous.as_deref()) {
            // A long interval between the samples must not end it.
            let interval = snapshot.interval.unwrap_or_default();
            self.alert_until = Some(Instant::now() + ALERT_TIME + interval);
        }
        self.previous = Some(Arc::clone(&snapshot));
        self.recorder.add_snapshot(snapshot);
        self.recorder.slide(WINDOW);
        let is_examining = self.is_examining();
        self.wants_units.store(is_examining, Ordering::Relaxed);
        if is_examining {
            self.scan();
            self.examine(MIN_SCANS);
            return;
        }
        if was_examining {
            self.recorder.rest();
        }
        if was_examining || Instant::now() >= self.quiet_check {
            self.quiet_check = Instant::now() + QUIET_CHECK;
            self.examine(0);
            self.recorder.rest();
        }
    }

    /// Examines the window. With fewer scans than these only what is critical is told: how long a task
    /// hangs is known at once, how often it waits is not.
    fn examine(&mut self, min_scans: usize) {
        let has_few = self.recorder.scan_count() < min_scans;
        let diagnosis = diagnose(self.recorder.evidence(FACTS_AGE));
        let first = diagnosis.as_ref().and_then(|it| it.causes.first());
        let is_critical = first.is_some_and(|cause| cause.severity == Severity::Critical);
        if has_few && !is_critical {
            return;
        }
        let traced = self.recorder.traced_device().cloned();
        self.senders
            .diagnosis
            .send_replace(Some(Arc::new(WatchedDiagnosis {
                at: boot_time(),
                diagnosis,
                is_complete: self.is_examining(),
                traced_device: traced,
            })));
    }
}
