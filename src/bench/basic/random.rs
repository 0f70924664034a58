//! Random reads, writes, or both: IOPS and latency.

use std::time::Duration;

use crate::bench::framework;
use crate::bench::framework::context::IO_ERRORS;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::{describe_target, random_pattern};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, ParameterSet,
    Phases, RunContext,
};
use crate::drive::Target;
use crate::engine::{IoOperation, IoStats, Plan};
use crate::session::checks::{QUEUE_DEPTH_NOT_REACHED, Workload};
use crate::session::document::check::Check;
use crate::session::document::{
    Findings, Metric, MetricId, MetricKind, Percentile, SeriesId, VariantKey, Verdict,
};
use crate::stats::latency::concurrency::{max_mean_in_flight, mean_in_flight};
use crate::units;

/// Fraction of the arrival rate below which the drive does not keep up.
const MIN_RATE_FRACTION: f64 = 0.98;
/// Minimum backlog in requests: in a short run a single slow request delays the end by more than the
/// rate may miss.
const MIN_BACKLOG: f64 = 10.0;

/// The percentiles of each direction.
const PERCENTILES: [Percentile; 4] = [
    Percentile::from_tenths(500),
    Percentile::from_tenths(900),
    Percentile::from_tenths(990),
    Percentile::from_tenths(999),
];
const LATENCY_P50: MetricKind = MetricKind::LatencyPercentile(PERCENTILES[0]);
const LATENCY_P90: MetricKind = MetricKind::LatencyPercentile(PERCENTILES[1]);
const LATENCY_P99: MetricKind = MetricKind::LatencyPercentile(PERCENTILES[2]);
const LATENCY_P99_9: MetricKind = MetricKind::LatencyPercentile(PERCENTILES[3]);

/// Requests at random offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RandomBenchmark {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes; a parameter is the fraction of the reads.
    Mixed,
}

impl Benchmark for RandomBenchmark {
    fn description(&self) -> &'static Description {
        match self {
            Self::Read => &READ,
            Self::Write => &WRITE,
            Self::Mixed => &MIXED,
        }
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let (operation, label, does) = match self {
            Self::Read => (IoOperation::Read, "random reads", "reads".to_owned()),
            Self::Write => (IoOperation::Write, "random writes", "writes".to_owned()),
            Self::Mixed => {
                let reads = parameters.get(framework::READ_FRACTION);
                let does = format!("reads ({}) and writes", units::format_percent(reads));
                let operation = IoOperation::Mixed { reads };
                (operation, "random reads and writes", does)
            }
        };
        let plan =
            framework::build_plan(target, parameters, operation, random_pattern(parameters))?;
        let load = match plan.arrival_rate {
            Some(rate) => format!("{} arrivals/s (open loop)", units::format_count(rate)),
            None => format!("{} in flight", requested_in_flight(&plan)),
        };
        let sentence = format!(
            "{does} {} at random offsets of {}, {load}",
            framework::describe_block_size(plan.block_size),
            describe_target(target),
        );
        Ok(Phases::of_plan(sentence, label, plan.clone()).with_wakeup_phase(&plan, parameters))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let phases = self.phases(bench.target, bench.parameters)?;
        let slower = bench.parameters.get(framework::SLOWER_THAN);
        bench.run_phases(&phases, &mut |findings, phase| {
            set_metrics(findings, phase.plan, phase.stats, phase.elapsed, slower);
        })?;
        bench.measure_wakeup(&phases)
    }
}

/// The chart of random-read, random-write and mixed.
const CHART: ChartSpec = ChartSpec::new(
    "IOPS over the run",
    ChartShape::Line,
    &[SeriesId::IOPS_OVER_TIME],
);

/// The metrics of each direction of a benchmark that reads and writes.
const DIRECTION_METRICS: &[MetricFamily] = &[MetricFamily::Own(&[
    MetricKind::Iops,
    MetricKind::Throughput,
    MetricKind::LatencyMean,
    LATENCY_P50,
    LATENCY_P90,
    LATENCY_P99,
    LATENCY_P99_9,
])];

