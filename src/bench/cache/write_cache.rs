//! What durability costs: plain writes, O_DSYNC writes, and writes that a flush follows.

use std::time::Duration;

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::rounds::NO_SIGNIFICANT_PENALTY;
use crate::bench::framework::sweep::{self, LATENCY_COLUMNS, Point, Sweep, VARIANT_METRICS};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, Description, ParameterSet, Phases, RunContext,
};
use crate::drive::Target;
use crate::engine::{AccessPattern, IoOperation, Plan, SyncMode};
use crate::session::checks::Workload;
use crate::session::document::{MetricId, MetricKind, VariantKey};

/// Plain writes, O_DSYNC writes and writes with flushes.
pub struct WriteCacheBenchmark;

const PLAIN: VariantKey = VariantKey::new("plain");
const DSYNC: VariantKey = VariantKey::new("dsync");
const FLUSH: VariantKey = VariantKey::new("flush");

static DESCRIPTION: Description = Description {
    name: "write-cache",
    aliases: &[],
    group: BenchmarkGroup::Durability,
    example: "/dev/sdX --overwrite /dev/sdX",
    summary: "plain writes, O_DSYNC writes, and writes with a flush after each: what durability costs",
    explanation: include_str!("write-cache.md").trim_ascii_end(),
    may_write: true,
    checks: &[NO_SIGNIFICANT_PENALTY],
    workload: Workload::VARYING,
    metrics: &[
        MetricFamily::Own(&[MetricKind::SyncPenalty, MetricKind::FlushPenalty]),
        MetricFamily::Variants {
            variants: &[
                VariantFamily::One(PLAIN),
                VariantFamily::One(DSYNC),
                VariantFamily::One(FLUSH),
            ],
            metrics: VARIANT_METRICS,
        },
    ],
    parameters: &[
        &framework::BLOCK_SIZE,
        &framework::DEPTH.with_default(|_| 1),
        &framework::DURATION.with_default(|_| Some(Duration::from_secs(40))),
        &framework::BYTES.with_default(|_| Some(1 << 30)),
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::DATA,
    ],
    charts: &[],
    headline_metrics: &[MetricId::SYNC_PENALTY, MetricId::FLUSH_PENALTY],
};

const VARIANTS: [(&str, VariantKey, SyncMode); 3] = [
    ("plain", PLAIN, SyncMode::None),
    ("O_DSYNC", DSYNC, SyncMode::DataSync),
    ("with flush", FLUSH, SyncMode::Flush),
];

fn durability_sweep(target: &Target, parameters: &ParameterSet) -> Result<Sweep, BenchError> {
    let (operation, pattern) = (IoOperation::Write, AccessPattern::Random);
    let whole = framework::build_plan(target, parameters, operation, pattern)?;
    let points = VARIANTS.map(|(label, key, sync_mode)| {
        let plan = Plan {
            sync_mode,
            ..whole.clone()
        };
        Point::variant(label, key, plan)
    });
    Sweep::new(target, parameters, points.to_vec())
}

impl Benchmark for WriteCacheBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let sentence = format!(
            "writes at random offsets of {}, plain, with O_DSYNC and with a flush after each write",
            describe_target(target)
        );
        Ok(durability_sweep(target, parameters)?.phases(sentence))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let mut sweep = durability_sweep(bench.target, bench.parameters)?;
        let table = sweep::table("Durability", &LATENCY_COLUMNS, &sweep.points);
        bench.findings.set_table(table);
        sweep.run(bench)?;
        let (plain, dsync, flush) = (0, 1, 2);
        if let Some(penalty) = sweep.iops.ratio_of_points(plain, flush) {
            bench.set_metric(penalty.to_metric(MetricId::FLUSH_PENALTY));
        }
        if let Some(penalty) = sweep.iops.ratio_of_points(plain, dsync) {
            bench.set_metric(penalty.to_metric(MetricId::SYNC_PENALTY));
            if penalty.includes_one() && !bench.is_stopped() {
                let labels = [VARIANTS[plain].0, VARIANTS[dsync].0];
                bench.set_check(penalty.without_difference(labels));
            }
        }
        sweep.sort_metrics(&mut bench.findings);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::{FakeDrive, check_codes, metric_value, run_on_simulated};
    use crate::stats::random::splitmix64;

    #[test]
    fn write_cache_without_differences_reports_no_penalty() {
        let finished = run_on_simulated(
            find_benchmark("write-cache").unwrap(),
            "sim:constant",
            &[("duration", "1s")],
        );
        assert_eq!(check_codes(&finished), ["no-significant-penalty"]);
        assert!((metric_value(&finished, &MetricId::SYNC_PENALTY) - 1.0).abs() < 0.01);
    }

    #[test]
    fn write_cache_penalty_intervals_of_noisy_writes_cover_truth() {
        let mut covered = [0; 2];
        for seed in 0..60_u64 {
            // Phases vary by up to a third; O_DSYNC writes take three times as long, flushes nine times.
            let fake = FakeDrive::new(|request: &fake::FakeRequest<'_>| {
                let factor = match request.plan.sync_mode {
                    SyncMode::None => 1,
                    SyncMode::DataSync => 3,
                    SyncMode::Sync | SyncMode::Flush => 9,
                };
                Some(factor * (100_000 + splitmix64(request.plan.seed ^ (factor << 60)) % 33_000))
            });
            let set = [("seed", &*seed.to_string()), ("requests", "1200")];
            let test = find_benchmark("write-cache").unwrap();
            let finished = fake::run_on_fake(test, &fake::simulated_target(1 << 30), &set, &fake);
            assert!(check_codes(&finished).is_empty());
            assert_eq!(fake.executed_plans.lock().unwrap().len(), 12);
            for (count, (id, truth)) in covered.iter_mut().zip([
                (MetricId::SYNC_PENALTY, 3.0),
                (MetricId::FLUSH_PENALTY, 9.0),
            ]) {
                let penalty = finished.findings.metric(&id).unwrap();
                *count +=
                    u32::from((penalty.low.unwrap()..=penalty.high.unwrap()).contains(&truth));
            }
        }
        assert!(
            covered.iter().all(|count| *count >= 53),
            "{covered:?} of 60"
        );
    }
}
