//! Sequential reads or writes: throughput over the address space.

mod checks;
#[cfg(test)]
mod tests;
mod zones;

use std::time::Duration;

use self::checks::CHECKS;
use self::zones::{MeasuredPasses, MeasuredZone, ZONE_COUNT, mean_throughput};
use crate::bench::framework;
use crate::bench::framework::budget::PhaseBudget;
use crate::bench::framework::context::PhaseHooks;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::operation::Operation;
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, Parameter,
    ParameterKind, ParameterSet, PhaseGroup, Phases, Repetition, RunContext,
};
use crate::drive::Target;
use crate::engine::{
    AccessPattern, CacheMode, ExecutionOutcome, IoCounts, IoStats, Plan, PlanLimits,
};
use crate::session::document::{
    Findings, Metric, MetricId, MetricKind, Series, SeriesId, SeriesKind,
};
use crate::stats::general::segments::find_segments;

/// Minimum number of measured zones in a zone of the drive: fewer are a transient disturbance.
const MIN_ZONES_PER_LEVEL: usize = 3;
/// Where no limit is set, passes are repeated for this time: a fast drive reads all zones in a
/// fraction of a second, which says little about it.
const MIN_TIME: Duration = Duration::from_secs(10);
/// A further pass that has less than this fraction of the time of the last one is not worth it.
const MIN_PASS_FRACTION: f64 = 0.1;

const BLOCK_SIZE: Parameter<u64> = framework::BLOCK_SIZE.with_default(|_| 1 << 20);
const DEPTH: Parameter<u32> = framework::DEPTH.with_default(|_| 4);
/// No time limit by default: every zone is measured completely.
const DURATION: Parameter<Option<Duration>> = framework::DURATION.with_default(|_| None);
/// Bytes transferred per zone, unless the zone is smaller.
const ZONE_BYTES: Parameter<u64> = Parameter {
    name: "zone-bytes",
    kind: ParameterKind::Size { min: 1 },
    help: "bytes transferred in each of the 100 zones in one pass",
    default: |_| 128 << 20,
};

/// What both directions have in common.
const SHARED: Description = Description {
    group: BenchmarkGroup::Throughput,
    checks: CHECKS,
    metrics: &[
        MetricFamily::Own(&[
            MetricKind::ThroughputMean,
            MetricKind::ThroughputMin,
            MetricKind::ThroughputMax,
            MetricKind::ThroughputMinOffset,
            MetricKind::ThroughputMaxOffset,
            MetricKind::Zones,
            MetricKind::FullCopyTime,
        ]),
        MetricFamily::Latency,
    ],
    charts: &[ChartSpec::new(
        "Throughput against address",
        ChartShape::Steps,
        &[
            SeriesId::THROUGHPUT_OVER_ADDRESS,
            SeriesId::ZONES_OVER_ADDRESS,
        ],
    )],
    headline_metrics: &[
        MetricId::THROUGHPUT_MEAN,
        MetricId::THROUGHPUT_MIN,
        MetricId::THROUGHPUT_MAX,
        MetricId::ZONES,
        MetricId::FULL_COPY_TIME,
    ],
    ..Description::BLANK
};

static READ: Description = Description {
    name: "sequential-read",
    aliases: &["seqread", "read"],
    example: "/dev/sda",
    summary: "sequential reads of large blocks: throughput against offset",
    explanation: include_str!("sequential/sequential-read.md").trim_ascii_end(),
    parameters: &[
        &BLOCK_SIZE,
        &DEPTH,
        &ZONE_BYTES,
        &DURATION,
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::CACHE,
        &framework::WAIT,
        &framework::CONTINUE_ON_ERROR,
    ],
    ..SHARED
};

static WRITE: Description = Description {
    name: "sequential-write",
    aliases: &["seqwrite", "write"],
    example: "/srv --scratch-size 16GiB",
    summary: "sequential writes of large blocks: throughput against offset",
    explanation: include_str!("sequential/sequential-write.md").trim_ascii_end(),
    may_write: true,
    parameters: &[
        &BLOCK_SIZE,
        &DEPTH,
        &ZONE_BYTES,
        &DURATION,
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SYNC,
        &framework::DATA,
        &framework::CACHE,
        &framework::WAIT,
        &framework::CONTINUE_ON_ERROR,
    ],
    ..SHARED
};

