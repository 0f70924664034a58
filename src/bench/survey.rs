//! Every reading test that suits a drive, and one page of what follows.

use std::time::Duration;

use super::common::{self, place};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Parameters, RunTime, Shape,
    Test, Value, find,
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
    /// Seconds on what may rotate: a disk answers so few requests per second that a sweep needs longer.
    seconds_on_disk: u64,
    /// What it is for.
    suits: Suits,
}

/// What a part makes sense on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suits {
    Everything,
    /// Whatever may rotate and is addressed as it lies on the medium.
    Disks,
    /// The same, unless `rotation` showed that it does not.
    Rotating,
}

/// In the order in which they are run. Names that this program lacks are passed over.
const PARTS: &[Part] = &[
    part("sequential-read", 20, Suits::Everything),
    part("random-read", 10, Suits::Everything),
    Part {
        seconds_on_disk: 60,
        ..part("concurrency-read", 27, Suits::Everything)
    },
    part("block-size-read", 24, Suits::Everything),
    part("interference", 15, Suits::Everything),
    part("rotation", 10, Suits::Disks),
    part("reorder", 40, Suits::Rotating),
    part("full-stroke", 15, Suits::Rotating),
    part("track-to-track", 15, Suits::Rotating),
    part("seek-curve", 30, Suits::Rotating),
];

