//! Copy jobs with several files: progress over everything that the arguments name.

use std::time::Duration;

use crate::model::snapshot::{Throttle, TransferState, TransferView};
use crate::probe::SystemSample;
use crate::probe::copy_jobs::arguments::CopyOrder;
use crate::probe::copy_jobs::{CountMethod, JobCount};
use crate::probe::sample::ProcessSample;
use crate::safe_text::SafeText;

use super::estimate::{Eta, RateEstimator};
use super::limits::is_rate_limited;
use super::transfer::FINISHED_DISPLAY_TIME;

/// The jobs that are tracked.
#[derive(Debug, Default)]
pub struct FollowedJobs(Vec<FollowedJob>);

#[derive(Debug)]
struct FollowedJob {
    pid: u32,
    start_ticks: u64,
    command: SafeText,
    source: SafeText,
    destination: Option<SafeText>,
    is_rate_limited: bool,
    last_count: JobCount,
    estimator: RateEstimator,
    finished_at: Option<Duration>,
}

impl FollowedJobs {
    /// Processes a sample.
    pub fn update_jobs(&mut self, now: &SystemSample) {
        for followed in &mut self.0 {
            followed.observe(now);
        }
        for process in &now.processes {
            let identity = &process.identity;
            let Some(job) = process.job_count.as_ref().filter(|job| job.count.files > 1) else {
                continue;
            };
            let known = |followed: &FollowedJob| {
                followed.pid == identity.pid && followed.start_ticks == identity.start_ticks
            };
            if !self.0.iter().any(known) {
                let mut followed = FollowedJob::new(process, job);
                followed.observe(now);
                self.0.push(followed);
            }
        }
        self.0.retain(|followed| {
            followed
                .finished_at
                .is_none_or(|at| now.boot_time.saturating_sub(at) < FINISHED_DISPLAY_TIME)
        });
    }

    /// Views of the jobs, active ones first.
    #[must_use]
    pub fn transfer_views(&self, at: Duration) -> Vec<TransferView> {
        let mut views: Vec<TransferView> = self.0.iter().map(|job| job.view(at)).collect();
        views.sort_by_key(|view| view.state == TransferState::Finished);
        views
    }
}

impl FollowedJob {
    fn new(process: &ProcessSample, job: &JobCount) -> Self {
        let identity = &process.identity;
        Self {
            pid: identity.pid,
            start_ticks: identity.start_ticks,
            command: SafeText::from_bytes(&identity.name),
            source: describe_sources(&job.order).into(),
            destination: job
                .order
                .destination
                .as_ref()
                .map(|path| SafeText::from_path(path)),
            is_rate_limited: is_rate_limited(&identity.name, &identity.arguments),
            last_count: job.clone(),
            estimator: RateEstimator::default(),
            finished_at: None,
        }
    }

    fn observe(&mut self, now: &SystemSample) {
        if self.finished_at.is_some() {
            return;
        }
        let process = now
            .processes
            .binary_search_by_key(&self.pid, |process| process.identity.pid)
            .ok()
            .map(|place| &now.processes[place])
            .filter(|process| process.identity.start_ticks == self.start_ticks);
        let Some((process, job)) = process.and_then(|it| Some((it, it.job_count.as_ref()?))) else {
            self.finished_at = Some(now.boot_time);
            return;
        };
        self.last_count = job.clone();
        let position = match job.order.count_method {
            CountMethod::DestinationFiles => job.count.bytes_done,
            CountMethod::ReadBytes => process.io.value().map(|io| io.rchar),
        };
        if let Some(position) = position {
            // Bytes read in addition to the files: libraries, directories.
            self.estimator
                .observe_position(now.boot_time, position.min(job.count.bytes));
        }
    }

    fn view(&self, at: Duration) -> TransferView {
        let count = &self.last_count.count;
        let size = count.is_complete.then_some(count.bytes);
        let position = self.estimator.last_position();
        let state = match (self.finished_at, position) {
            (Some(_), _) => TransferState::Finished,
            (None, None) => TransferState::UnknownPosition,
            (None, Some(_)) if self.estimator.is_stalled(at) && position != size => {
                TransferState::Stalled
            }
            (None, Some(_)) => TransferState::Moving,
        };
        let eta = match (state, size) {
            (TransferState::Moving, Some(size)) => self.estimator.eta(at, size),
            _ => Eta::default(),
        };
        TransferView {
            pid: self.pid,
            command: self.command.clone(),
            source: Some(self.source.clone()),
            destination: self.destination.clone(),
            position_bytes: position,
            size_bytes: size,
            rate_bytes_per_s: self.estimator.displayed_rate(state),
            eta: eta.likely,
            eta_low: eta.low,
            eta_high: eta.high,
            state,
            files_done: count.files_done,
            files_total: Some(count.files),
            throttle: (self.is_rate_limited && state != TransferState::Finished)
                .then_some(Throttle::OwnLimit),
            ..TransferView::default()
        }
    }
}

/// The first source, and the number of further ones.
fn describe_sources(order: &CopyOrder) -> String {
    let first = order.sources.first().map_or_else(String::new, |path| {
        SafeText::from_bytes(path.as_os_str().as_encoded_bytes()).into()
    });
    match order.sources.len() {
        0 | 1 => first,
        many => format!("{first} +{}", many - 1),
    }
}
