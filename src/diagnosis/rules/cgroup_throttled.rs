//! A control group reaches its I/O limit, and its processes wait.

use std::time::Duration;

use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, Waiter};
use crate::diagnosis::blame::{SUFFERING, parties};
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::diagnosis::wait_kind::WaitKind;
use crate::snapshot::view::{UnitLimit, UnitView};
use crate::transfers::limits::AT_LIMIT;

/// Seconds of a slice of time, in which the kernel lets whole requests pass: of 25 requests per second
/// two in each slice, so that 20 are reached (block/blk-throttle.c, `DFL_THROTL_SLICE_HD` and
/// `tg_within_iops_limit`).
const SLICE: f64 = 0.1;
/// Fraction of the snapshots in which it has to be reached.
const MIN_FRACTION: f64 = 0.5;
/// A wait without a context switch from which a single request exceeds the limit, so that the rate is
/// mostly 0: the kernel holds a request back until the limit permits it as a whole.
const HELD_BACK: Duration = Duration::from_secs(3);
/// Pressure of the group that shows that its processes wait.
const MIN_PRESSURE: f64 = 0.1;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let Some(units) = &analysis.last().units else {
        return Examination::NotExamined(NotExamined::NotReported);
    };
    let limited = || {
        units
            .iter()
            .flat_map(|unit| unit.limits.iter().map(move |limit| (unit, limit)))
    };
    let causes = limited()
        .filter_map(|(unit, limit)| cause(analysis, unit, limit))
        .collect();
    Examination::of(causes, || {
        let usages = limited().filter_map(|(unit, limit)| {
            let usage = mean_usage(analysis, unit, limit)?;
            Some(Measurement::of(&unit.name, Quantity::LimitUsage, usage))
        });
        usages.take(3).collect()
    })
}

/// The uses of a limit in the snapshots.
fn usages<'a>(
    analysis: &'a Analysis<'_>,
    unit: &'a UnitView,
    limit: &'a UnitLimit,
) -> impl Iterator<Item = f64> + 'a {
    analysis.window.snapshots.iter().filter_map(|snapshot| {
        let units = snapshot.units.as_ref()?;
        let same = units.iter().find(|it| it.path == unit.path)?;
        let limit = same.limits.iter().find(|it| it.device == limit.device)?;
        limit.usage
    })
}

fn mean_usage(analysis: &Analysis<'_>, unit: &UnitView, limit: &UnitLimit) -> Option<f64> {
    let values: Vec<f64> = usages(analysis, unit, limit).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The highest use that the slices permit; lower than 1 for a limit of few requests.
fn highest_use(limit: &UnitLimit) -> f64 {
    let limits = [limit.read_ios_per_s, limit.write_ios_per_s];
    let uses = limits.into_iter().flatten().map(|per_second| {
        let fit = per_second as f64 * SLICE;
        if fit < 1.0 { 1.0 } else { fit.floor() / fit }
    });
    uses.fold(1.0, f64::min)
}

/// Whether the group is at its limit in most snapshots.
fn is_reached(analysis: &Analysis<'_>, unit: &UnitView, limit: &UnitLimit) -> bool {
    let values: Vec<f64> = usages(analysis, unit, limit).collect();
    let least = AT_LIMIT * highest_use(limit);
    let reached = values.iter().filter(|usage| **usage >= least).count();
    !values.is_empty() && reached as f64 >= values.len() as f64 * MIN_FRACTION
}

/// A process of the group whose request the limit holds back: it waits for one request all the time,
/// and the device has none in flight. A throttled request is counted as in flight only when the limit
/// has let it pass.
fn held_back<'a>(
    analysis: &'a Analysis<'_>,
    unit: &UnitView,
    limit: &UnitLimit,
) -> Option<&'a Waiter> {
    let device = analysis.device(&limit.device)?;
    let in_device = [
        WaitKind::Read,
        WaitKind::Write,
        WaitKind::Commit,
        WaitKind::Request,
    ];
    analysis.waiters_on(&device.name, SUFFERING).find(|waiter| {
        device.min_in_flight == 0
            && waiter.unit.as_ref() == Some(&unit.name)
            && waiter.is_still_blocked
            && waiter.longest >= HELD_BACK
            && waiter.waits_for(&in_device) > 0.0
    })
}

fn cause(analysis: &Analysis<'_>, unit: &UnitView, limit: &UnitLimit) -> Option<Cause> {
    let held = held_back(analysis, unit, limit);
    if held.is_none() && !is_reached(analysis, unit, limit) {
        return None;
    }
    let waiting: Vec<&Waiter> = analysis
        .waiters
        .iter()
        .filter(|waiter| waiter.blocked >= SUFFERING && waiter.unit.as_ref() == Some(&unit.name))
        .collect();
    let pressed = unit
        .pressure_some
        .is_some_and(|pressure| pressure >= MIN_PRESSURE);
    if waiting.is_empty() && !pressed {
        return None;
    }
    let detail = CauseDetail::CgroupThrottled {
        group: unit.path.clone(),
        unit: unit.name.clone(),
    };
    let mut cause = Cause::new(detail, Severity::Warning, analysis.begin());
    if held.is_none() {
        cause.certainty = Certainty::Confirmed;
    }
    cause.device = Some(limit.device.clone());
    let usage = mean_usage(analysis, unit, limit).unwrap_or(0.0);
    cause.evidence = vec![Measurement::of(&unit.name, Quantity::LimitUsage, usage)];
    let limits = [
        (
            Quantity::LimitBytes,
            limit.read_bytes_per_s.or(limit.write_bytes_per_s),
        ),
        (
            Quantity::LimitIops,
            limit.read_ios_per_s.or(limit.write_ios_per_s),
        ),
    ];
    for (quantity, value) in limits {
        cause
            .evidence
            .extend(value.map(|value| Measurement::of(&unit.name, quantity, value as f64)));
    }
    cause.evidence.extend(
        unit.pressure_some
            .map(|pressure| Measurement::of(&unit.name, Quantity::IoPressure, pressure)),
    );
    cause.evidence.extend(
        waiting
            .first()
            .map(|waiter| Measurement::of(&waiter.command, Quantity::BlockedTime, waiter.blocked)),
    );
    cause.evidence.extend(held.map(|waiter| {
        let slept = waiter.longest.as_nanos() as f64;
        Measurement::of(&waiter.command, Quantity::BlockedFor, slept)
    }));
    cause.victims = parties(&waiting);
    cause.remedies = vec![Remedy::RaiseLimit {
        group: unit.path.clone(),
        unit: unit.belongs_to_system_manager().then(|| unit.name.clone()),
        device: limit.device.clone(),
    }];
    Some(cause)
}
