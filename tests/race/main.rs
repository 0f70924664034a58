//! The race: diskscope against fio, on a loop device and on a file, at depth 1, 32 and 128.
//!
//! Run by hand, in release, as root, on a machine that has nothing else to do:
//!
//! ```text
//! cargo test --release --test race -- --ignored --nocapture
//! ```
//!
//! The programs take turns (A B C A B C ...), so that a drift of the machine hits all alike;
//! medians and ratios are printed as the table of `docs/performance.md`. Times are compared here
//! and nowhere else: a busy machine must not make the ordinary tests fail.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/loop_device.rs"]
mod loop_device;
mod medium;
#[path = "../support/processor.rs"]
mod processor;
mod racer;
#[path = "../support/requirement.rs"]
mod requirement;

use medium::Medium;
use processor::median;
use racer::{Lap, Racer};

/// Rounds of every pairing.
const ROUNDS: usize = 7;
/// Requests in flight.
const DEPTHS: [u32; 3] = [1, 32, 128];

#[test]
#[ignore = "takes minutes and wants a quiet machine"]
fn race() {
    if !racer::fio_is_here() {
        println!("passed over: fio is not installed");
        return;
    }
    println!(
        "| medium | depth | program | IOPS | CPU us/request | mean us | traced us | p50 us | p99 us | IOPS ratio | CPU ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for medium in [Medium::file(), Medium::loop_device()] {
        let Some(medium) = medium else {
            println!("passed over: no loop device can be made here");
            continue;
        };
        for depth in DEPTHS {
            compare(&medium, depth);
        }
    }
}

/// Lets all racers run in turns and prints a row for each; ratios are diskscope over the other.
fn compare(medium: &Medium, depth: u32) {
    let mut laps: Vec<Vec<Lap>> = Racer::ALL.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (racer, laps) in Racer::ALL.iter().zip(&mut laps) {
            laps.push(racer.run(medium.path(), depth));
        }
    }
    let ours = &laps[0];
    for (racer, laps) in Racer::ALL.iter().zip(&laps) {
        let of = |value: fn(&Lap) -> f64| median(laps.iter().map(value));
        let ratio = |value: fn(&Lap) -> f64| {
            median(
                ours.iter()
                    .zip(laps)
                    .map(|(ours, theirs)| value(ours) / value(theirs)),
            )
        };
        println!(
            "| {} | {depth} | {} | {:.0} | {:.2} | {:.1} | {} | {:.1} | {:.1} | {:.3} | {:.3} |",
            medium.name(),
            racer.name(),
            of(|lap| lap.iops),
            of(|lap| lap.cpu_us_per_request),
            of(|lap| lap.mean_us),
            traced(laps),
            of(|lap| lap.p50_us),
            of(|lap| lap.p99_us),
            ratio(|lap| lap.iops),
            ratio(|lap| lap.cpu_us_per_request),
        );
    }
}

/// The median of what the block layer says of the same requests.
fn traced(laps: &[Lap]) -> String {
    let known: Option<Vec<f64>> = laps.iter().map(|lap| lap.traced_mean_us).collect();
    known.map_or_else(
        || "-".to_owned(),
        |known| format!("{:.1}", median(known.into_iter())),
    )
}
