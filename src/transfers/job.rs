//! Programs that work on several files: progress over everything that their arguments name.

use std::sync::Arc;
use std::time::Duration;

use super::arguments::CountMethod;
use super::context::{Participants, TransferContext};
use super::counting::{FileCount, JobCount, JobCounts};
use super::estimate::STALLED_AFTER;
use super::flow::read_bytes;
use super::kind::kind_of_program;
use super::progress::Progress;
use super::view::{TransferState, TransferView};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::file_locations::FileLocation;
use crate::probe::sample::{ProcessIo, ProcessKey, ProcessSample};

/// The last look at the destination is waited for this long.
const LAST_LOOK_TIMEOUT: Duration = Duration::from_secs(3);

/// A job that is tracked.
#[derive(Debug)]
pub(super) struct FollowedJob {
    key: ProcessKey,
    last_count: JobCount,
    progress: Progress,
    /// Whether its process has ended, and the last look at the destination is not done.
    is_ending: bool,
}

/// Processes a sample with the counts of the jobs that run.
pub(super) fn update(jobs: &mut Vec<FollowedJob>, now: &SystemSample, counts: &JobCounts) {
    for (key, job) in &counts.running {
        let is_known = jobs.iter().any(|followed| followed.key == *key);
        let process = now.process_with_key(*key).filter(|_| !is_known);
        // A single file is shown by its own position.
        if let Some(process) = process.filter(|_| job.count.files > 1) {
            jobs.push(FollowedJob::new(process, job));
        }
    }
    for followed in jobs.iter_mut() {
        followed.observe(now, counts);
    }
    jobs.retain(|followed| {
        // Its files are shown one by one when it turns out that they cannot be counted.
        let is_over = followed.progress.ended_at.is_some();
        let is_counted = is_over || followed.last_count.count.files > 1;
        is_counted && !followed.progress.is_gone(now.boot_time)
    });
}

impl FollowedJob {
    fn new(process: &ProcessSample, job: &JobCount) -> Self {
        let kind = kind_of_program(process.identity.program().0, true, true);
        let mut progress = Progress::of_process(process, kind);
        let order = &job.order;
        let (first, others) = (order.sources.first(), order.sources.len().saturating_sub(1));
        let first = first.map(|path| SafeText::from_path(path));
        progress.shown.source = match others {
            0 => first,
            others => first.map(|first| format!("{first} +{others}").into()),
        };
        progress.shown.destination = order.destination.as_deref().map(SafeText::from_path);
        Self {
            key: process.identity.key(),
            last_count: job.clone(),
            progress,
            is_ending: false,
        }
    }

    fn observe(&mut self, now: &SystemSample, counts: &JobCounts) {
        let process = now.process_with_key(self.key);
        let (Some(process), None) = (process, self.progress.ended_at) else {
            return self.finish(now, counts);
        };
        if let Some(job) = counts.running.get(&self.key) {
            self.last_count.order = Arc::clone(&job.order);
            self.set_count(job.count);
        }
        let io = process.io.value();
        if let Some(position) = self.position(io) {
            self.progress.estimator.observe(now.boot_time, position);
        }
        self.progress
            .set_running_state(now.boot_time, STALLED_AFTER);
    }

    /// Bytes done, by the files or by the process's counters: these contain libraries and directories too.
    fn position(&self, io: Option<ProcessIo>) -> Option<u64> {
        let count = &self.last_count.count;
        let position = match self.last_count.order.count_method {
            CountMethod::DestinationFiles => count.bytes_done,
            CountMethod::ReadBytes => io.map(|io| read_bytes(&io)),
            CountMethod::ArchiveBytes | CountMethod::WrittenBytes => io.map(|io| io.wchar),
        };
        Some(position?.min(count.bytes))
    }

    /// Completes the end with the last look at the destination, or without it when there is none.
    fn finish(&mut self, now: &SystemSample, counts: &JobCounts) {
        self.is_ending |= self.progress.ended_at.is_none();
        let at = *self.progress.ended_at.get_or_insert(now.boot_time);
        if !self.is_ending {
            return;
        }
        let has_destination = self.last_count.order.count_method == CountMethod::DestinationFiles;
        let last = counts.ended.iter().find(|(key, _)| *key == self.key);
        let is_late = now.boot_time.saturating_sub(at) >= LAST_LOOK_TIMEOUT;
        let state = match last {
            _ if !has_destination => self.state_by_counters(now),
            Some((_, Some(count))) => {
                self.set_count(*count);
                let bytes = count.bytes_done.unwrap_or(0);
                self.progress
                    .estimator
                    .set_final(now.boot_time, bytes, None);
                self.progress.final_state(true)
            }
            None if !is_late => return,
            Some((_, None)) | None => TransferState::Closed,
        };
        self.is_ending = false;
        self.progress.end(at, state);
    }

    /// The state of a job that leaves no files: by its final counters where the kernel reports them.
    fn state_by_counters(&mut self, now: &SystemSample) -> TransferState {
        let mut records = now.exit_records.iter();
        let record = records.find(|it| it.pid == self.key.0);
        let position = self.position(record.map(|it| it.total_io));
        let estimator = &mut self.progress.estimator;
        if let Some(position) = position {
            let last = estimator.last_value().unwrap_or(0);
            estimator.set_final(now.boot_time, position.max(last), None);
        }
        self.progress.final_state(record.is_some())
    }

    fn set_count(&mut self, count: FileCount) {
        self.last_count.count = count;
        self.progress.total = count.is_complete.then_some(count.bytes);
        let shown = &mut self.progress.shown;
        shown.size_bytes = self.progress.total;
        shown.files_done = count.files_done;
        shown.files_total = Some(count.files);
    }

    /// What is shown of it.
    pub(super) fn view(&mut self, context: &TransferContext<'_>) -> TransferView {
        let count = self.last_count.count;
        let progress = &mut self.progress;
        progress.shown.position_bytes = progress.estimator.last_value();
        let device = |file_system: Option<(u32, u32)>| {
            context.device_at(FileLocation::FileSystem(file_system?))
        };
        let participants = Participants {
            reader: context.process(self.key),
            writer: None,
            source: device(count.source_file_system),
            destination: device(count.destination_file_system),
        };
        progress.view(&participants, context)
    }
}
