//! The four lines that people compare.

use std::time::Duration;

use super::common::{self, place};
use super::forecast::Phases;
use super::passes::{self, Pass};
use super::{
    Bench, BenchError, Description, FioGap, FioJob, Forecast, Kind, Parameter, Parameters, Test,
    Value,
};
use crate::drive::{Target, TargetKind};
use crate::engine::{BlockSize, Limits, Operation, Pattern};
use crate::session::document::{Findings, Severity, Table, Verdict};
use crate::units;

/// SEQ1M Q8, SEQ1M Q1, RND4K Q32, RND4K Q1; read and write.
pub struct Quartet;

const WRITES: Parameter = Parameter {
    name: "writes",
    kind: Kind::Word(&["yes", "no"]),
    help: "whether the four lines are written too; not on drives and files unless asked for",
    default: |target| {
        let harmless = matches!(target.kind, TargetKind::Scratch | TargetKind::Simulated);
        Value::Word(if harmless { "yes" } else { "no" }.to_owned())
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
    writes: true,
    metrics: &["seq1m_*", "rnd4k_*"],
    parameters: &[
        WRITES,
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(40))),
        common::BYTES,
        common::REQUESTS,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SEED,
        common::DATA,
        common::CACHE,
    ],
    charts: &[],
    headline: &[
        "seq1m_q8_read_throughput",
        "seq1m_q8_write_throughput",
        "rnd4k_q32_read_iops",
        "rnd4k_q1_read_latency",
    ],
};

/// Most bytes that one line writes.
const WRITTEN_EACH: u64 = 1 << 30;

/// No drive's cache holds more.
const LARGEST_CACHE: u64 = 4 << 30;
/// The line that would read what the first one has just read.
const SECOND_SEQUENCE: &str = "seq1m_q1";

/// Name, beginning of its figures, pattern, block size, depth.
const LINES: [(&str, &str, Pattern, u32, u32); 4] = [
    ("SEQ1M Q8", "seq1m_q8", Pattern::Sequential, 1 << 20, 8),
    ("SEQ1M Q1", "seq1m_q1", Pattern::Sequential, 1 << 20, 1),
    ("RND4K Q32", "rnd4k_q32", Pattern::Random, 4 << 10, 32),
    ("RND4K Q1", "rnd4k_q1", Pattern::Random, 4 << 10, 1),
];

fn writing(parameters: &Parameters) -> bool {
    parameters.word("writes") == "yes"
}

fn passes(target: &Target, parameters: &Parameters) -> Result<Vec<Pass>, BenchError> {
    let window = common::window(target, parameters);
    let room = window.end.saturating_sub(window.start);
    let duration = parameters
        .duration("duration")
        .or(Some(Duration::from_secs(40)));
    let mut passes = Vec::new();
    for (operation, word) in [(Operation::Read, "read"), (Operation::Write, "write")] {
        if operation.writes() && !writing(parameters) {
            continue;
        }
        for (name, key, pattern, block, depth) in LINES {
            let mut plan = common::plan(target, parameters, operation, pattern)?;
            // A target smaller than a block of 1 MiB is measured with what fits.
            let most = u32::try_from(room / 4096 * 4096)
                .unwrap_or(u32::MAX)
                .max(4096);
            let block = block.max(target.logical_block).min(most);
            plan.block_size = BlockSize::Fixed(block);
            plan.align = u64::from(block);
            if key == SECOND_SEQUENCE && !operation.writes() {
                // Elsewhere: the first line's data may still be in the drive's cache.
                let aside = (room / 8).min(LARGEST_CACHE) / plan.align * plan.align;
                plan.window.start += aside;
            }
            plan.depth = depth;
            plan.limits = Limits {
                duration,
                bytes: operation.writes().then_some(WRITTEN_EACH),
                requests: None,
            };
            passes.push(Pass::new(
                format!("{name} {word}"),
                format!("{key}_{word}"),
                plan,
            ));
        }
    }
    Ok(passes)
}

