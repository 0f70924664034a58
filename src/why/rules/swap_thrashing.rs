//! Memory is swapped out and needed again.

use super::group_limits::{at_memory_limit, memory_text};
use super::prelude::*;
use crate::snapshot::view::HostView;

/// Bytes per second read from swap from which somebody notices,
const MIN_SWAP_IN: f64 = 1e6;
/// in this fraction of the snapshots.
const MIN_FRACTION: f64 = 0.4;
/// Fraction of the time in which tasks have to wait for memory.
const MIN_PRESSURE: f64 = 0.1;
/// Bytes per second written to swap, where the kernel reports no pressure.
const MIN_SWAP_OUT: f64 = 1e6;
/// Bytes per second in each direction from which pages go round: with fast swap, or busy processors,
/// a task waits a small part of the time for each page,
const ROUND_TRIP: f64 = 5e6;
/// but not a smaller one than this. Compressed swap in memory makes nobody wait.
const ROUND_TRIP_PRESSURE: f64 = 0.015;
/// Fraction of the time that a process waits for swap-in, or for memory, from which it suffers.
const SWAP_WAIT: f64 = 0.05;

fn swap_in(host: &HostView) -> Option<f64> {
    host.swap_in_bytes_per_s
}

pub(super) fn evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    known_values([
        (SWAP_IN, analysis.mean(swap_in)),
        (SWAP_OUT, analysis.mean(|host| host.swap_out_bytes_per_s)),
        (MEMORY_PRESSURE, analysis.memory_pressure),
    ])
}

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let Some(read) = analysis.mean(swap_in) else {
        return Err(NotExamined::NotReported("/proc/vmstat is not readable"));
    };
    let written = analysis.mean(|host| host.swap_out_bytes_per_s);
    let written = written.unwrap_or(0.0);
    let often = analysis.fraction_at_least(swap_in, MIN_SWAP_IN) >= MIN_FRACTION;
    let goes_round = read >= ROUND_TRIP && written >= ROUND_TRIP;
    let waits = match analysis.memory_pressure {
        Some(pressure) => pressure >= MIN_PRESSURE || goes_round && pressure >= ROUND_TRIP_PRESSURE,
        None => written >= MIN_SWAP_OUT,
    };
    if !often || !waits {
        return Ok(Vec::new());
    }
    let group = at_memory_limit(analysis);
    let members = group.as_ref().map(|it| &it.group.pids);
    // Only who is known to wait for memory: a task that waits for a disk is blocked as well.
    let waits_for_memory = |waiter: &&Waiter| {
        let swap_wait = analysis.process(waiter.pid).map_or(0.0, |it| it.swap_wait);
        waiter.waits_for(&[WaitKind::Memory]).max(swap_wait) >= SWAP_WAIT
            || analysis.is_in_memory(waiter)
            || members.is_some_and(|pids| pids.contains(&waiter.pid))
    };
    let blocked = analysis.blocked(SWAP_WAIT);
    let suffering: Vec<&Waiter> = blocked.filter(waits_for_memory).collect();
    let cause = analysis.cause(Severity::Critical);
    let mut cause = cause.confirmed_if(group.is_some() || !suffering.is_empty());
    cause.evidence = evidence(analysis);
    cause.victims = parties(&suffering);
    if let Some(group) = &group {
        group.tell_memory(&mut cause);
    }
    cause.remedies.push(memory_users());
    cause.sentence = format!(
        "{} waits for memory; {} are read from swap and {} written to it, because {} is too small for what runs.",
        cause.victim("The machine"),
        units::format_throughput(read),
        units::format_throughput(written),
        memory_text(group.as_ref())
    );
    Ok(vec![cause])
}
