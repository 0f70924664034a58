//! Commands that do something again and again: when, and until a signal comes.

use std::thread;
use std::time::{Duration, Instant};

use clap::ArgMatches;

use super::{CommandFailure, duration_option};
use crate::engine::CancellationToken;

/// How long a signal may go unnoticed by who waits for something else too.
pub(super) const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Shorter intervals say nothing: the kernel's own counters are in milliseconds.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// The option `--interval`, which has a default, and is at least [`SHORTEST`].
pub(super) fn interval_option(matches: &ArgMatches) -> Result<Duration, CommandFailure> {
    match duration_option(matches, "interval")? {
        Some(interval) if interval >= MIN_INTERVAL => Ok(interval),
        _ => Err(CommandFailure::usage_error(
            "--interval: the shortest interval is 100ms",
        )),
    }
}

/// Waits; false when a signal came meanwhile. For the thread that the signals wake.
pub(super) fn wait_until_due(due: Instant, control: &CancellationToken) -> bool {
    while !control.is_cancelled() {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::park_timeout(left);
    }
    false
}
