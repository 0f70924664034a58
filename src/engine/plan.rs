//! The description of an execution that an engine receives.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::wait::WaitMode;

/// Direction of the requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IoOperation {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes, chosen at random.
    Mixed {
        /// Fraction of reads, 0 to 1.
        reads: f64,
    },
}

impl IoOperation {
    /// Whether the plan writes.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read)
    }
}

/// Access pattern: the addresses of the requests in the window.
#[derive(Debug, Clone, PartialEq)]
pub enum AccessPattern {
    /// Ascending, block after block, wrapping at the end of the window. With several workers each
    /// has an equal part of the window.
    Sequential,
    /// Ascending through this many equal zones of the window, the first blocks of each. Each block
    /// is requested at most once, and the plan ends with the last request. The queue stays full
    /// from one zone to the next. [`ZoneMap`](super::ZoneMap) gives the address of each request.
    ///
    /// With a time limit, zone `z` of `n` ends at the latest when `(z + 1) / n` of it has passed,
    /// with fewer requests than planned: each zone has at least an equal fraction of the time.
    Zones {
        /// Number of zones, at least 1.
        zones: u64,
        /// Total number of requests in all zones.
        requests: u64,
    },
    /// Uniform random over the window's aligned blocks.
    Random,
    /// Zipf distribution: a few blocks, scattered over the window, get most requests.
    Zipf {
        /// Exponent theta of the distribution, above 0; 0.99 is usual.
        theta: f64,
    },
    /// Exactly these byte addresses in this order, each once. The plan ends with the last.
    AddressList(Arc<[u64]>),
}

/// Size of the requests in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockSize {
    /// The same size for all requests.
    Fixed(u32),
    /// Uniform random over the multiples of the alignment from the first to the second, both
    /// included.
    Range(u32, u32),
}

impl BlockSize {
    /// The largest request in bytes.
    #[must_use]
    pub fn max_bytes(self) -> u32 {
        match self {
            Self::Fixed(size) | Self::Range(_, size) => size,
        }
    }

    /// The smallest request in bytes.
    #[must_use]
    pub fn min_bytes(self) -> u32 {
        match self {
            Self::Fixed(size) | Self::Range(size, _) => size,
        }
    }
}

/// When to stop: at whichever limit is reached first. Without a limit, the plan ends with its
/// addresses, or at the end of the window for a sequential pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlanLimits {
    /// After this time, excluding ramp_time.
    pub duration: Option<Duration>,
    /// After this many bytes over all workers, including those of ramp_time, because the limit
    /// bounds what is written.
    pub bytes: Option<u64>,
    /// After this many requests over all workers, including those of ramp_time.
    pub requests: Option<u64>,
}

/// Use of the kernel's page cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheMode {
    /// `O_DIRECT`: the page cache is bypassed.
    #[default]
    Bypass,
    /// Buffered; the target's cached pages are dropped before the start.
    Drop,
    /// Buffered; cached pages are kept.
    Keep,
}

/// When a write completes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// When the drive (or, buffered, the kernel) has accepted it.
    #[default]
    None,
    /// `O_DSYNC`: when the data is durable.
    DataSync,
    /// `O_SYNC`: when the data and the file's attributes are durable.
    Sync,
    /// When the `fdatasync(2)` that follows it has made the data durable. By system calls in every engine.
    Flush,
}

/// Content of written blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DataKind {
    /// Random bytes, different in every request: neither compressible nor deduplicable.
    #[default]
    Random,
    /// Zeros.
    Zero,
    /// The same random block in every request: deduplicable.
    Repeated,
    /// Random bytes of which this percentage is zeros.
    Compressible(u8),
}

/// How written data is made durable after the last request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushMethod {
    /// No flush.
    CloseOnly,
    /// `fsync(2)`: the data and all attributes.
    Fsync,
    /// `fdatasync(2)`: the data and the attributes needed to read it.
    Fdatasync,
    /// `sync_file_range(2)` over the window, waiting before and after: pages only, neither
    /// attributes nor the drive's cache.
    SyncFileRange,
}

