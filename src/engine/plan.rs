//! What an engine is asked to do.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IoOperation {
    /// From the medium.
    Read,
    /// To the medium.
    Write,
    /// Both, drawn at random: this share of the requests (0 to 1) reads.
    Mixed {
        /// Share of reads, 0 to 1.
        reads: f64,
    },
}

impl IoOperation {
    /// Whether anything is written.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read)
    }
}

/// Where in the window the requests go.
#[derive(Debug, Clone, PartialEq)]
pub enum AccessPattern {
    /// Ascending, block after block; at the window's end from its beginning again. With several
    /// workers each has an even part of the window.
    Sequential,
    /// Ascending through this many equal zones of the window, the first blocks of each: that many
    /// requests in all, each block at most once. The plan ends with the last; the queue stays full
    /// from one zone to the next. [`ZoneMap`](super::ZoneMap) tells which request goes where.
    ///
    /// With a limit in time zone `z` of `n` ends at the latest when `(z + 1) / n` of it has passed, with
    /// fewer requests than it has: each zone has at least its even share of the time.
    Zones {
        /// Number of zones, at least 1.
        zones: u64,
        /// Requests in all zones together.
        requests: u64,
    },
    /// Uniform over the window's aligned blocks.
    Random,
    /// Skewed: a few blocks, scattered over the window, get most requests.
    Zipf {
        /// Exponent of the law, above 0; 0.99 is usual.
        theta: f64,
    },
    /// Just these byte addresses in this order, each once; the plan ends with the last.
    AddressList(Arc<[u64]>),
}

/// Size of the requests in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockSize {
    /// All alike.
    Fixed(u32),
    /// Uniform over the multiples of the alignment from the first to the second, both in.
    Range(u32, u32),
}

impl BlockSize {
    /// The largest request.
    #[must_use]
    pub fn max_bytes(self) -> u32 {
        match self {
            Self::Fixed(size) | Self::Range(_, size) => size,
        }
    }

    /// The smallest request.
    #[must_use]
    pub fn min_bytes(self) -> u32 {
        match self {
            Self::Fixed(size) | Self::Range(size, _) => size,
        }
    }
}

/// When to stop; whichever comes first. None set: at the end of the addresses, or of the window
/// for a sequential pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlanLimits {
    /// After this time, the ramp not counted.
    pub duration: Option<Duration>,
    /// After this many bytes, over all workers, those of the ramp included: it bounds what is
    /// written.
    pub bytes: Option<u64>,
    /// After this many requests, over all workers, those of the ramp included.
    pub requests: Option<u64>,
}

/// What the kernel's page cache may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheMode {
    /// `O_DIRECT`: nothing.
    #[default]
    Bypass,
    /// Buffered, the target's pages dropped before the start.
    Drop,
    /// Buffered, with whatever is cached already.
    Keep,
}

/// When a write counts as done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// When the drive (or, buffered, the kernel) has taken it.
    #[default]
    None,
    /// `O_DSYNC`: when the data would survive a power cut.
    DataSync,
    /// `O_SYNC`: data and the file's attributes.
    Sync,
}

/// What written blocks contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DataKind {
    /// Random bytes, different in every request: incompressible, nothing to deduplicate.
    #[default]
    Random,
    /// Zeros.
    Zero,
    /// One random block over and over: to be deduplicated.
    Repeated,
    /// Random bytes, of which this share in percent is zeros.
    Compressible(u8),
}

/// What makes written data durable after the last request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushMethod {
    /// Nothing.
    CloseOnly,
    /// `fsync(2)`: data and all attributes.
    Fsync,
    /// `fdatasync(2)`: data and what is needed to find it.
    Fdatasync,
    /// `sync_file_range(2)` over the window, waiting before and after: pages only, neither
    /// attributes nor the drive's cache.
    SyncFileRange,
}

/// I/O scheduling class of the threads that send the requests (`ioprio_set(2)`; the schedulers bfq
/// and mq-deadline heed it, see kernel Documentation/block/ioprio.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoSchedulingClass {
    /// Only when nobody else wants the drive.
    Idle,
    /// The usual class; 0 is the highest level, 7 the lowest.
    BestEffort(u8),
    /// Before everybody else, level 0 to 7; needs `CAP_SYS_NICE`.
    Realtime(u8),
}

/// What an engine is asked to do: how to address the medium, how hard, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Which way.
    pub operation: IoOperation,
    /// Where.
    pub pattern: AccessPattern,
    /// How much at a time.
    pub block_size: BlockSize,
    /// Every address is a multiple of this many bytes: past the page cache a multiple of the
    /// medium's own alignment, through it any number.
    pub alignment: u64,
    /// The bytes of the medium that may be touched.
    pub window: Range<u64>,
    /// Requests that each worker keeps in flight.
    pub depth: u32,
    /// Threads, each with a queue of its own.
    pub workers: u32,
    /// When to stop.
    pub limits: PlanLimits,
    /// Time at the start that is not counted.
    pub ramp_time: Duration,
    /// What the page cache may do.
    pub cache_mode: CacheMode,
    /// When a write is done.
    pub sync_mode: SyncMode,
    /// What is written.
    pub data_kind: DataKind,
    /// Open loop: requests per second over all workers, each with an intended start; its latency
    /// counts from then on, so that a stall is not hidden (no coordinated omission).
    pub arrival_rate: Option<f64>,
    /// The same seed gives the same addresses, directions and sizes.
    pub seed: u64,
    /// Room for a log of single requests; 0 keeps none. What does not fit is left out.
    pub log_capacity: usize,
    /// The log keeps one of so many requests of each worker, the last one of them; at least 1.
    pub log_interval: u32,
    /// What follows the last request: this flush, then closing the descriptor, both timed apart in
    /// [`Outcome::finish`](super::Outcome::finish). Needs a plan with one worker.
    pub end_fsync: Option<FlushMethod>,
    /// I/O class of the workers; unset: the program's own.
    pub io_class: Option<IoSchedulingClass>,
}

impl Plan {
    /// The most bytes that it reads and writes, the ramp included; `None` where only time limits it.
    #[must_use]
    pub fn max_bytes(&self) -> Option<u64> {
        let largest = u64::from(self.block_size.max_bytes());
        let of_requests = self
            .limits
            .requests
            .map(|requests| requests.saturating_mul(largest));
        let of_bytes = self.limits.bytes.map(|bytes| match self.block_size {
            BlockSize::Fixed(_) => bytes.div_ceil(largest.max(1)).saturating_mul(largest),
            // The last request of each that sends some may reach beyond its part of the limit.
            BlockSize::Range(..) => {
                let senders = u64::from(self.workers) * u64::from(self.depth);
                bytes.saturating_add(senders * largest.saturating_sub(1))
            }
        });
        [of_requests, of_bytes].into_iter().flatten().min()
    }

    /// Reads over the window with one request at a time, aligned to the block size, no limit set.
    #[must_use]
    pub fn single_depth_reads(pattern: AccessPattern, block_size: u32, window: Range<u64>) -> Self {
        Self {
            operation: IoOperation::Read,
            pattern,
            block_size: BlockSize::Fixed(block_size),
            alignment: u64::from(block_size),
            window,
            depth: 1,
            workers: 1,
            limits: PlanLimits::default(),
            ramp_time: Duration::ZERO,
            cache_mode: CacheMode::default(),
            sync_mode: SyncMode::default(),
            data_kind: DataKind::default(),
            arrival_rate: None,
            seed: 1,
            log_capacity: 0,
            log_interval: 1,
            end_fsync: None,
            io_class: None,
        }
    }
}
