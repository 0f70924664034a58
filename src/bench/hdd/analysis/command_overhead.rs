//! Command overhead without mechanical delays, measured on cache hits in the drive.

use crate::bench::BenchError;
use crate::bench::hdd::analysis::seek_prober::{SeekProber, TimedRead};
use crate::stats::general::robust;

/// Number of offsets at which a block is read twice in a row.
const SAMPLED_ADDRESSES: usize = 24;

/// Time of a command that the drive's cache answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommandOverhead {
    /// Median in seconds; 0 if the drive has answered nothing from a cache.
    pub median_seconds: f64,
    /// Spread (median absolute deviation) in seconds.
    pub spread: f64,
    /// Whether it was measured.
    pub is_known: bool,
    /// Whether the cache answers reads of the most recently read block.
    pub caches_last_read: bool,
}

impl CommandOverhead {
    /// Whether a latency in seconds is that of a cache hit, without mechanical delay.
    #[must_use]
    pub fn is_cached(&self, response: f64) -> bool {
        self.is_known
            && response < 1.2 * self.median_seconds + 100e-6_f64.max(4.0 * self.spread).min(150e-6)
    }
}

/// Reads blocks twice in a row. The drive's cache answers the second read immediately, which takes
/// the command overhead only. Without a cache the second read takes a whole revolution, and the
/// overhead remains unknown.
///
/// # Errors
/// When the reads could not be started.
pub fn measure_command_overhead(
    prober: &mut SeekProber<'_, '_>,
    share: f64,
    revolution: f64,
) -> Result<CommandOverhead, BenchError> {
    let window = prober.window();
    let begin = prober.random_address(&window);
    // Nearby offsets: seek time is irrelevant here.
    let near = begin..(begin + (64 << 20)).min(window.end);
    let addresses: Vec<u64> = (0..SAMPLED_ADDRESSES)
        .flat_map(|_| [prober.random_address(&near); 2])
        .collect();
    let probes = prober.read_addresses("command overhead", share, &addresses)?;
    let again: Vec<f64> = repeated_reads(&probes).map(TimedRead::response).collect();
    Ok(overhead_of_repeats(&again, revolution))
}

/// The second read of each repeated pair.
pub fn repeated_reads(probes: &[TimedRead]) -> impl Iterator<Item = &TimedRead> {
    probes
        .windows(2)
        .filter(|two| two[0].address == two[1].address)
        .map(|two| &two[1])
}

/// Command overhead from latencies of repeated reads, all in seconds.
#[must_use]
pub fn overhead_of_repeats(again: &[f64], revolution: f64) -> CommandOverhead {
    let fast: Vec<f64> = again
        .iter()
        .copied()
        .filter(|time| *time < 0.5 * revolution)
        .collect();
    let known = fast.len() >= 4 && 2 * fast.len() > again.len();
    match (known, robust::median(fast.iter().copied())) {
        (true, Some(time)) => CommandOverhead {
            median_seconds: time,
            spread: robust::median_absolute_deviation(&fast).unwrap_or(0.0),
            is_known: known,
            caches_last_read: true,
        },
        _ => CommandOverhead {
            median_seconds: 0.0,
            spread: 0.0,
            is_known: false,
            caches_last_read: false,
        },
    }
}

/// Command overhead of a drive that does not cache the last read: from responses that are too fast
/// for any platter. They must agree with each other.
#[must_use]
pub fn overhead_of_fast_reads(fast: &[f64]) -> CommandOverhead {
    const MAX_RELATIVE_SPREAD: f64 = 0.2;
    const NO_REVOLUTION: f64 = f64::INFINITY;
    let found = overhead_of_repeats(fast, NO_REVOLUTION);
    CommandOverhead {
        is_known: found.is_known && found.spread < MAX_RELATIVE_SPREAD * found.median_seconds,
        caches_last_read: false,
        ..found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated_responses(second: f64) -> Vec<f64> {
        let probes: Vec<TimedRead> = (0..10_u64)
            .flat_map(|index| {
                let begin = index as f64;
                let read = |start: f64, response: f64| TimedRead {
                    address: index << 20,
                    start,
                    end: start + response,
                };
                [read(begin, 7e-3), read(begin + 0.1, second)]
            })
            .collect();
        repeated_reads(&probes).map(TimedRead::response).collect()
    }

    #[test]
    fn command_overhead_is_found_from_cached_reads() {
        let command = overhead_of_repeats(&repeated_responses(0.2e-3), 8e-3);
        assert!(command.is_known && (command.median_seconds - 0.2e-3).abs() < 1e-9);
        assert!(command.is_cached(0.25e-3) && !command.is_cached(0.5e-3));
    }

    #[test]
    fn command_overhead_ignores_reads_that_take_a_revolution() {
        assert!(!overhead_of_repeats(&repeated_responses(8e-3), 8e-3).is_known);
        assert!(!overhead_of_repeats(&[], 8e-3).is_known);
    }
}
