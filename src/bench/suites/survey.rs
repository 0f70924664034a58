//! All read benchmarks applicable to a drive, with a summary.

use std::time::Duration;

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::{
    BenchError, Benchmark, ChartShape, ChartSpec, Description, FioGap, FioJob, Forecast,
    ParameterSet, ParameterValue, RunContext, RunTime, find_benchmark,
};
use crate::drive::Target;
use crate::safe_text::SafeText;
use crate::session::checks::Workload;
use crate::session::document::check::{
    BlockSizeAdvice, CheckEvidence, CheckId, CopyAdvice, DepthAdvice, DepthPoint,
    ImplausibleThroughput, SkippedBenchmark, SkippedMechanics,
};
use crate::session::document::{
    Findings, Metric, MetricTable, MetricTableRow, MetricUnit, Verdict,
};

/// Runs the read benchmarks one after the other.
pub struct SurveySuite;

/// A benchmark of the survey.
#[derive(Debug, Clone, Copy)]
struct SurveyPart {
    name: &'static str,
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

/// In execution order. Names of unavailable benchmarks are skipped.
const SURVEY_PARTS: &[SurveyPart] = &[
    survey_part("sequential-read", 20, Applicability::AnyTarget),
    survey_part("random-read", 10, Applicability::AnyTarget),
    SurveyPart {
        seconds_on_disk: 60,
        ..survey_part("concurrency-read", 27, Applicability::AnyTarget)
    },
    survey_part("block-size-read", 24, Applicability::AnyTarget),
    survey_part("interference", 15, Applicability::AnyTarget),
    survey_part("rotation", 10, Applicability::PossiblyRotational),
    survey_part("reorder", 40, Applicability::Rotational),
    survey_part("full-stroke", 15, Applicability::Rotational),
    survey_part("track-to-track", 15, Applicability::Rotational),
    survey_part("seek-curve", 30, Applicability::Rotational),
];

const fn survey_part(name: &'static str, seconds: u64, suits: Applicability) -> SurveyPart {
    SurveyPart {
        name,
        time_weight: seconds,
        seconds_on_disk: seconds,
        applicability: suits,
    }
}

static DESCRIPTION: Description = Description {
    name: "survey",
    aliases: &[],
    summary: "every reading test that suits the drive, one after the other, and one page of advice",
    explanation: "\
Runs the reading tests that suit this drive with short times: sequential, random, concurrency, block size \
and interference; on disks that may rotate also reordering, rotation and seeks. It says beforehand how \
long that takes; --duration makes it longer or shorter as a whole.

The summary lists the figures that describe a drive, and the advice that follows from them: which queue \
depth, which block size, where a fast partition belongs, how long a full copy takes. The full \
figures and curves of every part are in the document, with the part's name in front.

It only reads.",
    may_write: false,
    checks: &[CheckId::Skipped, CheckId::MechanicsSkipped, CheckId::ThroughputAboveMedium, CheckId::AdviceQueueDepth, CheckId::AdviceBlockSize, CheckId::AdviceFullCopy],
    workload: Workload::CONSTANT,
    metrics: &["sequential-read/", "random-read/", "concurrency-read/", "block-size-read/", "interference/", "rotation/", "reorder/", "full-stroke/", "track-to-track/", "seek-curve/"],
    parameters: &[
        framework::DURATION.with_default(|_| ParameterValue::Unset),
        framework::WINDOW_BEGIN,
        framework::WINDOW_END,
        framework::SEED,
        framework::CACHE,
    ],
    charts: &[
        ChartSpec::new(
            "Throughput against address",
            ChartShape::Steps,
            &["sequential-read/throughput-over-address"],
        ),
        ChartSpec::new(
            "IOPS against queue depth",
            ChartShape::Line,
            &["concurrency-read/iops-against-depth"],
        )
        .log_x()
        .with_marks(&["concurrency-read/optimal_depth"]),
        ChartSpec::new(
            "Throughput against block size",
            ChartShape::Line,
            &["block-size-read/throughput-against-block-size"],
        )
        .log_x(),
    ],
    headline_metrics: &[
        "sequential-read/throughput_mean",
        "random-read/iops",
        "random-read/latency_p99",
        "concurrency-read/optimal_depth",
    ],
};

/// Rows of the summary: label and metric. `{random}`, `{beside}` and `{optimal}` stand for the
/// queue depths of the measurement, because metrics at different depths must not be compared
/// without a label.
const SUMMARY_ROWS: &[(&str, &str)] = &[
    ("sequential reads, mean", "sequential-read/throughput_mean"),
    ("at the slowest place", "sequential-read/throughput_min"),
    ("at the fastest place", "sequential-read/throughput_max"),
    ("reading all of it takes", "sequential-read/full_copy_time"),
    ("random reads, depth {random}", "random-read/iops"),
    ("p50 of these, depth {random}", "random-read/latency_p50"),
    ("p99 of these, depth {random}", "random-read/latency_p99"),
    ("queue depth that suits", "concurrency-read/optimal_depth"),
    (
        "random reads, depth {optimal}",
        "concurrency-read/optimal_depth_iops",
    ),
    (
        "p90 of these, depth {optimal}",
        "concurrency-read/optimal_depth_p90",
    ),
    ("times as many as at depth 1", "concurrency-read/speedup"),
    (
        "most random reads, depth {most}",
        "concurrency-read/iops_max",
    ),
    (
        "p90 of these, depth {most}",
        "concurrency-read/iops_max_p90",
    ),
    ("access time", "block-size-read/access_time"),
    ("balanced block size", "block-size-read/balanced_block_size"),
    ("tree node that suits", "block-size-read/btree_node_size"),
    (
        "users' IOPS beside a job, depth {beside}",
        "interference/iops_disturbed",
    ),
    (
        "sorted random reads over unsorted ones",
        "reorder/reorder_gain",
    ),
    ("rotation", "rotation/rotation_speed"),
    ("full stroke", "full-stroke/full_stroke_seek"),
    ("track to track", "track-to-track/track_to_track_seek"),
    ("average seek", "seek-curve/average_seek"),
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
    let chosen = |part: &SurveyPart| {
        Some(SelectedPart {
            benchmark: find_benchmark(part.name)?,
            duration: Duration::from_secs(match may_rotate {
                true => part.seconds_on_disk,
                false => part.time_weight,
            }),
            applicability: part.applicability,
        })
    };
    let mut chosen: Vec<SelectedPart> = SURVEY_PARTS
        .iter()
        .filter(suitable)
        .filter_map(chosen)
        .collect();
    let usual: Duration = chosen.iter().map(|part| part.duration).sum();
    let wanted = parameters.duration("duration").unwrap_or(usual);
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
            part_parameters(part.benchmark, part.duration, target, own).count("depth")
        };
        Self {
            random_depth: depth("random-read"),
            interference_depth: depth("interference"),
        }
    }

    /// A row's label with the depths inserted.
    fn label(self, name: &str, findings: &Findings) -> String {
        let known = |depth: Option<u64>| depth.map_or("?".to_owned(), |depth| depth.to_string());
        let measured =
            |figure: &str| known(metric_value(findings, figure).map(|depth| depth as u64));
        name.replace("{random}", &known(self.random_depth))
            .replace("{beside}", &known(self.interference_depth))
            .replace("{optimal}", &measured("concurrency-read/optimal_depth"))
            .replace("{most}", &measured("concurrency-read/iops_max_depth"))
    }
}

