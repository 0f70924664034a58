//! Detects compression or deduplication in a drive, which would inflate all later results.

use std::time::Duration;

use serde_json::json;

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::rounds::{DEFAULT_ROUNDS, RatioEstimate, SweepRounds};
use crate::bench::framework::sweep::{Point, Sweep, Turn, VARIANT_METRICS};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, Parameter,
    ParameterSet, Phases, RunContext,
};
use crate::drive::Target;
use crate::engine::{AccessPattern, DataKind, IoOperation, Plan};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{
    Metric, MetricId, MetricKind, MetricTable, MetricTableRow, Series, SeriesId, SeriesKind,
    VariantKey, Verdict,
};
use crate::stats::latency::concurrency::mean_in_flight;
use crate::units;

/// Identical writes with random, zero and repeated data.
pub struct CompressionBenchmark;

/// Ratio above which a difference is significant.
const MIN_SIGNIFICANT_RATIO: f64 = 1.15;
/// Maximum ratio between variants with the same data for a valid comparison.
const MAX_REPEAT_RATIO: f64 = 1.5;
/// Below this fraction of the queue depth in flight the host was the bottleneck, not the drive.
const FULL_QUEUE_FRACTION: f64 = 0.8;

const SEED: Parameter<u64> = Parameter {
    help: "seed of the random order of the data patterns",
    ..framework::SEED
};

const DRIVE_COMPRESSES: Check = Check::warning(
    "drive-compresses",
    "Zeros or repeated blocks are written faster than random data.",
);
const NO_COMPRESSION: Check = Check::note(
    "no-compression",
    "Zeros are not written faster than random data.",
);
const DATA_GENERATION_TOO_SLOW: Check = Check::warning(
    "data-generation-too-slow",
    "This machine generates random data more slowly than the drive accepts it.",
);
const RATE_CHANGED: Check = Check::warning(
    "rate-changed",
    "The same data was written at different speeds.",
);

static DESCRIPTION: Description = Description {
    name: "compression",
    aliases: &[],
    group: BenchmarkGroup::Throughput,
    example: "/srv",
    summary: "writes of random, zero and repeated data: compression and deduplication",
    explanation: include_str!("compression.md").trim_ascii_end(),
    may_write: true,
    checks: &[
        DRIVE_COMPRESSES,
        NO_COMPRESSION,
        DATA_GENERATION_TOO_SLOW,
        RATE_CHANGED,
    ],
    workload: Workload::CONSTANT,
    metrics: &[
        MetricFamily::Own(&[MetricKind::CompressionRatio, MetricKind::DeduplicationRatio]),
        MetricFamily::Variants {
            variants: &[
                VariantFamily::One(RANDOM),
                VariantFamily::Rounds(RANDOM),
                VariantFamily::One(ZERO),
                VariantFamily::Rounds(ZERO),
                VariantFamily::One(REPEAT),
                VariantFamily::Rounds(REPEAT),
            ],
            metrics: VARIANT_METRICS,
        },
    ],
    parameters: &[
        &framework::BLOCK_SIZE.with_default(|_| 1 << 20),
        &framework::DEPTH.with_default(|_| 16),
        &framework::DURATION.with_default(|_| Some(Duration::from_secs(40))),
        &framework::BYTES
            .with_default(|target| Some((1 << 30).min(target.size_bytes.saturating_mul(4)))),
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &SEED,
        &framework::SYNC,
        &framework::CACHE,
    ],
    charts: &[ChartSpec::new(
        "Throughput of each data pattern by round",
        ChartShape::Bars,
        &[
            SeriesId::THROUGHPUT_RANDOM,
            SeriesId::THROUGHPUT_ZERO,
            SeriesId::THROUGHPUT_REPEAT,
        ],
    )],
    headline_metrics: &[MetricId::COMPRESSION_RATIO, MetricId::DEDUPLICATION_RATIO],
};

const RANDOM: VariantKey = VariantKey::new("random");
const ZERO: VariantKey = VariantKey::new("zero");
const REPEAT: VariantKey = VariantKey::new("repeat");

