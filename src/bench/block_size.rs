//! What block-size-read and block-size-write share: a sweep over the size of a request.

use std::time::Duration;

use super::budget::Budget;
use super::common::{self, place, series};
use super::{Bench, BenchError, Chart, Forecast, Kind, Parameter, Parameters, Shape, Value};
use crate::drive::Target;
use crate::engine::{BlockSize, Limits, Operation, Outcome, Pattern, Plan};
use crate::session::document::{Figure, Severity, Unit, Verdict};
use crate::stats::response_model::{ResponseModel, crossing};
use crate::units;

/// Fewer requests than these make no mean.
const LEAST_REQUESTS: u64 = 5;

/// Smallest request.
pub(super) const MIN_BLOCK: Parameter = Parameter {
    name: "min-block",
    kind: Kind::Size { least: 1 },
    help: "smallest request; the sweep doubles it",
    default: |target| Value::Bytes(u64::from(target.logical_block.max(512))),
};
/// Largest request.
pub(super) const MAX_BLOCK: Parameter = Parameter {
    name: "max-block",
    kind: Kind::Size { least: 1 },
    help: "largest request",
    default: |target| Value::Bytes((16 << 20).min(target.size.max(1))),
};
/// Key of the tree.
pub(super) const KEY_SIZE: Parameter = Parameter {
    name: "key-size",
    kind: Kind::Size { least: 1 },
    help: "bytes of a key, for the tree's node",
    default: |_| Value::Bytes(12),
};
/// Pointer of the tree.
pub(super) const POINTER_SIZE: Parameter = Parameter {
    name: "pointer-size",
    kind: Kind::Size { least: 1 },
    help: "bytes of a pointer; an entry of the tree is a key and two pointers",
    default: |_| Value::Bytes(8),
};
/// Entries of the tree.
pub(super) const ENTRIES: Parameter = Parameter {
    name: "entries",
    kind: Kind::Count {
        least: 2,
        most: u64::MAX,
    },
    help: "entries in the tree, for the time of a lookup",
    default: |_| Value::Count(1_000_000_000),
};
/// Time for the whole sweep.
pub(super) const DURATION: Parameter = Parameter {
    help: "time for the whole sweep, shared out to the sizes",
    ..common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(32)))
};

/// The charts of both.
pub(super) const CHARTS: &[Chart] = &[
    Chart::new(
        "Throughput against block size",
        Shape::Line,
        &["throughput-against-block-size"],
    )
    .log_x()
    .marked(&["balanced_block_size"]),
    Chart::new(
        "Response time against block size, and the fitted line",
        Shape::Line,
        &["response-against-block-size", "response-model"],
    )
    .log_x()
    .log_y(),
    Chart::new(
        "Throughput and IOPS as shares of their best",
        Shape::Line,
        &["throughput-share", "iops-share"],
    )
    .log_x()
    .marked(&["crossing_block_size"]),
    Chart::new(
        "IOPS against block size",
        Shape::Line,
        &["iops-against-block-size"],
    )
    .log_x()
    .log_y(),
];

/// The headline of both.
pub(super) const HEADLINE: &[&str] = &[
    "access_time",
    "media_throughput",
    "balanced_block_size",
    "btree_node_size",
    "btree_lookup_time",
    "full_copy_time",
];

/// What was measured with one size.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    bytes: f64,
    mean_ns: f64,
    iops: f64,
}

fn sizes(target: &Target, parameters: &Parameters) -> Result<Vec<u32>, BenchError> {
    let least = parameters.bytes("min-block").unwrap_or(512);
    let window = common::window(target, parameters);
    let most = parameters
        .bytes("max-block")
        .unwrap_or(16 << 20)
        .min(window.end.saturating_sub(window.start));
    let sizes: Result<Vec<u32>, BenchError> =
        std::iter::successors(Some(least), |size| size.checked_mul(2))
            .take_while(|size| *size <= most)
            .map(common::request_bytes)
            .collect();
    let sizes = sizes?;
    if sizes.is_empty() {
        return Err(BenchError::Parameters(format!(
            "--min-block {least} is more than --max-block or the window holds: make it smaller"
        )));
    }
    Ok(sizes)
}

