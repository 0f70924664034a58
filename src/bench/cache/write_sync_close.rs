//! Write, sync, close: the time until a file is durable.

mod io_path;
mod parameters;
mod record_size_curves;
#[cfg(test)]
mod tests;

use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use std::time::Duration;

use self::io_path::{
    BUFFERED, DIRECT, IoPath, METHOD_VARIANTS, record_size_variants, sync_method_variants,
};
use self::parameters::{FILE_BYTES, METHOD_BLOCK_BYTES, METHOD_BYTES};
use self::record_size_curves::RecordTimes;
use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::rounds::DEFAULT_ROUNDS;
use crate::bench::framework::variants;
use crate::bench::framework::variants::{LATENCY_COLUMNS, VARIANT_METRICS, Variant};
use crate::bench::{
    BenchError, Benchmark, ChartShape, ChartSpec, Description, FioGap, FioJob, Forecast, Parameter,
    ParameterSet, RunContext,
};
use crate::drive::Target;
use crate::safe_text::SafeText;
use crate::session::checks::Workload;
use crate::session::document::check::{
    CheckEvidence, CheckId, TruncatedFiles, UnsupportedDirectIo,
};
use crate::session::document::{MetricId, MetricKind, MetricTable, SeriesId};

/// Writes with several record sizes, and with every sync method.
pub struct WriteSyncCloseBenchmark;

const SEED: Parameter<u64> = Parameter {
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
    metrics: &[MetricFamily::Own(&[MetricKind::WriteTime, MetricKind::SyncTime, MetricKind::CloseTime]), MetricFamily::Variants {
        variants: &[VariantFamily::Kibibytes(BUFFERED), VariantFamily::Kibibytes(DIRECT)],
        metrics: &[MetricFamily::Own(&[MetricKind::WriteTime, MetricKind::SyncTime, MetricKind::CloseTime, MetricKind::Throughput])],
    }, MetricFamily::Variants {
        variants: METHOD_VARIANTS,
        metrics: VARIANT_METRICS,
    }],
    parameters: &[
        &FILE_BYTES,
        &METHOD_BYTES,
        &METHOD_BLOCK_BYTES,
        &framework::DURATION.with_default(|_| Some(Duration::from_secs(240))),
        &framework::BYTES,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &SEED,
        &framework::DATA,
    ],
    charts: &[
        ChartSpec::new(
            "Time to write, sync, close by record size (buffered)",
            ChartShape::StackedBars,
            &[
                SeriesId::WRITE_TIME_AGAINST_RECORD_SIZE,
                SeriesId::SYNC_TIME_AGAINST_RECORD_SIZE,
                SeriesId::CLOSE_TIME_AGAINST_RECORD_SIZE,
            ],
        )
        .log_x(),
        ChartSpec::new(
            "Throughput until all is safe by record size",
            ChartShape::Line,
            &[SeriesId::THROUGHPUT_BUFFERED, SeriesId::THROUGHPUT_DIRECT],
        )
        .log_x(),
    ],
    headline_metrics: &[MetricId::WRITE_TIME, MetricId::SYNC_TIME, MetricId::CLOSE_TIME],
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
        let seed = bench.parameters.get(SEED);
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
    let records: Vec<Variant> = records.iter().map(|(_, _, pass)| pass.clone()).collect();
    let [_, latency, p99] = LATENCY_COLUMNS;
    for (name, columns, variants) in [
        (
            "Record sizes",
            &[
                ("write", MetricKind::WriteTime),
                ("sync", MetricKind::SyncTime),
                ("close", MetricKind::CloseTime),
                ("throughput", MetricKind::Throughput),
            ][..],
            &records[..],
        ),
        (
            "Ways to sync",
            &[
                ("throughput", MetricKind::Throughput),
                ("one record", latency.1),
                p99,
            ][..],
            methods,
        ),
    ] {
        let rows = variants::table_rows(variants);
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
