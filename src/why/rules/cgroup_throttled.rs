//! A control group reaches its I/O limit, and its processes wait.

use std::time::Duration;

use crate::files::shell;
use crate::snapshot::view::{UnitLimit, UnitView};
use crate::transfers::limits::AT_LIMIT;
use crate::units;
use crate::why::analysis::{Analysis, Waiter};
use crate::why::blame::{SUFFERING, parties};
use crate::why::cause::{Cause, NotExamined, Remedy, Severity};
use crate::why::evidence::{
    BLOCKED, BLOCKED_FOR, Evidence, Metric, Unit, fraction, per_second, rate,
};
use crate::why::parties::{victim, who_waits};
use crate::why::rule::{Examination, Rule};
use crate::why::wait_kind::WaitKind;

pub(super) const RULE: Rule = Rule {
    code: "cgroup-throttled",
    explains: &[
        "dirty-throttled",
        "sync-storm",
        "device-slow",
        "device-saturated",
        "queue-starved",
        "hung-io",
    ],
    examine,
};

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
/// Use of an I/O limit, 1 at the limit.
const LIMIT_USAGE: Metric = fraction("limit_usage", "use of the limit", "io.max, io.stat");
/// I/O limit of a control group in bytes, and in requests.
const LIMIT_BYTES: Metric = rate("limit_bytes", "limit", "io.max");
const LIMIT_IOPS: Metric = per_second("limit_iops", "limit", "io.max");
/// Fraction of time in which at least one task of the group waited for I/O.
const GROUP_PRESSURE: Metric = fraction("io_pressure_some", "PSI io some", "io.pressure");

fn examine(analysis: &Analysis<'_>) -> Examination {
    let Some(units) = &analysis.last().units else {
        let reason = NotExamined::NotReported("control groups are not readable");
        return Examination::NotExamined(reason);
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
            Some(Evidence::of(&unit.name, LIMIT_USAGE, usage))
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
    let mut cause = analysis
        .cause(RULE.code, Severity::Warning)
        .on(&limit.device);
    if held.is_none() {
        cause = cause.confirmed();
    }
    let name = &unit.name;
    let bytes = limit.read_bytes_per_s.or(limit.write_bytes_per_s);
    let requests = limit.read_ios_per_s.or(limit.write_ios_per_s);
    let (bytes, requests) = (bytes.map(|it| it as f64), requests.map(|it| it as f64));
    cause.prove(name, LIMIT_USAGE, mean_usage(analysis, unit, limit));
    cause.prove(name, LIMIT_BYTES, bytes);
    cause.prove(name, LIMIT_IOPS, requests);
    cause.prove(name, GROUP_PRESSURE, unit.pressure_some);
    if let Some(waiter) = waiting.first() {
        cause.prove(&waiter.command, BLOCKED, waiter.blocked);
    }
    if let Some(waiter) = held {
        cause.prove(&waiter.command, BLOCKED_FOR, waiter.longest_ns());
    }
    cause.victims = parties(&waiting);
    cause.remedies = vec![raise_limit(unit, limit)];
    let device = &limit.device;
    let value = bytes.map(units::format_throughput);
    let value = value.or(requests.map(|it| Unit::PerSecond.text(it)));
    let value = value.map_or_else(String::new, |value| format!(" of {value}"));
    cause.sentence = format!(
        "{} waits because {name} has reached its I/O limit on {device}{value}.",
        victim(&cause, name)
    );
    let who = who_waits(&cause);
    cause.headline = format!("{who}: {name} is at its I/O limit on {device}");
    Some(cause)
}

/// A higher limit of the control group, or none.
fn raise_limit(unit: &UnitView, limit: &UnitLimit) -> Remedy {
    let device = &limit.device;
    if !unit.belongs_to_system_manager() {
        return Remedy::advice(format!(
            "raise or remove the limit of {device} in the control group {}: io.max, with version 1 blkio.throttle.*",
            unit.path
        ));
    }
    let properties = [
        "systemctl",
        "show",
        "--property=IOReadBandwidthMax",
        "--property=IOWriteBandwidthMax",
        "--property=IOReadIOPSMax",
        "--property=IOWriteIOPSMax",
        "--",
        unit.name.as_str(),
    ];
    Remedy::command_or(
        shell::command_line(properties),
        format!("the present limits; systemctl set-property raises that of {device}"),
        format!("raise the limit of {device} with systemctl set-property"),
    )
}
