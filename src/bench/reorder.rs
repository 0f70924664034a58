//! What sorting requests by address gains.

use std::time::Duration;

use super::budget::Budget;
use super::common::{self, place, series};
use super::forecast::Phases;
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Kind, Parameter, Parameters,
    Shape, Test, Value,
};
use crate::drive::Target;
use crate::drive::random::{Random, below};
use crate::engine::{Limits, Outcome, Pattern, Plan};
use crate::session::document::{Figure, Severity, Unit, Verdict};
use crate::units;

/// Random reads in batches, each sorted.
pub struct Reorder;

/// Sizes of the reorder buffer.
///
/// The unsorted reads come once more at the end: what was gained meanwhile by a cache that became warm,
/// or by another user who left, must not be taken for a gain of sorting.
const BATCHES: [usize; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1];

const READS_EACH: Parameter = Parameter {
    name: "reads-each",
    kind: Kind::Count {
        least: 10,
        most: 1_000_000,
    },
    help: "reads with each size of the reorder buffer",
    default: |_| Value::Count(1000),
};

static DESCRIPTION: Description = Description {
    name: "reorder",
    aliases: &[],
    summary: "random reads sorted in batches of 1 to 1024: what reordering gains",
    explanation: "\
Makes 1000 random reads for each size of a reorder buffer: the buffer is filled, sorted by address, and \
worked off one by one, the next one in the other direction, as an elevator goes. This is what an I/O \
scheduler, a drive's own queue or a well-made program (a bitmap scan) does.

The chart shows reads per second against the size of the buffer. On a hard disk they rise steadily, \
because the head travels less: sorting a thousand requests can triple the rate. On an SSD the line is \
level: no place is far from any other, and a scheduler that sorts only costs time. The span \
is the window: in a narrow one there is less to gain.

It only reads.",
    writes: false,
    metrics: &["reorder_gain", "unordered_iops", "best_batch_iops", "best_batch"],
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
    headline: &["reorder_gain", "unordered_iops", "best_batch_iops", "best_batch"],
};

fn whole_plan(target: &Target, parameters: &Parameters) -> Result<Plan, BenchError> {
    common::reading_plan(target, parameters, Pattern::Random)
}

/// Random aligned addresses, each batch sorted, every other one backwards.
fn addresses(plan: &Plan, count: usize, batch: usize, seed: u64) -> Vec<u64> {
    let start = plan.window.start.next_multiple_of(plan.align);
    let room = plan
        .window
        .end
        .saturating_sub(start + u64::from(plan.block_size.largest()));
    let blocks = room / plan.align + 1;
    let mut random = Random::new(seed);
    let mut addresses: Vec<u64> = (0..count)
        .map(|_| start + below(random.word(), blocks) * plan.align)
        .collect();
    for (index, batch) in addresses.chunks_mut(batch).enumerate() {
        batch.sort_unstable();
        if index % 2 == 1 {
            batch.reverse();
        }
    }
    addresses
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
        let all = each * BATCHES.len() as u64 * u64::from(plan.block_size.largest());
        Ok(Forecast {
            sentence: format!(
                "makes {each} random reads of {} with each of {} reorder buffers",
                place(target),
                BATCHES.len()
            ),
            time: Phases::sharing(plan.limits)
                .then_all(BATCHES.map(|batch| batch_plan(&plan, target, batch, each)))
                .time(target),
            reads: Some(plan.limits.bytes.unwrap_or(all).min(all)),
            writes: None,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let whole = whole_plan(bench.target, bench.parameters)?;
        let each = bench.parameters.count("reads-each").unwrap_or(1000);
        let count = usize::try_from(each).unwrap_or(1000);
        let mut budget = Budget::new(whole.limits);
        let mut points = Vec::new();
        for (index, batch) in BATCHES.into_iter().enumerate() {
            let left = (BATCHES.len() - index) as u64;
            let block = u64::from(whole.block_size.largest());
            let Some(limits) = budget.share(left, block, Limits::default()) else {
                break;
            };
            // Other places each time: the drive's cache must not know them yet.
            let seed = whole.seed.wrapping_add(index as u64);
            let list = addresses(&whole, count, batch, seed);
            let plan = Plan {
                pattern: Pattern::Addresses(list.into()),
                limits,
                ..whole.clone()
            };
            let phase = format!("batches of {batch}");
            let outcome = bench.execute(&phase, 1.0 / BATCHES.len() as f64, &plan)?;
            budget.spend(&outcome);
            let requests = outcome.tally.requests();
            if requests > 0 {
                points.push(Point::of(batch, &outcome));
            }
            report(bench, &points);
            bench.phase_finished();
            if bench.stopped() {
                break;
            }
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::RequestOrder)
    }
}

/// What one size of the buffer gave.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    batch: usize,
    iops: f64,
    /// 95 % limits.
    limits: (f64, f64),
}

