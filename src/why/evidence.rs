//! Measured values that prove or rule out a cause.

use serde::Serialize;

use crate::files::safe_text::SafeText;
use crate::units;

/// Characters of a subject that are shown: a command line may be long.
const SUBJECT_CHARACTERS: usize = 32;

/// Unit of a value, as it stands in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Bytes per second.
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    /// Events per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// A fraction, 0 to 1.
    #[serde(rename = "fraction")]
    Fraction,
    /// A number of things.
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    /// A value with its unit, for people.
    #[must_use]
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

/// Nanoseconds: name in the document, what stands before the value in a text, source.
#[must_use]
pub const fn ns(name: &'static str, label: &'static str, source: &'static str) -> Metric {
    Metric(name, label, Unit::Nanoseconds, source)
}

/// Bytes, likewise.
#[must_use]
pub const fn bytes(name: &'static str, label: &'static str, source: &'static str) -> Metric {
    Metric(name, label, Unit::Bytes, source)
}

/// Bytes per second, likewise.
#[must_use]
pub const fn rate(name: &'static str, label: &'static str, source: &'static str) -> Metric {
    Metric(name, label, Unit::BytesPerSecond, source)
}

/// Events per second, likewise.
#[must_use]
pub const fn per_second(name: &'static str, label: &'static str, source: &'static str) -> Metric {
    Metric(name, label, Unit::PerSecond, source)
}

/// A fraction, 0 to 1, likewise.
#[must_use]
pub const fn fraction(name: &'static str, label: &'static str, source: &'static str) -> Metric {
    Metric(name, label, Unit::Fraction, source)
}

/// A number of things, likewise.
#[must_use]
pub const fn count(name: &'static str, label: &'static str, source: &'static str) -> Metric {
    Metric(name, label, Unit::Count, source)
}

/// Source of the counters of devices.
pub(super) const DISKSTATS: &str = "/proc/diskstats";

/// Mean latency of reads.
pub const READ_AWAIT: Metric = ns("r_await", "r_await", DISKSTATS);
/// Mean latency of writes.
pub const WRITE_AWAIT: Metric = ns("w_await", "w_await", DISKSTATS);
/// Lowest mean latency in an interval with at most one request in flight.
pub const LIGHT_LATENCY: Metric = ns("light_load_latency", "latency under light load", DISKSTATS);
/// Requests in flight, mean.
pub const QUEUE: Metric = count("aqu-sz", "aqu-sz", DISKSTATS);
/// Fraction of the time with a request in flight.
pub const UTILIZATION: Metric = fraction("util", "%util", DISKSTATS);
/// Reads and writes completed per second.
pub const IOPS: Metric = per_second("iops", "IOPS", DISKSTATS);
/// Bytes read and written per second.
pub const THROUGHPUT: Metric = rate("throughput", "throughput", DISKSTATS);
/// Spread of the throughput over the intervals, relative to its mean.
pub const RATE_SPREAD: Metric =
    fraction("throughput_spread", "spread of the throughput", DISKSTATS);
/// Fraction of the time in which the task was blocked.
pub const BLOCKED: Metric = fraction("blocked", "blocked", "/proc/PID/stat");
/// Longest time without a context switch.
pub const BLOCKED_FOR: Metric = ns("blocked_for", "longest sleep", "/proc/PID/status");
/// Tasks that wait in the same way.
pub const WAITING_TASKS: Metric = count("waiting_tasks", "waiting tasks", "/proc/PID/wchan");
/// Share of the traffic of the device.
pub const TRAFFIC_SHARE: Metric = fraction("traffic_share", "share of the traffic", "/proc/PID/io");
/// Fraction of time in which at least one task waited for I/O.
pub const IO_PRESSURE: Metric = fraction("io_pressure_some", "PSI io some", "/proc/pressure/io");
/// Fraction of time in which at least one task waited for memory.
pub const MEMORY_PRESSURE: Metric = fraction(
    "memory_pressure_some",
    "PSI memory some",
    "/proc/pressure/memory",
);
/// Fraction of processor time that was used.
pub const CPU_BUSY: Metric = fraction("cpu_busy", "CPU", "/proc/stat");

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
    #[must_use]
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
    #[must_use]
    pub fn of(subject: &SafeText, metric: Metric, value: f64) -> Self {
        Self {
            subject: Some(subject.clone()),
            ..Self::of_machine(metric, value)
        }
    }

    /// `sda: w_await 41.0 ms`.
    #[must_use]
    pub fn text(&self) -> String {
        let value = self.unit.text(self.value);
        match &self.subject {
            Some(subject) => {
                let subject = subject.clone().cut(SUBJECT_CHARACTERS);
                format!("{subject}: {} {value}", self.label)
            }
            None => format!("{} {value}", self.label),
        }
    }
}
