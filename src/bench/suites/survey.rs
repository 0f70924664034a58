//! All read benchmarks applicable to a drive, with a summary.

mod advice;

use std::time::Duration;

use serde_json::json;

use self::advice::{
    ADVICE_BLOCK_SIZE, ADVICE_FULL_COPY, ADVICE_QUEUE_DEPTH, BLOCK_SIZE_READ, CONCURRENCY_READ,
    SEQUENTIAL_READ, THROUGHPUT_ABOVE_MEDIUM,
};
use crate::bench::basic::random::RandomBenchmark;
use crate::bench::basic::sequential::SequentialBenchmark;
use crate::bench::contention::interference::InterferenceBenchmark;
use crate::bench::contention::reorder::ReorderBenchmark;
use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::operation::Operation;
use crate::bench::hdd;
use crate::bench::sweeps::block_size::BlockSizeBenchmark;
use crate::bench::sweeps::concurrency::ConcurrencyBenchmark;
use crate::bench::{
    AnyParameter, BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description,
    FioGap, Parameter, ParameterSet, Phases, RunContext,
};
use crate::drive::Target;
use crate::files::safe_text::SafeText;
use crate::session::checks::{DOES_NOT_ROTATE, Workload};
use crate::session::document::check::Check;
use crate::session::document::{
    Findings, MetricId, MetricKind, MetricTable, MetricTableRow, Percentile, SeriesId, SeriesKind,
    Verdict,
};

/// Runs the read benchmarks one after the other.
pub struct SurveySuite;

/// Targets to which a benchmark applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applies {
    ToAnyTarget,
    /// Possibly rotational, with target addresses that equal device addresses.
    IfPossiblyRotational,
    /// The same, unless `rotation` found that it does not rotate.
    IfRotational,
}

/// A benchmark of the survey.
struct SurveyPart {
    benchmark: &'static dyn Benchmark,
    /// Run time in seconds: on a possibly rotational drive, whose low IOPS make a sweep slower, and on
    /// others.
    seconds: [u64; 2],
    applies: Applies,
}

const fn part(
    benchmark: &'static dyn Benchmark,
    seconds: [u64; 2],
    applies: Applies,
) -> SurveyPart {
    SurveyPart {
        benchmark,
        seconds,
        applies,
    }
}

const READ: Operation = Operation::Read;
static SEQUENTIAL: SequentialBenchmark = SequentialBenchmark { operation: READ };
static CONCURRENCY: ConcurrencyBenchmark = ConcurrencyBenchmark { operation: READ };
static BLOCK_SIZE: BlockSizeBenchmark = BlockSizeBenchmark { operation: READ };

/// In execution order.
static PARTS: &[SurveyPart] = &[
    part(&SEQUENTIAL, [30, 20], Applies::ToAnyTarget),
    part(&RandomBenchmark::Read, [10, 10], Applies::ToAnyTarget),
    part(&CONCURRENCY, [60, 27], Applies::ToAnyTarget),
    part(&BLOCK_SIZE, [24, 24], Applies::ToAnyTarget),
    part(&InterferenceBenchmark, [15, 15], Applies::ToAnyTarget),
    part(&hdd::ROTATION, [10, 0], Applies::IfPossiblyRotational),
    part(&ReorderBenchmark, [40, 0], Applies::IfRotational),
    part(&hdd::FULL_STROKE, [15, 0], Applies::IfRotational),
    part(&hdd::TRACK_TO_TRACK, [15, 0], Applies::IfRotational),
    part(&hdd::SEEK_CURVE, [30, 0], Applies::IfRotational),
];

// Names of the benchmarks of the survey, in the ids of its metrics.
const RANDOM_READ: &str = "random-read";
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
    metrics: &[MetricFamily::Nested(|| {
        let parts = PARTS.iter().map(|part| part.benchmark.description());
        parts.map(|nested| (nested.name, nested.metrics)).collect()
    })],
    parameters: SHARED_PARAMETERS,
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

