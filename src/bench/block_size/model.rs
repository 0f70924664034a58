//! What the sweep shows: its curves, the fitted line, and what follows from that.

use crate::bench::Bench;
use crate::bench::common::{self, series};
use crate::drive::Target;
use crate::engine::Outcome;
use crate::session::document::{Figure, Severity, Unit, Verdict};
use crate::stats::response_model::{ResponseModel, crossing};
use crate::units;

/// Fewer requests than these make no mean.
const LEAST_REQUESTS: u64 = 5;

/// What was measured with one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    bytes: f64,
    mean_ns: f64,
    iops: f64,
}

/// The point of one size; `None` for too few requests.
pub(super) fn point(size: u32, outcome: &Outcome) -> Option<Point> {
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

/// Sets the curves, and the figures of the fitted line.
pub(super) fn report(bench: &mut Bench<'_>, points: &[Point]) {
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