/// Parameters of a nested benchmark: its defaults, its time, and the survey's own parameters.
fn part_parameters(
    test: &dyn Benchmark,
    time: Duration,
    target: &Target,
    own: &ParameterSet,
) -> ParameterSet {
    let known = test.description().parameters;
    let mut parameters = ParameterSet::defaults(known, target);
    for name in ["window-begin", "window-end", "seed", "cache"] {
        if let Some(value) = own.get(name).filter(|_| parameters.get(name).is_some()) {
            parameters.set(name, value.clone());
        }
    }
    if parameters.get("duration").is_some() {
        parameters.set("duration", ParameterValue::Duration(time));
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
            return Err(BenchError::InvalidParameters(
                "--window-begin must lie before --window-end".to_owned(),
            ));
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
                bench.findings.set_verdict(part_skipped(test, &error));
            }
            let rotational = bench.target.is_rotational() == Some(true);
            set_summary(&mut bench.findings, depths, rotational);
            bench.phase_finished();
            if bench.is_stopped() {
                break;
            }
        }
        if !skipped.is_empty() {
            bench.set_check(CheckEvidence::MechanicsSkipped(SkippedMechanics {
                benchmarks: skipped.into_iter().map(SafeText::from).collect(),
            }));
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}

/// Whether the rotation benchmark found that the drive does not rotate.
fn is_found_non_rotational(findings: &Findings) -> bool {
    let mut verdicts = findings.verdicts.iter();
    verdicts.any(|verdict| verdict.id() == Some(CheckId::DoesNotRotate))
}

