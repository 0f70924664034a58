//! Effect of a background job on foreground latency.

use std::ops::Range;
use std::time::Duration;

use serde_json::json;

use procfs::sys::kernel::Version;

use crate::bench::framework;
use crate::bench::framework::background_load::{BackgroundLoad, NotStarted};
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::parameter::keyword::keywords;
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartSpec, Description, FioGap, Keyword, Parameter,
    ParameterKind, ParameterSet, Phases, RunContext,
};
use crate::drive::{Target, scheduler};
use crate::engine::{
    AccessPattern, BlockSize, ExecutionOutcome, IoSchedulingClass, Plan, PlanLimits,
};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{
    Metric, MetricId, MetricKind, Series, SeriesId, SeriesKind, Verdict,
};
use crate::stats::general::timeline::RunTimeline;
use crate::units;

/// Random reads, with a sequential job that starts and stops.
pub struct InterferenceBenchmark;

/// Request size of the background job.
const BACKGROUND_BLOCK_BYTES: u32 = 1 << 20;

/// I/O scheduling class of the background job, at its default level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BackgroundClass {
    Idle,
    BestEffort,
    Realtime,
}

keywords!(BackgroundClass {
    BackgroundClass::Idle = "idle",
    BackgroundClass::BestEffort = "best-effort",
    BackgroundClass::Realtime = "realtime",
});

const BACKGROUND_CLASS: Parameter<BackgroundClass> = Parameter {
    name: "class",
    kind: ParameterKind::Choice(BackgroundClass::WORDS),
    help: "I/O scheduling class of the background job; realtime needs root",
    default: |_| BackgroundClass::Idle,
};
const BACKGROUND_DEPTH: Parameter<u32> = Parameter {
    name: "job-depth",
    help: "queue depth of the background job",
    ..framework::DEPTH.with_default(|_| 4)
};

const DURATION: Parameter<Duration> = framework::DURATION.required(|_| Duration::from_secs(30));

const USERS_ARE_DISTURBED: Check = Check::warning(
    "users-are-disturbed",
    "The background load takes much of the foreground load's IOPS.",
);
const BACKGROUND_LOAD_NOT_STARTED: Check = Check::warning(
    "background-load-not-started",
    "The background load completed no request while the foreground load ran.",
);
const SCHEDULER_IGNORES_CLASSES: Check = Check::note(
    "scheduler-ignores-classes",
    "The I/O scheduler ignores I/O priority classes.",
);

static DESCRIPTION: Description = Description {
    name: "interference",
    aliases: &["noisy-neighbor"],
    group: BenchmarkGroup::Throughput,
    example: "/srv --class best-effort",
    summary: "random reads with a sequential background job in an I/O scheduling class",
    explanation: include_str!("interference.md").trim_ascii_end(),
    may_write: false,
    checks: &[
        USERS_ARE_DISTURBED,
        BACKGROUND_LOAD_NOT_STARTED,
        SCHEDULER_IGNORES_CLASSES,
    ],
    workload: Workload::VARYING,
    metrics: &[
        MetricFamily::Own(&[
            MetricKind::Iops,
            MetricKind::Throughput,
            MetricKind::IopsAlone,
            MetricKind::IopsDisturbed,
            MetricKind::Interference,
            MetricKind::JobThroughput,
        ]),
        MetricFamily::Latency,
    ],
    parameters: &[
        &BACKGROUND_CLASS,
        &BACKGROUND_DEPTH,
        &framework::BLOCK_SIZE,
        &framework::DEPTH.with_default(|_| 1),
        &DURATION,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::CACHE,
    ],
    charts: &[ChartSpec::line(
        "IOPS of the foreground load and of the job over time",
        &[SeriesId::IOPS_OVER_TIME, SeriesId::JOB_IOPS_OVER_TIME],
    )],
    headline_metrics: &[
        MetricId::IOPS_ALONE,
        MetricId::IOPS_DISTURBED,
        MetricId::INTERFERENCE,
        MetricId::JOB_THROUGHPUT,
    ],
};

fn foreground_plan(target: &Target, parameters: &ParameterSet) -> Result<Plan, BenchError> {
    let mut plan = framework::build_read_plan(target, parameters, AccessPattern::Random)?;
    plan.limits.duration = Some(parameters.get(DURATION));
    Ok(plan)
}

fn background_plan(foreground: &Plan, parameters: &ParameterSet) -> Plan {
    let room = foreground.window.end - foreground.window.start;
    let block = BACKGROUND_BLOCK_BYTES
        .min(u32::try_from(room / 4096 * 4096).unwrap_or(u32::MAX))
        .max(4096);
    Plan {
        pattern: AccessPattern::Sequential,
        block_size: BlockSize::Fixed(block),
        alignment: u64::from(block),
        depth: parameters.get(BACKGROUND_DEPTH),
        // Ends with the foreground at the latest; with a time limit it wraps around at the window's
        // end.
        limits: PlanLimits {
            duration: foreground.limits.duration,
            ..PlanLimits::default()
        },
        io_class: Some(match parameters.get(BACKGROUND_CLASS) {
            BackgroundClass::Idle => IoSchedulingClass::Idle,
            BackgroundClass::BestEffort => IoSchedulingClass::BestEffort(4),
            BackgroundClass::Realtime => IoSchedulingClass::Realtime(4),
        }),
        ..foreground.clone()
    }
}