/// The rows of the summary: metric and label. A label names the queue depth, because metrics at
/// different depths must not be compared without it: `{default}` is that of the benchmark, any other
/// word a metric of concurrency-read.
const SUMMARY_ROWS: &str = "\
    sequential-read/throughput_mean: sequential reads, mean
    sequential-read/throughput_min: at the slowest position
    sequential-read/throughput_max: at the fastest position
    sequential-read/full_copy_time: time of a full read
    random-read/iops: random reads, depth {default}
    random-read/latency_p50: p50 of these, depth {default}
    random-read/latency_p99: p99 of these, depth {default}
    concurrency-read/optimal_depth: recommended queue depth
    concurrency-read/optimal_depth_iops: random reads, depth {optimal_depth}
    concurrency-read/optimal_depth_p90: p90 of these, depth {optimal_depth}
    concurrency-read/speedup: ratio to depth 1
    concurrency-read/iops_max: highest random-read IOPS, depth {iops_max_depth}
    concurrency-read/iops_max_p90: p90 of these, depth {iops_max_depth}
    block-size-read/access_time: access time
    block-size-read/balanced_block_size: balanced block size
    block-size-read/btree_node_size: recommended tree node size
    interference/iops_disturbed: IOPS with a background job, depth {default}
    reorder/reorder_gain: sorted to unsorted random reads
    rotation/rotation_speed: rotation
    full-stroke/full_stroke_seek: full-stroke seek
    track-to-track/track_to_track_seek: track-to-track seek
    seek-curve/average_seek: average seek";

/// The benchmarks applicable to a target, with their parameters.
fn applicable_parts(
    target: &Target,
    own: &ParameterSet,
) -> Vec<(&'static SurveyPart, Duration, ParameterSet)> {
    let may_rotate =
        target.is_rotational() == Some(true) && framework::addresses_are_physical(target);
    let [on_disk, on_other] = [0, 1];
    let column = if may_rotate { on_disk } else { on_other };
    let parts = PARTS.iter();
    let parts = parts.filter(|part| part.applies == Applies::ToAnyTarget || may_rotate);
    let usual: u64 = parts.clone().map(|part| part.seconds[column]).sum();
    let wanted = own.get(DURATION).unwrap_or(Duration::from_secs(usual));
    let scale = wanted.as_secs_f64() / usual as f64;
    parts
        .map(|part| {
            let time = Duration::from_secs(part.seconds[column]).mul_f64(scale);
            (
                part,
                time,
                part_parameters(part.benchmark, time, target, own),
            )
        })
        .collect()
}

const DURATION: Parameter<Option<Duration>> = framework::DURATION.with_default(|_| None);

/// Parameters of the survey, all but its time with the same meaning for its nested benchmarks.
const SHARED_PARAMETERS: &[&dyn AnyParameter] = &[
    &DURATION,
    &framework::WINDOW_BEGIN,
    &framework::WINDOW_END,
    &framework::SEED,
    &framework::CACHE,
];

/// Parameters of a nested benchmark: its defaults, the survey's own parameters, and its time.
fn part_parameters(
    benchmark: &dyn Benchmark,
    time: Duration,
    target: &Target,
    own: &ParameterSet,
) -> ParameterSet {
    let mut parameters = ParameterSet::defaults(benchmark.description().parameters, target);
    parameters.copy_from(own, SHARED_PARAMETERS);
    if parameters.find(DURATION).is_some() {
        parameters.set(DURATION, Some(time));
    }
    parameters
}

