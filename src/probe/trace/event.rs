//! What the kernel's block layer says of single requests.

use std::fmt;

/// What happened to an I/O. The letters are blktrace's (blktrace(8), "TRACE ACTIONS").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
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
    WritebackBegins,
    /// The thread has written back a file.
    WritebackEnds,
    /// No event of the kernel: before this moment events of some processor were lost.
    Lost,
    /// No event of the kernel: before this moment nothing was recorded for a while.
    Resumed,
}

/// A short text that the kernel keeps in a fixed field, ended by a zero byte unless it is full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word<const N: usize>([u8; N]);

impl<const N: usize> Word<N> {
    /// The first bytes of a field, up to a zero byte.
    #[must_use]
    pub fn of(field: &[u8]) -> Self {
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
    pub fn bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(N);
        &self.0[..end]
    }
}

impl<const N: usize> Default for Word<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Debug for Word<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", String::from_utf8_lossy(self.bytes()))
    }
}

/// Name of a thread, at most 15 bytes.
pub type Name = Word<16>;
/// Operation and flags, such as `WSM` (kernel `blk_fill_rwbs`).
pub type Flags = Word<12>;
/// Number of a device: major, minor.
pub type Number = (u32, u32);

/// A file as writeback knows it: the device that it is written back to, and its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct FileKey {
    /// Name of the backing device, such as `8:0`.
    pub backing: Word<32>,
    /// The inode.
    pub inode: u64,
}

/// One event. What an event of its kind does not carry is 0 or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEvent {
    /// When, in nanoseconds on the clock of the capture (`CLOCK_BOOTTIME`).
    pub at: u64,
    /// What.
    pub step: Step,
    /// The thread that ran; of a completion it is whoever was interrupted.
    pub pid: u32,
    /// That thread's name, where the event carries it or it could be found out.
    pub name: Name,
    /// The device.
    pub device: Number,
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Length in sectors.
    pub sectors: u32,
    /// Length in bytes, also of commands that address no sectors.
    pub bytes: u32,
    /// Operation and flags.
    pub flags: Flags,
    /// Of a split, where the second part begins; of a remap, the sector before.
    pub other_sector: u64,
    /// Of a remap, the device before.
    pub other_device: Number,
    /// Of a completion, 0 or a negative error number.
    pub error: i32,
    /// Of dirtying and writeback, the file.
    pub file: FileKey,
}

impl BlockEvent {
    /// An event that carries nothing but its kind and time.
    #[must_use]
    pub fn new(step: Step, at: u64) -> Self {
        Self {
            at,
            step,
            pid: 0,
            name: Name::default(),
            device: (0, 0),
            sector: 0,
            sectors: 0,
            bytes: 0,
            flags: Flags::default(),
            other_sector: 0,
            other_device: (0, 0),
            error: 0,
            file: FileKey::default(),
        }
    }
}
