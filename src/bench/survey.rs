//! Every reading test that suits a drive, and one page of what follows.

use std::time::Duration;

use super::common::{self, place};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Parameters, Shape, Test,
    Value, find,
};
use crate::drive::Target;
use crate::session::document::{Figure, Findings, Severity, Table, TableRow, Unit, Verdict};
use crate::units;

/// The reading tests, one after the other.
pub struct Survey;

/// A test of the survey.
#[derive(Debug, Clone, Copy)]
struct Part {
    name: &'static str,
    /// Seconds that it gets.
    seconds: u64,
    /// What it is for.
    suits: Suits,
}

/// What a part makes sense on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suits {
    Everything,
    /// Whatever may rotate and is addressed as it lies on the medium.
    Disks,
}

/// In the order in which they are run. Names that this program lacks are passed over.
const PARTS: &[Part] = &[
    part("sequential-read", 20, Suits::Everything),
    part("random-read", 10, Suits::Everything),
    part("concurrency-read", 27, Suits::Everything),
    part("block-size-read", 24, Suits::Everything),
    part("interference", 15, Suits::Everything),
    part("reorder", 40, Suits::Disks),
    part("rotation", 10, Suits::Disks),
    part("full-stroke", 15, Suits::Disks),
    part("track-to-track", 15, Suits::Disks),
    part("seek-curve", 30, Suits::Disks),
];

const fn part(name: &'static str, seconds: u64, suits: Suits) -> Part {
    Part {
        name,
        seconds,
        suits,
    }
}

static DESCRIPTION: Description = Description {
    name: "survey",
    aliases: &[],
    summary: "every reading test that suits the drive, one after the other, and one page of advice",
    explanation: "\
Runs the reading tests that suit this drive with short times: sequential, random, concurrency, block size \
and interference; on disks that may rotate also reordering, rotation and seeks. It says beforehand how \
long that takes; --duration makes it longer or shorter as a whole.

The summary lists the figures that describe a drive, and the advice that follows from them: which queue \
depth, which block size, where a fast partition belongs, how long a full copy takes. The full \
figures and curves of every part are in the document, with the part's name in front.

It only reads.",
    writes: false,
    parameters: &[
        common::DURATION.with_default(|_| Value::Unset),
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SEED,
        common::CACHE,
    ],
    charts: &[
        Chart::new(
            "Throughput against address",
            Shape::Steps,
            &["sequential-read/throughput-over-address"],
        ),
        Chart::new(
            "IOPS against queue depth",
            Shape::Line,
            &["concurrency-read/iops-against-depth"],
        )
        .log_x()
        .marked(&["concurrency-read/optimal_depth"]),
        Chart::new(
            "Throughput against block size",
            Shape::Line,
            &["block-size-read/throughput-against-block-size"],
        )
        .log_x(),
    ],
    headline: &[
        "sequential-read/throughput_mean",
        "random-read/iops",
        "random-read/latency_p99",
        "concurrency-read/optimal_depth",
    ],
};

/// Rows of the summary: what people call it, and the figure.
const SUMMARY: &[(&str, &str)] = &[
    ("sequential reads, mean", "sequential-read/throughput_mean"),
    ("at the slowest place", "sequential-read/throughput_min"),
    ("at the fastest place", "sequential-read/throughput_max"),
    ("reading all of it takes", "sequential-read/full_copy_time"),
    ("random reads", "random-read/iops"),
    ("half of them are done within", "random-read/latency_p50"),
    ("99 of 100 are done within", "random-read/latency_p99"),
    ("queue depth that suits", "concurrency-read/optimal_depth"),
    (
        "random reads at that depth",
        "concurrency-read/optimal_depth_iops",
    ),
    ("times as many as at depth 1", "concurrency-read/speedup"),
    ("access time", "block-size-read/access_time"),
    ("balanced block size", "block-size-read/balanced_block_size"),
    ("tree node that suits", "block-size-read/btree_node_size"),
    ("users' IOPS beside a job", "interference/iops_disturbed"),
    ("reordering gains, times", "reorder/reorder_gain"),
    ("rotation", "rotation/rotation_speed"),
    ("full stroke", "full-stroke/full_stroke_seek"),
    ("track to track", "track-to-track/track_to_track_seek"),
    ("average seek", "seek-curve/average_seek"),
];

