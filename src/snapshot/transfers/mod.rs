//! Transfers: every large file or block device that a process reads or writes sequentially,
//! detected for any program.
//!
//! There are three kinds of evidence, the best first: an offset that advances (read, write,
//! sendfile, splice); a destination that grows while its source's offset stays (one
//! copy_file_range(2) over the whole file, as cp, install and cat do); and a process that reads
//! much and has only one large file open.

pub mod bottleneck;
pub mod context;
pub mod dd;
mod destination_pages;
pub mod estimate;
mod flow;
mod groups;
mod jobs;
mod kind;
mod limits;
mod movement;
mod operations;
mod pairing;
#[cfg(test)]
mod tests;
mod transfer;
mod transfer_file;
pub mod waits;

use std::time::Duration;

use self::bottleneck::TransferParticipants;
use self::context::{TransferContext, TransferDevices};
use self::flow::ProcessFlows;
use self::jobs::FollowedJobs;
use self::operations::FollowedOperations;
use self::pairing::FileIndex;
use self::transfer::{FINISHED_DISPLAY_TIME, ProgressBasis, Transfer};
use self::transfer_file::TransferFile;
use super::file_locations::FileLocation;
use super::interval::SampleInterval;
use super::view::{Throttle, TransferView};
use crate::probe::SystemSample;
use crate::probe::sample::{FileKind, FollowedFile, PagesUnknown};

/// A pair of files that does not move for this long is no longer a transfer.
const IDLE_TIMEOUT_OF_PAIR: Duration = Duration::from_secs(300);
/// Nor is a process that reads without a position and then stops.
const IDLE_TIMEOUT_WITHOUT_POSITION: Duration = Duration::from_secs(5);
/// Nor is a single file: one that is left open in the middle, such as a pager's.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// A file that is only written, at a lower rate, is a log instead of a transfer.
const MIN_WRITE_BYTES_PER_S: f64 = 1024.0 * 1024.0;

/// The pages of at most this many destinations are looked at.
const MAX_FOLLOWED_FILES: usize = 32;

/// Detects transfers and tracks them from sample to sample.
#[derive(Debug)]
pub struct TransferTracker {
    min_bytes: u64,
    transfers: Vec<Transfer>,
    jobs: FollowedJobs,
    operations: FollowedOperations,
}

impl TransferTracker {
    /// Creates a tracker for files of at least `smallest` bytes.
    #[must_use]
    pub fn new(smallest: u64) -> Self {
        Self {
            min_bytes: smallest,
            transfers: Vec::new(),
            jobs: FollowedJobs::default(),
            operations: FollowedOperations::default(),
        }
    }

    /// Processes a sample.
    pub fn update(&mut self, interval: &SampleInterval<'_>) {
        let now = interval.current;
        self.jobs.update_jobs(now);
        self.operations.update(now);
        for transfer in &mut self.transfers {
            transfer.observe(now);
            if let Some(destination) = &transfer.destination {
                transfer.pages.update(now, destination.inode());
            }
        }
        if let Some(before) = interval.previous {
            let all = flow::collect_flows(interval);
            let found = TransferSearch {
                processes: &all,
                previous: before,
                current: now,
            };
            self.find_moving(&found);
            self.find_growing(&found);
            self.find_written(&found);
            self.find_rewritten(&found);
            self.find_unpositioned(&found);
            self.find_missing_destinations(&found);
        }
        self.transfers
            .retain(|transfer| match transfer.time_since_finish(now.boot_time) {
                Some(time) => {
                    let end = now.boot_time.saturating_sub(time);
                    let settled = transfer.pages.settled_at(end);
                    now.boot_time.saturating_sub(settled) < FINISHED_DISPLAY_TIME
                }
                None => {
                    transfer.time_without_movement(now.boot_time) < idle_timeout(transfer)
                        && !transfer.is_in_place()
                }
            });
    }

    /// The destinations whose pages the next sample should contain: those of the active transfers
    /// first, then of the latest that have ended.
    #[must_use]
    pub fn followed_files(&self) -> Vec<FollowedFile> {
        let (active, over): (Vec<&Transfer>, Vec<&Transfer>) = self
            .transfers
            .iter()
            .partition(|transfer| transfer.is_active());
        let mut files: Vec<FollowedFile> = Vec::new();
        for transfer in active.into_iter().chain(over.into_iter().rev()) {
            let file = transfer
                .destination
                .as_ref()
                .and_then(TransferFile::followed);
            if let Some(file) = file
                && files.len() < MAX_FOLLOWED_FILES
                && files.iter().all(|known| known.id != file.id)
            {
                files.push(file);
            }
        }
        files
    }

