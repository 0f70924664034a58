//! The events that are enabled, and what they are for. Which of them exist depends on the kernel and on
//! the file systems that it has loaded.

use super::event::{DeviceNumber, EventKind, SyncCall, kernel_number};

/// Which events a capture records. Fewer events cost the traced processes less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CaptureDetail {
    /// All steps of requests.
    #[default]
    Requests,
    /// Only what is needed to separate Q2D from D2C.
    QueueAndDrive,
    /// The start and the end of each bio, and the events of files.
    Files,
}

/// What the filter of an event tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filter {
    /// The devices of the capture: it has a field `dev`.
    Devices,
    /// An expression (kernel Documentation/trace/events.rst, section 5).
    Fixed(&'static str),
    /// Nothing.
    All,
}

/// An event that is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSpec {
    /// The directory below `events/`.
    pub path: &'static str,
    /// What it reports.
    pub kind: EventKind,
    filter: Filter,
    uses: u8,
}

const REQUESTS: u8 = 1;
const LATENCY: u8 = 2;
const FILES: u8 = 4;
const ALL_USES: u8 = REQUESTS | LATENCY | FILES;
/// Files, where the kernel lacks [`DIRECT_EVENT`].
const DIRECT_FALLBACK: u8 = 8;

/// The start of direct I/O of the file systems that use iomap, since Linux 6.6.
const DIRECT_EVENT: &str = "iomap/iomap_dio_rw_begin";
/// First dirty page of a file: one event per file and round of writeback. Bits of I_DIRTY_PAGES: 2 until
/// kernel 6.11, 6 afterwards (include/linux/fs.h); the other of the two is never set in `flags`, and in
/// `state` only of inodes that no process writes to.
const FIRST_DIRTY_PAGE: Filter = Filter::Fixed("(flags & 68) && !(state & 68)");
/// `IOMAP_DIRECT`, which is 1 << 4 since Linux 4.13 (include/linux/iomap.h).
const DIRECT: Filter = Filter::Fixed("flags & 16");
const CHANGED_BLOCKS: Filter = Filter::Fixed("dirtied_blocks > 0");

const fn block(path: &'static str, kind: EventKind, uses: u8) -> EventSpec {
    spec(path, kind, Filter::Devices, uses)
}

const fn file(path: &'static str, kind: EventKind) -> EventSpec {
    spec(path, kind, Filter::All, FILES)
}

const fn spec(path: &'static str, kind: EventKind, filter: Filter, uses: u8) -> EventSpec {
    EventSpec {
        path,
        kind,
        filter,
        uses,
    }
}

/// All events. Merges and splits follow from the sectors of the others. Plugging delays requests between G
/// and I or D, where it is visible anyway, and its events name no device.
pub const EVENTS: &[EventSpec] = &[
    block("block/block_bio_queue", EventKind::Queued, ALL_USES),
    block("block/block_bio_remap", EventKind::Remapped, REQUESTS),
    block("block/block_getrq", EventKind::Allocated, REQUESTS),
    block("block/block_rq_insert", EventKind::Inserted, REQUESTS),
    block(
        "block/block_rq_issue",
        EventKind::Issued,
        REQUESTS | LATENCY,
    ),
    block(
        "block/block_rq_requeue",
        EventKind::Requeued,
        REQUESTS | LATENCY,
    ),
    block("block/block_rq_complete", EventKind::Completed, ALL_USES),
    block(
        "block/block_bio_complete",
        EventKind::BioCompleted,
        ALL_USES,
    ),
    spec(
        "writeback/writeback_mark_inode_dirty",
        EventKind::Dirtied,
        FIRST_DIRTY_PAGE,
        REQUESTS | FILES,
    ),
    spec(
        "writeback/writeback_single_inode_start",
        EventKind::WritebackStarted,
        Filter::All,
        REQUESTS | FILES,
    ),
    spec(
        "writeback/writeback_single_inode",
        EventKind::WritebackFinished,
        Filter::All,
        REQUESTS | FILES,
    ),
    file("filemap/mm_filemap_add_to_page_cache", EventKind::PageAdded),
    // Not on all kernels: without it, reads of mapped pages look like buffered reads.
    file("filemap/mm_filemap_fault", EventKind::PageFault),
    file("sched/sched_process_exec", EventKind::Executed),
    file(DIRECT_EVENT, EventKind::DirectStarted),
    // Each mapping of a range: 5.15 to 6.5, 5.10 to 5.14. Unlike `iomap_iter_dstmap` and `iomap_apply_dstmap`,
    // which name the inode too, they tell direct from buffered I/O.
    spec(
        "iomap/iomap_iter",
        EventKind::DirectMapped,
        DIRECT,
        DIRECT_FALLBACK,
    ),
    spec(
        "iomap/iomap_apply",
        EventKind::DirectMapped,
        DIRECT,
        DIRECT_FALLBACK,
    ),
    // Before 5.5.
    spec(
        "ext4/ext4_direct_IO_enter",
        EventKind::DirectStarted,
        Filter::All,
        DIRECT_FALLBACK,
    ),
    spec(
        "xfs/xfs_file_direct_read",
        EventKind::DirectStarted,
        Filter::All,
        DIRECT_FALLBACK,
    ),
    spec(
        "xfs/xfs_file_direct_write",
        EventKind::DirectStarted,
        Filter::All,
        DIRECT_FALLBACK,
    ),
    file(
        "syscalls/sys_enter_fsync",
        EventKind::CallStarted(SyncCall::Fsync),
    ),
    file(
        "syscalls/sys_exit_fsync",
        EventKind::CallFinished(SyncCall::Fsync),
    ),
    file(
        "syscalls/sys_enter_fdatasync",
        EventKind::CallStarted(SyncCall::Fdatasync),
    ),
    file(
        "syscalls/sys_exit_fdatasync",
        EventKind::CallFinished(SyncCall::Fdatasync),
    ),
    file(
        "syscalls/sys_enter_sync_file_range",
        EventKind::CallStarted(SyncCall::SyncFileRange),
    ),
    file(
        "syscalls/sys_exit_sync_file_range",
        EventKind::CallFinished(SyncCall::SyncFileRange),
    ),
    file(
        "syscalls/sys_enter_msync",
        EventKind::CallStarted(SyncCall::Msync),
    ),
    file(
        "syscalls/sys_exit_msync",
        EventKind::CallFinished(SyncCall::Msync),
    ),
    file(
        "syscalls/sys_enter_syncfs",
        EventKind::CallStarted(SyncCall::Syncfs),
    ),
    file(
        "syscalls/sys_exit_syncfs",
        EventKind::CallFinished(SyncCall::Syncfs),
    ),
    file(
        "syscalls/sys_enter_sync",
        EventKind::CallStarted(SyncCall::Sync),
    ),
    file(
        "syscalls/sys_exit_sync",
        EventKind::CallFinished(SyncCall::Sync),
    ),
    file("ext4/ext4_sync_file_enter", EventKind::FileSynced),
    file("xfs/xfs_file_fsync", EventKind::FileSynced),
    file("btrfs/btrfs_sync_file", EventKind::FileSynced),
    file("jbd2/jbd2_start_commit", EventKind::CommitStarted),
    file("jbd2/jbd2_end_commit", EventKind::CommitFinished),
    spec(
        "jbd2/jbd2_handle_stats",
        EventKind::JournalChanged,
        CHANGED_BLOCKS,
        FILES,
    ),
];