impl Point {
    fn of(batch: usize, outcome: &Outcome) -> Self {
        let requests = outcome.tally.requests() as f64;
        let iops = requests / outcome.elapsed.as_secs_f64();
        let latency = &outcome.tally.read.latency;
        let scatter = latency.standard_deviation().unwrap_or(0.0) / latency.mean().unwrap_or(1.0);
        let margin = 1.96 * scatter / requests.sqrt();
        Self {
            batch,
            iops,
            limits: (iops / (1.0 + margin), iops / (1.0 - margin.min(0.9))),
        }
    }

    fn figure(&self, name: &str) -> Figure {
        Figure::new(name, self.iops, Unit::PerSecond).within(self.limits.0, self.limits.1)
    }
}

fn report(bench: &mut Bench<'_>, points: &[Point]) {
    // The first size of the buffer comes twice: the curve shows the first time.
    let (sizes, again) = match points.split_last() {
        Some((last, before)) if last.batch == 1 && !before.is_empty() => (before, Some(*last)),
        _ => (points, None),
    };
    bench.series(series(
        "iops-against-batch",
        ("reorder buffer", Unit::Count),
        ("IOPS", Unit::PerSecond),
        sizes
            .iter()
            .map(|point| [point.batch as f64, point.iops])
            .collect(),
    ));
    // Of buffers alike the smallest: the last of the reversed ones.
    let best = sizes
        .iter()
        .rev()
        .max_by(|one, other| one.iops.total_cmp(&other.iops));
    let (Some(first), Some(best)) = (sizes.first(), best) else {
        return;
    };
    let again = again.unwrap_or(*first);
    let unordered = Point {
        iops: 2.0 / (1.0 / first.iops + 1.0 / again.iops),
        limits: (
            first.limits.0.min(again.limits.0),
            first.limits.1.max(again.limits.1),
        ),
        ..*first
    };
    bench.figure(unordered.figure("unordered_iops"));
    bench.figure(Figure::new("best_batch", best.batch as f64, Unit::Count));
    bench.figure(best.figure("best_batch_iops"));
    let low = best.limits.0 / unordered.limits.1;
    bench.figure(
        Figure::new("reorder_gain", best.iops / unordered.iops, Unit::Ratio)
            .within(low, best.limits.1 / unordered.limits.0),
    );
    if first.limits.0 > again.limits.1 || again.limits.0 > first.limits.1 {
        bench.verdict(Verdict::new(
            "unsorted-reads-changed",
            Severity::Warning,
            format!(
                "the unsorted reads gave {} IOPS at first and {} at the end",
                units::count(first.iops),
                units::count(again.iops)
            ),
            "a cache became warm, or another user came or went: the limits of the gain hold both; repeat",
        ));
    }
    if low <= 1.0 {
        bench.verdict(Verdict::new(
            "no-reorder-gain",
            Severity::Note,
            "no size of the reorder buffer is significantly faster than none",
            "a scheduler that sorts gains nothing here: `none` costs the least",
        ));
    } else {
        bench
            .findings
            .verdicts
            .retain(|verdict| verdict.code != "no-reorder-gain");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::find;
    use super::super::tests::fake::{self, Fake, simulate, value};
    use super::*;

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
        assert!((value(&finished, "reorder_gain") - 2.25).abs() < 0.1);
        assert!(value(&finished, "best_batch") >= 256.0);
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
        assert_eq!(value(&finished, "best_batch"), 1.0);
    }

    #[test]
    fn a_cache_that_becomes_warm_is_no_gain_of_sorting() {
        let asked = Mutex::new(0_u32);
        let fake = Fake::new(move |_| {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            // The first pass alone finds it cold.
            Some(if *asked <= 1000 { 1_500_000 } else { 100_000 })
        });
        let finished = fake::run(find("reorder").unwrap(), &fake::target(1 << 40), &[], &fake);
        let gain = finished.findings.figure("reorder_gain").unwrap();
        assert!(gain.low.unwrap() <= 1.0, "{gain:?}");
        let codes = fake::codes(&finished);
        assert!(codes.contains(&"unsorted-reads-changed"), "{codes:?}");
        assert!(codes.contains(&"no-reorder-gain"), "{codes:?}");
    }

    #[test]
    fn batches_are_sorted_in_turns_and_keep_every_address() {
        let plan = Plan::reading(Pattern::Random, 4096, 0..1 << 30);
        let unsorted = addresses(&plan, 100, 1, 7);
        let batched = addresses(&plan, 100, 10, 7);
        assert!(batched[..10].is_sorted());
        assert!(batched[10..20].iter().rev().is_sorted());
        let sorted = |mut list: Vec<u64>| {
            list.sort_unstable();
            list
        };
        assert_eq!(sorted(unsorted), sorted(batched));
    }
}