/// One kind of data that is written.
struct WrittenData {
    label: &'static str,
    key: VariantKey,
    data: DataKind,
    /// Its throughput in each round.
    series: SeriesKind,
}

const DATA_KINDS: [WrittenData; 3] = [
    WrittenData {
        label: "random data",
        key: RANDOM,
        data: DataKind::Random,
        series: SeriesKind::ThroughputRandom,
    },
    WrittenData {
        label: "zeros",
        key: ZERO,
        data: DataKind::Zero,
        series: SeriesKind::ThroughputZero,
    },
    WrittenData {
        label: "repeated block",
        key: REPEAT,
        data: DataKind::Repeated,
        series: SeriesKind::ThroughputRepeat,
    },
];

fn data_sweep(target: &Target, parameters: &ParameterSet) -> Result<Sweep, BenchError> {
    let (operation, pattern) = (IoOperation::Write, AccessPattern::Sequential);
    let whole = framework::build_plan(target, parameters, operation, pattern)?;
    let points = DATA_KINDS.map(|written| {
        let plan = Plan {
            data_kind: written.data,
            ..whole.clone()
        };
        Point::variant(written.label, written.key, plan)
    });
    Sweep::new(target, parameters, points.to_vec())
}

impl Benchmark for CompressionBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let sentence = format!(
            "writes random, zero and repeated data in {DEFAULT_ROUNDS} rounds to {}",
            describe_target(target)
        );
        Ok(data_sweep(target, parameters)?.phases(sentence))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let mut sweep = data_sweep(bench.target, bench.parameters)?;
        bench.findings.set_table(throughput_table());
        let mut in_flight = Vec::new();
        while let Some(turn) = sweep.next_turn(bench) {
            let outcome = sweep.execute(bench, &turn)?;
            let written = &DATA_KINDS[turn.point];
            set_metrics_of_round(bench, &sweep, &turn);
            sweep.sort_metrics(&mut bench.findings);
            let rates = (0..DEFAULT_ROUNDS).filter_map(|round| {
                let rate = sweep.throughputs.value_in_round(turn.point, round)?;
                Some([(round + 1) as f64, rate])
            });
            bench.set_series(Series::new(written.series, rates.collect()));
            if written.data == DataKind::Random {
                let latency = outcome.stats.latency();
                let rate = outcome.per_second(latency.count()).zip(latency.mean());
                in_flight.extend(rate.map(|(iops, mean)| mean_in_flight(iops, mean)));
            }
            bench.phase_finished();
        }
        let depth = f64::from(bench.parameters.get(framework::DEPTH));
        let in_flight = in_flight.iter().sum::<f64>() / in_flight.len().max(1) as f64;
        if let Some(found) = assess(&sweep.throughputs, (in_flight, depth), sweep.longer()) {
            let ids = [MetricId::COMPRESSION_RATIO, MetricId::DEDUPLICATION_RATIO];
            for (ratio, id) in found.ratios.into_iter().zip(ids) {
                bench.set_metric(ratio.to_metric(id));
            }
            bench.set_check(found.verdict);
        }
        sweep.sort_metrics(&mut bench.findings);
        Ok(())
    }
}

/// The metrics of each round: `KEY_1_throughput` and so on.
fn set_metrics_of_round(bench: &mut RunContext<'_>, sweep: &Sweep, turn: &Turn) {
    let key = DATA_KINDS[turn.point].key.round(turn.round + 1);
    for (kind, rounds) in [
        (MetricKind::Iops, &sweep.iops),
        (MetricKind::Throughput, &sweep.throughputs),
        (MetricKind::Latency, &sweep.mean_latencies),
    ] {
        if let Some(value) = rounds.value_in_round(turn.point, turn.round) {
            bench.set_metric(Metric::new(MetricId::of_variant(key.clone(), kind), value));
        }
    }
}

/// The throughput of one kind of data in a round, from 1 on.
fn throughput_in_round(written: &WrittenData, round: usize) -> MetricId {
    MetricId::of_variant(written.key.round(round), MetricKind::Throughput)
}

