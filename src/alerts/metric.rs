//! The metrics of conditions: what each is, its unit, and where a snapshot has it.

use std::fmt;

use super::scope::ScopeKind;
use crate::session::document::MetricUnit;
use crate::snapshot::Snapshot;
use crate::snapshot::view::{DeviceView, MountView, ProcessView, UnitView};
use crate::text;

/// A metric that conditions can name.
#[derive(Debug)]
pub struct MetricInfo {
    /// Its name: the key of `watch --json`, without the unit `_ns`.
    pub name: &'static str,
    /// Other names: those of iostat, and those of goals.
    pub aliases: &'static [&'static str],
    /// Unit of its values.
    pub unit: MetricUnit,
    /// Where a snapshot has it. The first source with named instances is that of a scope without a
    /// kind.
    pub sources: &'static [MetricSource],
    /// What it is, without a full stop.
    pub meaning: &'static str,
}

/// Where a snapshot has the values of a metric.
#[derive(Debug, Clone, Copy)]
pub enum MetricSource {
    /// The machine as a whole.
    System(fn(&Snapshot) -> Option<f64>),
    /// Each block device.
    Device(fn(&DeviceView) -> Option<f64>),
    /// Each process with I/O.
    Process(fn(&ProcessView) -> Option<f64>),
    /// Each control group.
    Unit(fn(&UnitView) -> Option<f64>),
    /// Each mounted file system.
    Mount(fn(&MountView) -> Option<f64>),
    /// The tasks in uninterruptible sleep, by process.
    BlockedTasks,
    /// The I/O errors, by device.
    IoErrors,
}

impl MetricSource {
    /// The kind of its instances.
    #[must_use]
    pub fn kind(self) -> ScopeKind {
        match self {
            Self::System(_) => ScopeKind::System,
            Self::Device(_) | Self::IoErrors => ScopeKind::Device,
            Self::Process(_) | Self::BlockedTasks => ScopeKind::Process,
            Self::Unit(_) => ScopeKind::Unit,
            Self::Mount(_) => ScopeKind::Mount,
        }
    }
}

use MetricSource::{BlockedTasks, Device, IoErrors, Mount, Process, System, Unit};
use MetricUnit::{Bytes, BytesPerSecond, Count, Nanoseconds, PerSecond, Ratio};

