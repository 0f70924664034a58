//! Parameters that many tests have, and the figures that every distribution yields.

use std::ops::Range;
use std::time::Duration;

use super::parameter::{Kind, Parameter, Parameters, Position, Value};
use super::{BenchError, check_window};
use crate::drive::{Target, TargetKind};
use crate::engine::{CacheMode, Limits, Pattern, Plan, Tally};
use crate::session::document::{Axis, Figure, Findings, LatencySummary, Series, Unit};
use crate::stats::latency::Latency;

/// Size of one request.
pub const BLOCK_SIZE: Parameter = Parameter {
    name: "block-size",
    kind: Kind::Size { least: 1 },
    help: "bytes of one request",
    default: |target| Value::Bytes(u64::from(target.physical_block.max(4096))),
};

/// Requests in flight.
pub const DEPTH: Parameter = Parameter {
    name: "depth",
    kind: Kind::Count {
        least: 1,
        most: 4096,
    },
    help: "requests that each worker keeps in flight",
    default: |target| {
        Value::Count(if target.rotational() == Some(true) {
            1
        } else {
            32
        })
    },
};

/// Threads.
pub const WORKERS: Parameter = Parameter {
    name: "workers",
    kind: Kind::Count {
        least: 1,
        most: 256,
    },
    help: "threads, each with a queue of its own",
    default: |_| Value::Count(1),
};

/// Longest time.
pub const DURATION: Parameter = Parameter {
    name: "duration",
    kind: Kind::Duration,
    help: "stop after this time, the ramp not counted",
    default: |_| Value::Duration(Duration::from_secs(10)),
};

/// Most bytes.
pub const BYTES: Parameter = Parameter {
    name: "bytes",
    kind: Kind::Size { least: 1 },
    help: "stop after this many bytes",
    default: |_| Value::Unset,
};

/// Most requests.
pub const REQUESTS: Parameter = Parameter {
    name: "requests",
    kind: Kind::Count {
        least: 1,
        most: u64::MAX,
    },
    help: "stop after this many requests",
    default: |_| Value::Unset,
};

/// Uncounted start.
pub const RAMP: Parameter = Parameter {
    name: "ramp",
    kind: Kind::Duration,
    help: "time at the start that is not counted",
    default: |_| Value::Duration(Duration::ZERO),
};

/// First byte.
pub const WINDOW_BEGIN: Parameter = Parameter {
    name: "window-begin",
    kind: Kind::Position,
    help: "where the part that is measured begins",
    default: |_| Value::Position(Position::Percent(0.0)),
};

/// Byte after the last.
pub const WINDOW_END: Parameter = Parameter {
    name: "window-end",
    kind: Kind::Position,
    help: "where the part that is measured ends",
    default: |_| Value::Position(Position::Percent(100.0)),
};

/// Alignment of addresses.
pub const ALIGN: Parameter = Parameter {
    name: "align",
    kind: Kind::Size { least: 1 },
    help: "addresses are multiples of this; unset: of the block size",
    default: |_| Value::Unset,
};

/// Seed of everything random.
pub const SEED: Parameter = Parameter {
    name: "seed",
    kind: Kind::Count {
        least: 0,
        most: u64::MAX,
    },
    help: "the same seed gives the same addresses",
    default: |_| Value::Count(1),
};

/// What the page cache may do.
pub const CACHE: Parameter = Parameter {
    name: "cache",
    kind: Kind::Word(&["bypass", "drop", "keep"]),
    help: "bypass (O_DIRECT), drop (buffered, dropped before the start) or keep the page cache",
    default: |target| Value::Word(if target.direct { "bypass" } else { "drop" }.to_owned()),
};

/// The limits that these parameters set.
#[must_use]
pub fn limits(parameters: &Parameters) -> Limits {
    Limits {
        duration: parameters.duration("duration"),
        bytes: parameters.bytes("bytes"),
        requests: parameters.count("requests"),
    }
}

/// The part of the target that is measured.
#[must_use]
pub fn window(target: &Target, parameters: &Parameters) -> Range<u64> {
    let begin = parameters
        .position("window-begin", target.size)
        .unwrap_or(0);
    let end = parameters
        .position("window-end", target.size)
        .unwrap_or(target.size);
    begin..end
}

/// What the page cache may do.
#[must_use]
pub fn cache_mode(parameters: &Parameters) -> CacheMode {
    match parameters.word("cache") {
        "drop" => CacheMode::Drop,
        "keep" => CacheMode::Keep,
        _ => CacheMode::Bypass,
    }
}

/// A reading plan with whatever of the common parameters the test has.
///
/// # Errors
/// When a size does not fit 32 bits, or the window does not hold one block.
pub fn reading_plan(
    target: &Target,
    parameters: &Parameters,
    pattern: Pattern,
) -> Result<Plan, BenchError> {
    let block_size = request_size(parameters)?;
    let mut plan = Plan::reading(pattern, block_size, window(target, parameters));
    plan.align = parameters.bytes("align").unwrap_or(u64::from(block_size));
    plan.depth = small(parameters.count("depth"));
    plan.workers = small(parameters.count("workers"));
    plan.limits = limits(parameters);
    plan.ramp = parameters.duration("ramp").unwrap_or_default();
    plan.seed = parameters.count("seed").unwrap_or(1);
    plan.cache = cache_mode(parameters);
    check_window(&plan)?;
    Ok(plan)
}