const fn part(name: &'static str, seconds: u64, suits: Suits) -> Part {
    Part {
        name,
        seconds,
        seconds_on_disk: seconds,
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
    metrics: &["sequential-read/", "random-read/", "concurrency-read/", "block-size-read/", "interference/", "rotation/", "reorder/", "full-stroke/", "track-to-track/", "seek-curve/"],
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

/// Rows of the summary: what people call it, and the figure. `{random}`, `{beside}` and `{optimal}` are
/// the queue depths at which it was measured: figures of different depths must not be laid beside each
/// other unmarked.
const SUMMARY: &[(&str, &str)] = &[
    ("sequential reads, mean", "sequential-read/throughput_mean"),
    ("at the slowest place", "sequential-read/throughput_min"),
    ("at the fastest place", "sequential-read/throughput_max"),
    ("reading all of it takes", "sequential-read/full_copy_time"),
    ("random reads, depth {random}", "random-read/iops"),
    ("p50 of these, depth {random}", "random-read/latency_p50"),
    ("p99 of these, depth {random}", "random-read/latency_p99"),
    ("queue depth that suits", "concurrency-read/optimal_depth"),
    (
        "random reads, depth {optimal}",
        "concurrency-read/optimal_depth_iops",
    ),
    (
        "p90 of these, depth {optimal}",
        "concurrency-read/optimal_depth_p90",
    ),
    ("times as many as at depth 1", "concurrency-read/speedup"),
    (
        "most random reads, depth {most}",
        "concurrency-read/iops_max",
    ),
    (
        "p90 of these, depth {most}",
        "concurrency-read/iops_max_p90",
    ),
    ("access time", "block-size-read/access_time"),
    ("balanced block size", "block-size-read/balanced_block_size"),
    ("tree node that suits", "block-size-read/btree_node_size"),
    (
        "users' IOPS beside a job, depth {beside}",
        "interference/iops_disturbed",
    ),
    (
        "sorted random reads over unsorted ones",
        "reorder/reorder_gain",
    ),
    ("rotation", "rotation/rotation_speed"),
    ("full stroke", "full-stroke/full_stroke_seek"),
    ("track to track", "track-to-track/track_to_track_seek"),
    ("average seek", "seek-curve/average_seek"),
];

/// A part that suits a target, with what it gets of the time.
struct Chosen {
    test: &'static dyn Test,
    time: Duration,
    suits: Suits,
}

/// The parts that suit a target.
fn parts(target: &Target, parameters: &Parameters) -> Vec<Chosen> {
    let may_rotate = target.rotational() == Some(true) && common::is_medium(target);
    let suitable = |part: &&Part| part.suits == Suits::Everything || may_rotate;
    let chosen = |part: &Part| {
        Some(Chosen {
            test: find(part.name)?,
            time: Duration::from_secs(match may_rotate {
                true => part.seconds_on_disk,
                false => part.seconds,
            }),
            suits: part.suits,
        })
    };
    let mut chosen: Vec<Chosen> = PARTS.iter().filter(suitable).filter_map(chosen).collect();
    let usual: Duration = chosen.iter().map(|part| part.time).sum();
    let wanted = parameters.duration("duration").unwrap_or(usual);
    let scale = wanted.as_secs_f64() / usual.as_secs_f64().max(1e-9);
    for part in &mut chosen {
        part.time = part.time.mul_f64(scale);
    }
    chosen
}

/// The queue depths at which parts measure.
#[derive(Debug, Clone, Copy)]
struct Depths {
    random: Option<u64>,
    beside: Option<u64>,
}

impl Depths {
    fn of(parts: &[Chosen], target: &Target, own: &Parameters) -> Self {
        let depth = |name: &str| {
            let part = parts
                .iter()
                .find(|part| part.test.description().name == name)?;
            parameters_of(part.test, part.time, target, own).count("depth")
        };
        Self {
            random: depth("random-read"),
            beside: depth("interference"),
        }
    }

    /// A row's name with the depths in it.
    fn label(self, name: &str, findings: &Findings) -> String {
        let known = |depth: Option<u64>| depth.map_or("?".to_owned(), |depth| depth.to_string());
        let measured = |figure: &str| known(value(findings, figure).map(|depth| depth as u64));
        name.replace("{random}", &known(self.random))
            .replace("{beside}", &known(self.beside))
            .replace("{optimal}", &measured("concurrency-read/optimal_depth"))
            .replace("{most}", &measured("concurrency-read/iops_max_depth"))
    }
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
        let mut time = RunTime::default();
        for part in &parts {
            let own = parameters_of(part.test, part.time, target, parameters);
            // A part that does not fit is left out.
            if let Ok(forecast) = part.test.forecast(target, &own) {
                time = time + forecast.time;
            }
        }
        let names: Vec<&str> = parts
            .iter()
            .map(|part| part.test.description().name)
            .collect();
        let window = common::window(target, parameters);
        if window.is_empty() {
            return Err(BenchError::Parameters(
                "--window-begin must lie before --window-end".to_owned(),
            ));
        }
        Ok(Forecast {
            sentence: format!(
                "runs {} tests on {}: {}",
                names.len(),
                place(target),
                names.join(", "),
            ),
            time,
            reads: None,
            writes: None,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let parts = parts(bench.target, bench.parameters);
        let depths = Depths::of(&parts, bench.target, bench.parameters);
        let total: Duration = parts.iter().map(|part| part.time).sum();
        let mut skipped = Vec::new();
        for Chosen { test, time, suits } in parts {
            if suits == Suits::Rotating && does_not_rotate(&bench.findings) {
                skipped.push(test.description().name);
                continue;
            }
            let parameters = parameters_of(test, time, bench.target, bench.parameters);
            let share = time.as_secs_f64() / total.as_secs_f64().max(1e-9);
            let result = bench.part(test, &parameters, share);
            if let Err(error) = result {
                bench.verdict(left_out(test, &error));
            }
            let rotational = bench.target.rotational() == Some(true);
            summarise(&mut bench.findings, depths, rotational);
            bench.phase_finished();
            if bench.stopped() {
                break;
            }
        }
        if !skipped.is_empty() {
            bench.verdict(Verdict::new(
                "mechanics-skipped",
                Severity::Note,
                format!("skipped, because nothing rotates: {}", skipped.join(", ")),
                "nothing to do: these measure the arm of a hard disk",
            ));
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}

/// Whether the part that looks for a rotation found that there is none.
fn does_not_rotate(findings: &Findings) -> bool {
    let known = |verdict: &Verdict| verdict.code == "rotation/does-not-rotate";
    findings.verdicts.iter().any(known)
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
fn summarise(findings: &mut Findings, depths: Depths, rotational: bool) {
    let row = |(name, figure): &(&str, &str)| TableRow {
        name: depths.label(name, findings).into(),
        cells: vec![(*figure).into()],
    };
    // A gain that may be none is no row of a summary.
    let significant = |figure: &Figure| {
        figure.name != "reorder/reorder_gain" || figure.low.is_some_and(|low| low > 1.0)
    };
    let known = |(_, figure): &&(&str, &str)| findings.figure(figure).is_some_and(significant);
    let table = Table {
        name: "Summary".into(),
        columns: vec!["measured".into()],
        rows: SUMMARY.iter().filter(known).map(row).collect(),
    };
    findings.put_table(table);
    let advice = [
        queue_advice(findings),
        block_advice(findings),
        copy_advice(findings),
        above_medium(findings).filter(|_| rotational),
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

/// What the curve of IOPS against depth says: where a request is answered soon, and where the most
/// are done. Only what differs by more than the measurement may be off is told apart.
fn queue_advice(findings: &Findings) -> Option<Verdict> {
    let figure = |name: &str| findings.figure(&format!("concurrency-read/{name}"));
    let at = |name: &str| Some(figure(name)?.value);
    let (depth, iops) = (at("optimal_depth")?, figure("optimal_depth_iops")?);
    let most = figure("iops_max_depth").zip(figure("iops_max"));
    let certain = |figure: &Figure| figure.low.zip(figure.high);
    let more = most.filter(|(_, most)| match (certain(most), certain(iops)) {
        (Some((low, _)), Some((_, high))) => low > high,
        _ => false,
    });
    let said = |depth: f64, iops: &Figure, p90: &str| {
        let wait =
            at(p90).map_or_else(String::new, |p90| format!(" (p90 {})", units::latency(p90)));
        format!("{} IOPS at depth {depth}{wait}", units::count(iops.value))
    };
    let best = said(depth, iops, "optimal_depth_p90");
    let (evidence, words) = match (more, depth > 1.0) {
        (Some((deepest, most)), _) => (
            format!("{best}, {}", said(deepest.value, most, "iops_max_p90")),
            format!(
                "keep about {depth} requests in flight where response time counts, and up to {} where \
                 only throughput does",
                deepest.value
            ),
        ),
        (None, true) => (
            format!("{best}; no depth gives significantly more"),
            format!("let servers and databases keep about {depth} requests in flight"),
        ),
        (None, false) => (
            format!("{best}; no depth gives significantly more"),
            "more than one request in flight only makes everybody wait longer".to_owned(),
        ),
    };
    Some(advice("advice-queue-depth", evidence, words))
}

/// Reads that were faster than the medium at its fastest place.
fn above_medium(findings: &Findings) -> Option<Verdict> {
    const MORE: f64 = 1.15;
    let most = value(findings, "sequential-read/throughput_max")?;
    let (name, rate) = findings
        .figures
        .iter()
        .filter(|figure| figure.unit == Unit::BytesPerSecond)
        .filter(|figure| !figure.name.starts_with("sequential-read/"))
        .map(|figure| (&figure.name, figure.value))
        .max_by(|left, right| left.1.total_cmp(&right.1))?;
    (rate > MORE * most).then(|| {
        Verdict::new(
            "throughput-above-medium",
            Severity::Warning,
            format!(
                "{name} is {}, but the medium gives {} at its fastest place",
                units::throughput(rate),
                units::throughput(most)
            ),
            "a cache answered: widen the window, or read more than the cache holds",
        )
    })
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

    /// A drive that the kernel calls rotational.
    fn said_to_rotate() -> Target {
        let name = "sim:hdd,size=10GB,cylinders=20000";
        let opened = crate::engine::open(
            &crate::roots::Roots::default(),
            name,
            crate::engine::Choice::Auto,
            None,
        );
        opened.unwrap().target
    }

    #[test]
    fn mechanics_of_what_does_not_rotate_are_skipped_with_one_sentence() {
        let target = said_to_rotate();
        let fake = Fake::new(|asked| Some(100_000 + asked.address % 7919));
        let finished = fake::run(find("survey").unwrap(), &target, &[], &fake);
        let codes = codes(&finished);
        let told = |part: &str| codes.iter().filter(|code| code.ends_with(part)).count();
        assert_eq!(told("does-not-rotate"), 1, "{codes:?}");
        assert_eq!(told("mechanics-skipped"), 1, "{codes:?}");
        let findings = &finished.findings;
        for part in ["reorder/", "full-stroke/", "track-to-track/", "seek-curve/"] {
            assert!(
                findings.figures.iter().all(|it| !it.name.starts_with(part)),
                "{part}"
            );
        }
    }

    #[test]
    fn rows_and_advice_name_the_depth_of_their_metrics() {
        let name = "sim:hdd,clock=virtual,size=100GB,cylinders=20000";
        let finished = simulate(find("survey").unwrap(), name, &[]);
        let tables = &finished.findings.tables;
        let table = tables.iter().find(|table| table.name == "Summary").unwrap();
        let depth = |figure: &str| {
            let row = table.rows.iter().find(|row| row.cells == [figure]).unwrap();
            row.name
                .rsplit_once("depth ")
                .map(|(_, depth)| depth.to_owned())
        };
        assert_eq!(depth("random-read/iops"), depth("random-read/latency_p50"));
        let optimal = value(&finished, "concurrency-read/optimal_depth").to_string();
        assert_eq!(depth("concurrency-read/optimal_depth_iops"), Some(optimal));
        if let Some(most) = finished.findings.figure("concurrency-read/iops_max_depth") {
            let most = most.value.to_string();
            assert_eq!(depth("concurrency-read/iops_max"), Some(most));
        }
    }

    #[test]
    fn queue_advice_names_the_depths_that_differ_significantly() {
        let mut findings = Findings::default();
        assert_eq!(queue_advice(&findings), None);
        let mut put = |name: &str, value: f64, unit| {
            let name = format!("concurrency-read/{name}");
            let figure = Figure::new(&name, value, unit);
            findings.put_figure(figure.within(value * 0.95, value * 1.05));
        };
        put("optimal_depth", 4.0, Unit::Count);
        put("optimal_depth_iops", 200.0, Unit::PerSecond);
        put("iops_max_depth", 64.0, Unit::Count);
        put("iops_max", 400.0, Unit::PerSecond);
        // A disk does far more with many requests to choose from: the advice says so.
        let advice = queue_advice(&findings).unwrap().advice;
        assert!(advice.contains("up to 64"), "{advice}");
        findings.figures.retain(|it| !it.name.contains("iops_max"));
        let advice = queue_advice(&findings).unwrap().advice;
        assert!(advice.contains("keep about 4 requests"), "{advice}");
    }

    #[test]
    fn throughput_above_the_medium_is_doubted() {
        let mut findings = Findings::default();
        let rate = |name, value| Figure::new(name, value, Unit::BytesPerSecond);
        findings.put_figure(rate("sequential-read/throughput_max", 267e6));
        findings.put_figure(rate("block-size-read/throughput_max", 280e6));
        assert_eq!(above_medium(&findings), None);
        findings.put_figure(rate("block-size-read/throughput_max", 348e6));
        let verdict = above_medium(&findings).unwrap();
        assert!(verdict.evidence.contains("267 MB/s"), "{verdict:?}");
    }

    #[test]
    fn it_says_beforehand_how_long_it_takes() {
        let target = Target::ordinary();
        let test = find("survey").unwrap();
        let parameters = fake::parameters(test, &target, &[]);
        let forecast = test.forecast(&target, &parameters).unwrap();
        // What is in flight when the time of a part is over is waited for.
        let at_most = |seconds: u64| Duration::from_secs(seconds + 2).mul_f64(1.02);
        assert!(forecast.time.at_most <= at_most(96), "{forecast:?}");
        assert!(forecast.time.expected > at_most(48), "{forecast:?}");
        let parameters = fake::parameters(test, &target, &[("duration", "10s")]);
        let shorter = test.forecast(&target, &parameters).unwrap().time;
        assert!(shorter.at_most <= at_most(10), "{shorter:?}");
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
