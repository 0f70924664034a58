//! Measured values that prove or rule out a cause.

use serde::Serialize;

use crate::files::safe_text::SafeText;
use crate::units;

/// Characters of a subject that are shown: a command line may be long.
const SUBJECT_CHARACTERS: usize = 32;

/// Unit of a value, as it stands in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    /// Events per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// A fraction, 0 to 1.
    Fraction,
    /// A number of things.
    Count,
}

impl Unit {
    /// A value with its unit, for people.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Nanoseconds => units::format_latency(value),
            Self::Bytes => units::format_capacity(value),
            Self::BytesPerSecond => units::format_throughput(value),
            Self::PerSecond => format!("{}/s", units::format_count(value.round())),
            Self::Fraction => units::format_percent(value),
            Self::Count if value.fract() == 0.0 => units::format_count(value),
            Self::Count => units::format_three_digits(value),
        }
    }
}

/// What is measured: its name in the document, what stands before the value in a text, its unit, and
/// the file or interface of the kernel that it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric(
    pub &'static str,
    pub &'static str,
    pub Unit,
    pub &'static str,
);

impl Metric {
    /// The same, as it comes from another file.
    pub fn read_from(self, source: &'static str) -> Self {
        let Self(name, label, unit, _) = self;
        Self(name, label, unit, source)
    }
}

/// Source of the counters of devices.
const DISKSTATS: &str = "/proc/diskstats";

