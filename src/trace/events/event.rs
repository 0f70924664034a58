//! An event of the kernel: a step of a request, or something that is done to a file.

/// What an event reports. The letters are blktrace's (blktrace(8), "TRACE ACTIONS").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// Q: submitted to the block layer.
    Queued,
    /// A: remapped to another device, or from a partition to its drive.
    Remapped,
    /// G: a request was allocated for it.
    Allocated,
    /// I: inserted into the scheduler's queue.
    Inserted,
    /// D: dispatched to the driver.
    Issued,
    /// R: requeued by the driver.
    Requeued,
    /// C: completed, or a part of it.
    Completed,
    /// C of a bio-based device (device mapper, RAID).
    BioCompleted,
    /// A clean file got dirty pages.
    Dirtied,
    /// The thread starts writeback of a file.
    WritebackStarted,
    /// The thread has finished writeback of a file.
    WritebackFinished,
    /// Pages of a file were added to the page cache: they are read next, or overwritten by a buffered write.
    PageAdded,
    /// A mapped page of a file is needed and not in the page table.
    PageFault,
    /// Direct I/O begins: what the thread submits next belongs to the file.
    DirectStarted,
    /// The thread writes a file back in a system call such as fsync(2).
    FileSynced,
    /// That system call returned.
    SyncFinished,
    /// Not a kernel event: before this time events of some processor were lost.
    #[default]
    EventsLost,
    /// Not a kernel event: before this time recording was paused.
    RecordingResumed,
}

/// A short text in a fixed field of the kernel, terminated by a zero byte unless it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FixedText<const N: usize>([u8; N]);

impl<const N: usize> FixedText<N> {
    /// The first bytes of a field, up to a zero byte.
    #[must_use]
    pub fn from_field(field: &[u8]) -> Self {
        let mut word = [0; N];
        let field = &field[..field.len().min(N)];
        let end = field.iter().position(|byte| *byte == 0);
        let text = &field[..end.unwrap_or(field.len())];
        word[..text.len()].copy_from_slice(text);
        Self(word)
    }

    /// The text without padding.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(N);
        &self.0[..end]
    }
}

impl<const N: usize> Default for FixedText<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

/// Name of a thread, at most 15 bytes.
pub type ThreadName = FixedText<16>;
/// Operation and flags, such as `WSM` (kernel `blk_fill_rwbs`).
pub type RwbsFlags = FixedText<12>;
/// Number of a device: major, minor.
pub type DeviceNumber = (u32, u32);

/// Splits a device number in the kernel's internal form: 12 bits major, 20 bits minor (kernel
/// include/linux/kdev_t.h).
pub(super) fn device_number(number: u32) -> DeviceNumber {
    (number >> 20, number & 0xf_ffff)
}

/// Joins a device number in the kernel's internal form.
#[must_use]
pub fn kernel_number((major, minor): DeviceNumber) -> u32 {
    (major << 20) | (minor & 0xf_ffff)
}

/// A file in writeback events: its backing device and its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct FileKey {
    /// Name of the backing device, such as `8:0`.
    pub backing_device: FixedText<32>,
    /// The inode.
    pub inode: u64,
}

/// One event. Fields that an event of its kind lacks are 0, empty or `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Event {
    /// Time in nanoseconds on the clock of the capture (`CLOCK_BOOTTIME`).
    pub at: u64,
    /// What it reports.
    pub kind: EventKind,
    /// The running thread; for a completion the interrupted one.
    pub pid: u32,
    /// That thread's name, where the event contains it or it could be found.
    pub thread_name: ThreadName,
    /// The block device; of an event of a file the device number of its file system.
    pub device: DeviceNumber,
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Length in sectors.
    pub sectors: u32,
    /// Length in bytes, also of commands that address no sectors.
    pub bytes: u32,
    /// Operation and flags.
    pub flags: RwbsFlags,
    /// For a remap the original device and sector.
    pub origin: (DeviceNumber, u64),
    /// For a completion 0 or a negative error number.
    pub error: i32,
    /// For dirtying and writeback the file; of other events of files the inode only.
    pub file: FileKey,
    /// Added pages as a power of two, or length of direct I/O.
    pub amount: Option<u64>,
}

impl Event {
    /// An event with only its kind and time.
    #[must_use]
    pub fn new(kind: EventKind, at: u64) -> Self {
        Self {
            at,
            kind,
            ..Self::default()
        }
    }
}
