//! Measured values that prove or rule out a cause.

use crate::files::safe_text::SafeText;

/// Unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Events per second.
    PerSecond,
    /// A fraction, 0 to 1.
    Fraction,
    /// A number of things.
    Count,
}

impl Unit {
    /// As it stands in the JSON document.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes/s",
            Self::PerSecond => "1/s",
            Self::Fraction => "fraction",
            Self::Count => "count",
        }
    }
}

/// Declares [`Quantity`] from one table: meaning, variant, name in the document, unit, source.
macro_rules! quantities {
    ($($(#[doc = $meaning:literal])+ $quantity:ident = $name:literal, $unit:ident, $source:literal;)+) => {
        /// What was measured.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Quantity {
            $($(#[doc = $meaning])+ $quantity,)+
        }

        impl Quantity {
            /// All quantities.
            pub const ALL: &[Self] = &[$(Self::$quantity),+];

            /// Its name in the document.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$quantity => $name,)+ }
            }

            /// Its unit.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $(Self::$quantity => Unit::$unit,)+ }
            }

            /// The file or interface of the kernel that it comes from.
            #[must_use]
            pub const fn source(self) -> &'static str {
                match self { $(Self::$quantity => $source,)+ }
            }

            /// What it means, in one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$quantity => concat!($($meaning),+),)+ }.trim_start()
            }
        }
    };
}

quantities! {
    /// Mean latency of reads.
    ReadAwait = "r_await", Nanoseconds, "/proc/diskstats";
    /// Mean latency of writes.
    WriteAwait = "w_await", Nanoseconds, "/proc/diskstats";
    /// Mean latency of flushes.
    FlushAwait = "f_await", Nanoseconds, "/proc/diskstats";
    /// Mean latency of discards.
    DiscardAwait = "d_await", Nanoseconds, "/proc/diskstats";
    /// Share of the discards in the time that all requests take together.
    DiscardShare = "discard_share", Fraction, "/proc/diskstats";
    /// Lowest mean latency in an interval with at most one request in flight; without such an interval, what is typical of this kind of drive.
    LightLoadLatency = "light_load_latency", Nanoseconds, "/proc/diskstats";
    /// Requests in flight, mean.
    QueueSize = "aqu-sz", Count, "/proc/diskstats";
    /// Fraction of the time with a request in flight.
    Utilization = "util", Fraction, "/proc/diskstats";
    /// Reads and writes completed per second.
    Iops = "iops", PerSecond, "/proc/diskstats";
    /// Bytes read and written per second.
    Throughput = "throughput", BytesPerSecond, "/proc/diskstats";
    /// Flushes per second.
    FlushRate = "flushes", PerSecond, "/proc/diskstats";
    /// Mean size of the writes.
    WriteSize = "wareq-sz", Bytes, "/proc/diskstats";
    /// Mean size of the reads.
    ReadSize = "rareq-sz", Bytes, "/proc/diskstats";
    /// Pieces in which a file lies on its device: extents that do not continue each other.
    FilePieces = "pieces", Count, "FIEMAP";
    /// Mean size of these pieces.
    PieceSize = "piece_size", Bytes, "FIEMAP";
    /// Requests in flight that do not complete.
    StuckRequests = "requests_stuck", Count, "/proc/diskstats";
    /// Fraction of the time in which the task was blocked.
    BlockedTime = "blocked", Fraction, "/proc/PID/stat";
    /// Longest time without a context switch.
    BlockedFor = "blocked_for", Nanoseconds, "/proc/PID/status";
    /// Tasks that wait in the same way.
    WaitingTasks = "waiting_tasks", Count, "/proc/PID/wchan";
    /// Share of the requests that completed while a request of the victim waited.
    RequestsAhead = "requests_ahead", Fraction, "block requests (trace)";
    /// Share of the traffic of the device.
    TrafficShare = "traffic_share", Fraction, "/proc/PID/io";
    /// Fraction of time in which at least one task waited for I/O.
    IoPressure = "io_pressure_some", Fraction, "/proc/pressure/io";
    /// Fraction of time in which at least one task waited for memory.
    MemoryPressure = "memory_pressure_some", Fraction, "/proc/pressure/memory";
    /// Fraction of time in which at least one task waited for a processor.
    CpuPressure = "cpu_pressure_some", Fraction, "/proc/pressure/cpu";
    /// Fraction of processor time that was used.
    CpuBusy = "cpu_busy", Fraction, "/proc/stat";
    /// Bytes dirty or under writeback.
    DirtyBytes = "dirty", Bytes, "/proc/meminfo";
    /// Dirty bytes above which writers are throttled.
    DirtyLimit = "dirty_limit", Bytes, "/proc/vmstat";
    /// Bytes read from swap per second.
    SwapIn = "swap_in", BytesPerSecond, "/proc/vmstat";
    /// Bytes written to swap per second.
    SwapOut = "swap_out", BytesPerSecond, "/proc/vmstat";
    /// Bytes of files per second that were read again shortly after they had been dropped.
    Refaults = "refaults", BytesPerSecond, "/proc/vmstat";
    /// Use of an I/O limit, 1 at the limit.
    LimitUsage = "limit_usage", Fraction, "io.max, io.stat";
    /// I/O limit of a control group in bytes.
    LimitBytes = "limit_bytes", BytesPerSecond, "io.max";
    /// I/O limit of a control group in requests.
    LimitIops = "limit_iops", PerSecond, "io.max";
    /// Bytes available to users without root's rights.
    AvailableBytes = "available", Bytes, "statvfs";
    /// Fraction of the space or of the inodes in use.
    UsedFraction = "used", Fraction, "statvfs";
    /// I/O errors in the kernel log.
    LoggedErrors = "logged_errors", Count, "/dev/kmsg";
    /// Commands that ended with an error.
    CommandErrors = "command_errors", Count, "/sys/block/*/device/ioerr_cnt";
    /// Requests that wait for a FUSE server.
    FuseWaiting = "fuse_waiting", Count, "/sys/fs/fuse/connections";
    /// Negotiated throughput of the link.
    LinkSpeed = "link", BytesPerSecond, "/sys/block/*/device";
    /// Throughput of the link that the drive supports.
    LinkSupported = "link_supported", BytesPerSecond, "/sys/block/*/device";
    /// Fraction of the time in which the device had more requests than it serves.
    SaturatedTime = "saturated", Fraction, "/proc/diskstats";
    /// Spread of the throughput over the intervals, relative to its mean.
    ThroughputSpread = "throughput_spread", Fraction, "/proc/diskstats";
}

/// A measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What was measured.
    pub quantity: Quantity,
    /// Of which device, process or control group; `None`: of the machine.
    pub subject: Option<SafeText>,
    /// The value in the unit of the quantity.
    pub value: f64,
}

impl Measurement {
    /// A value of the machine.
    #[must_use]
    pub fn of_machine(quantity: Quantity, value: f64) -> Self {
        Self {
            quantity,
            subject: None,
            value,
        }
    }

    /// A value of a device, a process or a control group.
    #[must_use]
    pub fn of(subject: &SafeText, quantity: Quantity, value: f64) -> Self {
        Self {
            quantity,
            subject: Some(subject.clone()),
            value,
        }
    }
}
