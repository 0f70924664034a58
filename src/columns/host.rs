//! The machine as a whole.

use super::{Column, Entity, Value, sum};
use crate::probe::SystemSample;
use crate::probe::sample::PressureStall;
use crate::snapshot::Snapshot;
use crate::snapshot::view::BlockedTaskView;
use crate::units::Unit;

type Host = Column<Snapshot>;

impl Entity for Snapshot {
    const NAME: &'static str = "";
    const COLUMNS: &'static [Host] = COLUMNS;
    type Counters = SystemSample;
}

/// A metric of the machine whose key is the name of a field.
macro_rules! host {
    ($key:ident, $name:literal, $unit:ident) => {
        Host::new(stringify!($key), $name, Unit::$unit, |it| {
            it.host.$key.into()
        })
    };
}

#[rustfmt::skip]
const COLUMNS: &[Host] = &[
    host!(cpu_busy, "cpu%", Ratio).help("share of processor time that was busy, kernel threads included"),
    Host::new("cpu_wait", "iowait", Unit::Ratio, |it| it.host.cpu_iowait.into())
        .help("share of processor time that was idle with I/O outstanding"),
    host!(pressure_some, "PSI io some", Ratio)
        .help("share of the interval in which at least one task waited for I/O")
        .counted("pressure_some_seconds", |it| some(it.host.pressure)),
    host!(pressure_full, "PSI io full", Ratio).help("share of the interval in which all tasks waited for I/O")
        .counted("pressure_full_seconds", |it| full(it.host.pressure)),
    host!(memory_pressure_some, "PSI memory some", Ratio)
        .help("share of the interval in which at least one task waited for memory")
        .counted("memory_pressure_some_seconds", |it| some(it.host.memory_pressure)),
    host!(memory_pressure_full, "PSI memory full", Ratio)
        .help("share of the interval in which all tasks waited for memory")
        .counted("memory_pressure_full_seconds", |it| full(it.host.memory_pressure)),
    host!(cpu_pressure_some, "PSI cpu some", Ratio)
        .help("share of the interval in which at least one task waited for a processor"),
    host!(swap_in_bytes_per_s, "swap in", BytesPerSecond).help("bytes read from swap")
        .counted("swapped_in_bytes", |it| Some(it.host.reclaim?.swapped_in_bytes as f64)),
    host!(swap_out_bytes_per_s, "swap out", BytesPerSecond).help("bytes written to swap")
        .counted("swapped_out_bytes", |it| Some(it.host.reclaim?.swapped_out_bytes as f64)),
    host!(refault_bytes_per_s, "refault", BytesPerSecond)
        .help("bytes of files read again shortly after they were dropped from the page cache")
        .counted("refaulted_bytes", |it| Some(it.host.reclaim?.refaulted_bytes as f64)),
    host!(direct_reclaims_per_s, "reclaims", PerSecond).help("allocations that had to reclaim memory themselves")
        .counted("direct_reclaims", |it| Some(it.host.reclaim?.direct_reclaims as f64)),
    host!(memory_bytes, "memory", Bytes).help("memory that the kernel can use"),
    host!(cached_bytes, "page cache", Bytes)
        .help("page cache of files and devices, with tmpfs and shared memory, which cannot be dropped"),
    host!(dirty_bytes, "dirty", Bytes).help("bytes written by programs and not yet under writeback"),
    host!(writeback_bytes, "writeback", Bytes).help("bytes that are being written to devices"),
    Host::new("drain_ns", "drain", Unit::Nanoseconds, |it| it.host.time_to_flush.into())
        .help("time within which what is dirty now is flushed, at the speed of the last minute's writeback"),
    Host::new("background_from_bytes", "background", Unit::Bytes, |it| it.host.background_threshold_bytes.into())
        .help("dirty bytes from which the kernel writes back in the background"),
    Host::new("throttled_from_bytes", "limit", Unit::Bytes, |it| it.host.throttle_threshold_bytes.into())
        .help("dirty bytes from which it makes writers wait"),
    Host::new("throttle_ns", "throttled in", Unit::Nanoseconds, |it| it.host.time_to_throttle.into())
        .help("time until writers wait, as dirty bytes grow now; 0: they wait; unknown while these do not grow by 1 MB/s, and beyond ten minutes"),
    Host::new("cache_hits", "cache hits", Unit::Ratio, |it| it.host.cache_hit_fraction.into())
        .help("share of the bytes read by all processes that no device delivered"),
    Host::new("read_bytes_per_s", "rMB/s", Unit::BytesPerSecond, |it| read_rate(it).into()).derived()
        .help("bytes that all drives read; `total.actual_read_bytes_per_s`"),
    Host::new("write_bytes_per_s", "wMB/s", Unit::BytesPerSecond, |it| write_rate(it).into()).derived()
        .help("bytes that all drives wrote; `total.actual_write_bytes_per_s`"),
    Host::new("bytes_per_s", "MB/s", Unit::BytesPerSecond, |it| sum(read_rate(it), write_rate(it)).into())
        .also(&["throughput"]).derived().help("both"),
    Host::new("blocked_tasks", "state D", Unit::Count, |it| it.blocked.as_ref().map(|tasks| tasks.len() as f64).into())
        .derived()
        .help("tasks in uninterruptible sleep (state D), without threads of the kernel; number of `blocked[]`"),
    Host::new("blocked_longest_ns", "longest", Unit::Nanoseconds, longest_sleep).derived()
        .help("longest of these sleeps so far; 0 without one"),
];

fn some(pressure: Option<PressureStall>) -> Option<f64> {
    Some(pressure?.some.total.as_secs_f64())
}

fn full(pressure: Option<PressureStall>) -> Option<f64> {
    Some(pressure?.full.total.as_secs_f64())
}

fn read_rate(live: &Snapshot) -> Option<f64> {
    live.total.actual_read_bytes_per_s
}

fn write_rate(live: &Snapshot) -> Option<f64> {
    live.total.actual_write_bytes_per_s
}

/// The views are sorted by it.
fn longest_sleep(live: &Snapshot) -> Value {
    let longest = |tasks: &[_]| {
        tasks
            .first()
            .map_or(0, |task: &BlockedTaskView| task.blocked_ns)
    };
    live.blocked.as_deref().map(longest).into()
}