/// The parts that suit a target, with what each gets of the time.
fn parts(target: &Target, parameters: &Parameters) -> Vec<(&'static dyn Test, Duration)> {
    let may_rotate = target.rotational() == Some(true) && common::is_medium(target);
    let suitable = |part: &&Part| part.suits == Suits::Everything || may_rotate;
    let chosen: Vec<_> = PARTS
        .iter()
        .filter(suitable)
        .filter_map(|part| Some((find(part.name)?, Duration::from_secs(part.seconds))))
        .collect();
    let usual: Duration = chosen.iter().map(|(_, time)| *time).sum();
    let wanted = parameters.duration("duration").unwrap_or(usual);
    let scale = wanted.as_secs_f64() / usual.as_secs_f64().max(1e-9);
    chosen
        .into_iter()
        .map(|(test, time)| (test, time.mul_f64(scale)))
        .collect()
}

/// A part's parameters: its defaults, its time, and what the survey was told.
fn parameters_of(test: &dyn Test, time: Duration, target: &Target, own: &Parameters) -> Parameters {
    let known = test.description().parameters;
    let mut parameters = Parameters::defaults(known, target);
    for name in ["window-begin", "window-end", "seed", "cache"] {
        if let Some(value) = own.get(name).filter(|_| parameters.get(name).is_some()) {
            parameters.set(name, value.clone());
        }
    }
    if parameters.get("duration").is_some() {
        parameters.set("duration", Value::Duration(time));
    }
    parameters
}

