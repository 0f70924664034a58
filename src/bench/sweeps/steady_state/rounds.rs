//! Rounds of the workload until five in a row are in steady state.

use super::parameters::{MAX_ROUNDS, ROUND_DURATION};
use super::written::ThroughputByBytesWritten;
use crate::bench::framework;
use crate::bench::framework::budget::PhaseBudget;
use crate::bench::{BenchError, RunContext};
use crate::engine::{ExecutionOutcome, Plan, PlanLimits};
use crate::session::document::check::Check;
use crate::session::document::{Metric, MetricId, Series, SeriesKind, Verdict};
use crate::stats::latency::steady_state::{MAX_RANGE, SteadyStateWindow, WINDOW_ROUNDS};
use crate::units;

pub(super) const NOT_STEADY: Check =
    Check::warning("not-steady", "The rounds did not reach a steady state.");

/// Runs rounds until the drive is in steady state or a limit is reached. `before` is the fraction
/// of the whole benchmark that is already complete.
pub(crate) fn run_rounds(
    bench: &mut RunContext<'_>,
    plan: &Plan,
    before: f64,
    budget: &mut PhaseBudget,
    written: &mut ThroughputByBytesWritten,
) -> Result<(), BenchError> {
    let most = bench.parameters.get(MAX_ROUNDS);
    let own = PlanLimits {
        duration: Some(bench.parameters.get(ROUND_DURATION)),
        ..PlanLimits::default()
    };
    let mut values = Vec::new();
    for number in 1..=most {
        if bench.is_stopped() {
            return Ok(());
        }
        let Some(limits) = budget.next_phase_limits(1, u64::from(plan.block_size.max_bytes()), own)
        else {
            break;
        };
        let round = Plan {
            limits,
            seed: plan.seed.wrapping_add(number),
            ..plan.clone()
        };
        let phase = format!("round {number} of at most {most}");
        let outcome = bench.execute(&phase, (1.0 - before) / most as f64, &round)?;
        budget.consume_outcome(&outcome);
        if bench.is_stopped() || outcome.stats.requests() == 0 {
            return Ok(());
        }
        values.push(outcome.stats.requests() as f64 / outcome.elapsed.as_secs_f64());
        written.add_phase(&outcome.stats.write.counts_over_time, outcome.elapsed);
        let steady = set_round_results(bench, &values, &outcome);
        written.set_results(bench);
        bench.phase_finished();
        if steady {
            return Ok(());
        }
    }
    bench.set_check(steady_state_not_reached(&values));
    Ok(())
}

/// Sets the results of the rounds so far; returns whether the drive is in steady state.
fn set_round_results(
    bench: &mut RunContext<'_>,
    values: &[f64],
    outcome: &ExecutionOutcome,
) -> bool {
    let count = values.len();
    let numbered = values.iter().enumerate();
    let points = numbered
        .map(|(index, value)| [(index + 1) as f64, *value])
        .collect();
    bench.set_series(Series::new(SeriesKind::IopsByRound, points));
    let Some(corridor) = SteadyStateWindow::of_last_rounds(values) else {
        return false;
    };
    let (begin, end) = ((count - WINDOW_ROUNDS + 1) as f64, count as f64);
    let half = corridor.mean * MAX_RANGE / 2.0;
    for (kind, from, to) in [
        (
            SeriesKind::CorridorHigh,
            corridor.mean + half,
            corridor.mean + half,
        ),
        (
            SeriesKind::CorridorLow,
            corridor.mean - half,
            corridor.mean - half,
        ),
        (
            SeriesKind::CorridorSlope,
            corridor.fit_at_begin,
            corridor.fit_at_end,
        ),
    ] {
        bench.set_series(Series::new(kind, vec![[begin, from], [end, to]]));
    }
    bench.set_metric(Metric::new(
        MetricId::STEADY_STATE_RANGE,
        corridor.relative_range,
    ));
    bench.set_metric(Metric::new(
        MetricId::STEADY_STATE_SLOPE,
        corridor.relative_slope,
    ));
    if !corridor.is_steady() {
        return false;
    }
    bench.set_metric(Metric::new(MetricId::STEADY_STATE_ROUND, count as f64));
    bench.set_metric(
        Metric::new(MetricId::STEADY_STATE_IOPS, corridor.mean)
            .with_observations(WINDOW_ROUNDS as u64),
    );
    framework::report_latencies(&mut bench.findings, &outcome.stats);
    true
}

fn steady_state_not_reached(values: &[f64]) -> Verdict {
    let rounds = values.len();
    let window = SteadyStateWindow::of_last_rounds(values);
    let sentence = match &window {
        Some(window) => format!(
            "after {rounds} rounds the range of the last {WINDOW_ROUNDS} is {} of their mean, and their \
             slope {}",
            units::format_percent(window.relative_range),
            units::format_percent(window.relative_slope)
        ),
        None => format!(
            "{rounds} rounds were measured, the steady-state criterion needs {WINDOW_ROUNDS}"
        ),
    };
    NOT_STEADY.found(
        sentence,
        "use more --rounds, or a longer --round-time, --duration or --bytes",
        serde_json::json!({
            "rounds": rounds,
            "window_rounds": WINDOW_ROUNDS,
            "relative_range": window.as_ref().map(|window| window.relative_range),
            "relative_slope": window.as_ref().map(|window| window.relative_slope),
        }),
    )
}
