//! Programs that work on several files: progress over everything that their arguments name.

use std::time::Duration;

use super::arguments::CountMethod;
use super::bottleneck::{BottleneckTracker, Participants};
use super::context::{TransferContext, TransferDevices};
use super::counting::{FileCount, JobCount, JobCounts};
use super::estimate::{Eta, RateEstimator, STALLED_AFTER};
use super::flow::{counted_bytes, read_bytes};
use super::kind::{is_rate_limited, kind_of_program};
use super::pages::DestinationPages;
use super::transfer::FINISHED_DISPLAY_TIME;
use super::view::{Throttle, TransferState, TransferView};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::file_locations::FileLocation;
use crate::probe::interval::io_difference;
use crate::probe::sample::{ProcessIo, ProcessKey, ProcessSample};
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
pub(super) struct FollowedJobs(Vec<FollowedJob>);

#[derive(Debug)]
struct FollowedJob {
    key: ProcessKey,
    command: SafeText,
    is_rate_limited: bool,
    last_count: JobCount,
    estimator: RateEstimator,
    bottleneck: BottleneckTracker,
    pages: DestinationPages,
    last_io: Option<ProcessIo>,
    /// When its process last transferred anything.
    last_activity: Duration,
    /// When its process was missing for the first time, and the state then: `None` until the last look at
    /// the destination is done.
    end: Option<(Duration, Option<TransferState>)>,
}

impl FollowedJobs {
    /// Processes a sample.
    pub(super) fn update(&mut self, now: &SystemSample, counts: &JobCounts) {
        for (key, job) in &counts.running {
            let is_known = self.0.iter().any(|followed| followed.key == *key);
            let process = now.process_with_key(*key).filter(|_| !is_known);
            // A single file is shown by its own position.
            if let Some(process) = process.filter(|_| job.count.files > 1) {
                self.0.push(FollowedJob::new(process, job));
            }
        }
        for followed in &mut self.0 {
            followed.observe(now, counts);
        }
        self.0.retain(|followed| match followed.end {
            Some((at, _)) => now.boot_time.saturating_sub(at) < FINISHED_DISPLAY_TIME,
            // Its files are shown one by one when it turns out that they cannot be counted.
            None => followed.last_count.count.files > 1,
        });
    }

    /// Views of the jobs, active ones first.
    pub(super) fn transfer_views(&mut self, context: &TransferContext<'_>) -> Vec<TransferView> {
        let mut views: Vec<TransferView> = self.0.iter_mut().map(|job| job.view(context)).collect();
        views.sort_list_by_key(|view| view.state.is_over());
        views
    }
}

impl FollowedJob {
    fn new(process: &ProcessSample, job: &JobCount) -> Self {
        let (name, arguments) = process.identity.program();
        Self {
            key: process.identity.key(),
            command: SafeText::from_bytes(name),
            is_rate_limited: is_rate_limited(name, arguments),
            last_count: job.clone(),
            estimator: RateEstimator::default(),
            bottleneck: BottleneckTracker::default(),
            pages: DestinationPages::default(),
            last_io: None,
            last_activity: Duration::ZERO,
            end: None,
        }
    }

    fn observe(&mut self, now: &SystemSample, counts: &JobCounts) {
        let process = now.process_with_key(self.key);
        let (Some(process), None) = (process, self.end) else {
            return self.finish(now, counts);
        };
        if let Some(job) = counts.running.get(&self.key) {
            self.last_count = job.clone();
        }
        let io = process.io.value();
        let before = std::mem::replace(&mut self.last_io, io);
        let transferred = before
            .zip(io)
            .and_then(|(before, io)| Some(counted_bytes(&io_difference(&before, &io)?)));
        if transferred.is_some_and(|bytes| bytes >= MIN_ACTIVE_BYTES) {
            self.last_activity = now.boot_time;
        }
        if let Some(position) = self.position(io) {
            self.estimator.observe(now.boot_time, position);
        }
    }

    /// Bytes done, by the files or by the process's counters: these contain libraries and directories too.
    fn position(&self, io: Option<ProcessIo>) -> Option<u64> {
        let position = match self.last_count.order.count_method {
            CountMethod::DestinationFiles => self.last_count.count.bytes_done,
            CountMethod::ReadBytes => io.map(|io| read_bytes(&io)),
            CountMethod::ArchiveBytes | CountMethod::WrittenBytes => io.map(|io| io.wchar),
        };
        Some(position?.min(self.total_bytes()))
    }

    /// Bytes of a job that is complete, on the scale of its position.
    fn total_bytes(&self) -> u64 {
        match self.last_count.order.count_method {
            CountMethod::ArchiveBytes => self.last_count.count.archive_bytes,
            _ => self.last_count.count.bytes,
        }
    }

