//! Cost of read-modify-write cycles for writes that do not fill a block.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::rounds::{NO_SIGNIFICANT_PENALTY, SweepRounds};
use crate::bench::framework::sweep::SweepTurn;
use crate::bench::framework::variants;
use crate::bench::framework::variants::{
    LATENCY_COLUMNS, PassHook, VARIANT_METRICS, Variant, VariantTotal,
};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, Forecast,
    ParameterSet, RunContext,
};
use crate::drive::{Target, TargetKind};
use crate::engine::{
    AccessPattern, BlockSize, CacheMode, ExecutionOutcome, FlushMethod, IoOperation, Plan,
    PlanLimits,
};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{
    Findings, MetricId, MetricKind, MetricTable, Series, SeriesId, SeriesKind, VariantKey, Verdict,
};
use crate::stats::latency::histogram::LatencyHistogram;
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

/// The latency distribution of each variant.
const LATENCY_SERIES: [(VariantKey, SeriesKind); 4] = [
    (BUFFERED_4096, SeriesKind::TimesBuffered4096),
    (BUFFERED_4000, SeriesKind::TimesBuffered4000),
    (DIRECT_4096, SeriesKind::TimesDirect4096),
    (DIRECT_512, SeriesKind::TimesDirect512),
];

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
    charts: &[ChartSpec::new(
        "Writes completed within a latency, full and partial blocks",
        ChartShape::Line,
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

fn plan_for_record_size(
    size: u32,
    cache: CacheMode,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Plan, BenchError> {
    let mut plan = framework::build_plan(
        target,
        parameters,
        IoOperation::Write,
        AccessPattern::Random,
    )?;
    plan.block_size = BlockSize::Fixed(size);
    plan.alignment = u64::from(size);
    plan.cache_mode = cache;
    plan.limits = PlanLimits::default();
    plan.end_fsync = Some(FlushMethod::Fsync);
    // Other offsets per variant: data read by one variant must not speed up another.
    plan.seed = plan.seed.wrapping_add(u64::from(size));
    Ok(plan)
}

/// Whether the logical sectors are smaller than the physical sectors.
fn is_512e(target: &Target) -> bool {
    target.supports_direct_io
        && target.logical_block_bytes <= 512
        && target.physical_block_bytes >= PAGE_BYTES
}

fn record_variants(target: &Target, parameters: &ParameterSet) -> Result<Vec<Variant>, BenchError> {
    let plan = |size, cache| plan_for_record_size(size, cache, target, parameters);
    let mut variants = Vec::new();
    if target.kind != TargetKind::Simulated {
        let cache = CacheMode::Drop;
        variants.push(Variant::new(
            "4096 bytes, buffered",
            BUFFERED_4096,
            plan(PAGE_BYTES, cache)?,
        ));
        variants.push(Variant::new(
            "4000 bytes, buffered",
            BUFFERED_4000,
            plan(UNALIGNED_RECORD_BYTES, cache)?,
        ));
    }
    if is_512e(target) {
        let cache = CacheMode::Bypass;
        variants.push(Variant::new(
            "4096 bytes, direct",
            DIRECT_4096,
            plan(PAGE_BYTES, cache)?,
        ));
        variants.push(Variant::new(
            "512 bytes, direct",
            DIRECT_512,
            plan(512, cache)?,
        ));
    }
    Ok(variants)
}

impl Benchmark for ReadModifyWriteCost {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let variants = record_variants(target, parameters)?;
        let limits = framework::plan_limits(parameters);
        let all = limits
            .requests
            .map(|requests| requests.saturating_mul(u64::from(PAGE_BYTES)));
        let bytes = limits.bytes.into_iter().chain(all).min();
        let amount = framework::describe_written_limit(bytes, target);
        Ok(Forecast {
            sentence: format!(
                "writes full and partial blocks at random offsets of {} in {} variants{amount}",
                describe_target(target),
                variants.len()
            ),
            run_time: variants::planned_rounds(limits, &variants).run_time(target),
            max_read_bytes: None,
            max_written_bytes: bytes,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let variants = record_variants(bench.target, bench.parameters)?;
        let rows = variants::table_rows(&variants);
        bench.findings.set_table(MetricTable::cross_product(
            "Full and partial blocks",
            &LATENCY_COLUMNS,
            &rows,
        ));
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
        let limits = framework::plan_limits(bench.parameters);
        let seed = bench.parameters.get(framework::SEED);
        let rounds =
            variants::measure_in_rounds(bench, limits, &variants, seed, &mut CurveHook(&variants))?;
        for (metric, full, partial) in [
            (MetricId::PENALTY_BUFFERED, BUFFERED_4096, BUFFERED_4000),
            (MetricId::PENALTY_DIRECT, DIRECT_4096, DIRECT_512),
        ] {
            set_penalty(bench, &rounds, &variants, metric, [full, partial]);
        }
        Ok(())
    }
}

/// Sets the latencies of each variant.
struct CurveHook<'a>(&'a [Variant]);

impl PassHook for CurveHook<'_> {
    fn after_variant(
        &mut self,
        findings: &mut Findings,
        turn: SweepTurn,
        _: &ExecutionOutcome,
        total: &VariantTotal,
    ) {
        set_latency_series(findings, &self.0[turn.point].key, &total.latency);
    }
}

/// Sets the speedup of full blocks, compared round by round.
fn set_penalty(
    bench: &mut RunContext<'_>,
    rounds: &SweepRounds,
    variants: &[Variant],
    metric: MetricId,
    [full, partial]: [VariantKey; 2],
) {
    let point = |key: VariantKey| variants.iter().position(|variant| variant.key == key);
    let (Some(full), Some(partial)) = (point(full), point(partial)) else {
        return;
    };
    let Some(penalty) = rounds.ratio_of_points(full, partial) else {
        return;
    };
    bench.set_metric(penalty.to_metric(metric));
    if penalty.includes_one() {
        let labels = [full, partial].map(|point| variants[point].label.as_str());
        bench.set_check(penalty.without_difference(labels));
    }
}

/// Sets the latency distribution of one variant as a curve.
fn set_latency_series(findings: &mut Findings, key: &VariantKey, latency: &LatencyHistogram) {
    let series = LATENCY_SERIES.into_iter().find(|(of, _)| of == key);
    if let Some(((_, kind), summary)) = series.zip(framework::latency_summary(latency)) {
        findings.set_series(Series::new(kind, summary.cumulative_points()));
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
