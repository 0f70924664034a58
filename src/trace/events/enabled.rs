//! The events that are enabled.

use super::event::RequestStep;
use super::file_event::{FileEventType, SyncCall};

/// What an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A step of a request, or of the writeback that leads to requests.
    Request(RequestStep),
    /// What is done to a file.
    File(FileEventType),
}

/// An event that is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnabledEvent {
    /// The directory below `events/`.
    pub path: &'static str,
    /// What it reports.
    pub kind: EventKind,
    /// Whether requests cannot be traced without it. Some kernels, or kernels built without them,
    /// lack the others; then only a stage is unknown.
    pub required: bool,
    /// What its filter can restrict; writeback events name no device.
    pub filter_scope: FilterScope,
}

impl EnabledEvent {
    /// Whether it is needed to separate Q2D from D2C.
    #[must_use]
    pub fn is_for_queue_and_drive(&self) -> bool {
        self.filter_scope == FilterScope::Device
            && !matches!(
                self.kind,
                EventKind::Request(RequestStep::Allocated | RequestStep::Inserted)
            )
    }

    /// Whether it is needed to attribute bytes to files: the start and the end of each bio, and
    /// what was done to which file meanwhile.
    #[must_use]
    pub fn is_for_files(&self) -> bool {
        match self.kind {
            EventKind::Request(step) => matches!(
                step,
                RequestStep::Queued
                    | RequestStep::Completed
                    | RequestStep::BioCompleted
                    | RequestStep::Dirtied
                    | RequestStep::WritebackStarted
                    | RequestStep::WritebackFinished
            ),
            EventKind::File(_) => true,
        }
    }
}

/// What the filter of an event can test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterScope {
    /// It has a field `dev`.
    Device,
    /// First dirty page of a file: one event per file and round of writeback; without a filter
    /// there would be one per page.
    FirstDirtyPage,
    /// No filter.
    Unfiltered,
    /// Only operations that changed blocks of the journal.
    ChangedBlocks,
    /// Only the system calls that write back files.
    SyncCalls,
}

const fn block_event(path: &'static str, step: RequestStep) -> EnabledEvent {
    EnabledEvent {
        path,
        kind: EventKind::Request(step),
        required: matches!(
            step,
            RequestStep::Queued | RequestStep::Issued | RequestStep::Completed
        ),
        filter_scope: FilterScope::Device,
    }
}

const fn writeback_event(
    path: &'static str,
    step: RequestStep,
    scope: FilterScope,
) -> EnabledEvent {
    EnabledEvent {
        path,
        kind: EventKind::Request(step),
        required: false,
        filter_scope: scope,
    }
}

const fn file_event(
    path: &'static str,
    event_type: FileEventType,
    scope: FilterScope,
) -> EnabledEvent {
    EnabledEvent {
        path,
        kind: EventKind::File(event_type),
        required: false,
        filter_scope: scope,
    }
}

const fn call_started(path: &'static str, call: SyncCall) -> EnabledEvent {
    file_event(
        path,
        FileEventType::CallStarted(call),
        FilterScope::Unfiltered,
    )
}

const fn call_finished(path: &'static str, call: SyncCall) -> EnabledEvent {
    file_event(
        path,
        FileEventType::CallFinished(call),
        FilterScope::Unfiltered,
    )
}

/// The events of a request's life. Plugging is omitted: it delays requests between G and I or D,
/// where it is visible anyway, and its events name no device.
pub const ENABLED_EVENTS: &[EnabledEvent] = &[
    block_event("block/block_bio_queue", RequestStep::Queued),
    block_event("block/block_split", RequestStep::Split),
    block_event("block/block_bio_remap", RequestStep::Remapped),
    block_event("block/block_bio_backmerge", RequestStep::BackMerged),
    block_event("block/block_bio_frontmerge", RequestStep::FrontMerged),
    block_event("block/block_getrq", RequestStep::Allocated),
    block_event("block/block_rq_insert", RequestStep::Inserted),
    block_event("block/block_rq_merge", RequestStep::RequestMerged),
    block_event("block/block_rq_issue", RequestStep::Issued),
    block_event("block/block_rq_requeue", RequestStep::Requeued),
    block_event("block/block_rq_complete", RequestStep::Completed),
    block_event("block/block_bio_complete", RequestStep::BioCompleted),
    writeback_event(
        "writeback/writeback_mark_inode_dirty",
        RequestStep::Dirtied,
        FilterScope::FirstDirtyPage,
    ),
    writeback_event(
        "writeback/writeback_single_inode_start",
        RequestStep::WritebackStarted,
        FilterScope::Unfiltered,
    ),
    writeback_event(
        "writeback/writeback_single_inode",
        RequestStep::WritebackFinished,
        FilterScope::Unfiltered,
    ),
];

