//! Benefit of sorting requests by address.

use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::rounds;
use crate::bench::framework::rounds::{DEFAULT_ROUNDS, SoughtOptimum, SweepRounds};
use crate::bench::framework::sweep::{SweepSchedule, SweepTurn};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, FioGap, FioJob,
    Forecast, Parameter, ParameterKind, ParameterSet, RunContext,
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
/// Fraction of the best IOPS from which a buffer size is equivalent to the best.
const EQUIVALENCE_FRACTION: f64 = 0.95;
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
    charts: &[ChartSpec::new(
        "IOPS against reorder buffer size",
        ChartShape::Line,
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

fn complete_plan(target: &Target, parameters: &ParameterSet) -> Result<Plan, BenchError> {
    framework::build_read_plan(target, parameters, AccessPattern::Random)
}

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

/// The plan that predicts the time of a batch: a disk serves sorted requests as fast as if it
/// reordered its own queue.
fn plan_for_batch(base_plan: &Plan, target: &Target, batch: usize, each: u64) -> Plan {
    let depth = match target.is_rotational() {
        Some(true) => u32::try_from(batch).unwrap_or(u32::MAX),
        _ => 1,
    };
    Plan {
        depth,
        limits: PlanLimits {
            requests: Some(each),
            ..PlanLimits::default()
        },
        ..base_plan.clone()
    }
}

impl Benchmark for ReorderBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let plan = complete_plan(target, parameters)?;
        let each = parameters.get(READS_PER_SIZE);
        let all = reads_per_round(each)
            * rounds::phase_count(BATCH_SIZES.len()) as u64
            * u64::from(plan.block_size.max_bytes());
        Ok(Forecast {
            sentence: format!(
                "issues {each} random reads of {} with each of {} reorder buffers, in {DEFAULT_ROUNDS} rounds",
                describe_target(target),
                BATCH_SIZES.len()
            ),
            run_time: PlannedPhases::with_even_shares(plan.limits)
                .add_rounds(
                    BATCH_SIZES
                        .map(|batch| plan_for_batch(&plan, target, batch, reads_per_round(each))),
                )
                .run_time(target),
            max_read_bytes: Some(plan.limits.bytes.unwrap_or(all).min(all)),
            max_written_bytes: None,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let base_plan = complete_plan(bench.target, bench.parameters)?;
        let each = bench.parameters.get(READS_PER_SIZE);
        let count = usize::try_from(reads_per_round(each)).unwrap_or(250);
        let block = u64::from(base_plan.block_size.max_bytes());
        let mut schedule = SweepSchedule::new(BATCH_SIZES.len(), base_plan.limits, base_plan.seed);
        let mut sizes = BufferSweep::new(base_plan.seed);
        while let Some(turn) = schedule.next_turn(bench, |_| (block, PlanLimits::default())) {
            let batch = BATCH_SIZES[turn.point];
            let plan = turn.turn_plan(&base_plan);
            let list = sorted_batch_addresses(&base_plan, count, batch, plan.seed);
            let plan = Plan {
                pattern: AccessPattern::AddressList(list.into()),
                ..plan
            };
            let phase = turn.phase_label(&format!("batches of {batch}"));
            let outcome = bench.execute(&phase, schedule.phase_fraction(), &plan)?;
            schedule.consume_outcome(&outcome);
            sizes.add(turn, &outcome);
            bench.set_series(sizes.read_iops.series_of_means(
                SeriesKind::IopsAgainstBatch,
                &BATCH_SIZES.map(|batch| batch as f64),
            ));
            bench.phase_finished();
        }
        sizes.set_results(bench);
        bench.phase_finished();
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::ListedAddresses)
    }
}

/// Reads per buffer size and round.
fn reads_per_round(each: u64) -> u64 {
    each.div_ceil(DEFAULT_ROUNDS as u64)
}

/// Results per buffer size.
struct BufferSweep {
    read_iops: SweepRounds,
    /// Confidence interval of the unsorted rate in each round, from the scatter of its latencies.
    unsorted_intervals: Vec<[f64; 2]>,
}

impl BufferSweep {
    fn new(seed: u64) -> Self {
        Self {
            read_iops: SweepRounds::new(BATCH_SIZES.len(), seed),
            unsorted_intervals: Vec::new(),
        }
    }

    fn add(&mut self, turn: SweepTurn, outcome: &ExecutionOutcome) {
        let requests = outcome.stats.requests();
        let Some(rate) = outcome.per_second(requests).filter(|_| requests > 0) else {
            return;
        };
        self.read_iops.set_value(turn.point, turn.round, rate);
        if BATCH_SIZES[turn.point] == 1 {
            let latency = &outcome.stats.read.latency;
            let scatter = latency.stddev_ns().unwrap_or(0.0) / latency.mean().unwrap_or(1.0);
            let margin = (CHANGE_SIGMAS * scatter / (requests as f64).sqrt()).min(0.9);
            self.unsorted_intervals
                .push([rate / (1.0 + margin), rate / (1.0 - margin)]);
        }
    }

    fn set_results(&self, bench: &mut RunContext<'_>) {
        let rates = &self.read_iops;
        let (none, largest) = (0, BATCH_SIZES.len() - 1);
        for (point, id) in [
            (none, MetricId::UNORDERED_IOPS),
            (largest, MetricId::ORDERED_IOPS),
        ] {
            if let Some(metric) = rates.metric_of_point(point, id) {
                bench.set_metric(metric);
            }
        }
        let gain = rates.ratio_of_points(largest, none);
        if let Some(gain) = gain {
            bench.set_metric(gain.to_metric(MetricId::REORDER_GAIN));
        }
        let best = rates.first_equivalent_to_best(EQUIVALENCE_FRACTION);
        if let Ok(best) = best {
            let size = BATCH_SIZES[best] as f64;
            bench.set_metric(Metric::new(MetricId::BEST_BATCH, size));
            let iops = rates.metric_of_point(best, MetricId::BEST_BATCH_IOPS);
            iops.into_iter().for_each(|metric| bench.set_metric(metric));
        }
        if bench.is_stopped() {
            return;
        }
        if let Some((low, high)) = self.unsorted_rate_change() {
            bench.set_check(UNSORTED_READS_CHANGED.found(
                format!(
                    "the unsorted reads had {} IOPS in one round and {} in another",
                    units::format_count(low),
                    units::format_count(high)
                ),
                "a cache filled, or another user started or stopped: repeat the run; the intervals \
                 include this change",
                json!({ "lowest": low, "highest": high }),
            ));
        }
        match (best, gain) {
            (Err(_), Some(gain)) if gain.low <= 1.0 => {
                bench.set_check(NO_REORDER_GAIN.found(
                    "no size of the reorder buffer is significantly faster than none",
                    "a scheduler that sorts has no advantage on this drive: use the scheduler none",
                    Value::Null,
                ));
            }
            (Err(reason), _) => {
                let sizes = BATCH_SIZES.map(|batch| batch as f64);
                bench.set_check(reason.verdict(BEST_BATCH, &sizes));
            }
            (Ok(_), _) => {}
        }
    }

    /// Lowest and highest unsorted rate, if their difference is significant.
    fn unsorted_rate_change(&self) -> Option<(f64, f64)> {
        let unsorted = self.unsorted_intervals.iter();
        let low = unsorted.clone().map(|[_, high]| *high);
        let low = low.fold(f64::INFINITY, f64::min);
        let high = unsorted.map(|[low, _]| *low).fold(0.0, f64::max);
        let rates = self.read_iops.values_of_point(0);
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        (high > low).then_some((least, most))
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
        assert!([64.0, 128.0].contains(&metric_value(&finished, &MetricId::BEST_BATCH)));
        assert!(fake::check_codes(&finished).is_empty());
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
