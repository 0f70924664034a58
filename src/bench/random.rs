//! What random-read, random-write and mixed share.

use std::time::Duration;

use super::common::{self, place, random_pattern};
use super::forecast::Phases;
use super::{Bench, BenchError, Chart, FioGap, FioJob, Forecast, Parameters, Shape};
use crate::drive::Target;
use crate::engine::{Operation, Plan, Tally};
use crate::session::document::{Figure, Findings, Severity, Unit, Verdict};
use crate::stats::concurrency::in_flight;
use crate::units;

/// The chart of all three.
pub(super) const CHART: Chart = Chart::new("IOPS over the run", Shape::Line, &["iops-over-time"]);

/// The headline of all three.
pub(super) const HEADLINE: &[&str] = &[
    "iops",
    "throughput",
    "latency_mean",
    "latency_p50",
    "latency_p99",
    "share_slower",
];

fn plan(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<Plan, BenchError> {
    common::plan(target, parameters, operation, random_pattern(parameters))
}

pub(super) fn forecast(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<Forecast, BenchError> {
    let plan = plan(operation, target, parameters)?;
    let does = match operation {
        Operation::Read => "reads".to_owned(),
        Operation::Write => "writes".to_owned(),
        Operation::Mixed { reads } => format!("reads ({}) and writes", units::percent(reads)),
    };
    let load = match plan.rate {
        Some(rate) => format!("{} new ones a second", units::count(rate)),
        None => format!(
            "{} in flight",
            u64::from(plan.depth) * u64::from(plan.workers)
        ),
    };
    let bytes = plan.most_bytes();
    let written = bytes.filter(|_| operation.writes());
    let amount = written.map_or_else(String::new, |bytes| {
        format!(", at most {}", common::written_share(bytes, target))
    });
    Ok(Forecast {
        sentence: format!(
            "{does} {} at random places of {}, {load}{amount}",
            common::blocks(plan.block_size),
            place(target)
        ),
        time: Phases::one(plan).time(target),
        reads: bytes.filter(|_| operation != Operation::Write),
        writes: written,
    })
}

pub(super) fn run(operation: Operation, bench: &mut Bench<'_>) -> Result<(), BenchError> {
    let plan = plan(operation, bench.target, bench.parameters)?;
    let slower = bench.parameters.duration("slower-than");
    let phase = match operation {
        Operation::Read => "random reads",
        Operation::Write => "random writes",
        Operation::Mixed { .. } => "random reads and writes",
    };
    bench.measure(phase, 1.0, &plan, &mut |findings, tally, elapsed| {
        report(findings, &plan, tally, elapsed, slower);
    })?;
    Ok(())
}

pub(super) fn fio(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<FioJob, FioGap> {
    let plan = plan(operation, target, parameters).map_err(|_| FioGap::Parameters)?;
    FioJob::random(&plan, target)
}

fn report(
    findings: &mut Findings,
    plan: &Plan,
    tally: &Tally,
    elapsed: Duration,
    slower: Option<Duration>,
) {
    common::report_throughput(findings, tally, elapsed);
    common::report_slower(findings, tally, slower);
    if let Operation::Mixed { .. } = plan.operation {
        by_direction(findings, tally, elapsed);
    }
    let figure = |name| findings.figure(name).map(|figure: &Figure| figure.value);
    let (Some(iops), Some(mean_ns)) = (figure("iops"), figure("latency_mean")) else {
        return;
    };
    if let Some(rate) = plan.rate {
        if iops < 0.98 * rate {
            findings.put_verdict(rate_missed(rate, iops));
        }
        return;
    }
    let reached = in_flight(iops, mean_ns);
    findings.put_figure(Figure::new("depth_reached", reached, Unit::Count));
    let asked = f64::from(plan.depth) * f64::from(plan.workers);
    if reached < 0.9 * asked && tally.requests() as f64 > 100.0 * asked {
        findings.put_verdict(common::depth_missed(asked, reached));
    }
}

/// Reads and writes apart: `read_iops`, `write_latency_p99` and so on.
fn by_direction(findings: &mut Findings, tally: &Tally, elapsed: Duration) {
    let seconds = elapsed.as_secs_f64();
    for (word, direction) in [("read", &tally.read), ("write", &tally.write)] {
        let count = direction.latency.count();
        if count == 0 || seconds <= 0.0 {
            continue;
        }
        let mut put = |name: &str, value: f64, unit| {
            let name = format!("{word}_{name}");
            findings.put_figure(Figure::new(&name, value, unit).from_observations(count));
        };
        put("iops", count as f64 / seconds, Unit::PerSecond);
        put(
            "throughput",
            direction.bytes as f64 / seconds,
            Unit::BytesPerSecond,
        );
        if let Some(mean) = direction.latency.mean() {
            put("latency_mean", mean, Unit::Nanoseconds);
        }
        for percent in [50.0, 90.0, 99.0, 99.9] {
            if let Some(value) = direction.latency.percentile(percent) {
                put(
                    &format!("latency_p{percent}"),
                    value as f64,
                    Unit::Nanoseconds,
                );
            }
        }
    }
}

fn rate_missed(asked: f64, reached: f64) -> Verdict {
    Verdict::new(
        "rate-not-reached",
        Severity::Warning,
        format!(
            "{} requests a second arrived, {} were done",
            units::count(asked),
            units::count(reached)
        ),
        "the drive cannot keep up with this load: response times grow as long as it lasts; lower \
         --rate, or raise --depth if the drive takes more at once",
    )
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{self, Fake};
    use crate::session::document::Unit;

    #[test]
    fn a_constant_drive_gives_its_figures() {
        let fake = Fake::new(|_| Some(100_000));
        let target = fake::target(1 << 30);
        let set = [("depth", "8"), ("duration", "1s"), ("slower-than", "50us")];
        let finished = fake::run(find("rndread").unwrap(), &target, &set, &fake);
        let value = |name| finished.findings.figure(name).unwrap().value;
        assert!((value("iops") / 80_000.0 - 1.0).abs() < 1e-3);
        assert_eq!(value("latency_mean"), 100_000.0);
        assert!((value("latency_p99") / 100_000.0 - 1.0).abs() < 1e-3);
        assert_eq!(value("share_slower"), 1.0);
        assert!((value("depth_reached") - 8.0).abs() < 0.1);
        assert!(finished.findings.verdicts.is_empty());
    }

    #[test]
    fn mixed_keeps_both_directions_apart() {
        let fake = Fake::new(|asked| Some(if asked.writes { 400_000 } else { 100_000 }));
        let target = fake::target(1 << 30);
        let set = [("depth", "1"), ("duration", "2s"), ("reads", "75%")];
        let finished = fake::run(find("mixed").unwrap(), &target, &set, &fake);
        let value = |name| finished.findings.figure(name).unwrap().value;
        assert_eq!(value("read_latency_mean"), 100_000.0);
        assert_eq!(value("write_latency_mean"), 400_000.0);
        let share = value("read_iops") / (value("read_iops") + value("write_iops"));
        assert!((share - 0.75).abs() < 0.02, "{share}");
        assert_eq!(
            finished.findings.figure("read_iops").unwrap().unit,
            Unit::PerSecond
        );
        let latency = &finished.findings.latency;
        assert!(latency.read.is_some() && latency.write.is_some());
    }

    #[test]
    fn a_writing_test_says_what_share_of_the_drive_it_writes() {
        let target = fake::target(100 << 30);
        let test = find("rndwrite").unwrap();
        let parameters = fake::parameters(test, &target, &[("bytes", "10GiB")]);
        let forecast = test.forecast(&target, &parameters).unwrap();
        assert_eq!(forecast.writes, Some(10 << 30));
        assert!(
            forecast.sentence.contains("10 % of it"),
            "{}",
            forecast.sentence
        );
    }
}
