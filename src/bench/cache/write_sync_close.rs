//! Write, sync, close: the time until a file is durable.

mod io_path;
mod record_size_curves;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::io_path::{IoPath, record_size_variants, sync_method_variants};
use self::record_size_curves::RecordTimes;
use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::rounds::DEFAULT_ROUNDS;
use crate::bench::framework::variants;
use crate::bench::framework::variants::Variant;
use crate::bench::{
    BenchError, Benchmark, ChartShape, ChartSpec, Description, FioGap, FioJob, Forecast,
    ParameterKind, ParameterSet, ParameterSpec, ParameterValue, RunContext,
};
use crate::drive::Target;
use crate::safe_text::SafeText;
use crate::session::checks::Workload;
use crate::session::document::MetricTable;
use crate::session::document::check::{
    CheckEvidence, CheckId, TruncatedFiles, UnsupportedDirectIo,
};

/// Writes with several record sizes, and with every sync method.
pub struct WriteSyncCloseBenchmark;

/// Record size of the headline metrics.
const DEFAULT_RECORD_BYTES: u32 = 1 << 20;

const FILE_BYTES: ParameterSpec = ParameterSpec {
    name: "file-bytes",
    kind: ParameterKind::Size { least: 4096 },
    help: "bytes written with each record size in each of four rounds, then synced and closed",
    default_for: |target| ParameterValue::Size((256 << 20).min(target.size_bytes)),
};
const METHOD_BYTES: ParameterSpec = ParameterSpec {
    name: "method-bytes",
    kind: ParameterKind::Size { least: 4096 },
    help: "bytes written with each way to sync in each of four rounds",
    default_for: |target| ParameterValue::Size((4 << 20).min(target.size_bytes)),
};
const METHOD_BLOCK_BYTES: ParameterSpec = ParameterSpec {
    help: "record size for the comparison of the ways to sync",
    ..framework::BLOCK_SIZE.with_default(|_| ParameterValue::Size(64 << 10))
};

const SEED: ParameterSpec = ParameterSpec {
    help: "the same seed gives the same order of record sizes and ways to sync",
    ..framework::SEED
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
    may_write: true,
    checks: &[CheckId::NoDirect, CheckId::FileTruncated],
    workload: Workload::CONSTANT,
    metrics: &["write_time", "sync_time", "close_time", "buffered_*", "direct_*", "fsync_*", "fdatasync_*", "sync_file_range_*", "o_dsync_*", "o_sync_*"],
    parameters: &[
        FILE_BYTES,
        METHOD_BYTES,
        METHOD_BLOCK_BYTES,
        framework::DURATION.with_default(|_| ParameterValue::Duration(Duration::from_secs(240))),
        framework::BYTES,
        framework::WINDOW_BEGIN,
        framework::WINDOW_END,
        SEED,
        framework::DATA,
    ],
    charts: &[
        ChartSpec::new(
            "Time to write, sync, close by record size (buffered)",
            ChartShape::StackedBars,
            &[
                "write-time-against-record-size",
                "sync-time-against-record-size",
                "close-time-against-record-size",
            ],
        )
        .log_x(),
        ChartSpec::new(
            "Throughput until all is safe by record size",
            ChartShape::Line,
            &["throughput-buffered", "throughput-direct"],
        )
        .log_x(),
    ],
    headline_metrics: &["write_time", "sync_time", "close_time"],
};

impl Benchmark for WriteSyncCloseBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let records = record_size_variants(target, parameters)?;
        let methods = sync_method_variants(target, parameters)?;
        let plans = records.iter().map(|(_, _, pass)| pass).chain(&methods);
        let time = PlannedPhases::with_even_shares(framework::plan_limits(parameters))
            .add_rounds(plans.clone().map(|pass| pass.plan.clone()));
        let bytes: u64 = plans.filter_map(|pass| pass.plan.limits.bytes).sum();
        let bytes = bytes.saturating_mul(DEFAULT_ROUNDS as u64);
        let limits = framework::plan_limits(parameters);
        let bytes = limits.bytes.unwrap_or(bytes).min(bytes);
        Ok(Forecast {
            sentence: format!(
                "writes, syncs and closes {} with {} record sizes and {} ways to sync in {DEFAULT_ROUNDS} rounds, {} in \
                 all",
                describe_target(target),
                records.len(),
                methods.len(),
                framework::describe_written_bytes(bytes, target)
            ),
            run_time: time.run_time(target),
            max_read_bytes: None,
            max_written_bytes: Some(bytes),
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let records = record_size_variants(bench.target, bench.parameters)?;
        let methods = sync_method_variants(bench.target, bench.parameters)?;
        set_tables(bench, &records, &methods);
        if !bench.target.supports_direct_io {
            bench.set_check(direct_io_unavailable(bench.target));
        }
        let limits = framework::plan_limits(bench.parameters);
        let seed = bench.parameters.count("seed").unwrap_or(1);
        let passes: Vec<Variant> = records
            .iter()
            .map(|(_, _, pass)| pass)
            .chain(&methods)
            .cloned()
            .collect();
        let mut times = RecordTimes::new(&records, seed);
        variants::measure_in_rounds(bench, limits, &passes, seed, &mut times)?;
        let cut = times.cut_short();
        if !cut.is_empty() && !bench.is_stopped() {
            bench.set_check(files_truncated_by_limit(&cut));
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}

fn set_tables(bench: &mut RunContext<'_>, records: &[(u32, IoPath, Variant)], methods: &[Variant]) {
    let rows = |passes: &mut dyn Iterator<Item = &Variant>| -> Vec<(String, String)> {
        passes
            .map(|pass| (pass.label.clone(), pass.metric_prefix.clone()))
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
            .set_table(MetricTable::cross_product(name, columns, &rows));
    }
}

fn files_truncated_by_limit(labels: &[&str]) -> CheckEvidence {
    CheckEvidence::FileTruncated(TruncatedFiles {
        variants: labels.iter().copied().map(SafeText::from).collect(),
    })
}

fn direct_io_unavailable(target: &Target) -> CheckEvidence {
    CheckEvidence::NoDirect(UnsupportedDirectIo {
        target: target.name.clone().into(),
        file_system: target.file_system.clone().map(SafeText::from),
    })
}
