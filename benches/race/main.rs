//! diskscope against fio, and the engine's own limit:
//!
//! ```text
//! cargo bench --bench race [-- --rounds 24 --seconds 1 --depth 32 --file --spin
//!     --baseline OTHER_DISKSCOPE --t-io-uring PROGRAM]
//! ```
//!
//! Random reads of 4 KiB from a loop device with direct I/O over a file in memory, or (`--file`) from a file on the
//! disk of the build directory; `--spin` adds diskscope with `--wait spin`. In every round each program runs once, in random order. Ratios are diskscope over the other
//! program within a round. The engine's own limit is the same queue with IORING_OP_NOP in place of
//! the reads. Prints the tables of `docs/performance.md`. Needs root, losetup and fio, and a machine
//! that has nothing else to do.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on has failed"
)]

#[path = "../../tests/support/fio.rs"]
mod fio;
#[path = "../../tests/support/loop_device.rs"]
mod loop_device;
#[path = "../../tests/support/median.rs"]
mod median;
mod medium;
mod nop;
#[path = "../../tests/support/processor.rs"]
mod processor;
mod racer;
#[path = "../../tests/support/random_file.rs"]
mod random_file;
#[path = "../../tests/support/requirement.rs"]
mod requirement;

use std::path::PathBuf;

use rand::seq::SliceRandom as _;

use median::Median;
use medium::Medium;
use racer::{Percentiles, Racer, Run};

/// Requests in flight.
const DEPTHS: [u32; 3] = [1, 32, 128];

struct Options {
    rounds: usize,
    /// Length of one run.
    seconds: u32,
    depths: Vec<u32>,
    is_file: bool,
    spins: bool,
    baseline: Option<PathBuf>,
    t_io_uring: Option<PathBuf>,
}

fn options() -> Options {
    let mut options = Options {
        rounds: 24,
        seconds: 1,
        depths: DEPTHS.to_vec(),
        is_file: false,
        spins: false,
        baseline: None,
        t_io_uring: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => options.rounds = words.next().unwrap().parse().unwrap(),
            "--seconds" => options.seconds = words.next().unwrap().parse().unwrap(),
            "--depth" => options.depths = vec![words.next().unwrap().parse().unwrap()],
            "--file" => options.is_file = true,
            "--spin" => options.spins = true,
            "--baseline" => options.baseline = Some(words.next().unwrap().into()),
            "--t-io-uring" => options.t_io_uring = Some(words.next().unwrap().into()),
            // What cargo adds.
            "--bench" => {}
            _ => panic!(
                "usage: race [--rounds N] [--seconds N] [--depth N] [--file] [--spin] \
                 [--baseline P] [--t-io-uring P]"
            ),
        }
    }
    assert!(options.rounds >= 6, "an interval takes six rounds");
    options
}

fn main() {
    let options = options();
    assert!(fio::has_fio(), "fio is not installed");
    let medium = if options.is_file {
        Medium::file()
    } else {
        Medium::loop_device()
    };
    let medium = medium.unwrap();
    let mut racers = vec![Racer::Diskscope, Racer::Fio, Racer::FioTuned];
    racers.extend(options.spins.then_some(Racer::DiskscopeSpinning));
    racers.extend(options.t_io_uring.clone().map(Racer::TIoUring));
    racers.extend(options.baseline.clone().map(Racer::Baseline));
    println!(
        "{}, {} rounds, runs of {} s; median (95 % confidence interval)\n",
        if options.is_file {
            "file"
        } else {
            "loop device"
        },
        options.rounds,
        options.seconds
    );
    println!(
        "| depth | program | IOPS | CPU us/request | p50 us | p99 us | IOPS ratio | CPU ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for &depth in &options.depths {
        compare(&racers, &medium, depth, &options);
    }
    println!("\n| depth | IORING_OP_NOP, requests/s | CPU ns/request |\n|---|---|---|");
    for &depth in &options.depths {
        let runs: Vec<nop::Run> = (0..options.rounds)
            .map(|_| nop::run(medium.path(), depth))
            .collect();
        let of = |value: fn(&nop::Run) -> f64| Median::of(runs.iter().map(value)).unwrap();
        println!(
            "| {depth} | {:.0} | {:.1} |",
            of(|run| run.requests_per_s),
            of(|run| run.cpu_ns_per_request)
        );
    }
}

/// Lets all programs run, in every round in another order, and prints a row for each.
fn compare(racers: &[Racer], medium: &Medium, depth: u32, options: &Options) {
    let mut random = rand::make_rng::<rand::rngs::Xoshiro256PlusPlus>();
    let mut runs: Vec<Vec<Run>> = racers.iter().map(|_| Vec::new()).collect();
    let mut order: Vec<usize> = (0..racers.len()).collect();
    for _ in 0..options.rounds {
        order.shuffle(&mut random);
        for &index in &order {
            runs[index].push(racers[index].run(medium.path(), depth, options.seconds));
        }
    }
    let ours = runs[0].clone();
    for (racer, runs) in racers.iter().zip(&runs) {
        let of = |value: fn(&Run) -> f64| Median::of(runs.iter().map(value)).unwrap();
        let ratio = |value: fn(&Run) -> f64| {
            let pairs = ours.iter().zip(runs);
            Median::of(pairs.map(|(ours, theirs)| value(ours) / value(theirs))).unwrap()
        };
        let percentile = |value: fn(&Percentiles) -> f64| {
            let recorded: Option<Vec<f64>> = runs
                .iter()
                .map(|run| run.percentiles.as_ref().map(value))
                .collect();
            recorded.map_or_else(
                || "-".to_owned(),
                |values| format!("{:.1}", Median::of(values).unwrap().value),
            )
        };
        println!(
            "| {depth} | {} | {:.0} | {:.3} | {} | {} | {:.3} | {:.3} |",
            racer.name(),
            of(|run| run.iops),
            of(|run| run.cpu_us_per_request),
            percentile(|latency| latency.p50_us),
            percentile(|latency| latency.p99_us),
            ratio(|run| run.iops),
            ratio(|run| run.cpu_us_per_request),
        );
    }
}
