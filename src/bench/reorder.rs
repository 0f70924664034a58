//! What sorting requests by address gains.

use std::time::Duration;

use super::common::{self, place};
use super::forecast::Phases;
use super::rounds::{self, Compared, NoBest, ROUNDS, Rounds};
use super::sweep::{SweepSchedule, Turn};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Kind, Parameter, Parameters,
    Shape, Test, Value,
};
use crate::drive::Target;
use crate::drive::random::{Random, below};
use crate::engine::{Limits, Outcome, Pattern, Plan};
use crate::session::document::{Axis, Figure, Severity, Unit, Verdict};
use crate::units;

/// Random reads in batches, each sorted.
pub struct Reorder;

/// Sizes of the reorder buffer; the first sorts nothing.
const BATCHES: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// A buffer is as good as the best from this share of its IOPS on.
const AS_GOOD: f64 = 0.95;
/// Standard errors on either side of a round's rate: beyond that of two rounds something changed.
const CHANGED: f64 = 2.58;

const READS_EACH: Parameter = Parameter {
    name: "reads-each",
    kind: Kind::Count {
        least: 10,
        most: 1_000_000,
    },
    help: "reads with each size of the reorder buffer, in all rounds together",
    default: |_| Value::Count(1000),
};

static DESCRIPTION: Description = Description {
    name: "reorder",
    aliases: &[],
    summary: "random reads sorted in batches of 1 to 1024: what reordering gains",
    explanation: "\
Makes 1000 random reads for each size of a reorder buffer: the buffer is filled, sorted by address, and \
worked off one by one, the next one in the other direction, as an elevator goes. This is what an I/O \
scheduler, a drive's own queue or a well-made program (a bitmap scan) does. Each size has a quarter of its \
reads in each of four rounds, in a random order (--seed).

The chart shows reads per second against the size of the buffer. On a hard disk they rise steadily, \
because the head travels less: sorting a thousand requests can triple the rate. On an SSD the line is \
level: no place is far from any other, and a scheduler that sorts only costs time. The span \
is the window: in a narrow one there is less to gain. The gain is that of the largest buffer over none, \
compared round by round. The best buffer is the smallest that gives at least 95 % of the most IOPS; it is \
named only if all smaller ones are significantly slower.

It only reads.",
    writes: false,
    metrics: &["reorder_gain", "unordered_iops", "ordered_iops", "best_batch_iops", "best_batch"],
    parameters: &[
        READS_EACH,
        common::BLOCK_SIZE,
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(180))),
        common::BYTES,
        common::REQUESTS,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SEED,
        common::CACHE,
    ],
    charts: &[
        Chart::new("IOPS against reorder buffer", Shape::Line, &["iops-against-batch"])
            .log_x()
            .marked(&["best_batch"]),
    ],
    headline: &["reorder_gain", "unordered_iops", "ordered_iops", "best_batch"],
};

fn whole_plan(target: &Target, parameters: &Parameters) -> Result<Plan, BenchError> {
    common::reading_plan(target, parameters, Pattern::Random)
}

/// Random aligned addresses, each batch sorted, every other one backwards: `count` in a row out of
/// those that full batches have, from a random one on, so that few reads say as much of a large buffer
/// as many do.
fn addresses(plan: &Plan, count: usize, batch: usize, seed: u64) -> Vec<u64> {
    let start = plan.window.start.next_multiple_of(plan.align);
    let room = plan
        .window
        .end
        .saturating_sub(start + u64::from(plan.block_size.largest()));
    let blocks = room / plan.align + 1;
    let mut random = Random::new(seed);
    let all = count.next_multiple_of(batch) + batch;
    let mut addresses: Vec<u64> = (0..all)
        .map(|_| start + below(random.word(), blocks) * plan.align)
        .collect();
    for (index, batch) in addresses.chunks_mut(batch).enumerate() {
        batch.sort_unstable();
        if index % 2 == 1 {
            batch.reverse();
        }
    }
    let first = below(random.word(), batch as u64) as usize;
    addresses[first..first + count].to_vec()
}

