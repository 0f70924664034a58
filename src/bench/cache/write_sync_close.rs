//! Write, sync, close: the time until a file is durable.

mod io_path;
mod parameters;
mod record_size_curves;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::json;

use self::io_path::{
    BUFFERED, DIRECT, IoPath, METHOD_VARIANTS, record_size_variants, sync_method_variants,
};
use self::parameters::{FILE_BYTES, METHOD_BLOCK_BYTES, METHOD_BYTES};
use self::record_size_curves::RecordTimes;
use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::rounds::DEFAULT_ROUNDS;
use crate::bench::framework::variants;
use crate::bench::framework::variants::{LATENCY_COLUMNS, VARIANT_METRICS, Variant};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, Forecast, Parameter,
    ParameterSet, RunContext,
};
use crate::drive::Target;
use crate::files::safe_text::SafeText;
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{MetricId, MetricKind, MetricTable, SeriesId, Verdict};

/// Writes with several record sizes, and with every sync method.
pub struct WriteSyncCloseBenchmark;

const SEED: Parameter<u64> = Parameter {
    help: "seed of the random order of record sizes and sync methods",
    ..framework::SEED
};

const NO_DIRECT: Check = Check::note("no-direct", "The file system does not support O_DIRECT.");
const FILE_TRUNCATED: Check = Check::warning(
    "file-truncated",
    "A limit ended files before they were written completely.",
);

static DESCRIPTION: Description = Description {
    name: "write-sync-close",
    aliases: &["wsc"],
    group: BenchmarkGroup::Durability,
    example: "/srv --file-bytes 64MiB",
    summary: "writes with records of 4 KiB to 16 MiB, fsync and close: time of each step",
    explanation: include_str!("write-sync-close.md").trim_ascii_end(),
    may_write: true,
    checks: &[NO_DIRECT, FILE_TRUNCATED],
    workload: Workload::DURABLE_WRITES,
    metrics: &[
        MetricFamily::Own(&[
            MetricKind::WriteTime,
            MetricKind::SyncTime,
            MetricKind::CloseTime,
        ]),
        MetricFamily::Variants {
            variants: &[
                VariantFamily::Kibibytes(BUFFERED),
                VariantFamily::Kibibytes(DIRECT),
            ],
            metrics: &[MetricFamily::Own(&[
                MetricKind::WriteTime,
                MetricKind::SyncTime,
                MetricKind::CloseTime,
                MetricKind::Throughput,
            ])],
        },
        MetricFamily::Variants {
            variants: METHOD_VARIANTS,
            metrics: VARIANT_METRICS,
        },
    ],
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
            "Time of write, fsync, close by record size (buffered)",
            ChartShape::StackedBars,
            &[
                SeriesId::WRITE_TIME_AGAINST_RECORD_SIZE,
                SeriesId::SYNC_TIME_AGAINST_RECORD_SIZE,
                SeriesId::CLOSE_TIME_AGAINST_RECORD_SIZE,
            ],
        )
        .log_x(),
        ChartSpec::new(
            "Throughput until durable by record size",
            ChartShape::Line,
            &[SeriesId::THROUGHPUT_BUFFERED, SeriesId::THROUGHPUT_DIRECT],
        )
        .log_x(),
    ],
    headline_metrics: &[
        MetricId::WRITE_TIME,
        MetricId::SYNC_TIME,
        MetricId::CLOSE_TIME,
    ],
};

impl Benchmark for WriteSyncCloseBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let records = record_size_variants(target, parameters)?;
        let methods = sync_method_variants(target, parameters)?;
        let plans = records
            .iter()
            .map(|(_, _, variant)| variant)
            .chain(&methods);
        let time = PlannedPhases::with_even_shares(framework::plan_limits(parameters))
            .add_rounds(plans.clone().map(|variant| variant.plan.clone()));
        let bytes: u64 = plans.filter_map(|variant| variant.plan.limits.bytes).sum();
        let bytes = bytes.saturating_mul(DEFAULT_ROUNDS as u64);
        let limits = framework::plan_limits(parameters);
        let bytes = limits.bytes.unwrap_or(bytes).min(bytes);
        Ok(Forecast {
            sentence: format!(
                "writes, syncs and closes {} with {} record sizes and {} sync methods in {DEFAULT_ROUNDS} rounds, {} in \
                 total",
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
        let variants: Vec<Variant> = records
            .iter()
            .map(|(_, _, variant)| variant)
            .chain(&methods)
            .cloned()
            .collect();
        let mut times = RecordTimes::new(&records, seed);
        variants::measure_in_rounds(bench, limits, &variants, seed, &mut times)?;
        let cut = times.cut_short();
        if !cut.is_empty() && !bench.is_stopped() {
            bench.set_check(files_truncated_by_limit(&cut));
        }
        Ok(())
    }
}

fn set_tables(bench: &mut RunContext<'_>, records: &[(u32, IoPath, Variant)], methods: &[Variant]) {
    let records: Vec<Variant> = records
        .iter()
        .map(|(_, _, variant)| variant.clone())
        .collect();
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
            "Sync methods",
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

fn files_truncated_by_limit(variants: &[&str]) -> Verdict {
    FILE_TRUNCATED.found(
        format!(
            "a limit ended the file before it was written completely: {}; the times of truncated files \
             are not reported",
            variants.join("; ")
        ),
        "use a longer --duration, more --bytes, or fewer --file-bytes",
        json!({ "variants": variants }),
    )
}

fn direct_io_unavailable(target: &Target) -> Verdict {
    let name = SafeText::from(&target.name);
    let file_system = target.file_system.as_deref().map(SafeText::from);
    NO_DIRECT.found(
        format!(
            "{name} ({}) does not support O_DIRECT: the direct variants are skipped",
            file_system.as_deref().unwrap_or("its file system")
        ),
        "choose a directory on another file system to measure them",
        json!({ "target": name, "file_system": file_system }),
    )
}
