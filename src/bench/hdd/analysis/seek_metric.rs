//! Metrics of seek times.

use crate::bench::hdd::analysis::drive_timing::{DriveTiming, SECTOR_BYTES};
use crate::bench::hdd::analysis::rotational_delay::RotationalDelay;
use crate::session::document::{Metric, MetricId};

/// A seek time as a metric: the edge of the latencies, minus the command overhead and the
/// `passing` time of the block (in seconds). The spread of the command overhead widens the
/// confidence interval, as does the wake-up latency, which is as uncertain as it is long. An
/// unknown command overhead remains in the metric; the lower bound then excludes it.
#[must_use]
pub fn seek_metric(
    id: MetricId,
    part: &RotationalDelay,
    clockwork: &DriveTiming,
    passing: f64,
) -> Metric {
    let electronics = clockwork.fixed_overhead(part.lower_edge.lower);
    let net = |seconds: f64| 1e9 * (seconds - electronics - passing);
    let spread = clockwork.fixed_overhead_error(part.lower_edge.lower);
    let unknown = if clockwork.command_overhead.is_known {
        0.0
    } else {
        MAX_COMMAND_SECONDS
    };
    let wire = SECTOR_BYTES / MIN_INTERFACE_RATE;
    let (low, high) = part.lower_edge.lower_interval;
    Metric::new(id, net(part.lower_edge.lower))
        .with_interval(net(low - spread - unknown), net(high + spread + wire))
        .with_observations(part.lower_edge.observations_inside as u64)
}

/// Maximum command overhead of a drive in seconds.
pub(super) const MAX_COMMAND_SECONDS: f64 = 0.4e-3;

/// Bytes per second of the slowest interface: a block from the cache takes that long to transfer,
/// while a block from the medium is transferred as it is read.
pub(super) const MIN_INTERFACE_RATE: f64 = 300e6;