impl Test for Quartet {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn writes(&self, parameters: &Parameters) -> bool {
        writing(parameters)
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let passes = passes(target, parameters)?;
        let limits = common::limits(parameters);
        let most = WRITTEN_EACH * LINES.len() as u64;
        let written = writing(parameters).then(|| limits.bytes.unwrap_or(most).min(most));
        let amount = written.map_or_else(String::new, |bytes| {
            format!(", writes at most {}", common::written_share(bytes, target))
        });
        Ok(Forecast {
            sentence: format!(
                "measures {} short lines on {}{amount}",
                passes.len(),
                place(target)
            ),
            time: Phases::sharing(limits)
                .then_all(passes.into_iter().map(|pass| pass.plan))
                .time(target),
            reads: limits.bytes,
            writes: written,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let passes = passes(bench.target, bench.parameters)?;
        let rows: Vec<(&str, &str)> = passes
            .iter()
            .map(|pass| (pass.label.as_str(), pass.key.as_str()))
            .collect();
        let columns = [
            ("MB/s", "throughput"),
            ("IOPS", "iops"),
            ("latency", "latency"),
        ];
        bench
            .findings
            .put_table(Table::crossed("Quartet", &columns, &rows));
        if !writing(bench.parameters) {
            bench.verdict(Verdict::new(
                "nothing-written",
                Severity::Note,
                "the writing half is left out",
                "add --writes yes together with --overwrite PATH if what is there may go, or name a \
                 directory",
            ));
        }
        passes::all(bench, common::limits(bench.parameters), 1.0, &passes)?;
        if bench.target.rotational() == Some(true)
            && let Some(verdict) = above_medium(&bench.findings)
        {
            bench.verdict(verdict);
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}

/// Where the sequential lines of a disk differ: its medium passes under the heads at one speed, however
/// many requests wait, so that one of them is not the medium's.
fn above_medium(findings: &Findings) -> Option<Verdict> {
    const MORE: f64 = 1.2;
    let rate = |line: &str| {
        let figure = findings.figure(&format!("{line}_read_throughput"))?;
        Some(figure.value)
    };
    let (deep, shallow) = (rate("seq1m_q8")?, rate("seq1m_q1")?);
    (deep.max(shallow) > MORE * deep.min(shallow)).then(|| {
        Verdict::new(
            "sequential-lines-differ",
            Severity::Warning,
            format!(
                "SEQ1M Q8 reads {}, SEQ1M Q1 {}: the medium of a disk gives the same to both",
                units::throughput(deep),
                units::throughput(shallow)
            ),
            "the faster one was answered by a cache in part, or the slower one lost revolutions: see \
             `sequential-read` for what the medium gives",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{self, simulate, value};
    use super::*;

    #[test]
    fn all_eight_lines_are_measured_on_a_simulated_drive() {
        let name = "sim:constant,latency=100us,throughput=1GB,parallel=4";
        let finished = simulate(find("quartet").unwrap(), name, &[("duration", "4s")]);
        for word in ["read", "write"] {
            let value =
                |line: &str, figure: &str| value(&finished, &format!("{line}_{word}_{figure}"));
            assert!((value("rnd4k_q1", "iops") / 9606.0 - 1.0).abs() < 0.01);
            assert!((value("rnd4k_q32", "iops") / 38_424.0 - 1.0).abs() < 0.01);
            let one = 1_048_576.0 / (0.0001 + 0.001_048_576);
            assert!((value("seq1m_q1", "throughput") / one - 1.0).abs() < 0.02);
            assert!((value("seq1m_q8", "throughput") / (4.0 * one) - 1.0).abs() < 0.02);
        }
        assert_eq!(finished.findings.tables[0].rows.len(), 8);
    }

    #[test]
    fn a_disk_gives_no_more_than_its_medium() {
        // So many sectors on the outermost tracks, 120 revolutions a second.
        for (size, sectors) in [("1TB", 4340.0), ("40GB,cylinders=20000", 1302.0)] {
            let medium = sectors * 512.0 * 120.0;
            let name = format!("sim:hdd,clock=virtual,size={size}");
            let finished = simulate(find("quartet").unwrap(), &name, &[]);
            for line in ["seq1m_q8", "seq1m_q1"] {
                let rate = value(&finished, &format!("{line}_read_throughput"));
                assert!(rate < medium, "{name} {line}: {rate}");
            }
            let told = fake::codes(&finished).contains(&"sequential-lines-differ");
            assert!(!told, "{name}");
        }
    }

    #[test]
    fn sequential_lines_of_a_disk_that_differ_are_doubted() {
        let mut findings = Findings::default();
        let rate = |name, value| {
            crate::session::document::Figure::new(
                name,
                value,
                crate::session::document::Unit::BytesPerSecond,
            )
        };
        findings.put_figure(rate("seq1m_q8_read_throughput", 348e6));
        findings.put_figure(rate("seq1m_q1_read_throughput", 300e6));
        assert_eq!(above_medium(&findings), None);
        findings.put_figure(rate("seq1m_q1_read_throughput", 260e6));
        assert!(above_medium(&findings).is_some());
    }

    #[test]
    fn a_drive_is_only_read_unless_asked_otherwise() {
        let test = find("quartet").unwrap();
        let target = Target::ordinary();
        let parameters = fake::parameters(test, &target, &[]);
        assert!(!test.writes(&parameters));
        assert_eq!(test.forecast(&target, &parameters).unwrap().writes, None);
        let parameters = fake::parameters(test, &target, &[("writes", "yes")]);
        assert!(test.writes(&parameters));
        assert_eq!(
            test.forecast(&target, &parameters).unwrap().writes,
            Some(4 << 30)
        );
    }
}