impl Benchmark for SurveySuite {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        if framework::plan_window(target, parameters).is_empty() {
            return Err(BenchError::InvalidParameters(
                "--window-begin must be less than --window-end".to_owned(),
            ));
        }
        let parts = applicable_parts(target, parameters);
        let names = parts.iter();
        let names: Vec<&str> = names
            .map(|(part, ..)| part.benchmark.description().name)
            .collect();
        // A benchmark that does not fit the target is skipped.
        let phases = parts.iter();
        let phases = phases.filter_map(|(part, _, own)| part.benchmark.phases(target, own).ok());
        Ok(Phases {
            sentence: format!(
                "runs {} tests on {}: {}",
                names.len(),
                describe_target(target),
                names.join(", "),
            ),
            groups: phases
                .flat_map(|phases| phases.groups.into_iter().chain(phases.wakeup))
                .collect(),
            wakeup: None,
            fio_gap: Some(FioGap::SeveralPoints),
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let parts = applicable_parts(bench.target, bench.parameters);
        let total: Duration = parts.iter().map(|(_, time, _)| time).sum();
        let mut skipped = Vec::new();
        for (part, time, parameters) in parts {
            let description = part.benchmark.description();
            if part.applies == Applies::IfRotational && is_found_non_rotational(&bench.findings) {
                skipped.push(description.name);
                continue;
            }
            let share = time.as_secs_f64() / total.as_secs_f64().max(1e-9);
            if let Err(error) = bench.run_nested(part.benchmark, &parameters, share) {
                bench.set_check(part_skipped(description.name, &error));
            }
            set_summary(&mut bench.findings, bench.target);
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

fn part_skipped(benchmark: &str, error: &BenchError) -> Verdict {
    let (message, advice) = (SafeText::from(error.to_string()), error.advice());
    let facts = json!({ "error": message, "advice": SafeText::from(&advice) });
    let sentence = format!("the benchmark could not be run: {message}");
    SKIPPED.found(sentence, advice, facts).nested_in(benchmark)
}

/// The row of the summary that this line of [`SUMMARY_ROWS`] describes, where its metric is known.
fn summary_row(line: &str, findings: &Findings, target: &Target) -> Option<MetricTableRow> {
    let (id, label) = line.trim().split_once(": ")?;
    let id = MetricId::parse(id);
    let metric = findings.metric(&id)?;
    // The summary omits a gain that is not significant.
    if id.kind() == Some(MetricKind::ReorderGain) && metric.low.is_none_or(|low| low <= 1.0) {
        return None;
    }
    let name = match label.split_once('{') {
        None => label.to_owned(),
        Some((label, depth)) => {
            let depth = match depth.trim_end_matches('}') {
                "default" => default_depth(id.benchmark()?, target).map(f64::from),
                metric => value_of(findings, &format!("{CONCURRENCY_READ}/{metric}")),
            };
            format!(
                "{label}{}",
                depth.map_or_else(|| "?".to_owned(), |depth| depth.to_string())
            )
        }
    };
    Some(MetricTableRow {
        name: name.into(),
        cells: vec![id],
    })
}

fn value_of(findings: &Findings, metric: &str) -> Option<f64> {
    Some(findings.metric(&MetricId::parse(metric))?.value)
}

/// Sets the summary: the metrics that characterise a drive, and what follows from them.
fn set_summary(findings: &mut Findings, target: &Target) {
    let rows = SUMMARY_ROWS.lines();
    let table = MetricTable {
        name: "Summary".into(),
        columns: vec!["measured".into()],
        rows: rows
            .filter_map(|line| summary_row(line, findings, target))
            .collect(),
    };
    findings.set_table(table);
    let is_disk = target.is_rotational() == Some(true);
    let advice = [
        advice::queue_advice(findings),
        advice::block_advice(findings),
        advice::copy_advice(findings),
        advice::faster_than_medium(findings).filter(|_| is_disk),
    ];
    for verdict in advice.into_iter().flatten() {
        findings.set_check(verdict);
    }
}

/// Queue depth of a nested benchmark, which the survey does not change.
fn default_depth(benchmark: &str, target: &Target) -> Option<u32> {
    let descriptions = PARTS.iter().map(|part| part.benchmark.description());
    let mut known = descriptions.filter(|description| description.name == benchmark);
    ParameterSet::defaults(known.next()?.parameters, target).find(framework::DEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::framework::metric_families;
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
        for part in ["reorder", "full-stroke", "track-to-track", "seek-curve"] {
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
        for (depth_of, row) in [
            ("optimal_depth", "optimal_depth_iops"),
            ("iops_max_depth", "iops_max"),
        ] {
            let id = |name| MetricId::parse(&format!("concurrency-read/{name}"));
            if let Some(metric) = finished.findings.metric(&id(depth_of)) {
                assert_eq!(depth(&id(row).to_string()), Some(metric.value.to_string()));
            }
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
    fn rows_of_the_summary_are_metrics_of_the_survey() {
        for line in SUMMARY_ROWS.lines() {
            let (id, _) = line.trim().split_once(": ").unwrap();
            let id = MetricId::parse(id);
            assert!(metric_families::contains(DESCRIPTION.metrics, &id), "{id}");
        }
    }

    #[test]
    fn survey_parts_never_write() {
        for part in PARTS {
            assert!(!part.benchmark.description().may_write);
        }
    }
}
