//! Write, sync, close: the time until a file is durable.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::json;

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::rounds::{DEFAULT_ROUNDS, SweepRounds};
use crate::bench::framework::sweep::{self, LATENCY_COLUMNS, Point, Sweep, Turn, VARIANT_METRICS};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, Parameter,
    ParameterKind, ParameterSet, Phases, RunContext,
};
use crate::drive::Target;
use crate::engine::{
    AccessPattern, BlockSize, CacheMode, ExecutionOutcome, FlushMethod, IoOperation, Plan,
    PlanLimits, SyncMode,
};
use crate::files::safe_text::SafeText;
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{MetricId, MetricKind, SeriesId, SeriesKind, VariantKey, Verdict};
use crate::units;

/// Writes with several record sizes, and with every sync method.
pub struct WriteSyncCloseBenchmark;

const FILE_BYTES: Parameter<u64> = Parameter {
    name: "file-bytes",
    kind: ParameterKind::Size { min: 4096 },
    help: "bytes written with each record size in each of four rounds before fsync and close",
    default: |target| (256 << 20).min(target.size_bytes),
};
const METHOD_BYTES: Parameter<u64> = Parameter {
    name: "method-bytes",
    kind: ParameterKind::Size { min: 4096 },
    help: "bytes written with each sync method in each of four rounds",
    default: |target| (4 << 20).min(target.size_bytes),
};
const METHOD_BLOCK_BYTES: Parameter<u64> = Parameter {
    help: "record size for the comparison of the sync methods",
    ..framework::BLOCK_SIZE.with_default(|_| 64 << 10)
};

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
        ChartSpec::line(
            "Throughput until durable by record size",
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

const RECORD_SIZES: [u32; 7] = [
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
    16 << 20,
];
/// Record size of the headline metrics.
const DEFAULT_RECORD_BYTES: u32 = 1 << 20;
/// Variants by record size, through the page cache and with O_DIRECT.
const BUFFERED: VariantKey = VariantKey::new("buffered");
const DIRECT: VariantKey = VariantKey::new("direct");
/// The two ways to the target: their names, variants and cache modes.
const IO_PATHS: [(&str, VariantKey, CacheMode); 2] = [
    ("buffered", BUFFERED, CacheMode::Keep),
    ("direct", DIRECT, CacheMode::Bypass),
];

/// The methods to make data durable: name, variant, mode of each write, and flush after the last one.
#[rustfmt::skip]
const SYNC_METHODS: [(&str, VariantKey, SyncMode, FlushMethod); 5] = [
    ("fsync", VariantKey::new("fsync"), SyncMode::None, FlushMethod::Fsync),
    ("fdatasync", VariantKey::new("fdatasync"), SyncMode::None, FlushMethod::Fdatasync),
    ("sync_file_range", VariantKey::new("sync_file_range"), SyncMode::None, FlushMethod::SyncFileRange),
    ("O_DSYNC", VariantKey::new("o_dsync"), SyncMode::DataSync, FlushMethod::CloseOnly),
    ("O_SYNC", VariantKey::new("o_sync"), SyncMode::Sync, FlushMethod::CloseOnly),
];

/// The variants of the sync methods, each with both ways to the target.
const METHOD_VARIANTS: &[VariantFamily] = &[
    VariantFamily::One(VariantKey::new("fsync_buffered")),
    VariantFamily::One(VariantKey::new("fsync_direct")),
    VariantFamily::One(VariantKey::new("fdatasync_buffered")),
    VariantFamily::One(VariantKey::new("fdatasync_direct")),
    VariantFamily::One(VariantKey::new("sync_file_range_buffered")),
    VariantFamily::One(VariantKey::new("sync_file_range_direct")),
    VariantFamily::One(VariantKey::new("o_dsync_buffered")),
    VariantFamily::One(VariantKey::new("o_dsync_direct")),
    VariantFamily::One(VariantKey::new("o_sync_buffered")),
    VariantFamily::One(VariantKey::new("o_sync_direct")),
];

/// Steps of a variant: the time of each, and its curve over the record size.
const STEPS: [(MetricKind, SeriesKind); 3] = [
    (
        MetricKind::WriteTime,
        SeriesKind::WriteTimeAgainstRecordSize,
    ),
    (MetricKind::SyncTime, SeriesKind::SyncTimeAgainstRecordSize),
    (
        MetricKind::CloseTime,
        SeriesKind::CloseTimeAgainstRecordSize,
    ),
];

impl Benchmark for WriteSyncCloseBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let sweep = file_sweep(target, parameters)?;
        let records = record_count(&sweep);
        let sentence = format!(
            "writes, syncs and closes {} with {records} record sizes and {} sync methods in \
             {DEFAULT_ROUNDS} rounds",
            describe_target(target),
            sweep.points.len() - records,
        );
        Ok(sweep.phases(sentence))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let mut sweep = file_sweep(bench.target, bench.parameters)?;
        let records = record_count(&sweep);
        set_tables(bench, &sweep.points[..records], &sweep.points[records..]);
        if !bench.target.supports_direct_io {
            bench.set_check(direct_io_unavailable(bench.target));
        }
        let mut times = StepTimes::new(&sweep, records);
        while let Some(turn) = sweep.next_turn(bench) {
            let outcome = sweep.execute(bench, &turn)?;
            if turn.point < records {
                times.add(&turn, &sweep.points[turn.point], &outcome);
                times.set_metrics(bench, &sweep, turn.point);
                times.set_curves(bench, &sweep);
            }
            bench.phase_finished();
        }
        let cut = times.cut_short.iter().zip(&sweep.points);
        let cut: Vec<&str> = cut
            .filter(|(is_cut, _)| **is_cut)
            .map(|(_, point)| point.label.as_str())
            .collect();
        if !cut.is_empty() && !bench.is_stopped() {
            bench.set_check(files_truncated_by_limit(&cut));
        }
        Ok(())
    }
}