/// All metrics of conditions.
pub const METRICS: &[MetricInfo] = &[
    MetricInfo {
        name: "await",
        aliases: &["latency_mean"],
        unit: Nanoseconds,
        sources: &[Device(mean_await)],
        meaning: "mean time from allocation to completion of reads and writes",
    },
    MetricInfo {
        name: "read_await",
        aliases: &["r_await"],
        unit: Nanoseconds,
        sources: &[Device(|it| it.read_await_ns)],
        meaning: "the same of reads",
    },
    MetricInfo {
        name: "write_await",
        aliases: &["w_await"],
        unit: Nanoseconds,
        sources: &[Device(|it| it.write_await_ns)],
        meaning: "the same of writes",
    },
    MetricInfo {
        name: "flush_await",
        aliases: &["f_await"],
        unit: Nanoseconds,
        sources: &[Device(|it| it.flush_await_ns)],
        meaning: "mean time of a flush of the drive's cache",
    },
    MetricInfo {
        name: "busy",
        aliases: &["util", "%util"],
        unit: Ratio,
        sources: &[Device(|it| it.busy)],
        meaning: "share of time with at least one request in flight",
    },
    MetricInfo {
        name: "queue_size",
        aliases: &["aqu-sz"],
        unit: Count,
        sources: &[Device(|it| it.queue_size)],
        meaning: "requests in flight, mean over the interval",
    },
    MetricInfo {
        name: "in_flight",
        aliases: &[],
        unit: Count,
        sources: &[Device(|it| count(it.in_flight))],
        meaning: "requests in flight at the time of the sample",
    },
    MetricInfo {
        name: "request_bytes",
        aliases: &["areq-sz"],
        unit: Bytes,
        sources: &[Device(|it| it.request_bytes)],
        meaning: "mean size of the requests",
    },
    MetricInfo {
        name: "ios_per_s",
        aliases: &["iops"],
        unit: PerSecond,
        sources: &[
            Device(|it| sum(it.read_ios_per_s, it.write_ios_per_s)),
            Unit(|it| sum(it.read_ios_per_s, it.write_ios_per_s)),
        ],
        meaning: "reads and writes completed",
    },
    MetricInfo {
        name: "read_ios_per_s",
        aliases: &["r/s"],
        unit: PerSecond,
        sources: &[Device(|it| it.read_ios_per_s), Unit(|it| it.read_ios_per_s)],
        meaning: "reads completed",
    },
    MetricInfo {
        name: "write_ios_per_s",
        aliases: &["w/s"],
        unit: PerSecond,
        sources: &[
            Device(|it| it.write_ios_per_s),
            Unit(|it| it.write_ios_per_s),
        ],
        meaning: "writes completed",
    },
    MetricInfo {
        name: "bytes_per_s",
        aliases: &["throughput"],
        unit: BytesPerSecond,
        sources: &[
            Device(|it| sum(it.read_bytes_per_s, it.write_bytes_per_s)),
            Process(|it| sum(it.read_bytes_per_s, it.write_bytes_per_s)),
            Unit(|it| sum(it.read_bytes_per_s, it.write_bytes_per_s)),
            Mount(|it| sum(it.read_bytes_per_s, it.write_bytes_per_s)),
            System(|it| {
                sum(
                    it.total.actual_read_bytes_per_s,
                    it.total.actual_write_bytes_per_s,
                )
            }),
        ],
        meaning: "bytes read and written; of the system those of all drives",
    },
    MetricInfo {
        name: "read_bytes_per_s",
        aliases: &[],
        unit: BytesPerSecond,
        sources: &[
            Device(|it| it.read_bytes_per_s),
            Process(|it| it.read_bytes_per_s),
            Unit(|it| it.read_bytes_per_s),
            Mount(|it| it.read_bytes_per_s),
            System(|it| it.total.actual_read_bytes_per_s),
        ],
        meaning: "bytes read",
    },
    MetricInfo {
        name: "write_bytes_per_s",
        aliases: &[],
        unit: BytesPerSecond,
        sources: &[
            Device(|it| it.write_bytes_per_s),
            Process(|it| it.write_bytes_per_s),
            Unit(|it| it.write_bytes_per_s),
            Mount(|it| it.write_bytes_per_s),
            System(|it| it.total.actual_write_bytes_per_s),
        ],
        meaning: "bytes written",
    },
    MetricInfo {
        name: "io_errors",
        aliases: &[],
        unit: Count,
        sources: &[IoErrors],
        meaning: "I/O errors of the interval in the kernel log; where it cannot be read, failed commands (ioerr_cnt)",
    },
    MetricInfo {
        name: "dstate",
        aliases: &["blocked"],
        unit: Nanoseconds,
        sources: &[BlockedTasks],
        meaning: "time that a thread of the process has been in one uninterruptible sleep (state D)",
    },
    MetricInfo {
        name: "io_wait",
        aliases: &[],
        unit: Ratio,
        sources: &[Process(|it| it.io_wait)],
        meaning: "share of time that the process waited for block I/O; needs delay accounting",
    },
    MetricInfo {
        name: "pressure_some",
        aliases: &[],
        unit: Ratio,
        sources: &[
            System(|it| it.host.pressure_some),
            Unit(|it| it.pressure_some),
        ],
        meaning: "share of the last 10 s in which at least one task waited for I/O",
    },
    MetricInfo {
        name: "pressure_full",
        aliases: &[],
        unit: Ratio,
        sources: &[
            System(|it| it.host.pressure_full),
            Unit(|it| it.pressure_full),
        ],
        meaning: "share of the last 10 s in which all tasks waited for I/O",
    },
    MetricInfo {
        name: "limit_usage",
        aliases: &[],
        unit: Ratio,
        sources: &[Unit(UnitView::limit_usage)],
        meaning: "rate of the unit as a share of its I/O limit, the highest of all limits",
    },
    MetricInfo {
        name: "dirty_bytes",
        aliases: &[],
        unit: Bytes,
        sources: &[
            System(|it| count(it.host.dirty_bytes)),
            Device(|it| count(it.dirty_bytes)),
        ],
        meaning: "bytes written by programs and not yet under writeback",
    },
    MetricInfo {
        name: "writeback_bytes",
        aliases: &[],
        unit: Bytes,
        sources: &[
            System(|it| count(it.host.writeback_bytes)),
            Device(|it| count(it.writeback_bytes)),
        ],
        meaning: "bytes under writeback",
    },
    MetricInfo {
        name: "available_bytes",
        aliases: &["free_bytes"],
        unit: Bytes,
        sources: &[Mount(|it| count(it.available_bytes))],
        meaning: "free space of a file system for unprivileged users",
    },
    MetricInfo {
        name: "available",
        aliases: &["free"],
        unit: Ratio,
        sources: &[Mount(available_share)],
        meaning: "the same as a share of its size",
    },
    MetricInfo {
        name: "round_trip",
        aliases: &[],
        unit: Nanoseconds,
        sources: &[Mount(|it| it.round_trip_ns)],
        meaning: "mean time from sending a request of NFS to its answer",
    },
    MetricInfo {
        name: "waiting",
        aliases: &[],
        unit: Count,
        sources: &[Mount(|it| count(it.waiting))],
        meaning: "requests that the process behind a FUSE mount has not answered",
    },
    MetricInfo {
        name: "timeouts_per_s",
        aliases: &[],
        unit: PerSecond,
        sources: &[Mount(|it| it.timeouts_per_s)],
        meaning: "requests of NFS that were not answered in time",
    },
    MetricInfo {
        name: "cpu_busy",
        aliases: &[],
        unit: Ratio,
        sources: &[System(|it| it.host.cpu_busy)],
        meaning: "share of processor time that was busy",
    },
    MetricInfo {
        name: "cpu_wait",
        aliases: &["iowait"],
        unit: Ratio,
        sources: &[System(|it| it.host.cpu_iowait)],
        meaning: "share of processor time that was idle with I/O outstanding",
    },
    MetricInfo {
        name: "cpu_pressure_some",
        aliases: &[],
        unit: Ratio,
        sources: &[System(|it| it.host.cpu_pressure_some)],
        meaning: "share of the last 10 s in which at least one task waited for a processor",
    },
    MetricInfo {
        name: "memory_pressure_some",
        aliases: &[],
        unit: Ratio,
        sources: &[System(|it| it.host.memory_pressure_some)],
        meaning: "share of the last 10 s in which at least one task waited for memory",
    },
    MetricInfo {
        name: "memory_pressure_full",
        aliases: &[],
        unit: Ratio,
        sources: &[System(|it| it.host.memory_pressure_full)],
        meaning: "share of the last 10 s in which all tasks waited for memory",
    },
    MetricInfo {
        name: "swap_in_bytes_per_s",
        aliases: &[],
        unit: BytesPerSecond,
        sources: &[System(|it| it.host.swap_in_bytes_per_s)],
        meaning: "bytes read from swap",
    },
    MetricInfo {
        name: "swap_out_bytes_per_s",
        aliases: &[],
        unit: BytesPerSecond,
        sources: &[System(|it| it.host.swap_out_bytes_per_s)],
        meaning: "bytes written to swap",
    },
    MetricInfo {
        name: "refault_bytes_per_s",
        aliases: &[],
        unit: BytesPerSecond,
        sources: &[System(|it| it.host.refault_bytes_per_s)],
        meaning: "bytes of files read again shortly after they were dropped from the page cache",
    },
];

