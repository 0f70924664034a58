//! How long the parts took: figures and curves.

use std::time::Duration;

use super::ways::Way;
use crate::bench::Bench;
use crate::bench::common::series;
use crate::bench::passes::whole_time;
use crate::engine::Outcome;
use crate::session::document::{Figure, Unit};

fn times(outcome: &Outcome) -> [(&'static str, Duration); 3] {
    let finish = outcome.finish.unwrap_or_default();
    [
        ("write_time", outcome.elapsed),
        ("sync_time", finish.sync),
        ("close_time", finish.close),
    ]
}

/// The three times of one pass.
pub(super) fn put_times(bench: &mut Bench<'_>, key: &str, outcome: &Outcome) {
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
pub(super) fn only_times(bench: &mut Bench<'_>, key: &str) {
    let ending = |name: &str| name.strip_prefix(key).map(str::to_owned);
    let idle = ["_iops", "_latency", "_latency_p99"];
    bench
        .findings
        .figures
        .retain(|figure| ending(&figure.name).is_none_or(|ending| !idle.contains(&&*ending)));
}

/// The three times that stand for the whole test.
pub(super) fn put_usual(bench: &mut Bench<'_>, outcome: &Outcome) {
    for (name, time) in times(outcome) {
        bench.figure(Figure::new(name, time.as_nanos() as f64, Unit::Nanoseconds));
    }
}

/// What the charts show.
#[derive(Debug, Default)]
pub(super) struct Curves {
    times: [Vec<[f64; 2]>; 3],
    buffered: Vec<[f64; 2]>,
    direct: Vec<[f64; 2]>,
}

impl Curves {
    /// Adds a pass.
    pub(super) fn add(&mut self, record: u32, way: Way, outcome: &Outcome) {
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

    /// Sets the curves as far as they go.
    pub(super) fn report(&self, bench: &mut Bench<'_>) {
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