fn part_skipped(test: &dyn Benchmark, error: &BenchError) -> Verdict {
    let verdict = Verdict::from(CheckEvidence::Skipped(SkippedBenchmark {
        error: error.to_string().into(),
        advice: error.advice().into(),
    }));
    Verdict {
        code: verdict.code.nested_in(test.description().name),
        ..verdict
    }
}

/// Sets the summary: the metrics that characterise a drive, and what follows from them.
fn set_summary(findings: &mut Findings, depths: MeasuredDepths, rotational: bool) {
    let row = |(name, figure): &(&str, &str)| MetricTableRow {
        name: depths.label(name, findings).into(),
        cells: vec![(*figure).into()],
    };
    // The summary omits a gain that is not significant.
    let significant = |figure: &Metric| {
        figure.name != "reorder/reorder_gain" || figure.low.is_some_and(|low| low > 1.0)
    };
    let known = |(_, figure): &&(&str, &str)| findings.metric(figure).is_some_and(significant);
    let table = MetricTable {
        name: "Summary".into(),
        columns: vec!["measured".into()],
        rows: SUMMARY_ROWS.iter().filter(known).map(row).collect(),
    };
    findings.set_table(table);
    let advice = [
        queue_advice(findings),
        block_advice(findings),
        copy_advice(findings),
        faster_than_medium(findings).filter(|_| rotational),
    ];
    for evidence in advice.into_iter().flatten() {
        findings.set_check(evidence);
    }
}

fn metric_value(findings: &Findings, name: &str) -> Option<f64> {
    findings.metric(name).map(|figure: &Metric| figure.value)
}

/// Advice from IOPS over depth: the depth of lowest latency and that of highest IOPS. Only
/// significant differences count.
fn queue_advice(findings: &Findings) -> Option<CheckEvidence> {
    let figure = |name: &str| findings.metric(&format!("concurrency-read/{name}"));
    let at = |name: &str| Some(figure(name)?.value);
    let (depth, iops) = (at("optimal_depth")?, figure("optimal_depth_iops")?);
    let most = figure("iops_max_depth").zip(figure("iops_max"));
    let interval = |figure: &Metric| figure.low.zip(figure.high);
    let more = most.filter(|(_, most)| match (interval(most), interval(iops)) {
        (Some((low, _)), Some((_, high))) => low > high,
        _ => false,
    });
    Some(CheckEvidence::AdviceQueueDepth(DepthAdvice {
        optimal: DepthPoint {
            depth,
            iops: iops.value,
            p90_ns: at("optimal_depth_p90"),
        },
        max_iops: more.map(|(deepest, most)| DepthPoint {
            depth: deepest.value,
            iops: most.value,
            p90_ns: at("iops_max_p90"),
        }),
    }))
}

/// The check for reads faster than the medium at its fastest location.
fn faster_than_medium(findings: &Findings) -> Option<CheckEvidence> {
    const MAX_MEDIUM_RATIO: f64 = 1.15;
    let medium = metric_value(findings, "sequential-read/throughput_max")?;
    let (metric, throughput) = findings
        .figures
        .iter()
        .filter(|figure| figure.unit == MetricUnit::BytesPerSecond)
        .filter(|figure| !figure.name.starts_with("sequential-read/"))
        .map(|figure| (&figure.name, figure.value))
        .max_by(|left, right| left.1.total_cmp(&right.1))?;
    (throughput > MAX_MEDIUM_RATIO * medium).then(|| {
        CheckEvidence::ThroughputAboveMedium(ImplausibleThroughput {
            metric: metric.clone(),
            throughput,
            medium,
        })
    })
}

fn block_advice(findings: &Findings) -> Option<CheckEvidence> {
    let value = |name: &str| metric_value(findings, &format!("block-size-read/{name}"));
    Some(CheckEvidence::AdviceBlockSize(BlockSizeAdvice {
        access_ns: value("access_time")?,
        balanced_bytes: value("balanced_block_size")?,
        btree_node_bytes: value("btree_node_size")?,
    }))
}

