//! Benefit of sorting requests by address.

use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::rounds::{DEFAULT_ROUNDS, SoughtOptimum};
use crate::bench::framework::sweep::{Point, Sweep};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartSpec, Description, FioGap, Parameter,
    ParameterKind, ParameterSet, Phases, RunContext,
};
use crate::drive::Target;
use crate::engine::{AccessPattern, ExecutionOutcome, Plan, PlanLimits};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{Metric, MetricId, MetricKind, SeriesId, SeriesKind};
use crate::stats::random::scale_to_bound;
use crate::units;

/// Random reads in batches, each sorted by address.
pub struct ReorderBenchmark;

/// Sizes of the reorder buffer; the first leaves requests unsorted.
const BATCH_SIZES: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Margin of a round's rate in standard errors: beyond the margins of two rounds, conditions
/// changed.
const CHANGE_SIGMAS: f64 = 2.58;

const READS_PER_SIZE: Parameter<u64> = Parameter {
    name: "reads-each",
    kind: ParameterKind::Count {
        min: 10,
        max: 1_000_000,
    },
    help: "reads with each size of the reorder buffer, total of all rounds",
    default: |_| 1000,
};

const BEST_BATCH: SoughtOptimum = SoughtOptimum {
    check: Check::note(
        "no-best-batch",
        "The differences between the reorder buffers do not determine the best one.",
    ),
    optimum: "best reorder buffer",
    points: "reorder buffers",
    format: |batch| batch.to_string(),
    advice: "use more --reads-each and a longer --duration for narrower intervals",
    equal_is_first: false,
};
const NO_REORDER_GAIN: Check = Check::note(
    "no-reorder-gain",
    "No size of the reorder buffer is significantly faster than none.",
);
const UNSORTED_READS_CHANGED: Check = Check::warning(
    "unsorted-reads-changed",
    "The unsorted reads had different rates in different rounds.",
);

static DESCRIPTION: Description = Description {
    name: "reorder",
    aliases: &[],
    group: BenchmarkGroup::HardDisks,
    example: "/dev/sda --reads-each 500",
    summary: "random reads sorted in batches of 1 to 1024: gain of reordering",
    explanation: include_str!("reorder.md").trim_ascii_end(),
    may_write: false,
    checks: &[BEST_BATCH.check, NO_REORDER_GAIN, UNSORTED_READS_CHANGED],
    workload: Workload::CONSTANT,
    metrics: &[MetricFamily::Own(&[
        MetricKind::ReorderGain,
        MetricKind::UnorderedIops,
        MetricKind::OrderedIops,
        MetricKind::BestBatchIops,
        MetricKind::BestBatch,
    ])],
    parameters: &[
        &READS_PER_SIZE,
        &framework::BLOCK_SIZE,
        &framework::DURATION.with_default(|_| Some(Duration::from_secs(180))),
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::CACHE,
    ],
    charts: &[ChartSpec::line(
        "IOPS against reorder buffer size",
        &[SeriesId::IOPS_AGAINST_BATCH],
    )
    .log_x()
    .with_marks(&[MetricId::BEST_BATCH])],
    headline_metrics: &[
        MetricId::REORDER_GAIN,
        MetricId::UNORDERED_IOPS,
        MetricId::ORDERED_IOPS,
        MetricId::BEST_BATCH,
    ],
};

/// Random aligned addresses in sorted batches, every other batch descending: `count` consecutive
/// addresses of the full sequence from a random position on, so that a few reads represent a large
/// buffer as well as many do.
fn sorted_batch_addresses(plan: &Plan, count: usize, batch: usize, seed: u64) -> Vec<u64> {
    let start = plan.window.start.next_multiple_of(plan.alignment);
    let room = plan
        .window
        .end
        .saturating_sub(start + u64::from(plan.block_size.max_bytes()));
    let blocks = room / plan.alignment + 1;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let all = count.next_multiple_of(batch) + batch;
    let mut addresses: Vec<u64> = (0..all)
        .map(|_| start + scale_to_bound(random.next_u64(), blocks) * plan.alignment)
        .collect();
    for (index, batch) in addresses.chunks_mut(batch).enumerate() {
        batch.sort_unstable();
        if index % 2 == 1 {
            batch.reverse();
        }
    }
    let first = scale_to_bound(random.next_u64(), batch as u64) as usize;
    addresses[first..first + count].to_vec()
}

