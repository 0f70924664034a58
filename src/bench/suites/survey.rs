//! All read benchmarks applicable to a drive, with a summary.

mod advice;

use std::time::Duration;

use serde_json::json;

use self::advice::{
    ADVICE_BLOCK_SIZE, ADVICE_FULL_COPY, ADVICE_QUEUE_DEPTH, BLOCK_SIZE_READ, CONCURRENCY_READ,
    SEQUENTIAL_READ, THROUGHPUT_ABOVE_MEDIUM, metric_value,
};
use crate::bench::basic::random::{RandomBenchmark, RandomWorkload};
use crate::bench::basic::sequential::SequentialBenchmark;
use crate::bench::contention::interference::InterferenceBenchmark;
use crate::bench::contention::reorder::ReorderBenchmark;
use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::operation::Operation;
use crate::bench::framework::parameter_conflict::ParameterConflict;
use crate::bench::hdd;
use crate::bench::sweeps::block_size::BlockSizeBenchmark;
use crate::bench::sweeps::concurrency::ConcurrencyBenchmark;
use crate::bench::{
    AnyParameter, BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description,
    Forecast, ParameterSet, RunContext, RunTime,
};
use crate::drive::Target;
use crate::files::safe_text::SafeText;
use crate::session::checks::{DOES_NOT_ROTATE, Workload};
use crate::session::document::check::Check;
use crate::session::document::{
    Findings, Metric, MetricId, MetricKind, MetricTable, MetricTableRow, Percentile, SeriesId,
    SeriesKind, Verdict,
};

/// Runs the read benchmarks one after the other.
pub struct SurveySuite;

/// A benchmark of the survey.
#[derive(Clone, Copy)]
struct SurveyPart {
    benchmark: &'static dyn Benchmark,
    /// Run time in seconds on other drives.
    time_weight: u64,
    /// Run time in seconds on a possibly rotational drive: its low IOPS make a sweep slower.
    seconds_on_disk: u64,
    /// Targets to which it applies.
    applicability: Applicability,
}

/// Targets to which a benchmark applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applicability {
    AnyTarget,
    /// Possibly rotational, with target addresses that equal device addresses.
    PossiblyRotational,
    /// The same, unless `rotation` found that it does not rotate.
    Rotational,
}

/// The metrics of one benchmark of the survey.
macro_rules! nested_metrics {
    ($name:ident) => {
        MetricFamily::Nested {
            benchmark: $name,
            metrics: || metrics_of($name),
        }
    };
}

/// The metrics of the benchmark with this name; none if the survey does not run it.
fn metrics_of(name: &str) -> &'static [MetricFamily] {
    let mut parts = SURVEY_PARTS.iter().map(|part| part.benchmark.description());
    parts
        .find(|description| description.name == name)
        .map_or(&[], |description| description.metrics)
}

// Names of the benchmarks of the survey, in the ids of its metrics.
const RANDOM_READ: &str = "random-read";
const INTERFERENCE: &str = "interference";
const ROTATION: &str = "rotation";
const REORDER: &str = "reorder";
const FULL_STROKE: &str = "full-stroke";
const TRACK_TO_TRACK: &str = "track-to-track";
const SEEK_CURVE: &str = "seek-curve";

/// In execution order.
const SURVEY_PARTS: &[SurveyPart] = &[
    survey_part(
        &SequentialBenchmark {
            operation: Operation::Read,
        },
        20,
        Applicability::AnyTarget,
    ),
    survey_part(
        &RandomBenchmark {
            workload: RandomWorkload::Read,
        },
        10,
        Applicability::AnyTarget,
    ),
    SurveyPart {
        seconds_on_disk: 60,
        ..survey_part(
            &ConcurrencyBenchmark {
                operation: Operation::Read,
            },
            27,
            Applicability::AnyTarget,
        )
    },
    survey_part(
        &BlockSizeBenchmark {
            operation: Operation::Read,
        },
        24,
        Applicability::AnyTarget,
    ),
    survey_part(&InterferenceBenchmark, 15, Applicability::AnyTarget),
    survey_part(&hdd::ROTATION, 10, Applicability::PossiblyRotational),
    survey_part(&ReorderBenchmark, 40, Applicability::Rotational),
    survey_part(&hdd::FULL_STROKE, 15, Applicability::Rotational),
    survey_part(&hdd::TRACK_TO_TRACK, 15, Applicability::Rotational),
    survey_part(&hdd::SEEK_CURVE, 30, Applicability::Rotational),
];