/// The metrics of all requests together.
const OVERALL_METRICS: MetricFamily = MetricFamily::Own(&[
    MetricKind::Iops,
    MetricKind::Throughput,
    MetricKind::DepthReached,
    MetricKind::ShareSlower,
    MetricKind::WakeupCost,
]);

/// The parameters of all three benchmarks in their order: `$first` ones, those of every workload with
/// those of writes among them, and the limit in bytes.
macro_rules! random_parameters {
    ([$($first:ident),*], [$($of_writes:ident),*], $bytes:ident) => {
        &[
            $(&framework::$first,)*
            &framework::BLOCK_SIZES,
            &framework::DEPTH_OF_MEDIUM,
            &framework::WORKERS,
            &framework::PATTERN,
            &framework::ZIPF,
            &framework::RATE,
            $(&framework::$of_writes,)*
            &framework::DURATION,
            &framework::$bytes,
            &framework::REQUESTS,
            &framework::RAMP,
            &framework::WINDOW_BEGIN,
            &framework::WINDOW_END,
            &framework::ALIGN,
            &framework::SEED,
            &framework::SLOWER_THAN,
            &framework::CACHE,
            &framework::WAIT,
            &framework::CONTINUE_ON_ERROR,
        ]
    };
}

/// What the workloads have in common.
const SHARED: Description = Description {
    group: BenchmarkGroup::Throughput,
    checks: CHECKS,
    workload: Workload::RANDOM,
    metrics: &[OVERALL_METRICS, MetricFamily::Latency],
    charts: &[CHART],
    headline_metrics: &[
        MetricId::IOPS,
        MetricId::THROUGHPUT,
        MetricId::LATENCY_MEAN,
        MetricId::LATENCY_P50,
        MetricId::LATENCY_P99,
        MetricId::WAKEUP_COST,
        MetricId::SHARE_SLOWER,
    ],
    ..Description::BLANK
};

static READ: Description = Description {
    name: "random-read",
    aliases: &["rndread", "randread"],
    example: "/srv --depth 32 --duration 30s",
    summary: "random reads: IOPS and latency",
    explanation: include_str!("random/random-read.md").trim_ascii_end(),
    workload: Workload::RANDOM_READS,
    parameters: random_parameters!([], [], BYTES),
    ..SHARED
};

static WRITE: Description = Description {
    name: "random-write",
    aliases: &["rndwrite", "randwrite"],
    example: "/srv --depth 1 --sync dsync",
    summary: "random writes: IOPS and latency",
    explanation: include_str!("random/random-write.md").trim_ascii_end(),
    may_write: true,
    parameters: random_parameters!([], [SYNC, DATA], WRITTEN_BYTES),
    ..SHARED
};

static MIXED: Description = Description {
    name: "mixed",
    aliases: &["randrw"],
    example: "/srv --reads 70% --block-size 8KiB",
    summary: "mixed random reads and writes: IOPS and latency of each direction",
    explanation: include_str!("random/mixed.md").trim_ascii_end(),
    may_write: true,
    workload: Workload::RANDOM_READS,
    metrics: &[
        OVERALL_METRICS,
        MetricFamily::Latency,
        MetricFamily::Variants {
            variants: &[
                VariantFamily::One(VariantKey::READ),
                VariantFamily::One(VariantKey::WRITE),
            ],
            metrics: DIRECTION_METRICS,
        },
    ],
    parameters: random_parameters!([READ_FRACTION], [SYNC, DATA], WRITTEN_BYTES),
    headline_metrics: &[
        MetricId::IOPS,
        MetricId::of_variant(VariantKey::READ, MetricKind::Iops),
        MetricId::of_variant(VariantKey::WRITE, MetricKind::Iops),
        MetricId::of_variant(VariantKey::READ, LATENCY_P50),
        MetricId::of_variant(VariantKey::READ, LATENCY_P99),
        MetricId::of_variant(VariantKey::WRITE, LATENCY_P50),
        MetricId::of_variant(VariantKey::WRITE, LATENCY_P99),
        MetricId::SHARE_SLOWER,
    ],
    ..SHARED
};

/// The drive does not keep up with an open loop.
const RATE_NOT_REACHED: Check = Check::warning(
    "rate-not-reached",
    "Fewer requests per second were completed than arrived.",
);