/// Mean throughput of each kind of data, and that of every round.
fn throughput_table() -> MetricTable {
    let row = |written: WrittenData| {
        let mean = MetricId::of_variant(written.key.clone(), MetricKind::Throughput);
        let rounds = (1..=DEFAULT_ROUNDS).map(|round| throughput_in_round(&written, round));
        MetricTableRow {
            name: written.label.into(),
            cells: std::iter::once(mean).chain(rounds).collect(),
        }
    };
    MetricTable {
        name: "Data patterns".into(),
        columns: ["mean", "1st", "2nd", "3rd", "4th"]
            .map(Into::into)
            .to_vec(),
        rows: DATA_KINDS.map(row).to_vec(),
    }
}

/// What was found out about the data patterns.
struct Assessment {
    /// Throughput of zeros and of the repeated block as ratios to that of random data.
    ratios: [RatioEstimate; 2],
    verdict: Verdict,
}

/// `None` unless all rounds are complete. `rounds` are throughputs; `in_flight` is the mean number of
/// requests in flight with random data, by Little's law, of `depth`; `longer` names the option for a
/// longer run.
fn assess(
    rounds: &SweepRounds,
    (in_flight, depth): (f64, f64),
    longer: &str,
) -> Option<Assessment> {
    let throughputs = [0, 1, 2].map(|point| rounds.values_of_point(point));
    if throughputs
        .iter()
        .any(|values| values.len() < DEFAULT_ROUNDS)
    {
        return None;
    }
    let [random, zeros, repeats] = &throughputs;
    let (zero, repeat) = (rounds.ratio_of_points(1, 0)?, rounds.ratio_of_points(2, 0)?);
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let (slowest, fastest) = (least(random), random.iter().copied().fold(0.0, f64::max));
    let is_faster = |values: &[f64], ratio: RatioEstimate| {
        least(values) > fastest && ratio.value > MIN_SIGNIFICANT_RATIO && ratio.low > 1.0
    };
    let is_faster = is_faster(zeros, zero) || is_faster(repeats, repeat);
    let ratios = [zero, repeat];
    let facts = json!({ "zero_ratio": zero.value, "repeat_ratio": repeat.value });
    let verdict = if is_faster && in_flight < FULL_QUEUE_FRACTION * depth {
        DATA_GENERATION_TOO_SLOW.found(
            format!(
                "{}, but with random data only {} of {depth} requests were in flight: this machine \
                 generates random data more slowly than the drive accepts it",
                describe(ratios),
                units::format_three_digits(in_flight)
            ),
            "whether the drive compresses is not determined: use a smaller --depth, and larger --bytes",
            json!({ "ratios": facts, "in_flight": in_flight, "depth": depth }),
        )
    } else if is_faster {
        DRIVE_COMPRESSES.found(
            describe(ratios),
            "measure with random data only; results of programs that write zeros are not comparable",
            facts,
        )
    } else if fastest / slowest > MAX_REPEAT_RATIO {
        rate_changed(slowest, fastest, longer)
    } else {
        NO_COMPRESSION.found(
            describe(ratios),
            "no action needed: any data pattern gives valid metrics on this drive",
            facts,
        )
    };
    Some(Assessment { ratios, verdict })
}

/// Throughput of zeros and of the repeated block as ratios to that of random data, in words.
fn describe([zero, repeat]: [RatioEstimate; 2]) -> String {
    format!(
        "zeros are written {} times and a repeated block {} times as fast as random data",
        units::format_three_digits(zero.value),
        units::format_three_digits(repeat.value)
    )
}

