//! Write, sync, close: what a program waits for until its file is safe.

use std::time::Duration;

use super::common::{self, place, series};
use super::passes::{Pass, Passes, whole_time};
use super::{
    Bench, BenchError, Chart, Description, Forecast, Kind, Parameter, Parameters, Shape, Test,
    Value,
};
use crate::drive::Target;
use crate::engine::{
    BlockSize, CacheMode, Flush, Limits, Operation, Outcome, Pattern, Plan, SyncMode,
};
use crate::session::document::{Figure, Severity, Table, Unit, Verdict};
use crate::units;

/// Writes with records of several sizes, and with every way to make them durable.
pub struct WriteSyncClose;

/// Sizes of records.
const RECORDS: [u32; 7] = [
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
    16 << 20,
];
/// The record size whose times are the test's figures.
const USUAL: u32 = 1 << 20;

const FILE_BYTES: Parameter = Parameter {
    name: "file-bytes",
    kind: Kind::Size { least: 4096 },
    help: "bytes written with each record size, then synced and closed",
    default: |target| Value::Bytes((1 << 30).min(target.size)),
};
const METHOD_BYTES: Parameter = Parameter {
    name: "method-bytes",
    kind: Kind::Size { least: 4096 },
    help: "bytes written with each way to sync",
    default: |target| Value::Bytes((16 << 20).min(target.size)),
};
const METHOD_BLOCK: Parameter = Parameter {
    help: "record size for the comparison of the ways to sync",
    ..common::BLOCK_SIZE.with_default(|_| Value::Bytes(64 << 10))
};

static DESCRIPTION: Description = Description {
    name: "write-sync-close",
    aliases: &["wsc"],
    summary: "writes a file with records of 4 KiB to 16 MiB, syncs and closes: time of each part",
    explanation: "\
Writes the same amount with records of 4 KiB up to 16 MiB, through the page cache and past it \
(O_DIRECT), then calls fsync, then closes, and times each part. This is what a program that saves a \
file waits for.

The first chart stacks the three times for buffered writes: writing into the cache is quick whatever \
the drive, the wait comes with fsync; small records cost system calls. The second chart compares \
throughput until all is safe, buffered and direct: direct writes with small records pay the \
way to the drive each time, large ones save the copy.

The table compares the ways to make data safe, each with and without O_DIRECT: fsync and fdatasync once \
at the end, sync_file_range (which does not empty the drive's cache, and so promises nothing \
after a power cut), O_DSYNC and O_SYNC with every record.

It overwrites what is there: up to 1 GiB for each of 14 combinations and 16 MiB for each of 10 ways, \
which is said beforehand.",
    writes: true,
    parameters: &[
        FILE_BYTES,
        METHOD_BYTES,
        METHOD_BLOCK,
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(240))),
        common::BYTES,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::DATA,
    ],
    charts: &[
        Chart::new(
            "Time to write, sync, close by record size (buffered)",
            Shape::StackedBars,
            &[
                "write-time-against-record-size",
                "sync-time-against-record-size",
                "close-time-against-record-size",
            ],
        )
        .log_x(),
        Chart::new(
            "Throughput until all is safe by record size",
            Shape::Line,
            &["throughput-buffered", "throughput-direct"],
        )
        .log_x(),
    ],
    headline: &["write_time", "sync_time", "close_time"],
};

/// Through the page cache, or past it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Buffered,
    Direct,
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Direct => "direct",
        }
    }

    fn cache(self) -> CacheMode {
        match self {
            Self::Buffered => CacheMode::Keep,
            Self::Direct => CacheMode::Bypass,
        }
    }

    fn possible(target: &Target) -> &'static [Self] {
        if target.direct {
            &[Self::Buffered, Self::Direct]
        } else {
            &[Self::Buffered]
        }
    }
}