const fn survey_part(
    benchmark: &'static dyn Benchmark,
    seconds: u64,
    applicability: Applicability,
) -> SurveyPart {
    SurveyPart {
        benchmark,
        time_weight: seconds,
        seconds_on_disk: seconds,
        applicability,
    }
}

const P50: MetricKind = MetricKind::LatencyPercentile(Percentile::from_tenths(500));
const P99: MetricKind = MetricKind::LatencyPercentile(Percentile::from_tenths(990));

// Series and metrics in the charts.
static THROUGHPUT_OVER_ADDRESS: [SeriesId; 1] = [SeriesId::of_nested(
    SEQUENTIAL_READ,
    SeriesKind::ThroughputOverAddress,
)];
static IOPS_AGAINST_DEPTH: [SeriesId; 1] = [SeriesId::of_nested(
    CONCURRENCY_READ,
    SeriesKind::IopsAgainstDepth,
)];
static THROUGHPUT_AGAINST_BLOCK_SIZE: [SeriesId; 1] = [SeriesId::of_nested(
    BLOCK_SIZE_READ,
    SeriesKind::ThroughputAgainstBlockSize,
)];
static OPTIMAL_DEPTH: [MetricId; 1] = [MetricId::of_nested(
    CONCURRENCY_READ,
    MetricKind::OptimalDepth,
)];

const SKIPPED: Check = Check::note(
    "skipped",
    "A nested benchmark could not be run; the code is BENCHMARK/skipped.",
);
const MECHANICS_SKIPPED: Check = Check::note(
    "mechanics-skipped",
    "The benchmarks of the mechanics were skipped because the drive does not rotate.",
);
static DESCRIPTION: Description = Description {
    name: "survey",
    aliases: &[],
    group: BenchmarkGroup::Quick,
    example: "/srv",
    summary: "all read-only benchmarks that apply to the drive, and one page of advice",
    explanation: include_str!("survey.md").trim_ascii_end(),
    may_write: false,
    checks: &[
        SKIPPED,
        MECHANICS_SKIPPED,
        THROUGHPUT_ABOVE_MEDIUM,
        ADVICE_QUEUE_DEPTH,
        ADVICE_BLOCK_SIZE,
        ADVICE_FULL_COPY,
    ],
    workload: Workload::CONSTANT,
    metrics: &[
        nested_metrics!(SEQUENTIAL_READ),
        nested_metrics!(RANDOM_READ),
        nested_metrics!(CONCURRENCY_READ),
        nested_metrics!(BLOCK_SIZE_READ),
        nested_metrics!(INTERFERENCE),
        nested_metrics!(ROTATION),
        nested_metrics!(REORDER),
        nested_metrics!(FULL_STROKE),
        nested_metrics!(TRACK_TO_TRACK),
        nested_metrics!(SEEK_CURVE),
    ],
    parameters: &[
        &framework::DURATION.with_default(|_| None),
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::CACHE,
    ],
    charts: &[
        ChartSpec::new(
            "Throughput against address",
            ChartShape::Steps,
            &THROUGHPUT_OVER_ADDRESS,
        ),
        ChartSpec::new(
            "IOPS against queue depth",
            ChartShape::Line,
            &IOPS_AGAINST_DEPTH,
        )
        .log_x()
        .with_marks(&OPTIMAL_DEPTH),
        ChartSpec::new(
            "Throughput against block size",
            ChartShape::Line,
            &THROUGHPUT_AGAINST_BLOCK_SIZE,
        )
        .log_x(),
    ],
    headline_metrics: &[
        MetricId::of_nested(SEQUENTIAL_READ, MetricKind::ThroughputMean),
        MetricId::of_nested(RANDOM_READ, MetricKind::Iops),
        MetricId::of_nested(RANDOM_READ, P99),
        MetricId::of_nested(CONCURRENCY_READ, MetricKind::OptimalDepth),
    ],
};

