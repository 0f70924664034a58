//! What a command costs without any mechanics: measured on answers of the drive's cache.

use crate::bench::BenchError;
use crate::bench::mechanics::{Probe, Prober};
use crate::session::document::{Severity, Verdict};
use crate::stats::robust;

/// Places at which a block is read twice in a row.
const PLACES: usize = 24;

/// Time of a command that the cache answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Command {
    /// Its median in seconds; 0 where the drive answered nothing from a cache.
    pub time: f64,
    /// Spread (median absolute deviation) in seconds.
    pub spread: f64,
    /// Whether it was measured.
    pub known: bool,
    /// Whether the cache answers a block that was read just before.
    pub repeats: bool,
}

impl Command {
    /// Whether a response in seconds is one of the cache, and no mechanics had a part in it.
    #[must_use]
    pub fn is_cached(&self, response: f64) -> bool {
        self.known && response < 1.2 * self.time + 100e-6_f64.max(4.0 * self.spread).min(150e-6)
    }
}

/// Reads blocks twice in a row: the second time the drive's cache answers at once, which costs
/// just the command. A drive without a cache needs a whole revolution: then it stays unknown.
///
/// # Errors
/// When the reads could not be started.
pub fn measure(
    prober: &mut Prober<'_, '_>,
    share: f64,
    revolution: f64,
) -> Result<Command, BenchError> {
    let window = prober.window();
    let begin = prober.anywhere(&window);
    // Neighbouring places: the arm's way does not matter here.
    let near = begin..(begin + (64 << 20)).min(window.end);
    let addresses: Vec<u64> = (0..PLACES)
        .flat_map(|_| [prober.anywhere(&near); 2])
        .collect();
    let probes = prober.read("time of a command", share, &addresses)?;
    let again: Vec<f64> = repeats(&probes).map(Probe::response).collect();
    Ok(of(&again, revolution))
}

/// The reads of the block that had been read just before.
pub fn repeats(probes: &[Probe]) -> impl Iterator<Item = &Probe> {
    probes
        .windows(2)
        .filter(|two| two[0].address == two[1].address)
        .map(|two| &two[1])
}

/// The time of a command from response times of repeated reads, all in seconds.
#[must_use]
pub fn of(again: &[f64], revolution: f64) -> Command {
    let quick: Vec<f64> = again
        .iter()
        .copied()
        .filter(|time| *time < 0.5 * revolution)
        .collect();
    let known = quick.len() >= 4 && 2 * quick.len() > again.len();
    match (known, robust::median(quick.iter().copied())) {
        (true, Some(time)) => Command {
            time,
            spread: robust::median_absolute_deviation(&quick).unwrap_or(0.0),
            known,
            repeats: true,
        },
        _ => Command {
            time: 0.0,
            spread: 0.0,
            known: false,
            repeats: false,
        },
    }
}

/// The time of a command of a drive that does not keep what it read last: from answers that came too
/// soon for any platter. They must agree with each other.
#[must_use]
pub fn of_quick(quick: &[f64]) -> Command {
    const AGREEING: f64 = 0.2;
    const SURELY_QUICK: f64 = f64::INFINITY;
    let found = of(quick, SURELY_QUICK);
    Command {
        known: found.known && found.spread < AGREEING * found.time,
        repeats: false,
        ..found
    }
}

/// Says that the figures still hold the time of a command.
#[must_use]
pub fn unknown() -> Verdict {
    Verdict::new(
        "command-time-unknown",
        Severity::Warning,
        "a block that was read twice in a row took a whole revolution the second time: no cache \
         answered, and the time of a command alone could not be measured",
        "seek times include it: usually 0.1 to 0.3 ms",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twice(second: f64) -> Vec<f64> {
        let probes: Vec<Probe> = (0..10_u64)
            .flat_map(|index| {
                let begin = index as f64;
                let read = |start: f64, response: f64| Probe {
                    address: index << 20,
                    start,
                    end: start + response,
                };
                [read(begin, 7e-3), read(begin + 0.1, second)]
            })
            .collect();
        repeats(&probes).map(Probe::response).collect()
    }

    #[test]
    fn cache_answers_are_the_command() {
        let command = of(&twice(0.2e-3), 8e-3);
        assert!(command.known && (command.time - 0.2e-3).abs() < 1e-9);
        assert!(command.is_cached(0.25e-3) && !command.is_cached(0.5e-3));
    }

    #[test]
    fn a_whole_revolution_is_no_cache() {
        assert!(!of(&twice(8e-3), 8e-3).known);
        assert!(!of(&[], 8e-3).known);
    }
}