/// The ways to make data safe: name, what every write does, what follows the last.
const METHODS: [(&str, SyncMode, Flush); 5] = [
    ("fsync", SyncMode::None, Flush::Fsync),
    ("fdatasync", SyncMode::None, Flush::Fdatasync),
    ("sync_file_range", SyncMode::None, Flush::SyncFileRange),
    ("O_DSYNC", SyncMode::DataSync, Flush::Nothing),
    ("O_SYNC", SyncMode::Sync, Flush::Nothing),
];

fn plan_for(
    (record, bytes): (u32, u64),
    way: Way,
    target: &Target,
    parameters: &Parameters,
) -> Result<Plan, BenchError> {
    let mut plan = common::plan(target, parameters, Operation::Write, Pattern::Sequential)?;
    let room = plan.window.end - plan.window.start;
    plan.block_size = BlockSize::Fixed(record);
    plan.align = u64::from(record);
    plan.cache = way.cache();
    plan.limits = Limits {
        bytes: Some(bytes.min(room) / plan.align * plan.align),
        ..Limits::default()
    };
    plan.finish = Some(Flush::Fsync);
    Ok(plan)
}

/// Record sizes with each way, as far as the window holds a record.
fn record_passes(
    target: &Target,
    parameters: &Parameters,
) -> Result<Vec<(u32, Way, Pass)>, BenchError> {
    let bytes = parameters.bytes("file-bytes").unwrap_or(1 << 30);
    let window = common::window(target, parameters);
    let fits = |record: &u32| {
        u64::from(*record) * 2 <= bytes.min(window.end.saturating_sub(window.start))
            && *record >= target.logical_block
    };
    let mut passes = Vec::new();
    for way in Way::possible(target) {
        for record in RECORDS.into_iter().filter(fits) {
            let plan = plan_for((record, bytes), *way, target, parameters)?;
            let size = units::block_size(f64::from(record));
            let label = format!("{} records of {size}", way.word());
            let key = format!("{}_{}k", way.word(), record >> 10);
            passes.push((record, *way, Pass::new(label, key, plan)));
        }
    }
    Ok(passes)
}

fn method_passes(target: &Target, parameters: &Parameters) -> Result<Vec<Pass>, BenchError> {
    let bytes = parameters.bytes("method-bytes").unwrap_or(16 << 20);
    let record = common::request_bytes(parameters.bytes("block-size").unwrap_or(64 << 10))?;
    let mut passes = Vec::new();
    for way in Way::possible(target) {
        for (name, sync, flush) in METHODS {
            let mut plan = plan_for(
                (record, bytes.max(u64::from(record))),
                *way,
                target,
                parameters,
            )?;
            (plan.sync, plan.finish) = (sync, Some(flush));
            let label = format!("{name}, {}", way.word());
            let key = format!("{}_{}", name.to_lowercase(), way.word());
            passes.push(Pass::new(label, key, plan));
        }
    }
    Ok(passes)
}

