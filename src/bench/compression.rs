//! Whether a drive compresses or deduplicates, which flatters every later figure.

use std::time::Duration;

use super::common::{self, place};
use super::forecast::Phases;
use super::passes::{Pass, Passes};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Parameters, Shape, Test, Value,
};
use crate::drive::Target;
use crate::engine::{DataKind, Limits, Operation, Pattern, Plan};
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
/// How often each kind is written, in turns: a drive that changes its pace hits all kinds alike.
const CYCLES: usize = 3;

static DESCRIPTION: Description = Description {
    name: "compression",
    aliases: &[],
    summary: "writes random, zero and repeated data: does the drive compress or deduplicate?",
    explanation: "\
Writes the same amount to the same place with random bytes, with zeros and with one random block over \
and over, three times in turns. A drive or a storage system that compresses is faster \
with zeros, one that deduplicates with the repeated block.

Ratios near 1 are good news: what you measure with any data is what you get. Where every pass with \
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
        common::SYNC,
        common::CACHE,
    ],
    charts: &[Chart::new(
        "Throughput of each kind of data, turn by turn",
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

/// Each kind of data in turns.
fn passes(whole: &Plan) -> Vec<Pass> {
    let limits = Limits::default();
    (1..=CYCLES)
        .flat_map(|cycle| KINDS.map(|kind| (cycle, kind)))
        .map(|(cycle, (label, key, data))| {
            let plan = Plan {
                data,
                limits,
                ..whole.clone()
            };
            Pass::new(format!("{label}, {cycle}"), format!("{key}_{cycle}"), plan)
        })
        .collect()
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
        let time =
            Phases::sharing(plan.limits).then_all(passes(&plan).into_iter().map(|pass| pass.plan));
        Ok(Forecast {
            sentence: format!(
                "writes random, zero and repeated data in turns to {}{amount}",
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
            ("1st", "1_throughput"),
            ("2nd", "2_throughput"),
            ("3rd", "3_throughput"),
        ];
        let rows = KINDS.map(|(label, key, _)| (label, key));
        bench
            .findings
            .put_table(Table::crossed("Kinds of data", &columns, &rows));
        let passes = passes(&whole);
        let mut running = Passes::new(bench, whole.limits, passes.len(), 1.0);
        for pass in &passes {
            running.next(pass)?;
            put_curves(&mut running.bench().findings);
        }
        conclude(bench);
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}

/// The throughput of each kind of data against the number of the turn.
fn put_curves(findings: &mut Findings) {
    for (_, key, _) in KINDS {
        let of_turn = |turn: usize| {
            let figure = findings.figure(&format!("{key}_{turn}_throughput"))?;
            Some([turn as f64, figure.value])
        };
        let points: Vec<[f64; 2]> = (1..=CYCLES).filter_map(of_turn).collect();
        if !points.is_empty() {
            findings.put_series(common::series(
                &format!("throughput-{key}"),
                ("turn", Unit::Count),
                ("throughput", Unit::BytesPerSecond),
                points,
            ));
        }
    }
}

/// Throughputs of one kind of data, ascending; nothing unless every cycle was made.
fn throughputs(findings: &Findings, key: &str) -> Option<[f64; CYCLES]> {
    let mut values = [0.0; CYCLES];
    for (index, value) in values.iter_mut().enumerate() {
        *value = findings
            .figure(&format!("{key}_{}_throughput", index + 1))?
            .value;
    }
    values.sort_by(f64::total_cmp);
    Some(values)
}

/// Requests that were in flight on average while random data was written, by Little's law.
fn random_in_flight(findings: &Findings) -> Option<f64> {
    let of = |cycle: usize, name: &str| {
        findings
            .figure(&format!("random_{cycle}_{name}"))
            .map(|figure| figure.value)
    };
    let reached = |cycle| Some(in_flight(of(cycle, "iops")?, of(cycle, "latency")?));
    let sum: Option<f64> = (1..=CYCLES).map(reached).sum();
    Some(sum? / CYCLES as f64)
}

fn conclude(bench: &mut Bench<'_>) {
    let depth = bench.parameters.count("depth").unwrap_or(1) as f64;
    let Some((figures, verdict)) = judge(&bench.findings, depth) else {
        return;
    };
    figures.into_iter().for_each(|figure| bench.figure(figure));
    bench.verdict(verdict);
}

/// What the throughputs say at this queue depth; `None` unless every cycle was made.
fn judge(findings: &Findings, depth: f64) -> Option<([Figure; 2], Verdict)> {
    let [random, zero, repeat] = KINDS.map(|(_, key, _)| throughputs(findings, key));
    let (random, zero, repeat) = (random?, zero?, repeat?);
    let ratio = |values: [f64; CYCLES]| values[CYCLES / 2] / random[CYCLES / 2];
    let figures = [("compression_ratio", zero), ("deduplication_ratio", repeat)]
        .map(|(name, values)| Figure::new(name, ratio(values), Unit::Ratio));
    let fastest = random[CYCLES - 1];
    let flattered = |values: [f64; CYCLES]| values[0] > fastest && ratio(values) > FLATTERED;
    let evidence = format!(
        "zeros are written {} times, a repeated block {} times as fast as random data",
        units::three_digits(ratio(zero)),
        units::three_digits(ratio(repeat))
    );
    let reached = random_in_flight(findings);
    let busy = reached.is_none_or(|reached| reached >= FULL_QUEUE * depth);
    let verdict = if !busy && (flattered(zero) || flattered(repeat)) {
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
    } else if flattered(zero) || flattered(repeat) {
        Verdict::new(
            "drive-compresses",
            Severity::Warning,
            evidence,
            "measure with random data only; figures of other programs that write zeros say nothing",
        )
    } else if fastest / random[0] > RESTLESS {
        Verdict::new(
            "pace-changed",
            Severity::Warning,
            format!(
                "the same random data was written at {} to {}",
                units::throughput(random[0]),
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
        assert_eq!(codes(&finished), ["drive-compresses"]);
        let curve = |name: &str| finished.findings.series(name).unwrap().points.clone();
        let (random, zero) = (curve("throughput-random"), curve("throughput-zero"));
        assert_eq!([random[0][0], random[2][0]], [1.0, 3.0]);
        assert!((zero[1][1] / random[1][1] - 3.0).abs() < 0.01);
    }

    /// Findings of three equal cycles: throughput, IOPS and latency of each kind of data.
    fn cycles(kinds: [(&str, [f64; 3]); 3]) -> Findings {
        let mut findings = Findings::default();
        for (key, values) in kinds {
            for cycle in 1..=CYCLES {
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
        let (figures, verdict) = judge(&cycles(starved), 32.0).unwrap();
        assert_eq!(verdict.code, "data-made-too-slowly");
        assert!(verdict.evidence.contains("only 1.00 of 32"), "{verdict:?}");
        assert!((figures[0].value - 3.0).abs() < 1e-9);
        // With as many in flight as asked for it is the drive.
        let (_, verdict) = judge(&cycles(starved), 1.0).unwrap();
        assert_eq!(verdict.code, "drive-compresses");
        // Nothing is flattered: whoever was slow, it does not matter.
        let even = starved.map(|(key, _)| (key, [262e6, 2000.0, 5e5]));
        assert_eq!(judge(&cycles(even), 32.0).unwrap().1.code, "no-compression");
        assert!(judge(&Findings::default(), 32.0).is_none());
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
