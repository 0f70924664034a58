//! What a blocked task waits for, by the kernel function that it waits in.

use super::file_server::FileServerClient;
use crate::transfers::waits::{WaitPlace, wait_place};

/// What a blocked task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitKind {
    /// A read.
    Read,
    /// A write or a flush.
    Write,
    /// A commit of the file system's journal or log.
    Commit,
    /// Writeback, because of the limit of dirty memory.
    DirtyLimit,
    /// A free request: the queue of the device is full.
    Request,
    /// Swap-in or reclaim.
    Memory,
    /// The server of a FUSE file system.
    FuseServer,
    /// The server of a network file system.
    NetworkServer,
    /// A lock, which another task holds.
    Lock,
    /// Something that has nothing to do with I/O: a child between fork and exec, a frozen group.
    NotIo,
    /// Unknown.
    Unknown,
}

/// What a wait channel stands for (names since kernel 4.15).
#[must_use]
pub fn wait_kind(channel: Option<&str>) -> WaitKind {
    /// Beginnings of the names of functions.
    const KINDS: [(WaitKind, &str); 6] = [
        (
            WaitKind::NotIo,
            "wait_for_vfork_done kernel_clone _do_fork __refrigerator do_freezer_trap ptrace_stop \
             do_exit synchronize_rcu __wait_rcu_gp",
        ),
        (
            WaitKind::Commit,
            "jbd2_log_wait_commit jbd2_complete_transaction wait_transaction_locked \
             add_transaction_credits xfs_log_ xlog_ wait_current_trans btrfs_sync_log \
             btrfs_wait_for_commit wait_log_commit",
        ),
        (
            WaitKind::Request,
            "blk_mq_get_tag rq_qos_wait wbt_wait get_request __bio_queue_enter blk_queue_enter",
        ),
        (
            WaitKind::Memory,
            "do_swap_page swap_read __swap_ shrink_ reclaim_throttle congestion_wait \
             wait_iff_congested mem_cgroup_handle_over_high",
        ),
        (
            WaitKind::Lock,
            "rwsem_down __rwsem mutex_lock __mutex_lock down_ __down inode_dio_wait lock_page \
             __lock_page folio_lock",
        ),
        (
            WaitKind::Write,
            "bdev_ blkdev_ __blkdev_ __iomap_dio iomap_dio dio_ __sync_dirty_buffer sync_inodes \
             wb_wait_for_completion",
        ),
    ];
    let Some(channel) = channel else {
        return WaitKind::Unknown;
    };
    match FileServerClient::of_function(channel) {
        Some(FileServerClient::Fuse) => return WaitKind::FuseServer,
        Some(_) => return WaitKind::NetworkServer,
        None => {}
    }
    let begins = |names: &str| names.split_whitespace().any(|it| channel.starts_with(it));
    if let Some((kind, _)) = KINDS.iter().find(|(_, names)| begins(names)) {
        return *kind;
    }
    match wait_place(channel) {
        WaitPlace::Read => WaitKind::Read,
        WaitPlace::Write => WaitKind::Write,
        WaitPlace::DirtyLimit => WaitKind::DirtyLimit,
        WaitPlace::Pipe => WaitKind::NotIo,
        WaitPlace::Other => WaitKind::Unknown,
    }
}

/// The client of file servers that a kernel stack leads through, innermost function first: that function
/// itself is often that of a wait for pages, as for any file system.
#[must_use]
pub fn client_in_stack(stack: &[String]) -> Option<FileServerClient> {
    let mut functions = stack.iter();
    functions.find_map(|function| FileServerClient::of_function(function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_channels_are_told_apart() {
        for (channel, kind) in [
            ("jbd2_log_wait_commit", WaitKind::Commit),
            ("balance_dirty_pages", WaitKind::DirtyLimit),
            ("blk_mq_get_tag", WaitKind::Request),
            ("request_wait_answer", WaitKind::FuseServer),
            ("rpc_wait_bit_killable", WaitKind::NetworkServer),
            ("wait_for_vfork_done", WaitKind::NotIo),
            ("folio_wait_bit_common", WaitKind::Read),
            ("submit_bio_wait", WaitKind::Write),
            ("__blkdev_direct_IO_simple", WaitKind::Write),
            ("rwsem_down_write_slowpath", WaitKind::Lock),
            ("do_epoll_wait", WaitKind::Unknown),
        ] {
            assert_eq!(wait_kind(Some(channel)), kind, "{channel}");
        }
        assert_eq!(wait_kind(None), WaitKind::Unknown);
    }
}
