//! Plans, forecasts and metrics that the benchmarks of seeks share.

use std::time::Duration;

use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::hdd::analysis::drive_timing::DriveTiming;
use crate::bench::hdd::analysis::rotational_delay::RotationalDelay;
use crate::bench::hdd::analysis::seek_prober::SeekProber;
use crate::bench::{
    AnyParameter, BenchError, Forecast, Parameter, ParameterSet, RunContext, framework,
};
use crate::drive::Target;
use crate::engine::{AccessPattern, Plan};
use crate::session::document::{Series, SeriesKind};

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
pub(super) fn planned_phases(target: &Target, parameters: &ParameterSet) -> PlannedPhases {
    let mut plan = single_read_plan(target, parameters);
    if target.is_rotational() == Some(false) {
        plan.limits.requests =
            Some(crate::bench::hdd::analysis::rotation_estimate::READS_PER_ROUND);
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
