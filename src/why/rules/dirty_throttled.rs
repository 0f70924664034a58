//! Writers that wait until dirty memory is written (`balance_dirty_pages`).
//!
//! That a program which writes faster than the device is throttled to the device's speed is right.
//! It is a problem where others are throttled with it, or where the device is slow.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::snapshot::view::HostView;

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

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let throttled = analysis
        .blocked(0.0)
        .filter(|it| throttled_time(it) >= MIN_THROTTLED);
    let (dirty, limit) = dirty_memory(analysis);
    let is_full = dirty
        .zip(limit)
        .is_none_or(|(dirty, limit)| dirty >= limit * FREE_RUN);
    // Unless the memory as a whole is full, it is the share of one device that is used up.
    let mut by_device: BTreeMap<Option<&SafeText>, Vec<&Waiter>> = BTreeMap::new();
    for waiter in throttled {
        let device = waiter.devices.first().filter(|_| !is_full);
        by_device.entry(device).or_default().push(waiter);
    }
    let causes = by_device.into_iter();
    let causes = causes.filter_map(|(device, waiters)| cause(analysis, &waiters, device));
    Examination::of(causes.collect(), || dirty_evidence(analysis))
}

fn throttled_time(waiter: &Waiter) -> f64 {
    waiter.waits_for(&[WaitKind::DirtyLimit])
}

/// Dirty memory, and the limit from which writers are throttled, in bytes.
fn dirty_memory(analysis: &Analysis<'_>) -> (Option<f64>, Option<f64>) {
    let unwritten = |host: &HostView| Some((host.dirty_bytes? + host.writeback_bytes?) as f64);
    let limit = |host: &HostView| Some(host.throttle_threshold_bytes? as f64);
    (analysis.mean(unwritten), analysis.mean(limit))
}

fn dirty_evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let (dirty, limit) = dirty_memory(analysis);
    let dirty = dirty.map(|bytes| Evidence::of_machine(DIRTY, bytes));
    let limit = limit.map(|bytes| Evidence::of_machine(DIRTY_LIMIT, bytes));
    dirty.into_iter().chain(limit).collect()
}

/// Limits of dirty memory below the present one. Where that is small already, a smaller one would
/// only make writers wait sooner.
fn lower_limits(analysis: &Analysis<'_>) -> Option<Remedy> {
    let (_, throttled_from) = dirty_memory(analysis);
    let limit_bytes = (throttled_from? as u64 / 2 / MIB * MIB).min(MAX_DIRTY_LIMIT);
    let background = limit_bytes / BACKGROUND_DIVISOR;
    let command =
        format!("sysctl vm.dirty_background_bytes={background} vm.dirty_bytes={limit_bytes}");
    let text = "a slow device then holds up less memory, until the next boot; sysctl vm.dirty_background_ratio=10 vm.dirty_ratio=20 sets the kernel's defaults";
    (limit_bytes >= MIN_DIRTY_LIMIT).then(|| Remedy::command(command, text))
}

/// The processes that fill the memory, who writes most first: of one device those that use it.
fn writers<'a>(
    analysis: &'a Analysis<'_>,
    throttled: &Waiter,
    device: Option<&SafeText>,
) -> Vec<&'a ProcessSummary> {
    let shares_it = |it: &ProcessSummary| device.is_none_or(|name| it.devices.contains(name));
    let processes = analysis.processes.iter();
    let mut writers: Vec<&ProcessSummary> = processes
        .filter(|it| it.write_bytes > 0.0)
        .filter(|it| it.pid == throttled.pid || shares_it(it))
        .collect();
    writers.sort_list_by(|a, b| b.write_bytes.total_cmp(&a.write_bytes));
    writers
}

fn cause(
    analysis: &Analysis<'_>,
    throttled: &[&Waiter],
    device: Option<&SafeText>,
) -> Option<Cause> {
    let first = throttled.first()?;
    let writers = writers(analysis, first, device);
    let main = writers.first().copied();
    let total: f64 = writers.iter().map(|it| it.write_bytes).sum();
    let share = |pid: u32| {
        let own = writers.iter().find(|it| it.pid == pid);
        own.map_or(0.0, |it| it.write_bytes / total.max(1.0))
    };
    let mut victims = throttled.to_vec();
    victims.retain(|waiter| {
        main.is_some_and(|main| main.pid != waiter.pid) && share(waiter.pid) < VICTIM_SHARE
    });
    let device = device.or_else(|| main?.devices.first());
    let device = device.or(first.devices.first());
    let written = device.and_then(|name| analysis.device(name));
    let written = written.map(|device| device.write_bytes);
    let is_slow = written.is_some_and(|rate| rate < SLOW_WRITE);
    if victims.is_empty() && !is_slow {
        return None;
    }
    let mut cause = analysis.cause(Severity::Warning).confirmed();
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
    let own = if victims.is_empty() {
        throttled
    } else {
        &victims
    };
    cause.victims = parties(own);
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
    cause.sentence = match cause.culprits.first().filter(|_| !is_own) {
        Some(party) => format!(
            "{who} is throttled {time} of the time because {} fills the memory with data for {device}, which writes{written}.",
            culprit(party)
        ),
        None => format!(
            "{who} is throttled {time} of the time: {device} writes{written} only, and the memory for unwritten data is used up."
        ),
    };
}