/// A row of the summary.
struct SummaryRow {
    label: &'static str,
    /// The queue depth to name in the label: metrics at different depths must not be compared
    /// without it.
    depth: Option<DepthSource>,
    benchmark: &'static str,
    metric: MetricKind,
}

impl SummaryRow {
    const fn new(label: &'static str, benchmark: &'static str, metric: MetricKind) -> Self {
        Self {
            label,
            depth: None,
            benchmark,
            metric,
        }
    }

    const fn at_depth(self, depth: DepthSource) -> Self {
        Self {
            depth: Some(depth),
            ..self
        }
    }

    fn id(&self) -> MetricId {
        MetricId::of_nested(self.benchmark, self.metric)
    }
}

/// Where the queue depth of a row comes from.
#[derive(Debug, Clone, Copy)]
enum DepthSource {
    /// A parameter of `random-read`.
    RandomRead,
    /// A parameter of `interference`.
    Interference,
    /// A metric of `concurrency-read`.
    Measured(MetricKind),
}

const OPTIMAL: DepthSource = DepthSource::Measured(MetricKind::OptimalDepth);
const OF_MAX_IOPS: DepthSource = DepthSource::Measured(MetricKind::IopsMaxDepth);

const SUMMARY_ROWS: &[SummaryRow] = &[
    SummaryRow::new(
        "sequential reads, mean",
        SEQUENTIAL_READ,
        MetricKind::ThroughputMean,
    ),
    SummaryRow::new(
        "at the slowest position",
        SEQUENTIAL_READ,
        MetricKind::ThroughputMin,
    ),
    SummaryRow::new(
        "at the fastest position",
        SEQUENTIAL_READ,
        MetricKind::ThroughputMax,
    ),
    SummaryRow::new(
        "time of a full read",
        SEQUENTIAL_READ,
        MetricKind::FullCopyTime,
    ),
    SummaryRow::new("random reads", RANDOM_READ, MetricKind::Iops)
        .at_depth(DepthSource::RandomRead),
    SummaryRow::new("p50 of these", RANDOM_READ, P50).at_depth(DepthSource::RandomRead),
    SummaryRow::new("p99 of these", RANDOM_READ, P99).at_depth(DepthSource::RandomRead),
    SummaryRow::new(
        "recommended queue depth",
        CONCURRENCY_READ,
        MetricKind::OptimalDepth,
    ),
    SummaryRow::new(
        "random reads",
        CONCURRENCY_READ,
        MetricKind::OptimalDepthIops,
    )
    .at_depth(OPTIMAL),
    SummaryRow::new(
        "p90 of these",
        CONCURRENCY_READ,
        MetricKind::OptimalDepthP90,
    )
    .at_depth(OPTIMAL),
    SummaryRow::new("ratio to depth 1", CONCURRENCY_READ, MetricKind::Speedup),
    SummaryRow::new(
        "highest random-read IOPS",
        CONCURRENCY_READ,
        MetricKind::IopsMax,
    )
    .at_depth(OF_MAX_IOPS),
    SummaryRow::new("p90 of these", CONCURRENCY_READ, MetricKind::IopsMaxP90).at_depth(OF_MAX_IOPS),
    SummaryRow::new("access time", BLOCK_SIZE_READ, MetricKind::AccessTime),
    SummaryRow::new(
        "balanced block size",
        BLOCK_SIZE_READ,
        MetricKind::BalancedBlockSize,
    ),
    SummaryRow::new(
        "recommended tree node size",
        BLOCK_SIZE_READ,
        MetricKind::BtreeNodeSize,
    ),
    SummaryRow::new(
        "IOPS with a background job",
        INTERFERENCE,
        MetricKind::IopsDisturbed,
    )
    .at_depth(DepthSource::Interference),
    SummaryRow::new(
        "sorted to unsorted random reads",
        REORDER,
        MetricKind::ReorderGain,
    ),
    SummaryRow::new("rotation", ROTATION, MetricKind::RotationSpeed),
    SummaryRow::new("full-stroke seek", FULL_STROKE, MetricKind::FullStrokeSeek),
    SummaryRow::new(
        "track-to-track seek",
        TRACK_TO_TRACK,
        MetricKind::TrackToTrackSeek,
    ),
    SummaryRow::new("average seek", SEEK_CURVE, MetricKind::AverageSeek),
];

