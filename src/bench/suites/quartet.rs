//! Four common sequential and random workloads for quick comparison.

use std::time::Duration;

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::variants;
use crate::bench::framework::variants::Variant;
use crate::bench::{
    BenchError, Benchmark, Description, FioGap, FioJob, Forecast, ParameterKind, ParameterSet,
    ParameterSpec, ParameterValue, RunContext,
};
use crate::drive::{Target, TargetKind};
use crate::engine::{AccessPattern, BlockSize, IoOperation, PlanLimits};
use crate::session::checks::Workload;
use crate::session::document::check::{CheckEvidence, CheckId, QueueThroughputs};
use crate::session::document::{Findings, MetricTable};

/// SEQ1M Q8, SEQ1M Q1, RND4K Q32, RND4K Q1; read and write.
pub struct QuartetSuite;

const WITH_WRITES: ParameterSpec = ParameterSpec {
    name: "writes",
    kind: ParameterKind::Choice(&["yes", "no"]),
    help: "whether the four lines are written too; not on drives and files unless asked for",
    default_for: |target| {
        let harmless = matches!(target.kind, TargetKind::ScratchFile | TargetKind::Simulated);
        ParameterValue::Choice(if harmless { "yes" } else { "no" }.to_owned())
    },
};

static DESCRIPTION: Description = Description {
    name: "quartet",
    aliases: &[],
    summary: "SEQ1M Q8, SEQ1M Q1, RND4K Q32, RND4K Q1: the lines that people compare",
    explanation: "\
Four short measurements, first reading, then writing: 1 MiB in sequence with 8 and with 1 in \
flight, 4 KiB at random places with 32 and with 1 in flight. These are the lines that reviews and \
shops print.

The table gives MB/s, IOPS and mean response time of each. SEQ1M Q8 is what copies of large files \
reach, RND4K Q1 what an impatient person in front of a program feels, RND4K Q32 what a server \
gets out of the drive. What a short test writes may all go into the drive's cache: steady-state shows \
what is left after it.

On a scratch file it writes too; on a drive or file only with --writes yes, which overwrites what \
is there, 1 GiB at most in each line.",
    may_write: true,
    checks: &[CheckId::NothingWritten, CheckId::SequentialLinesDiffer],
    workload: Workload::CONSTANT,
    metrics: &["seq1m_*", "rnd4k_*"],
    parameters: &[
        WITH_WRITES,
        framework::DURATION.with_default(|_| ParameterValue::Duration(Duration::from_secs(40))),
        framework::BYTES,
        framework::REQUESTS,
        framework::WINDOW_BEGIN,
        framework::WINDOW_END,
        framework::SEED,
        framework::DATA,
        framework::CACHE,
    ],
    charts: &[],
    headline_metrics: &[
        "seq1m_q8_read_throughput",
        "seq1m_q8_write_throughput",
        "rnd4k_q32_read_iops",
        "rnd4k_q1_read_latency",
    ],
};

/// Maximum bytes written per workload.
const MAX_WRITTEN_PER_LINE: u64 = 1 << 30;

/// Upper bound of a drive's cache size.
const MAX_DRIVE_CACHE_BYTES: u64 = 4 << 30;
/// The workload that would otherwise reread the data of the first one.
const SECOND_SEQUENTIAL_LINE: &str = "seq1m_q1";

/// Name, metric prefix, access pattern, block size, depth.
const LINES: [(&str, &str, AccessPattern, u32, u32); 4] = [
    (
        "SEQ1M Q8",
        "seq1m_q8",
        AccessPattern::Sequential,
        1 << 20,
        8,
    ),
    (
        "SEQ1M Q1",
        "seq1m_q1",
        AccessPattern::Sequential,
        1 << 20,
        1,
    ),
    ("RND4K Q32", "rnd4k_q32", AccessPattern::Random, 4 << 10, 32),
    ("RND4K Q1", "rnd4k_q1", AccessPattern::Random, 4 << 10, 1),
];

fn writes_requested(parameters: &ParameterSet) -> bool {
    parameters.choice("writes") == "yes"
}

