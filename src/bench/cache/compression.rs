//! Detects compression or deduplication in a drive, which would inflate all later results.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::rounds::{DEFAULT_ROUNDS, RatioEstimate, SweepRounds};
use crate::bench::framework::sweep::SweepTurn;
use crate::bench::framework::variants;
use crate::bench::framework::variants::{PassHook, VARIANT_METRICS, Variant, VariantTotal};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, Forecast, Parameter,
    ParameterSet, RunContext,
};
use crate::drive::Target;
use crate::engine::{AccessPattern, DataKind, ExecutionOutcome, IoOperation, Plan, PlanLimits};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{
    Findings, Metric, MetricId, MetricKind, MetricTable, MetricTableRow, SeriesId, SeriesKind,
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

/// The throughput of one kind of data in a round, from 1 on.
fn throughput_in_round(key: &VariantKey, round: usize) -> MetricId {
    MetricId::of_variant(key.round(round), MetricKind::Throughput)
}

fn complete_plan(target: &Target, parameters: &ParameterSet) -> Result<Plan, BenchError> {
    framework::build_plan(
        target,
        parameters,
        IoOperation::Write,
        AccessPattern::Sequential,
    )
}

/// One variant per data pattern.
fn data_variants(base_plan: &Plan) -> [Variant; 3] {
    DATA_KINDS.map(|written| {
        let plan = Plan {
            data_kind: written.data,
            limits: PlanLimits::default(),
            ..base_plan.clone()
        };
        Variant::new(written.label, written.key, plan)
    })
}

impl Benchmark for CompressionBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let plan = complete_plan(target, parameters)?;
        let amount = framework::describe_written_limit(plan.limits.bytes, target);
        let time = variants::planned_rounds(plan.limits, &data_variants(&plan));
        Ok(Forecast {
            sentence: format!(
                "writes random, zero and repeated data in {DEFAULT_ROUNDS} rounds to {}{amount}",
                describe_target(target)
            ),
            run_time: time.run_time(target),
            max_read_bytes: None,
            max_written_bytes: plan.limits.bytes,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let base_plan = complete_plan(bench.target, bench.parameters)?;
        bench.findings.set_table(throughput_table());
        let variants = data_variants(&base_plan);
        variants::measure_in_rounds(
            bench,
            base_plan.limits,
            &variants,
            base_plan.seed,
            &mut EachRound,
        )?;
        set_results(bench, base_plan.seed);
        Ok(())
    }
}

/// Mean throughput of each kind of data, and that of every round.
fn throughput_table() -> MetricTable {
    let row = |written: WrittenData| MetricTableRow {
        name: written.label.into(),
        cells: std::iter::once(MetricId::of_variant(
            written.key.clone(),
            MetricKind::Throughput,
        ))
        .chain((1..=DEFAULT_ROUNDS).map(|round| throughput_in_round(&written.key, round)))
        .collect(),
    };
    MetricTable {
        name: "Data patterns".into(),
        columns: ["mean", "1st", "2nd", "3rd", "4th"]
            .map(Into::into)
            .to_vec(),
        rows: DATA_KINDS.map(row).to_vec(),
    }
}

/// Sets the metrics of each round separately: `KEY_1_throughput` and so on.
struct EachRound;

impl PassHook for EachRound {
    fn after_variant(
        &mut self,
        findings: &mut Findings,
        turn: SweepTurn,
        outcome: &ExecutionOutcome,
        _: &VariantTotal,
    ) {
        let key = DATA_KINDS[turn.point].key.round(turn.round + 1);
        variants::set_variant_metrics(findings, &key, outcome);
        set_throughput_series(findings);
    }
}

/// Throughput of each data pattern over the round number.
fn set_throughput_series(findings: &mut Findings) {
    for written in DATA_KINDS {
        let of_round = |round: usize| {
            let run_metric = findings.metric(&throughput_in_round(&written.key, round))?;
            let interval = run_metric
                .low
                .zip(run_metric.high)
                .map(|(low, high)| [low, high]);
            Some(([round as f64, run_metric.value], interval))
        };
        let points: Vec<_> = (1..=DEFAULT_ROUNDS).filter_map(of_round).collect();
        if !points.is_empty() {
            findings.set_series(framework::series_with_intervals(written.series, points));
        }
    }
}

/// Throughputs of the data patterns by round; `None` unless all rounds are complete.
fn round_throughputs(findings: &Findings, seed: u64) -> Option<SweepRounds> {
    let mut rounds = SweepRounds::new(DATA_KINDS.len(), seed);
    for (point, written) in DATA_KINDS.iter().enumerate() {
        for round in 0..DEFAULT_ROUNDS {
            let throughput = throughput_in_round(&written.key, round + 1);
            rounds.set_value(point, round, findings.metric(&throughput)?.value);
        }
    }
    Some(rounds)
}

/// Mean requests in flight during writes of random data, by Little's law.
fn random_data_in_flight(findings: &Findings) -> Option<f64> {
    let of = |round: usize, kind| {
        let id = MetricId::of_variant(RANDOM.round(round), kind);
        findings.metric(&id).map(|metric| metric.value)
    };
    let reached = |round| {
        let (iops, mean_ns) = (
            of(round, MetricKind::Iops)?,
            of(round, MetricKind::Latency)?,
        );
        Some(mean_in_flight(iops, mean_ns))
    };
    let sum: Option<f64> = (1..=DEFAULT_ROUNDS).map(reached).sum();
    Some(sum? / DEFAULT_ROUNDS as f64)
}

fn set_results(bench: &mut RunContext<'_>, seed: u64) {
    let depth = f64::from(bench.parameters.get(framework::DEPTH));
    let Some((run_metrics, verdict)) = assess_compression(&bench.findings, depth, seed) else {
        return;
    };
    run_metrics
        .into_iter()
        .for_each(|run_metric| bench.set_metric(run_metric));
    bench.set_check(verdict);
}

/// The metrics and the check from the throughputs at this queue depth; `None` unless all rounds are complete.
fn assess_compression(
    findings: &Findings,
    depth: f64,
    seed: u64,
) -> Option<([Metric; 2], Verdict)> {
    let rounds = round_throughputs(findings, seed)?;
    let (zero, repeat) = (rounds.ratio_of_points(1, 0)?, rounds.ratio_of_points(2, 0)?);
    let run_metrics = [
        zero.to_metric(MetricId::COMPRESSION_RATIO),
        repeat.to_metric(MetricId::DEDUPLICATION_RATIO),
    ];
    let throughputs = |point: usize| rounds.values_of_point(point).into_iter();
    let least = |point: usize| throughputs(point).fold(f64::INFINITY, f64::min);
    let (slowest, fastest) = (least(0), throughputs(0).fold(0.0, f64::max));
    let is_faster = |point: usize, ratio: RatioEstimate| {
        least(point) > fastest && ratio.value > MIN_SIGNIFICANT_RATIO && ratio.low > 1.0
    };
    let is_faster = is_faster(1, zero) || is_faster(2, repeat);
    let ratios = DataRatios {
        zero_ratio: zero.value,
        repeat_ratio: repeat.value,
    };
    let in_flight = random_data_in_flight(findings);
    let starved = in_flight.filter(|in_flight| *in_flight < FULL_QUEUE_FRACTION * depth);
    let verdict = match (is_faster, starved) {
        (true, Some(in_flight)) => data_generation_too_slow(ratios, in_flight, depth),
        (true, None) => DRIVE_COMPRESSES.found(
            ratios.text(),
            "measure with random data only; results of programs that write zeros are not comparable",
            ratios.facts(),
        ),
        (false, _) if fastest / slowest > MAX_REPEAT_RATIO => rate_changed(slowest, fastest),
        (false, _) => NO_COMPRESSION.found(
            ratios.text(),
            "no action needed: any data pattern gives valid metrics on this drive",
            ratios.facts(),
        ),
    };
    Some((run_metrics, verdict))
}

/// Throughput of other data patterns as a ratio to random data.
#[derive(Clone, Copy)]
struct DataRatios {
    zero_ratio: f64,
    repeat_ratio: f64,
}

impl DataRatios {
    fn text(self) -> String {
        format!(
            "zeros are written {} times and a repeated block {} times as fast as random data",
            units::format_three_digits(self.zero_ratio),
            units::format_three_digits(self.repeat_ratio)
        )
    }

    fn facts(self) -> Value {
        json!({ "zero_ratio": self.zero_ratio, "repeat_ratio": self.repeat_ratio })
    }
}

fn data_generation_too_slow(ratios: DataRatios, in_flight: f64, depth: f64) -> Verdict {
    DATA_GENERATION_TOO_SLOW.found(
        format!(
            "{}, but with random data only {} of {depth} requests were in flight: this machine generates \
             random data more slowly than the drive accepts it",
            ratios.text(),
            units::format_three_digits(in_flight)
        ),
        "whether the drive compresses is not determined: use a smaller --depth, and larger --bytes",
        json!({ "ratios": ratios.facts(), "in_flight": in_flight, "depth": depth }),
    )
}

fn rate_changed(lowest: f64, highest: f64) -> Verdict {
    RATE_CHANGED.found(
        format!(
            "the same random data was written at {} to {}",
            units::format_throughput(lowest),
            units::format_throughput(highest)
        ),
        "a cache was full, or the drive has other users: repeat the run with a longer --duration on an \
         idle drive",
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

    /// Findings of four equal rounds: throughput, IOPS and latency of each data pattern.
    fn findings_of_rounds(kinds: [(&str, [f64; 3]); 3]) -> Findings {
        let mut findings = Findings::default();
        for (key, values) in kinds {
            for cycle in 1..=DEFAULT_ROUNDS {
                for (name, value) in ["throughput", "iops", "latency"].into_iter().zip(values) {
                    findings.set_metric(Metric::new(
                        MetricId::parse(&format!("{key}_{cycle}_{name}")),
                        value,
                    ));
                }
            }
        }
        findings
    }

    #[test]
    fn compression_with_slow_random_data_source_is_not_detected() {
        // Little's law: 2000 requests per second of 0.5 ms each are one in flight, of 32 requested.
        let starved = [
            ("random", [262e6, 2000.0, 5e5]),
            ("zero", [786e6, 6000.0, 5.3e6]),
            ("repeat", [786e6, 6000.0, 5.3e6]),
        ];
        let (run_metrics, verdict) =
            assess_compression(&findings_of_rounds(starved), 32.0, 1).unwrap();
        assert!(verdict.is_of(DATA_GENERATION_TOO_SLOW));
        assert_eq!(
            (&verdict.facts["in_flight"], &verdict.facts["depth"]),
            (&json!(1.0), &json!(32.0))
        );
        assert!((run_metrics[0].value - 3.0).abs() < 1e-9);
        // With the requested queue depth in flight the drive is the bottleneck.
        let (_, verdict) = assess_compression(&findings_of_rounds(starved), 1.0, 1).unwrap();
        assert!(verdict.is_of(DRIVE_COMPRESSES));
        // Equal throughputs: the bottleneck does not matter.
        let even = starved.map(|(key, _)| (key, [262e6, 2000.0, 5e5]));
        let (_, verdict) = assess_compression(&findings_of_rounds(even), 32.0, 1).unwrap();
        assert!(verdict.is_of(NO_COMPRESSION));
        assert!(assess_compression(&Findings::default(), 32.0, 1).is_none());
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
    }
}
