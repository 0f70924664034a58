//! What the sweep shows: its curves, the fitted line, and what follows from that.

use crate::bench::Bench;
use crate::bench::common;
use crate::bench::passes::latency_of;
use crate::bench::rounds::{Rounds, around};
use crate::bench::sweep::Turn;
use crate::drive::Target;
use crate::engine::Outcome;
use crate::session::document::{Axis, Figure, Series, Severity, Unit, Verdict};
use crate::stats::response_model::{ResponseModel, crossing};
use crate::units;

/// Fewer requests than these make no mean.
const LEAST_REQUESTS: u64 = 5;

/// What follows from the fitted line: name and unit.
const DERIVED: [(&str, Unit); 6] = [
    ("access_time", Unit::Nanoseconds),
    ("media_throughput", Unit::BytesPerSecond),
    ("balanced_block_size", Unit::Bytes),
    ("btree_node_size", Unit::Bytes),
    ("btree_lookup_time", Unit::Nanoseconds),
    ("full_copy_time", Unit::Nanoseconds),
];

/// What the sizes gave in the rounds so far.
#[derive(Debug)]
pub(super) struct Sizes {
    /// Bytes of a request.
    bytes: Vec<f64>,
    requests: Vec<u64>,
    /// Mean response times, in nanoseconds.
    means: Rounds,
    /// Requests per second.
    rates: Rounds,
}

impl Sizes {
    /// Nothing measured yet.
    pub(super) fn new(sizes: &[u32], seed: u64) -> Self {
        Self {
            bytes: sizes.iter().map(|size| f64::from(*size)).collect(),
            requests: vec![0; sizes.len()],
            means: Rounds::new(sizes.len(), seed),
            rates: Rounds::new(sizes.len(), seed),
        }
    }

    /// Adds a phase.
    pub(super) fn add(&mut self, Turn { point, round, .. }: Turn, outcome: &Outcome) {
        let (requests, seconds) = (outcome.tally.requests(), outcome.elapsed.as_secs_f64());
        self.requests[point] += requests;
        if let Some(mean) = latency_of(outcome).mean().filter(|_| seconds > 0.0) {
            self.means.add(point, round, mean);
            self.rates.add(point, round, requests as f64 / seconds);
        }
    }

    /// Indices of the sizes with enough requests.
    fn known(&self) -> Vec<usize> {
        let enough = |point: &usize| self.requests[*point] >= LEAST_REQUESTS;
        (0..self.bytes.len())
            .filter(enough)
            .filter(|point| self.means.mean(*point).is_some())
            .collect()
    }

    /// A curve over the sizes in bytes: the rounds' means and intervals times a factor of each size.
    fn curve(
        &self,
        name: &str,
        y: (&str, Unit),
        rounds: &Rounds,
        factor: impl Fn(f64) -> f64,
    ) -> Series {
        let known = self.known();
        let bytes: Vec<f64> = known.iter().map(|point| self.bytes[*point]).collect();
        let x = Axis::new("block size", Unit::Bytes);
        let mut series = rounds
            .only(&known)
            .series(name, x, Axis::new(y.0, y.1), &bytes);
        for point in &mut series.points {
            point[1] *= factor(point[0]);
        }
        for (interval, bytes) in series.intervals.iter_mut().zip(bytes) {
            *interval = interval.map(|limits| limits.map(|limit| limit * factor(bytes)));
        }
        series
    }

    /// Sets the curves.
    pub(super) fn curves(&self, bench: &mut Bench<'_>) {
        let most = |factor: fn(f64) -> f64| {
            let values = self.known().into_iter().filter_map(|point| {
                let rate = self.rates.mean(point)?;
                Some(rate * factor(self.bytes[point]))
            });
            values.fold(0.0, f64::max)
        };
        let (top_rate, top_iops) = (most(|bytes| bytes), most(|_| 1.0));
        let response = ("response time", Unit::Nanoseconds);
        let share = ("share of the best", Unit::Ratio);
        for series in [
            self.curve(
                "throughput-against-block-size",
                ("throughput", Unit::BytesPerSecond),
                &self.rates,
                |bytes| bytes,
            ),
            self.curve(
                "iops-against-block-size",
                ("IOPS", Unit::PerSecond),
                &self.rates,
                |_| 1.0,
            ),
            self.curve("response-against-block-size", response, &self.means, |_| {
                1.0
            }),
            self.curve("throughput-share", share, &self.rates, |bytes| {
                bytes / top_rate
            }),
            self.curve("iops-share", share, &self.rates, |_| 1.0 / top_iops),
        ] {
            bench.series(series);
        }
    }

    /// `[bytes, response time, IOPS]` of every size with enough requests: the means, then those of
    /// each round that has all of these sizes.
    fn points(&self) -> (Vec<[f64; 3]>, Vec<Vec<[f64; 3]>>) {
        let known = self.known();
        let means = known.iter().filter_map(|point| {
            let (mean, rate) = (self.means.mean(*point)?, self.rates.mean(*point)?);
            Some([self.bytes[*point], mean, rate])
        });
        let round = |round: usize| -> Option<Vec<[f64; 3]>> {
            let one = |point: &usize| {
                let (mean, rate) = (self.means.at(*point, round)?, self.rates.at(*point, round)?);
                Some([self.bytes[*point], mean, rate])
            };
            known.iter().map(one).collect()
        };
        let rounds = (0..crate::bench::rounds::ROUNDS).filter_map(round);
        (means.collect(), rounds.collect())
    }

