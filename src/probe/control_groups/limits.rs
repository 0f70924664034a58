//! I/O limits of control groups (kernel Documentation/admin-guide/cgroup-v2.rst, `io.max`;
//! cgroup-v1/blkio-controller.rst, throttling).

use std::path::Path;

use crate::mountinfo::Hierarchy;
use crate::probe::text::{nonempty_lines, parse_number, read_file, split_fields};

/// One of the four limits.
type LimitField = fn(&mut IoLimit) -> &mut Option<u64>;

/// The limits of cgroup v1, each in its own file.
const V1_FILES: [(&str, LimitField); 4] = [
    ("blkio.throttle.read_bps_device", |limit| {
        &mut limit.read_bytes_per_s
    }),
    ("blkio.throttle.write_bps_device", |limit| {
        &mut limit.write_bytes_per_s
    }),
    ("blkio.throttle.read_iops_device", |limit| {
        &mut limit.read_ios_per_s
    }),
    ("blkio.throttle.write_iops_device", |limit| {
        &mut limit.write_ios_per_s
    }),
];

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
    fn unlimited(device: (u32, u32)) -> Self {
        Self {
            device,
            ..Self::default()
        }
    }

    /// Keeps the stricter of both limits.
    fn apply_stricter(&mut self, other: &Self) {
        let least = |own: &mut Option<u64>, other: Option<u64>| {
            *own = own.iter().copied().chain(other).min();
        };
        least(&mut self.read_bytes_per_s, other.read_bytes_per_s);
        least(&mut self.write_bytes_per_s, other.write_bytes_per_s);
        least(&mut self.read_ios_per_s, other.read_ios_per_s);
        least(&mut self.write_ios_per_s, other.write_ios_per_s);
    }
}

/// The limits of the group in a directory, without those of its ancestors.
pub(super) fn limits_of_group(directory: &Path, hierarchy: Hierarchy) -> Vec<IoLimit> {
    let read = |name: &str| read_file(&directory.join(name)).unwrap_or_default();
    match hierarchy {
        Hierarchy::V2 => parse_io_max(&read("io.max")),
        Hierarchy::V1(_) => {
            let mut limits = Vec::new();
            for (name, field) in V1_FILES {
                for limit in parse_throttle_file(&read(name), field) {
                    add_limit(&mut limits, &limit);
                }
            }
            limits
        }
    }
}

pub(super) fn add_limit(limits: &mut Vec<IoLimit>, limit: &IoLimit) {
    match limits.iter_mut().find(|it| it.device == limit.device) {
        Some(known) => known.apply_stricter(limit),
        None => limits.push(*limit),
    }
}

/// `io.max`: `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
#[must_use]
pub fn parse_io_max(text: &[u8]) -> Vec<IoLimit> {
    let line = |line: &[u8]| {
        let mut words = split_fields(line);
        let mut limit = IoLimit::unlimited(parse_device(words.next()?)?);
        for word in words {
            let at = word.iter().position(|byte| *byte == b'=')?;
            let value = parse_number(&word[at + 1..]);
            match &word[..at] {
                b"rbps" => limit.read_bytes_per_s = value,
                b"wbps" => limit.write_bytes_per_s = value,
                b"riops" => limit.read_ios_per_s = value,
                b"wiops" => limit.write_ios_per_s = value,
                _ => {}
            }
        }
        Some(limit)
    };
    nonempty_lines(text).filter_map(line).collect()
}

/// A file of cgroup v1: `8:16 2097152`.
fn parse_throttle_file(text: &[u8], field: LimitField) -> Vec<IoLimit> {
    let line = |line: &[u8]| {
        let mut words = split_fields(line);
        let mut limit = IoLimit::unlimited(parse_device(words.next()?)?);
        *field(&mut limit) = Some(parse_number(words.next()?)?);
        Some(limit)
    };
    nonempty_lines(text).filter_map(line).collect()
}

/// A device number, `8:16`.
pub(super) fn parse_device(word: &[u8]) -> Option<(u32, u32)> {
    let colon = word.iter().position(|byte| *byte == b':')?;
    let part = |digits: &[u8]| u32::try_from(parse_number(digits)?).ok();
    Some((part(&word[..colon])?, part(&word[colon + 1..])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_io_limits_are_skipped() {
        assert!(parse_io_max(b"8:0\nnonsense rbps=1\n8:x rbps=1\n").len() == 1);
        assert!(
            parse_throttle_file(b"8:0 max\n8:0\n", |limit| &mut limit.read_bytes_per_s).is_empty()
        );
    }
}