fn plan_for(
    size: u32,
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<Plan, BenchError> {
    let mut plan = common::plan(target, parameters, operation, Pattern::Random)?;
    plan.block_size = BlockSize::Fixed(size);
    plan.align = u64::from(size);
    Ok(plan)
}

pub(super) fn forecast(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<Forecast, BenchError> {
    let sizes = sizes(target, parameters)?;
    let does = if operation.writes() {
        "writes"
    } else {
        "reads"
    };
    let limits = common::limits(parameters);
    let written = limits.bytes.filter(|_| operation.writes());
    let amount = written.map_or_else(String::new, |bytes| {
        format!(", at most {}", common::written_share(bytes, target))
    });
    let word = |size: Option<&u32>| units::block_size(size.map_or(0.0, |size| f64::from(*size)));
    Ok(Forecast {
        sentence: format!(
            "{does} {} to {} at random places of {}, one at a time, in {} steps{amount}",
            word(sizes.first()),
            word(sizes.last()),
            place(target),
            sizes.len(),
        ),
        duration: limits.duration,
        reads: limits.bytes.filter(|_| !operation.writes()),
        writes: written,
    })
}

pub(super) fn run(operation: Operation, bench: &mut Bench<'_>) -> Result<(), BenchError> {
    let sizes = sizes(bench.target, bench.parameters)?;
    let mut budget = Budget::new(common::limits(bench.parameters));
    let mut points = Vec::with_capacity(sizes.len());
    for (index, size) in sizes.iter().enumerate() {
        let left = (sizes.len() - index) as u64;
        let Some(limits) = budget.share(left, u64::from(*size), Limits::default()) else {
            break;
        };
        let mut plan = plan_for(*size, operation, bench.target, bench.parameters)?;
        plan.limits = limits;
        plan.seed = plan.seed.wrapping_add(index as u64);
        let phase = units::block_size(f64::from(*size));
        let outcome = bench.execute(&phase, 1.0 / sizes.len() as f64, &plan)?;
        budget.spend(&outcome);
        points.extend(point(*size, &outcome));
        report(bench, &points);
        bench.phase_finished();
        if bench.stopped() {
            break;
        }
    }
    Ok(())
}

pub(super) fn fio(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Option<String> {
    let plan = plan_for(65_536, operation, target, parameters).ok()?;
    Some(common::fio_command(&plan))
}

fn point(size: u32, outcome: &Outcome) -> Option<Point> {
    let tally = &outcome.tally;
    let mut latency = tally.read.latency.clone();
    latency.merge(&tally.write.latency);
    let requests = tally.requests();
    (requests >= LEAST_REQUESTS).then_some(Point {
        bytes: f64::from(size),
        mean_ns: latency.mean()?,
        iops: requests as f64 / outcome.elapsed.as_secs_f64(),
    })
}

fn report(bench: &mut Bench<'_>, points: &[Point]) {
    let mut curve = |name: &str, y: (&str, Unit), value: &dyn Fn(&Point) -> f64| {
        let points = points.iter().map(|point| [point.bytes, value(point)]);
        bench.series(series(
            name,
            ("block size", Unit::Bytes),
            y,
            points.collect(),
        ));
    };
    let rate = |point: &Point| point.bytes * point.iops;
    let most = |value: &dyn Fn(&Point) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let (top_rate, top_iops) = (most(&rate), most(&|point| point.iops));
    curve(
        "throughput-against-block-size",
        ("throughput", Unit::BytesPerSecond),
        &rate,
    );
    curve(
        "iops-against-block-size",
        ("IOPS", Unit::PerSecond),
        &|point| point.iops,
    );
    curve(
        "response-against-block-size",
        ("response time", Unit::Nanoseconds),
        &|point| point.mean_ns,
    );
    curve(
        "throughput-share",
        ("share of the best", Unit::Ratio),
        &|point| rate(point) / top_rate,
    );
    curve("iops-share", ("share of the best", Unit::Ratio), &|point| {
        point.iops / top_iops
    });
    let shares: Vec<[f64; 3]> = points
        .iter()
        .map(|point| [point.bytes, rate(point) / top_rate, point.iops / top_iops])
        .collect();
    if let Some(crossing) = crossing(&shares) {
        bench.figure(Figure::new("crossing_block_size", crossing, Unit::Bytes));
    }
    let limit = split_limit(bench.target);
    model(bench, points, limit);
    if let Some(limit) = limit.filter(|limit| points.iter().any(|point| point.bytes > *limit)) {
        bench.verdict(Verdict::new(
            "kernel-splits",
            Severity::Note,
            format!(
                "the kernel splits requests above {} (max_sectors_kb)",
                units::block_size(limit)
            ),
            "larger blocks bring nothing on this drive but fewer system calls",
        ));
    }
}

/// Above which size the kernel splits requests, where that is known.
fn split_limit(target: &Target) -> Option<f64> {
    let kib = target.drive.as_ref()?.max_request_kib?;
    Some(f64::from(kib) * 1024.0)
}

/// The fitted line and what follows from it. Sizes that the kernel splits are left out: their
/// pieces are served side by side.
fn model(bench: &mut Bench<'_>, points: &[Point], limit: Option<f64>) {
    let whole = |point: &&Point| limit.is_none_or(|limit| point.bytes <= limit);
    let fitted: Vec<[f64; 2]> = points
        .iter()
        .filter(whole)
        .map(|point| [point.bytes, point.mean_ns])
        .collect();
    let Some(model) = ResponseModel::fit(&fitted) else {
        if fitted.len() >= 3 {
            bench.verdict(Verdict::new(
                "no-response-model",
                Severity::Note,
                "response time does not grow with the block size as access time plus transfer",
                "a cache answers, or the drive was busy with something else: try --cache bypass, a \
                 larger window and a quiet drive",
            ));
        }
        return;
    };
    // An earlier, shorter fit may have failed.
    bench
        .findings
        .verdicts
        .retain(|verdict| verdict.code != "no-response-model");
    let line = points
        .iter()
        .map(|point| [point.bytes, model.response_ns(point.bytes)]);
    bench.series(series(
        "response-model",
        ("block size", Unit::Bytes),
        ("response time", Unit::Nanoseconds),
        line.collect(),
    ));
    let parameters = bench.parameters;
    let bytes = |name| parameters.bytes(name).unwrap_or(8) as f64;
    let entries = parameters.count("entries").unwrap_or(1_000_000_000) as f64;
    let node = model.btree(bytes("key-size"), bytes("pointer-size"), entries);
    let copy_ns = common::capacity(bench.target) as f64 / model.rate * 1e9;
    let mut put = |name, value, unit| bench.figure(Figure::new(name, value, unit));
    put("access_time", model.access_ns, Unit::Nanoseconds);
    put("media_throughput", model.rate, Unit::BytesPerSecond);
    put("balanced_block_size", model.balanced_bytes(), Unit::Bytes);
    put("btree_node_size", node.bytes, Unit::Bytes);
    put("btree_lookup_time", node.lookup_ns, Unit::Nanoseconds);
    put("full_copy_time", copy_ns, Unit::Nanoseconds);
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{self, Fake, codes, simulate, value};
    use super::*;
    use crate::drive::Drive;

    #[test]
    fn access_time_and_media_speed_are_found_again() {
        let test = find("block-size-read").unwrap();
        let name = "sim:constant,latency=5ms,throughput=150MB,size=100GB";
        let finished = simulate(test, name, &[("duration", "60s"), ("key-size", "12B")]);
        assert!((value(&finished, "access_time") / 5e6 - 1.0).abs() < 0.01);
        assert!((value(&finished, "media_throughput") / 150e6 - 1.0).abs() < 0.01);
        assert!((value(&finished, "balanced_block_size") / 750e3 - 1.0).abs() < 0.02);
        assert!((value(&finished, "crossing_block_size") / 750e3 - 1.0).abs() < 0.15);
        assert!((value(&finished, "full_copy_time") / 666.7e9 - 1.0).abs() < 0.01);
        let points = &finished
            .findings
            .series("response-against-block-size")
            .unwrap()
            .points;
        assert_eq!(points.len(), 16);
        assert!(codes(&finished).is_empty());
    }

    #[test]
    fn a_drive_that_does_not_fit_the_model_says_so() {
        let finished = simulate(
            find("block-size-read").unwrap(),
            "sim:constant",
            &[("duration", "1s")],
        );
        assert!(finished.findings.figure("access_time").is_none());
        assert_eq!(codes(&finished), ["no-response-model"]);
    }

    #[test]
    fn sizes_that_the_kernel_splits_are_named_and_not_fitted() {
        let opened = crate::engine::open(
            &crate::roots::Roots::default(),
            "sim:constant",
            crate::engine::Choice::Auto,
            None,
        )
        .unwrap();
        let drive = opened.target.drive.clone().map(|drive| Drive {
            max_request_kib: Some(128),
            ..drive
        });
        let target = Target {
            drive,
            ..opened.target.clone()
        };
        // Pieces of a split request go side by side, four at a time.
        let fake = Fake::new(|asked| {
            let pieces = u64::from(asked.bytes).div_ceil(131_072);
            let piece = 100_000 + u64::from(asked.bytes).min(131_072) * 10;
            Some(piece * pieces.div_ceil(4))
        });
        let finished = fake::run(
            find("block-size-write").unwrap(),
            &target,
            &[("duration", "3s")],
            &fake,
        );
        assert_eq!(codes(&finished), ["kernel-splits"]);
        assert!((value(&finished, "access_time") / 1e5 - 1.0).abs() < 0.01);
        assert!((value(&finished, "media_throughput") / 1e8 - 1.0).abs() < 0.01);
    }

    #[test]
    fn sizes_stay_within_the_window() {
        let target = fake::target(1 << 20);
        let test = find("block-size-read").unwrap();
        let parameters = fake::parameters(test, &target, &[("window-end", "100KiB")]);
        assert_eq!(sizes(&target, &parameters).unwrap().last(), Some(&65_536));
        let parameters = fake::parameters(test, &target, &[("min-block", "2MiB")]);
        assert!(sizes(&target, &parameters).is_err());
    }
}
