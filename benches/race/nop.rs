//! The engine's own limit: its queue with requests that the kernel answers at once.

use std::path::Path;
use std::time::Duration;

use diskscope::engine::{self, AccessPattern, CancellationToken, EndReason, EngineChoice, Plan};
use diskscope::roots::SysPaths;

const DURATION: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub requests_per_s: f64,
    pub cpu_ns_per_request: f64,
}

pub fn run(path: &Path, depth: u32) -> Run {
    let name = path.to_str().unwrap();
    let opened = engine::open_target(&SysPaths::default(), name, EngineChoice::Nop, None).unwrap();
    let mut plan =
        Plan::single_depth_reads(AccessPattern::Random, 4096, 0..opened.target.size_bytes);
    plan.depth = depth;
    plan.limits.duration = Some(DURATION);
    let outcome = opened
        .engine()
        .execute(&plan, &CancellationToken::default(), &mut |_| ())
        .unwrap();
    assert!(
        matches!(outcome.end_reason, EndReason::Completed),
        "{:?}",
        outcome.end_reason
    );
    let requests = outcome.stats.requests() as f64;
    let cpu = outcome.cpu_time.user_time + outcome.cpu_time.system_time;
    Run {
        requests_per_s: requests / outcome.elapsed.as_secs_f64(),
        cpu_ns_per_request: cpu.as_nanos() as f64 / requests,
    }
}
