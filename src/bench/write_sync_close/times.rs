//! How long the parts took: metrics and curves.

use std::time::Duration;

use super::USUAL;
use super::ways::Way;
use crate::bench::passes::{Pass, PassHook, Total, whole_time};
use crate::bench::rounds::Rounds;
use crate::bench::sweep::Turn;
use crate::engine::Outcome;
use crate::session::document::{Axis, Findings, Unit};

/// The parts of a pass.
const PARTS: [&str; 3] = ["write", "sync", "close"];
/// Metrics that say nothing about a pass whose times are told apart.
const IDLE: [&str; 3] = ["iops", "latency", "latency_p99"];

fn times(outcome: &Outcome) -> [Duration; 3] {
    let finish = outcome.finish.unwrap_or_default();
    [outcome.elapsed, finish.sync, finish.close]
}

/// The times of every record size and way in the rounds so far; passes behind those of the record sizes
/// are none of these.
pub(super) struct RecordTimes<'a> {
    records: &'a [(u32, Way, Pass)],
    /// Nanoseconds of each part.
    parts: [Rounds; 3],
    /// Bytes per second until all is safe.
    rates: Rounds,
    /// Whether some file of these passes was not written to its end.
    cut_short: Vec<bool>,
}

impl<'a> RecordTimes<'a> {
    /// Nothing measured yet.
    pub(super) fn new(records: &'a [(u32, Way, Pass)], seed: u64) -> Self {
        let rounds = Rounds::new(records.len(), seed);
        Self {
            records,
            parts: [rounds.clone(), rounds.clone(), rounds.clone()],
            rates: rounds,
            cut_short: vec![false; records.len()],
        }
    }

    /// Passes whose files a limit cut short, for people.
    pub(super) fn cut_short(&self) -> Vec<&'a str> {
        let cut = self.records.iter().zip(&self.cut_short);
        cut.filter(|(_, cut)| **cut)
            .map(|((_, _, pass), _)| pass.label.as_str())
            .collect()
    }

    fn add(&mut self, Turn { point, round, .. }: Turn, outcome: &Outcome) {
        let bytes = outcome.tally.bytes();
        let rate = bytes as f64 / whole_time(outcome).as_secs_f64();
        self.rates.add(point, round, rate);
        let whole = self.records[point].2.plan.limits.bytes;
        if whole.is_some_and(|whole| bytes < whole) {
            self.cut_short[point] = true;
            return;
        }
        for (rounds, time) in self.parts.iter_mut().zip(times(outcome)) {
            rounds.add(point, round, time.as_nanos() as f64);
        }
    }

    /// The three times of a pass; those of buffered records of 1 MiB stand for the whole benchmark.
    fn put_times(&self, findings: &mut Findings, point: usize) {
        let (record, way, pass) = &self.records[point];
        for (part, rounds) in PARTS.iter().zip(&self.parts) {
            let mut put = |name: &str| {
                if let Some(figure) = rounds.figure(point, name, Unit::Nanoseconds) {
                    findings.put_figure(figure);
                }
            };
            put(&format!("{}_{part}_time", pass.key));
            if *record == USUAL && *way == Way::Buffered {
                put(&format!("{part}_time"));
            }
        }
    }

    /// Sets the curves as far as they go.
    fn put_curves(&self, findings: &mut Findings) {
        let mut put = |name: &str, way: Way, y: (&str, Unit), rounds: &Rounds| {
            let points: Vec<usize> = (0..self.records.len())
                .filter(|point| self.records[*point].1 == way)
                .collect();
            let places: Vec<f64> = points
                .iter()
                .map(|point| f64::from(self.records[*point].0))
                .collect();
            findings.put_series(rounds.only(&points).series(
                name,
                Axis::new("record size", Unit::Bytes),
                Axis::new(y.0, y.1),
                &places,
            ));
        };
        for (part, rounds) in PARTS.iter().zip(&self.parts) {
            let name = format!("{part}-time-against-record-size");
            put(&name, Way::Buffered, (part, Unit::Nanoseconds), rounds);
        }
        let throughput = ("throughput", Unit::BytesPerSecond);
        put(
            "throughput-buffered",
            Way::Buffered,
            throughput,
            &self.rates,
        );
        put("throughput-direct", Way::Direct, throughput, &self.rates);
    }
}

impl PassHook for RecordTimes<'_> {
    fn after(&mut self, findings: &mut Findings, turn: Turn, outcome: &Outcome, _: &Total) {
        let Some((_, _, pass)) = self.records.get(turn.point) else {
            return;
        };
        self.add(turn, outcome);
        let idle = IDLE.map(|name| format!("{}_{name}", pass.key));
        findings
            .figures
            .retain(|figure| !idle.iter().any(|name| figure.name == name.as_str()));
        self.put_times(findings, turn.point);
        self.put_curves(findings);
    }
}