/// A selected benchmark with its fraction of the time.
struct SelectedPart {
    benchmark: &'static dyn Benchmark,
    duration: Duration,
    applicability: Applicability,
}

/// The benchmarks applicable to a target.
fn applicable_parts(target: &Target, parameters: &ParameterSet) -> Vec<SelectedPart> {
    let may_rotate =
        target.is_rotational() == Some(true) && framework::addresses_are_physical(target);
    let suitable =
        |part: &&SurveyPart| part.applicability == Applicability::AnyTarget || may_rotate;
    let select = |part: &SurveyPart| SelectedPart {
        benchmark: part.benchmark,
        duration: Duration::from_secs(match may_rotate {
            true => part.seconds_on_disk,
            false => part.time_weight,
        }),
        applicability: part.applicability,
    };
    let mut chosen: Vec<SelectedPart> = SURVEY_PARTS.iter().filter(suitable).map(select).collect();
    let usual: Duration = chosen.iter().map(|part| part.duration).sum();
    let wanted = parameters.get(framework::DURATION).unwrap_or(usual);
    let scale = wanted.as_secs_f64() / usual.as_secs_f64().max(1e-9);
    for part in &mut chosen {
        part.duration = part.duration.mul_f64(scale);
    }
    chosen
}

/// Queue depths of the nested benchmarks.
#[derive(Debug, Clone, Copy)]
struct MeasuredDepths {
    random_depth: Option<u64>,
    interference_depth: Option<u64>,
}

impl MeasuredDepths {
    fn from_parts(parts: &[SelectedPart], target: &Target, own: &ParameterSet) -> Self {
        let depth = |name: &str| {
            let part = parts
                .iter()
                .find(|part| part.benchmark.description().name == name)?;
            part_parameters(part.benchmark, part.duration, target, own)
                .find(framework::DEPTH)
                .map(u64::from)
        };
        Self {
            random_depth: depth(RANDOM_READ),
            interference_depth: depth(INTERFERENCE),
        }
    }

    /// The label of a row, with its queue depth.
    fn label(self, row: &SummaryRow, findings: &Findings) -> String {
        let Some(source) = row.depth else {
            return row.label.to_owned();
        };
        let depth = match source {
            DepthSource::RandomRead => self.random_depth,
            DepthSource::Interference => self.interference_depth,
            DepthSource::Measured(metric) => {
                metric_value(findings, CONCURRENCY_READ, metric).map(|depth| depth as u64)
            }
        };
        let depth = depth.map_or("?".to_owned(), |depth| depth.to_string());
        format!("{}, depth {depth}", row.label)
    }
}

/// Parameters that the survey passes on to its nested benchmarks.
const SHARED_PARAMETERS: &[&dyn AnyParameter] = &[
    &framework::WINDOW_BEGIN,
    &framework::WINDOW_END,
    &framework::SEED,
    &framework::CACHE,
];

/// Parameters of a nested benchmark: its defaults, its time, and the survey's own parameters.
fn part_parameters(
    test: &dyn Benchmark,
    time: Duration,
    target: &Target,
    own: &ParameterSet,
) -> ParameterSet {
    let known = test.description().parameters;
    let mut parameters = ParameterSet::defaults(known, target);
    parameters.copy_from(own, SHARED_PARAMETERS);
    if parameters.find(framework::DURATION).is_some() {
        parameters.set(framework::DURATION, Some(time));
    }
    parameters
}

