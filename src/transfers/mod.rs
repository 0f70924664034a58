//! Transfers: every large file or block device that a process reads or writes sequentially,
//! detected for any program, and operations of the kernel that have an end.
//!
//! There are two kinds of evidence, the better first: an offset that advances (read, write, sendfile,
//! splice); and a destination that grows while its source's offset stays (one copy_file_range(2) over
//! the whole file, as cp, install and cat do). A process that reads here and there, or without an offset
//! (pread(2), mmap(2)), is no transfer: the table of processes has its rate.

pub mod arguments;
mod bottleneck;
pub mod context;
pub mod counting;
pub mod dd;
mod estimate;
mod flow;
mod job;
mod kind;
pub mod limits;
mod operation;
mod pages;
mod pairing;
mod progress;
#[cfg(test)]
mod tests;
mod transfer;
mod transfer_file;
pub mod view;
pub mod waits;

use self::context::TransferContext;
use self::counting::JobCounts;
use self::flow::{FileFlow, ProcessFlows, collect_flows};
use self::job::FollowedJob;
use self::operation::FollowedOperation;
use self::pairing::{End, ends_of};
use self::transfer::Transfer;
use self::transfer_file::TransferFile;
use self::view::TransferView;
use crate::probe::interval::SampleInterval;
use crate::probe::sample::{FileKind, FollowedFile};
use crate::stats::sorting::SortList as _;

/// A file that is only written, at a lower rate, is a log instead of a transfer.
const MIN_WRITE_BYTES_PER_S: f64 = 1024.0 * 1024.0;
/// The pages of at most this many destinations are looked at.
const MAX_FOLLOWED_FILES: usize = 32;

/// Detects transfers and tracks them from sample to sample.
#[derive(Debug)]
pub struct TransferTracker {
    min_bytes: u64,
    transfers: Vec<Transfer>,
    jobs: Vec<FollowedJob>,
    operations: Vec<FollowedOperation>,
}

impl TransferTracker {
    /// Creates a tracker for files of at least this size.
    #[must_use]
    pub fn new(min_bytes: u64) -> Self {
        Self {
            min_bytes,
            transfers: Vec::new(),
            jobs: Vec::new(),
            operations: Vec::new(),
        }
    }

    /// Processes a sample, with what is counted of programs that work on several files.
    pub fn update(&mut self, interval: &SampleInterval<'_>, counts: &JobCounts) {
        let now = interval.current;
        job::update(&mut self.jobs, now, counts);
        operation::update(&mut self.operations, now);
        let all = collect_flows(interval);
        for transfer in &mut self.transfers {
            transfer.observe(now, &all);
            if let Some(destination) = &transfer.destination {
                transfer.progress.pages.update(now, destination.inode);
            }
        }
        self.find_transfers(interval, &all);
        self.transfers
            .retain(|transfer| transfer.is_followed(now.boot_time));
    }

    /// The destinations whose pages the next sample should contain: those of the active transfers
    /// first, then of the latest that have ended.
    #[must_use]
    pub fn followed_files(&self) -> Vec<FollowedFile> {
        let active = self.transfers.iter().filter(|it| it.is_active());
        let over = self.transfers.iter().filter(|it| !it.is_active());
        let mut files: Vec<FollowedFile> = Vec::new();
        for transfer in active.chain(over.rev()) {
            let destination = transfer.destination.as_ref();
            if let Some(file) = destination.and_then(TransferFile::followed)
                && files.len() < MAX_FOLLOWED_FILES
                && files.iter().all(|known| known.id != file.id)
            {
                files.push(file);
            }
        }
        files
    }

    /// The transfers: jobs of several files, then single files, then operations; active before finished
    /// ones, the largest remainder first.
    #[must_use]
    pub fn transfer_views(&mut self, context: &TransferContext<'_>) -> Vec<TransferView> {
        self.transfers.sort_by_key(|it| {
            let remaining = std::cmp::Reverse(it.remaining_bytes());
            (!it.is_active(), remaining)
        });
        let files = self.transfers.iter_mut().filter(|it| it.is_sequential());
        let mut files: Vec<TransferView> = files.map(|it| it.view(context)).collect();
        let mut views: Vec<TransferView> =
            self.jobs.iter_mut().map(|job| job.view(context)).collect();
        views.sort_list_by_key(|job| job.state.is_over());
        for job in &mut views {
            // The current file has the bottleneck of its job.
            let is_of_job = |file: &&TransferView| file.pid == job.pid && file.bottleneck.is_some();
            if let Some(file) = files.iter().find(is_of_job) {
                job.bottleneck = file.bottleneck;
                job.bottleneck_reason.clone_from(&file.bottleneck_reason);
                job.throttle = file.throttle.or(job.throttle);
            }
        }
        files.retain(|file| {
            // The archive that a job writes is its destination; the files of an operation are part of it.
            let is_archive = file.source.is_none() && views.iter().any(|job| job.pid == file.pid);
            let is_of_operation = self
                .operations
                .iter()
                .any(|it| it.is_performed_by(file.pid));
            !is_archive && !is_of_operation
        });
        views.extend(files);
        let operations = self.operations.iter_mut();
        let mut operations: Vec<TransferView> = operations.map(|it| it.view(context)).collect();
        operations.sort_list_by_key(|view| view.state.is_over());
        views.extend(operations);
        views
    }

