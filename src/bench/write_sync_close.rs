//! Write, sync, close: what a program waits for until its file is safe.

#[cfg(test)]
mod tests;
mod times;
mod ways;

use std::time::Duration;

use super::common::{self, place};
use super::forecast::Phases;
use super::passes::{self, Pass};
use super::rounds::ROUNDS;
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Kind, Parameter, Parameters,
    Shape, Test, Value,
};
use crate::drive::Target;
use crate::session::document::{Severity, Table, Verdict};
use times::RecordTimes;
use ways::{Way, method_passes, record_passes};

/// Writes with records of several sizes, and with every way to make them durable.
pub struct WriteSyncClose;

/// The record size whose times are the test's figures.
const USUAL: u32 = 1 << 20;

const FILE_BYTES: Parameter = Parameter {
    name: "file-bytes",
    kind: Kind::Size { least: 4096 },
    help: "bytes written with each record size in each of four rounds, then synced and closed",
    default: |target| Value::Bytes((256 << 20).min(target.size)),
};
const METHOD_BYTES: Parameter = Parameter {
    name: "method-bytes",
    kind: Kind::Size { least: 4096 },
    help: "bytes written with each way to sync in each of four rounds",
    default: |target| Value::Bytes((4 << 20).min(target.size)),
};
const METHOD_BLOCK: Parameter = Parameter {
    help: "record size for the comparison of the ways to sync",
    ..common::BLOCK_SIZE.with_default(|_| Value::Bytes(64 << 10))
};

const SEED: Parameter = Parameter {
    help: "the same seed gives the same order of record sizes and ways to sync",
    ..common::SEED
};

static DESCRIPTION: Description = Description {
    name: "write-sync-close",
    aliases: &["wsc"],
    summary: "writes a file with records of 4 KiB to 16 MiB, syncs and closes: time of each part",
    explanation: "\
Writes the same amount with records of 4 KiB up to 16 MiB, through the page cache and past it \
(O_DIRECT), then calls fsync, then closes, and times each part. This is what a program that saves a \
file waits for. Everything is written in four rounds of random order (--seed); the times are means of the \
rounds. A file that a limit cuts short has no times, only a throughput, and a check says so.

The first chart stacks the three times for buffered writes: writing into the cache is quick whatever \
the drive, the wait comes with fsync; small records cost system calls. The second chart compares \
throughput until all is safe, buffered and direct: direct writes with small records pay the \
way to the drive each time, large ones save the copy.

The table compares the ways to make data safe, each with and without O_DIRECT: fsync and fdatasync once \
at the end, sync_file_range (which does not empty the drive's cache, and so promises nothing \
after a power cut), O_DSYNC and O_SYNC with every record.

It overwrites what is there: in each round up to 256 MiB for each of 14 combinations and 4 MiB for each \
of 10 ways, which is said beforehand.",
    writes: true,
    metrics: &["write_time", "sync_time", "close_time", "buffered_*", "direct_*", "fsync_*", "fdatasync_*", "sync_file_range_*", "o_dsync_*", "o_sync_*"],
    parameters: &[
        FILE_BYTES,
        METHOD_BYTES,
        METHOD_BLOCK,
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(240))),
        common::BYTES,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        SEED,
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

impl Test for WriteSyncClose {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let records = record_passes(target, parameters)?;
        let methods = method_passes(target, parameters)?;
        let plans = records.iter().map(|(_, _, pass)| pass).chain(&methods);
        let time = Phases::sharing(common::limits(parameters))
            .then_rounds(plans.clone().map(|pass| pass.plan.clone()));
        let bytes: u64 = plans.filter_map(|pass| pass.plan.limits.bytes).sum();
        let bytes = bytes.saturating_mul(ROUNDS as u64);
        let limits = common::limits(parameters);
        let bytes = limits.bytes.unwrap_or(bytes).min(bytes);
        Ok(Forecast {
            sentence: format!(
                "writes, syncs and closes {} with {} record sizes and {} ways to sync in {ROUNDS} rounds, {} in \
                 all",
                place(target),
                records.len(),
                methods.len(),
                common::written_share(bytes, target)
            ),
            time: time.time(target),
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
        let seed = bench.parameters.count("seed").unwrap_or(1);
        let passes: Vec<Pass> = records
            .iter()
            .map(|(_, _, pass)| pass)
            .chain(&methods)
            .cloned()
            .collect();
        let mut times = RecordTimes::new(&records, seed);
        passes::in_rounds(bench, limits, &passes, seed, &mut times)?;
        let cut = times.cut_short();
        if !cut.is_empty() && !bench.stopped() {
            bench.verdict(cut_short(&cut));
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
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

fn cut_short(labels: &[&str]) -> Verdict {
    Verdict::new(
        "file-cut-short",
        Severity::Warning,
        format!(
            "a limit ended the file before it was written: {}; times of shorter files are left out",
            labels.join(", ")
        ),
        "give it more --duration or --bytes, or fewer --file-bytes",
    )
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
