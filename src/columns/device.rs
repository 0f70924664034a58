//! Block devices: iostat -x.

use super::{Column, Entity, NOT_IN_TABLES, TEXT_ONLY, Value, field, sum, throughput};
use crate::probe::sample::{DiskCounters, RequestCounters};
use crate::snapshot::view::DeviceView;
use crate::units::Unit;

type Device = Column<DeviceView>;

/// Bytes of a sector in `/proc/diskstats`.
const SECTOR_BYTES: f64 = 512.0;

impl Entity for DeviceView {
    const NAME: &'static str = "device";
    const COLUMNS: &'static [Device] = COLUMNS;
    type Counters = DiskCounters;
}

#[rustfmt::skip]
const COLUMNS: &[Device] = &[
    field!(Device, name, "name", (9, 5, NOT_IN_TABLES)),
    Device::text("device", "Device", |it| it.display_name().to_owned().into(), (9, 5, 0)).derived(),
    field!(Device, label, "", (15, 23, 9)),
    field!(Device, read_ios_per_s, "r/s", PerSecond).shown(6, 0).help("reads completed")
        .counted("reads", |it| Some(it.reads.completed as f64)),
    field!(Device, write_ios_per_s, "w/s", PerSecond).shown(6, 0).help("writes completed")
        .counted("writes", |it| Some(it.writes.completed as f64)),
    field!(Device, read_bytes_per_s, "rMB/s", BytesPerSecond).shown(6, 0).help("bytes read")
        .counted("read_bytes", |it| bytes(&it.reads)),
    field!(Device, write_bytes_per_s, "wMB/s", BytesPerSecond).shown(6, 0).help("bytes written")
        .counted("written_bytes", |it| bytes(&it.writes)),
    field!(Device, read_await_ns, "r_await", Nanoseconds, of_reads).shown(7, 2)
        .help("mean time of reads, from allocation to completion")
        .counted("read_time_seconds", |it| seconds(it.reads.time_ms)),
    field!(Device, write_await_ns, "w_await", Nanoseconds, of_writes).shown(7, 3)
        .help("mean time of writes, from allocation to completion")
        .counted("write_time_seconds", |it| seconds(it.writes.time_ms)),
    field!(Device, queue_size, "aqu-sz", Count).shown(6, 0).help("requests in flight, mean over the interval")
        .counted("io_time_weighted_seconds", |it| seconds(it.weighted_ms)),
    Device::new("request_bytes", "areq-sz", Unit::RequestBytes, |it| Value::mean(it.request_bytes, ios_per_s(it)))
        .shown(7, 5).help("mean size of reads and writes"),
    field!(Device, busy, "%util", Ratio).shown(5, 0).also(&["util"])
        .help("share of time with at least one request in flight; may exceed 1")
        .counted("io_time_seconds", |it| seconds(it.busy_ms)),
    field!(Device, discard_ios_per_s, "d/s", PerSecond).shown(5, 12)
        .help("discards completed; unknown before kernel 4.18")
        .counted("discards", |it| Some(it.discards?.completed as f64)),
    field!(Device, discard_bytes_per_s, "dMB/s", BytesPerSecond).shown(6, 13).help("bytes discarded")
        .counted("discarded_bytes", |it| bytes(&it.discards?)),
    field!(Device, discard_await_ns, "d_await", Nanoseconds, of_discards).shown(7, 14)
        .help("mean time of discards, from allocation to completion")
        .counted("discard_time_seconds", |it| seconds(it.discards?.time_ms)),
    field!(Device, flush_ios_per_s, "f/s", PerSecond).shown(5, 10)
        .help("flushes of the drive's cache completed; unknown before kernel 5.5")
        .counted("flushes", |it| Some(it.flushes?.completed as f64)),
    Device::new("flush_await_ns", "f_await", Unit::Nanoseconds, |it| Value::mean(it.flush_await_ns, it.flush_ios_per_s))
        .shown(7, 11).help("mean time of a flush of the drive's cache")
        .counted("flush_time_seconds", |it| seconds(it.flushes?.time_ms)),
    field!(Device, read_request_bytes, "rareq-sz", RequestBytes, of_reads).shown(8, TEXT_ONLY)
        .help("mean size of reads"),
    field!(Device, write_request_bytes, "wareq-sz", RequestBytes, of_writes).shown(8, TEXT_ONLY)
        .help("mean size of writes"),
    Device::new("read_merged", "%rrqm", Unit::Ratio, |it| of_reads(it, it.read_merged_fraction)).shown(5, TEXT_ONLY)
        .help("share of the reads that were merged into another request")
        .counted("reads_merged", |it| Some(it.reads.merged as f64)),
    Device::new("write_merged", "%wrqm", Unit::Ratio, |it| of_writes(it, it.write_merged_fraction))
        .shown(5, TEXT_ONLY).help("share of the writes that were merged into another request")
        .counted("writes_merged", |it| Some(it.writes.merged as f64)),
    Device::new("discard_merged", "%drqm", Unit::Ratio, |it| of_discards(it, it.discard_merged_fraction))
        .shown(5, TEXT_ONLY).help("share of the discards that were merged into another request")
        .counted("discards_merged", |it| Some(it.discards?.merged as f64)),
    field!(Device, in_flight, "in_flight", Count).shown(9, TEXT_ONLY)
        .help("requests in flight at the time of the sample"),
    field!(Device, dirty_bytes, "dirty", Bytes).shown(8, NOT_IN_TABLES)
        .help("bytes written for it that are only in memory; root and debugfs, and while the machine has much"),
    field!(Device, writeback_bytes, "writeback", Bytes).shown(8, NOT_IN_TABLES)
        .help("bytes that are being written to it"),
    Device::new("drain_ns", "drain", Unit::Nanoseconds, |it| it.time_to_flush.into())
        .help("time within which these are flushed, at the speed at which the device writes back"),
    field!(Device, size_bytes, "size", Bytes).help("capacity"),
    Device::new("await_ns", "await", Unit::Nanoseconds, |it| mean_await(it).into()).also(&["latency_mean"]).derived()
        .help("mean time of reads and writes together; unknown when none completed"),
    Device::new("ios_per_s", "iops", Unit::PerSecond, |it| ios_per_s(it).into()).derived()
        .help("reads and writes completed"),
    throughput!(Device),
];

fn of_reads(device: &DeviceView, mean: Option<f64>) -> Value {
    Value::mean(mean, device.read_ios_per_s)
}

fn of_writes(device: &DeviceView, mean: Option<f64>) -> Value {
    Value::mean(mean, device.write_ios_per_s)
}

fn of_discards(device: &DeviceView, mean: Option<f64>) -> Value {
    Value::mean(mean, device.discard_ios_per_s)
}

fn ios_per_s(device: &DeviceView) -> Option<f64> {
    sum(device.read_ios_per_s, device.write_ios_per_s)
}

fn bytes(counters: &RequestCounters) -> Option<f64> {
    Some(counters.sectors as f64 * SECTOR_BYTES)
}

fn seconds(milliseconds: u64) -> Option<f64> {
    Some(milliseconds as f64 / 1e3)
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
