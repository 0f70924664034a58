//! Rounds of the workload until five in a row agree.

use super::written::Written;
use crate::bench::budget::Budget;
use crate::bench::common::{self, series};
use crate::bench::{Bench, BenchError};
use crate::engine::{Limits, Outcome, Plan};
use crate::session::document::{Figure, Severity, Unit, Verdict};
use crate::stats::steady_state::{Corridor, MOST_RANGE, WINDOW};
use crate::units;

/// Rounds until the drive has settled or a limit is reached. `before` is the part of the whole
/// test that is done already.
pub(super) fn rounds(
    bench: &mut Bench<'_>,
    plan: &Plan,
    before: f64,
    budget: &mut Budget,
    written: &mut Written,
) -> Result<(), BenchError> {
    let most = bench.parameters.count("rounds").unwrap_or(25);
    let own = Limits {
        duration: bench.parameters.duration("round-time"),
        ..Limits::default()
    };
    let mut values = Vec::new();
    for number in 1..=most {
        if bench.stopped() {
            return Ok(());
        }
        let Some(limits) = budget.share(1, u64::from(plan.block_size.largest()), own) else {
            break;
        };
        let round = Plan {
            limits,
            seed: plan.seed.wrapping_add(number),
            ..plan.clone()
        };
        let phase = format!("round {number} of at most {most}");
        let outcome = bench.execute(&phase, (1.0 - before) / most as f64, &round)?;
        budget.spend(&outcome);
        if bench.stopped() || outcome.tally.requests() == 0 {
            return Ok(());
        }
        values.push(outcome.tally.requests() as f64 / outcome.elapsed.as_secs_f64());
        written.add(&outcome.tally.write.timeline, outcome.elapsed);
        let steady = report(bench, &values, &outcome);
        written.report(bench);
        bench.phase_finished();
        if steady {
            return Ok(());
        }
    }
    bench.verdict(unsettled(&values));
    Ok(())
}

/// The rounds so far; says whether the drive has settled.
fn report(bench: &mut Bench<'_>, values: &[f64], outcome: &Outcome) -> bool {
    let count = values.len();
    let x = ("round", Unit::Count);
    let y = ("IOPS", Unit::PerSecond);
    let numbered = values.iter().enumerate();
    let points = numbered
        .map(|(index, value)| [(index + 1) as f64, *value])
        .collect();
    bench.series(series("iops-by-round", x, y, points));
    let Some(corridor) = Corridor::of(values) else {
        return false;
    };
    let (begin, end) = ((count - WINDOW + 1) as f64, count as f64);
    let half = corridor.mean * MOST_RANGE / 2.0;
    for (name, from, to) in [
        ("corridor-high", corridor.mean + half, corridor.mean + half),
        ("corridor-low", corridor.mean - half, corridor.mean - half),
        ("corridor-slope", corridor.line_begin, corridor.line_end),
    ] {
        bench.series(series(name, x, y, vec![[begin, from], [end, to]]));
    }
    bench.figure(Figure::new(
        "steady_state_range",
        corridor.range,
        Unit::Ratio,
    ));
    bench.figure(Figure::new(
        "steady_state_slope",
        corridor.climb,
        Unit::Ratio,
    ));
    if !corridor.is_steady() {
        return false;
    }
    bench.figure(Figure::new("steady_state_round", count as f64, Unit::Count));
    bench.figure(
        Figure::new("steady_state_iops", corridor.mean, Unit::PerSecond)
            .from_observations(WINDOW as u64),
    );
    let tally = &outcome.tally;
    let mut latency = tally.read.latency.clone();
    latency.merge(&tally.write.latency);
    common::report_latency(&mut bench.findings, &latency);
    bench.findings.latency.read = common::summary(&tally.read.latency);
    bench.findings.latency.write = common::summary(&tally.write.latency);
    true
}

fn unsettled(values: &[f64]) -> Verdict {
    let evidence = Corridor::of(values).map_or_else(
        || format!("{} rounds were made, the rule needs {WINDOW}", values.len()),
        |corridor| {
            format!(
                "after {} rounds the last {WINDOW} differ by {} and climb by {} of their mean",
                values.len(),
                units::percent(corridor.range),
                units::percent(corridor.climb)
            )
        },
    );
    Verdict::new(
        "not-steady",
        Severity::Warning,
        evidence,
        "the drive has not settled: more --rounds, or a longer --round-time, --duration or --bytes",
    )
}