fn quartet_variants(
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Vec<Variant>, BenchError> {
    let window = framework::plan_window(target, parameters);
    let room = window.end.saturating_sub(window.start);
    let duration = parameters
        .duration("duration")
        .or(Some(Duration::from_secs(40)));
    let mut passes = Vec::new();
    for (operation, word) in [(IoOperation::Read, "read"), (IoOperation::Write, "write")] {
        if operation.writes() && !writes_requested(parameters) {
            continue;
        }
        for (name, key, pattern, block, depth) in LINES {
            let mut plan = framework::build_plan(target, parameters, operation, pattern)?;
            // A target smaller than a block of 1 MiB uses the largest size that fits.
            let most = u32::try_from(room / 4096 * 4096)
                .unwrap_or(u32::MAX)
                .max(4096);
            let block = block.max(target.logical_block_bytes).min(most);
            plan.block_size = BlockSize::Fixed(block);
            plan.alignment = u64::from(block);
            if key == SECOND_SEQUENTIAL_LINE && !operation.writes() {
                // Another offset: the first workload's data may still be in the drive's cache.
                let aside = (room / 8).min(MAX_DRIVE_CACHE_BYTES) / plan.alignment * plan.alignment;
                plan.window.start += aside;
            }
            plan.depth = depth;
            plan.limits = PlanLimits {
                duration,
                bytes: operation.writes().then_some(MAX_WRITTEN_PER_LINE),
                requests: None,
            };
            passes.push(Variant::new(
                format!("{name} {word}"),
                format!("{key}_{word}"),
                plan,
            ));
        }
    }
    Ok(passes)
}

impl Benchmark for QuartetSuite {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn writes(&self, parameters: &ParameterSet) -> bool {
        writes_requested(parameters)
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let passes = quartet_variants(target, parameters)?;
        let limits = framework::plan_limits(parameters);
        let most = MAX_WRITTEN_PER_LINE * LINES.len() as u64;
        let written = writes_requested(parameters).then(|| limits.bytes.unwrap_or(most).min(most));
        let amount = written.map_or_else(String::new, |bytes| {
            format!(
                ", writes at most {}",
                framework::describe_written_bytes(bytes, target)
            )
        });
        Ok(Forecast {
            sentence: format!(
                "measures {} short lines on {}{amount}",
                passes.len(),
                describe_target(target)
            ),
            run_time: PlannedPhases::with_even_shares(limits)
                .add_phases(passes.into_iter().map(|pass| pass.plan))
                .run_time(target),
            max_read_bytes: limits.bytes,
            max_written_bytes: written,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let passes = quartet_variants(bench.target, bench.parameters)?;
        let rows: Vec<(&str, &str)> = passes
            .iter()
            .map(|pass| (pass.label.as_str(), pass.metric_prefix.as_str()))
            .collect();
        let columns = [
            ("MB/s", "throughput"),
            ("IOPS", "iops"),
            ("latency", "latency"),
        ];
        bench
            .findings
            .set_table(MetricTable::cross_product("Quartet", &columns, &rows));
        if !writes_requested(bench.parameters) {
            bench.set_check(CheckEvidence::NothingWritten);
        }
        variants::measure_all(
            bench,
            framework::plan_limits(bench.parameters),
            1.0,
            &passes,
        )?;
        if bench.target.is_rotational() == Some(true)
            && let Some(evidence) = faster_than_medium(&bench.findings)
        {
            bench.set_check(evidence);
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}

/// The check for sequential workloads of a disk that differ: the medium passes under the heads at
/// one speed at any queue depth, so that one of the rates is not that of the medium.
fn faster_than_medium(findings: &Findings) -> Option<CheckEvidence> {
    const MAX_SEQUENTIAL_RATIO: f64 = 1.2;
    let rate = |line: &str| {
        let figure = findings.metric(&format!("{line}_read_throughput"))?;
        Some(figure.value)
    };
    let (depth_8, depth_1) = (rate("seq1m_q8")?, rate("seq1m_q1")?);
    (depth_8.max(depth_1) > MAX_SEQUENTIAL_RATIO * depth_8.min(depth_1)).then_some(
        CheckEvidence::SequentialLinesDiffer(QueueThroughputs { depth_8, depth_1 }),
    )
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
            let value = |line: &str, figure: &str| {
                metric_value(&finished, &format!("{line}_{word}_{figure}"))
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
            for line in ["seq1m_q8", "seq1m_q1"] {
                let rate = metric_value(&finished, &format!("{line}_read_throughput"));
                assert!(rate < medium, "{name} {line}: {rate}");
            }
            let told = finished.findings.has_check(CheckId::SequentialLinesDiffer);
            assert!(!told, "{name}");
        }
    }

    #[test]
    fn quartet_with_unequal_sequential_lines_of_disk_is_flagged() {
        let mut findings = Findings::default();
        let rate = |name, value| {
            crate::session::document::Metric::new(
                name,
                value,
                crate::session::document::MetricUnit::BytesPerSecond,
            )
        };
        findings.set_metric(rate("seq1m_q8_read_throughput", 348e6));
        findings.set_metric(rate("seq1m_q1_read_throughput", 300e6));
        assert_eq!(faster_than_medium(&findings), None);
        findings.set_metric(rate("seq1m_q1_read_throughput", 260e6));
        assert!(faster_than_medium(&findings).is_some());
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
            Some(4 << 30)
        );
    }
}