/// Defines the metrics: constant, name in the document, what stands before the value, unit, source.
macro_rules! metrics {
    ($($(#[$doc:meta])* $constant:ident $name:literal $label:literal $unit:ident $source:expr;)*) => {
        $($(#[$doc])* pub const $constant: Metric = Metric($name, $label, Unit::$unit, $source);)*
        /// All of them.
        #[cfg(test)]
        pub(super) const ALL: &[Metric] = &[$($constant),*];
    };
}

metrics! {
    READ_AWAIT "r_await" "r_await" Nanoseconds DISKSTATS;
    WRITE_AWAIT "w_await" "w_await" Nanoseconds DISKSTATS;
    FLUSH_AWAIT "f_await" "f_await" Nanoseconds DISKSTATS;
    /// Lowest mean latency in an interval with at most one request in flight.
    LIGHT_LATENCY "light_load_latency" "latency under light load" Nanoseconds DISKSTATS;
    QUEUE "aqu-sz" "aqu-sz" Count DISKSTATS;
    UTILIZATION "util" "%util" Fraction DISKSTATS;
    IOPS "iops" "IOPS" PerSecond DISKSTATS;
    THROUGHPUT "throughput" "throughput" BytesPerSecond DISKSTATS;
    WRITE_SIZE "wareq-sz" "wareq-sz" Bytes DISKSTATS;
    FLUSHES "flushes" "flushes" PerSecond DISKSTATS;
    /// Fraction of the time in which the device had more requests than it serves.
    SATURATED "saturated" "saturated" Fraction DISKSTATS;
    /// Requests in flight of which none completes.
    STUCK_REQUESTS "requests_stuck" "requests that do not complete" Count DISKSTATS;
    /// Fraction of the time in which the task was blocked.
    BLOCKED "blocked" "blocked" Fraction "/proc/PID/stat";
    /// Longest time without a context switch.
    BLOCKED_FOR "blocked_for" "longest sleep" Nanoseconds "/proc/PID/status";
    /// Tasks that wait in the same way.
    WAITING_TASKS "waiting_tasks" "waiting tasks" Count "/proc/PID/wchan";
    TRAFFIC_SHARE "traffic_share" "share of the traffic" Fraction "/proc/PID/io";
    /// Share of the time in which the device served requests, while others waited if any did.
    DEVICE_SHARE "requests_ahead" "share of the device's time" Fraction "block requests (trace)";
    IO_PRESSURE "io_pressure_some" "PSI io some" Fraction "/proc/pressure/io";
    MEMORY_PRESSURE "memory_pressure_some" "PSI memory some" Fraction "/proc/pressure/memory";
    CPU_PRESSURE "cpu_pressure_some" "PSI cpu some" Fraction "/proc/pressure/cpu";
    CPU_BUSY "cpu_busy" "CPU" Fraction "/proc/stat";
    SWAP_IN "swap_in" "swap-in" BytesPerSecond "/proc/vmstat";
    SWAP_OUT "swap_out" "swap-out" BytesPerSecond "/proc/vmstat";
    /// Bytes of files that were read again shortly after they had been dropped.
    REFAULTS "refaults" "refaults of files" BytesPerSecond "/proc/vmstat";
    DIRTY "dirty" "dirty and writeback" Bytes "/proc/meminfo";
    DIRTY_LIMIT "dirty_limit" "throttled from" Bytes "/proc/vmstat";
    /// Use of an I/O limit of a control group, 1 at the limit.
    LIMIT_USAGE "limit_usage" "use of the limit" Fraction "io.stat";
    LIMIT_BYTES "limit_bytes" "limit" BytesPerSecond "io.max";
    LIMIT_IOPS "limit_iops" "limit" PerSecond "io.max";
    /// Fraction of time in which at least one task of the group waited for I/O.
    GROUP_PRESSURE "io_pressure_some" "PSI io some" Fraction "io.pressure";
    MEMORY_LIMIT "memory_limit" "memory limit" Bytes "memory.max";
    /// How often an allocation reached the memory limit of a group.
    LIMIT_HITS "memory_limit_reached" "memory limit reached" PerSecond "memory.events";
    /// Quota of processor time of a group in processors, and the fraction of its periods in which it was
    /// stopped.
    QUOTA "cpu_quota" "quota in processors" Count "cpu.max";
    THROTTLED "cpu_throttled" "stopped by the quota" Fraction "cpu.stat";
    /// Tasks that wait for the locks of files, and for completions of io_uring.
    FILE_LOCKS "file_lock_waiters" "waiting for file locks" Count "/proc/locks";
    URING_WAITERS "io_uring_waiters" "waiting in io_uring" Count "/proc/PID/wchan";
    LOGGED_ERRORS "logged_errors" "errors in the kernel log" Count "/dev/kmsg";
    /// Throughput of the link of a drive as negotiated, and what both ends support.
    LINK "link" "link" BytesPerSecond "/sys/block/*/device";
    LINK_SUPPORTED "link_supported" "supported" BytesPerSecond "/sys/block/*/device";
    /// Bytes available to users without root's rights.
    AVAILABLE "available" "available" Bytes "statvfs";
    /// Fraction of the space or of the inodes in use.
    USED "used" "used" Fraction "statvfs";
    FUSE_WAITING "fuse_waiting" "requests to FUSE servers waiting" Count "/sys/fs/fuse/connections";
}

/// A measured value, as the document has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// Name in the document.
    pub name: &'static str,
    /// Of which device, process or control group; `None`: of the machine.
    pub subject: Option<SafeText>,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The file or interface of the kernel that it comes from.
    pub source: &'static str,
    #[serde(skip)]
    label: &'static str,
}

impl Evidence {
    /// A value of the machine.
    pub fn of_machine(metric: Metric, value: f64) -> Self {
        let Metric(name, label, unit, source) = metric;
        Self {
            name,
            subject: None,
            value,
            unit,
            source,
            label,
        }
    }

    /// A value of a device, a process or a control group.
    pub fn of(subject: &SafeText, metric: Metric, value: f64) -> Self {
        Self {
            subject: Some(subject.clone()),
            ..Self::of_machine(metric, value)
        }
    }

    /// `sda: w_await 41.0 ms`.
    pub fn text(&self) -> String {
        let value = format!("{} {}", self.label, self.unit.text(self.value));
        match &self.subject {
            Some(subject) => format!("{}: {value}", subject.clone().cut(SUBJECT_CHARACTERS)),
            None => value,
        }
    }
}

/// Values of the machine, those that are known.
pub fn known_values<const N: usize>(values: [(Metric, Option<f64>); N]) -> Vec<Evidence> {
    let known = values.into_iter();
    known
        .filter_map(|(metric, value)| Some(Evidence::of_machine(metric, value?)))
        .collect()
}
