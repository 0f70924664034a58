//! The events that are enabled, what they are for, and which fields they need. Which of them exist depends on the
//! kernel and on the file systems that it has loaded.

use super::event::{DeviceNumber, EventKind, kernel_number};
use TraceDetail::{Files, Full, QueueAndDrive};

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

/// What a field of an event contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Device, of an event of a file that of its file system.
    Device,
    /// First sector.
    Sector,
    /// Number of sectors.
    Sectors,
    /// Length in bytes.
    Bytes,
    /// Operation and flags.
    Flags,
    /// Name of the thread.
    ThreadName,
    /// Error number of a completion.
    Error,
    /// Device before a remap.
    OldDevice,
    /// Sector before a remap.
    OldSector,
    /// Name of the backing device of a file.
    BackingDevice,
    /// Inode of a file.
    Inode,
    /// Pages or bytes of a file.
    Amount,
}

/// Names of the fields in the kernel's descriptions, in the order of [`Field`]. `errors` until kernel 4.12.
pub(super) const FIELD_NAMES: [&[&str]; 12] = [
    &["dev", "s_dev"],
    &["sector"],
    &["nr_sector"],
    &["bytes"],
    &["rwbs"],
    &["comm"],
    &["error", "errors"],
    &["old_dev"],
    &["old_sector"],
    &["name"],
    &["ino", "i_ino"],
    &["order", "count", "len"],
];

/// An event that is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSpec {
    /// The directory below `events/`.
    pub path: &'static str,
    /// What it reports.
    pub kind: EventKind,
    /// The levels of detail that record it.
    details: &'static [TraceDetail],
    /// The fields without which it says nothing.
    pub(super) needs: &'static [Field],
}

const fn event(
    path: &'static str,
    kind: EventKind,
    details: &'static [TraceDetail],
    needs: &'static [Field],
) -> EventSpec {
    EventSpec {
        path,
        kind,
        details,
        needs,
    }
}

const ALWAYS: &[TraceDetail] = &[Full, QueueAndDrive, Files];
const REQUESTS: &[TraceDetail] = &[Full, QueueAndDrive];
const WRITEBACK: &[TraceDetail] = &[Full, Files];
const SECTORS: &[Field] = &[Field::Device, Field::Sector, Field::Flags];
const BACKED_FILE: &[Field] = &[Field::BackingDevice, Field::Inode];
const FILE: &[Field] = &[Field::Device, Field::Inode];

/// The start of direct I/O of the file systems that use iomap, since Linux 6.6. On older kernels
/// `iomap_iter` (since 5.15) and `iomap_apply` (5.10 to 5.14) tell it for each mapping of a range; unlike `iomap_iter_dstmap`
/// and `iomap_apply_dstmap`, which name the inode too, they tell direct from buffered I/O. The others are of file
/// systems that did not use iomap.
const DIRECT_EVENT: &str = "iomap/iomap_dio_rw_begin";

/// All events. Merges and splits follow from the sectors of requests. Plugging delays requests between G
/// and I or D, where it is visible anyway, and its events name no device.
#[rustfmt::skip]
pub const EVENTS: &[EventSpec] = &[
    event("block/block_bio_queue", EventKind::Queued, ALWAYS, SECTORS),
    event("block/block_bio_remap", EventKind::Remapped, &[Full], SECTORS),
    event("block/block_getrq", EventKind::Allocated, &[Full], SECTORS),
    event("block/block_rq_insert", EventKind::Inserted, &[Full], SECTORS),
    event("block/block_rq_issue", EventKind::Issued, REQUESTS, SECTORS),
    event("block/block_rq_requeue", EventKind::Requeued, REQUESTS, SECTORS),
    event("block/block_rq_complete", EventKind::Completed, ALWAYS, SECTORS),
    event("block/block_bio_complete", EventKind::BioCompleted, ALWAYS, SECTORS),
    event("writeback/writeback_mark_inode_dirty", EventKind::Dirtied, WRITEBACK, BACKED_FILE),
    event("writeback/writeback_single_inode_start", EventKind::WritebackStarted, WRITEBACK, BACKED_FILE),
    event("writeback/writeback_single_inode", EventKind::WritebackFinished, WRITEBACK, BACKED_FILE),
    event("filemap/mm_filemap_add_to_page_cache", EventKind::PageAdded, &[Files], FILE),
    // Not on all kernels: without it, reads of mapped pages look like buffered reads.
    event("filemap/mm_filemap_fault", EventKind::PageFault, &[Files], FILE),
    event(DIRECT_EVENT, EventKind::DirectStarted, &[Files], FILE),
    event("iomap/iomap_iter", EventKind::DirectStarted, &[Files], FILE),
    event("iomap/iomap_apply", EventKind::DirectStarted, &[Files], FILE),
    event("ext4/ext4_direct_IO_enter", EventKind::DirectStarted, &[Files], FILE),
    event("xfs/xfs_file_direct_read", EventKind::DirectStarted, &[Files], FILE),
    event("xfs/xfs_file_direct_write", EventKind::DirectStarted, &[Files], FILE),
    event("ext4/ext4_sync_file_enter", EventKind::FileSynced, &[Files], FILE),
    event("xfs/xfs_file_fsync", EventKind::FileSynced, &[Files], FILE),
    // It names the file system by its UUID.
    event("btrfs/btrfs_sync_file", EventKind::FileSynced, &[Files], &[Field::Inode]),
    event("syscalls/sys_exit_fsync", EventKind::SyncFinished, &[Files], &[]),
    event("syscalls/sys_exit_fdatasync", EventKind::SyncFinished, &[Files], &[]),
    event("syscalls/sys_exit_msync", EventKind::SyncFinished, &[Files], &[]),
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

    /// Its filter, where it has one (kernel Documentation/trace/events.rst, section 5).
    pub(super) fn filter(&self, devices: &[DeviceNumber]) -> Option<String> {
        let expression = match self.path {
            // First dirty page of a file: one event per file and round of writeback. Bits of I_DIRTY_PAGES: 2 until
            // kernel 6.11, 6 afterwards (include/linux/fs.h); the other of the two is never set in `flags`, and in
            // `state` only of inodes that no process writes to.
            "writeback/writeback_mark_inode_dirty" => "(flags & 68) && !(state & 68)".to_owned(),
            // `IOMAP_DIRECT`, which is 1 << 4 since Linux 4.13 (include/linux/iomap.h).
            "iomap/iomap_iter" | "iomap/iomap_apply" => "flags & 16".to_owned(),
            path if path.starts_with("block/") => {
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
    let mut events = EVENTS.to_vec();
    events.retain(|event| event.details.contains(&detail));
    events
}

/// Drops the events that stand in for one that the kernel has.
pub(super) fn drop_fallbacks(available: &mut Vec<EventSpec>) {
    if available.iter().any(|event| event.path == DIRECT_EVENT) {
        available
            .retain(|event| event.path == DIRECT_EVENT || event.kind != EventKind::DirectStarted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_io_of_older_kernels_is_used_only_without_the_newer_event() {
        let mut all = wanted_events(TraceDetail::Files);
        let direct = |events: &[EventSpec]| {
            let direct = events
                .iter()
                .filter(|event| event.kind == EventKind::DirectStarted);
            direct.count()
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