/// Large requests in 100 equidistant zones of the window, ascending.
pub struct SequentialBenchmark {
    /// Read or write.
    pub operation: Operation,
}

impl Benchmark for SequentialBenchmark {
    fn description(&self) -> &'static Description {
        match self.operation {
            Operation::Read => &READ,
            Operation::Write => &WRITE,
        }
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let operation = self.operation;
        let pattern = AccessPattern::Sequential;
        let mut plan = framework::build_plan(target, parameters, operation.into(), pattern)?;
        let mut limits = plan.limits;
        // A further pass through the page cache would read what the one before left there.
        let is_limited = limits != PlanLimits::default();
        let least = (!is_limited && plan.cache_mode == CacheMode::Bypass).then_some(MIN_TIME);
        let is_repeated = is_limited || least.is_some();
        // The zones contain the limits on bytes and requests, the plan that on time.
        plan.limits.bytes = None;
        plan.limits.requests = None;
        let block = u64::from(plan.block_size.max_bytes());
        let each = (parameters.get(ZONE_BYTES) / block).max(1);
        let plan = zones::plan_of_pass(&plan, each.saturating_mul(ZONE_COUNT), limits);
        let map = zones::map_of(&plan);
        if is_repeated && operation.writes() && limits.bytes.is_none() && limits.requests.is_none()
        {
            let time = limits.duration.unwrap_or(MIN_TIME);
            let most = framework::timed_write_limit(target, time);
            limits.bytes = Some(most.max(map.requests() * block));
        }
        let sentence = format!(
            "{} {} zones of {}, ascending, {} at a time",
            operation.verb(),
            map.zones(),
            describe_target(target),
            framework::describe_block_size(plan.block_size),
        );
        let label = format!("{} zones", map.zones());
        let mut phases = Phases::of_plan(sentence, label, plan);
        phases.groups[0].limits = limits;
        phases.groups[0].repetition = if is_repeated {
            Repetition::Passes(least)
        } else {
            Repetition::Rounds(1)
        };
        Ok(phases)
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let phases = self.phases(bench.target, bench.parameters)?;
        for group in &phases.groups {
            let measured = self.measure_passes(bench, group)?;
            let plan = &group.phases[0].plan;
            checks::check_zones(&mut bench.findings, bench.target, &measured, plan);
            set_results(bench, &measured.zones, plan);
            bench.phase_finished();
        }
        Ok(())
    }
}

impl SequentialBenchmark {
    /// Passes over all zones until the limits are used up or the time of the group has passed. The
    /// queue stays full from zone to zone; under a time limit each zone gets at least an even
    /// fraction of it.
    fn measure_passes(
        &self,
        bench: &mut RunContext<'_>,
        group: &PhaseGroup,
    ) -> Result<MeasuredPasses, BenchError> {
        let whole = &group.phases[0].plan;
        let block = u64::from(whole.block_size.max_bytes());
        let mut budget = PhaseBudget::new(group.limits_with_least_time());
        let mut sum = MeasuredPasses::default();
        let mut share = group.fraction_of_first_pass(bench.target);
        let mut reported = 0.0;
        for pass in 1.. {
            let Some(left) = budget.next_phase_limits(1, block, PlanLimits::default()) else {
                break;
            };
            if let Some(time) = left.duration.filter(|_| whole.limits.duration.is_some())
                && time < sum.first_pass.mul_f64(MIN_PASS_FRACTION)
            {
                break;
            }
            let plan = zones::plan_of_pass(whole, zones::map_of(whole).requests(), left);
            let label = match pass {
                1 => group.phases[0].label.clone(),
                _ => format!("{}, pass {pass}", group.phases[0].label),
            };
            let outcome = self.measure_pass(bench, (&label, share), &plan, &mut sum)?;
            budget.consume_outcome(&outcome);
            let is_single = matches!(group.repetition, Repetition::Rounds(_));
            let is_empty = outcome.stats.all_counts() == IoCounts::default();
            if is_single || bench.is_stopped() || is_empty {
                break;
            }
            reported += share;
            bench.skip_fraction((budget.used_fraction() - reported).max(0.0));
            reported = reported.max(budget.used_fraction());
            share = (budget.used_fraction() / f64::from(pass)).min(1.0 - reported);
        }
        Ok(sum)
    }