/// One point for each size of the reorder buffer. Its plan predicts the time: a disk serves sorted
/// requests as fast as if it reordered its own queue.
fn buffer_sweep(target: &Target, parameters: &ParameterSet) -> Result<Sweep, BenchError> {
    let plan = framework::build_read_plan(target, parameters, AccessPattern::Random)?;
    let reads = parameters
        .get(READS_PER_SIZE)
        .div_ceil(DEFAULT_ROUNDS as u64);
    let points = BATCH_SIZES.map(|batch| {
        let is_disk = target.is_rotational() == Some(true);
        let plan = Plan {
            depth: if is_disk { batch as u32 } else { 1 },
            limits: PlanLimits {
                requests: Some(reads),
                ..PlanLimits::default()
            },
            ..plan.clone()
        };
        Point::at(batch as f64, format!("batches of {batch}"), plan)
    });
    Sweep::new(target, parameters, points.to_vec())
}

impl Benchmark for ReorderBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let sentence = format!(
            "issues {} random reads of {} with each of {} reorder buffers, in {DEFAULT_ROUNDS} rounds",
            parameters.get(READS_PER_SIZE),
            describe_target(target),
            BATCH_SIZES.len()
        );
        let phases = buffer_sweep(target, parameters)?.phases(sentence);
        Ok(phases.without_fio(FioGap::ListedAddresses))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let mut sweep = buffer_sweep(bench.target, bench.parameters)?;
        let mut unsorted = Vec::new();
        while let Some(mut turn) = sweep.next_turn(bench) {
            let (plan, batch) = (&mut turn.plan, BATCH_SIZES[turn.point]);
            // The list ends the phase; its requests are issued one at a time.
            let reads = plan.limits.requests.take().unwrap_or(1) as usize;
            let list = sorted_batch_addresses(plan, reads, batch, plan.seed);
            plan.pattern = AccessPattern::AddressList(list.into());
            plan.depth = 1;
            let outcome = sweep.execute(bench, &turn)?;
            if turn.point == 0 {
                unsorted.extend(rate_with_interval(&outcome));
            }
            sweep.set_series(bench, SeriesKind::IopsAgainstBatch, &sweep.iops);
            bench.phase_finished();
        }
        set_results(bench, &sweep, &unsorted);
        bench.phase_finished();
        Ok(())
    }
}

/// A rate and the interval that follows from the scatter of its latencies.
struct Rate {
    iops: f64,
    low: f64,
    high: f64,
}

fn rate_with_interval(outcome: &ExecutionOutcome) -> Option<Rate> {
    let latency = &outcome.stats.read.latency;
    let iops = outcome.per_second(latency.count())?;
    let scatter = latency.stddev_ns()? / latency.mean()?;
    let margin = (CHANGE_SIGMAS * scatter / (latency.count() as f64).sqrt()).min(0.9);
    Some(Rate {
        iops,
        low: iops / (1.0 + margin),
        high: iops / (1.0 - margin),
    })
}

