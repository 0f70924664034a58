//! The machine as a whole.

use super::{Column, Entity, Value, count, sum};
use crate::probe::SystemSample;
use crate::probe::sample::PressureStall;
use crate::snapshot::Snapshot;
use crate::units::Unit;

type Host = Column<Snapshot>;

impl Entity for Snapshot {
    const NAME: &'static str = "";
    const COLUMNS: &'static [Host] = COLUMNS;
    type Counters = SystemSample;
}

const COLUMNS: &[Host] = &[
    Host::new("cpu_busy", "cpu%", Unit::Ratio, |it| it.host.cpu_busy.into())
        .help("share of processor time that was busy, kernel threads included"),
    Host::new("cpu_wait", "iowait", Unit::Ratio, |it| it.host.cpu_iowait.into())
        .help("share of processor time that was idle with I/O outstanding"),
    Host::new("pressure_some", "PSI io some", Unit::Ratio, |it| it.host.pressure_some.into())
        .help("share of the last 10 s in which at least one task waited for I/O")
        .counted("pressure_some_seconds", "seconds", |it| some(it.host.pressure)),
    Host::new("pressure_full", "PSI io full", Unit::Ratio, |it| it.host.pressure_full.into())
        .help("share of the last 10 s in which all tasks waited for I/O")
        .counted("pressure_full_seconds", "seconds", |it| full(it.host.pressure)),
    Host::new("memory_pressure_some", "PSI memory some", Unit::Ratio, |it| {
        it.host.memory_pressure_some.into()
    })
    .help("share of the last 10 s in which at least one task waited for memory")
    .counted("memory_pressure_some_seconds", "seconds", |it| {
        some(it.host.memory_pressure)
    }),
    Host::new("memory_pressure_full", "PSI memory full", Unit::Ratio, |it| {
        it.host.memory_pressure_full.into()
    })
    .help("share of the last 10 s in which all tasks waited for memory")
    .counted("memory_pressure_full_seconds", "seconds", |it| {
        full(it.host.memory_pressure)
    }),
    Host::new("cpu_pressure_some", "PSI cpu some", Unit::Ratio, |it| {
        it.host.cpu_pressure_some.into()
    })
    .help("share of the last 10 s in which at least one task waited for a processor"),
    Host::new("swap_in_bytes_per_s", "swap in", Unit::BytesPerSecond, |it| {
        it.host.swap_in_bytes_per_s.into()
    })
    .help("bytes read from swap")
    .counted("swapped_in_bytes", "bytes", |it| {
        Some(it.host.reclaim?.swapped_in_bytes as f64)
    }),
    Host::new("swap_out_bytes_per_s", "swap out", Unit::BytesPerSecond, |it| {
        it.host.swap_out_bytes_per_s.into()
    })
    .help("bytes written to swap")
    .counted("swapped_out_bytes", "bytes", |it| {
        Some(it.host.reclaim?.swapped_out_bytes as f64)
    }),
    Host::new("refault_bytes_per_s", "refault", Unit::BytesPerSecond, |it| {
        it.host.refault_bytes_per_s.into()
    })
    .help("bytes of files read again shortly after they were dropped from the page cache")
    .counted("refaulted_bytes", "bytes", |it| {
        Some(it.host.reclaim?.refaulted_bytes as f64)
    }),
    Host::new("direct_reclaims_per_s", "reclaims", Unit::PerSecond, |it| {
        it.host.direct_reclaims_per_s.into()
    })
    .help("allocations that had to reclaim memory themselves")
    .counted("direct_reclaims", "", |it| {
        Some(it.host.reclaim?.direct_reclaims as f64)
    }),
    Host::new("memory_bytes", "memory", Unit::Bytes, |it| count(it.host.memory_bytes))
        .help("memory that the kernel can use"),
    Host::new("cached_bytes", "page cache", Unit::Bytes, |it| count(it.host.cached_bytes))
        .help("page cache of files and devices, with tmpfs and shared memory, which cannot be dropped"),
    Host::new("dirty_bytes", "dirty", Unit::Bytes, |it| count(it.host.dirty_bytes))
        .help("bytes written by programs and not yet under writeback"),
    Host::new("writeback_bytes", "writeback", Unit::Bytes, |it| {
        count(it.host.writeback_bytes)
    })
    .help("bytes that are being written to devices"),
    Host::new("drain_ns", "drain", Unit::Nanoseconds, |it| it.host.time_to_flush.into())
        .help("time within which what is dirty now is flushed, at the speed of the last minute's writeback"),
    Host::new("background_from_bytes", "background", Unit::Bytes, |it| {
        count(it.host.background_threshold_bytes)
    })
    .help("dirty bytes from which the kernel writes back in the background"),
    Host::new("throttled_from_bytes", "limit", Unit::Bytes, |it| {
        count(it.host.throttle_threshold_bytes)
    })
    .help("dirty bytes from which it makes writers wait"),
    Host::new("throttle_ns", "throttled in", Unit::Nanoseconds, |it| {
        it.host.time_to_throttle.into()
    })
    .help("time until writers wait, as dirty bytes grow now; 0: they wait; unknown while these do not grow by 1 MB/s, and beyond ten minutes"),
    Host::new("cache_hits", "cache hits", Unit::Ratio, |it| it.host.cache_hit_fraction.into())
        .help("share of the bytes read by all processes that no device delivered"),
    Host::new("read_bytes_per_s", "rMB/s", Unit::BytesPerSecond, |it| {
        it.total.actual_read_bytes_per_s.into()
    })
    .help("bytes that all drives read; `total.actual_read_bytes_per_s`")
    .derived(),
    Host::new("write_bytes_per_s", "wMB/s", Unit::BytesPerSecond, |it| {
        it.total.actual_write_bytes_per_s.into()
    })
    .help("bytes that all drives wrote; `total.actual_write_bytes_per_s`")
    .derived(),
    Host::new("bytes_per_s", "MB/s", Unit::BytesPerSecond, |it| {
        sum(it.total.actual_read_bytes_per_s, it.total.actual_write_bytes_per_s).into()
    })
    .help("both")
    .also(&["throughput"])
    .derived(),
    Host::new("blocked_tasks", "state D", Unit::Count, |it| {
        it.blocked.as_ref().map(|tasks| tasks.len() as f64).into()
    })
    .help("tasks in uninterruptible sleep (state D), without threads of the kernel; number of `blocked[]`")
    .derived(),
    Host::new("blocked_longest_ns", "longest", Unit::Nanoseconds, longest_sleep)
        .help("longest of these sleeps so far; 0 without one")
        .derived(),
];

fn some(pressure: Option<PressureStall>) -> Option<f64> {
    Some(pressure?.some.total.as_secs_f64())
}

fn full(pressure: Option<PressureStall>) -> Option<f64> {
    Some(pressure?.full.total.as_secs_f64())
}

/// The views are sorted by it.
fn longest_sleep(live: &Snapshot) -> Value {
    let Some(tasks) = &live.blocked else {
        return Value::Unknown;
    };
    Value::Number(tasks.first().map_or(0.0, |task| task.blocked_ns as f64))
}
