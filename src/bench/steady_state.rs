//! What a drive does for good: rounds until it has settled, and where its cache ends.

use std::time::Duration;

use super::budget::Budget;
use super::common::{self, place, random_pattern, series};
use super::{
    Bench, BenchError, Chart, Description, Forecast, Kind, Parameter, Parameters, Shape, Test,
    Value,
};
use crate::drive::{Target, TargetKind};
use crate::engine::{BlockSize, Limits, Operation, Outcome, Pattern, Plan};
use crate::session::document::{Figure, Severity, Unit, Verdict};
use crate::stats::segments::cliff;
use crate::stats::steady_state::{Corridor, MOST_RANGE, WINDOW};
use crate::stats::timeline::Timeline;
use crate::units;

/// Preconditioning and rounds by the SNIA's rule.
pub struct SteadyState;

/// Size of the preconditioning writes (SNIA SSS PTS: 128 KiB sequential).
const PRECONDITION_BLOCK: u32 = 128 << 10;
/// A fall by less than this share is no cache's end.
const CLIFF: f64 = 0.3;
/// Buckets of time on either side of a cliff.
const CLIFF_BUCKETS: usize = 3;

const READS: Parameter = Parameter {
    name: "reads",
    kind: Kind::Share,
    help: "share of the requests of a round that read",
    default: |_| Value::Share(0.0),
};
const PRECONDITION: Parameter = Parameter {
    name: "precondition",
    kind: Kind::Number {
        least: 0.0,
        most: 10.0,
    },
    help: "how many times the window is written sequentially before the rounds",
    default: |_| Value::Number(2.0),
};
const ROUNDS: Parameter = Parameter {
    name: "rounds",
    kind: Kind::Count {
        least: 1,
        most: 1000,
    },
    help: "rounds at most",
    default: |_| Value::Count(25),
};
const ROUND_TIME: Parameter = Parameter {
    name: "round-time",
    kind: Kind::Duration,
    help: "how long a round lasts",
    default: |target| {
        let small = matches!(target.kind, TargetKind::Scratch | TargetKind::Simulated);
        Value::Duration(Duration::from_secs(if small { 5 } else { 60 }))
    },
};

static DESCRIPTION: Description = Description {
    name: "steady-state",
    aliases: &[],
    summary: "writes until the drive has settled (SNIA rule): its lasting IOPS, the size of its cache",
    explanation: "\
A new or trimmed SSD is fast until its spare blocks and its cache are used up. This test writes the \
whole window twice in sequence, then measures the workload in rounds until five of them in a row \
agree: the largest and the smallest differ by at most 20 % of their mean, and the line through them \
rises or falls by at most 10 % (SNIA Solid State Storage Performance Test Specification). What is \
measured then is what the drive does for good.

The first chart shows IOPS round by round, with the corridor of 20 % around the last five and \
the line through them. The second shows throughput against the bytes written: where it falls off a \
cliff, a cache is full, and the bytes until there are its size.

It overwrites everything in the window, several times: how many bytes that is, and what share of the \
drive, is said beforehand. On a large drive it takes hours, and it wears an SSD a little.",
    writes: true,
    parameters: &[
        READS,
        PRECONDITION,
        ROUNDS,
        ROUND_TIME,
        common::BLOCK_SIZE,
        common::DEPTH,
        common::WORKERS,
        common::PATTERN,
        common::ZIPF,
        common::DURATION.with_default(|_| Value::Unset),
        common::BYTES.with_default(|target| {
            Value::Bytes(target.size.saturating_mul(4).max(16 << 30))
        }),
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SYNC,
        common::DATA,
        common::SEED,
        common::CACHE,
    ],
    charts: &[
        Chart::new(
            "IOPS by round, corridor and slope of the last five",
            Shape::Line,
            &["iops-by-round", "corridor-high", "corridor-low", "corridor-slope"],
        )
        .marked(&["steady_state_round"]),
        Chart::new(
            "Throughput against bytes written",
            Shape::Line,
            &["throughput-against-written"],
        )
        .marked(&["cache_bytes"]),
    ],
    headline: &[
        "steady_state_iops",
        "steady_state_round",
        "steady_state_range",
        "cache_bytes",
    ],
};

fn round_plan(target: &Target, parameters: &Parameters) -> Result<Plan, BenchError> {
    let reads = parameters.share("reads").unwrap_or(0.0);
    let operation = if reads > 0.0 {
        Operation::Mixed { reads }
    } else {
        Operation::Write
    };
    common::plan(target, parameters, operation, random_pattern(parameters))
}