fn count(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// Unknown unless both are known.
fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? + other?)
}

/// The mean over reads and writes, as iostat's `await`; unknown when neither completed.
fn mean_await(device: &DeviceView) -> Option<f64> {
    let weighted = |rate: Option<f64>, wait: Option<f64>| match (rate, wait) {
        (Some(rate), Some(wait)) => Some((rate, rate * wait)),
        // None completed, therefore there is no mean.
        (Some(0.0), None) => Some((0.0, 0.0)),
        _ => None,
    };
    let reads = weighted(device.read_ios_per_s, device.read_await_ns)?;
    let writes = weighted(device.write_ios_per_s, device.write_await_ns)?;
    let completed = reads.0 + writes.0;
    (completed > 0.0).then(|| (reads.1 + writes.1) / completed)
}

fn available_share(mount: &MountView) -> Option<f64> {
    let size = mount.size_bytes.filter(|size| *size > 0)?;
    Some(mount.available_bytes? as f64 / size as f64)
}

/// A metric of a condition.
#[derive(Debug, Clone, Copy)]
pub struct ConditionMetric(&'static MetricInfo);

impl ConditionMetric {
    /// The metric with that name or alias; also with the suffix of its unit, as in `read_await_ns`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let is_named = |info: &&MetricInfo| {
            let base = match info.unit {
                Nanoseconds => name.strip_suffix("_ns").unwrap_or(name),
                _ => name,
            };
            info.name == base || info.aliases.contains(&base)
        };
        METRICS.iter().find(is_named).map(Self)
    }

    /// Its description.
    #[must_use]
    pub fn info(self) -> &'static MetricInfo {
        self.0
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Unit of its values.
    #[must_use]
    pub fn unit(self) -> MetricUnit {
        self.0.unit
    }

    /// Where it is read for scopes of that kind.
    #[must_use]
    pub fn source(self, kind: ScopeKind) -> Option<MetricSource> {
        let mut sources = self.0.sources.iter().copied();
        sources.find(|source| source.kind() == kind)
    }

    /// The kinds of scopes that it has.
    pub fn kinds(self) -> impl Iterator<Item = ScopeKind> {
        self.0.sources.iter().map(|source| source.kind())
    }

    /// The kind of a name without one.
    #[must_use]
    pub fn default_kind(self) -> ScopeKind {
        let named = self.kinds().find(|kind| *kind != ScopeKind::System);
        named.unwrap_or(ScopeKind::System)
    }
}

