//! Whether a drive compresses or deduplicates, which flatters every later figure.

use std::time::Duration;

use super::common::{self, place};
use super::passes::{self, Pass, PassHook, Total};
use super::rounds::{Quotient, ROUNDS, Rounds};
use super::sweep::Turn;
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Parameter, Parameters, Shape,
    Test, Value,
};
use crate::drive::Target;
use crate::engine::{DataKind, Limits, Operation, Outcome, Pattern, Plan};
use crate::session::document::{Figure, Findings, Severity, Table, Unit, Verdict};
use crate::stats::concurrency::in_flight;
use crate::units;

/// The same writes with random, zero and repeated data.
pub struct Compression;

/// A ratio beyond this is no noise.
const FLATTERED: f64 = 1.15;
/// Passes of the same data that differ by more than this say nothing about data.
const RESTLESS: f64 = 1.5;
/// With less of the queue in flight it is this machine that was slow, not the drive.
const FULL_QUEUE: f64 = 0.8;

const SEED: Parameter = Parameter {
    help: "the same seed gives the same order of the kinds of data",
    ..common::SEED
};

static DESCRIPTION: Description = Description {
    name: "compression",
    aliases: &[],
    summary: "writes random, zero and repeated data: does the drive compress or deduplicate?",
    explanation: "\
Writes the same amount to the same place with random bytes, with zeros and with one random block over \
and over, each in four rounds of random order (--seed). A drive or a storage system that compresses is faster \
with zeros, one that deduplicates with the repeated block.

The ratios compare throughputs round by round. Ratios near 1 are good news: what you measure with any data is what you get. Where every pass with \
zeros or with the repeated block is faster than every pass with random bytes, and by more than 15 %, \
figures that were measured with such data are flattered; this program writes random bytes unless \
--data says otherwise.

It overwrites what is there: 1 GiB in all unless --bytes says otherwise.",
    writes: true,
    metrics: &["compression_ratio", "deduplication_ratio", "random_*", "zero_*", "repeat_*"],
    parameters: &[
        common::BLOCK_SIZE.with_default(|_| Value::Bytes(1 << 20)),
        common::DEPTH.with_default(|_| Value::Count(16)),
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(40))),
        common::BYTES.with_default(|target| Value::Bytes((1 << 30).min(target.size.saturating_mul(4)))),
        common::REQUESTS,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        SEED,
        common::SYNC,
        common::CACHE,
    ],
    charts: &[Chart::new(
        "Throughput of each kind of data, round by round",
        Shape::Bars,
        &["throughput-random", "throughput-zero", "throughput-repeat"],
    )],
    headline: &["compression_ratio", "deduplication_ratio"],
};

/// For people, beginning of the figures' names, what is written.
const KINDS: [(&str, &str, DataKind); 3] = [
    ("random data", "random", DataKind::Random),
    ("zeros", "zero", DataKind::Zero),
    ("one block repeated", "repeat", DataKind::Repeat),
];

fn whole_plan(target: &Target, parameters: &Parameters) -> Result<Plan, BenchError> {
    common::plan(target, parameters, Operation::Write, Pattern::Sequential)
}

/// A pass for each kind of data.
fn kinds(whole: &Plan) -> [Pass; KINDS.len()] {
    KINDS.map(|(label, key, data)| {
        let plan = Plan {
            data,
            limits: Limits::default(),
            ..whole.clone()
        };
        Pass::new(label, key, plan)
    })
}

