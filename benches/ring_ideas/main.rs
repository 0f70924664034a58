//! What each idea for the engine's ring is worth, on a loop of its own that differs in that idea only:
//!
//! ```text
//! cargo bench --bench ring_ideas [-- --rounds 40]
//! ```
//!
//! Random reads of 4 KiB from a loop device over a file in memory, a tenth of a second a run; in every
//! round each idea runs once, in random order. Ratios are those to the loop without any idea, within a
//! round. Prints the table of `docs/performance.md`. Needs root and losetup. On a machine that has other
//! work, `chrt -f 10` before the program lets it wake up as on a machine without.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on has failed"
)]

mod idea;
#[path = "../../tests/support/loop_device.rs"]
mod loop_device;
#[path = "../../tests/support/median.rs"]
mod median;
#[path = "../race/medium.rs"]
mod medium;
#[path = "../../tests/support/random_file.rs"]
mod random_file;
#[path = "../../tests/support/requirement.rs"]
mod requirement;
mod ring_loop;

use rand::seq::SliceRandom as _;

use idea::{Idea, LoopSettings};
use median::Median;
use medium::Medium;
use ring_loop::{Run, run};

/// Requests in flight.
const DEPTHS: [usize; 3] = [1, 32, 128];

fn main() {
    let mut rounds = 40;
    let mut depths = DEPTHS.to_vec();
    let mut filter = String::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => rounds = words.next().unwrap().parse().unwrap(),
            "--depth" => depths = vec![words.next().unwrap().parse().unwrap()],
            "--only" => filter = words.next().unwrap(),
            // What cargo adds.
            "--bench" => {}
            _ => panic!("usage: ring_ideas [--rounds N] [--depth N] [--only PART_OF_A_NAME]"),
        }
    }
    assert!(rounds >= 6, "an interval takes six rounds");
    let medium = Medium::new().unwrap();
    println!("{rounds} rounds; median (95 % confidence interval)\n");
    println!("| depth | idea | IOPS ratio | CPU ratio | p50 ratio | requests per system call |");
    println!("|---|---|---|---|---|---|");
    for depth in depths {
        compare(&medium, depth, rounds, &filter);
    }
}

/// Runs the ideas that make sense at a depth and have this in their names, beside the loop without
/// any, and prints a row for each.
fn compare(medium: &Medium, depth: usize, rounds: usize, filter: &str) {
    let mut ideas = Idea::at_depth(depth);
    ideas.retain(|idea| *idea == Idea::None || idea.describe().contains(filter));
    let mut random = rand::make_rng::<rand::rngs::Xoshiro256PlusPlus>();
    let mut runs: Vec<Vec<Run>> = ideas.iter().map(|_| Vec::new()).collect();
    let mut order: Vec<usize> = (0..ideas.len()).collect();
    for _ in 0..rounds {
        order.shuffle(&mut random);
        for &index in &order {
            let settings = ideas[index].apply(LoopSettings::new(depth));
            runs[index].push(run(medium.path(), settings));
        }
    }
    let plain = runs[0].clone();
    for (idea, runs) in ideas.iter().zip(&runs) {
        let ratio = |of: fn(&Run) -> f64| {
            let pairs = runs.iter().zip(&plain);
            Median::of(pairs.map(|(run, plain)| of(run) / of(plain))).unwrap()
        };
        let calls = Median::of(runs.iter().map(|run| run.requests_per_call)).unwrap();
        println!(
            "| {depth} | {} | {:.3} | {:.3} | {:.3} | {:.2} |",
            idea.describe(),
            ratio(|run| run.iops),
            ratio(|run| run.cpu_ns_per_request),
            ratio(|run| run.p50_ns),
            calls.value,
        );
    }
}