    /// The transfers: jobs of several files, then single files; active before finished ones, the
    /// largest remainder first.
    #[must_use]
    pub fn transfer_views(&mut self, context: &TransferContext<'_>) -> Vec<TransferView> {
        let mut order: Vec<&mut Transfer> = self.transfers.iter_mut().collect();
        order.sort_by_key(|transfer| {
            (
                !transfer.is_active(),
                std::cmp::Reverse(transfer.remaining_bytes()),
            )
        });
        let files: Vec<TransferView> = order
            .into_iter()
            .map(|transfer| view_of(transfer, context))
            .collect();
        let mut views = self.jobs.transfer_views(context);
        for job in &mut views {
            // The current file has the bottleneck of its job.
            let of_job = |file: &&TransferView| file.pid == job.pid && file.bottleneck.is_some();
            if let Some(file) = files.iter().find(of_job) {
                job.bottleneck = file.bottleneck;
                job.bottleneck_reason.clone_from(&file.bottleneck_reason);
                job.throttle = file.throttle.or(job.throttle);
            }
        }
        // The archive that a job writes is its destination.
        let is_archive = |file: &TransferView| {
            file.source.is_none() && views.iter().any(|job| job.pid == file.pid)
        };
        // The files of an operation are part of it.
        let is_of_operation = |file: &TransferView| {
            file.pid
                .is_some_and(|pid| self.operations.is_performed_by(pid))
        };
        let files: Vec<TransferView> = files
            .into_iter()
            .filter(|file| !is_archive(file) && !is_of_operation(file))
            .collect();
        views.extend(files);
        views.extend(self.operations.transfer_views(context));
        views
    }

    /// Finds sources whose offset advanced.
    fn find_moving(&mut self, search: &TransferSearch<'_>) {
        for file_index in search.file_indices() {
            let (process, flow) = search.flow_at(file_index);
            let inside = flow.file.size.is_some_and(|size| flow.file.position < size);
            if flow.advanced_bytes() == 0
                || !inside
                || !flow.can_be_source(self.min_bytes)
                || self.is_known(search, file_index)
            {
                continue;
            }
            let destination = pairing::find_destination(search.processes, file_index);
            let source = TransferFile::new(process.process, flow.file);
            self.start_transfer(
                search,
                Some((file_index, source)),
                destination,
                ProgressBasis::Position,
            );
        }
    }

    /// Finds destinations that grow while no offset advances.
    fn find_growing(&mut self, search: &TransferSearch<'_>) {
        for file_index in search.file_indices() {
            let (process, flow) = search.flow_at(file_index);
            // A copy may have its files open twice, and grow by the other descriptor.
            if !flow.grew_unpositioned() || self.follows_inode(process, flow) {
                continue;
            }
            let source = pairing::find_unmoved_source(process, flow.file, self.min_bytes)
                .map(|flow| FileIndex { flow, ..file_index });
            if let Some(source) = source.filter(|source| !self.is_known(search, *source)) {
                let end = TransferFile::new(process.process, search.flow_at(source).1.file);
                self.start_transfer(
                    search,
                    Some((source, end)),
                    Some(file_index),
                    ProgressBasis::DestinationGrowth,
                );
            }
        }
    }

    /// Finds destinations whose source is not a file, such as `/dev/zero` or a socket.
    fn find_written(&mut self, search: &TransferSearch<'_>) {
        for file_index in search.file_indices() {
            let (process, flow) = search.flow_at(file_index);
            let large = matches!(flow.file.kind, FileKind::Block(_))
                || flow.file.size.is_some_and(|size| size >= self.min_bytes);
            let rate = flow.received_bytes() as f64 / search.seconds();
            // Open for both and without an offset that advances: written in place, such as a
            // database or a disk image.
            let in_place = flow.file.readable && flow.advanced_bytes() == 0;
            if !large
                || in_place
                || !flow.is_written()
                || rate < MIN_WRITE_BYTES_PER_S
                || self.follows_inode(process, flow)
            {
                continue;
            }
            let basis = if flow.advanced_bytes() > 0 {
                ProgressBasis::Position
            } else {
                ProgressBasis::DestinationGrowth
            };
            self.start_transfer(search, None, Some(file_index), basis);
        }
    }

