//! Builds plans from parameters.

use std::ops::Range;

use crate::bench::{BenchError, ParameterSet, ParameterValue, WindowPosition, check_window};
use crate::drive::Target;
use crate::engine::{
    AccessPattern, BlockSize, CacheMode, DataKind, IoOperation, Plan, PlanLimits, SyncMode,
};

/// Page cache mode.
#[must_use]
pub fn cache_mode(parameters: &ParameterSet) -> CacheMode {
    match parameters.choice("cache") {
        "drop" => CacheMode::Drop,
        "keep" => CacheMode::Keep,
        _ => CacheMode::Bypass,
    }
}

/// Limits from the parameters.
#[must_use]
pub fn plan_limits(parameters: &ParameterSet) -> PlanLimits {
    PlanLimits {
        duration: parameters.duration("duration"),
        bytes: parameters.bytes("bytes"),
        requests: parameters.count("requests"),
    }
}

/// Address window from the parameters.
#[must_use]
pub fn plan_window(target: &Target, parameters: &ParameterSet) -> Range<u64> {
    let begin = parameters
        .position("window-begin", target.size_bytes)
        .unwrap_or(0);
    let end = parameters
        .position("window-end", target.size_bytes)
        .unwrap_or(target.size_bytes);
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
    plan.alignment = parameters.bytes("align").unwrap_or(u64::from(smallest));
    plan.depth = small_count(parameters.count("depth"));
    plan.workers = small_count(parameters.count("workers"));
    plan.limits = plan_limits(parameters);
    plan.ramp_time = parameters.duration("ramp").unwrap_or_default();
    plan.seed = parameters.count("seed").unwrap_or(1);
    plan.arrival_rate = parameters.number("rate");
    plan.cache_mode = cache_mode(parameters);
    plan.sync_mode = match parameters.choice("sync") {
        "dsync" => SyncMode::DataSync,
        "sync" => SyncMode::Sync,
        _ => SyncMode::None,
    };
    plan.data_kind = data_kind(parameters.choice("data"));
    check_window(&plan)?;
    Ok(plan)
}

/// Checks that the window lies within the target and is not empty.
fn check_positions(target: &Target, parameters: &ParameterSet) -> Result<(), BenchError> {
    for name in ["window-begin", "window-end"] {
        if let Some(value @ ParameterValue::Position(WindowPosition::Bytes(bytes))) =
            parameters.get(name)
            && *bytes > target.size_bytes
        {
            return Err(BenchError::InvalidParameters(format!(
                "--{name} {value} is beyond the end of {}, which has {} bytes",
                target.name, target.size_bytes
            )));
        }
    }
    let window = plan_window(target, parameters);
    if window.start > window.end {
        return Err(BenchError::InvalidParameters(format!(
            "--window-begin (byte {}) is behind --window-end (byte {}): exchange them",
            window.start, window.end
        )));
    }
    Ok(())
}

/// Address pattern from `--pattern` and `--zipf`.
#[must_use]
pub fn random_pattern(parameters: &ParameterSet) -> AccessPattern {
    match (parameters.choice("pattern"), parameters.number("zipf")) {
        ("zipf", Some(theta)) => AccessPattern::Zipf { theta },
        _ => AccessPattern::Random,
    }
}

fn data_kind(word: &str) -> DataKind {
    match word {
        "zero" => DataKind::Zero,
        "repeat" => DataKind::Repeated,
        // The parameter's type only leaves a percentage or `random`.
        _ => word
            .parse()
            .map_or(DataKind::Random, DataKind::Compressible),
    }
}

/// A small integer within the form's bounds; 1 if the benchmark lacks the parameter.
fn small_count(count: Option<u64>) -> u32 {
    count
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or(1)
}

/// Converts bytes to a request length.
///
/// # Errors
/// When it exceeds 1 GiB.
pub fn request_bytes(bytes: u64) -> Result<u32, BenchError> {
    u32::try_from(bytes)
        .ok()
        .filter(|size| *size <= 1 << 30)
        .ok_or_else(|| {
            BenchError::InvalidParameters(format!(
                "--block-size {bytes}: the largest request is 1GiB"
            ))
        })
}

fn request_size(parameters: &ParameterSet) -> Result<BlockSize, BenchError> {
    let (from, to) = parameters.size_range("block-size").unwrap_or((4096, 4096));
    let (from, to) = (request_bytes(from)?, request_bytes(to)?);
    Ok(if from == to {
        BlockSize::Fixed(from)
    } else {
        BlockSize::Range(from, to)
    })
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
                "behind --window-end",
            ),
            (
                &[("window-begin", "60%"), ("window-end", "40%")],
                "behind --window-end",
            ),
        ] {
            let parameters = fake::parameters(test, &target, set);
            let message = test.forecast(&target, &parameters).unwrap_err().to_string();
            assert!(message.contains(hint), "{message}");
        }
    }
}
