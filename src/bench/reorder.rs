//! What sorting requests by address gains.

use std::time::Duration;

use super::budget::Budget;
use super::common::{self, place, series};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Kind, Parameter, Parameters,
    Shape, Test, Value,
};
use crate::drive::Target;
use crate::drive::random::{Random, below};
use crate::engine::{Limits, Pattern, Plan};
use crate::session::document::{Figure, Unit};

/// Random reads in batches, each sorted.
pub struct Reorder;

/// Sizes of the reorder buffer.
const BATCHES: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

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
            duration: plan.limits.duration,
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
                let iops = requests as f64 / outcome.elapsed.as_secs_f64();
                points.push([batch as f64, iops]);
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

fn report(bench: &mut Bench<'_>, points: &[[f64; 2]]) {
    bench.series(series(
        "iops-against-batch",
        ("reorder buffer", Unit::Count),
        ("IOPS", Unit::PerSecond),
        points.to_vec(),
    ));
    // Of buffers alike the smallest: the last of the reversed ones.
    let best = points
        .iter()
        .rev()
        .max_by(|one, other| one[1].total_cmp(&other[1]));
    if let (Some([_, unordered]), Some([batch, iops])) = (points.first(), best) {
        for (name, value, unit) in [
            ("unordered_iops", *unordered, Unit::PerSecond),
            ("best_batch", *batch, Unit::Count),
            ("best_batch_iops", *iops, Unit::PerSecond),
            ("reorder_gain", iops / unordered, Unit::Ratio),
        ] {
            bench.figure(Figure::new(name, value, unit));
        }
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