    fn measure_pass(
        &self,
        bench: &mut RunContext<'_>,
        (label, share): (&str, f64),
        plan: &Plan,
        sum: &mut MeasuredPasses,
    ) -> Result<ExecutionOutcome, BenchError> {
        let mut report = |findings: &mut Findings, stats: &IoStats, elapsed: Duration| {
            let zones = zones::zones_in_progress(plan, stats, elapsed);
            set_metrics(findings, self.operation, &sum.with_pass(&zones, stats));
        };
        let hooks = PhaseHooks {
            report: Some(&mut report),
            ..PhaseHooks::default()
        };
        let outcome = bench.execute_phase(label, share, plan, hooks)?;
        let zones = zones::zones_of_outcome(plan, &outcome);
        *sum = sum.with_pass(&zones, &outcome.stats);
        if sum.first_pass.is_zero() {
            let block = u64::from(plan.block_size.max_bytes());
            sum.fewest_requests = zones.iter().map(|zone| zone.bytes / block).min();
            sum.first_pass = outcome.elapsed;
        }
        set_metrics(&mut bench.findings, self.operation, sum);
        bench.phase_finished();
        Ok(outcome)
    }
}

/// Sets the metrics of the zones measured so far.
fn set_metrics(findings: &mut Findings, operation: Operation, passes: &MeasuredPasses) {
    let MeasuredPasses { zones, latency, .. } = passes;
    let by_rate = |left: &&MeasuredZone, right: &&MeasuredZone| {
        left.bytes_per_second.total_cmp(&right.bytes_per_second)
    };
    // `max_by` returns the last of equal elements; the reversed order makes it the first.
    let fastest = zones.iter().rev().max_by(by_rate);
    let (Some(slowest), Some(fastest)) = (zones.iter().min_by(by_rate), fastest) else {
        return;
    };
    let observations = zones.len() as u64;
    let rate = |id, value| Metric::new(id, value).with_observations(observations);
    let offset = |id, zone: &MeasuredZone| Metric::new(id, zone.offset as f64);
    let mean = mean_throughput(zones);
    findings.set_metric(rate(MetricId::THROUGHPUT_MEAN, mean));
    findings.set_metric(rate(MetricId::THROUGHPUT_MIN, slowest.bytes_per_second));
    findings.set_metric(rate(MetricId::THROUGHPUT_MAX, fastest.bytes_per_second));
    findings.set_metric(offset(MetricId::THROUGHPUT_MIN_OFFSET, slowest));
    findings.set_metric(offset(MetricId::THROUGHPUT_MAX_OFFSET, fastest));
    framework::report_latency_metrics(findings, latency);
    let summary = framework::latency_summary(latency);
    if operation.writes() {
        findings.latency.write = summary;
    } else {
        findings.latency.read = summary;
    }
    let points = zones
        .iter()
        .map(|zone| [zone.offset as f64, zone.bytes_per_second]);
    findings.set_series(Series::new(
        SeriesKind::ThroughputOverAddress,
        points.collect(),
    ));
}

/// Sets what follows from the whole curve: the drive's zones, the location for a fast partition,
/// and the time of a full copy.
fn set_results(bench: &mut RunContext<'_>, zones: &[MeasuredZone], plan: &Plan) {
    let rates: Vec<f64> = zones.iter().map(|zone| zone.typical).collect();
    if rates.len() < 4 * MIN_ZONES_PER_LEVEL {
        return;
    }
    let steps = find_segments(&rates, MIN_ZONES_PER_LEVEL);
    bench.set_metric(Metric::new(MetricId::ZONES, steps.len() as f64));
    let copy_ns =
        framework::underlying_capacity(bench.target) as f64 / mean_throughput(zones) * 1e9;
    bench.set_metric(Metric::new(MetricId::FULL_COPY_TIME, copy_ns));
    let edges = steps.iter().flat_map(|step| {
        let end = zones
            .get(step.range.end)
            .map_or(plan.window.end, |zone| zone.offset);
        let mean = mean_throughput(&zones[step.range.clone()]);
        [
            [zones[step.range.start].offset as f64, mean],
            [end as f64, mean],
        ]
    });
    bench.set_series(Series::new(SeriesKind::ZonesOverAddress, edges.collect()));
    checks::check_levels(&mut bench.findings, bench.target, zones, plan, &steps);
}
