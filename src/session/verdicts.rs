//! What may be concluded from a run's figures, and what not.
//!
//! Each judge looks at the finished run and adds at most one verdict with its evidence.

use super::document::{KernelCounts, Run, Severity, Verdict};
use crate::units;

/// All judges, in the order in which their verdicts are listed.
const JUDGES: &[fn(&Run) -> Option<Verdict>] = &[served_from_cache, few_samples, buffered];

/// Adds the verdicts that the run as a whole deserves.
pub fn judge(run: &mut Run) {
    let verdicts: Vec<Verdict> = JUDGES.iter().filter_map(|judge| judge(run)).collect();
    for verdict in verdicts {
        run.findings.put_verdict(verdict);
    }
}

/// Bytes of all requests that were measured, from throughput and time where the test says both.
fn own_requests(run: &Run) -> Option<u64> {
    let latency = &run.findings.latency;
    let count = |summary: &Option<super::document::LatencySummary>| {
        summary.as_ref().map_or(0, |it| it.count)
    };
    let all = count(&latency.read) + count(&latency.write);
    (all > 0).then_some(all)
}

fn kernel_requests(kernel: &KernelCounts) -> u64 {
    kernel.reads + kernel.reads_merged + kernel.writes + kernel.writes_merged
}

/// Fewer requests reached the device than were made: something above it answered.
fn served_from_cache(run: &Run) -> Option<Verdict> {
    let (kernel, own) = (run.kernel.as_ref()?, own_requests(run)?);
    let reached = kernel_requests(kernel);
    (own >= 100 && (reached as f64) < 0.9 * own as f64).then(|| {
        let share = units::percent(1.0 - reached as f64 / own as f64);
        Verdict::new(
            "served-from-cache",
            Severity::Invalid,
            format!(
                "{own} requests were made, {reached} reached {}: {share} came from a cache",
                kernel.device
            ),
            "measure with --cache bypass, on a window larger than the machine's memory",
        )
    })
}

/// Too few requests for the percentiles that people ask for.
fn few_samples(run: &Run) -> Option<Verdict> {
    let latency = run
        .findings
        .latency
        .read
        .as_ref()
        .or(run.findings.latency.write.as_ref())?;
    (latency.count < 1000).then(|| {
        Verdict::new(
            "too-few-samples",
            Severity::Note,
            format!(
                "{} requests: percentiles that fewer than 10 of them lie beyond are left out",
                latency.count
            ),
            "measure longer, or with a smaller block size",
        )
    })
}

/// The page cache took part.
fn buffered(run: &Run) -> Option<Verdict> {
    let cache = run.parameters.get("cache")?.as_str()?;
    (cache != "bypass").then(|| {
        Verdict::new(
            "buffered",
            Severity::Note,
            format!("the page cache took part (--cache {cache})"),
            "use --cache bypass to measure the drive alone",
        )
    })
}
