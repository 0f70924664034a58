//! Builds plans from parameters.

use std::ops::Range;
use std::time::Duration;

use super::error::BenchError;
use super::options::{
    ALIGN, BLOCK_SIZES, BYTES, CACHE, CONTINUE_ON_ERROR, DATA, DEPTH, DURATION, MAX_REQUEST_BYTES,
    OffsetDistribution, PATTERN, RAMP, RATE, REQUESTS, SEED, SYNC, WAIT, WINDOW_BEGIN, WINDOW_END,
    WORKERS, ZIPF,
};
use super::parameter::{ParameterSet, WindowPosition};
use crate::drive::Target;
use crate::engine::{AccessPattern, BlockSize, CacheMode, IoOperation, Plan, PlanLimits};
use crate::units;

/// Request size of benchmarks without that parameter, which replace it in their plans.
const DEFAULT_REQUEST_BYTES: u32 = 4096;

/// Page cache mode.
#[must_use]
pub fn cache_mode(parameters: &ParameterSet) -> CacheMode {
    parameters.find(CACHE).unwrap_or_default()
}

/// Requests per second that arrive whatever the drive does, if the benchmark has such a rate.
#[must_use]
pub fn arrival_rate(parameters: &ParameterSet) -> Option<f64> {
    parameters.find_set(RATE)
}

/// Limits from the parameters.
#[must_use]
pub fn plan_limits(parameters: &ParameterSet) -> PlanLimits {
    PlanLimits {
        duration: parameters.find_set(DURATION),
        bytes: parameters.find_set(BYTES),
        requests: parameters.find_set(REQUESTS),
    }
}

/// Upper limit of the bytes written where only a time is to limit a write: more than a drive of this kind
/// accepts in it.
#[must_use]
pub fn timed_write_limit(target: &Target, time: Duration) -> u64 {
    let per_second: u64 = match target.is_rotational() {
        Some(true) => 1 << 30,
        _ => 16 << 30,
    };
    (time.as_secs_f64() * per_second as f64) as u64
}

/// Address window from the parameters.
#[must_use]
pub fn plan_window(target: &Target, parameters: &ParameterSet) -> Range<u64> {
    let [begin, end] = [WINDOW_BEGIN, WINDOW_END]
        .map(|position| parameters.get(position).offset_in(target.size_bytes));
    begin..end
}

/// A read plan from those common parameters that the benchmark accepts.
///
/// # Errors
/// When a size does not fit 32 bits, or the window does not hold one block.
pub fn build_read_plan(
    target: &Target,
    parameters: &ParameterSet,
    pattern: AccessPattern,
) -> Result<Plan, BenchError> {
    build_plan(target, parameters, IoOperation::Read, pattern)
}

/// A plan from those common parameters that the benchmark accepts.
///
/// # Errors
/// When a size does not fit 32 bits, or the window does not hold one block.
pub fn build_plan(
    target: &Target,
    parameters: &ParameterSet,
    operation: IoOperation,
    pattern: AccessPattern,
) -> Result<Plan, BenchError> {
    check_positions(target, parameters)?;
    let block_size = request_size(parameters)?;
    let smallest = block_size.min_bytes();
    let mut plan = Plan::single_depth_reads(pattern, smallest, plan_window(target, parameters));
    plan.operation = operation;
    plan.block_size = block_size;
    plan.alignment = parameters.find_set(ALIGN).unwrap_or(u64::from(smallest));
    plan.depth = parameters.find(DEPTH).unwrap_or(1);
    plan.workers = parameters.find(WORKERS).unwrap_or(1);
    plan.limits = plan_limits(parameters);
    plan.ramp_time = parameters.find(RAMP).unwrap_or_default();
    plan.seed = parameters.find(SEED).unwrap_or(plan.seed);
    plan.arrival_rate = parameters.find_set(RATE);
    plan.cache_mode = cache_mode(parameters);
    plan.sync_mode = parameters.find(SYNC).unwrap_or_default();
    plan.data_kind = parameters.find(DATA).unwrap_or_default();
    plan.wait_mode = parameters.find(WAIT).unwrap_or_default();
    plan.continue_on_error = parameters.find(CONTINUE_ON_ERROR).unwrap_or_default();
    check_window(&plan)?;
    Ok(plan)
}