    /// Finds destinations that are written in place, without an offset and without growth: an image
    /// that is converted into an existing file or onto a device (pread(2), pwrite(2), io_uring).
    fn find_rewritten(&mut self, search: &TransferSearch<'_>) {
        for (index, process) in search.processes.iter().enumerate() {
            if !process.copies_at_least(MIN_WRITE_BYTES_PER_S)
                || self.is_followed(process, |_| true)
            {
                continue;
            }
            let Some((source, destination)) = pairing::find_unmoved_pair(process, self.min_bytes)
            else {
                continue;
            };
            let file_index = |flow| FileIndex {
                process: index,
                flow,
            };
            let end = TransferFile::new(process.process, process.flows[source].file);
            self.start_transfer(
                search,
                Some((file_index(source), end)),
                Some(file_index(destination)),
                ProgressBasis::IoCounters,
            );
        }
    }

    /// Finds the only large file of a process that reads much without moving an offset.
    fn find_unpositioned(&mut self, search: &TransferSearch<'_>) {
        for (index, process) in search.processes.iter().enumerate() {
            let reads = process.io_delta.is_some_and(|(io, elapsed)| {
                movement::read_bytes(&io) as f64 >= MIN_WRITE_BYTES_PER_S * elapsed.as_secs_f64()
            });
            if !reads || self.is_followed(process, |_| true) {
                continue;
            }
            let mut large = (0..process.flows.len())
                .filter(|flow| process.flows[*flow].can_be_source(self.min_bytes));
            let (Some(flow), None) = (large.next(), large.next()) else {
                continue;
            };
            let file = process.flows[flow].file;
            // At its end and not moving: it was read before, and the current reads are of something
            // else. Open for writing too: a database or a disk image.
            if process.flows[flow].previous.is_some()
                && Some(file.position) < file.size
                && !file.writable
            {
                let file_index = FileIndex {
                    process: index,
                    flow,
                };
                let source = TransferFile::new(process.process, file);
                self.start_transfer(
                    search,
                    Some((file_index, source)),
                    None,
                    ProgressBasis::IoCounters,
                );
            }
        }
    }

    /// Finds destinations of sources without one.
    fn find_missing_destinations(&mut self, search: &TransferSearch<'_>) {
        for file_index in search.file_indices() {
            let (process, flow) = search.flow_at(file_index);
            let Some(index) = self.transfers.iter().position(|transfer| {
                transfer.is_active()
                    && transfer.destination.is_none()
                    && transfer
                        .source
                        .as_ref()
                        .is_some_and(|source| source.is_file_of(process.process, flow.file))
            }) else {
                continue;
            };
            if let Some(found) = pairing::find_destination(search.processes, file_index) {
                let end = self.claim_destination(search, found);
                self.transfers[index].destination = Some(end);
                self.transfers.retain(|transfer| !is_orphan(transfer));
            }
        }
    }

    /// Starts tracking a transfer; the previous sample is its first observation.
    fn start_transfer(
        &mut self,
        search: &TransferSearch<'_>,
        source: Option<(FileIndex, TransferFile)>,
        destination: Option<FileIndex>,
        basis: ProgressBasis,
    ) {
        let Some(leader) = source
            .as_ref()
            .map(|(file_index, _)| *file_index)
            .or(destination)
        else {
            return;
        };
        let process = search.flow_at(leader).0.process;
        let destination = destination.map(|file_index| self.claim_destination(search, file_index));
        self.transfers.retain(|transfer| !is_orphan(transfer));
        let source = source.map(|(_, end)| end);
        let mut transfer = Transfer::new(process, source, destination, basis);
        transfer.observe_first(search.previous);
        transfer.observe(search.current);
        self.transfers.push(transfer);
    }

    /// Removes a destination from the transfer that had no source for it.
    fn claim_destination(
        &mut self,
        search: &TransferSearch<'_>,
        file_index: FileIndex,
    ) -> TransferFile {
        let (process, flow) = search.flow_at(file_index);
        for transfer in &mut self.transfers {
            let same = |end: &TransferFile| end.is_file_of(process.process, flow.file);
            if transfer.source.is_none() && transfer.destination.as_ref().is_some_and(same) {
                transfer.destination = None;
            }
        }
        TransferFile::new(process.process, flow.file)
    }

