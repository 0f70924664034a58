//! Jobs of several files: how far a program is with everything that its arguments name.

use std::time::Duration;

use crate::model::live::{Throttle, TransferState, TransferView};
use crate::probe::Sample;
use crate::probe::jobs::arguments::Order;
use crate::probe::jobs::{JobCount, Measure};
use crate::probe::sample::Process;
use crate::safe_text::SafeText;

use super::SHOWN_AFTERWARDS;
use super::estimate::{Estimate, Left};
use super::limits::is_limited;

/// The jobs that are being followed.
#[derive(Debug, Default)]
pub struct Jobs(Vec<Followed>);

#[derive(Debug)]
struct Followed {
    pid: u32,
    start_ticks: u64,
    command: SafeText,
    source: SafeText,
    destination: Option<SafeText>,
    limited: bool,
    last: JobCount,
    estimate: Estimate,
    finished: Option<Duration>,
}

impl Jobs {
    /// Takes note of a sample.
    pub fn update(&mut self, now: &Sample) {
        for followed in &mut self.0 {
            followed.observe(now);
        }
        for process in &now.processes {
            let identity = &process.identity;
            let Some(job) = process.job.as_ref().filter(|job| job.count.files > 1) else {
                continue;
            };
            let known = |followed: &Followed| {
                followed.pid == identity.pid && followed.start_ticks == identity.start_ticks
            };
            if !self.0.iter().any(known) {
                let mut followed = Followed::new(process, job);
                followed.observe(now);
                self.0.push(followed);
            }
        }
        self.0.retain(|followed| {
            followed
                .finished
                .is_none_or(|at| now.at.saturating_sub(at) < SHOWN_AFTERWARDS)
        });
    }

    /// What is shown of them, those that go on first.
    #[must_use]
    pub fn views(&self, at: Duration) -> Vec<TransferView> {
        let mut views: Vec<TransferView> = self.0.iter().map(|job| job.view(at)).collect();
        views.sort_by_key(|view| view.state == TransferState::Finished);
        views
    }
}

impl Followed {
    fn new(process: &Process, job: &JobCount) -> Self {
        let identity = &process.identity;
        Self {
            pid: identity.pid,
            start_ticks: identity.start_ticks,
            command: SafeText::of_bytes(&identity.name),
            source: sources(&job.order).into(),
            destination: job
                .order
                .destination
                .as_ref()
                .map(|path| SafeText::of_path(path)),
            limited: is_limited(&identity.name, &identity.arguments),
            last: job.clone(),
            estimate: Estimate::default(),
            finished: None,
        }
    }

    fn observe(&mut self, now: &Sample) {
        if self.finished.is_some() {
            return;
        }
        let process = now
            .processes
            .binary_search_by_key(&self.pid, |process| process.identity.pid)
            .ok()
            .map(|place| &now.processes[place])
            .filter(|process| process.identity.start_ticks == self.start_ticks);
        let Some((process, job)) = process.and_then(|it| Some((it, it.job.as_ref()?))) else {
            self.finished = Some(now.at);
            return;
        };
        self.last = job.clone();
        let position = match job.order.measure {
            Measure::Arrived => job.count.bytes_done,
            Measure::Read => process.io.value().map(|io| io.asked_read),
        };
        if let Some(position) = position {
            // What was read beside the files: libraries, directories.
            self.estimate.observe(now.at, position.min(job.count.bytes));
        }
    }

    fn view(&self, at: Duration) -> TransferView {
        let count = &self.last.count;
        let size = count.complete.then_some(count.bytes);
        let position = self.estimate.position();
        let state = match (self.finished, position) {
            (Some(_), _) => TransferState::Finished,
            (None, None) => TransferState::NoPosition,
            (None, Some(_)) if self.estimate.is_stalled(at) && position != size => {
                TransferState::Stalled
            }
            (None, Some(_)) => TransferState::Moving,
        };
        let left = match (state, size) {
            (TransferState::Moving, Some(size)) => self.estimate.left(at, size),
            _ => Left::default(),
        };
        TransferView {
            pid: self.pid,
            command: self.command.clone(),
            source: Some(self.source.clone()),
            destination: self.destination.clone(),
            position_bytes: position,
            size_bytes: size,
            rate_bytes_per_s: self.estimate.shown(state),
            eta: left.likely,
            eta_low: left.low,
            eta_high: left.high,
            state,
            files_done: count.files_done,
            files_total: Some(count.files),
            throttled: (self.limited && state != TransferState::Finished)
                .then_some(Throttle::OwnLimit),
            ..TransferView::default()
        }
    }
}

/// The first source, and how many there are beside it.
fn sources(order: &Order) -> String {
    let first = order.sources.first().map_or_else(String::new, |path| {
        SafeText::of_bytes(path.as_os_str().as_encoded_bytes()).into()
    });
    match order.sources.len() {
        0 | 1 => first,
        many => format!("{first} +{}", many - 1),
    }
}