impl PartialEq for ConditionMetric {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for ConditionMetric {}

impl fmt::Display for ConditionMetric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.name)
    }
}

/// `, did you mean NAME?` if the name is similar to that of a metric.
pub(super) fn similar_metric(name: &str) -> String {
    let names = METRICS.iter().flat_map(|info| {
        let aliases = info.aliases.iter().copied();
        std::iter::once(info.name).chain(aliases)
    });
    text::suggestion(name, names)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let mut seen = HashSet::new();
        for info in METRICS {
            for name in info.aliases.iter().chain([&info.name]) {
                assert!(seen.insert(*name), "{name} stands twice");
                assert_eq!(ConditionMetric::parse(name).unwrap().name(), info.name);
            }
            let kinds: HashSet<_> = info.sources.iter().map(|source| source.kind()).collect();
            assert_eq!(kinds.len(), info.sources.len(), "{}", info.name);
        }
        let metric = ConditionMetric::parse("read_await_ns").unwrap();
        assert_eq!(metric.name(), "read_await");
        assert_eq!(ConditionMetric::parse("busy_ns"), None);
    }

    #[test]
    fn mean_await_is_weighted_by_the_requests() {
        let device = DeviceView {
            read_ios_per_s: Some(30.0),
            read_await_ns: Some(1e6),
            write_ios_per_s: Some(10.0),
            write_await_ns: Some(9e6),
            ..DeviceView::default()
        };
        assert_eq!(mean_await(&device), Some(3e6));
        let reads_only = DeviceView {
            write_ios_per_s: Some(0.0),
            write_await_ns: None,
            ..device.clone()
        };
        assert_eq!(mean_await(&reads_only), Some(1e6));
        let idle = DeviceView {
            read_ios_per_s: Some(0.0),
            read_await_ns: None,
            ..reads_only
        };
        assert_eq!(mean_await(&idle), None);
        assert_eq!(mean_await(&DeviceView::default()), None);
    }
}