/// Checks of the benchmarks with random requests.
const CHECKS: &[Check] = &[RATE_NOT_REACHED, QUEUE_DEPTH_NOT_REACHED, IO_ERRORS];

/// Requests in flight of all workers.
fn requested_in_flight(plan: &Plan) -> u64 {
    u64::from(plan.depth) * u64::from(plan.workers)
}

fn set_metrics(
    findings: &mut Findings,
    plan: &Plan,
    stats: &IoStats,
    elapsed: Duration,
    slower: Option<Duration>,
) {
    framework::report_throughput_metrics(findings, stats, elapsed);
    framework::report_slower_than(findings, stats, slower);
    if let IoOperation::Mixed { .. } = plan.operation {
        set_metrics_by_direction(findings, stats, elapsed);
    }
    let value = |id| findings.metric(id).map(|metric: &Metric| metric.value);
    let mean_ns = value(&MetricId::LATENCY_MEAN);
    let (Some(iops), Some(mean_ns)) = (value(&MetricId::IOPS), mean_ns) else {
        return;
    };
    if let Some(rate) = plan.arrival_rate {
        // Requests that arrived and are not complete: of a drive that keeps up, those in flight.
        let backlog = (rate - iops) * elapsed.as_secs_f64();
        let in_flight = requested_in_flight(plan) as f64;
        if iops < MIN_RATE_FRACTION * rate && backlog >= MIN_BACKLOG.max(2.0 * in_flight) {
            findings.set_check(rate_not_reached(rate, iops));
        } else {
            findings.remove_check(RATE_NOT_REACHED);
        }
        return;
    }
    let reached = mean_in_flight(iops, mean_ns);
    findings.set_metric(Metric::new(MetricId::DEPTH_REACHED, reached));
    let requested = requested_in_flight(plan) as f64;
    let latency = stats.latency();
    let bound = max_mean_in_flight(
        latency.count(),
        (mean_ns, latency.max().unwrap_or_default() as f64),
        elapsed.as_nanos() as f64,
        requested,
    );
    match framework::below_target_depth(requested, bound, "more --workers may help") {
        Some(verdict) => findings.set_check(verdict),
        // An earlier report of the same run may have set it.
        None => findings.remove_check(QUEUE_DEPTH_NOT_REACHED),
    }
}

fn rate_not_reached(arrived_per_s: f64, completed_per_s: f64) -> Verdict {
    RATE_NOT_REACHED.found(
        format!(
            "{} requests per second arrived, {} completed",
            units::format_count(arrived_per_s),
            units::format_count(completed_per_s)
        ),
        "the drive is overloaded, and latency grows throughout the run: use a lower --rate, or a \
         larger --depth if the drive accepts more requests at once",
        serde_json::json!({ "arrived_per_s": arrived_per_s, "completed_per_s": completed_per_s }),
    )
}