impl Test for Compression {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let plan = whole_plan(target, parameters)?;
        let amount = plan.limits.bytes.map_or_else(String::new, |bytes| {
            format!(", at most {}", common::written_share(bytes, target))
        });
        let time = passes::phases_in_rounds(plan.limits, &kinds(&plan));
        Ok(Forecast {
            sentence: format!(
                "writes random, zero and repeated data in {ROUNDS} rounds to {}{amount}",
                place(target)
            ),
            time: time.time(target),
            reads: None,
            writes: plan.limits.bytes,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let whole = whole_plan(bench.target, bench.parameters)?;
        let columns = [
            ("mean", "throughput"),
            ("1st", "1_throughput"),
            ("2nd", "2_throughput"),
            ("3rd", "3_throughput"),
            ("4th", "4_throughput"),
        ];
        let rows = KINDS.map(|(label, key, _)| (label, key));
        bench
            .findings
            .put_table(Table::crossed("Kinds of data", &columns, &rows));
        let passes = kinds(&whole);
        passes::in_rounds(bench, whole.limits, &passes, whole.seed, &mut EachRound)?;
        conclude(bench, whole.seed);
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}

/// The metrics of each round apart: `KEY_1_throughput` and so on.
struct EachRound;

impl PassHook for EachRound {
    fn after(&mut self, findings: &mut Findings, turn: Turn, outcome: &Outcome, _: &Total) {
        let (_, key, _) = KINDS[turn.point];
        passes::put(findings, &format!("{key}_{}", turn.round + 1), outcome);
        put_curves(findings);
    }
}

/// The throughput of each kind of data against the number of the round.
fn put_curves(findings: &mut Findings) {
    for (_, key, _) in KINDS {
        let of_round = |round: usize| {
            let figure = findings.figure(&format!("{key}_{round}_throughput"))?;
            let interval = figure.low.zip(figure.high).map(|(low, high)| [low, high]);
            Some(([round as f64, figure.value], interval))
        };
        let points: Vec<_> = (1..=ROUNDS).filter_map(of_round).collect();
        if !points.is_empty() {
            findings.put_series(common::series_within(
                &format!("throughput-{key}"),
                ("round", Unit::Count),
                ("throughput", Unit::BytesPerSecond),
                points,
            ));
        }
    }
}

/// Throughputs of the kinds of data, round by round; nothing unless every round was made.
fn throughputs(findings: &Findings, seed: u64) -> Option<Rounds> {
    let mut rounds = Rounds::new(KINDS.len(), seed);
    for (point, (_, key, _)) in KINDS.iter().enumerate() {
        for round in 0..ROUNDS {
            let name = format!("{key}_{}_throughput", round + 1);
            rounds.add(point, round, findings.figure(&name)?.value);
        }
    }
    Some(rounds)
}

/// Requests that were in flight on average while random data was written, by Little's law.
fn random_in_flight(findings: &Findings) -> Option<f64> {
    let of = |cycle: usize, name: &str| {
        findings
            .figure(&format!("random_{cycle}_{name}"))
            .map(|figure| figure.value)
    };
    let reached = |cycle| Some(in_flight(of(cycle, "iops")?, of(cycle, "latency")?));
    let sum: Option<f64> = (1..=ROUNDS).map(reached).sum();
    Some(sum? / ROUNDS as f64)
}

fn conclude(bench: &mut Bench<'_>, seed: u64) {
    let depth = bench.parameters.count("depth").unwrap_or(1) as f64;
    let Some((figures, verdict)) = judge(&bench.findings, depth, seed) else {
        return;
    };
    figures.into_iter().for_each(|figure| bench.figure(figure));
    bench.verdict(verdict);
}

/// What the throughputs say at this queue depth; `None` unless every round was made.
fn judge(findings: &Findings, depth: f64, seed: u64) -> Option<([Figure; 2], Verdict)> {
    let rounds = throughputs(findings, seed)?;
    let (zero, repeat) = (rounds.quotient(1, 0)?, rounds.quotient(2, 0)?);
    let figures = [
        zero.figure("compression_ratio"),
        repeat.figure("deduplication_ratio"),
    ];
    let least = |point: usize| rounds.of(point).into_iter().fold(f64::INFINITY, f64::min);
    let most = |point: usize| rounds.of(point).into_iter().fold(0.0, f64::max);
    let (slowest, fastest) = (least(0), most(0));
    let flattered = |point: usize, ratio: Quotient| {
        least(point) > fastest && ratio.value > FLATTERED && ratio.low > 1.0
    };
    let flattered = flattered(1, zero) || flattered(2, repeat);
    let evidence = format!(
        "zeros are written {} times, a repeated block {} times as fast as random data",
        units::three_digits(zero.value),
        units::three_digits(repeat.value)
    );
    let reached = random_in_flight(findings);
    let busy = reached.is_none_or(|reached| reached >= FULL_QUEUE * depth);
    let verdict = if !busy && flattered {
        Verdict::new(
            "data-made-too-slowly",
            Severity::Warning,
            format!(
                "{evidence}, but with random data only {} of {depth} requests were in flight: this \
                 machine makes random bytes more slowly than the drive takes them",
                units::three_digits(reached.unwrap_or_default())
            ),
            "whether the drive compresses cannot be told: try a smaller --depth, and larger --bytes",
        )
    } else if flattered {
        Verdict::new(
            "drive-compresses",
            Severity::Warning,
            evidence,
            "measure with random data only; figures of other programs that write zeros say nothing",
        )
    } else if fastest / slowest > RESTLESS {
        Verdict::new(
            "pace-changed",
            Severity::Warning,
            format!(
                "the same random data was written at {} to {}",
                units::throughput(slowest),
                units::throughput(fastest)
            ),
            "a cache filled up or somebody else used the drive: repeat it, longer and on a quiet \
             drive",
        )
    } else {
        Verdict::new(
            "no-compression",
            Severity::Note,
            evidence,
            "any data gives honest figures here",
        )
    };
    Some((figures, verdict))
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{self, Fake, codes, value};
    use super::*;

    #[test]
    fn a_drive_that_compresses_is_found_out() {
        let fake = Fake::new(|asked| {
            Some(match asked.plan.data {
                DataKind::Zero => 100_000,
                _ => 300_000,
            })
        });
        let finished = fake::run(
            find("compression").unwrap(),
            &fake::target(1 << 30),
            &[],
            &fake,
        );
        assert!((value(&finished, "compression_ratio") - 3.0).abs() < 0.01);
        assert!((value(&finished, "deduplication_ratio") - 1.0).abs() < 0.01);
        let ratio = finished.findings.figure("compression_ratio").unwrap();
        assert!(ratio.low.unwrap() > 2.9 && ratio.high.unwrap() < 3.1);
        let mean = finished.findings.figure("random_throughput").unwrap();
        assert!(mean.low.is_some() && mean.high.is_some());
        assert_eq!(codes(&finished), ["drive-compresses"]);
        let curve = |name: &str| finished.findings.series(name).unwrap().points.clone();
        let (random, zero) = (curve("throughput-random"), curve("throughput-zero"));
        assert_eq!([random[0][0], random[3][0]], [1.0, 4.0]);
        assert!((zero[1][1] / random[1][1] - 3.0).abs() < 0.01);
    }

    /// Findings of four equal rounds: throughput, IOPS and latency of each kind of data.
    fn cycles(kinds: [(&str, [f64; 3]); 3]) -> Findings {
        let mut findings = Findings::default();
        for (key, values) in kinds {
            for cycle in 1..=ROUNDS {
                let units = [
                    ("throughput", Unit::BytesPerSecond),
                    ("iops", Unit::PerSecond),
                    ("latency", Unit::Nanoseconds),
                ];
                for ((name, unit), value) in units.into_iter().zip(values) {
                    findings.put_figure(Figure::new(&format!("{key}_{cycle}_{name}"), value, unit));
                }
            }
        }
        findings
    }

    #[test]
    fn a_machine_that_makes_random_bytes_too_slowly_is_not_taken_for_a_compressing_drive() {
        // Little's law: 2000 a second of 0.5 ms each are one in flight, of 32 that were asked for.
        let starved = [
            ("random", [262e6, 2000.0, 5e5]),
            ("zero", [786e6, 6000.0, 5.3e6]),
            ("repeat", [786e6, 6000.0, 5.3e6]),
        ];
        let (figures, verdict) = judge(&cycles(starved), 32.0, 1).unwrap();
        assert_eq!(verdict.code, "data-made-too-slowly");
        assert!(verdict.evidence.contains("only 1.00 of 32"), "{verdict:?}");
        assert!((figures[0].value - 3.0).abs() < 1e-9);
        // With as many in flight as asked for it is the drive.
        let (_, verdict) = judge(&cycles(starved), 1.0, 1).unwrap();
        assert_eq!(verdict.code, "drive-compresses");
        // Nothing is flattered: whoever was slow, it does not matter.
        let even = starved.map(|(key, _)| (key, [262e6, 2000.0, 5e5]));
        assert_eq!(
            judge(&cycles(even), 32.0, 1).unwrap().1.code,
            "no-compression"
        );
        assert!(judge(&Findings::default(), 32.0, 1).is_none());
    }

    #[test]
    fn an_honest_drive_is_told_so() {
        let fake = Fake::new(|_| Some(300_000));
        let finished = fake::run(
            find("compression").unwrap(),
            &fake::target(1 << 30),
            &[],
            &fake,
        );
        assert_eq!(codes(&finished), ["no-compression"]);
        let plans = fake.plans.lock().unwrap();
        assert_eq!(
            plans
                .iter()
                .filter_map(|plan| plan.limits.bytes)
                .sum::<u64>(),
            1 << 30
        );
    }

    #[test]
    fn a_cache_that_fills_up_is_no_compression() {
        let seen = std::sync::atomic::AtomicU64::new(0);
        let fake = Fake::new(move |asked| {
            let before =
                seen.fetch_add(u64::from(asked.bytes), std::sync::atomic::Ordering::Relaxed);
            Some(if before < 256 << 20 { 100_000 } else { 300_000 })
        });
        let finished = fake::run(
            find("compression").unwrap(),
            &fake::target(1 << 30),
            &[],
            &fake,
        );
        assert_eq!(codes(&finished), ["pace-changed"]);
    }
}
