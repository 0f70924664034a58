//! Copy jobs with several files: progress over everything that the arguments name.

use std::time::Duration;

use super::bottleneck::{self, BottleneckTracker, TransferParticipants};
use super::context::{TransferContext, TransferDevices};
use super::estimate::{Eta, RateEstimator};
use super::kind::kind_of_program;
use super::limits::is_rate_limited;
use super::movement::counted_bytes;
use super::transfer::FINISHED_DISPLAY_TIME;
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::copy_jobs::arguments::CopyOrder;
use crate::probe::copy_jobs::{CountMethod, FileCount, JobCount};
use crate::probe::sample::{ProcessIo, ProcessSample};
use crate::snapshot::file_locations::FileLocation;
use crate::snapshot::interval::io_difference;
use crate::snapshot::view::{Throttle, TransferState, TransferView};
use crate::stats::sorting::SortList as _;

/// A process that transferred this many bytes since the last sample is not stalled, even if no file
/// was completed.
const MIN_ACTIVE_BYTES: u64 = 64 << 10;
/// The last look at the destination is waited for this long.
const LAST_LOOK_TIMEOUT: Duration = Duration::from_secs(3);

/// Unit in which tar writes an archive, by default.
const ARCHIVE_BLOCK: u64 = 20 * 512;

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
    bottleneck: BottleneckTracker,
    last_io: Option<ProcessIo>,
    /// When its process last transferred anything.
    last_activity: Duration,
    end: Option<JobEnd>,
}

/// The end of a job's process.
#[derive(Debug, Clone, Copy)]
struct JobEnd {
    at: Duration,
    /// `None` until the last look at the destination is done.
    state: Option<TransferState>,
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
        self.0.retain(|followed| match followed.end {
            Some(end) => now.boot_time.saturating_sub(end.at) < FINISHED_DISPLAY_TIME,
            // Its files are shown one by one when it turns out that they cannot be counted.
            None => followed.last_count.count.files > 1,
        });
    }

    /// Views of the jobs, active ones first.
    #[must_use]
    pub(super) fn transfer_views(&mut self, context: &TransferContext<'_>) -> Vec<TransferView> {
        let mut views: Vec<TransferView> = self.0.iter_mut().map(|job| job.view(context)).collect();
        views.sort_list_by_key(|view| view.state.is_over());
        views
    }
}

impl FollowedJob {
    fn new(process: &ProcessSample, job: &JobCount) -> Self {
        let identity = &process.identity;
        Self {
            pid: identity.pid,
            start_ticks: identity.start_ticks,
            command: SafeText::from_bytes(identity.program().0),
            source: describe_sources(&job.order).into(),
            destination: job
                .order
                .destination
                .as_ref()
                .map(|path| SafeText::from_path(path)),
            is_rate_limited: is_rate_limited(&identity.name, &identity.arguments),
            last_count: job.clone(),
            estimator: RateEstimator::default(),
            bottleneck: BottleneckTracker::default(),
            last_io: None,
            last_activity: Duration::ZERO,
            end: None,
        }
    }