/// Sequential writes over the window, so many times; `None` for no time.
fn precondition_plan(target: &Target, parameters: &Parameters) -> Result<Option<Plan>, BenchError> {
    let mut plan = common::plan(target, parameters, Operation::Write, Pattern::Sequential)?;
    let length = plan.window.end - plan.window.start;
    let block = PRECONDITION_BLOCK.min(u32::try_from(length / 4096 * 4096).unwrap_or(u32::MAX));
    let times = parameters.number("precondition").unwrap_or(2.0);
    let bytes = (length as f64 * times) as u64;
    plan.block_size = BlockSize::Fixed(block.max(4096));
    plan.align = u64::from(plan.block_size.largest());
    plan.depth = plan.depth.max(8);
    plan.workers = 1;
    plan.limits = Limits {
        bytes: Some(bytes),
        ..Limits::default()
    };
    Ok((bytes >= plan.align).then_some(plan))
}

impl Test for SteadyState {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let limits = round_plan(target, parameters)?.limits;
        let first = precondition_plan(target, parameters)?.and_then(|plan| plan.limits.bytes);
        let rounds = parameters.count("rounds").unwrap_or(25);
        let round = parameters.duration("round-time").unwrap_or_default();
        let most = limits.bytes.map_or_else(String::new, |bytes| {
            format!("; at most {} in all", common::written_share(bytes, target))
        });
        Ok(Forecast {
            sentence: format!(
                "writes {} to {} in sequence, then random requests for at most {rounds} rounds of \
                 {}{most}",
                common::written_share(first.unwrap_or(0), target),
                place(target),
                units::waiting(round),
            ),
            duration: limits.duration,
            reads: None,
            writes: limits.bytes,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let round = round_plan(bench.target, bench.parameters)?;
        let first = precondition_plan(bench.target, bench.parameters)?;
        let mut budget = Budget::new(round.limits);
        let mut written = Written::default();
        let share = if first.is_some() { 0.4 } else { 0.0 };
        if let Some(plan) = first {
            precondition(bench, &plan, share, &mut budget, &mut written)?;
        }
        rounds(bench, &round, share, &mut budget, &mut written)
    }

    fn fio(&self, target: &Target, parameters: &Parameters) -> Option<String> {
        let plan = round_plan(target, parameters).ok()?;
        Some(format!(
            "{} --steadystate=iops_slope:10%",
            common::fio_command(&plan)
        ))
    }
}

fn precondition(
    bench: &mut Bench<'_>,
    plan: &Plan,
    share: f64,
    budget: &mut Budget,
    written: &mut Written,
) -> Result<(), BenchError> {
    let Some(limits) = budget.share(1, plan.align, plan.limits) else {
        return Ok(());
    };
    let plan = Plan {
        limits,
        ..plan.clone()
    };
    let outcome = bench.measure(
        "preconditioning",
        share,
        &plan,
        &mut |findings, tally, elapsed| {
            let mut curve = Written::default();
            curve.add(&tally.write.timeline, elapsed);
            findings.put_series(curve.series());
        },
    )?;
    budget.spend(&outcome);
    written.add(&outcome.tally.write.timeline, outcome.elapsed);
    written.report(bench);
    bench.phase_finished();
    Ok(())
}

fn rounds(
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

/// Throughput by bytes written, over the whole test.
#[derive(Debug, Default)]
struct Written {
    bytes: f64,
    points: Vec<[f64; 2]>,
    /// Where each phase's points begin: preconditioning and rounds differ by themselves.
    phases: Vec<usize>,
}

impl Written {
    fn add(&mut self, timeline: &Timeline, elapsed: Duration) {
        self.phases.push(self.points.len());
        let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let rates = timeline.rates(elapsed_ns);
        for (index, bucket) in timeline.buckets().iter().enumerate() {
            self.bytes += bucket.bytes as f64;
            // The last bucket may be too short to have a rate; its bytes count all the same.
            if let Some(rate) = rates.get(index) {
                self.points.push([self.bytes, rate[2]]);
            }
        }
        if rates.is_empty() && elapsed_ns > 0 {
            let bytes: u64 = timeline.buckets().iter().map(|bucket| bucket.bytes).sum();
            self.points
                .push([self.bytes, bytes as f64 / elapsed.as_secs_f64()]);
        }
    }

    fn series(&self) -> crate::session::document::Series {
        series(
            "throughput-against-written",
            ("written", Unit::Bytes),
            ("throughput", Unit::BytesPerSecond),
            self.points.clone(),
        )
    }

    fn report(&self, bench: &mut Bench<'_>) {
        bench.series(self.series());
        // The first phase fills the cache; without preconditioning that is all rounds together.
        let rounds_only = bench.parameters.number("precondition") == Some(0.0);
        let end = match self.phases.get(1) {
            Some(second) if !rounds_only => *second,
            _ => self.points.len(),
        };
        let rates: Vec<f64> = self.points[..end].iter().map(|point| point[1]).collect();
        let Some(cliff) = cliff(&rates, CLIFF_BUCKETS, CLIFF) else {
            return;
        };
        let bytes = self.points[cliff.at - 1][0];
        bench.figure(Figure::new("cache_bytes", bytes, Unit::Bytes));
        bench.verdict(Verdict::new(
            "write-cliff",
            Severity::Warning,
            format!(
                "after {} throughput fell from {} to {}: a cache of about that size was full",
                units::capacity(bytes),
                units::throughput(cliff.before),
                units::throughput(cliff.after)
            ),
            "count on the lower figure for anything larger than the cache",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{self, Fake, codes, simulate, value};

    #[test]
    fn a_constant_drive_is_steady_after_five_rounds() {
        let set = [("round-time", "1s"), ("precondition", "1"), ("depth", "1")];
        let finished = simulate(find("steady-state").unwrap(), "sim:constant,size=1GB", &set);
        assert_eq!(value(&finished, "steady_state_round"), 5.0);
        assert!((value(&finished, "steady_state_iops") / 10_000.0 - 1.0).abs() < 0.01);
        assert!(codes(&finished).is_empty());
    }

    #[test]
    fn the_cliff_names_the_size_of_the_cache() {
        let name = "sim:cliff,size=4GB,cache=1GB,latency=100us,slow=1ms";
        let set = [("round-time", "2s"), ("precondition", "1")];
        let finished = simulate(find("steady-state").unwrap(), name, &set);
        // Buckets of 100 ms hold 131 MB of fast writes.
        assert!((value(&finished, "cache_bytes") / 1e9 - 1.0).abs() < 0.15);
        assert_eq!(codes(&finished), ["write-cliff"]);
        assert!((value(&finished, "steady_state_iops") / 1000.0 - 1.0).abs() < 0.02);
    }

    #[test]
    fn a_drive_that_never_settles_is_not_said_to() {
        let fake = Fake::new(|asked| {
            // Each round has a seed of its own.
            Some(if asked.plan.seed.is_multiple_of(2) {
                100_000
            } else {
                200_000
            })
        });
        let set = [
            ("rounds", "8"),
            ("round-time", "1s"),
            ("precondition", "0"),
            ("depth", "1"),
        ];
        let finished = fake::run(
            find("steady-state").unwrap(),
            &fake::target(1 << 30),
            &set,
            &fake,
        );
        assert!(finished.findings.figure("steady_state_iops").is_none());
        assert!(codes(&finished).contains(&"not-steady"));
        assert_eq!(
            finished
                .findings
                .series("iops-by-round")
                .unwrap()
                .points
                .len(),
            8
        );
    }

    #[test]
    fn the_forecast_says_bytes_and_share() {
        let target = fake::target(100 << 30);
        let test = find("steady-state").unwrap();
        let parameters = fake::parameters(test, &target, &[]);
        let forecast = test.forecast(&target, &parameters).unwrap();
        assert_eq!(forecast.writes, Some(400 << 30));
        assert!(
            forecast.sentence.contains("215 GB (2.00 times over it)"),
            "{forecast:?}"
        );
        assert!(
            forecast.sentence.contains("4.00 times over it"),
            "{forecast:?}"
        );
    }

    #[test]
    fn no_more_is_written_than_was_said() {
        let fake = Fake::new(|_| Some(10_000));
        let target = fake::target(1 << 30);
        let set = [("bytes", "1536MiB")];
        let finished = fake::run(find("steady-state").unwrap(), &target, &set, &fake);
        let written: f64 = finished
            .findings
            .series("throughput-against-written")
            .unwrap()
            .points
            .last()
            .unwrap()[0];
        assert!(written <= f64::from(1536 << 20), "{written}");
    }
}