/// Sets metrics for reads and writes separately: `read_iops`, `write_latency_p99` and so on.
fn set_metrics_by_direction(findings: &mut Findings, stats: &IoStats, elapsed: Duration) {
    let seconds = elapsed.as_secs_f64();
    for (variant, direction) in [
        (VariantKey::READ, &stats.read),
        (VariantKey::WRITE, &stats.write),
    ] {
        let count = direction.latency.count();
        if count == 0 || seconds <= 0.0 {
            continue;
        }
        let mut put = |kind, value: f64| {
            let id = MetricId::of_variant(variant.clone(), kind);
            findings.set_metric(Metric::new(id, value).with_observations(count));
        };
        put(MetricKind::Iops, count as f64 / seconds);
        put(MetricKind::Throughput, direction.bytes as f64 / seconds);
        if let Some(mean) = direction.latency.mean() {
            put(MetricKind::LatencyMean, mean);
        }
        for percentile in PERCENTILES {
            if let Some(value) = direction.latency.percentile(percentile.percent()) {
                put(MetricKind::LatencyPercentile(percentile), value as f64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::FakeDrive;
    use crate::session::document::{MetricId, MetricUnit};

    #[test]
    fn random_read_of_constant_drive_yields_exact_metrics() {
        let fake = FakeDrive::new(|_| Some(100_000));
        let target = fake::simulated_target(1 << 30);
        let set = [("depth", "8"), ("duration", "1s"), ("slower-than", "50us")];
        let finished = fake::run_on_fake(find_benchmark("rndread").unwrap(), &target, &set, &fake);
        let value = |name| fake::metric_value(&finished, &MetricId::parse(name));
        assert!((value("iops") / 80_000.0 - 1.0).abs() < 1e-3);
        assert_eq!(value("latency_mean"), 100_000.0);
        assert!((value("latency_p99") / 100_000.0 - 1.0).abs() < 1e-3);
        assert_eq!(value("share_slower"), 1.0);
        assert!((value("depth_reached") - 8.0).abs() < 0.1);
        assert!(finished.findings.verdicts.is_empty());
    }

    /// The checks of random reads of a drive with this latency in nanoseconds.
    fn checks_of(
        latency_of: impl Fn(u64) -> u64 + Send + Sync,
        set: &[(&str, &str)],
    ) -> Vec<String> {
        let fake = FakeDrive::new(move |request| Some(latency_of(request.address)));
        let target = fake::simulated_target(1 << 30);
        let test = find_benchmark("rndread").unwrap();
        fake::check_codes(&fake::run_on_fake(test, &target, set, &fake))
    }

    #[test]
    fn short_runs_do_not_blame_the_queue_depth() {
        // The queue drains for a tenth to a half of such a run.
        for duration in ["100ms", "300ms", "1s"] {
            for depth in ["1", "2", "32", "128"] {
                let set = [("depth", depth), ("duration", duration)];
                let checks = checks_of(|address| 20_000_000 + address % 77 * 1_000_000, &set);
                assert!(
                    !checks.contains(&"queue-depth-not-reached".to_owned()),
                    "depth {depth}, {duration}: {checks:?}"
                );
            }
        }
    }

    #[test]
    fn short_open_loop_with_a_slow_last_request_keeps_its_rate() {
        for (latency, duration, expected) in
            [(60, "1s", false), (200, "500ms", false), (12, "2s", true)]
        {
            // At depth 1 a latency of 12 ms is 83 requests per second.
            let depth = if expected { "1" } else { "64" };
            let set = [("rate", "100/s"), ("depth", depth), ("duration", duration)];
            let checks = checks_of(|_| latency * 1_000_000, &set);
            let code = "rate-not-reached".to_owned();
            assert_eq!(checks.contains(&code), expected, "{latency} ms: {checks:?}");
        }
    }

    #[test]
    fn mixed_reports_reads_and_writes_separately() {
        let fake =
            FakeDrive::new(|requested| Some(if requested.is_write { 400_000 } else { 100_000 }));
        let target = fake::simulated_target(1 << 30);
        let set = [("depth", "1"), ("duration", "2s"), ("reads", "75%")];
        let finished = fake::run_on_fake(find_benchmark("mixed").unwrap(), &target, &set, &fake);
        let value = |name| fake::metric_value(&finished, &MetricId::parse(name));
        assert_eq!(value("read_latency_mean"), 100_000.0);
        assert_eq!(value("write_latency_mean"), 400_000.0);
        let share = value("read_iops") / (value("read_iops") + value("write_iops"));
        assert!((share - 0.75).abs() < 0.02, "{share}");
        assert_eq!(
            finished
                .findings
                .metric(&MetricId::parse("read_iops"))
                .unwrap()
                .unit,
            MetricUnit::PerSecond
        );
        let latency = &finished.findings.latency;
        assert!(latency.read.is_some() && latency.write.is_some());
    }

    #[test]
    fn random_write_forecast_names_written_fraction_of_drive() {
        let target = fake::simulated_target(100 << 30);
        let test = find_benchmark("rndwrite").unwrap();
        let parameters = fake::parameters(test, &target, &[("bytes", "10GiB")]);
        let forecast = test.forecast(&target, &parameters).unwrap();
        assert_eq!(forecast.max_written_bytes, Some(10 << 30));
        assert!(
            forecast.sentence.contains("10 % of the target"),
            "{}",
            forecast.sentence
        );
    }
}