/// What a batch costs: a disk answers sorted requests as fast as if it sorted a queue of them itself.
fn batch_plan(whole: &Plan, target: &Target, batch: usize, each: u64) -> Plan {
    let depth = match target.rotational() {
        Some(true) => u32::try_from(batch).unwrap_or(u32::MAX),
        _ => 1,
    };
    Plan {
        depth,
        limits: Limits {
            requests: Some(each),
            ..Limits::default()
        },
        ..whole.clone()
    }
}

impl Test for Reorder {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let plan = whole_plan(target, parameters)?;
        let each = parameters.count("reads-each").unwrap_or(1000);
        let all = reads_in_round(each)
            * rounds::phases(BATCHES.len()) as u64
            * u64::from(plan.block_size.largest());
        Ok(Forecast {
            sentence: format!(
                "makes {each} random reads of {} with each of {} reorder buffers, in {ROUNDS} rounds",
                place(target),
                BATCHES.len()
            ),
            time: Phases::sharing(plan.limits)
                .then_rounds(
                    BATCHES.map(|batch| batch_plan(&plan, target, batch, reads_in_round(each))),
                )
                .time(target),
            reads: Some(plan.limits.bytes.unwrap_or(all).min(all)),
            writes: None,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let whole = whole_plan(bench.target, bench.parameters)?;
        let each = bench.parameters.count("reads-each").unwrap_or(1000);
        let count = usize::try_from(reads_in_round(each)).unwrap_or(250);
        let block = u64::from(whole.block_size.largest());
        let mut schedule = SweepSchedule::new(BATCHES.len(), whole.limits, whole.seed);
        let mut sizes = Buffers::new(whole.seed);
        while let Some(turn) = schedule.next(bench, |_| (block, Limits::default())) {
            let batch = BATCHES[turn.point];
            let plan = turn.plan(&whole);
            let list = addresses(&whole, count, batch, plan.seed);
            let plan = Plan {
                pattern: Pattern::Addresses(list.into()),
                ..plan
            };
            let phase = turn.phase(&format!("batches of {batch}"));
            let outcome = bench.execute(&phase, schedule.share(), &plan)?;
            schedule.spend(&outcome);
            sizes.add(turn, &outcome);
            bench.series(sizes.rates.series(
                "iops-against-batch",
                Axis::new("reorder buffer", Unit::Count),
                Axis::new("IOPS", Unit::PerSecond),
                &BATCHES.map(|batch| batch as f64),
            ));
            bench.phase_finished();
        }
        sizes.conclude(bench);
        bench.phase_finished();
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::RequestOrder)
    }
}

/// Reads with one size of the buffer in one round.
fn reads_in_round(each: u64) -> u64 {
    each.div_ceil(ROUNDS as u64)
}

/// What the sizes of the buffer gave.
struct Buffers {
    /// Reads per second.
    rates: Rounds,
    /// Limits of the unsorted reads' rate in each round, by the scatter of their response times.
    unsorted: Vec<[f64; 2]>,
}

impl Buffers {
    fn new(seed: u64) -> Self {
        Self {
            rates: Rounds::new(BATCHES.len(), seed),
            unsorted: Vec::new(),
        }
    }

    fn add(&mut self, turn: Turn, outcome: &Outcome) {
        let (requests, seconds) = (outcome.tally.requests(), outcome.elapsed.as_secs_f64());
        if requests == 0 || seconds <= 0.0 {
            return;
        }
        let rate = requests as f64 / seconds;
        self.rates.add(turn.point, turn.round, rate);
        if BATCHES[turn.point] == 1 {
            let latency = &outcome.tally.read.latency;
            let scatter =
                latency.standard_deviation().unwrap_or(0.0) / latency.mean().unwrap_or(1.0);
            let margin = (CHANGED * scatter / (requests as f64).sqrt()).min(0.9);
            self.unsorted
                .push([rate / (1.0 + margin), rate / (1.0 - margin)]);
        }
    }

