//! The engine's own limit: its queue with requests that the kernel answers at once.

use std::path::Path;
use std::time::Duration;

use diskscope::engine::{self, Choice, Control, End, Pattern, Plan};
use diskscope::roots::Roots;

const DURATION: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub requests_per_s: f64,
    pub cpu_ns_per_request: f64,
}

pub fn run(path: &Path, depth: u32) -> Run {
    let name = path.to_str().unwrap();
    let opened = engine::open(&Roots::default(), name, Choice::Nop, None).unwrap();
    let mut plan = Plan::reading(Pattern::Random, 4096, 0..opened.target.size);
    plan.depth = depth;
    plan.limits.duration = Some(DURATION);
    let outcome = opened
        .engine()
        .execute(&plan, &Control::default(), &mut |_| ())
        .unwrap();
    assert!(matches!(outcome.end, End::Done), "{:?}", outcome.end);
    let requests = outcome.tally.requests() as f64;
    let cpu = outcome.cpu.user + outcome.cpu.system;
    Run {
        requests_per_s: requests / outcome.elapsed.as_secs_f64(),
        cpu_ns_per_request: cpu.as_nanos() as f64 / requests,
    }
}
