//! Four common sequential and random workloads for quick comparison.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::framework;
use crate::bench::framework::context::MeasuredPhase;
use crate::bench::framework::describe_target;
use crate::bench::framework::intervals;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::operation::Operation;
use crate::bench::framework::sweep::VARIANT_METRICS;
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, Description, Keyword, Parameter, ParameterKind,
    ParameterSet, Phase, Phases, RunContext, Sharing,
};
use crate::drive::{Target, TargetKind};
use crate::engine::{AccessPattern, BlockSize, PlanLimits};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{
    Findings, Metric, MetricId, MetricKind, MetricTable, Percentile, VariantKey, Verdict,
};
use crate::units;

/// SEQ1M Q8, SEQ1M Q1, RND4K Q32, RND4K Q1; read and write.
pub struct QuartetSuite;

const WITH_WRITES: Parameter<bool> = Parameter {
    name: "writes",
    kind: ParameterKind::Choice(bool::WORDS),
    help: "measure writes too; by default only on a scratch file",
    default: |target| matches!(target.kind, TargetKind::ScratchFile | TargetKind::Simulated),
};

const SEQ1M_Q8_READ: VariantKey = VariantKey::new("seq1m_q8_read");
const SEQ1M_Q8_WRITE: VariantKey = VariantKey::new("seq1m_q8_write");
const SEQ1M_Q1_READ: VariantKey = VariantKey::new("seq1m_q1_read");
const SEQ1M_Q1_WRITE: VariantKey = VariantKey::new("seq1m_q1_write");
const RND4K_Q32_READ: VariantKey = VariantKey::new("rnd4k_q32_read");
const RND4K_Q32_WRITE: VariantKey = VariantKey::new("rnd4k_q32_write");
const RND4K_Q1_READ: VariantKey = VariantKey::new("rnd4k_q1_read");
const RND4K_Q1_WRITE: VariantKey = VariantKey::new("rnd4k_q1_write");
const LATENCY_P99: MetricKind = MetricKind::LatencyPercentile(Percentile::from_tenths(990));
/// Time of all workloads together.
const DURATION: Parameter<Duration> = framework::DURATION.required(|_| Duration::from_secs(40));

const NOTHING_WRITTEN: Check = Check::note(
    "nothing-written",
    "The write half of the benchmark was skipped.",
);
const SEQUENTIAL_LINES_DIFFER: Check = Check::warning(
    "sequential-lines-differ",
    "The sequential workloads differ, although the medium has the same throughput for both.",
);

static DESCRIPTION: Description = Description {
    name: "quartet",
    aliases: &["diskmark"],
    group: BenchmarkGroup::Quick,
    example: "/srv --scratch-size 4GiB",
    summary: "SEQ1M Q8, SEQ1M Q1, RND4K Q32, RND4K Q1: the usual comparison",
    explanation: include_str!("quartet.md").trim_ascii_end(),
    may_write: true,
    checks: &[NOTHING_WRITTEN, SEQUENTIAL_LINES_DIFFER],
    workload: Workload::CONSTANT,
    metrics: &[MetricFamily::Variants {
        variants: &[
            VariantFamily::One(SEQ1M_Q8_READ),
            VariantFamily::One(SEQ1M_Q8_WRITE),
            VariantFamily::One(SEQ1M_Q1_READ),
            VariantFamily::One(SEQ1M_Q1_WRITE),
            VariantFamily::One(RND4K_Q32_READ),
            VariantFamily::One(RND4K_Q32_WRITE),
            VariantFamily::One(RND4K_Q1_READ),
            VariantFamily::One(RND4K_Q1_WRITE),
        ],
        metrics: VARIANT_METRICS,
    }],
    parameters: &[
        &WITH_WRITES,
        &DURATION,
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::DATA,
        &framework::CACHE,
    ],
    charts: &[],
    headline_metrics: &[
        MetricId::of_variant(SEQ1M_Q8_READ, MetricKind::Throughput),
        MetricId::of_variant(SEQ1M_Q8_WRITE, MetricKind::Throughput),
        MetricId::of_variant(RND4K_Q32_READ, MetricKind::Iops),
        MetricId::of_variant(RND4K_Q1_READ, MetricKind::Latency),
    ],
};

