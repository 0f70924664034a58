//! Commands that do something again and again: when, and until a signal comes.

use std::thread;
use std::time::{Duration, Instant};

use clap::ArgMatches;

use super::{Failure, duration};
use crate::engine::Control;

/// How long a signal may go unnoticed by who waits for something else too.
pub(super) const ATTENTION: Duration = Duration::from_millis(50);

/// Shorter intervals say nothing: the kernel's own counters are in milliseconds.
const SHORTEST: Duration = Duration::from_millis(100);

/// The option `--interval`, which has a default, and is at least [`SHORTEST`].
pub(super) fn interval(matches: &ArgMatches) -> Result<Duration, Failure> {
    match duration(matches, "interval")? {
        Some(interval) if interval >= SHORTEST => Ok(interval),
        _ => Err(Failure::usage("--interval: the shortest interval is 100ms")),
    }
}

/// Waits; false when a signal came meanwhile. For the thread that the signals wake.
pub(super) fn wait_until(due: Instant, control: &Control) -> bool {
    while !control.is_cancelled() {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::park_timeout(left);
    }
    false
}