    /// The metrics of the fitted line and of the crossing; their intervals are those of the same metrics
    /// of each round.
    pub(super) fn model(&self, bench: &mut Bench<'_>) {
        let names = DERIVED.iter().map(|(name, _)| *name);
        let stale: Vec<&str> = names.chain(["crossing_block_size"]).collect();
        let findings = &mut bench.findings;
        findings.figures.retain(|it| !stale.contains(&&*it.name));
        findings.series.retain(|it| it.name != "response-model");
        findings
            .verdicts
            .retain(|it| it.code != "no-response-model");
        let (means, rounds) = self.points();
        let crossings: Vec<f64> = rounds.iter().filter_map(|round| cross(round)).collect();
        if let Some(value) = cross(&means) {
            put(
                bench,
                ("crossing_block_size", Unit::Bytes),
                value,
                &crossings,
            );
        }
        let limit = split_limit(bench.target);
        let models: Vec<ResponseModel> = rounds
            .iter()
            .filter_map(|round| fit(round, limit))
            .collect();
        // A line that only some of the rounds show is none.
        let model = fit(&means, limit).filter(|_| models.len() == rounds.len());
        match model {
            Some(model) => put_model(bench, &model, &models, &means),
            None if whole(&means, limit).count() >= 3 => bench.verdict(no_model()),
            None => {}
        }
        if let Some(limit) = limit.filter(|limit| means.iter().any(|point| point[0] > *limit)) {
            bench.verdict(kernel_splits(limit));
        }
    }
}

/// Sets a metric with the interval of its values in the rounds.
fn put(bench: &mut Bench<'_>, (name, unit): (&str, Unit), value: f64, rounds: &[f64]) {
    let figure = Figure::new(name, value, unit);
    bench.figure(match around(value, rounds) {
        Some([low, high]) => figure.within(low, high),
        None => figure,
    });
}

/// Where throughput and IOPS, as shares of their best, cross.
fn cross(points: &[[f64; 3]]) -> Option<f64> {
    let most = |value: fn(&[f64; 3]) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let (rate, iops) = (most(|point| point[0] * point[2]), most(|point| point[2]));
    let shares: Vec<[f64; 3]> = points
        .iter()
        .map(|point| [point[0], point[0] * point[2] / rate, point[2] / iops])
        .collect();
    crossing(&shares)
}

/// Sizes that the kernel does not split: the pieces of the others are served side by side.
fn whole(points: &[[f64; 3]], limit: Option<f64>) -> impl Iterator<Item = [f64; 2]> {
    points
        .iter()
        .filter(move |point| limit.is_none_or(|limit| point[0] <= limit))
        .map(|point| [point[0], point[1]])
}

fn fit(points: &[[f64; 3]], limit: Option<f64>) -> Option<ResponseModel> {
    ResponseModel::fit(&whole(points, limit).collect::<Vec<_>>())
}

/// The metrics of [`DERIVED`], in that order.
fn derived(bench: &Bench<'_>, model: &ResponseModel) -> [f64; 6] {
    let parameters = bench.parameters;
    let bytes = |name| parameters.bytes(name).unwrap_or(8) as f64;
    let entries = parameters.count("entries").unwrap_or(1_000_000_000) as f64;
    let node = model.btree(bytes("key-size"), bytes("pointer-size"), entries);
    [
        model.access_ns,
        model.rate,
        model.balanced_bytes(),
        node.bytes,
        node.lookup_ns,
        common::capacity(bench.target) as f64 / model.rate * 1e9,
    ]
}

/// The fitted line and what follows from it.
fn put_model(
    bench: &mut Bench<'_>,
    model: &ResponseModel,
    rounds: &[ResponseModel],
    points: &[[f64; 3]],
) {
    let line = points
        .iter()
        .map(|point| [point[0], model.response_ns(point[0])]);
    bench.series(common::series(
        "response-model",
        ("block size", Unit::Bytes),
        ("response time", Unit::Nanoseconds),
        line.collect(),
    ));
    let values = derived(bench, model);
    let rounds: Vec<[f64; 6]> = rounds.iter().map(|model| derived(bench, model)).collect();
    for (index, (metric, value)) in DERIVED.into_iter().zip(values).enumerate() {
        let repeated: Vec<f64> = rounds.iter().map(|round| round[index]).collect();
        put(bench, metric, value, &repeated);
    }
}

fn no_model() -> Verdict {
    Verdict::new(
        "no-response-model",
        Severity::Note,
        "response time does not grow with the block size as access time plus transfer",
        "a cache answers, or the drive was busy with something else: try --cache bypass, a \
         larger window and a quiet drive",
    )
}

fn kernel_splits(limit: f64) -> Verdict {
    Verdict::new(
        "kernel-splits",
        Severity::Note,
        format!(
            "the kernel splits requests above {} (max_sectors_kb)",
            units::block_size(limit)
        ),
        "larger blocks bring nothing on this drive but fewer system calls",
    )
}

/// Above which size the kernel splits requests, where that is known.
fn split_limit(target: &Target) -> Option<f64> {
    let kib = target.drive.as_ref()?.max_request_kib?;
    Some(f64::from(kib) * 1024.0)
}
