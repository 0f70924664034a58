//! Writers that wait until dirty memory is written (`balance_dirty_pages`).
//!
//! That a program which writes faster than the device is throttled to the device's speed is right.
//! It is a problem where others are throttled with it, or where the device is slow.

use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, ProcessSummary, Waiter};
use crate::diagnosis::blame::parties;
use crate::diagnosis::cause::{Cause, CauseDetail, Party};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::mitigation::pause_of;
use crate::diagnosis::remedy::Remedy;
use crate::diagnosis::wait_kind::WaitKind;
use crate::snapshot::view::HostView;
use crate::stats::sorting::SortList as _;

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

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let throttled: Vec<&Waiter> = analysis
        .waiters
        .iter()
        .filter(|waiter| waiter.waits_for(&[WaitKind::DirtyLimit]) >= MIN_THROTTLED)
        .filter(|waiter| !waiter.is_kernel_thread)
        .collect();
    let causes = cause(analysis, &throttled).into_iter().collect();
    Examination::of(causes, || dirty_evidence(analysis))
}

fn throttle_threshold(host: &HostView) -> Option<f64> {
    host.throttle_threshold_bytes.map(|bytes| bytes as f64)
}

fn unwritten(host: &HostView) -> Option<f64> {
    Some((host.dirty_bytes? + host.writeback_bytes?) as f64)
}

fn dirty_evidence(analysis: &Analysis<'_>) -> Vec<Measurement> {
    [
        analysis.measure(Quantity::DirtyBytes, unwritten),
        analysis.measure(Quantity::DirtyLimit, throttle_threshold),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Limits of dirty memory below the present one. Where that is small already, a smaller one would
/// only make writers wait sooner.
fn lower_limits(analysis: &Analysis<'_>) -> Option<Remedy> {
    let throttled_from = analysis.mean(throttle_threshold)? as u64;
    let limit_bytes = (throttled_from / 2 / MIB * MIB).min(MAX_DIRTY_LIMIT);
    (limit_bytes >= MIN_DIRTY_LIMIT).then_some(Remedy::LowerDirtyLimits { limit_bytes })
}

/// Whether there is so much dirty memory that writers of all devices are throttled: otherwise it is
/// the share of one device that is used up.
fn is_memory_full(analysis: &Analysis<'_>) -> bool {
    let limit = analysis.mean(throttle_threshold);
    let dirty = analysis.mean(unwritten);
    match (dirty, limit) {
        (Some(dirty), Some(limit)) => dirty >= limit * FREE_RUN,
        _ => true,
    }
}

/// Whether a process writes to a device that the throttled one uses; true where that is unknown.
fn shares_device(process: &ProcessSummary, throttled: &Waiter) -> bool {
    throttled.devices.is_empty()
        || process
            .devices
            .iter()
            .any(|name| throttled.devices.contains(name))
}

fn cause(analysis: &Analysis<'_>, throttled: &[&Waiter]) -> Option<Cause> {
    let first = throttled.first()?;
    let mut writers: Vec<&ProcessSummary> = analysis
        .processes
        .iter()
        .filter(|it| it.write_bytes > 0.0)
        .filter(|it| it.pid == first.pid || is_memory_full(analysis) || shares_device(it, first))
        .collect();
    writers.sort_list_by(|a, b| b.write_bytes.total_cmp(&a.write_bytes));
    let total: f64 = writers.iter().map(|it| it.write_bytes).sum();
    let main = writers.first().copied();
    let share = |pid: u32| {
        let own = writers.iter().find(|it| it.pid == pid);
        own.map_or(0.0, |it| it.write_bytes / total.max(1.0))
    };
    let victims: Vec<&Waiter> = throttled
        .iter()
        .copied()
        .filter(|waiter| {
            main.is_some_and(|main| main.pid != waiter.pid) && share(waiter.pid) < VICTIM_SHARE
        })
        .collect();
    let device = main
        .and_then(|main| main.devices.first())
        .or(first.devices.first());
    let written = device
        .and_then(|name| analysis.device(name))
        .map(|device| device.write_bytes);
    let is_slow = written.is_some_and(|rate| rate < SLOW_WRITE);
    if victims.is_empty() && !is_slow {
        return None;
    }
    let mut cause = Cause::new(
        CauseDetail::DirtyThrottled,
        Severity::Warning,
        analysis.begin(),
    );
    cause.certainty = Certainty::Confirmed;
    cause.device = device.cloned();
    let blocked = first.waits_for(&[WaitKind::DirtyLimit]);
    cause.evidence = vec![Measurement::of(
        &first.command,
        Quantity::BlockedTime,
        blocked,
    )];
    cause.evidence.extend(dirty_evidence(analysis));
    if let (Some(name), Some(written)) = (device, written) {
        cause
            .evidence
            .push(Measurement::of(name, Quantity::Throughput, written));
    }
    if let Some(main) = main {
        cause.evidence.push(Measurement::of(
            &main.command,
            Quantity::TrafficShare,
            share(main.pid),
        ));
        cause.culprits = vec![Party {
            pid: main.pid,
            command: main.command.clone(),
            unit: main.unit.clone(),
            share: Some(share(main.pid)),
        }];
        cause.remedies.extend(pause_of(main.pid, analysis));
    }
    cause.victims = parties(if victims.is_empty() {
        throttled
    } else {
        &victims
    });
    cause.remedies.extend(lower_limits(analysis));
    Some(cause)
}