fn copy_advice(findings: &Findings) -> Option<CheckEvidence> {
    Some(CheckEvidence::AdviceFullCopy(CopyAdvice {
        throughput: metric_value(findings, "sequential-read/throughput_mean")?,
        copy_ns: metric_value(findings, "sequential-read/full_copy_time")?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::{FakeDrive, check_codes, metric_value, run_on_simulated};
    use crate::session::document::RunState;

    #[test]
    fn survey_of_simulated_drive_completes_in_one_run() {
        let name = "sim:constant,latency=1ms,throughput=100MB,parallel=4,size=4GB";
        let finished = run_on_simulated(find_benchmark("survey").unwrap(), name, &[]);
        assert_eq!(finished.state, RunState::Finished, "{:?}", finished.error);
        assert!((metric_value(&finished, "block-size-read/access_time") / 1e6 - 1.0).abs() < 0.02);
        assert_eq!(
            metric_value(&finished, "concurrency-read/optimal_depth"),
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
        let fake = FakeDrive::new(|asked| Some(100_000 + asked.address % 7919));
        let finished = fake::run_on_fake(find_benchmark("survey").unwrap(), &target, &[], &fake);
        let codes = check_codes(&finished);
        let told = |part: &str| codes.iter().filter(|code| code.ends_with(part)).count();
        assert_eq!(told("does-not-rotate"), 1, "{codes:?}");
        assert_eq!(told("mechanics-skipped"), 1, "{codes:?}");
        let findings = &finished.findings;
        for part in ["reorder/", "full-stroke/", "track-to-track/", "seek-curve/"] {
            assert!(
                findings.figures.iter().all(|it| !it.name.starts_with(part)),
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
        let depth = |figure: &str| {
            let row = table.rows.iter().find(|row| row.cells == [figure]).unwrap();
            row.name
                .rsplit_once("depth ")
                .map(|(_, depth)| depth.to_owned())
        };
        assert_eq!(depth("random-read/iops"), depth("random-read/latency_p50"));
        let optimal = metric_value(&finished, "concurrency-read/optimal_depth").to_string();
        assert_eq!(depth("concurrency-read/optimal_depth_iops"), Some(optimal));
        if let Some(most) = finished.findings.metric("concurrency-read/iops_max_depth") {
            let most = most.value.to_string();
            assert_eq!(depth("concurrency-read/iops_max"), Some(most));
        }
    }

    #[test]
    fn survey_queue_advice_names_significantly_different_depths() {
        let mut findings = Findings::default();
        assert_eq!(queue_advice(&findings), None);
        let mut put = |name: &str, value: f64, unit| {
            let name = format!("concurrency-read/{name}");
            let figure = Metric::new(&name, value, unit);
            findings.set_metric(figure.with_interval(value * 0.95, value * 1.05));
        };
        put("optimal_depth", 4.0, MetricUnit::Count);
        put("optimal_depth_iops", 200.0, MetricUnit::PerSecond);
        put("iops_max_depth", 64.0, MetricUnit::Count);
        put("iops_max", 400.0, MetricUnit::PerSecond);
        // The advice states that a disk achieves far more IOPS with many queued requests.
        let max_depth = |findings: &Findings| match queue_advice(findings) {
            Some(CheckEvidence::AdviceQueueDepth(advice)) => {
                assert_eq!(advice.optimal.depth, 4.0);
                advice.max_iops.map(|point| point.depth)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(max_depth(&findings), Some(64.0));
        findings.figures.retain(|it| !it.name.contains("iops_max"));
        assert_eq!(max_depth(&findings), None);
    }

    #[test]
    fn survey_throughput_above_media_rate_is_flagged() {
        let mut findings = Findings::default();
        let rate = |name, value| Metric::new(name, value, MetricUnit::BytesPerSecond);
        findings.set_metric(rate("sequential-read/throughput_max", 267e6));
        findings.set_metric(rate("block-size-read/throughput_max", 280e6));
        assert_eq!(faster_than_medium(&findings), None);
        findings.set_metric(rate("block-size-read/throughput_max", 348e6));
        let evidence = faster_than_medium(&findings).unwrap();
        assert_eq!(
            evidence,
            CheckEvidence::ThroughputAboveMedium(ImplausibleThroughput {
                metric: "block-size-read/throughput_max".into(),
                throughput: 348e6,
                medium: 267e6,
            })
        );
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
        let fake = FakeDrive::new(|asked| (asked.address < 1 << 29).then_some(1_000_000));
        let finished = fake::run_on_fake(
            find_benchmark("survey").unwrap(),
            &fake::simulated_target(1 << 30),
            &[],
            &fake,
        );
        assert_eq!(finished.state, RunState::Failed);
        metric_value(&finished, "sequential-read/throughput_mean");
        assert!(
            finished
                .findings
                .metric("concurrency-read/optimal_depth")
                .is_none()
        );
    }

    #[test]
    fn survey_parts_never_write() {
        for test in SURVEY_PARTS
            .iter()
            .filter_map(|part| find_benchmark(part.name))
        {
            assert!(!test.description().may_write);
        }
    }
}