/// A small number, as the form's bounds guarantee; 1 where the test lacks the parameter.
fn small(count: Option<u64>) -> u32 {
    count
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or(1)
}

fn request_size(parameters: &Parameters) -> Result<u32, BenchError> {
    let bytes = parameters.bytes("block-size").unwrap_or(4096);
    u32::try_from(bytes)
        .ok()
        .filter(|size| *size <= 1 << 30)
        .ok_or_else(|| {
            BenchError::Parameters(format!("--block-size {bytes}: the largest request is 1GiB"))
        })
}

/// Percentiles that are reported, in percent.
pub const PERCENTILES: [f64; 8] = [50.0, 90.0, 95.0, 98.0, 99.0, 99.9, 99.99, 99.999];

/// Rate, throughput and response times of an outcome, as figures, series and distributions.
pub fn report_throughput(findings: &mut Findings, tally: &Tally, elapsed: Duration) {
    let seconds = elapsed.as_secs_f64();
    let requests = tally.requests();
    if requests == 0 || seconds <= 0.0 {
        return;
    }
    let per_second = |amount: u64| amount as f64 / seconds;
    findings.put_figure(
        Figure::new("iops", per_second(requests), Unit::PerSecond).from_observations(requests),
    );
    findings.put_figure(
        Figure::new(
            "throughput",
            per_second(tally.bytes()),
            Unit::BytesPerSecond,
        )
        .from_observations(requests),
    );
    let mut all = tally.read.latency.clone();
    all.merge(&tally.write.latency);
    report_latency(findings, &all);
    findings.latency.read = summary(&tally.read.latency);
    findings.latency.write = summary(&tally.write.latency);
    let mut timeline = tally.read.timeline.clone();
    timeline.merge(&tally.write.timeline);
    let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let rates = timeline.rates(elapsed_ns);
    findings.put_series(over_time("iops-over-time", Unit::PerSecond, &rates, 1));
    findings.put_series(over_time(
        "throughput-over-time",
        Unit::BytesPerSecond,
        &rates,
        2,
    ));
}

fn over_time(name: &str, unit: Unit, rates: &[[f64; 3]], column: usize) -> Series {
    let quantity = if unit == Unit::PerSecond {
        "IOPS"
    } else {
        "throughput"
    };
    Series {
        name: name.to_owned(),
        x: Axis::new("time", Unit::Nanoseconds),
        y: Axis::new(quantity, unit),
        points: rates
            .iter()
            .map(|rate| [rate[0] * 1e9, rate[column]])
            .collect(),
    }
}

/// Mean, percentiles and maximum of a distribution, as figures `latency_mean`, `latency_p50` ...
pub fn report_latency(findings: &mut Findings, latency: &Latency) {
    let count = latency.count();
    let figure = |name: &str, value: f64| {
        Figure::new(name, value, Unit::Nanoseconds).from_observations(count)
    };
    if let Some(mean) = latency.mean() {
        findings.put_figure(figure("latency_mean", mean));
    }
    for percent in PERCENTILES {
        if let Some(value) = latency.percentile(percent) {
            findings.put_figure(figure(&format!("latency_p{percent}"), value as f64));
        }
    }
    if let Some(max) = latency.max() {
        findings.put_figure(figure("latency_max", max as f64));
    }
}

/// A distribution as the document keeps it; `None` when it is empty.
#[must_use]
pub fn summary(latency: &Latency) -> Option<LatencySummary> {
    let percentile = |percent: f64| Some((percent.to_string(), latency.percentile(percent)?));
    Some(LatencySummary {
        count: latency.count(),
        mean_ns: latency.mean()?,
        stddev_ns: latency.standard_deviation().unwrap_or(0.0),
        min_ns: latency.min()?,
        max_ns: latency.max()?,
        percentiles: PERCENTILES.into_iter().filter_map(percentile).collect(),
        histogram: latency.bins(16),
    })
}

/// `on nvme0n1`, `on the scratch file`: the target in a sentence.
#[must_use]
pub fn place(target: &Target) -> String {
    match target.kind {
        TargetKind::Scratch => format!("a scratch file in {}", target.name),
        _ => target.name.clone(),
    }
}

/// The nearest fio options for a plan, without the file's name.
#[must_use]
pub fn fio_command(rw: &str, plan: &Plan) -> String {
    let mut words = vec![
        format!(
            "fio --name=diskscope --rw={rw} --ioengine=io_uring --bs={}",
            plan.block_size.largest()
        ),
        format!(
            "--iodepth={} --numjobs={} --thread --group_reporting",
            plan.depth, plan.workers
        ),
        format!(
            "--offset={} --size={}",
            plan.window.start,
            plan.window.end - plan.window.start
        ),
        format!("--direct={}", u8::from(plan.cache == CacheMode::Bypass)),
        format!("--randseed={} --norandommap --lat_percentiles=1", plan.seed),
    ];
    if let Some(duration) = plan.limits.duration {
        words.push(format!(
            "--time_based --runtime={}",
            duration.as_secs_f64().ceil()
        ));
    }
    if !plan.ramp.is_zero() {
        words.push(format!("--ramp_time={}", plan.ramp.as_secs_f64().ceil()));
    }
    if let Some(bytes) = plan.limits.bytes {
        words.push(format!("--io_size={bytes}"));
    }
    if let Some(requests) = plan.limits.requests {
        words.push(format!("--number_ios={requests}"));
    }
    words.join(" ")
}
