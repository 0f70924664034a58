//! Counters of block I/O of a control group.

use std::path::Path;

use super::limits::parse_device;
use crate::mountinfo::Hierarchy;
use crate::probe::text::{nonempty_lines, parse_number, read_file, split_fields};

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

/// The counters of the group in a directory; `None` where the kernel does not count for it: the
/// controller is not enabled for the group.
pub(super) fn read_counters(directory: &Path, hierarchy: Hierarchy) -> Option<Vec<DeviceIo>> {
    let read = |name: &str| read_file(&directory.join(name));
    match hierarchy {
        Hierarchy::V2 => Some(parse_io_stat(&read("io.stat")?)),
        Hierarchy::V1(_) => {
            let bytes = read("blkio.throttle.io_service_bytes_recursive")?;
            let requests = read("blkio.throttle.io_serviced_recursive").unwrap_or_default();
            Some(parse_throttle_counters(&bytes, &requests))
        }
    }
}

/// `io.stat`: `8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0`.
#[must_use]
pub fn parse_io_stat(text: &[u8]) -> Vec<DeviceIo> {
    let line = |line: &[u8]| {
        let mut words = split_fields(line);
        let mut io = DeviceIo {
            device: parse_device(words.next()?)?,
            ..DeviceIo::default()
        };
        for word in words {
            let at = word.iter().position(|byte| *byte == b'=')?;
            let value = || parse_number(&word[at + 1..]);
            match &word[..at] {
                b"rbytes" => io.read_bytes = value()?,
                b"wbytes" => io.written_bytes = value()?,
                b"rios" => io.read_ios = value()?,
                b"wios" => io.write_ios = value()?,
                _ => {}
            }
        }
        Some(io)
    };
    nonempty_lines(text).filter_map(line).collect()
}

/// Files of the throttling policy of version 1: `8:16 Read 1459200`, one line per direction.
#[must_use]
pub fn parse_throttle_counters(bytes: &[u8], requests: &[u8]) -> Vec<DeviceIo> {
    let mut found: Vec<DeviceIo> = Vec::new();
    let mut add = |text: &[u8], fields: fn(&mut DeviceIo) -> (&mut u64, &mut u64)| {
        for line in nonempty_lines(text) {
            let mut words = split_fields(line);
            let Some(device) = words.next().and_then(parse_device) else {
                continue;
            };
            let (Some(direction), Some(value)) =
                (words.next(), words.next().and_then(parse_number))
            else {
                continue;
            };
            let at = match found.iter().position(|io| io.device == device) {
                Some(at) => at,
                None => {
                    found.push(DeviceIo {
                        device,
                        ..DeviceIo::default()
                    });
                    found.len() - 1
                }
            };
            let (read, write) = fields(&mut found[at]);
            match direction {
                b"Read" => *read = value,
                b"Write" => *write = value,
                _ => {}
            }
        }
    };
    add(bytes, |io| (&mut io.read_bytes, &mut io.written_bytes));
    add(requests, |io| (&mut io.read_ios, &mut io.write_ios));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_stat_is_parsed_by_device() {
        let text = b"8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=5 dios=1\n\
                     7:0 \n253:0 cost.usage=12\nnonsense rbytes=1\n8:0 rbytes=x\n";
        let expected = DeviceIo {
            device: (8, 16),
            read_bytes: 1_459_200,
            written_bytes: 314_773_504,
            read_ios: 192,
            write_ios: 353,
        };
        let parsed = parse_io_stat(text);
        assert_eq!(parsed[0], expected);
        let devices: Vec<(u32, u32)> = parsed.iter().map(|io| io.device).collect();
        assert_eq!(devices, [(8, 16), (7, 0), (253, 0)]);
    }

    #[test]
    fn throttle_counters_of_version_1_are_joined_by_device() {
        let bytes = b"254:0 Read 410\n254:0 Write 541\n254:0 Sync 9\n254:0 Total 951\nTotal 951\n";
        let requests = b"254:0 Read 4\n254:0 Write 5\nTotal 9\n7:1 Read\n";
        let expected = DeviceIo {
            device: (254, 0),
            read_bytes: 410,
            written_bytes: 541,
            read_ios: 4,
            write_ios: 5,
        };
        assert_eq!(parse_throttle_counters(bytes, requests), [expected]);
    }
}