fn set_results(bench: &mut RunContext<'_>, sweep: &Sweep, unsorted: &[Rate]) {
    let rates = &sweep.iops;
    let (none, largest) = (0, BATCH_SIZES.len() - 1);
    let gain = rates.ratio_of_points(largest, none);
    let metrics = [
        rates.metric_of_point(none, MetricId::UNORDERED_IOPS),
        rates.metric_of_point(largest, MetricId::ORDERED_IOPS),
        gain.map(|gain| gain.to_metric(MetricId::REORDER_GAIN)),
    ];
    metrics
        .into_iter()
        .flatten()
        .for_each(|metric| bench.set_metric(metric));
    if let Some(best) = sweep.find_optimum(bench, rates, BEST_BATCH) {
        bench.set_metric(Metric::new(MetricId::BEST_BATCH, sweep.points[best].value));
        let iops = rates.metric_of_point(best, MetricId::BEST_BATCH_IOPS);
        iops.into_iter().for_each(|metric| bench.set_metric(metric));
    } else if gain.is_some_and(|gain| gain.low <= 1.0) && !bench.is_stopped() {
        bench.findings.remove_check(BEST_BATCH.check);
        bench.set_check(NO_REORDER_GAIN.found(
            "no size of the reorder buffer is significantly faster than none",
            "a scheduler that sorts has no advantage on this drive: use the scheduler none",
            Value::Null,
        ));
    }
    let least = |value: fn(&Rate) -> f64| unsorted.iter().map(value).fold(f64::INFINITY, f64::min);
    let most = |value: fn(&Rate) -> f64| unsorted.iter().map(value).fold(0.0, f64::max);
    // The intervals of two rounds do not overlap.
    if most(|rate| rate.low) > least(|rate| rate.high) && !bench.is_stopped() {
        let (lowest, highest) = (least(|rate| rate.iops), most(|rate| rate.iops));
        bench.set_check(UNSORTED_READS_CHANGED.found(
            format!(
                "the unsorted reads had {} IOPS in one round and {} in another",
                units::format_count(lowest),
                units::format_count(highest)
            ),
            "a cache filled, or another user started or stopped: repeat the run; the intervals \
             include this change",
            json!({ "lowest": lowest, "highest": highest }),
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::{FakeDrive, metric_value, run_on_simulated};
    use crate::stats::random::splitmix64;

    #[test]
    fn reorder_of_seeking_drive_gains_by_sorting() {
        let size = 1_u64 << 40;
        let head = Mutex::new(0_u64);
        let fake = FakeDrive::new(move |request| {
            let mut head = head.lock().unwrap();
            let distance = head.abs_diff(request.address);
            *head = request.address;
            Some(4_000_000 + (15e6 * distance as f64 / size as f64) as u64)
        });
        let finished = fake::run_on_fake(
            find_benchmark("reorder").unwrap(),
            &fake::simulated_target(size),
            &[],
            &fake,
        );
        // A third of the stroke each unsorted, almost none sorted: 9 ms against 4 ms.
        let gain = finished.findings.metric(&MetricId::REORDER_GAIN).unwrap();
        assert!((gain.value - 2.25).abs() < 0.1, "{gain:?}");
        assert!(gain.low.unwrap() > 1.9 && gain.high.unwrap() < 2.6);
        // 95 % of the best: 0.2 ms of the 15 ms of a stroke remain, a 64th or a 128th.
        match finished.findings.metric(&MetricId::BEST_BATCH) {
            Some(best) => assert!([64.0, 128.0].contains(&best.value), "{best:?}"),
            None => assert!(finished.findings.has_check(BEST_BATCH.check)),
        }
        let points = &finished
            .findings
            .series(&SeriesId::IOPS_AGAINST_BATCH)
            .unwrap()
            .points;
        assert!(
            points.windows(2).all(|pair| pair[1][1] > pair[0][1] * 0.98),
            "{points:?}"
        );
    }

    #[test]
    fn reorder_of_seekless_drive_gains_nothing() {
        let finished = run_on_simulated(find_benchmark("reorder").unwrap(), "sim:constant", &[]);
        assert!((metric_value(&finished, &MetricId::REORDER_GAIN) - 1.0).abs() < 1e-6);
        assert!(finished.findings.metric(&MetricId::BEST_BATCH).is_none());
        assert_eq!(fake::check_codes(&finished), ["no-reorder-gain"]);
    }

    #[test]
    fn reorder_with_equal_noisy_buffers_has_no_optimum_and_gain_covers_one() {
        let (mut covered, mut named) = (0, 0);
        for seed in 0..40_u64 {
            let fake = FakeDrive::new(|request: &fake::FakeRequest<'_>| {
                // Up to a fifth faster or slower between phases, and between reads.
                let phase = splitmix64(request.plan.seed ^ (seed << 48)) % 40_000;
                Some(100_000 + phase + splitmix64(request.address) % 20_000)
            });
            let set = [("seed", &*seed.to_string())];
            let test = find_benchmark("reorder").unwrap();
            let finished = fake::run_on_fake(test, &fake::simulated_target(1 << 40), &set, &fake);
            let gain = finished.findings.metric(&MetricId::REORDER_GAIN).unwrap();
            covered += u32::from(gain.low <= Some(1.0) && gain.high >= Some(1.0));
            named += u32::from(finished.findings.metric(&MetricId::BEST_BATCH).is_some());
        }
        assert!(
            covered >= 35 && named <= 2,
            "{covered} covered, {named} named"
        );
    }

    #[test]
    fn reorder_part_of_large_batch_is_sorted_and_spans_window() {
        let plan = Plan::single_depth_reads(AccessPattern::Random, 4096, 0..1 << 30);
        let starts: Vec<u64> = (0..50)
            .map(|seed| sorted_batch_addresses(&plan, 10, 1024, seed)[0])
            .collect();
        assert!(starts.iter().any(|start| *start < 1 << 28));
        assert!(starts.iter().any(|start| *start > 3 << 28));
        let turns = |list: Vec<u64>| {
            let pairs: Vec<bool> = list.windows(2).map(|pair| pair[0] <= pair[1]).collect();
            pairs.windows(2).filter(|pair| pair[0] != pair[1]).count()
        };
        assert!((0..50).all(|seed| turns(sorted_batch_addresses(&plan, 100, 1024, seed)) <= 1));
    }

    #[test]
    fn reorder_with_warming_cache_reports_no_gain() {
        let request = Mutex::new(0_u32);
        let fake = FakeDrive::new(move |_| {
            let mut request = request.lock().unwrap();
            *request += 1;
            // Only the first round starts with a cold cache.
            Some(if *request <= 11 * 250 {
                1_500_000
            } else {
                100_000
            })
        });
        let finished = fake::run_on_fake(
            find_benchmark("reorder").unwrap(),
            &fake::simulated_target(1 << 40),
            &[],
            &fake,
        );
        let gain = finished.findings.metric(&MetricId::REORDER_GAIN).unwrap();
        assert!(gain.low.unwrap() <= 1.0, "{gain:?}");
        let codes = fake::check_codes(&finished);
        assert!(
            codes.contains(&"unsorted-reads-changed".to_owned()),
            "{codes:?}"
        );
        assert!(codes.contains(&"no-reorder-gain".to_owned()), "{codes:?}");
    }

    #[test]
    fn reorder_batches_alternate_sort_direction() {
        let plan = Plan::single_depth_reads(AccessPattern::Random, 4096, 0..1 << 30);
        let batched = sorted_batch_addresses(&plan, 100, 10, 7);
        assert_eq!(batched.len(), 100);
        let falls = |pair: &[u64]| pair[0] > pair[1];
        let turns = batched
            .windows(2)
            .map(falls)
            .collect::<Vec<_>>()
            .windows(2)
            .filter(|pair| pair[0] != pair[1])
            .count();
        // Alternating directions: a reversal at the end of each batch, and at most one more between
        // two.
        assert!((9..=22).contains(&turns), "{turns}");
        assert_eq!(batched, sorted_batch_addresses(&plan, 100, 10, 7));
        assert_ne!(batched, sorted_batch_addresses(&plan, 100, 10, 8));
    }
}
