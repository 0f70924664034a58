//! Shared by the hard disk benchmarks: single reads with exact times, revolution, command overhead,
//! track layout, and the edges of response times.

pub mod command_overhead;
pub mod constant_zone;
pub mod cylinder;
pub mod drive_timing;
pub mod findings;
pub mod layout;
pub mod rotation_estimate;
pub mod rotational_delay;
pub mod sector_scan;
pub mod seek_position_map;
pub mod seek_prober;
pub mod seek_walk;
pub mod track_to_track_estimate;
pub mod zones;

use std::time::Duration;

use crate::bench::framework;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::{AnyParameter, BenchError, Forecast, Parameter, ParameterSet, RunContext};
use crate::drive::Target;
use crate::engine::{AccessPattern, Plan};
use crate::session::document::check::{CheckEvidence, ProbeShortage, ProbedQuantity};
use crate::session::document::{Metric, MetricId, Series, SeriesKind};

pub use self::command_overhead::CommandOverhead;
pub use self::drive_timing::{DriveTiming, SECTOR_BYTES};
pub use self::rotation_estimate::{RevolutionEstimate, RotationState};
pub use self::rotational_delay::RotationalDelay;
pub use self::seek_prober::{SeekProber, TimedRead};

/// Parameters of a benchmark that reads single blocks, with its own default duration.
#[must_use]
pub const fn probing_parameters(
    duration: &'static Parameter<Option<Duration>>,
) -> [&'static dyn AnyParameter; 7] {
    [
        duration,
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::CACHE,
    ]
}

/// Single reads until the limits; on a non-rotational medium only those that detect it.
fn planned_phases(target: &Target, parameters: &ParameterSet) -> PlannedPhases {
    let mut plan = single_read_plan(target, parameters);
    if target.is_rotational() == Some(false) {
        plan.limits.requests = Some(self::rotation_estimate::READS_PER_ROUND);
    }
    PlannedPhases::first_come(framework::plan_limits(parameters)).add_phase(plan)
}

/// Reads of one block at random offsets, without limits.
#[must_use]
pub fn single_read_plan(target: &Target, parameters: &ParameterSet) -> Plan {
    let window = framework::plan_window(target, parameters);
    Plan::single_depth_reads(
        AccessPattern::Random,
        target.logical_block_bytes.max(512),
        window,
    )
}

/// Forecast of a benchmark that reads single blocks.
#[must_use]
pub fn forecast(target: &Target, parameters: &ParameterSet, what: &str) -> Forecast {
    let limits = framework::plan_limits(parameters);
    Forecast {
        sentence: format!(
            "reads single blocks of {}, one at a time, {what}",
            framework::describe_target(target)
        ),
        run_time: planned_phases(target, parameters).run_time(target),
        max_read_bytes: limits.bytes,
        max_written_bytes: None,
    }
}

/// A prober and the drive timing that every seek benchmark needs; `None`, with a check that
/// explains why, if nothing rotates. `share` is the fraction of the whole benchmark that this
/// represents.
///
/// # Errors
/// When the window does not hold one block, or the reads could not be started.
pub fn start_seek_probing<'b, 'a>(
    bench: &'b mut RunContext<'a>,
    share: f64,
) -> Result<Option<(SeekProber<'b, 'a>, DriveTiming)>, BenchError> {
    let mut prober = SeekProber::new(bench)?;
    let Some(clockwork) = DriveTiming::measure(&mut prober, share)? else {
        return Ok(None);
    };
    prober.context.phase_finished();
    Ok(Some((prober, clockwork)))
}

/// Histogram of the rotational delay over the revolution, with a bar per twentieth. The bars of a
/// platter are about equally high.
#[must_use]
pub fn rotational_distribution(part: &RotationalDelay) -> Series {
    const BAR_COUNT: usize = 20;
    let mut counts = [0_u32; BAR_COUNT];
    for share in &part.rotational_positions {
        counts[((share * BAR_COUNT as f64) as usize).min(BAR_COUNT - 1)] += 1;
    }
    let bar = |(index, count): (usize, &u32)| {
        [(index as f64 + 0.5) / BAR_COUNT as f64, f64::from(*count)]
    };
    Series::new(
        SeriesKind::RotationalPart,
        counts.iter().enumerate().map(bar).collect(),
    )
}

/// Maximum command overhead of a drive in seconds.
const MAX_COMMAND_SECONDS: f64 = 0.4e-3;
/// Bytes per second of the slowest interface: a block from the cache takes that long to transfer,
/// while a block from the medium is transferred as it is read.
const MIN_INTERFACE_RATE: f64 = 300e6;

/// A seek time as a metric: the edge of the response times, minus the command overhead and the
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

/// The check for a limit or a stop before the metric was certain.
#[must_use]
pub fn too_few_observations(
    quantity: ProbedQuantity,
    found: usize,
    needed: usize,
) -> CheckEvidence {
    CheckEvidence::TooFewProbes(ProbeShortage::FewReads {
        quantity,
        found,
        needed,
    })
}

/// The check for angles without detectable tracks: because of a limit, or for no known reason.
#[must_use]
pub fn tracks_undetermined(over: bool) -> CheckEvidence {
    match over {
        true => CheckEvidence::TooFewProbes(ProbeShortage::NoTrackLength),
        false => CheckEvidence::TracksUndetermined,
    }
}