    /// Finds transfers that have begun, those with the best evidence first.
    fn find_transfers(&mut self, interval: &SampleInterval<'_>, all: &[ProcessFlows<'_>]) {
        let ends = || all.iter().flat_map(ends_of);
        for end in ends() {
            if self.is_moving_source(end.flow) && !self.is_known(end) {
                self.start_transfer(
                    interval,
                    all,
                    Some(end),
                    pairing::find_destination(all, end),
                );
            }
        }
        for end in ends().filter(|end| end.flow.grew_unpositioned()) {
            // A copy may have its files open twice, and grow by the other descriptor.
            if !self.follows_inode(end)
                && let Some(source) = pairing::find_unmoved_source(end, self.min_bytes)
                && !self.is_known(source)
            {
                self.start_transfer(interval, all, Some(source), Some(end));
            }
        }
        let seconds = interval.seconds().unwrap_or(f64::MIN_POSITIVE);
        for end in ends() {
            if self.is_written_alone(end, seconds) && !self.follows_inode(end) {
                self.start_transfer(interval, all, None, Some(end));
            }
        }
        self.find_missing_destinations(all);
        self.drop_claimed_destinations();
    }

    /// Whether it is a source whose offset advanced.
    fn is_moving_source(&self, flow: &FileFlow<'_>) -> bool {
        let is_inside = flow.file.size.is_some_and(|size| flow.file.position < size);
        flow.advanced() > 0 && is_inside && flow.can_be_source(self.min_bytes)
    }

    /// Whether it is a destination whose source is not a file, such as `/dev/zero` or a socket.
    fn is_written_alone(&self, end: End<'_>, seconds: f64) -> bool {
        let flow = end.flow;
        let is_device = matches!(flow.file.kind, FileKind::Block(_));
        // Open for both and without an offset that advances: written in place, such as a
        // database or a disk image.
        let is_in_place = flow.file.readable && flow.advanced() == 0;
        let is_slow = (flow.received() as f64) < MIN_WRITE_BYTES_PER_S * seconds;
        let is_large = is_device || flow.is_large(self.min_bytes);
        is_large && flow.is_written() && !is_in_place && !is_slow && !end.process.is_idle()
    }

    /// Finds destinations of sources without one.
    fn find_missing_destinations(&mut self, all: &[ProcessFlows<'_>]) {
        let unpaired = self.transfers.iter_mut();
        for transfer in unpaired.filter(|it| it.is_active() && it.destination.is_none()) {
            let source = transfer.source.as_ref();
            let mut ends = all.iter().flat_map(ends_of);
            let end = ends.find(|end| source.is_some_and(|source| source.is(*end)));
            let found = end.and_then(|end| pairing::find_destination(all, end));
            transfer.destination = found.map(TransferFile::new);
        }
    }

    /// Removes what was seen without a source, and is the destination of another transfer.
    fn drop_claimed_destinations(&mut self) {
        let paired = self.transfers.iter().filter(|it| it.source.is_some());
        let claimed: Vec<TransferFile> = paired.filter_map(|it| it.destination.clone()).collect();
        self.transfers.retain(|transfer| {
            let file = transfer.destination.as_ref();
            let is_claimed = file.is_some_and(|file| claimed.iter().any(|it| it.is_same(file)));
            transfer.source.is_some() || !is_claimed
        });
    }

    /// Starts tracking a transfer; the previous sample is its first observation.
    fn start_transfer(
        &mut self,
        interval: &SampleInterval<'_>,
        all: &[ProcessFlows<'_>],
        source: Option<End<'_>>,
        destination: Option<End<'_>>,
    ) {
        let Some(before) = interval.previous else {
            return;
        };
        let Some(mut transfer) = Transfer::new(source, destination) else {
            return;
        };
        transfer.observe(before, &[]);
        // It may not have begun then.
        transfer.progress.ended_at = None;
        transfer.observe(interval.current, all);
        self.transfers.push(transfer);
    }

    /// Whether an active transfer has the same file of the process, by whichever descriptor.
    fn follows_inode(&self, end: End<'_>) -> bool {
        let key = end.process.process.identity.key();
        self.is_followed(|file| file.process == key && file.inode == end.flow.file.inode)
            || self.is_known(end)
    }

    /// Whether an active transfer has this descriptor.
    fn is_known(&self, end: End<'_>) -> bool {
        self.is_followed(|file| file.is(end))
    }

    /// Whether an active transfer has such a file.
    fn is_followed(&self, is_wanted: impl Fn(&TransferFile) -> bool) -> bool {
        let active = self.transfers.iter().filter(|it| it.is_active());
        let mut files = active.flat_map(|it| [&it.source, &it.destination].into_iter().flatten());
        files.any(is_wanted)
    }
}