impl Benchmark for InterferenceBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let sentence = format!(
            "issues random reads of {}, in the middle third with a sequential background job in the \
             I/O class {}",
            describe_target(target),
            parameters.get(BACKGROUND_CLASS).word()
        );
        let plan = foreground_plan(target, parameters)?;
        let phases = Phases::of_plan(sentence, "foreground load and background job", plan);
        Ok(phases.without_fio(FioGap::ConcurrentLoads))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let plan = foreground_plan(bench.target, bench.parameters)?;
        let job = background_plan(&plan, bench.parameters);
        let third = bench.parameters.get(DURATION) / 3;
        let background = BackgroundLoad {
            plan: &job,
            active_interval: third..third * 2,
        };
        let both = bench.measure_with_background(
            "foreground load and background job",
            &plan,
            &background,
            &mut |findings, stats, elapsed| {
                framework::report_throughput_metrics(findings, stats, elapsed);
            },
        )?;
        match both.background {
            Ok(job) if job.stats.requests() > 0 => {
                set_results(bench, &both.foreground, &job, third);
            }
            // A benchmark that was stopped is interrupted, which says more.
            _ if bench.is_stopped() => {}
            Ok(_) => bench.set_check(background_load_not_started(None)),
            Err(cause) => bench.set_check(background_load_not_started(Some(cause))),
        }
        if let Some(verdict) = scheduler_ignores_io_class(bench.target) {
            bench.set_check(verdict);
        }
        Ok(())
    }
}

/// Mean of the requests per second of a timeline within these seconds.
fn iops_within(timeline: &RunTimeline, elapsed: Duration, seconds: &[Range<f64>]) -> Option<f64> {
    let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let within: Vec<f64> = timeline
        .rates_over_time(elapsed_ns)
        .into_iter()
        .filter(|rate| seconds.iter().any(|range| range.contains(&rate[0])))
        .map(|rate| rate[1])
        .collect();
    (!within.is_empty()).then(|| within.iter().sum::<f64>() / within.len() as f64)
}

