//! Shared by random-read, random-write and mixed.

use std::time::Duration;

use crate::bench::framework;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::{describe_target, random_pattern};
use crate::bench::{
    BenchError, ChartShape, ChartSpec, FioGap, FioJob, Forecast, ParameterSet, RunContext,
};
use crate::drive::Target;
use crate::engine::{IoOperation, IoStats, Plan};
use crate::session::document::check::{CheckEvidence, CheckId, RateShortfall};
use crate::session::document::{Findings, Metric, MetricUnit};
use crate::stats::latency::concurrency::mean_in_flight;
use crate::units;

/// Latency chart of all three benchmarks.
pub(crate) const CHART: ChartSpec =
    ChartSpec::new("IOPS over the run", ChartShape::Line, &["iops-over-time"]);

pub(crate) const HEADLINE: &[&str] = &[
    "iops",
    "throughput",
    "latency_mean",
    "latency_p50",
    "latency_p99",
    "share_slower",
];

fn plan(
    operation: IoOperation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Plan, BenchError> {
    framework::build_plan(target, parameters, operation, random_pattern(parameters))
}

/// Checks of the benchmarks with random requests.
pub(crate) const CHECKS: &[CheckId] = &[CheckId::RateNotReached, CheckId::QueueDepthNotReached];

pub(crate) fn forecast(
    operation: IoOperation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Forecast, BenchError> {
    let plan = plan(operation, target, parameters)?;
    let does = match operation {
        IoOperation::Read => "reads".to_owned(),
        IoOperation::Write => "writes".to_owned(),
        IoOperation::Mixed { reads } => {
            format!("reads ({}) and writes", units::format_percent(reads))
        }
    };
    let load = match plan.arrival_rate {
        Some(rate) => format!("{} new ones a second", units::format_count(rate)),
        None => format!(
            "{} in flight",
            u64::from(plan.depth) * u64::from(plan.workers)
        ),
    };
    let bytes = plan.max_bytes();
    let written = bytes.filter(|_| operation.writes());
    let amount = written.map_or_else(String::new, |bytes| {
        format!(
            ", at most {}",
            framework::describe_written_bytes(bytes, target)
        )
    });
    Ok(Forecast {
        sentence: format!(
            "{does} {} at random places of {}, {load}{amount}",
            framework::describe_block_size(plan.block_size),
            describe_target(target)
        ),
        run_time: PlannedPhases::single(plan).run_time(target),
        max_read_bytes: bytes.filter(|_| operation != IoOperation::Write),
        max_written_bytes: written,
    })
}

pub(crate) fn run(operation: IoOperation, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
    let plan = plan(operation, bench.target, bench.parameters)?;
    let slower = bench.parameters.duration("slower-than");
    let phase = match operation {
        IoOperation::Read => "random reads",
        IoOperation::Write => "random writes",
        IoOperation::Mixed { .. } => "random reads and writes",
    };
    bench.measure(phase, 1.0, &plan, &mut |findings, tally, elapsed| {
        set_metrics(findings, &plan, tally, elapsed, slower);
    })?;
    Ok(())
}

pub(crate) fn fio(
    operation: IoOperation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<FioJob, FioGap> {
    let plan = plan(operation, target, parameters).map_err(|_| FioGap::Parameters)?;
    FioJob::random_job(&plan, target)
}

fn set_metrics(
    findings: &mut Findings,
    plan: &Plan,
    tally: &IoStats,
    elapsed: Duration,
    slower: Option<Duration>,
) {
    framework::report_throughput_metrics(findings, tally, elapsed);
    framework::report_slower_than(findings, tally, slower);
    if let IoOperation::Mixed { .. } = plan.operation {
        set_metrics_by_direction(findings, tally, elapsed);
    }
    let figure = |name| findings.metric(name).map(|figure: &Metric| figure.value);
    let (Some(iops), Some(mean_ns)) = (figure("iops"), figure("latency_mean")) else {
        return;
    };
    if let Some(rate) = plan.arrival_rate {
        if iops < 0.98 * rate {
            findings.set_check(CheckEvidence::RateNotReached(RateShortfall {
                arrived_per_s: rate,
                completed_per_s: iops,
            }));
        }
        return;
    }
    let reached = mean_in_flight(iops, mean_ns);
    findings.set_metric(Metric::new("depth_reached", reached, MetricUnit::Count));
    let requested = f64::from(plan.depth) * f64::from(plan.workers);
    if reached < 0.9 * requested && tally.requests() as f64 > 100.0 * requested {
        findings.set_check(framework::below_target_depth(requested, reached));
    }
}

/// Sets metrics for reads and writes separately: `read_iops`, `write_latency_p99` and so on.
fn set_metrics_by_direction(findings: &mut Findings, tally: &IoStats, elapsed: Duration) {
    let seconds = elapsed.as_secs_f64();
    for (word, direction) in [("read", &tally.read), ("write", &tally.write)] {
        let count = direction.latency.count();
        if count == 0 || seconds <= 0.0 {
            continue;
        }
        let mut put = |name: &str, value: f64, unit| {
            let name = format!("{word}_{name}");
            findings.set_metric(Metric::new(&name, value, unit).with_observations(count));
        };
        put("iops", count as f64 / seconds, MetricUnit::PerSecond);
        put(
            "throughput",
            direction.bytes as f64 / seconds,
            MetricUnit::BytesPerSecond,
        );
        if let Some(mean) = direction.latency.mean() {
            put("latency_mean", mean, MetricUnit::Nanoseconds);
        }
        for percent in [50.0, 90.0, 99.0, 99.9] {
            if let Some(value) = direction.latency.percentile(percent) {
                put(
                    &format!("latency_p{percent}"),
                    value as f64,
                    MetricUnit::Nanoseconds,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::FakeDrive;
    use crate::session::document::MetricUnit;

    #[test]
    fn random_read_of_constant_drive_yields_exact_metrics() {
        let fake = FakeDrive::new(|_| Some(100_000));
        let target = fake::simulated_target(1 << 30);
        let set = [("depth", "8"), ("duration", "1s"), ("slower-than", "50us")];
        let finished = fake::run_on_fake(find_benchmark("rndread").unwrap(), &target, &set, &fake);
        let value = |name| finished.findings.metric(name).unwrap().value;
        assert!((value("iops") / 80_000.0 - 1.0).abs() < 1e-3);
        assert_eq!(value("latency_mean"), 100_000.0);
        assert!((value("latency_p99") / 100_000.0 - 1.0).abs() < 1e-3);
        assert_eq!(value("share_slower"), 1.0);
        assert!((value("depth_reached") - 8.0).abs() < 0.1);
        assert!(finished.findings.verdicts.is_empty());
    }

    #[test]
    fn mixed_reports_reads_and_writes_separately() {
        let fake =
            FakeDrive::new(|requested| Some(if requested.is_write { 400_000 } else { 100_000 }));
        let target = fake::simulated_target(1 << 30);
        let set = [("depth", "1"), ("duration", "2s"), ("reads", "75%")];
        let finished = fake::run_on_fake(find_benchmark("mixed").unwrap(), &target, &set, &fake);
        let value = |name| finished.findings.metric(name).unwrap().value;
        assert_eq!(value("read_latency_mean"), 100_000.0);
        assert_eq!(value("write_latency_mean"), 400_000.0);
        let share = value("read_iops") / (value("read_iops") + value("write_iops"));
        assert!((share - 0.75).abs() < 0.02, "{share}");
        assert_eq!(
            finished.findings.metric("read_iops").unwrap().unit,
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
            forecast.sentence.contains("10 % of it"),
            "{}",
            forecast.sentence
        );
    }
}
