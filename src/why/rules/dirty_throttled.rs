//! Writers that wait until dirty memory is written (`balance_dirty_pages`).
//!
//! That a program which writes faster than the device is throttled to the device's speed is right.
//! It is a problem where others are throttled with it, or where the device is slow.

use crate::snapshot::view::HostView;
use crate::stats::sorting::SortList as _;
use crate::units;
use crate::why::analysis::{Analysis, ProcessSummary, Waiter};
use crate::why::blame::parties;
use crate::why::cause::{Cause, Remedy, Severity};
use crate::why::evidence::{BLOCKED, Evidence, Metric, THROUGHPUT, TRAFFIC_SHARE, bytes};
use crate::why::parties::{by_whom, culprit, victim, who_waits};
use crate::why::remedies::pause_of;
use crate::why::rule::{Examination, Rule};
use crate::why::wait_kind::WaitKind;

pub(super) const RULE: Rule = Rule {
    code: "dirty-throttled",
    explains: &[],
    examine,
};

/// Fraction of the time that a writer has to be throttled.
const MIN_THROTTLED: f64 = 0.25;
/// A writer with less than this fraction of all dirtied bytes is throttled because of others.
const VICTIM_SHARE: f64 = 0.5;
/// Fraction of the limit of dirty memory below which no writer is throttled because of the memory
/// as a whole (`dirty_freerun_ceiling` in mm/page-writeback.c: the middle between the background
/// threshold, half of the limit by default, and the limit).
const FREE_RUN: f64 = 0.7;
/// Bytes written per second below which even the only writer is worth a warning.
const SLOW_WRITE: f64 = 20e6;
/// Limit of dirty memory that is enough for a fast device.
const MAX_DIRTY_LIMIT: u64 = 256 * MIB;
/// A smaller limit would keep every device waiting for requests.
const MIN_DIRTY_LIMIT: u64 = 16 * MIB;
const MIB: u64 = 1 << 20;

/// Of the limit from which writers wait, the one from which the kernel writes back is this part.
const BACKGROUND_DIVISOR: u64 = 4;
/// Bytes dirty or under writeback, and those above which writers are throttled.
const DIRTY: Metric = bytes("dirty", "dirty and writeback", "/proc/meminfo");
const DIRTY_LIMIT: Metric = bytes("dirty_limit", "throttled from", "/proc/vmstat");

fn examine(analysis: &Analysis<'_>) -> Examination {
    let waiters = analysis.waiters.iter();
    let throttled: Vec<&Waiter> = waiters
        .filter(|waiter| !waiter.is_kernel_thread && throttled_time(waiter) >= MIN_THROTTLED)
        .collect();
    let causes = cause(analysis, &throttled).into_iter().collect();
    Examination::of(causes, || dirty_evidence(analysis))
}

fn throttled_time(waiter: &Waiter) -> f64 {
    waiter.waits_for(&[WaitKind::DirtyLimit])
}

fn throttle_threshold(host: &HostView) -> Option<f64> {
    host.throttle_threshold_bytes.map(|bytes| bytes as f64)
}

fn unwritten(host: &HostView) -> Option<f64> {
    Some((host.dirty_bytes? + host.writeback_bytes?) as f64)
}

fn dirty_evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let dirty = analysis.mean(unwritten);
    let limit = analysis.mean(throttle_threshold);
    let dirty = dirty.map(|bytes| Evidence::of_machine(DIRTY, bytes));
    let limit = limit.map(|bytes| Evidence::of_machine(DIRTY_LIMIT, bytes));
    dirty.into_iter().chain(limit).collect()
}

/// Limits of dirty memory below the present one. Where that is small already, a smaller one would
/// only make writers wait sooner.
fn lower_limits(analysis: &Analysis<'_>) -> Option<Remedy> {
    let throttled_from = analysis.mean(throttle_threshold)? as u64;
    let limit_bytes = (throttled_from / 2 / MIB * MIB).min(MAX_DIRTY_LIMIT);
    (limit_bytes >= MIN_DIRTY_LIMIT).then(|| {
        Remedy::command(
            format!(
                "sysctl vm.dirty_background_bytes={} vm.dirty_bytes={limit_bytes}",
                limit_bytes / BACKGROUND_DIVISOR
            ),
            "a slow device then holds up less memory, until the next boot; sysctl vm.dirty_background_ratio=10 vm.dirty_ratio=20 sets the kernel's defaults",
        )
    })
}

