//! Events of files: the page cache, system calls that write back, and journals.

use super::event::DeviceNumber;

/// A file as the page cache identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct InodeKey {
    /// Device number of the file system, as in `/proc/self/mountinfo`.
    pub device: DeviceNumber,
    /// The inode; btrfs has one such number per subvolume.
    pub inode: u64,
}

/// A file of btrfs as its own events identify it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BtrfsFile {
    /// UUID of the file system.
    pub uuid: [u8; 16],
    /// The subvolume.
    pub subvolume: u64,
    /// The inode.
    pub inode: u64,
}

/// A system call that waits for writeback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncCall {
    /// fsync(2).
    Fsync,
    /// fdatasync(2).
    Fdatasync,
    /// sync_file_range(2).
    SyncFileRange,
    /// msync(2).
    Msync,
    /// syncfs(2).
    Syncfs,
    /// sync(2).
    Sync,
}

impl SyncCall {
    /// All of them, with their numbers on this architecture.
    const NUMBERS: &[(Self, libc::c_long)] = &[
        (Self::Fsync, libc::SYS_fsync),
        (Self::Fdatasync, libc::SYS_fdatasync),
        #[cfg(not(target_arch = "arm"))]
        (Self::SyncFileRange, libc::SYS_sync_file_range),
        (Self::Msync, libc::SYS_msync),
        (Self::Syncfs, libc::SYS_syncfs),
        (Self::Sync, libc::SYS_sync),
    ];

    /// The call with this number on this architecture.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        Self::NUMBERS
            .iter()
            .find(|(_, known)| u64::try_from(*known) == Ok(number))
            .map(|(call, _)| *call)
    }

    /// The numbers of all calls on this architecture.
    pub(super) fn numbers() -> impl Iterator<Item = libc::c_long> {
        Self::NUMBERS.iter().map(|(_, number)| *number)
    }

    /// Name of the system call.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fsync => "fsync",
            Self::Fdatasync => "fdatasync",
            Self::SyncFileRange => "sync_file_range",
            Self::Msync => "msync",
            Self::Syncfs => "syncfs",
            Self::Sync => "sync",
        }
    }

    /// Whether its first argument is a file descriptor.
    #[must_use]
    pub fn has_descriptor(self) -> bool {
        !matches!(self, Self::Msync | Self::Sync)
    }
}

/// Type of a file event, by the kernel's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileEventType {
    /// `mm_filemap_add_to_page_cache`.
    PageAdded,
    /// `mm_filemap_fault`.
    PageFault,
    /// `sched_process_exec`.
    Executed,
    /// `iomap_dio_rw_begin`, or the file system's own event.
    DirectStarted,
    /// `sys_enter_...`.
    CallStarted(SyncCall),
    /// `sys_exit_...`.
    CallFinished(SyncCall),
    /// `sys_enter` of any call.
    AnyCallStarted,
    /// `sys_exit` of any call.
    AnyCallFinished,
    /// `ext4_sync_file_enter`, `xfs_file_fsync`.
    FileSynced,
    /// `btrfs_sync_file`.
    BtrfsFileSynced,
    /// `jbd2_start_commit`.
    CommitStarted,
    /// `jbd2_end_commit`.
    CommitFinished,
    /// `jbd2_handle_stats`.
    JournalChanged,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// Pages of a file were added to the page cache: they are read next, or overwritten by a
    /// buffered write.
    PageAdded {
        /// The file.
        file: InodeKey,
        /// Number of pages.
        pages: u32,
    },
    /// A mapped page of a file is needed and not in the page table.
    PageFault {
        /// The file.
        file: InodeKey,
    },
    /// The process runs another program, which has another name.
    Executed,
    /// Direct I/O begins: what the thread submits next belongs to the file.
    DirectStarted {
        /// The file.
        file: InodeKey,
        /// Its length.
        bytes: u64,
    },
    /// The thread entered a system call.
    CallStarted {
        /// The call.
        call: SyncCall,
        /// File descriptor, of a call that has one.
        descriptor: Option<u32>,
    },
    /// The system call returned.
    CallFinished {
        /// The call.
        call: SyncCall,
    },
    /// The file that the running system call writes back.
    FileSynced {
        /// The file.
        file: InodeKey,
    },
    /// The same of btrfs.
    BtrfsFileSynced {
        /// The file.
        file: BtrfsFile,
    },
    /// A commit of a journal began.
    CommitStarted {
        /// Device of the file system.
        device: DeviceNumber,
    },
    /// The commit is on the journal's device.
    CommitFinished {
        /// Device of the file system.
        device: DeviceNumber,
    },
    /// The thread changed blocks that go into the journal.
    JournalChanged {
        /// Device of the file system.
        device: DeviceNumber,
        /// Number of blocks.
        blocks: u32,
    },
}

/// One event of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileEvent {
    /// Time in nanoseconds on the clock of the capture (`CLOCK_BOOTTIME`).
    pub timestamp_ns: u64,
    /// The running thread.
    pub pid: u32,
    /// What happened.
    pub action: FileAction,
}