    fn conclude(&self, bench: &mut Bench<'_>) {
        let rates = &self.rates;
        let (none, largest) = (0, BATCHES.len() - 1);
        for (point, name) in [(none, "unordered_iops"), (largest, "ordered_iops")] {
            if let Some(figure) = rates.figure(point, name, Unit::PerSecond) {
                bench.figure(figure);
            }
        }
        let gain = rates.quotient(largest, none);
        if let Some(gain) = gain {
            bench.figure(gain.figure("reorder_gain"));
        }
        let best = rates.first_as_good(AS_GOOD);
        if let Ok(best) = best {
            let size = BATCHES[best] as f64;
            bench.figure(Figure::new("best_batch", size, Unit::Count));
            let iops = rates.figure(best, "best_batch_iops", Unit::PerSecond);
            iops.into_iter().for_each(|figure| bench.figure(figure));
        }
        if bench.stopped() {
            return;
        }
        if let Some((low, high)) = self.change() {
            bench.verdict(changed(low, high));
        }
        match (best, gain) {
            (Err(_), Some(gain)) if gain.low <= 1.0 => bench.verdict(no_gain()),
            (Err(reason), _) => bench.verdict(no_best(reason)),
            (Ok(_), _) => {}
        }
    }

    /// The unsorted reads' lowest and highest rate, where they are too different for chance.
    fn change(&self) -> Option<(f64, f64)> {
        let unsorted = self.unsorted.iter();
        let low = unsorted.clone().map(|[_, high]| *high);
        let low = low.fold(f64::INFINITY, f64::min);
        let high = unsorted.map(|[low, _]| *low).fold(0.0, f64::max);
        let rates = self.rates.of(0);
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        (high > low).then_some((least, most))
    }
}

fn changed(low: f64, high: f64) -> Verdict {
    Verdict::new(
        "unsorted-reads-changed",
        Severity::Warning,
        format!(
            "the unsorted reads gave {} IOPS in one round and {} in another",
            units::count(low),
            units::count(high)
        ),
        "a cache became warm, or another user came or went: the intervals hold that too; repeat",
    )
}

fn no_gain() -> Verdict {
    Verdict::new(
        "no-reorder-gain",
        Severity::Note,
        "no size of the reorder buffer is significantly faster than none",
        "a scheduler that sorts gains nothing here: `none` costs the least",
    )
}