/// Points by record size, then those of the sync methods, which have no position on a curve.
fn file_sweep(target: &Target, parameters: &ParameterSet) -> Result<Sweep, BenchError> {
    let (bytes, window) = (
        parameters.get(FILE_BYTES),
        framework::plan_window(target, parameters),
    );
    let room = window.end.saturating_sub(window.start);
    let fits = |record: &u32| {
        u64::from(*record) * 2 <= bytes.min(room) && *record >= target.logical_block_bytes
    };
    let paths = match target.supports_direct_io {
        true => &IO_PATHS[..],
        false => &IO_PATHS[..1],
    };
    let mut points = Vec::new();
    for (path, key, cache) in paths {
        for record in RECORD_SIZES.into_iter().filter(fits) {
            let plan = plan_of_file((record, bytes), *cache, target, parameters)?;
            let size = units::format_block_size(f64::from(record));
            let key = key.kibibytes(u64::from(record >> 10));
            points.push(Point {
                metrics: Some((key, &[MetricKind::Throughput])),
                ..Point::at(f64::from(record), format!("{path} records of {size}"), plan)
            });
        }
    }
    let record = framework::request_bytes(parameters.get(METHOD_BLOCK_BYTES))?;
    let bytes = parameters.get(METHOD_BYTES).max(u64::from(record));
    for (path, path_key, cache) in paths {
        for (name, key, sync_mode, end_fsync) in SYNC_METHODS {
            let plan = Plan {
                sync_mode,
                end_fsync: Some(end_fsync),
                ..plan_of_file((record, bytes), *cache, target, parameters)?
            };
            points.push(Point::variant(
                format!("{name}, {path}"),
                key.join(path_key),
                plan,
            ));
        }
    }
    Sweep::new(target, parameters, points)
}

/// Number of points by record size.
fn record_count(sweep: &Sweep) -> usize {
    let points = sweep.points.iter();
    points.filter(|point| point.value > 0.0).count()
}