/// Whether there is so much dirty memory that writers of all devices are throttled: otherwise it is
/// the share of one device that is used up.
fn is_memory_full(analysis: &Analysis<'_>) -> bool {
    let limit = analysis.mean(throttle_threshold);
    let dirty = analysis.mean(unwritten);
    dirty
        .zip(limit)
        .is_none_or(|(dirty, limit)| dirty >= limit * FREE_RUN)
}

/// The processes that fill the memory, who writes most first: those that write to a device that the
/// throttled one uses, unless the memory as a whole is full, or its devices are unknown.
fn writers<'a>(analysis: &'a Analysis<'_>, throttled: &Waiter) -> Vec<&'a ProcessSummary> {
    let is_full = is_memory_full(analysis) || throttled.devices.is_empty();
    let shares_device = |process: &ProcessSummary| {
        let mut devices = process.devices.iter();
        devices.any(|name| throttled.devices.contains(name))
    };
    let processes = analysis.processes.iter();
    let mut writers: Vec<&ProcessSummary> = processes
        .filter(|it| it.write_bytes > 0.0)
        .filter(|it| it.pid == throttled.pid || is_full || shares_device(it))
        .collect();
    writers.sort_list_by(|a, b| b.write_bytes.total_cmp(&a.write_bytes));
    writers
}

fn cause(analysis: &Analysis<'_>, throttled: &[&Waiter]) -> Option<Cause> {
    let first = throttled.first()?;
    let writers = writers(analysis, first);
    let main = writers.first().copied();
    let total: f64 = writers.iter().map(|it| it.write_bytes).sum();
    let share = |pid: u32| {
        let own = writers.iter().find(|it| it.pid == pid);
        own.map_or(0.0, |it| it.write_bytes / total.max(1.0))
    };
    let is_victim = |waiter: &&Waiter| {
        main.is_some_and(|main| main.pid != waiter.pid) && share(waiter.pid) < VICTIM_SHARE
    };
    let victims: Vec<&Waiter> = throttled.iter().copied().filter(is_victim).collect();
    let device = main.and_then(|main| main.devices.first());
    let device = device.or(first.devices.first());
    let written = device.and_then(|name| analysis.device(name));
    let written = written.map(|device| device.write_bytes);
    let is_slow = written.is_some_and(|rate| rate < SLOW_WRITE);
    if victims.is_empty() && !is_slow {
        return None;
    }
    let mut cause = analysis.cause(RULE.code, Severity::Warning).confirmed();
    cause.device = device.cloned();
    let time = throttled_time(first);
    cause.prove(&first.command, BLOCKED, time);
    cause.evidence.extend(dirty_evidence(analysis));
    if let Some(name) = device {
        cause.prove(name, THROUGHPUT, written);
    }
    if let Some(main) = main {
        let share = share(main.pid);
        cause.prove(&main.command, TRAFFIC_SHARE, share);
        cause.culprits = vec![main.party(Some(share))];
        cause.remedies.extend(pause_of(main.pid, analysis));
    }
    cause.victims = parties(if victims.is_empty() {
        throttled
    } else {
        &victims
    });
    cause.remedies.extend(lower_limits(analysis));
    tell(&mut cause, time, written);
    Some(cause)
}

fn tell(cause: &mut Cause, time: f64, written: Option<f64>) {
    let device = cause.device.as_deref().unwrap_or("the device");
    let (who, time) = (victim(cause, "A writer"), units::format_percent(time));
    let written = written.map(units::format_throughput);
    let written = written.map_or_else(String::new, |rate| format!(" at {rate}"));
    let is_own = cause.victims.first().map(|it| it.pid) == cause.culprits.first().map(|it| it.pid);
    let sentence = match cause.culprits.first().filter(|_| !is_own) {
        Some(party) => format!(
            "{who} is throttled {time} of the time because {} fills the memory with data for {device}, which writes{written}.",
            culprit(party)
        ),
        None => format!(
            "{who} is throttled {time} of the time: {device} writes{written} only, and the memory for unwritten data is used up."
        ),
    };
    cause.headline = format!(
        "{} for writeback: the dirty memory of {device} is at its limit{}",
        who_waits(cause),
        by_whom(cause)
    );
    cause.sentence = sentence;
}