/// The start of direct I/O of the file systems that use iomap.
const DIRECT_EVENT: EnabledEvent = file_event(
    "iomap/iomap_dio_rw_begin",
    FileEventType::DirectStarted,
    FilterScope::Unfiltered,
);

/// The events of files: what is read into the page cache, who waits for which file to be written
/// back, and when a journal is written. Which of them exist depends on the kernel and on the file
/// systems that it has loaded.
pub const FILE_EVENTS: &[EnabledEvent] = &[
    file_event(
        "filemap/mm_filemap_add_to_page_cache",
        FileEventType::PageAdded,
        FilterScope::Unfiltered,
    ),
    // Not on all kernels: without it, reads of mapped pages look like buffered reads.
    file_event(
        "filemap/mm_filemap_fault",
        FileEventType::PageFault,
        FilterScope::Unfiltered,
    ),
    DIRECT_EVENT,
    file_event(
        "sched/sched_process_exec",
        FileEventType::Executed,
        FilterScope::Unfiltered,
    ),
    call_started("syscalls/sys_enter_fsync", SyncCall::Fsync),
    call_finished("syscalls/sys_exit_fsync", SyncCall::Fsync),
    call_started("syscalls/sys_enter_fdatasync", SyncCall::Fdatasync),
    call_finished("syscalls/sys_exit_fdatasync", SyncCall::Fdatasync),
    call_started(
        "syscalls/sys_enter_sync_file_range",
        SyncCall::SyncFileRange,
    ),
    call_finished("syscalls/sys_exit_sync_file_range", SyncCall::SyncFileRange),
    call_started("syscalls/sys_enter_msync", SyncCall::Msync),
    call_finished("syscalls/sys_exit_msync", SyncCall::Msync),
    call_started("syscalls/sys_enter_syncfs", SyncCall::Syncfs),
    call_finished("syscalls/sys_exit_syncfs", SyncCall::Syncfs),
    call_started("syscalls/sys_enter_sync", SyncCall::Sync),
    call_finished("syscalls/sys_exit_sync", SyncCall::Sync),
    file_event(
        "ext4/ext4_sync_file_enter",
        FileEventType::FileSynced,
        FilterScope::Unfiltered,
    ),
    file_event(
        "xfs/xfs_file_fsync",
        FileEventType::FileSynced,
        FilterScope::Unfiltered,
    ),
    file_event(
        "btrfs/btrfs_sync_file",
        FileEventType::BtrfsFileSynced,
        FilterScope::Unfiltered,
    ),
    file_event(
        "jbd2/jbd2_start_commit",
        FileEventType::CommitStarted,
        FilterScope::Unfiltered,
    ),
    file_event(
        "jbd2/jbd2_end_commit",
        FileEventType::CommitFinished,
        FilterScope::Unfiltered,
    ),
    file_event(
        "jbd2/jbd2_handle_stats",
        FileEventType::JournalChanged,
        FilterScope::ChangedBlocks,
    ),
];

/// What stands in for an event of [`FILE_EVENTS`] that the kernel lacks.
pub const SUBSTITUTE_EVENTS: &[EnabledEvent] = &[
    file_event(
        "raw_syscalls/sys_enter",
        FileEventType::AnyCallStarted,
        FilterScope::SyncCalls,
    ),
    file_event(
        "raw_syscalls/sys_exit",
        FileEventType::AnyCallFinished,
        FilterScope::SyncCalls,
    ),
    file_event(
        "ext4/ext4_direct_IO_enter",
        FileEventType::DirectStarted,
        FilterScope::Unfiltered,
    ),
    file_event(
        "xfs/xfs_file_direct_read",
        FileEventType::DirectStarted,
        FilterScope::Unfiltered,
    ),
    file_event(
        "xfs/xfs_file_direct_write",
        FileEventType::DirectStarted,
        FilterScope::Unfiltered,
    ),
];

impl EnabledEvent {
    /// Whether the event of [`FILE_EVENTS`] that a substitute stands in for is among these.
    pub(super) fn is_redundant_with(&self, available: &[Self]) -> bool {
        SUBSTITUTE_EVENTS.contains(self)
            && match self.kind {
                EventKind::File(FileEventType::DirectStarted) => available.contains(&DIRECT_EVENT),
                _ => available.iter().any(|event| {
                    matches!(event.kind, EventKind::File(FileEventType::CallStarted(_)))
                }),
            }
    }
}
