//! What the kernel's block layer says of single requests.

use std::fmt;

/// What happened to an I/O. The letters are blktrace's (blktrace(8), "TRACE ACTIONS").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestStep {
    /// Q: handed to the block layer.
    Queued,
    /// X: too large for the device, cut in two at [`BlockEvent::other_sector`].
    Split,
    /// A: sent on to another device, or from a partition to its drive.
    Remapped,
    /// M: joined the end of a request that waits.
    BackMerged,
    /// F: joined the beginning of a request that waits.
    FrontMerged,
    /// G: a request was allocated for it.
    Allocated,
    /// I: put into the scheduler's queue.
    Inserted,
    /// A whole request joined the one before it.
    RequestMerged,
    /// D: given to the driver.
    Issued,
    /// R: the driver gave it back.
    Requeued,
    /// C: done, or a part of it.
    Completed,
    /// C of a device that takes I/O without making requests of it (device mapper, RAID).
    BioCompleted,
    /// A file's pages became dirty; [`BlockEvent::file`] says which.
    Dirtied,
    /// The thread begins to write back a file.
    WritebackStarted,
    /// The thread has written back a file.
    WritebackFinished,
    /// No event of the kernel: before this moment events of some processor were lost.
    EventsLost,
    /// No event of the kernel: before this moment nothing was recorded for a while.
    RecordingResumed,
}

/// A short text that the kernel keeps in a fixed field, ended by a zero byte unless it is full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FixedText<const N: usize>([u8; N]);

impl<const N: usize> FixedText<N> {
    /// The first bytes of a field, up to a zero byte.
    #[must_use]
    pub fn from_field(field: &[u8]) -> Self {
        let mut word = [0; N];
        for (slot, byte) in word
            .iter_mut()
            .zip(field.iter().take_while(|byte| **byte != 0))
        {
            *slot = *byte;
        }
        Self(word)
    }

    /// The text without what fills the field.
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

impl<const N: usize> fmt::Debug for FixedText<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

/// Name of a thread, at most 15 bytes.
pub type ThreadName = FixedText<16>;
/// Operation and flags, such as `WSM` (kernel `blk_fill_rwbs`).
pub type RwbsFlags = FixedText<12>;
/// Number of a device: major, minor.
pub type DeviceNumber = (u32, u32);

/// A file as writeback knows it: the device that it is written back to, and its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct FileKey {
    /// Name of the backing device, such as `8:0`.
    pub backing_device: FixedText<32>,
    /// The inode.
    pub inode: u64,
}

/// One event. What an event of its kind does not carry is 0 or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEvent {
    /// When, in nanoseconds on the clock of the capture (`CLOCK_BOOTTIME`).
    pub timestamp_ns: u64,
    /// What.
    pub request_step: RequestStep,
    /// The thread that ran; of a completion it is whoever was interrupted.
    pub pid: u32,
    /// That thread's name, where the event carries it or it could be found out.
    pub thread_name: ThreadName,
    /// The device.
    pub device: DeviceNumber,
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Length in sectors.
    pub sectors: u32,
    /// Length in bytes, also of commands that address no sectors.
    pub bytes: u32,
    /// Operation and flags.
    pub flags: RwbsFlags,
    /// Of a split, where the second part begins; of a remap, the sector before.
    pub other_sector: u64,
    /// Of a remap, the device before.
    pub other_device: DeviceNumber,
    /// Of a completion, 0 or a negative error number.
    pub error: i32,
    /// Of dirtying and writeback, the file.
    pub file: FileKey,
}

impl BlockEvent {
    /// An event that carries nothing but its kind and time.
    #[must_use]
    pub fn new(step: RequestStep, at: u64) -> Self {
        Self {
            timestamp_ns: at,
            request_step: step,
            pid: 0,
            thread_name: ThreadName::default(),
            device: (0, 0),
            sector: 0,
            sectors: 0,
            bytes: 0,
            flags: RwbsFlags::default(),
            other_sector: 0,
            other_device: (0, 0),
            error: 0,
            file: FileKey::default(),
        }
    }
}