    fn find_process<'s>(&self, sample: &'s SystemSample) -> Option<&'s ProcessSample> {
        sample.process_with_key((self.pid, self.start_ticks))
    }

    fn observe(&mut self, now: &SystemSample) {
        if self.end.is_some() {
            return self.finish(now);
        }
        let process = self.find_process(now);
        let Some((process, job)) = process.and_then(|it| Some((it, it.job_count.as_ref()?))) else {
            self.end = Some(JobEnd {
                at: now.boot_time,
                state: None,
            });
            return self.finish(now);
        };
        self.last_count = job.clone();
        let io = process.io.value();
        let transferred = self
            .last_io
            .zip(io)
            .and_then(|(before, io)| Some(counted_bytes(&io_difference(&before, &io)?)));
        if transferred.is_some_and(|bytes| bytes >= MIN_ACTIVE_BYTES) {
            self.last_activity = now.boot_time;
        }
        self.last_io = io;
        let position = match job.order.count_method {
            CountMethod::DestinationFiles => job.count.bytes_done,
            CountMethod::ReadBytes => io.map(|io| io.rchar),
            CountMethod::ArchiveBytes => io.map(|io| io.wchar),
        };
        if let Some(position) = position {
            // Bytes read in addition to the files: libraries, directories.
            self.estimator
                .observe_position(now.boot_time, position.min(total_bytes(job)));
        }
    }

    /// Completes the end with the last look at the destination, or without it when there is none.
    fn finish(&mut self, now: &SystemSample) {
        let Some(end) = self.end.filter(|end| end.state.is_none()) else {
            return;
        };
        let last = now
            .ended_jobs
            .iter()
            .find(|job| (job.pid, job.start_ticks) == (self.pid, self.start_ticks));
        let state = match last.map(|job| job.count) {
            Some(count) => self.state_after(count, now.boot_time),
            None if self.last_count.order.count_method != CountMethod::DestinationFiles => {
                self.state_without_destination(now)
            }
            None if now.boot_time.saturating_sub(end.at) >= LAST_LOOK_TIMEOUT => {
                TransferState::Closed
            }
            None => return,
        };
        self.end = Some(JobEnd {
            state: Some(state),
            ..end
        });
    }

    fn state_after(&mut self, count: Option<FileCount>, at: Duration) -> TransferState {
        let Some(count) = count else {
            return TransferState::Closed;
        };
        self.last_count.count = count;
        let (Some(files), Some(bytes)) = (count.files_done, count.bytes_done) else {
            return TransferState::Closed;
        };
        self.estimator.set_final_position(at, bytes, None);
        if count.is_complete && files >= count.files {
            TransferState::Finished
        } else {
            TransferState::Ended
        }
    }

    /// The state after a transfer to another machine or to an archive. An archive that is not
    /// compressed has its expected length, but for the last block.
    fn state_without_destination(&mut self, now: &SystemSample) -> TransferState {
        let is_complete = self.last_count.count.is_complete;
        let size = total_bytes(&self.last_count);
        let archive = now.closed_files.iter().find(|file| {
            (file.pid, file.start_ticks) == (self.pid, self.start_ticks)
                && file.size >= size
                && file.size <= size + 2 * ARCHIVE_BLOCK
        });
        if is_complete && (self.estimator.last_position() == Some(size) || archive.is_some()) {
            let reached = archive.and_then(|file| file.changed_at(now.boot_time));
            self.estimator
                .set_final_position(now.boot_time, size, reached);
            TransferState::Finished
        } else if self.estimator.can_have_reached(now.boot_time, size) {
            TransferState::Closed
        } else {
            TransferState::Ended
        }
    }

    fn state(&self, at: Duration, position: Option<u64>, size: Option<u64>) -> TransferState {
        if let Some(end) = self.end {
            // Until the last look is done.
            return end.state.unwrap_or(TransferState::Moving);
        }
        let active = at.saturating_sub(self.last_activity) < super::estimate::STALLED_AFTER;
        match position {
            None => TransferState::UnknownPosition,
            Some(_) if self.estimator.is_stalled(at) && !active && position != size => {
                TransferState::Stalled
            }
            Some(_) => TransferState::Moving,
        }
    }

    fn view(&mut self, context: &TransferContext<'_>) -> TransferView {
        let at = context.sample.boot_time;
        let count = self.last_count.count;
        let size = count.is_complete.then_some(total_bytes(&self.last_count));
        let position = self.estimator.last_position();
        let state = self.state(at, position, size);
        let eta = match (state, size) {
            (TransferState::Moving, Some(size)) if self.end.is_none() => {
                self.estimator.eta(at, size)
            }
            _ => Eta::default(),
        };
        let mut view = TransferView {
            pid: Some(self.pid),
            kind: kind_of_program(self.command.as_bytes(), true, true),
            command: self.command.clone(),
            source: Some(self.source.clone()),
            destination: self.destination.clone(),
            position_bytes: position,
            size_bytes: size,
            rate_bytes_per_s: self.estimator.displayed_rate(state),
            interval_rate_bytes_per_s: self.estimator.interval_rate().filter(|_| !state.is_over()),
            eta: eta.likely,
            eta_low: eta.low,
            eta_high: eta.high,
            state,
            files_done: count.files_done,
            files_total: Some(count.files),
            throttle: (self.is_rate_limited && !state.is_over()).then_some(Throttle::OwnLimit),
            ..TransferView::default()
        };
        self.add_bottleneck(&mut view, count, context);
        view
    }

    fn add_bottleneck(
        &mut self,
        view: &mut TransferView,
        count: FileCount,
        context: &TransferContext<'_>,
    ) {
        let device = |file_system: Option<(u32, u32)>| {
            context.device_at(FileLocation::FileSystem(file_system?))
        };
        let participants = TransferParticipants {
            reader: self.find_process(context.sample),
            writer: None,
            devices: TransferDevices {
                source: device(count.source_file_system),
                destination: device(count.destination_file_system),
            },
        };
        bottleneck::add_dirty_bytes(view, participants.devices, context);
        if !view.state.is_over() {
            bottleneck::add_bottleneck(view, &mut self.bottleneck, &participants, context);
        }
    }
}

/// Bytes of a job that is complete, on the scale of its position.
fn total_bytes(job: &JobCount) -> u64 {
    match job.order.count_method {
        CountMethod::DestinationFiles | CountMethod::ReadBytes => job.count.bytes,
        CountMethod::ArchiveBytes => job.count.archive_bytes,
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