impl Test for Survey {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let parts = parts(target, parameters);
        let total: Duration = parts.iter().map(|(_, time)| *time).sum();
        let names: Vec<&str> = parts
            .iter()
            .map(|(test, _)| test.description().name)
            .collect();
        let window = common::window(target, parameters);
        if window.is_empty() {
            return Err(BenchError::Parameters(
                "--window-begin must lie before --window-end".to_owned(),
            ));
        }
        Ok(Forecast {
            sentence: format!(
                "runs {} tests on {}: {}; it takes about {}",
                names.len(),
                place(target),
                names.join(", "),
                units::waiting(total)
            ),
            duration: Some(total),
            reads: None,
            writes: None,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let parts = parts(bench.target, bench.parameters);
        let total: Duration = parts.iter().map(|(_, time)| *time).sum();
        for (test, time) in parts {
            let parameters = parameters_of(test, time, bench.target, bench.parameters);
            let share = time.as_secs_f64() / total.as_secs_f64().max(1e-9);
            let result = bench.part(test, &parameters, share);
            if let Err(error) = result {
                bench.verdict(left_out(test, &error));
            }
            summarise(&mut bench.findings);
            bench.phase_finished();
            if bench.stopped() {
                break;
            }
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}

fn left_out(test: &dyn Test, error: &BenchError) -> Verdict {
    Verdict::new(
        &format!("{}/left-out", test.description().name),
        Severity::Note,
        format!("{} could not be run: {error}", test.description().name),
        error.advice(),
    )
}

/// The page: the figures that describe a drive, and what follows from them.
fn summarise(findings: &mut Findings) {
    let row = |(name, figure): &(&str, &str)| TableRow {
        name: (*name).to_owned(),
        cells: vec![(*figure).to_owned()],
    };
    let known = |(_, figure): &&(&str, &str)| findings.figure(figure).is_some();
    let table = Table {
        name: "Summary".to_owned(),
        columns: vec!["measured".to_owned()],
        rows: SUMMARY.iter().filter(known).map(row).collect(),
    };
    findings.put_table(table);
    let advice = [
        queue_advice(findings),
        block_advice(findings),
        copy_advice(findings),
    ];
    for verdict in advice.into_iter().flatten() {
        findings.put_verdict(verdict);
    }
}

fn value(findings: &Findings, name: &str) -> Option<f64> {
    findings.figure(name).map(|figure: &Figure| figure.value)
}

fn advice(code: &str, evidence: String, advice: String) -> Verdict {
    Verdict::new(code, Severity::Note, evidence, advice)
}

fn queue_advice(findings: &Findings) -> Option<Verdict> {
    let depth = value(findings, "concurrency-read/optimal_depth")?;
    let speedup = value(findings, "concurrency-read/speedup")?;
    let iops = value(findings, "concurrency-read/optimal_depth_iops")?;
    let evidence = format!(
        "with {depth} requests in flight it does {} random reads a second, {} times as many as with 1",
        units::count(iops),
        units::three_digits(speedup)
    );
    let words = if depth > 1.0 {
        format!(
            "let servers and databases keep about {depth} requests in flight (threads, io concurrency)"
        )
    } else {
        "more than one request in flight only makes everybody wait longer".to_owned()
    };
    Some(advice("advice-queue-depth", evidence, words))
}

fn block_advice(findings: &Findings) -> Option<Verdict> {
    let balanced = value(findings, "block-size-read/balanced_block_size")?;
    let node = value(findings, "block-size-read/btree_node_size")?;
    let access = value(findings, "block-size-read/access_time")?;
    Some(advice(
        "advice-block-size",
        format!(
            "an access costs {} before the first byte",
            units::latency(access)
        ),
        format!(
            "scan with blocks well above {}; nodes of a tree (an index) are best near {}",
            units::block_size(balanced.round()),
            units::block_size(node.round())
        ),
    ))
}

fn copy_advice(findings: &Findings) -> Option<Verdict> {
    let nanoseconds = value(findings, "sequential-read/full_copy_time")?;
    let once = Duration::from_nanos(nanoseconds as u64);
    let mean = value(findings, "sequential-read/throughput_mean")?;
    Some(advice(
        "advice-full-copy",
        format!(
            "all of it is read at {} on average",
            Unit::BytesPerSecond.format(mean)
        ),
        format!(
            "plan {} for a full backup or rebuild, and twice that where source and destination \
             share the drive",
            units::waiting(once)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::fake::{self, Fake, codes, simulate, value};
    use super::*;
    use crate::session::document::RunState;

    #[test]
    fn a_simulated_drive_is_surveyed_in_one_run() {
        let name = "sim:constant,latency=1ms,throughput=100MB,parallel=4,size=4GB";
        let finished = simulate(find("survey").unwrap(), name, &[]);
        assert_eq!(finished.state, RunState::Finished, "{:?}", finished.error);
        assert!((value(&finished, "block-size-read/access_time") / 1e6 - 1.0).abs() < 0.02);
        assert_eq!(value(&finished, "concurrency-read/optimal_depth"), 4.0);
        let table = finished
            .findings
            .tables
            .iter()
            .find(|table| table.name == "Summary")
            .unwrap();
        assert!(table.rows.len() >= 12, "{table:?}");
        let codes = codes(&finished);
        for code in [
            "advice-queue-depth",
            "advice-block-size",
            "advice-full-copy",
        ] {
            assert!(codes.contains(&code), "{codes:?}");
        }
    }

    #[test]
    fn it_says_beforehand_how_long_it_takes() {
        let target = Target::ordinary();
        let test = find("survey").unwrap();
        let parameters = fake::parameters(test, &target, &[]);
        let forecast = test.forecast(&target, &parameters).unwrap();
        assert_eq!(forecast.duration, Some(Duration::from_secs(96)));
        assert!(forecast.sentence.contains("1m36s"), "{forecast:?}");
        let parameters = fake::parameters(test, &target, &[("duration", "10s")]);
        let shorter = test
            .forecast(&target, &parameters)
            .unwrap()
            .duration
            .unwrap();
        assert!(shorter.abs_diff(Duration::from_secs(10)) < Duration::from_millis(1));
    }

    #[test]
    fn a_failing_drive_ends_the_survey_with_what_there_is() {
        let fake = Fake::new(|asked| (asked.address < 1 << 29).then_some(1_000_000));
        let finished = fake::run(find("survey").unwrap(), &fake::target(1 << 30), &[], &fake);
        assert_eq!(finished.state, RunState::Failed);
        value(&finished, "sequential-read/throughput_mean");
        assert!(
            finished
                .findings
                .figure("concurrency-read/optimal_depth")
                .is_none()
        );
    }

    #[test]
    fn no_part_writes() {
        for test in PARTS.iter().filter_map(|part| find(part.name)) {
            assert!(!test.description().writes);
        }
    }
}