/// Sets what both loads achieved; the background job ran in the second third.
fn set_results(
    bench: &mut RunContext<'_>,
    users: &ExecutionOutcome,
    job: &ExecutionOutcome,
    third: Duration,
) {
    let job_ns = u64::try_from(job.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let rates = job.stats.read.counts_over_time.rates_over_time(job_ns);
    let third = third.as_secs_f64();
    let job_iops = rates.iter().map(|rate| [(third + rate[0]) * 1e9, rate[1]]);
    bench.set_series(Series::new(SeriesKind::JobIopsOverTime, job_iops.collect()));
    let job_rate = job.stats.bytes() as f64 / job.elapsed.as_secs_f64().max(1e-9);
    bench.set_metric(Metric::new(MetricId::JOB_THROUGHPUT, job_rate));
    let timeline = &users.stats.read.counts_over_time;
    let within = |seconds: &[Range<f64>]| iops_within(timeline, users.elapsed, seconds);
    let alone = within(&[0.0..third, third * 2.0..third * 3.0]);
    let (Some(alone), Some(disturbed)) = (alone, within(&[third..third * 2.0])) else {
        return;
    };
    let kept = disturbed / alone;
    bench.set_metric(Metric::new(MetricId::IOPS_ALONE, alone));
    bench.set_metric(Metric::new(MetricId::IOPS_DISTURBED, disturbed));
    bench.set_metric(Metric::new(MetricId::INTERFERENCE, 1.0 - kept));
    // IOPS and latencies of the whole run mix both loads: what was asked for leads.
    let leading = DESCRIPTION.headline_metrics;
    let position = |metric: &Metric| leading.iter().position(|id| *id == metric.id);
    bench
        .findings
        .metrics
        .sort_by_key(|metric| position(metric).unwrap_or(usize::MAX));
    if kept < 0.8 {
        bench.set_check(users_are_disturbed(alone, disturbed, job_rate));
    }
}

/// The check for a scheduler that ignores I/O classes (kernel Documentation/block/ioprio.rst).
fn scheduler_ignores_io_class(target: &Target) -> Option<Verdict> {
    let name = target.drive.as_ref()?.scheduler.as_ref()?;
    let kernel = Version::current().ok();
    if scheduler::serves_io_classes(name, kernel) != Some(false) {
        return None;
    }
    Some(SCHEDULER_IGNORES_CLASSES.found(
        format!("the scheduler is {name}, which ignores I/O priority classes"),
        "use bfq, or mq-deadline since Linux 5.14 (echo bfq > /sys/block/NAME/queue/scheduler), for \
         --class to have an effect",
        json!({ "scheduler": name }),
    ))
}

fn users_are_disturbed(alone_iops: f64, disturbed_iops: f64, throughput: f64) -> Verdict {
    USERS_ARE_DISTURBED.found(
        format!(
            "the foreground load keeps {} of its IOPS ({} of {}) while the background load runs at {}",
            units::format_percent(disturbed_iops / alone_iops),
            units::format_count(disturbed_iops),
            units::format_count(alone_iops),
            units::format_throughput(throughput)
        ),
        "run such background loads at night, limit their rate (io.max of cgroup v2, rsync --bwlimit), \
         or use the scheduler bfq and the class idle",
        json!({
            "alone_iops": alone_iops,
            "disturbed_iops": disturbed_iops,
            "background_throughput": throughput,
        }),
    )
}

/// `cause` is why the load did not start; without one it completed nothing.
fn background_load_not_started(cause: Option<NotStarted>) -> Verdict {
    let (cause, sentence, advice) = match cause {
        Some(NotStarted::VirtualTime) => (
            "virtual-time",
            "the simulated drive has a virtual clock, on which two loads cannot run at once",
            "add clock=real to the parameters of the simulated drive",
        ),
        Some(NotStarted::ForegroundEnded) => (
            "foreground-ended",
            "the foreground load ended before a third of the duration, when the background load starts",
            "use a longer --duration, and let the benchmark finish",
        ),
        None => (
            "no-request-completed",
            "the background load started, but the drive completed none of its requests before the end",
            "use a longer --duration; the class idle gets no request through while other users keep the \
             drive busy: compare with --class best-effort",
        ),
    };
    BACKGROUND_LOAD_NOT_STARTED.found(sentence, advice, json!({ "cause": cause }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake::{check_codes, metric_value, run_on_simulated};
    use crate::requirement::{Requirement, skip};

    /// 10 buckets of 100 ms at 1000, 10 at 250, 10 at 1000 IOPS.
    fn interrupted_timeline() -> RunTimeline {
        let mut timeline = RunTimeline::default();
        for bucket in 0..30_u64 {
            let requests = if (10..20).contains(&bucket) { 25 } else { 100 };
            (0..requests).for_each(|_| timeline.record(bucket * 100_000_000, 4096, 100_000));
        }
        timeline
    }

    #[test]
    fn interference_separates_thirds_of_run() {
        let (timeline, elapsed) = (interrupted_timeline(), Duration::from_secs(3));
        let within = |seconds: &[Range<f64>]| iops_within(&timeline, elapsed, seconds);
        assert_eq!(within(&[0.0..1.0, 2.0..3.0]), Some(1000.0));
        assert_eq!(within(&[1.0..2.0]), Some(250.0));
        assert_eq!(within(&[4.0..5.0]), None);
    }

    #[test]
    fn interference_without_background_load_is_reported() {
        let set = [("duration", "300ms")];
        let finished = run_on_simulated(
            find_benchmark("interference").unwrap(),
            "sim:constant,latency=1ms",
            &set,
        );
        assert_eq!(check_codes(&finished), ["background-load-not-started"]);
        assert_eq!(finished.findings.verdicts[0].facts["cause"], "virtual-time");
        metric_value(&finished, &MetricId::IOPS);
    }

    #[test]
    fn interference_runs_both_loads_concurrently_on_scratch_file() {
        let opened = crate::engine::open_target(
            &crate::roots::SysPaths::default(),
            env!("CARGO_MANIFEST_DIR"),
            crate::engine::EngineChoice::Auto,
            Some(16 << 20),
        );
        let Ok(opened) = opened else {
            skip(Requirement::Files, "no scratch file is available here");
            return;
        };
        opened
            .fill_scratch_file(&crate::engine::CancellationToken::default(), &mut |_, _| {})
            .unwrap();
        let test = find_benchmark("interference").unwrap();
        let set = [("duration", "1500ms")];
        let parameters = crate::bench::tests::fake::parameters(test, &opened.target, &set);
        let finished = crate::bench::tests::fake::run_on_engine(
            test,
            &opened.target,
            &parameters,
            &crate::drive::SettingsManager::default(),
            opened.engine(),
        );
        // IOPS before and beside the job and what the job takes lead.
        let leading: Vec<&MetricId> = finished.findings.metrics.iter().map(|it| &it.id).collect();
        let headline: Vec<&MetricId> = test.description().headline_metrics.iter().collect();
        assert_eq!(leading[..4], headline);
        for id in [
            MetricId::IOPS_ALONE,
            MetricId::IOPS_DISTURBED,
            MetricId::JOB_THROUGHPUT,
        ] {
            assert!(metric_value(&finished, &id) > 0.0, "{id}");
        }
        let job = &finished
            .findings
            .series(&SeriesId::JOB_IOPS_OVER_TIME)
            .unwrap()
            .points;
        assert!(
            job.iter().all(|point| (0.5e9..1.3e9).contains(&point[0])),
            "{job:?}"
        );
    }
}
