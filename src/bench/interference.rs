//! What a maintenance job does to those who work.

use std::time::Duration;

use super::beside::Background;
use super::common::{self, place, series};
use super::forecast::Phases;
use super::metrics::latency_metrics;
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Kind, Parameter, Parameters,
    Shape, Test, Value,
};
use crate::drive::Target;
use crate::engine::{BlockSize, Limits, Outcome, Pattern, Plan, Priority, Tally};
use crate::session::document::{Figure, Findings, Severity, Unit, Verdict};
use crate::stats::timeline::Timeline;
use crate::units;

/// Random reads, and a sequential job that joins and leaves.
pub struct Interference;

/// Size of the job's requests.
const JOB_BLOCK: u32 = 1 << 20;

const CLASS: Parameter = Parameter {
    name: "class",
    kind: Kind::Word(&["idle", "best-effort", "realtime"]),
    help: "I/O class of the maintenance job; realtime needs root",
    default: |_| Value::Word("idle".to_owned()),
};
const JOB_DEPTH: Parameter = Parameter {
    name: "job-depth",
    help: "requests that the maintenance job keeps in flight",
    ..common::DEPTH.with_default(|_| Value::Count(4))
};

static DESCRIPTION: Description = Description {
    name: "interference",
    aliases: &[],
    summary: "random reads while a sequential job of some I/O class joins and leaves",
    explanation: "\
Makes random reads all the time, as users do. After a third of the time a job joins that reads large \
blocks in sequence, as a backup, a scrub or a virus scanner does, in the I/O class that you choose (as \
with ionice); after two thirds it leaves.

The chart shows the users' IOPS and the job's, over time. A job in the class idle should not be felt at \
all: where the middle third falls nevertheless, the scheduler does not heed classes (only bfq \
and mq-deadline do), or the drive's own queue lets the job overtake. What remains tells when \
maintenance may run.

It only reads.",
    writes: false,
    metrics: latency_metrics!["iops", "throughput", "iops_alone", "iops_disturbed", "interference", "job_throughput"],
    parameters: &[
        CLASS,
        JOB_DEPTH,
        common::BLOCK_SIZE,
        common::DEPTH.with_default(|_| Value::Count(1)),
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(30))),
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SEED,
        common::CACHE,
    ],
    charts: &[Chart::new(
        "IOPS of the users and of the job over time",
        Shape::Line,
        &["iops-over-time", "job-iops-over-time"],
    )],
    headline: &["iops_alone", "iops_disturbed", "interference", "job_throughput"],
};

fn priority(parameters: &Parameters) -> Priority {
    match parameters.word("class") {
        "realtime" => Priority::Realtime(4),
        "best-effort" => Priority::BestEffort(4),
        _ => Priority::Idle,
    }
}

fn duration(parameters: &Parameters) -> Duration {
    parameters
        .duration("duration")
        .unwrap_or(Duration::from_secs(30))
}

fn foreground(target: &Target, parameters: &Parameters) -> Result<Plan, BenchError> {
    let mut plan = common::reading_plan(target, parameters, Pattern::Random)?;
    plan.limits.duration = Some(duration(parameters));
    Ok(plan)
}

fn job(foreground: &Plan, parameters: &Parameters) -> Plan {
    let room = foreground.window.end - foreground.window.start;
    let block = JOB_BLOCK
        .min(u32::try_from(room / 4096 * 4096).unwrap_or(u32::MAX))
        .max(4096);
    Plan {
        pattern: Pattern::Sequential,
        block_size: BlockSize::Fixed(block),
        align: u64::from(block),
        depth: parameters
            .count("job-depth")
            .and_then(|depth| u32::try_from(depth).ok())
            .unwrap_or(4),
        // At the foreground's end at the latest; a time makes it go round at the window's end.
        limits: Limits {
            duration: foreground.limits.duration,
            ..Limits::default()
        },
        priority: Some(priority(parameters)),
        ..foreground.clone()
    }
}