fn rate_changed(lowest: f64, highest: f64, longer: &str) -> Verdict {
    RATE_CHANGED.found(
        format!(
            "the same random data was written at {} to {}",
            units::format_throughput(lowest),
            units::format_throughput(highest)
        ),
        format!("a cache was full, or the drive has other users: repeat the run with {longer} on an idle drive"),
        json!({ "lowest": lowest, "highest": highest }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::{FakeDrive, check_codes, metric_value};

    #[test]
    fn compression_of_compressing_drive_is_detected() {
        let fake = FakeDrive::new(|request| {
            Some(match request.plan.data_kind {
                DataKind::Zero => 100_000,
                _ => 300_000,
            })
        });
        let finished = fake::run_on_fake(
            find_benchmark("compression").unwrap(),
            &fake::simulated_target(1 << 30),
            &[],
            &fake,
        );
        assert!((metric_value(&finished, &MetricId::COMPRESSION_RATIO) - 3.0).abs() < 0.01);
        assert!((metric_value(&finished, &MetricId::DEDUPLICATION_RATIO) - 1.0).abs() < 0.01);
        let ratio = finished
            .findings
            .metric(&MetricId::COMPRESSION_RATIO)
            .unwrap();
        assert!(ratio.low.unwrap() > 2.9 && ratio.high.unwrap() < 3.1);
        let mean = finished
            .findings
            .metric(&MetricId::parse("random_throughput"))
            .unwrap();
        assert!(mean.low.is_some() && mean.high.is_some());
        assert_eq!(check_codes(&finished), ["drive-compresses"]);
        let curve = |name: &str| {
            finished
                .findings
                .series(&SeriesId::parse(name))
                .unwrap()
                .points
                .clone()
        };
        let (random, zero) = (curve("throughput-random"), curve("throughput-zero"));
        assert_eq!([random[0][0], random[3][0]], [1.0, 4.0]);
        assert!((zero[1][1] / random[1][1] - 3.0).abs() < 0.01);
    }

    #[test]
    fn compression_with_slow_random_data_source_is_not_detected() {
        let rounds_of = |means: [f64; 3]| {
            let mut rounds = SweepRounds::new(3);
            for (point, mean) in means.into_iter().enumerate() {
                (0..DEFAULT_ROUNDS).for_each(|round| rounds.set_value(point, round, mean));
            }
            rounds
        };
        let (faster, equal) = (rounds_of([262e6, 786e6, 786e6]), rounds_of([262e6; 3]));
        for (rounds, depth, check) in [
            (&faster, 32.0, DATA_GENERATION_TOO_SLOW),
            // With the requested queue depth in flight the drive is the bottleneck.
            (&faster, 1.0, DRIVE_COMPRESSES),
            // Equal throughputs: the bottleneck does not matter.
            (&equal, 32.0, NO_COMPRESSION),
        ] {
            let found = assess(rounds, (1.0, depth), "").unwrap();
            assert!(found.verdict.is_of(check), "{:?}", found.verdict);
        }
        assert!(assess(&SweepRounds::new(3), (1.0, 1.0), "").is_none());
    }

    #[test]
    fn compression_of_noncompressing_drive_is_ruled_out() {
        let fake = FakeDrive::new(|_| Some(300_000));
        let finished = fake::run_on_fake(
            find_benchmark("compression").unwrap(),
            &fake::simulated_target(1 << 30),
            &[],
            &fake,
        );
        assert_eq!(check_codes(&finished), ["no-compression"]);
        let plans = fake.executed_plans.lock().unwrap();
        assert_eq!(
            plans
                .iter()
                .filter_map(|plan| plan.limits.bytes)
                .sum::<u64>(),
            1 << 30
        );
    }

    #[test]
    fn compression_with_filling_write_cache_is_not_detected() {
        let seen = std::sync::atomic::AtomicU64::new(0);
        let fake = FakeDrive::new(move |request| {
            let before = seen.fetch_add(
                u64::from(request.bytes),
                std::sync::atomic::Ordering::Relaxed,
            );
            Some(if before < 256 << 20 { 100_000 } else { 300_000 })
        });
        let finished = fake::run_on_fake(
            find_benchmark("compression").unwrap(),
            &fake::simulated_target(1 << 30),
            &[],
            &fake,
        );
        assert_eq!(check_codes(&finished), ["rate-changed"]);
        // 1 GiB is written in a fraction of the 40 s.
        let advice = &finished.findings.verdicts[0].advice;
        assert!(advice.contains("more --bytes"), "{advice}");
    }
}
