//! What `files --hot` costs: processor time of its own, and what it takes from the traced process.
//!
//! ```text
//! cargo bench --bench trace_cost [-- --rounds 10 --seconds 3 --program DISKSCOPE --baseline OTHER_DISKSCOPE]
//! ```
//!
//! fio reads 4 KiB at random from a file with O_DIRECT, on an ext4 on a loop device with direct I/O
//! over a file in memory: at 50,000 requests per second, and as fast as it can. In every round it runs
//! once without a trace, once with each program, in random order. The processor time of the trace is
//! that during fio's run, of all its threads (/proc/PID/task/*/schedstat). Ratios are of fio with the
//! trace over fio without, within a round. Prints the table of `docs/performance.md`. Needs root,
//! losetup, mkfs.ext4 and fio, and a machine that has nothing else to do.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on has failed"
)]

#[path = "../../tests/support/file_system.rs"]
mod file_system;
#[path = "../../tests/support/fio.rs"]
mod fio;
mod load;
#[path = "../../tests/support/loop_device.rs"]
mod loop_device;
#[path = "../../tests/support/median.rs"]
mod median;
#[path = "../../tests/support/processor.rs"]
mod processor;
#[path = "../../tests/support/random_file.rs"]
mod random_file;
#[path = "../../tests/support/requirement.rs"]
mod requirement;
mod tracer;

use std::path::PathBuf;

use rand::seq::SliceRandom as _;

use load::{Load, LoadRun, TracedFile};
use median::Median;
use tracer::{TraceRun, Tracer};

struct Options {
    rounds: usize,
    seconds: u32,
    program: PathBuf,
    baseline: Option<PathBuf>,
}

fn options() -> Options {
    let mut options = Options {
        rounds: 10,
        seconds: 3,
        program: env!("CARGO_BIN_EXE_diskscope").into(),
        baseline: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => options.rounds = words.next().unwrap().parse().unwrap(),
            "--seconds" => options.seconds = words.next().unwrap().parse().unwrap(),
            "--program" => options.program = words.next().unwrap().into(),
            "--baseline" => options.baseline = Some(words.next().unwrap().into()),
            // What cargo adds.
            "--bench" => {}
            _ => {
                panic!("usage: trace_cost [--rounds N] [--seconds N] [--program P] [--baseline P]")
            }
        }
    }
    assert!(options.rounds >= 6, "an interval takes six rounds");
    options
}

/// fio's run, and what the trace beside it cost.
type Round = (LoadRun, TraceRun);

fn main() {
    let options = options();
    let mut tracers = vec![
        Tracer::None,
        Tracer::Limited(options.program.clone()),
        Tracer::Unlimited(options.program.clone()),
    ];
    if let Some(program) = &options.baseline {
        tracers.push(Tracer::Baseline(program.clone()));
    }
    let file = TracedFile::new().unwrap();
    println!(
        "{} rounds of {} s; median (95 % confidence interval)\n",
        options.rounds, options.seconds
    );
    println!(
        "| requests/s | trace | CPU of the trace, % of one processor | us/request | recorded, % | \
         events lost | fio: requests/s, ratio | CPU/request, ratio | p50, ratio | p99, ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for load in [Load::Limited(50_000), Load::Unlimited] {
        measure(&tracers, &file, load, &options);
    }
}

/// Runs the load beside all tracers, in every round in another order, and prints a row for each.
fn measure(tracers: &[Tracer], file: &TracedFile, load: Load, options: &Options) {
    let mut random = rand::make_rng::<rand::rngs::Xoshiro256PlusPlus>();
    let mut rounds: Vec<Vec<Round>> = tracers.iter().map(|_| Vec::new()).collect();
    let mut order: Vec<usize> = (0..tracers.len()).collect();
    for _ in 0..options.rounds {
        order.shuffle(&mut random);
        for &index in &order {
            let running = tracers[index].start();
            let run = load.run(file, options.seconds);
            let traced = running.stop(&run);
            rounds[index].push((run, traced));
        }
    }
    let without = rounds[0].clone();
    for (tracer, rounds) in tracers.iter().zip(&rounds) {
        print_row(tracer, rounds, &without);
    }
}

fn print_row(tracer: &Tracer, rounds: &[Round], without: &[Round]) {
    let of = |value: fn(&Round) -> f64| Median::of(rounds.iter().map(value)).unwrap();
    let ratio = |value: fn(&LoadRun) -> f64| {
        let pairs = rounds.iter().zip(without);
        Median::of(pairs.map(|((with, _), (without, _))| value(with) / value(without))).unwrap()
    };
    print!("| {:.0} | {} |", of(|(run, _)| run.iops), tracer.name());
    match tracer {
        Tracer::None => print!(" - | - | - | - | 1 | 1 | 1 | 1 |"),
        Tracer::Limited(_) | Tracer::Unlimited(_) | Tracer::Baseline(_) => print!(
            " {:.2} | {:.2} | {:.0} | {:.0} | {:.3} | {:.3} | {:.3} | {:.3} |",
            of(|(_, traced)| traced.cpu_share * 100.0),
            of(|(run, traced)| traced.cpu_share * 1e6 / run.iops / traced.recorded_share),
            of(|(_, traced)| traced.recorded_share * 100.0),
            of(|(_, traced)| traced.events_lost).value,
            ratio(|run| run.iops),
            ratio(|run| run.cpu_us_per_request),
            ratio(|run| run.p50_us),
            ratio(|run| run.p99_us),
        ),
    }
    println!();
}