/// Time of each workload by default.
const LINE_TIME: Duration = Duration::from_secs(5);
/// Upper bound of a drive's cache size.
const MAX_DRIVE_CACHE_BYTES: u64 = 4 << 30;

/// One of the four workloads.
struct WorkloadLine {
    name: &'static str,
    /// Keys of its metrics when it reads and when it writes.
    keys: [VariantKey; 2],
    is_sequential: bool,
    depth: u32,
}

const fn line(
    name: &'static str,
    keys: [VariantKey; 2],
    is_sequential: bool,
    depth: u32,
) -> WorkloadLine {
    WorkloadLine {
        name,
        keys,
        is_sequential,
        depth,
    }
}

const LINES: [WorkloadLine; 4] = [
    line("SEQ1M Q8", [SEQ1M_Q8_READ, SEQ1M_Q8_WRITE], true, 8),
    line("SEQ1M Q1", [SEQ1M_Q1_READ, SEQ1M_Q1_WRITE], true, 1),
    line("RND4K Q32", [RND4K_Q32_READ, RND4K_Q32_WRITE], false, 32),
    line("RND4K Q1", [RND4K_Q1_READ, RND4K_Q1_WRITE], false, 1),
];

impl WorkloadLine {
    /// The line with reads or writes, and the key of its metrics.
    fn phase(
        self,
        operation: Operation,
        target: &Target,
        parameters: &ParameterSet,
    ) -> Result<(Phase, VariantKey), BenchError> {
        let pattern = match self.is_sequential {
            true => AccessPattern::Sequential,
            false => AccessPattern::Random,
        };
        let mut plan = framework::build_plan(target, parameters, operation.into(), pattern)?;
        let room = plan.window.end - plan.window.start;
        // A target smaller than a block of 1 MiB uses the largest size that fits.
        let most = u32::try_from(room / 4096 * 4096).unwrap_or(u32::MAX);
        let block: u32 = if self.is_sequential { 1 << 20 } else { 4 << 10 };
        let block = block.max(target.logical_block_bytes).min(most.max(4096));
        plan.block_size = BlockSize::Fixed(block);
        plan.alignment = u64::from(block);
        plan.depth = self.depth;
        plan.limits = PlanLimits::default();
        let [read_key, write_key] = self.keys;
        let (key, word) = match operation {
            Operation::Read => (read_key, "read"),
            Operation::Write => (write_key, "write"),
        };
        if operation.writes() {
            plan.limits.bytes = Some(framework::timed_write_limit(target, LINE_TIME));
        } else if self.is_sequential && self.depth == 1 {
            // Another offset: the data of the first line may still be in the drive's cache.
            let aside = (room / 8).min(MAX_DRIVE_CACHE_BYTES) / plan.alignment * plan.alignment;
            plan.window.start += aside;
        }
        let label = format!("{} {word}", self.name);
        Ok((Phase::new(label, plan), key))
    }
}