/// I/O scheduling class of the threads that submit the requests (`ioprio_set(2)`; the schedulers
/// bfq and mq-deadline honour it, see kernel Documentation/block/ioprio.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoSchedulingClass {
    /// Served only when no other process uses the drive.
    Idle,
    /// The default class; level 0 is the highest, 7 the lowest.
    BestEffort(u8),
    /// Served before all other classes, level 0 to 7; needs `CAP_SYS_NICE`.
    Realtime(u8),
}

/// The description of an execution: the addresses, the load and the limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Direction of the requests.
    pub operation: IoOperation,
    /// Access pattern.
    pub pattern: AccessPattern,
    /// Block size.
    pub block_size: BlockSize,
    /// Every address is a multiple of this many bytes. Without the page cache it is a multiple of
    /// the medium's own alignment, with it any number.
    pub alignment: u64,
    /// The byte range of the medium that requests may access.
    pub window: Range<u64>,
    /// Queue depth: requests that each worker keeps in flight.
    pub depth: u32,
    /// Number of workers, each a thread with its own queue (fio's numjobs).
    pub workers: u32,
    /// When to stop.
    pub limits: PlanLimits,
    /// Time at the start that is not counted.
    pub ramp_time: Duration,
    /// Use of the page cache.
    pub cache_mode: CacheMode,
    /// When a write completes.
    pub sync_mode: SyncMode,
    /// Content of written blocks.
    pub data_kind: DataKind,
    /// Open-loop arrival rate (fio's rate_iops): requests per second over all workers, each with a
    /// scheduled start. Latency counts from the scheduled start, so that a stall is not hidden (no
    /// coordinated omission).
    pub arrival_rate: Option<f64>,
    /// Seed of addresses, directions and sizes. The same seed gives the same requests.
    pub seed: u64,
    /// Capacity of the log of single requests; 0 keeps no log. Requests beyond it are not logged.
    pub log_capacity: usize,
    /// The log keeps one of this many requests of each worker, the last one of them; at least 1.
    pub log_interval: u32,
    /// The flush that follows the last request, before the descriptor is closed. Both are timed
    /// separately in [`ExecutionOutcome::finish_times`](super::ExecutionOutcome::finish_times).
    /// Requires a plan with one worker.
    pub end_fsync: Option<FlushMethod>,
    /// I/O class of the workers; `None` keeps that of the program.
    pub io_class: Option<IoSchedulingClass>,
    /// How workers wait for completions. System calls sleep in every mode, and so does a plan with an
    /// arrival rate.
    pub wait_mode: WaitMode,
    /// Whether errors of the medium are counted, with the addresses of the first ones, instead of ending
    /// the execution (fio's continue_on_error=io).
    pub continue_on_error: bool,
}

impl Plan {
    /// Bytes of the buffers of one worker. A mixed plan needs twice as many: data that was read
    /// must not be written.
    pub(super) fn buffers_per_worker(&self) -> u64 {
        let sets = match self.operation {
            IoOperation::Mixed { .. } => 2,
            IoOperation::Read | IoOperation::Write => 1,
        };
        u64::from(self.depth) * u64::from(self.block_size.max_bytes()) * sets
    }

    /// Upper bound of the bytes that the plan transfers, including ramp_time; `None` where only
    /// time limits it.
    #[must_use]
    pub fn max_bytes(&self) -> Option<u64> {
        let largest = u64::from(self.block_size.max_bytes());
        let of_requests = self
            .limits
            .requests
            .map(|requests| requests.saturating_mul(largest));
        let of_bytes = self.limits.bytes.map(|bytes| match self.block_size {
            BlockSize::Fixed(_) => bytes.div_ceil(largest.max(1)).saturating_mul(largest),
            // The last request of each worker that submits requests may exceed its part of the
            // limit.
            BlockSize::Range(..) => {
                let senders = u64::from(self.workers) * u64::from(self.depth);
                bytes.saturating_add(senders * largest.saturating_sub(1))
            }
        });
        [of_requests, of_bytes].into_iter().flatten().min()
    }

    /// Reads over the window at depth 1, aligned to the block size, without a limit.
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
            wait_mode: WaitMode::default(),
            continue_on_error: false,
        }
    }
}
