//! Cost of read-modify-write cycles for writes that do not fill a block.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::rounds::NO_SIGNIFICANT_PENALTY;
use crate::bench::framework::sweep::{self, LATENCY_COLUMNS, Point, Sweep, VARIANT_METRICS};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartSpec, Description, ParameterSet, Phases, RunContext,
};
use crate::drive::{Target, TargetKind};
use crate::engine::{AccessPattern, BlockSize, CacheMode, FlushMethod, IoOperation};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{
    MetricId, MetricKind, Series, SeriesId, SeriesKind, VariantKey, Verdict,
};
use crate::units;

/// Records of 4000 against 4096 bytes, and of 512 against 4096.
pub struct ReadModifyWriteCost;

/// Size of a cache page, and of most media's physical blocks.
const PAGE_BYTES: u32 = 4096;
/// A record that never fills a page.
const UNALIGNED_RECORD_BYTES: u32 = 4000;

const BUFFERED_4096: VariantKey = VariantKey::new("buffered_4096");
const BUFFERED_4000: VariantKey = VariantKey::new("buffered_4000");
const DIRECT_4096: VariantKey = VariantKey::new("direct_4096");
const DIRECT_512: VariantKey = VariantKey::new("direct_512");

/// Records of one size: bytes, label, variant, and the curve of their latencies.
type Records = (u32, &'static str, VariantKey, SeriesKind);

/// A pair of variants: whole blocks, then partial ones.
struct Pair {
    cache: CacheMode,
    records: [Records; 2],
    penalty: MetricId,
}

#[rustfmt::skip]
const BUFFERED: Pair = Pair {
    cache: CacheMode::Drop,
    records: [
        (PAGE_BYTES, "4096 bytes, buffered", BUFFERED_4096, SeriesKind::TimesBuffered4096),
        (UNALIGNED_RECORD_BYTES, "4000 bytes, buffered", BUFFERED_4000, SeriesKind::TimesBuffered4000),
    ],
    penalty: MetricId::PENALTY_BUFFERED,
};

#[rustfmt::skip]
const DIRECT: Pair = Pair {
    cache: CacheMode::Bypass,
    records: [
        (PAGE_BYTES, "4096 bytes, direct", DIRECT_4096, SeriesKind::TimesDirect4096),
        (512, "512 bytes, direct", DIRECT_512, SeriesKind::TimesDirect512),
    ],
    penalty: MetricId::PENALTY_DIRECT,
};

const NO_PAGE_CACHE: Check = Check::note("no-page-cache", "A simulated drive has no page cache.");
const NOT_512E: Check = Check::note(
    "not-512e",
    "Logical and physical blocks have the same size: no direct write can be smaller than a physical block.",
);

static DESCRIPTION: Description = Description {
    name: "read-modify-write",
    aliases: &[],
    group: BenchmarkGroup::Throughput,
    example: "/srv",
    summary: "penalty of 4000-byte against 4096-byte writes, and of 512 bytes on 4096-byte sectors",
    explanation: include_str!("read-modify-write.md").trim_ascii_end(),
    may_write: true,
    checks: &[NO_PAGE_CACHE, NOT_512E, NO_SIGNIFICANT_PENALTY],
    workload: Workload::CONSTANT,
    metrics: &[
        MetricFamily::Own(&[MetricKind::PenaltyBuffered, MetricKind::PenaltyDirect]),
        MetricFamily::Variants {
            variants: &[
                VariantFamily::One(BUFFERED_4096),
                VariantFamily::One(BUFFERED_4000),
                VariantFamily::One(DIRECT_4096),
                VariantFamily::One(DIRECT_512),
            ],
            metrics: VARIANT_METRICS,
        },
    ],
    parameters: &[
        &framework::DURATION.with_default(|_| Some(Duration::from_secs(20))),
        &framework::BYTES,
        &framework::REQUESTS.with_default(|_| Some(80_000)),
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::DATA,
    ],
    charts: &[ChartSpec::line(
        "Writes completed within a latency, full and partial blocks",
        &[
            SeriesId::TIMES_BUFFERED_4096,
            SeriesId::TIMES_BUFFERED_4000,
            SeriesId::TIMES_DIRECT_4096,
            SeriesId::TIMES_DIRECT_512,
        ],
    )
    .log_x()],
    headline_metrics: &[MetricId::PENALTY_BUFFERED, MetricId::PENALTY_DIRECT],
};

/// Whether the logical sectors are smaller than the physical sectors.
fn is_512e(target: &Target) -> bool {
    target.supports_direct_io
        && target.logical_block_bytes <= 512
        && target.physical_block_bytes >= PAGE_BYTES
}

/// The pairs that the target permits.
fn pairs(target: &Target) -> Vec<Pair> {
    let buffered = (target.kind != TargetKind::Simulated).then_some(BUFFERED);
    let direct = is_512e(target).then_some(DIRECT);
    buffered.into_iter().chain(direct).collect()
}

/// Two points for each pair: whole blocks, then partial ones.
fn record_sweep(target: &Target, parameters: &ParameterSet) -> Result<Sweep, BenchError> {
    let mut points = Vec::new();
    for pair in pairs(target) {
        for (bytes, label, key, _) in pair.records {
            let (operation, pattern) = (IoOperation::Write, AccessPattern::Random);
            let mut plan = framework::build_plan(target, parameters, operation, pattern)?;
            plan.block_size = BlockSize::Fixed(bytes);
            plan.alignment = u64::from(bytes);
            plan.cache_mode = pair.cache;
            plan.end_fsync = Some(FlushMethod::Fsync);
            points.push(Point::variant(label, key, plan));
        }
    }
    Sweep::new(target, parameters, points)
}

impl Benchmark for ReadModifyWriteCost {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let sweep = record_sweep(target, parameters)?;
        let sentence = format!(
            "writes full and partial blocks at random offsets of {} in {} variants",
            describe_target(target),
            sweep.points.len(),
        );
        Ok(sweep.phases(sentence))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let mut sweep = record_sweep(bench.target, bench.parameters)?;
        let table = sweep::table("Full and partial blocks", &LATENCY_COLUMNS, &sweep.points);
        bench.findings.set_table(table);
        if bench.target.kind == TargetKind::Simulated {
            bench.set_check(NO_PAGE_CACHE.found(
                "a simulated drive has no page cache: the buffered variants are skipped",
                "name a directory or a drive to measure them",
                Value::Null,
            ));
        }
        if !is_512e(bench.target) {
            bench.set_check(not_512e(bench.target));
        }
        let pairs = pairs(bench.target);
        let records: Vec<&Records> = pairs.iter().flat_map(|pair| &pair.records).collect();
        while let Some(turn) = sweep.next_turn(bench) {
            sweep.execute(bench, &turn)?;
            if let Some(summary) = framework::latency_summary(&sweep.totals[turn.point].latency) {
                let points = summary.cumulative_points();
                bench.set_series(Series::new(records[turn.point].3, points));
            }
            bench.phase_finished();
        }
        for (index, pair) in pairs.iter().enumerate() {
            let Some(penalty) = sweep.iops.ratio_of_points(2 * index, 2 * index + 1) else {
                continue;
            };
            bench.set_metric(penalty.to_metric(pair.penalty.clone()));
            if penalty.includes_one() {
                let labels = [pair.records[0].1, pair.records[1].1];
                bench.set_check(penalty.without_difference(labels));
            }
        }
        sweep.sort_metrics(&mut bench.findings);
        Ok(())
    }
}

