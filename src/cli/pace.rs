//! Commands that do something again and again: when, and until a signal comes.

use std::thread;
use std::time::{Duration, Instant};

use clap::ArgMatches;

use super::{Failure, duration};
use crate::engine::Control;

/// How long a signal may go unnoticed.
pub(super) const ATTENTION: Duration = Duration::from_millis(50);

/// The option `--interval`, which has a default and must not be shorter than this.
pub(super) fn interval(matches: &ArgMatches, shortest: Duration) -> Result<Duration, Failure> {
    match duration(matches, "interval")? {
        Some(interval) if interval >= shortest => Ok(interval),
        _ => Err(Failure::usage(format!(
            "--interval: the shortest interval is {}",
            crate::units::exact_duration(shortest)
        ))),
    }
}

/// Waits; false when a signal came meanwhile.
pub(super) fn wait_until(due: Instant, control: &Control) -> bool {
    while !control.is_cancelled() {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(ATTENTION));
    }
    false
}