impl Benchmark for SurveySuite {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let parts = applicable_parts(target, parameters);
        let mut time = RunTime::default();
        for part in &parts {
            let own = part_parameters(part.benchmark, part.duration, target, parameters);
            // Skips a benchmark that does not fit the target.
            if let Ok(forecast) = part.benchmark.forecast(target, &own) {
                time = time + forecast.run_time;
            }
        }
        let names: Vec<&str> = parts
            .iter()
            .map(|part| part.benchmark.description().name)
            .collect();
        let window = framework::plan_window(target, parameters);
        if window.is_empty() {
            return Err(ParameterConflict::WindowEmpty.into());
        }
        Ok(Forecast {
            sentence: format!(
                "runs {} tests on {}: {}",
                names.len(),
                describe_target(target),
                names.join(", "),
            ),
            run_time: time,
            max_read_bytes: None,
            max_written_bytes: None,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let parts = applicable_parts(bench.target, bench.parameters);
        let depths = MeasuredDepths::from_parts(&parts, bench.target, bench.parameters);
        let total: Duration = parts.iter().map(|part| part.duration).sum();
        let mut skipped = Vec::new();
        for SelectedPart {
            benchmark: test,
            duration: time,
            applicability: suits,
        } in parts
        {
            if suits == Applicability::Rotational && is_found_non_rotational(&bench.findings) {
                skipped.push(test.description().name);
                continue;
            }
            let parameters = part_parameters(test, time, bench.target, bench.parameters);
            let share = time.as_secs_f64() / total.as_secs_f64().max(1e-9);
            let result = bench.run_nested(test, &parameters, share);
            if let Err(error) = result {
                bench.set_check(part_skipped(test, &error));
            }
            let rotational = bench.target.is_rotational() == Some(true);
            set_summary(&mut bench.findings, depths, rotational);
            bench.phase_finished();
            if bench.is_stopped() {
                break;
            }
        }
        if !skipped.is_empty() {
            bench.set_check(MECHANICS_SKIPPED.found(
                format!(
                    "skipped because the drive does not rotate: {}",
                    skipped.join(", ")
                ),
                "no action needed: these benchmarks measure the seek times of a disk",
                json!({ "benchmarks": skipped }),
            ));
        }
        Ok(())
    }
}

/// Whether the rotation benchmark found that the drive does not rotate.
fn is_found_non_rotational(findings: &Findings) -> bool {
    let mut verdicts = findings.verdicts.iter();
    verdicts.any(|verdict| verdict.is_of(DOES_NOT_ROTATE))
}

fn part_skipped(test: &dyn Benchmark, error: &BenchError) -> Verdict {
    let (message, advice) = (SafeText::from(error.to_string()), error.advice());
    let facts = json!({ "error": message, "advice": SafeText::from(&advice) });
    let sentence = format!("the benchmark could not be run: {message}");
    let verdict = SKIPPED.found(sentence, advice, facts);
    verdict.nested_in(test.description().name)
}

/// Sets the summary: the metrics that characterise a drive, and what follows from them.
fn set_summary(findings: &mut Findings, depths: MeasuredDepths, rotational: bool) {
    let row = |row: &SummaryRow| MetricTableRow {
        name: depths.label(row, findings).into(),
        cells: vec![row.id()],
    };
    // The summary omits a gain that is not significant.
    let significant = |metric: &Metric| {
        metric.id.kind() != Some(MetricKind::ReorderGain) || metric.low.is_some_and(|low| low > 1.0)
    };
    let known = |row: &&SummaryRow| findings.metric(&row.id()).is_some_and(significant);
    let table = MetricTable {
        name: "Summary".into(),
        columns: vec!["measured".into()],
        rows: SUMMARY_ROWS.iter().filter(known).map(row).collect(),
    };
    findings.set_table(table);
    let advice = [
        advice::queue_advice(findings),
        advice::block_advice(findings),
        advice::copy_advice(findings),
        advice::faster_than_medium(findings).filter(|_| rotational),
    ];
    for verdict in advice.into_iter().flatten() {
        findings.set_check(verdict);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::{FakeDrive, check_codes, metric_value, run_on_simulated};
    use crate::session::document::RunState;

    #[test]
    fn survey_of_simulated_drive_completes_in_one_run() {
        let name = "sim:constant,latency=1ms,throughput=100MB,parallel=4,size=4GB";
        let finished = run_on_simulated(find_benchmark("survey").unwrap(), name, &[]);
        assert_eq!(finished.state, RunState::Finished, "{:?}", finished.error);
        assert!(
            (metric_value(&finished, &MetricId::parse("block-size-read/access_time")) / 1e6 - 1.0)
                .abs()
                < 0.02
        );
        assert_eq!(
            metric_value(
                &finished,
                &MetricId::parse("concurrency-read/optimal_depth")
            ),
            4.0
        );
        let table = finished
            .findings
            .tables
            .iter()
            .find(|table| table.name == "Summary")
            .unwrap();
        assert!(table.rows.len() >= 12, "{table:?}");
        let codes = check_codes(&finished);
        for code in [
            "advice-queue-depth",
            "advice-block-size",
            "advice-full-copy",
        ] {
            assert!(codes.contains(&code.to_owned()), "{codes:?}");
        }
    }

    /// A target with the kernel's rotational flag set.
    fn rotational_target() -> Target {
        let name = "sim:hdd,size=10GB,cylinders=20000";
        let opened = crate::engine::open_target(
            &crate::roots::SysPaths::default(),
            name,
            crate::engine::EngineChoice::Auto,
            None,
        );
        opened.unwrap().target
    }

    #[test]
    fn survey_of_nonrotating_drive_skips_mechanics_with_one_check() {
        let target = rotational_target();
        let fake = FakeDrive::new(|request| Some(100_000 + request.address % 7919));
        let finished = fake::run_on_fake(find_benchmark("survey").unwrap(), &target, &[], &fake);
        let codes = check_codes(&finished);
        let reported = |part: &str| codes.iter().filter(|code| code.ends_with(part)).count();
        assert_eq!(reported("does-not-rotate"), 1, "{codes:?}");
        assert_eq!(reported("mechanics-skipped"), 1, "{codes:?}");
        let findings = &finished.findings;
        for part in [REORDER, FULL_STROKE, TRACK_TO_TRACK, SEEK_CURVE] {
            assert!(
                findings
                    .metrics
                    .iter()
                    .all(|it| it.id.benchmark() != Some(part)),
                "{part}"
            );
        }
    }

    #[test]
    fn survey_rows_and_advice_name_queue_depth() {
        let name = "sim:hdd,clock=virtual,size=100GB,cylinders=20000";
        let finished = run_on_simulated(find_benchmark("survey").unwrap(), name, &[]);
        let tables = &finished.findings.tables;
        let table = tables.iter().find(|table| table.name == "Summary").unwrap();
        let depth = |run_metric: &str| {
            let row = table
                .rows
                .iter()
                .find(|row| row.cells == [MetricId::parse(run_metric)])
                .unwrap();
            row.name
                .rsplit_once("depth ")
                .map(|(_, depth)| depth.to_owned())
        };
        assert_eq!(depth("random-read/iops"), depth("random-read/latency_p50"));
        let optimal = metric_value(
            &finished,
            &MetricId::parse("concurrency-read/optimal_depth"),
        )
        .to_string();
        assert_eq!(depth("concurrency-read/optimal_depth_iops"), Some(optimal));
        if let Some(most) = finished
            .findings
            .metric(&MetricId::parse("concurrency-read/iops_max_depth"))
        {
            let most = most.value.to_string();
            assert_eq!(depth("concurrency-read/iops_max"), Some(most));
        }
    }

    #[test]
    fn survey_forecast_states_run_time() {
        let target = Target::example_drive();
        let test = find_benchmark("survey").unwrap();
        let parameters = fake::parameters(test, &target, &[]);
        let forecast = test.forecast(&target, &parameters).unwrap();
        // Requests in flight at the end of a nested benchmark are awaited.
        let at_most = |seconds: u64| Duration::from_secs(seconds + 2).mul_f64(1.02);
        assert!(forecast.run_time.maximum <= at_most(96), "{forecast:?}");
        assert!(forecast.run_time.expected > at_most(48), "{forecast:?}");
        let parameters = fake::parameters(test, &target, &[("duration", "10s")]);
        let shorter = test.forecast(&target, &parameters).unwrap().run_time;
        assert!(shorter.maximum <= at_most(10), "{shorter:?}");
    }

    #[test]
    fn survey_of_failing_drive_keeps_partial_results() {
        let fake = FakeDrive::new(|request| (request.address < 1 << 29).then_some(1_000_000));
        let finished = fake::run_on_fake(
            find_benchmark("survey").unwrap(),
            &fake::simulated_target(1 << 30),
            &[],
            &fake,
        );
        assert_eq!(finished.state, RunState::Failed);
        metric_value(
            &finished,
            &MetricId::parse("sequential-read/throughput_mean"),
        );
        assert!(
            finished
                .findings
                .metric(&MetricId::parse("concurrency-read/optimal_depth"))
                .is_none()
        );
    }

    #[test]
    fn survey_parts_never_write() {
        for part in SURVEY_PARTS {
            assert!(!part.benchmark.description().may_write);
        }
    }
}