fn not_512e(target: &Target) -> Verdict {
    let (logical, physical) = (target.logical_block_bytes, target.physical_block_bytes);
    NOT_512E.found(
        format!(
            "logical blocks of {} and physical blocks of {}: no direct write can be smaller than a \
             physical block, the direct variants are skipped",
            units::format_block_size(f64::from(logical)),
            units::format_block_size(f64::from(physical)),
        ),
        "no action needed: only drives with 512-byte logical and 4096-byte physical blocks have that \
         penalty",
        json!({ "logical_bytes": logical, "physical_bytes": physical }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::{FakeDrive, check_codes, metric_value};
    use crate::stats::random::splitmix64;

    /// A drive on which a partial block costs five times as much.
    fn penalised_drive() -> FakeDrive<impl Fn(&fake::FakeRequest<'_>) -> Option<u64> + Send + Sync>
    {
        FakeDrive::new(|request| {
            Some(if request.bytes.is_multiple_of(PAGE_BYTES) {
                100_000
            } else {
                500_000
            })
        })
    }

    #[test]
    fn read_modify_write_finds_penalty_of_partial_blocks() {
        let target = Target {
            kind: TargetKind::ScratchFile,
            ..fake::simulated_target(1 << 30)
        };
        let finished = fake::run_on_fake(
            find_benchmark("read-modify-write").unwrap(),
            &target,
            &[],
            &penalised_drive(),
        );
        for name in ["penalty_buffered", "penalty_direct"] {
            assert!(
                (metric_value(&finished, &MetricId::parse(name)) / 5.0 - 1.0).abs() < 0.1,
                "{name}"
            );
        }
        assert!(check_codes(&finished).is_empty());
        for (name, slowest) in [("times-direct-4096", 1e5), ("times-direct-512", 5e5)] {
            let [time, share] = *finished
                .findings
                .series(&SeriesId::parse(name))
                .unwrap()
                .points
                .last()
                .unwrap();
            assert!((time / slowest - 1.0).abs() < 0.1 && share == 1.0, "{name}");
        }
    }

    #[test]
    fn read_modify_write_of_equal_writes_has_no_significant_penalty() {
        let target = Target {
            kind: TargetKind::ScratchFile,
            ..fake::simulated_target(1 << 30)
        };
        let covered = (0..20_u64)
            .filter(|seed| {
                // Whole executions vary by up to a third.
                let fake = FakeDrive::new(|request: &fake::FakeRequest<'_>| {
                    let word = splitmix64(request.plan.seed ^ u64::from(request.bytes) << 20);
                    Some(100_000 + word % 50_000)
                });
                let set = [("seed", &*seed.to_string()), ("requests", "4000")];
                let test = find_benchmark("read-modify-write").unwrap();
                let finished = fake::run_on_fake(test, &target, &set, &fake);
                let penalty = finished.findings.metric(&MetricId::PENALTY_DIRECT).unwrap();
                let covers = penalty.low <= Some(1.0) && penalty.high >= Some(1.0);
                assert!(!covers || finished.findings.has_check(NO_SIGNIFICANT_PENALTY));
                covers
            })
            .count();
        assert!(covered >= 17, "{covered} of 20");
    }

    #[test]
    fn read_modify_write_without_512e_measures_only_buffered_pair() {
        let target = Target {
            kind: TargetKind::ScratchFile,
            logical_block_bytes: 4096,
            ..fake::simulated_target(1 << 30)
        };
        let finished = fake::run_on_fake(
            find_benchmark("read-modify-write").unwrap(),
            &target,
            &[],
            &penalised_drive(),
        );
        assert_eq!(check_codes(&finished), ["not-512e"]);
        assert!(
            finished
                .findings
                .metric(&MetricId::PENALTY_DIRECT)
                .is_none()
        );
        metric_value(&finished, &MetricId::PENALTY_BUFFERED);
    }

    #[test]
    fn read_modify_write_limits_apply_to_all_variants_together() {
        let fake = penalised_drive();
        let target = Target {
            kind: TargetKind::ScratchFile,
            ..fake::simulated_target(1 << 30)
        };
        fake::run_on_fake(
            find_benchmark("read-modify-write").unwrap(),
            &target,
            &[("requests", "1000")],
            &fake,
        );
        let plans = fake.executed_plans.lock().unwrap();
        assert_eq!(
            plans
                .iter()
                .filter_map(|plan| plan.limits.requests)
                .sum::<u64>(),
            1000
        );
    }
}