fn no_best(reason: NoBest) -> Verdict {
    let names = BATCHES.map(|batch| batch.to_string());
    let compared = Compared {
        code: ("no-best-batch", Severity::Note),
        best: "best reorder buffer",
        points: "reorder buffers",
        advice: "more --reads-each and a longer --duration narrow the intervals",
    };
    reason.verdict(compared, &names)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::find;
    use super::super::tests::fake::{self, Fake, simulate, value};
    use super::*;
    use crate::drive::random::scatter;

    #[test]
    fn a_drive_that_must_travel_gains_by_sorting() {
        let size = 1_u64 << 40;
        let head = Mutex::new(0_u64);
        let fake = Fake::new(move |asked| {
            let mut head = head.lock().unwrap();
            let distance = head.abs_diff(asked.address);
            *head = asked.address;
            Some(4_000_000 + (15e6 * distance as f64 / size as f64) as u64)
        });
        let finished = fake::run(find("reorder").unwrap(), &fake::target(size), &[], &fake);
        // A third of the stroke each unsorted, next to none sorted: 9 ms against 4 ms.
        let gain = finished.findings.figure("reorder_gain").unwrap();
        assert!((gain.value - 2.25).abs() < 0.1, "{gain:?}");
        assert!(gain.low.unwrap() > 1.9 && gain.high.unwrap() < 2.6);
        // 95 % of the most: 0.2 ms of the 15 of a stroke are left, a 64th or a 128th.
        assert!([64.0, 128.0].contains(&value(&finished, "best_batch")));
        assert!(fake::codes(&finished).is_empty());
        let points = &finished
            .findings
            .series("iops-against-batch")
            .unwrap()
            .points;
        assert!(
            points.windows(2).all(|pair| pair[1][1] > pair[0][1] * 0.98),
            "{points:?}"
        );
    }

    #[test]
    fn a_drive_that_does_not_travel_gains_nothing() {
        let finished = simulate(find("reorder").unwrap(), "sim:constant", &[]);
        assert!((value(&finished, "reorder_gain") - 1.0).abs() < 1e-6);
        assert!(finished.findings.figure("best_batch").is_none());
        assert_eq!(fake::codes(&finished), ["no-reorder-gain"]);
    }

    #[test]
    fn equal_buffers_with_scatter_have_no_best_and_the_gain_covers_one() {
        let (mut covered, mut named) = (0, 0);
        for seed in 0..40_u64 {
            let fake = Fake::new(|asked: &fake::Asked<'_>| {
                // Up to a fifth faster or slower from phase to phase, and from read to read.
                let phase = scatter(asked.plan.seed ^ (seed << 48)) % 40_000;
                Some(100_000 + phase + scatter(asked.address) % 20_000)
            });
            let set = [("seed", &*seed.to_string())];
            let test = find("reorder").unwrap();
            let finished = fake::run(test, &fake::target(1 << 40), &set, &fake);
            let gain = finished.findings.figure("reorder_gain").unwrap();
            covered += u32::from(gain.low <= Some(1.0) && gain.high >= Some(1.0));
            named += u32::from(finished.findings.figure("best_batch").is_some());
        }
        assert!(
            covered >= 35 && named <= 2,
            "{covered} covered, {named} named"
        );
    }

    #[test]
    fn part_of_a_large_batch_is_sorted_and_lies_anywhere() {
        let plan = Plan::reading(Pattern::Random, 4096, 0..1 << 30);
        let starts: Vec<u64> = (0..50)
            .map(|seed| addresses(&plan, 10, 1024, seed)[0])
            .collect();
        assert!(starts.iter().any(|start| *start < 1 << 28));
        assert!(starts.iter().any(|start| *start > 3 << 28));
        let turns = |list: Vec<u64>| {
            let pairs: Vec<bool> = list.windows(2).map(|pair| pair[0] <= pair[1]).collect();
            pairs.windows(2).filter(|pair| pair[0] != pair[1]).count()
        };
        assert!((0..50).all(|seed| turns(addresses(&plan, 100, 1024, seed)) <= 1));
    }

    #[test]
    fn a_cache_that_becomes_warm_is_no_gain_of_sorting() {
        let asked = Mutex::new(0_u32);
        let fake = Fake::new(move |_| {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            // The first round alone finds it cold.
            Some(if *asked <= 11 * 250 {
                1_500_000
            } else {
                100_000
            })
        });
        let finished = fake::run(find("reorder").unwrap(), &fake::target(1 << 40), &[], &fake);
        let gain = finished.findings.figure("reorder_gain").unwrap();
        assert!(gain.low.unwrap() <= 1.0, "{gain:?}");
        let codes = fake::codes(&finished);
        assert!(codes.contains(&"unsorted-reads-changed"), "{codes:?}");
        assert!(codes.contains(&"no-reorder-gain"), "{codes:?}");
    }

    #[test]
    fn batches_are_sorted_in_turns() {
        let plan = Plan::reading(Pattern::Random, 4096, 0..1 << 30);
        let batched = addresses(&plan, 100, 10, 7);
        assert_eq!(batched.len(), 100);
        let falls = |pair: &[u64]| pair[0] > pair[1];
        let turns = batched
            .windows(2)
            .map(falls)
            .collect::<Vec<_>>()
            .windows(2)
            .filter(|pair| pair[0] != pair[1])
            .count();
        // Up, down, up ...: a turn where a batch ends, and at most one more between two.
        assert!((9..=22).contains(&turns), "{turns}");
        assert_eq!(batched, addresses(&plan, 100, 10, 7));
        assert_ne!(batched, addresses(&plan, 100, 10, 8));
    }
}
