//! Memory is swapped out and needed again.

use crate::snapshot::view::HostView;
use crate::units;
use crate::why::analysis::{Analysis, Waiter};
use crate::why::blame::{SUFFERING, parties};
use crate::why::cause::{NotExamined, Severity};
use crate::why::device_load::is_overloaded;
use crate::why::evidence::{Evidence, MEMORY_PRESSURE, Metric, rate};
use crate::why::parties::{memory_of, victim, who_waits};
use crate::why::remedies::memory_users;
use crate::why::rule::{Examination, Rule};
use crate::why::wait_kind::WaitKind;

pub(super) const RULE: Rule = Rule {
    code: "swap-thrashing",
    explains: &["cache-thrashing", "device-saturated", "not-io"],
    examine,
};

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
/// Bytes read from swap per second, and written to it.
const SWAP_IN: Metric = rate("swap_in", "swap-in", "/proc/vmstat");
const SWAP_OUT: Metric = rate("swap_out", "swap-out", "/proc/vmstat");

fn examine(analysis: &Analysis<'_>) -> Examination {
    let swap_in = |host: &HostView| host.swap_in_bytes_per_s;
    let Some(read) = analysis.mean(swap_in) else {
        let reason = NotExamined::NotReported("/proc/vmstat is not readable");
        return Examination::NotExamined(reason);
    };
    let written = analysis.mean(|host| host.swap_out_bytes_per_s);
    let written = written.unwrap_or(0.0);
    let often = analysis.fraction_at_least(swap_in, MIN_SWAP_IN);
    let pressure = analysis.mean(|host| host.memory_pressure_some);
    let goes_round = read >= ROUND_TRIP
        && written >= ROUND_TRIP
        && pressure.is_some_and(|pressure| pressure >= ROUND_TRIP_PRESSURE);
    let waits =
        pressure.map_or(written >= MIN_SWAP_OUT, |pressure| pressure >= MIN_PRESSURE) || goes_round;
    let mut evidence = vec![
        Evidence::of_machine(SWAP_IN, read),
        Evidence::of_machine(SWAP_OUT, written),
    ];
    evidence.extend(pressure.map(|it| Evidence::of_machine(MEMORY_PRESSURE, it)));
    if often.unwrap_or(0.0) < MIN_FRACTION || !waits {
        return Examination::RuledOut(evidence);
    }
    let mut cause = analysis.cause(RULE.code, Severity::Critical).confirmed();
    cause.evidence = evidence;
    cause.victims = parties(&suffering(analysis));
    cause.remedies.push(memory_users());
    cause.sentence = format!(
        "{} waits for memory: {} are read from swap and {} written to it, because {} is too small for what runs.",
        victim(&cause, "The machine"),
        units::format_throughput(read),
        units::format_throughput(written),
        memory_of(&cause.victims)
    );
    cause.headline = format!("{} for swap-in: the memory is too small", who_waits(&cause));
    Examination::Found(vec![cause])
}

/// The processes that wait for memory: by the function that they wait in, or, where a swapped page is
/// waited for as for any other, those that are blocked without I/O on a device that is overloaded.
fn suffering<'a>(analysis: &'a Analysis<'_>) -> Vec<&'a Waiter> {
    let waiting = |waiter: &&Waiter| waiter.blocked >= SUFFERING && !waiter.is_kernel_thread;
    let waiters: Vec<&Waiter> = analysis.waiters.iter().filter(waiting).collect();
    let in_memory = |waiter: &&Waiter| waiter.waits_for(&[WaitKind::Memory]) >= SUFFERING / 2.0;
    let proven: Vec<&Waiter> = waiters.iter().copied().filter(in_memory).collect();
    if !proven.is_empty() {
        return proven;
    }
    let has_own_device = |waiter: &&Waiter| {
        let mut devices = analysis.whole_devices().filter(|it| is_overloaded(it));
        devices.any(|device| {
            waiter
                .devices
                .iter()
                .any(|own| analysis.lies_on(own, &device.name))
        })
    };
    let others = waiters.into_iter().filter(|it| !has_own_device(it));
    others
        .filter(|it| it.waits_for(&[WaitKind::Read, WaitKind::Unknown]) > 0.0)
        .collect()
}