/// Sequential writes of this many bytes in records of this size, followed by fsync.
fn plan_of_file(
    (record, bytes): (u32, u64),
    cache_mode: CacheMode,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Plan, BenchError> {
    let (operation, pattern) = (IoOperation::Write, AccessPattern::Sequential);
    let plan = framework::build_plan(target, parameters, operation, pattern)?;
    let (alignment, room) = (u64::from(record), plan.window.end - plan.window.start);
    Ok(Plan {
        block_size: BlockSize::Fixed(record),
        alignment,
        cache_mode,
        limits: PlanLimits {
            bytes: Some(bytes.min(room) / alignment * alignment),
            ..PlanLimits::default()
        },
        end_fsync: Some(FlushMethod::Fsync),
        ..plan
    })
}

/// Times of every record size in the rounds so far.
struct StepTimes {
    /// Nanoseconds by step.
    times: [SweepRounds; 3],
    /// Whether a limit truncated a file of these points.
    cut_short: Vec<bool>,
}

impl StepTimes {
    fn new(sweep: &Sweep, records: usize) -> Self {
        let rounds = SweepRounds::new(sweep.points.len());
        Self {
            times: [rounds.clone(), rounds.clone(), rounds],
            cut_short: vec![false; records],
        }
    }

    fn add(&mut self, turn: &Turn, point: &Point, outcome: &ExecutionOutcome) {
        let planned = point.plan.limits.bytes;
        if planned.is_some_and(|planned| outcome.stats.bytes() < planned) {
            self.cut_short[turn.point] = true;
            return;
        }
        let finish = outcome.finish_times.unwrap_or_default();
        let times = [outcome.elapsed, finish.sync_time, finish.close_time];
        for (rounds, time) in self.times.iter_mut().zip(times) {
            rounds.set_value(turn.point, turn.round, time.as_nanos() as f64);
        }
    }

    /// Sets the three times of a point; those of buffered 1 MiB records are the headline metrics.
    fn set_metrics(&self, bench: &mut RunContext<'_>, sweep: &Sweep, point: usize) {
        let Some(key) = sweep.points[point].key() else {
            return;
        };
        let is_headline = *key == BUFFERED.kibibytes(u64::from(DEFAULT_RECORD_BYTES >> 10));
        for ((kind, _), rounds) in STEPS.into_iter().zip(&self.times) {
            let own = MetricId::of_variant(key.clone(), kind);
            let headline = is_headline.then(|| MetricId::of(kind));
            for id in [own].into_iter().chain(headline) {
                if let Some(metric) = rounds.metric_of_point(point, id) {
                    bench.set_metric(metric);
                }
            }
        }
        sweep.sort_metrics(&mut bench.findings);
    }

    /// Sets the curves over the record size: the times of buffered writes, and both throughputs.
    fn set_curves(&self, bench: &mut RunContext<'_>, sweep: &Sweep) {
        let records = &sweep.points[..self.cut_short.len()];
        let of_path = |cache_mode: CacheMode| -> Vec<usize> {
            let points = 0..records.len();
            points
                .filter(|point| records[*point].plan.cache_mode == cache_mode)
                .collect()
        };
        let mut set = |kind, points: &[usize], rounds: &SweepRounds| {
            let positions: Vec<f64> = points.iter().map(|point| records[*point].value).collect();
            bench.set_series(
                rounds
                    .select_points(points)
                    .series_of_means(kind, &positions),
            );
        };
        let (buffered, direct) = (of_path(CacheMode::Keep), of_path(CacheMode::Bypass));
        for ((_, curve), rounds) in STEPS.into_iter().zip(&self.times) {
            set(curve, &buffered, rounds);
        }
        set(
            SeriesKind::ThroughputBuffered,
            &buffered,
            &sweep.throughputs,
        );
        set(SeriesKind::ThroughputDirect, &direct, &sweep.throughputs);
    }
}

fn set_tables(bench: &mut RunContext<'_>, records: &[Point], methods: &[Point]) {
    let [_, latency, p99] = LATENCY_COLUMNS;
    let of_records = [
        ("write", MetricKind::WriteTime),
        ("sync", MetricKind::SyncTime),
        ("close", MetricKind::CloseTime),
        ("throughput", MetricKind::Throughput),
    ];
    let of_methods = [
        ("throughput", MetricKind::Throughput),
        ("one record", latency.1),
        p99,
    ];
    let findings = &mut bench.findings;
    findings.set_table(sweep::table("Record sizes", &of_records, records));
    findings.set_table(sweep::table("Sync methods", &of_methods, methods));
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