    /// Completes the end with the last look at the destination, or without it when there is none.
    fn finish(&mut self, now: &SystemSample, counts: &JobCounts) {
        let (at, state) = self.end.unwrap_or((now.boot_time, None));
        self.end = Some((at, state));
        if state.is_some() {
            return;
        }
        let has_destination = self.last_count.order.count_method == CountMethod::DestinationFiles;
        let last = counts.ended.iter().find(|(key, _)| *key == self.key);
        let is_late = now.boot_time.saturating_sub(at) >= LAST_LOOK_TIMEOUT;
        let state = match last {
            _ if !has_destination => self.state_without_destination(now),
            Some((_, Some(count))) => self.state_with_count(*count, now.boot_time),
            None if !is_late => return,
            Some((_, None)) | None => TransferState::Closed,
        };
        self.end = Some((at, Some(state)));
    }

    fn state_with_count(&mut self, count: FileCount, at: Duration) -> TransferState {
        self.last_count.count = count;
        let (Some(files), Some(bytes)) = (count.files_done, count.bytes_done) else {
            return TransferState::Closed;
        };
        self.estimator.set_final(at, bytes, None);
        if count.is_complete && files >= count.files {
            TransferState::Finished
        } else {
            TransferState::Ended
        }
    }

    /// The state of a job that leaves no files: by its final counters where the kernel reports them. An
    /// archive that is not compressed has its expected length, but for the last block.
    fn state_without_destination(&mut self, now: &SystemSample) -> TransferState {
        let size = self.total_bytes();
        let mut records = now.exit_records.iter();
        let record = records
            .find(|it| it.pid == self.key.0)
            .map(|it| it.total_io);
        if let Some(position) = self.position(record) {
            let last = self.estimator.last_value().unwrap_or(0);
            self.estimator
                .set_final(now.boot_time, position.max(last), None);
        }
        let archive = now.closed_files.iter().find(|file| {
            (file.pid, file.start_ticks) == self.key
                && file.size >= size
                && file.size <= size + 2 * ARCHIVE_BLOCK
        });
        let is_all_seen = self.estimator.last_value() == Some(size);
        if self.last_count.count.is_complete && (is_all_seen || archive.is_some()) {
            let reached = archive.and_then(|file| file.changed_at(now.boot_time));
            self.estimator.set_final(now.boot_time, size, reached);
            TransferState::Finished
        } else if record.is_none() && self.estimator.can_have_reached(now.boot_time, size) {
            TransferState::Closed
        } else {
            TransferState::Ended
        }
    }

    fn state(&self, at: Duration, size: Option<u64>) -> TransferState {
        if let Some((_, state)) = self.end {
            // Until the last look is done.
            return state.unwrap_or(TransferState::Moving);
        }
        let is_active = at.saturating_sub(self.last_activity) < STALLED_AFTER;
        let position = self.estimator.last_value();
        if position.is_none() {
            TransferState::UnknownPosition
        } else if self.estimator.is_stalled(at) && !is_active && position != size {
            TransferState::Stalled
        } else {
            TransferState::Moving
        }
    }

    fn view(&mut self, context: &TransferContext<'_>) -> TransferView {
        let at = context.sample.boot_time;
        let (count, order) = (self.last_count.count, &self.last_count.order);
        let size = count.is_complete.then_some(self.total_bytes());
        let state = self.state(at, size);
        let eta = match (state, size) {
            (TransferState::Moving, Some(size)) if self.end.is_none() => {
                self.estimator.eta(at, size)
            }
            _ => Eta::default(),
        };
        let mut view = TransferView {
            pid: Some(self.key.0),
            kind: kind_of_program(self.command.as_bytes(), true, true),
            command: self.command.clone(),
            source: Some(describe_sources(&order.sources)),
            destination: order.destination.as_deref().map(SafeText::from_path),
            position_bytes: self.estimator.last_value(),
            size_bytes: size,
            rate_bytes_per_s: self.estimator.displayed_rate(state),
            interval_rate_bytes_per_s: self.estimator.interval_rate(state),
            state,
            files_done: count.files_done,
            files_total: Some(count.files),
            throttle: (self.is_rate_limited && !state.is_over()).then_some(Throttle::OwnLimit),
            ..TransferView::default()
        };
        eta.show_in(&mut view);
        let device = |file_system: Option<(u32, u32)>| {
            context.device_at(FileLocation::FileSystem(file_system?))
        };
        let participants = Participants {
            reader: context.sample.process_with_key(self.key),
            writer: None,
            devices: TransferDevices {
                source: device(count.source_file_system),
                destination: device(count.destination_file_system),
            },
        };
        self.pages
            .add_to(&mut view, participants.devices.destination, context);
        if !state.is_over() {
            self.bottleneck.add_to(&mut view, &participants, context);
        }
        view
    }
}

/// The first source, and the number of further ones.
fn describe_sources(sources: &[std::path::PathBuf]) -> SafeText {
    let first = sources.first().map(|path| SafeText::from_path(path));
    let first = first.unwrap_or_default();
    if sources.len() <= 1 {
        return first;
    }
    format!("{first} +{}", sources.len() - 1).into()
}