impl Test for Interference {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let plan = foreground(target, parameters)?;
        Ok(Forecast {
            sentence: format!(
                "makes random reads of {}, in the middle third beside a sequential job in the I/O \
                 class {}",
                place(target),
                parameters.word("class")
            ),
            time: Phases::one(plan).time(target),
            reads: None,
            writes: None,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let plan = foreground(bench.target, bench.parameters)?;
        let job = job(&plan, bench.parameters);
        let third = duration(bench.parameters) / 3;
        let background = Background {
            plan: &job,
            during: third..third * 2,
        };
        let both = bench.beside("users and a job", &plan, &background, &mut report)?;
        match both.background {
            Some(outcome) if outcome.tally.requests() > 0 => {
                conclude(bench, &both.foreground, &outcome, third);
            }
            _ => bench.verdict(never_joined()),
        }
        if let Some(verdict) = heedless(bench.target) {
            bench.verdict(verdict);
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::TwoLoads)
    }
}

fn report(findings: &mut Findings, tally: &Tally, elapsed: Duration) {
    common::report_throughput(findings, tally, elapsed);
}

/// Requests per second of a timeline between two times.
fn iops_between(
    timeline: &Timeline,
    elapsed: Duration,
    from: Duration,
    to: Duration,
) -> Option<f64> {
    let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
    let within: Vec<f64> = timeline
        .rates(elapsed_ns)
        .into_iter()
        .filter(|rate| (from..to).contains(&rate[0]))
        .map(|rate| rate[1])
        .collect();
    (!within.is_empty()).then(|| within.iter().sum::<f64>() / within.len() as f64)
}

fn conclude(bench: &mut Bench<'_>, users: &Outcome, job: &Outcome, third: Duration) {
    let timeline = &users.tally.read.timeline;
    let between = |from, to| iops_between(timeline, users.elapsed, from, to);
    let alone = [
        between(Duration::ZERO, third),
        between(third * 2, third * 3),
    ];
    let alone: Vec<f64> = alone.into_iter().flatten().collect();
    let job_ns = u64::try_from(job.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let join_ns = third.as_nanos() as f64;
    let rates = job.tally.read.timeline.rates(job_ns);
    bench.series(series(
        "job-iops-over-time",
        ("time", Unit::Nanoseconds),
        ("IOPS", Unit::PerSecond),
        rates
            .iter()
            .map(|rate| [join_ns + rate[0] * 1e9, rate[1]])
            .collect(),
    ));
    let job_rate = job.tally.bytes() as f64 / job.elapsed.as_secs_f64().max(1e-9);
    bench.figure(Figure::new(
        "job_throughput",
        job_rate,
        Unit::BytesPerSecond,
    ));
    let (Some(disturbed), false) = (between(third, third * 2), alone.is_empty()) else {
        return;
    };
    let alone = alone.iter().sum::<f64>() / alone.len() as f64;
    let kept = disturbed / alone;
    bench.figure(Figure::new("iops_alone", alone, Unit::PerSecond));
    bench.figure(Figure::new("iops_disturbed", disturbed, Unit::PerSecond));
    bench.figure(Figure::new("interference", 1.0 - kept, Unit::Ratio));
    if kept < 0.8 {
        bench.verdict(Verdict::new(
            "users-are-disturbed",
            Severity::Warning,
            format!(
                "users keep {} of their IOPS ({} of {}) while the job runs at {}",
                units::percent(kept),
                units::count(disturbed),
                units::count(alone),
                units::throughput(job_rate)
            ),
            "run such jobs at night, limit their rate (io.max of cgroup v2, rsync --bwlimit), or use \
             the scheduler bfq and the class idle",
        ));
    }
}

fn never_joined() -> Verdict {
    Verdict::new(
        "job-never-joined",
        Severity::Warning,
        "the test ended before the job had done anything",
        "give it more --duration, and let it run to its end; on a simulated drive with \
         a virtual clock both cannot run at once",
    )
}

/// Whether the drive's scheduler passes over I/O classes (kernel Documentation/block/ioprio.rst).
fn heedless(target: &Target) -> Option<Verdict> {
    let scheduler = target.drive.as_ref()?.scheduler.as_ref()?;
    (!matches!(scheduler.as_str(), "bfq" | "mq-deadline")).then(|| {
        Verdict::new(
            "scheduler-ignores-classes",
            Severity::Note,
            format!("the scheduler is {scheduler}, which does not heed I/O classes"),
            "with bfq or mq-deadline (echo bfq > /sys/block/NAME/queue/scheduler) --class makes a \
             difference",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{codes, simulate, value};
    use super::*;
    use crate::requirement::{Requirement, skip};

    /// 10 buckets of 100 ms at 1000, 10 at 250, 10 at 1000 IOPS.
    fn timeline() -> Timeline {
        let mut timeline = Timeline::default();
        for bucket in 0..30_u64 {
            let requests = if (10..20).contains(&bucket) { 25 } else { 100 };
            (0..requests).for_each(|_| timeline.record(bucket * 100_000_000, 4096, 100_000));
        }
        timeline
    }

    #[test]
    fn thirds_are_told_apart() {
        let (timeline, elapsed) = (timeline(), Duration::from_secs(3));
        let second = Duration::from_secs(1);
        let between = |from, to| iops_between(&timeline, elapsed, from, to);
        assert_eq!(between(Duration::ZERO, second), Some(1000.0));
        assert_eq!(between(second, second * 2), Some(250.0));
        assert_eq!(between(second * 4, second * 5), None);
    }

    #[test]
    fn a_run_without_its_job_says_so() {
        let set = [("duration", "300ms")];
        let finished = simulate(
            find("interference").unwrap(),
            "sim:constant,latency=1ms",
            &set,
        );
        assert_eq!(codes(&finished), ["job-never-joined"]);
        value(&finished, "iops");
    }

    #[test]
    fn both_run_at_once_on_a_scratch_file() {
        let opened = crate::engine::open(
            &crate::roots::Roots::default(),
            env!("CARGO_MANIFEST_DIR"),
            crate::engine::Choice::Auto,
            Some(16 << 20),
        );
        let Ok(opened) = opened else {
            skip(Requirement::Files, "no scratch file is to be had here");
            return;
        };
        opened
            .prepare(&crate::engine::Control::default(), &mut |_, _| {})
            .unwrap();
        let test = find("interference").unwrap();
        let set = [("duration", "1500ms")];
        let parameters = super::super::tests::fake::parameters(test, &opened.target, &set);
        let control = crate::engine::Control::default();
        let finished = super::super::runner::run(
            test,
            &opened.target,
            &parameters,
            opened.engine(),
            &control,
            &mut super::super::tests::fake::Nobody,
        );
        assert!(value(&finished, "job_throughput") > 0.0);
        assert!(value(&finished, "iops_alone") > 0.0 && value(&finished, "iops_disturbed") > 0.0);
        let job = &finished
            .findings
            .series("job-iops-over-time")
            .unwrap()
            .points;
        assert!(
            job.iter().all(|point| (0.5e9..1.3e9).contains(&point[0])),
            "{job:?}"
        );
    }
}