impl Test for WriteSyncClose {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let records = record_passes(target, parameters)?;
        let methods = method_passes(target, parameters)?;
        let plans = records.iter().map(|(_, _, pass)| pass).chain(&methods);
        let bytes: u64 = plans.filter_map(|pass| pass.plan.limits.bytes).sum();
        let limits = common::limits(parameters);
        let bytes = limits.bytes.unwrap_or(bytes).min(bytes);
        Ok(Forecast {
            sentence: format!(
                "writes, syncs and closes {} with {} record sizes and {} ways to sync, {} in all",
                place(target),
                records.len(),
                methods.len(),
                common::written_share(bytes, target)
            ),
            duration: limits.duration,
            reads: None,
            writes: Some(bytes),
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let records = record_passes(bench.target, bench.parameters)?;
        let methods = method_passes(bench.target, bench.parameters)?;
        put_tables(bench, &records, &methods);
        if !bench.target.direct {
            bench.verdict(no_direct(bench.target));
        }
        let limits = common::limits(bench.parameters);
        let mut curves = Curves::default();
        let count = records.len() + methods.len();
        let mut running = Passes::new(bench, limits, count, 1.0);
        for (record, way, pass) in &records {
            let Some(outcome) = running.next(pass)? else {
                return Ok(());
            };
            curves.add(*record, *way, &outcome);
            only_times(running.bench(), &pass.key);
            put_times(running.bench(), &pass.key, &outcome);
            if *record == USUAL && *way == Way::Buffered {
                put_usual(running.bench(), &outcome);
            }
            curves.report(running.bench());
        }
        for pass in &methods {
            running.next(pass)?;
        }
        Ok(())
    }

    fn fio(&self, target: &Target, parameters: &Parameters) -> Option<String> {
        let bytes = parameters.bytes("file-bytes")?;
        let plan = plan_for((USUAL, bytes), Way::Buffered, target, parameters).ok()?;
        Some(format!("{} --end_fsync=1", common::fio_command(&plan)))
    }
}

fn put_tables(bench: &mut Bench<'_>, records: &[(u32, Way, Pass)], methods: &[Pass]) {
    let rows = |passes: &mut dyn Iterator<Item = &Pass>| -> Vec<(String, String)> {
        passes
            .map(|pass| (pass.label.clone(), pass.key.clone()))
            .collect()
    };
    for (name, columns, rows) in [
        (
            "Record sizes",
            &[
                ("write", "write_time"),
                ("sync", "sync_time"),
                ("close", "close_time"),
                ("throughput", "throughput"),
            ][..],
            rows(&mut records.iter().map(|(_, _, pass)| pass)),
        ),
        (
            "Ways to sync",
            &[
                ("throughput", "throughput"),
                ("one record", "latency"),
                ("p99", "latency_p99"),
            ][..],
            rows(&mut methods.iter()),
        ),
    ] {
        let rows: Vec<(&str, &str)> = rows
            .iter()
            .map(|(label, key)| (label.as_str(), key.as_str()))
            .collect();
        bench
            .findings
            .put_table(Table::crossed(name, columns, &rows));
    }
}

fn no_direct(target: &Target) -> Verdict {
    Verdict::new(
        "no-direct",
        Severity::Note,
        format!(
            "{} ({}) does not take O_DIRECT: the direct half is left out",
            place(target),
            target.file_system.as_deref().unwrap_or("this file system")
        ),
        "choose a directory on another file system to see it",
    )
}

fn times(outcome: &Outcome) -> [(&'static str, Duration); 3] {
    let finish = outcome.finish.unwrap_or_default();
    [
        ("write_time", outcome.elapsed),
        ("sync_time", finish.sync),
        ("close_time", finish.close),
    ]
}

fn put_times(bench: &mut Bench<'_>, key: &str, outcome: &Outcome) {
    for (name, time) in times(outcome) {
        let name = format!("{key}_{name}");
        bench.figure(Figure::new(
            &name,
            time.as_nanos() as f64,
            Unit::Nanoseconds,
        ));
    }
}

/// Takes away what is no news of a pass whose times are told apart.
fn only_times(bench: &mut Bench<'_>, key: &str) {
    let ending = |name: &str| name.strip_prefix(key).map(str::to_owned);
    let idle = ["_iops", "_latency", "_latency_p99"];
    bench
        .findings
        .figures
        .retain(|figure| ending(&figure.name).is_none_or(|ending| !idle.contains(&&*ending)));
}

fn put_usual(bench: &mut Bench<'_>, outcome: &Outcome) {
    for (name, time) in times(outcome) {
        bench.figure(Figure::new(name, time.as_nanos() as f64, Unit::Nanoseconds));
    }
}

/// What the charts show.
#[derive(Debug, Default)]
struct Curves {
    times: [Vec<[f64; 2]>; 3],
    buffered: Vec<[f64; 2]>,
    direct: Vec<[f64; 2]>,
}

impl Curves {
    fn add(&mut self, record: u32, way: Way, outcome: &Outcome) {
        let record = f64::from(record);
        let rate = outcome.tally.bytes() as f64 / whole_time(outcome).as_secs_f64();
        match way {
            Way::Buffered => self.buffered.push([record, rate]),
            Way::Direct => self.direct.push([record, rate]),
        }
        if way == Way::Buffered {
            for (curve, (_, time)) in self.times.iter_mut().zip(times(outcome)) {
                curve.push([record, time.as_nanos() as f64]);
            }
        }
    }

    fn report(&self, bench: &mut Bench<'_>) {
        let x = ("record size", Unit::Bytes);
        for (word, points) in ["write", "sync", "close"].into_iter().zip(&self.times) {
            let name = format!("{word}-time-against-record-size");
            let y = (word, Unit::Nanoseconds);
            bench.series(series(&name, x, y, points.clone()));
        }
        for (name, points) in [
            ("throughput-buffered", &self.buffered),
            ("throughput-direct", &self.direct),
        ] {
            bench.series(series(
                name,
                x,
                ("throughput", Unit::BytesPerSecond),
                points.clone(),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{self, Fake, value};
    use super::*;

    #[test]
    fn write_sync_and_close_are_timed_apart() {
        let fake = Fake::new(|asked| Some(u64::from(asked.bytes)));
        let target = fake::target(64 << 20);
        let finished = fake::run(find("wsc").unwrap(), &target, &[], &fake);
        assert_eq!(value(&finished, "write_time"), f64::from(64 << 20));
        assert_eq!(value(&finished, "sync_time"), 20e6);
        assert_eq!(value(&finished, "close_time"), 10e3);
        // 64 MiB in 67.1 ms of writing, 20 ms of syncing and 10 us of closing.
        let rate = 67_108_864.0 / 0.087_118_864;
        assert!((value(&finished, "buffered_4k_throughput") / rate - 1.0).abs() < 1e-6);
        let curve = finished
            .findings
            .series("sync-time-against-record-size")
            .unwrap();
        assert_eq!(curve.points.len(), 7);
        for key in ["fsync_buffered", "o_dsync_direct", "sync_file_range_direct"] {
            value(&finished, &format!("{key}_throughput"));
        }
    }

    #[test]
    fn every_cell_of_the_tables_is_a_figure() {
        let fake = Fake::new(|_| Some(1000));
        let finished = fake::run(find("wsc").unwrap(), &fake::target(64 << 20), &[], &fake);
        let cells = finished
            .findings
            .tables
            .iter()
            .flat_map(|table| &table.rows);
        for cell in cells
            .flat_map(|row| &row.cells)
            .filter(|cell| !cell.ends_with("p99"))
        {
            value(&finished, cell);
        }
    }

    #[test]
    fn where_there_is_no_direct_half_it_says_so() {
        let fake = Fake::new(|_| Some(1000));
        let target = Target {
            direct: false,
            ..fake::target(4 << 20)
        };
        let finished = fake::run(find("wsc").unwrap(), &target, &[], &fake);
        assert_eq!(fake::codes(&finished), ["no-direct"]);
        assert!(
            fake.plans
                .lock()
                .unwrap()
                .iter()
                .all(|plan| plan.cache == CacheMode::Keep)
        );
    }

    #[test]
    fn the_forecast_counts_every_byte() {
        let target = fake::target(64 << 20);
        let test = find("wsc").unwrap();
        let parameters = fake::parameters(test, &target, &[]);
        let fake = Fake::new(|_| Some(1000));
        fake::run(test, &target, &[], &fake);
        let plans = fake.plans.lock().unwrap();
        let planned: u64 = plans.iter().filter_map(|plan| plan.limits.bytes).sum();
        assert_eq!(
            test.forecast(&target, &parameters).unwrap().writes,
            Some(planned)
        );
    }
}
