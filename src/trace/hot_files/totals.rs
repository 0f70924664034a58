//! Sums of one file.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::view::Access;
use crate::stats::latency::histogram::MIN_OBSERVATIONS_BEYOND;
use crate::trace::requests::{RequestOperation, TracedRequest};

/// Limit on processes per file.
const MAX_USERS: usize = 64;
/// Latencies are counted by their upper bits: within 0.8 %.
const COUNTED_BITS: u32 = 7;

/// Latencies in nanoseconds, in memory that grows with their variety: most files have few requests, some have
/// millions.
#[derive(Debug, Clone, Default)]
pub(super) struct Latencies {
    /// By the number of lower bits that are dropped, and the upper ones.
    counts: BTreeMap<(u32, u64), u64>,
    count: u64,
}

impl Latencies {
    fn record(&mut self, nanoseconds: u64) {
        let bits = u64::BITS - nanoseconds.leading_zeros();
        let dropped = bits.saturating_sub(COUNTED_BITS);
        let key = (dropped, nanoseconds >> dropped);
        *self.counts.entry(key).or_default() += 1;
        self.count += 1;
    }

    /// The latency that this percentage does not exceed; `None` where fewer than
    /// [`MIN_OBSERVATIONS_BEYOND`] lie beyond.
    pub(super) fn percentile(&self, percent: f64) -> Option<u64> {
        let rank = (self.count as f64 * percent / 100.0).ceil() as u64;
        if self.count.saturating_sub(rank) < MIN_OBSERVATIONS_BEYOND {
            return None;
        }
        let mut passed = 0;
        let (dropped, upper) = self.counts.iter().find_map(|(key, count)| {
            passed += count;
            (passed >= rank).then_some(*key)
        })?;
        // The middle of those with the same upper bits.
        Some((upper << dropped) + (1 << dropped) / 2)
    }
}

/// What was done to one file.
#[derive(Debug, Clone, Default)]
pub(super) struct FileTotals {
    /// Bytes read from the device.
    pub(super) read_bytes: u64,
    /// Bytes written to the device.
    pub(super) written_bytes: u64,
    /// Requests that read the file.
    pub(super) read_ios: u64,
    /// Requests that wrote the file.
    pub(super) write_ios: u64,
    /// From queueing to completion.
    pub(super) latencies: Latencies,
    /// Bytes by process.
    pub(super) users: HashMap<u32, u64>,
    bytes_by_access: BTreeMap<Access, u64>,
    last_completion: u64,
}

impl FileTotals {
    /// Adds a part of a request; parts of one request have the same number of the completion.
    pub(super) fn record(
        &mut self,
        part: &TracedRequest,
        completion: u64,
        access: Access,
        user: u32,
    ) {
        let (bytes, ios) = if part.operation == RequestOperation::Read {
            (&mut self.read_bytes, &mut self.read_ios)
        } else {
            (&mut self.written_bytes, &mut self.write_ios)
        };
        *bytes += part.bytes;
        if self.last_completion != completion {
            self.last_completion = completion;
            *ios += 1;
            if let Some(latency) = part.timestamps.stages().q2c {
                self.latencies.record(latency);
            }
        }
        *self.bytes_by_access.entry(access).or_default() += part.bytes;
        if self.users.len() < MAX_USERS || self.users.contains_key(&user) {
            *self.users.entry(user).or_default() += part.bytes;
        }
    }

    /// Read and written bytes.
    pub(super) fn total_bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.written_bytes)
    }

    /// How most of its bytes were accessed.
    pub(super) fn main_access(&self) -> Option<Access> {
        let most = self.bytes_by_access.iter().max_by_key(|(_, bytes)| **bytes);
        most.map(|(access, _)| *access)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_percent_and_unknown_for_few() {
        let mut latencies = Latencies::default();
        for value in 1..=20 {
            latencies.record(value * 1_000_000);
        }
        assert_eq!(latencies.percentile(99.0), None);
        for value in 21..=10_000 {
            latencies.record(value * 1_000_000);
        }
        for (percent, expected) in [(50.0, 5e9), (99.0, 9.9e9)] {
            let found = latencies.percentile(percent).unwrap() as f64;
            assert!((found / expected - 1.0).abs() < 0.01, "{percent}: {found}");
        }
        assert!(latencies.counts.len() < 1000);
        latencies.record(u64::MAX);
        latencies.record(0);
    }
}