    /// Whether an active transfer has the same file of the process, by whichever descriptor.
    fn follows_inode(&self, process: &ProcessFlows<'_>, flow: &flow::FileFlow<'_>) -> bool {
        self.is_followed(process, |file| file.inode() == flow.file.inode)
    }

    /// Whether an active transfer has this descriptor of the process.
    fn is_known(&self, search: &TransferSearch<'_>, file_index: FileIndex) -> bool {
        let (process, flow) = search.flow_at(file_index);
        self.is_followed(process, |file| file.is_file_of(process.process, flow.file))
    }

    /// Whether an active transfer has such a file of the process.
    fn is_followed(
        &self,
        process: &ProcessFlows<'_>,
        is_wanted: impl Fn(&TransferFile) -> bool,
    ) -> bool {
        let active = self.transfers.iter().filter(|it| it.is_active());
        let mut files = active.flat_map(|it| [&it.source, &it.destination].into_iter().flatten());
        files.any(|file| file.is_held_by(process.process) && is_wanted(file))
    }
}

/// How long a transfer is shown without a movement.
fn idle_timeout(transfer: &Transfer) -> Duration {
    if !transfer.has_position() {
        IDLE_TIMEOUT_WITHOUT_POSITION
    } else if transfer.source.is_some() && transfer.destination.is_some() {
        IDLE_TIMEOUT_OF_PAIR
    } else {
        IDLE_TIMEOUT
    }
}

/// View of a transfer with its bottleneck.
fn view_of(transfer: &mut Transfer, context: &TransferContext<'_>) -> TransferView {
    let mut view = transfer.transfer_view(context.sample.boot_time);
    let device = |end: &Option<TransferFile>| context.device_at(end.as_ref()?.location());
    let process = |end: Option<&TransferFile>| end?.find_process(context.sample);
    let (source, destination) = (&transfer.source, &transfer.destination);
    let leader = source.as_ref().or(destination.as_ref());
    let participants = TransferParticipants {
        reader: process(leader),
        writer: process(destination.as_ref())
            .filter(|writer| leader.is_some_and(|leader| leader.pid() != writer.identity.pid)),
        devices: TransferDevices {
            source: device(source),
            destination: device(destination),
        },
    };
    bottleneck::add_dirty_bytes(&mut view, participants.devices, context);
    let is_device = |end: &TransferFile| matches!(end.location(), FileLocation::Device(_));
    if destination.as_ref().is_some_and(is_device) {
        view.not_on_disk_unknown = Some(PagesUnknown::BlockDevice);
    } else if let Some(pages) = transfer.pages.latest() {
        destination_pages::add_pages(&mut view, pages, participants.devices.destination, context);
    }
    if !view.state.is_over() {
        view.throttle = transfer.is_rate_limited.then_some(Throttle::OwnLimit);
        bottleneck::add_bottleneck(&mut view, &mut transfer.bottleneck, &participants, context);
    }
    view
}

/// Whether both its files were removed.
fn is_orphan(transfer: &Transfer) -> bool {
    transfer.source.is_none() && transfer.destination.is_none()
}

/// Two samples and the changes of open files between them.
struct TransferSearch<'s> {
    processes: &'s [ProcessFlows<'s>],
    previous: &'s SystemSample,
    current: &'s SystemSample,
}

impl<'s> TransferSearch<'s> {
    fn file_indices(&self) -> impl Iterator<Item = FileIndex> + use<'s> {
        let all = self.processes;
        (0..all.len()).flat_map(|process| {
            (0..all[process].flows.len()).map(move |flow| FileIndex { process, flow })
        })
    }

    fn flow_at(&self, file_index: FileIndex) -> (&'s ProcessFlows<'s>, &'s flow::FileFlow<'s>) {
        let process = &self.processes[file_index.process];
        (process, &process.flows[file_index.flow])
    }

    fn seconds(&self) -> f64 {
        self.current
            .boot_time
            .saturating_sub(self.previous.boot_time)
            .as_secs_f64()
            .max(f64::MIN_POSITIVE)
    }
}
