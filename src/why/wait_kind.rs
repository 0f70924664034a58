//! What a blocked task waits for, by the kernel function that it waits in; and the file systems whose server
//! is another program or another machine, by their types and the functions of the kernel's clients.

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
    /// The server of a FUSE or network file system.
    Server,
    /// A lock, which another task holds.
    Lock,
    /// Something that has nothing to do with I/O: a child between fork and exec, a frozen group.
    NotIo,
    /// Unknown.
    Unknown,
}

/// What a task waits for whose request is at a device, or on the way to it.
pub const AT_DEVICE: [WaitKind; 4] = [
    WaitKind::Read,
    WaitKind::Write,
    WaitKind::Commit,
    WaitKind::Request,
];

/// Beginnings of the names of functions (since kernel 4.15). A wait channel never is a function that takes a
/// lock: those of rwsem and mutex are left out of it, and the one that called them is told.
const KINDS: [(WaitKind, &str); 6] = [
    (
        WaitKind::NotIo,
        "wait_for_vfork_done kernel_clone _do_fork __refrigerator do_freezer_trap ptrace_stop \
         do_exit synchronize_rcu __wait_rcu_gp",
    ),
    (
        WaitKind::Commit,
        "jbd2_log_wait_commit jbd2_complete_transaction wait_transaction_locked \
         add_transaction_credits jbd2_journal_stop xfs_log_ xlog_ wait_current_trans btrfs_sync_log \
         btrfs_wait_for_commit wait_log_commit",
    ),
    (
        WaitKind::Request,
        "blk_mq_get_tag rq_qos_wait wbt_wait get_request __bio_queue_enter blk_queue_enter",
    ),
    (
        WaitKind::Memory,
        "do_swap_page swap_read swapin_ read_swap_cache __swap_ shrink_ reclaim_throttle \
         throttle_direct_reclaim try_to_free congestion_wait wait_iff_congested mem_cgroup_ try_charge",
    ),
    (
        WaitKind::Lock,
        "rwsem_down __rwsem mutex_lock __mutex_lock down_ __down inode_dio_wait lock_page \
         __lock_page folio_lock do_renameat2 path_openat filename_create do_unlinkat do_rmdir \
         lookup_slow walk_component iterate_dir ext4_file_write_iter ext4_dio_write_iter \
         ext4_buffered_write_iter",
    ),
    (
        WaitKind::Write,
        "bdev_ blkdev_ __blkdev_ __iomap_dio iomap_dio dio_ __sync_dirty_buffer sync_inodes \
         wb_wait_for_completion",
    ),
];

/// What a wait channel stands for.
pub fn wait_kind(channel: Option<&str>) -> WaitKind {
    let Some(channel) = channel else {
        return WaitKind::Unknown;
    };
    if client_of_function(channel).is_some() {
        return WaitKind::Server;
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

/// Beginnings of the names of functions in which a task waits for the writeback of whole file systems.
pub const SYNC_FUNCTIONS: &str = "wb_wait_for_completion sync_inodes ksys_sync sync_fs";

/// A part of the kernel that sends the requests of a file system to its server, by its name.
pub type FileServerClient = &'static str;

/// The client of FUSE: its server is a process on this machine, or the host for virtiofs.
pub const FUSE: FileServerClient = "fuse";

/// The clients with the types of their file systems and the beginnings of the names of their functions.
const CLIENTS: [(FileServerClient, &str, &str); 6] = [
    (
        FUSE,
        "fuse fuseblk virtiofs",
        "request_wait_answer fuse_ __fuse_",
    ),
    ("nfs", "nfs nfs4", "rpc_ nfs"),
    (
        "smb",
        "cifs smb3 smbfs",
        "cifs_ smb2_ smb_ wait_for_response",
    ),
    ("ceph", "ceph", "ceph_"),
    ("9p", "9p", "p9_client_rpc"),
    ("afs", "afs", "afs_"),
];

/// The client that a kernel function belongs to.
pub fn client_of_function(name: &str) -> Option<FileServerClient> {
    let begins = |names: &str| names.split(' ').any(|begin| name.starts_with(begin));
    let (client, ..) = CLIENTS.iter().find(|(.., functions)| begins(functions))?;
    Some(client)
}

/// The client of a type of file systems, which may name its program as well (`fuse.sshfs`).
pub fn client_of_file_system(kind: &str) -> Option<FileServerClient> {
    let kind = kind.split('.').next()?;
    let names_it = |kinds: &str| kinds.split(' ').any(|it| it == kind);
    let (client, ..) = CLIENTS.iter().find(|(_, kinds, _)| names_it(kinds))?;
    Some(client)
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
            ("request_wait_answer", WaitKind::Server),
            ("rpc_wait_bit_killable", WaitKind::Server),
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

    #[test]
    fn client_is_known_by_function_and_by_file_system() {
        for (function, kind, client) in [
            ("request_wait_answer", "fuse.sshfs", FUSE),
            ("fuse_wait_on_page_writeback", "fuseblk", FUSE),
            ("rpc_wait_bit_killable", "nfs4", "nfs"),
            ("nfs_wait_bit_killable", "nfs", "nfs"),
            ("wait_for_response", "cifs", "smb"),
            ("p9_client_rpc", "9p", "9p"),
        ] {
            assert_eq!(client_of_function(function), Some(client));
            assert_eq!(client_of_file_system(kind), Some(client));
        }
        for kind in ["fusectl", "nfsd", "ext4", ""] {
            assert_eq!(client_of_file_system(kind), None, "{kind}");
        }
        assert_eq!(client_of_function("folio_wait_bit_common"), None);
    }
}