impl EventSpec {
    /// Whether requests cannot be traced without it. Some kernels lack the others; then only a part is unknown.
    #[must_use]
    pub fn is_required(&self) -> bool {
        matches!(
            self.kind,
            EventKind::Queued | EventKind::Issued | EventKind::Completed
        )
    }

    /// Its filter, where it has one.
    pub(super) fn filter_expression(&self, devices: &[DeviceNumber]) -> Option<String> {
        match self.filter {
            Filter::Devices => {
                let terms = devices
                    .iter()
                    .map(|number| format!("dev == {}", kernel_number(*number)));
                let terms: Vec<String> = terms.collect();
                (!terms.is_empty()).then(|| terms.join(" || "))
            }
            Filter::Fixed(expression) => Some(expression.to_owned()),
            Filter::All => None,
        }
    }
}

/// The events of a level of detail, also those that the kernel lacks.
pub(super) fn wanted_events(detail: CaptureDetail) -> Vec<EventSpec> {
    let uses = match detail {
        CaptureDetail::Requests => REQUESTS,
        CaptureDetail::QueueAndDrive => LATENCY,
        CaptureDetail::Files => FILES | DIRECT_FALLBACK,
    };
    let wanted = EVENTS.iter().filter(|event| event.uses & uses != 0);
    wanted.copied().collect()
}

/// Drops the events that stand in for one that the kernel has.
pub(super) fn drop_fallbacks(available: &mut Vec<EventSpec>) {
    if available.iter().any(|event| event.path == DIRECT_EVENT) {
        available.retain(|event| event.uses != DIRECT_FALLBACK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_restrict_to_devices_first_dirty_pages_and_direct_io() {
        let filter = |path: &str, devices: &[DeviceNumber]| {
            let event = EVENTS.iter().find(|event| event.path == path).unwrap();
            event.filter_expression(devices)
        };
        let two = filter("block/block_rq_issue", &[(8, 0), (8, 1)]);
        assert_eq!(two.as_deref(), Some("dev == 8388608 || dev == 8388609"));
        assert_eq!(filter("block/block_rq_issue", &[]), None);
        assert_eq!(
            filter("iomap/iomap_iter", &[]).as_deref(),
            Some("flags & 16")
        );
        assert_eq!(filter("jbd2/jbd2_start_commit", &[(8, 0)]), None);
    }

    #[test]
    fn direct_io_of_older_kernels_is_used_only_without_the_newer_event() {
        let mut all = wanted_events(CaptureDetail::Files);
        let direct = |events: &[EventSpec]| {
            let direct = [EventKind::DirectStarted, EventKind::DirectMapped];
            events
                .iter()
                .filter(|event| direct.contains(&event.kind))
                .count()
        };
        assert_eq!(direct(&all), 6);
        let mut old: Vec<EventSpec> = all.clone();
        old.retain(|event| event.path != DIRECT_EVENT);
        drop_fallbacks(&mut old);
        drop_fallbacks(&mut all);
        assert_eq!((direct(&old), direct(&all)), (5, 1));
        let requests = wanted_events(CaptureDetail::Requests);
        assert_eq!(direct(&requests), 0);
    }
}
