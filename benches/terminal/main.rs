//! What the interface costs: how soon its first frame is there and how much memory it takes, what
//! the screen costs a benchmark that runs below it, and how many bytes it sends ([`bytes`]).
//!
//! ```text
//! cargo bench --bench terminal [-- start] [-- screen] [-- bytes [--baseline OTHER_DISKSCOPE]]
//! ```
//!
//! Without a word all are measured. On a quiet machine; takes seven minutes. Needs setsid(1). Exit
//! status 1 where a limit of `docs/install.md` or `docs/performance.md` is exceeded.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on has failed"
)]

mod bytes;
#[path = "../../tests/support/median.rs"]
mod median;
mod parts;
#[path = "../../tests/support/processor.rs"]
mod processor;
#[allow(dead_code, reason = "the tests of the terminal use the rest")]
#[path = "../../tests/support/pty.rs"]
mod pty;
#[path = "../../tests/support/requirement.rs"]
mod requirement;
mod screen_cost;
#[path = "../../tests/terminal/session.rs"]
mod session;
mod start;

use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut within, mut measured) = (true, 0);
    // What cargo adds is no choice, and the option belongs to `bytes`.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| it != "--bench")
        .take_while(|it| it != "--baseline")
        .collect();
    for (name, measure) in [
        ("start", start::measure as fn() -> bool),
        ("screen", screen_cost::measure),
        ("bytes", bytes::measure),
    ] {
        if words.is_empty() || words.iter().any(|word| word == name) {
            measured += 1;
            let kept = measure();
            within &= kept;
            println!(
                "{name}: {}",
                if kept {
                    "within its limits"
                } else {
                    "LIMIT EXCEEDED"
                }
            );
        }
    }
    if measured < words.len().max(1) {
        eprintln!("usage: terminal [start] [screen] [bytes [--baseline PROGRAM]]");
        return ExitCode::from(2);
    }
    if within {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