/// Checks that the window lies within the target and is not empty.
fn check_positions(target: &Target, parameters: &ParameterSet) -> Result<(), BenchError> {
    for position in [WINDOW_BEGIN, WINDOW_END] {
        if let WindowPosition::Bytes(bytes) = parameters.get(position)
            && bytes > target.size_bytes
        {
            return Err(BenchError::InvalidParameters(format!(
                "--{} {} is beyond the end of {}, which has {} bytes",
                position.name,
                units::format_exact_size(bytes),
                target.name,
                target.size_bytes
            )));
        }
    }
    let window = plan_window(target, parameters);
    if window.start > window.end {
        return Err(BenchError::InvalidParameters(format!(
            "--{} (byte {}) is greater than --{} (byte {}): swap them",
            WINDOW_BEGIN.name, window.start, WINDOW_END.name, window.end
        )));
    }
    Ok(())
}

/// Address pattern from `--pattern` and `--zipf`.
#[must_use]
pub fn random_pattern(parameters: &ParameterSet) -> AccessPattern {
    match parameters.get(PATTERN) {
        OffsetDistribution::Uniform => AccessPattern::Random,
        OffsetDistribution::Zipf => AccessPattern::Zipf {
            theta: parameters.get(ZIPF),
        },
    }
}

/// Converts bytes to a request length.
///
/// # Errors
/// When it exceeds 1 GiB.
pub fn request_bytes(bytes: u64) -> Result<u32, BenchError> {
    u32::try_from(bytes)
        .ok()
        .filter(|_| bytes <= MAX_REQUEST_BYTES)
        .ok_or_else(|| {
            let most = units::format_exact_size(MAX_REQUEST_BYTES);
            BenchError::InvalidParameters(format!(
                "--block-size {bytes}: the largest request is {most}"
            ))
        })
}

fn request_size(parameters: &ParameterSet) -> Result<BlockSize, BenchError> {
    let Some(range) = parameters.find(BLOCK_SIZES) else {
        return Ok(BlockSize::Fixed(DEFAULT_REQUEST_BYTES));
    };
    let (from, to) = (request_bytes(range.min)?, request_bytes(range.max)?);
    Ok(if from == to {
        BlockSize::Fixed(from)
    } else {
        BlockSize::Range(from, to)
    })
}

/// Checks that a plan's window holds at least one block.
pub(crate) fn check_window(plan: &Plan) -> Result<(), BenchError> {
    let block = u64::from(plan.block_size.max_bytes());
    if plan.window.end.saturating_sub(plan.window.start) < block {
        return Err(BenchError::InvalidParameters(format!(
            "the window from byte {} to byte {} is smaller than one block of {block} bytes: widen it \
             with --{} and --{}, or choose a smaller --block-size",
            plan.window.start, plan.window.end, WINDOW_BEGIN.name, WINDOW_END.name
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake;

    #[test]
    fn window_outside_of_the_target_or_reversed_is_refused() {
        let target = fake::simulated_target(64 << 20);
        let test = find_benchmark("random-read").unwrap();
        for (set, hint) in [
            (&[("window-end", "100GB")][..], "beyond the end"),
            (
                &[("window-begin", "8MiB"), ("window-end", "4MiB")],
                "greater than --window-end",
            ),
            (
                &[("window-begin", "60%"), ("window-end", "40%")],
                "greater than --window-end",
            ),
        ] {
            let parameters = fake::parameters(test, &target, set);
            let message = test.forecast(&target, &parameters).unwrap_err().to_string();
            assert!(message.contains(hint), "{message}");
        }
    }
}
