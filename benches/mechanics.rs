//! The metrics and checks of mechanics benchmarks on a drive, with how long each took:
//!
//! ```text
//! cargo bench --bench mechanics -- /dev/loop0 rotation,geometry
//! ```
//!
//! Nothing is written. `diskscope run BENCHMARK DRIVE` measures the same and saves it; this prints
//! every metric with its interval and the number of its observations, and saves nothing.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on has failed"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::process::ExitCode;
use std::time::Instant;

use diskscope::bench;
use diskscope::engine::{self, EngineChoice};
use diskscope::roots::SysPaths;
use support::run_on;

fn main() -> ExitCode {
    // What cargo adds is no argument.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| it != "--bench")
        .collect();
    let [target, benchmarks] = words.as_slice() else {
        eprintln!("usage: mechanics TARGET BENCHMARK[,BENCHMARK...]");
        return ExitCode::from(2);
    };
    let mut names = benchmarks.split(',');
    if let Some(name) = names.find(|name| !is_reading(name)) {
        eprintln!("{name} is no benchmark that only reads: see `diskscope tests`");
        return ExitCode::from(2);
    }
    for name in benchmarks.split(',') {
        measure(name, target);
    }
    ExitCode::SUCCESS
}

fn is_reading(name: &str) -> bool {
    bench::find_benchmark(name).is_some_and(|test| !test.description().may_write)
}

fn measure(name: &str, target: &str) {
    let opened =
        engine::open_target(&SysPaths::default(), target, EngineChoice::Auto, None).unwrap();
    let began = Instant::now();
    let findings = run_on(name, &opened.target, opened.engine(), &[]);
    println!("{name}: {:.1} s", began.elapsed().as_secs_f64());
    for metric in &findings.metrics {
        println!(
            "   {} {:.3} [{:?} {:?}] of {:?}",
            metric.id, metric.value, metric.low, metric.high, metric.observations
        );
    }
    for verdict in &findings.verdicts {
        println!("   {}: {:?}", verdict.code, verdict.facts);
    }
}
