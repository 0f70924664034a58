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
/// Limit of dirty memory in bytes that is enough for a fast device.
const ENOUGH_DIRTY: u64 = 256 << 20;
/// Of the limit from which writers wait, the one from which the kernel writes back is this part.
const BACKGROUND_DIVISOR: u64 = 4;

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let blocked = analysis.blocked(0.0);
    let throttled = blocked.filter(|it| throttled_time(it) >= MIN_THROTTLED);
    let is_full = match dirty_memory(analysis) {
        (Some(dirty), Some(limit)) => dirty >= limit * FREE_RUN,
        _ => true,
    };
    // Unless the memory as a whole is full, it is the share of one device that is used up.
    let mut by_device: BTreeMap<Option<&SafeText>, Vec<&Waiter>> = BTreeMap::new();
    for waiter in throttled {
        let device = waiter.devices.first().filter(|_| !is_full);
        by_device.entry(device).or_default().push(waiter);
    }
    let causes = by_device.into_iter();
    let causes = causes.filter_map(|(device, waiters)| cause(analysis, &waiters, device));
    Ok(causes.collect())
}

pub(super) fn evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let (dirty, limit) = dirty_memory(analysis);
    known_values([(DIRTY, dirty), (DIRTY_LIMIT, limit)])
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

/// A lower limit of dirty memory. Where it is small already, that would only make writers wait sooner.
fn lower_limit(analysis: &Analysis<'_>) -> Option<Remedy> {
    let (_, throttled_from) = dirty_memory(analysis);
    let background = ENOUGH_DIRTY / BACKGROUND_DIVISOR;
    let command =
        format!("sysctl vm.dirty_background_bytes={background} vm.dirty_bytes={ENOUGH_DIRTY}");
    let text = "a slow device then holds up less memory, until the next boot; sysctl vm.dirty_background_ratio=10 vm.dirty_ratio=20 sets the kernel's defaults";
    let is_large = throttled_from >= Some(2.0 * ENOUGH_DIRTY as f64);
    is_large.then(|| Remedy::command(command, text))
}

/// The processes that fill the memory with their shares, who writes most first: of one device those that use
/// it.
fn writers(analysis: &Analysis<'_>, throttled: &Waiter, device: Option<&SafeText>) -> Vec<Party> {
    let shares_it = |it: &ProcessSummary| device.is_none_or(|name| it.devices.contains(name));
    let processes = analysis.processes.iter();
    let mut writers: Vec<&ProcessSummary> = processes
        .filter(|it| it.write_bytes > 0.0)
        .filter(|it| it.pid == throttled.pid || shares_it(it))
        .collect();
    writers.sort_list_by(|a, b| b.write_bytes.total_cmp(&a.write_bytes));
    let total: f64 = writers.iter().map(|it| it.write_bytes).sum();
    let share = |it: &ProcessSummary| it.write_bytes / total.max(1.0);
    writers
        .into_iter()
        .map(|it| it.party(Some(share(it))))
        .collect()
}

fn cause(
    analysis: &Analysis<'_>,
    throttled: &[&Waiter],
    device: Option<&SafeText>,
) -> Option<Cause> {
    let first = throttled.first()?;
    let writers = writers(analysis, first, device);
    let main = writers.first();
    let is_minor = |pid| {
        let own = writers.iter().find(|it| it.pid == pid);
        main.is_some_and(|it| it.pid != pid) && own.is_none_or(|it| it.share < Some(VICTIM_SHARE))
    };
    let others = throttled.iter().copied().filter(|it| is_minor(it.pid));
    let others: Vec<&Waiter> = others.collect();
    let of_main = main.and_then(|it| analysis.process(it.pid)?.devices.first());
    let device = device.or(of_main).or(first.devices.first());
    let summary = device.and_then(|name| analysis.device(name));
    let written = summary.map(|device| device.write_bytes);
    if others.is_empty() && written.is_none_or(|rate| rate >= SLOW_WRITE) {
        return None;
    }
    let mut cause = analysis.proven(Severity::Warning);
    cause.device = device.cloned();
    cause.prove(&first.command, BLOCKED, throttled_time(first));
    cause.evidence.extend(evidence(analysis));
    if let Some(name) = device {
        cause.prove(name, THROUGHPUT, written);
    }
    if let Some(main) = main {
        cause.prove(&main.command, TRAFFIC_SHARE, main.share);
        cause.culprits = vec![main.clone()];
        cause.remedies.extend(pause_of(main.pid, analysis));
    }
    cause.victims = parties(if others.is_empty() {
        throttled
    } else {
        &others
    });
    cause.remedies.extend(lower_limit(analysis));
    tell(&mut cause, throttled_time(first), written);
    Some(cause)
}

fn tell(cause: &mut Cause, time: f64, written: Option<f64>) {
    let device = cause.device.as_deref().unwrap_or("the device");
    let (who, time) = (cause.victim("A writer"), units::format_percent(time));
    let written = written.map(units::format_throughput);
    let written = written.map_or_else(String::new, |rate| format!(" at {rate}"));
    let is_own = cause.victims.first().map(|it| it.pid) == cause.culprits.first().map(|it| it.pid);
    cause.sentence = match cause.culprits.first().filter(|_| !is_own) {
        Some(party) => format!(
            "{who} is throttled {time} of the time because {} fills the memory with data for {device}, which writes{written}.",
            party.identity()
        ),
        None => format!(
            "{who} is throttled {time} of the time: {device} writes{written} only, and the memory for unwritten data is used up."
        ),
    };
}
