//! The events that are enabled, and what they are for. Which of them exist depends on the kernel and on
//! the file systems that it has loaded.

use super::event::{DeviceNumber, EventKind, SyncCall, kernel_number};

/// Which events a trace records. Fewer events cost the traced processes less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TraceDetail {
    /// Every stage of requests, and the attribution of writes.
    #[default]
    Full,
    /// Only what is needed to separate Q2D from D2C.
    QueueAndDrive,
    /// The start and the end of each bio, and the events of files.
    Files,
}

/// An event that is enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSpec {
    /// The directory below `events/`.
    pub path: String,
    /// What it reports.
    pub kind: EventKind,
}

/// The start of direct I/O of the file systems that use iomap, since Linux 6.6.
const DIRECT_EVENT: &str = "iomap/iomap_dio_rw_begin";
/// What tells the same on older kernels. `iomap_iter` (since 5.15) and `iomap_apply` (5.10 to 5.14) are traced for each
/// mapping of a range; unlike `iomap_iter_dstmap` and `iomap_apply_dstmap`, which name the inode too, they tell direct
/// from buffered I/O. The others are of file systems that did not use iomap.
const DIRECT_FALLBACKS: &[(&str, EventKind)] = &[
    ("iomap/iomap_iter", EventKind::DirectMapped),
    ("iomap/iomap_apply", EventKind::DirectMapped),
    ("ext4/ext4_direct_IO_enter", EventKind::DirectStarted),
    ("xfs/xfs_file_direct_read", EventKind::DirectStarted),
    ("xfs/xfs_file_direct_write", EventKind::DirectStarted),
];

/// The other events. Merges and splits follow from the sectors of requests. Plugging delays requests between G
/// and I or D, where it is visible anyway, and its events name no device.
const OTHER_EVENTS: &[(&str, EventKind)] = &[
    ("block/block_bio_queue", EventKind::Queued),
    ("block/block_bio_remap", EventKind::Remapped),
    ("block/block_getrq", EventKind::Allocated),
    ("block/block_rq_insert", EventKind::Inserted),
    ("block/block_rq_issue", EventKind::Issued),
    ("block/block_rq_requeue", EventKind::Requeued),
    ("block/block_rq_complete", EventKind::Completed),
    ("block/block_bio_complete", EventKind::BioCompleted),
    ("writeback/writeback_mark_inode_dirty", EventKind::Dirtied),
    (WRITEBACK_START, EventKind::WritebackStarted),
    (WRITEBACK_END, EventKind::WritebackFinished),
    (PAGE_ADDED, EventKind::PageAdded),
    // Not on all kernels: without it, reads of mapped pages look like buffered reads.
    ("filemap/mm_filemap_fault", EventKind::PageFault),
    ("sched/sched_process_exec", EventKind::Executed),
    (DIRECT_EVENT, EventKind::DirectStarted),
    ("ext4/ext4_sync_file_enter", EventKind::FileSynced),
    ("xfs/xfs_file_fsync", EventKind::FileSynced),
    ("btrfs/btrfs_sync_file", EventKind::FileSynced),
    ("jbd2/jbd2_start_commit", EventKind::CommitStarted),
    ("jbd2/jbd2_end_commit", EventKind::CommitFinished),
    ("jbd2/jbd2_handle_stats", EventKind::JournalChanged),
];
const WRITEBACK_START: &str = "writeback/writeback_single_inode_start";
const WRITEBACK_END: &str = "writeback/writeback_single_inode";
const PAGE_ADDED: &str = "filemap/mm_filemap_add_to_page_cache";

/// All events.
#[must_use]
pub fn all_events() -> Vec<EventSpec> {
    let fixed = OTHER_EVENTS
        .iter()
        .chain(DIRECT_FALLBACKS)
        .map(|(path, kind)| (path.to_string(), *kind));
    let calls = SyncCall::ALL.iter().flat_map(|call| {
        let path = |step| format!("syscalls/sys_{step}_{}", call.name());
        let (started, finished) = (
            EventKind::CallStarted(*call),
            EventKind::CallFinished(*call),
        );
        [(path("enter"), started), (path("exit"), finished)]
    });
    let all = fixed
        .chain(calls)
        .map(|(path, kind)| EventSpec { path, kind });
    all.collect()
}

impl EventSpec {
    /// Whether requests cannot be traced without it. Some kernels lack the others; then only a part is unknown.
    #[must_use]
    pub fn is_required(&self) -> bool {
        matches!(
            self.kind,
            EventKind::Queued | EventKind::Issued | EventKind::Completed
        )
    }

    fn is_of(&self, detail: TraceDetail) -> bool {
        use EventKind::{
            Allocated, BioCompleted, Completed, Inserted, Issued, Queued, Remapped, Requeued,
        };
        use EventKind::{Dirtied, WritebackFinished, WritebackStarted};
        match (detail, self.kind) {
            (_, Queued | Completed | BioCompleted) => true,
            (detail, Issued | Requeued) => detail != TraceDetail::Files,
            (detail, Allocated | Inserted | Remapped) => detail == TraceDetail::Full,
            (detail, Dirtied | WritebackStarted | WritebackFinished) => {
                detail != TraceDetail::QueueAndDrive
            }
            (detail, _) => detail == TraceDetail::Files,
        }
    }

    /// Its filter, where it has one (kernel Documentation/trace/events.rst, section 5).
    pub(super) fn filter(&self, devices: &[DeviceNumber]) -> Option<String> {
        let expression = match self.kind {
            // First dirty page of a file: one event per file and round of writeback. Bits of I_DIRTY_PAGES: 2 until
            // kernel 6.11, 6 afterwards (include/linux/fs.h); the other of the two is never set in `flags`, and in
            // `state` only of inodes that no process writes to.
            EventKind::Dirtied => "(flags & 68) && !(state & 68)".to_owned(),
            // `IOMAP_DIRECT`, which is 1 << 4 since Linux 4.13 (include/linux/iomap.h).
            EventKind::DirectMapped => "flags & 16".to_owned(),
            EventKind::JournalChanged => "dirtied_blocks > 0".to_owned(),
            _ if self.path.starts_with("block/") => {
                let terms = devices
                    .iter()
                    .map(|number| format!("dev == {}", kernel_number(*number)));
                terms.collect::<Vec<_>>().join(" || ")
            }
            _ => String::new(),
        };
        (!expression.is_empty()).then_some(expression)
    }
}

/// The events of a level of detail, also those that the kernel lacks.
pub(super) fn wanted_events(detail: TraceDetail) -> Vec<EventSpec> {
    let mut events = all_events();
    events.retain(|event| event.is_of(detail));
    events
}

/// Drops the events that stand in for one that the kernel has.
pub(super) fn drop_fallbacks(available: &mut Vec<EventSpec>) {
    if available.iter().any(|event| event.path == DIRECT_EVENT) {
        let is_fallback =
            |event: &EventSpec| DIRECT_FALLBACKS.iter().any(|(path, _)| event.path == *path);
        available.retain(|event| !is_fallback(event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_restrict_to_devices_first_dirty_pages_and_direct_io() {
        let filter = |path: &str, devices: &[DeviceNumber]| {
            let events = all_events();
            let event = events.iter().find(|event| event.path == path);
            event.unwrap().filter(devices)
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
        let mut all = wanted_events(TraceDetail::Files);
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
        let requests = wanted_events(TraceDetail::Full);
        assert_eq!(direct(&requests), 0);
    }
}
