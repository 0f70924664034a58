//! Counters and limits of block I/O of a control group, by device (kernel
//! Documentation/admin-guide/cgroup-v2.rst, `io.stat` and `io.max`; of cgroup-v1/blkio-controller.rst only
//! the counters of the throttling policy and its limits).

use std::path::Path;

use crate::drive::mountinfo::Hierarchy;
use crate::probe::text::{
    nonempty_lines, parse_device_number, parse_number, read_file, split_fields,
};

/// I/O of a group on one device since the group was created: that of the groups below it included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceIo {
    /// Number of the device, never that of a partition.
    pub device: (u32, u32),
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Reads.
    pub read_ios: u64,
    /// Writes.
    pub write_ios: u64,
}

/// I/O limits of a process on a device; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoLimit {
    /// Number of the device, never that of a partition.
    pub device: (u32, u32),
    /// Bytes read per second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<u64>,
    /// Reads per second.
    pub read_ios_per_s: Option<u64>,
    /// Writes per second.
    pub write_ios_per_s: Option<u64>,
}

impl IoLimit {
    /// From the limits on bytes read and written, reads and writes.
    fn new(device: (u32, u32), limits: [Option<u64>; 4]) -> Self {
        Self {
            device,
            read_bytes_per_s: limits[0],
            write_bytes_per_s: limits[1],
            read_ios_per_s: limits[2],
            write_ios_per_s: limits[3],
        }
    }
}

/// The counters of the group in a directory; `None` where the kernel does not count for it: the
/// controller is not enabled for the group.
pub(super) fn read_counters(directory: &Path, hierarchy: Hierarchy) -> Option<Vec<DeviceIo>> {
    match hierarchy {
        Hierarchy::V2 => Some(parse_io_stat(&read_file(&directory.join("io.stat"))?)),
        Hierarchy::V1(_) => {
            let read = |name: &str| read_file(&directory.join(name));
            let bytes = read("blkio.throttle.io_service_bytes_recursive")?;
            let requests = read("blkio.throttle.io_serviced_recursive").unwrap_or_default();
            Some(parse_throttle_counters(&bytes, &requests))
        }
    }
}

/// The limits of the group in a directory, without those of its ancestors.
pub(super) fn read_limits(directory: &Path, hierarchy: Hierarchy) -> Vec<IoLimit> {
    let read = |name: &str| read_file(&directory.join(name)).unwrap_or_default();
    if hierarchy == Hierarchy::V2 {
        return parse_io_max(&read("io.max"));
    }
    type Field = fn(&mut IoLimit) -> &mut Option<u64>;
    let files: [(&str, Field); 4] = [
        ("read_bps_device", |it| &mut it.read_bytes_per_s),
        ("write_bps_device", |it| &mut it.write_bytes_per_s),
        ("read_iops_device", |it| &mut it.read_ios_per_s),
        ("write_iops_device", |it| &mut it.write_ios_per_s),
    ];
    let mut limits = Vec::new();
    for (name, field) in files {
        for (device, value) in device_lines(&read(&format!("blkio.throttle.{name}"))) {
            let mut limit = IoLimit::new(device, [None; 4]);
            *field(&mut limit) = parse_number(value);
            add_limit(&mut limits, &limit);
        }
    }
    limits
}

/// Adds a limit: of two on one device the stricter values hold.
pub(super) fn add_limit(limits: &mut Vec<IoLimit>, limit: &IoLimit) {
    let Some(known) = limits.iter_mut().find(|it| it.device == limit.device) else {
        limits.push(*limit);
        return;
    };
    let least = |own: Option<u64>, other: Option<u64>| own.into_iter().chain(other).min();
    known.read_bytes_per_s = least(known.read_bytes_per_s, limit.read_bytes_per_s);
    known.write_bytes_per_s = least(known.write_bytes_per_s, limit.write_bytes_per_s);
    known.read_ios_per_s = least(known.read_ios_per_s, limit.read_ios_per_s);
    known.write_ios_per_s = least(known.write_ios_per_s, limit.write_ios_per_s);
}

/// `io.stat`: `8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0`.
#[must_use]
pub fn parse_io_stat(text: &[u8]) -> Vec<DeviceIo> {
    let line = |(device, values): ((u32, u32), &[u8])| {
        let counters = keyed_numbers(values, ["rbytes", "wbytes", "rios", "wios"]);
        // A device that the group has not used yet may stand there alone.
        let is_damaged = !values.is_empty() && counters.contains(&None);
        let counters = counters.map(Option::unwrap_or_default);
        let io = DeviceIo {
            device,
            read_bytes: counters[0],
            written_bytes: counters[1],
            read_ios: counters[2],
            write_ios: counters[3],
        };
        (!is_damaged).then_some(io)
    };
    device_lines(text).filter_map(line).collect()
}

/// `io.max`: `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
#[must_use]
pub fn parse_io_max(text: &[u8]) -> Vec<IoLimit> {
    let names = ["rbps", "wbps", "riops", "wiops"];
    device_lines(text)
        .map(|(device, values)| IoLimit::new(device, keyed_numbers(values, names)))
        .collect()
}

/// Counters of the throttling policy of version 1: `8:16 Read 1459200`, a line per direction.
#[must_use]
pub fn parse_throttle_counters(bytes: &[u8], requests: &[u8]) -> Vec<DeviceIo> {
    let values = |text: &[u8], device, direction: &[u8]| {
        let line = |(of, values): ((u32, u32), &[u8])| {
            let value = values.strip_prefix(direction).filter(|_| of == device)?;
            parse_number(value.trim_ascii())
        };
        device_lines(text).find_map(line).unwrap_or(0)
    };
    let mut devices: Vec<(u32, u32)> = device_lines(bytes).map(|(device, _)| device).collect();
    devices.dedup();
    let counters = |device| DeviceIo {
        device,
        read_bytes: values(bytes, device, b"Read "),
        written_bytes: values(bytes, device, b"Write "),
        read_ios: values(requests, device, b"Read "),
        write_ios: values(requests, device, b"Write "),
    };
    devices.into_iter().map(counters).collect()
}

/// The lines of a file that begin with a device number, and what follows it in each.
fn device_lines(text: &[u8]) -> impl Iterator<Item = ((u32, u32), &[u8])> {
    nonempty_lines(text).filter_map(|line| {
        let mut parts = line.splitn(2, |byte| *byte == b' ');
        let device = parse_device_number(parts.next()?)?;
        Some((device, parts.next().unwrap_or_default().trim_ascii()))
    })
}

/// The numbers of the words `KEY=VALUE` of a line; `None` where the value is `max`.
fn keyed_numbers(line: &[u8], keys: [&str; 4]) -> [Option<u64>; 4] {
    keys.map(|key| {
        let value = split_fields(line).find_map(|word| word.strip_prefix(key.as_bytes()));
        parse_number(value?.strip_prefix(b"=")?)
    })
}
