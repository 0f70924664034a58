//! Block devices: iostat -x.

use super::{Column, Entity, NOT_IN_TABLES, TEXT_ONLY, Value, count, sum};
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

const COLUMNS: &[Device] = &[
    Device::text("name", "name", |it| (&it.name).into(), (9, 5, NOT_IN_TABLES)),
    Device::text("device", "Device", |it| it.display_name().to_owned().into(), (9, 5, 0)).derived(),
    Device::text("label", "", |it| (&it.label).into(), (15, 23, 9)),
    Device::new("read_ios_per_s", "r/s", Unit::PerSecond, |it| {
        it.read_ios_per_s.into()
    })
    .help("reads completed")
    .counted("reads", "", |it| Some(it.reads.completed as f64))
    .shown(6, 0),
    Device::new("write_ios_per_s", "w/s", Unit::PerSecond, |it| {
        it.write_ios_per_s.into()
    })
    .help("writes completed")
    .counted("writes", "", |it| Some(it.writes.completed as f64))
    .shown(6, 0),
    Device::new("read_bytes_per_s", "rMB/s", Unit::BytesPerSecond, |it| {
        it.read_bytes_per_s.into()
    })
    .help("bytes read")
    .counted("read_bytes", "bytes", |it| bytes(&it.reads))
    .shown(6, 0),
    Device::new("write_bytes_per_s", "wMB/s", Unit::BytesPerSecond, |it| {
        it.write_bytes_per_s.into()
    })
    .help("bytes written")
    .counted("written_bytes", "bytes", |it| bytes(&it.writes))
    .shown(6, 0),
    Device::new("read_await_ns", "r_await", Unit::Nanoseconds, |it| {
        Value::mean(it.read_await_ns, it.read_ios_per_s)
    })
    .help("mean time of reads, from allocation to completion")
    .counted("read_time_seconds", "seconds", |it| time(&it.reads))
    .shown(7, 2),
    Device::new("write_await_ns", "w_await", Unit::Nanoseconds, |it| {
        Value::mean(it.write_await_ns, it.write_ios_per_s)
    })
    .help("mean time of writes, from allocation to completion")
    .counted("write_time_seconds", "seconds", |it| time(&it.writes))
    .shown(7, 3),
    Device::new("queue_size", "aqu-sz", Unit::Count, |it| {
        it.queue_size.into()
    })
    .help("requests in flight, mean over the interval")
    .counted("io_time_weighted_seconds", "seconds", |it| {
        Some(it.weighted_ms as f64 / 1e3)
    })
    .shown(6, 0),
    Device::new("request_bytes", "areq-sz", Unit::RequestBytes, |it| {
        Value::mean(
            it.request_bytes,
            sum(it.read_ios_per_s, it.write_ios_per_s),
        )
    })
    .help("mean size of reads and writes")
    .shown(7, 5),
    Device::new("busy", "%util", Unit::Ratio, |it| it.busy.into())
        .help("share of time with at least one request in flight; may exceed 1")
        .also(&["util"])
        .counted("io_time_seconds", "seconds", |it| {
            Some(it.busy_ms as f64 / 1e3)
        })
        .shown(5, 0),
    Device::new("discard_ios_per_s", "d/s", Unit::PerSecond, |it| {
        it.discard_ios_per_s.into()
    })
    .help("discards completed; unknown before kernel 4.18")
    .counted("discards", "", |it| Some(it.discards?.completed as f64))
    .shown(5, 12),
    Device::new("discard_bytes_per_s", "dMB/s", Unit::BytesPerSecond, |it| {
        it.discard_bytes_per_s.into()
    })
    .help("bytes discarded")
    .counted("discarded_bytes", "bytes", |it| bytes(&it.discards?))
    .shown(6, 13),
    Device::new("discard_await_ns", "d_await", Unit::Nanoseconds, |it| {
        Value::mean(it.discard_await_ns, it.discard_ios_per_s)
    })
    .help("mean time of discards, from allocation to completion")
    .counted("discard_time_seconds", "seconds", |it| time(&it.discards?))
    .shown(7, 14),
    Device::new("flush_ios_per_s", "f/s", Unit::PerSecond, |it| {
        it.flush_ios_per_s.into()
    })
    .help("flushes of the drive's cache completed; unknown before kernel 5.5")
    .counted("flushes", "", |it| Some(it.flushes?.completed as f64))
    .shown(5, 10),
    Device::new("flush_await_ns", "f_await", Unit::Nanoseconds, |it| {
        Value::mean(it.flush_await_ns, it.flush_ios_per_s)
    })
    .help("mean time of a flush of the drive's cache")
    .counted("flush_time_seconds", "seconds", |it| {
        Some(it.flushes?.time_ms as f64 / 1e3)
    })
    .shown(7, 11),
    Device::new("read_request_bytes", "rareq-sz", Unit::RequestBytes, |it| {
        Value::mean(it.read_request_bytes, it.read_ios_per_s)
    })
    .help("mean size of reads")
    .shown(8, TEXT_ONLY),
    Device::new("write_request_bytes", "wareq-sz", Unit::RequestBytes, |it| {
        Value::mean(it.write_request_bytes, it.write_ios_per_s)
    })
    .help("mean size of writes")
    .shown(8, TEXT_ONLY),
    Device::new("read_merged", "%rrqm", Unit::Ratio, |it| {
        Value::mean(it.read_merged_fraction, it.read_ios_per_s)
    })
    .help("share of the reads that were merged into another request")
    .counted("reads_merged", "", |it| Some(it.reads.merged as f64))
    .shown(5, TEXT_ONLY),
    Device::new("write_merged", "%wrqm", Unit::Ratio, |it| {
        Value::mean(it.write_merged_fraction, it.write_ios_per_s)
    })
    .help("share of the writes that were merged into another request")
    .counted("writes_merged", "", |it| Some(it.writes.merged as f64))
    .shown(5, TEXT_ONLY),
    Device::new("discard_merged", "%drqm", Unit::Ratio, |it| {
        Value::mean(it.discard_merged_fraction, it.discard_ios_per_s)
    })
    .help("share of the discards that were merged into another request")
    .counted("discards_merged", "", |it| Some(it.discards?.merged as f64))
    .shown(5, TEXT_ONLY),
    Device::new("in_flight", "in_flight", Unit::Count, |it| count(it.in_flight))
        .help("requests in flight at the time of the sample")
        .shown(9, TEXT_ONLY),
    Device::new("dirty_bytes", "dirty", Unit::Bytes, |it| count(it.dirty_bytes))
        .help("bytes written for it that are only in memory; root and debugfs, and while the machine has much")
        .shown(8, NOT_IN_TABLES),
    Device::new("writeback_bytes", "writeback", Unit::Bytes, |it| count(it.writeback_bytes))
        .help("bytes that are being written to it")
        .shown(8, NOT_IN_TABLES),
    Device::new("drain_ns", "drain", Unit::Nanoseconds, |it| it.time_to_flush.into())
        .help("time within which these are flushed, at the speed at which the device writes back"),
    Device::new("size_bytes", "size", Unit::Bytes, |it| count(it.size_bytes)).help("capacity"),
    Device::new("await_ns", "await", Unit::Nanoseconds, |it| {
        mean_await(it).into()
    })
    .help("mean time of reads and writes together; unknown when none completed")
    .also(&["latency_mean"])
    .derived(),
    Device::new("ios_per_s", "iops", Unit::PerSecond, |it| {
        sum(it.read_ios_per_s, it.write_ios_per_s).into()
    })
    .help("reads and writes completed")
    .derived(),
    Device::new("bytes_per_s", "MB/s", Unit::BytesPerSecond, |it| {
        sum(it.read_bytes_per_s, it.write_bytes_per_s).into()
    })
    .help("bytes read and written")
    .also(&["throughput"])
    .derived(),
];

fn bytes(counters: &RequestCounters) -> Option<f64> {
    Some(counters.sectors as f64 * SECTOR_BYTES)
}

fn time(counters: &RequestCounters) -> Option<f64> {
    Some(counters.time_ms as f64 / 1e3)
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