/// The lines with these parameters in their order, reads first.
fn lines(
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Vec<(Phase, VariantKey)>, BenchError> {
    let writes = parameters.get(WITH_WRITES).then_some(Operation::Write);
    let operations = [Operation::Read].into_iter().chain(writes);
    operations
        .flat_map(|operation| LINES.map(|line| line.phase(operation, target, parameters)))
        .collect()
}

/// Sets the metrics of a line, with intervals from its rates over time.
fn set_line_metrics(findings: &mut Findings, key: &VariantKey, phase: &MeasuredPhase<'_>) {
    let latency = phase.stats.latency();
    let seconds = phase.elapsed.as_secs_f64();
    let Some(mean) = latency.mean() else {
        return;
    };
    let p99 = latency.percentile(99.0);
    for (kind, value) in [
        (MetricKind::Iops, Some(latency.count() as f64 / seconds)),
        (
            MetricKind::Throughput,
            Some(phase.stats.bytes() as f64 / seconds),
        ),
        (MetricKind::Latency, Some(mean)),
        (LATENCY_P99, p99.map(|p99| p99 as f64)),
    ] {
        let Some(value) = value else { continue };
        let metric = Metric::new(MetricId::of_variant(key.clone(), kind), value);
        findings.set_metric(metric.with_observations(latency.count()));
    }
    let timeline = phase.stats.counts_over_time();
    intervals::set_intervals(findings, Some(key), &latency, &timeline, phase.elapsed);
}

impl Benchmark for QuartetSuite {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn writes(&self, parameters: &ParameterSet) -> bool {
        parameters.get(WITH_WRITES)
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let phases = lines(target, parameters)?.into_iter();
        let phases: Vec<Phase> = phases.map(|(phase, _)| phase).collect();
        let sentence = format!(
            "runs {} short measurements on {}",
            phases.len(),
            describe_target(target)
        );
        let limits = framework::plan_limits(parameters);
        Ok(Phases::new(sentence, limits, Sharing::Even, phases))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let phases = self.phases(bench.target, bench.parameters)?;
        let lines = lines(bench.target, bench.parameters)?;
        let columns = [
            ("MB/s", MetricKind::Throughput),
            ("IOPS", MetricKind::Iops),
            ("latency", MetricKind::Latency),
        ];
        let rows = lines.iter();
        let rows: Vec<(&str, VariantKey)> = rows
            .map(|(phase, key)| (phase.label.as_str(), key.clone()))
            .collect();
        let table = MetricTable::cross_product("Quartet", &columns, &rows);
        bench.findings.set_table(table);
        if !bench.parameters.get(WITH_WRITES) {
            bench.set_check(NOTHING_WRITTEN.found(
                "the write half is skipped",
                "add --writes yes and --overwrite PATH if the data on the target may be lost, or name a \
                 directory",
                Value::Null,
            ));
        }
        bench.run_phases(&phases, &mut |findings, phase| {
            set_line_metrics(findings, &lines[phase.index].1, phase);
        })?;
        if bench.target.is_rotational() == Some(true)
            && let Some(verdict) = faster_than_medium(&bench.findings)
        {
            bench.set_check(verdict);
        }
        Ok(())
    }
}

/// The check for sequential workloads of a disk that differ: the medium passes under the heads at
/// one speed at any queue depth, so that one of the rates is not that of the medium.
fn faster_than_medium(findings: &Findings) -> Option<Verdict> {
    const MAX_SEQUENTIAL_RATIO: f64 = 1.2;
    let rate = |line: VariantKey| {
        let throughput = MetricId::of_variant(line, MetricKind::Throughput);
        Some(findings.metric(&throughput)?.value)
    };
    let (depth_8, depth_1) = (rate(SEQ1M_Q8_READ)?, rate(SEQ1M_Q1_READ)?);
    if depth_8.max(depth_1) <= MAX_SEQUENTIAL_RATIO * depth_8.min(depth_1) {
        return None;
    }
    Some(SEQUENTIAL_LINES_DIFFER.found(
        format!(
            "SEQ1M Q8 reads {}, SEQ1M Q1 {}: the medium of a disk has the same throughput for both",
            units::format_throughput(depth_8),
            units::format_throughput(depth_1)
        ),
        "the faster one was partly served from a cache, or the slower one lost revolutions: the \
         benchmark `sequential-read` measures the medium",
        json!({ "depth_8": depth_8, "depth_1": depth_1 }),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::{metric_value, run_on_simulated};

    #[test]
    fn quartet_on_simulated_drive_measures_all_eight_lines() {
        let name = "sim:constant,latency=100us,throughput=1GB,parallel=4";
        let finished = run_on_simulated(
            find_benchmark("quartet").unwrap(),
            name,
            &[("duration", "4s")],
        );
        for word in ["read", "write"] {
            let value = |line: &str, metric: &str| {
                metric_value(
                    &finished,
                    &MetricId::parse(&format!("{line}_{word}_{metric}")),
                )
            };
            assert!((value("rnd4k_q1", "iops") / 9606.0 - 1.0).abs() < 0.01);
            assert!((value("rnd4k_q32", "iops") / 38_424.0 - 1.0).abs() < 0.01);
            let one = 1_048_576.0 / (0.0001 + 0.001_048_576);
            assert!((value("seq1m_q1", "throughput") / one - 1.0).abs() < 0.02);
            assert!((value("seq1m_q8", "throughput") / (4.0 * one) - 1.0).abs() < 0.02);
        }
        assert_eq!(finished.findings.tables[0].rows.len(), 8);
    }

    #[test]
    fn quartet_on_disk_does_not_exceed_media_throughput() {
        // Sectors on the outermost tracks, at 120 revolutions per second.
        for (size, sectors) in [("1TB", 4340.0), ("40GB,cylinders=20000", 1302.0)] {
            let medium = sectors * 512.0 * 120.0;
            let name = format!("sim:hdd,clock=virtual,size={size}");
            let finished = run_on_simulated(find_benchmark("quartet").unwrap(), &name, &[]);
            for line in [SEQ1M_Q8_READ, SEQ1M_Q1_READ] {
                let throughput = MetricId::of_variant(line, MetricKind::Throughput);
                let rate = metric_value(&finished, &throughput);
                assert!(rate < medium, "{name} {throughput}: {rate}");
            }
            let reported = finished.findings.has_check(SEQUENTIAL_LINES_DIFFER);
            assert!(!reported, "{name}");
        }
    }

    #[test]
    fn quartet_with_unequal_sequential_lines_of_disk_is_flagged() {
        let mut findings = Findings::default();
        let rate =
            |line, value| Metric::new(MetricId::of_variant(line, MetricKind::Throughput), value);
        findings.set_metric(rate(SEQ1M_Q8_READ, 348e6));
        findings.set_metric(rate(SEQ1M_Q1_READ, 300e6));
        assert_eq!(faster_than_medium(&findings), None);
        findings.set_metric(rate(SEQ1M_Q1_READ, 260e6));
        assert!(faster_than_medium(&findings).is_some());
    }

    #[test]
    fn each_line_of_a_fast_drive_takes_five_seconds() {
        let name = "sim:constant,latency=10us,throughput=1GB,parallel=8,size=64MiB,clock=virtual";
        let finished = run_on_simulated(find_benchmark("quartet").unwrap(), name, &[]);
        for line in [SEQ1M_Q8_READ, SEQ1M_Q8_WRITE, SEQ1M_Q1_WRITE] {
            let id = MetricId::of_variant(line, MetricKind::Throughput);
            let metric = finished.findings.metric(&id).unwrap();
            let bytes = metric.observations.unwrap() as f64 * 1_048_576.0;
            let seconds = bytes / metric.value;
            assert!((4.9..5.1).contains(&seconds), "{id}: {seconds}");
        }
    }

    #[test]
    fn quartet_without_write_option_only_reads() {
        let test = find_benchmark("quartet").unwrap();
        let target = Target::example_drive();
        let parameters = fake::parameters(test, &target, &[]);
        assert!(!test.writes(&parameters));
        assert_eq!(
            test.forecast(&target, &parameters)
                .unwrap()
                .max_written_bytes,
            None
        );
        let parameters = fake::parameters(test, &target, &[("writes", "yes")]);
        assert!(test.writes(&parameters));
        assert_eq!(
            test.forecast(&target, &parameters)
                .unwrap()
                .max_written_bytes,
            Some(320 << 30)
        );
    }
}
