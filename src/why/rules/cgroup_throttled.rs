//! A control group reaches its I/O limit, and its processes wait.

use std::time::Duration;

use super::prelude::*;
use crate::snapshot::view::{UnitLimit, UnitView};
use crate::transfers::limits::AT_LIMIT;

/// A limit of fewer requests per second is reached from this use: the kernel lets whole requests pass in slices
/// of 100 ms, of 29 per second two in each (block/blk-throttle.c, `tg_within_iops_limit`).
const FEW_REQUESTS: u64 = 50;
const AT_LIMIT_OF_FEW: f64 = 0.65;
/// Fraction of the snapshots in which it has to be reached.
const MIN_FRACTION: f64 = 0.5;
/// A wait without a context switch from which a single request exceeds the limit, so that the rate is
/// mostly 0: the kernel holds a request back until the limit permits it as a whole.
const HELD_BACK: Duration = Duration::from_secs(3);
/// Pressure of the group that shows that its processes wait.
const MIN_PRESSURE: f64 = 0.1;

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    if analysis.last.units.is_none() {
        let reason = "control groups are not readable";
        return Err(NotExamined::NotReported(reason));
    }
    let mut causes = Vec::new();
    for unit in analysis.last.units.iter().flatten() {
        let limits = unit.limits.iter();
        causes.extend(limits.filter_map(|limit| cause(analysis, unit, limit)));
    }
    Ok(causes)
}

/// The largest use of a limit.
pub(super) fn evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let units = analysis.last.units.iter().flatten();
    let used = units.flat_map(|unit| {
        unit.limits
            .iter()
            .filter_map(move |it| Some((unit, it.usage?)))
    });
    let most = used.max_by(|a, b| a.1.total_cmp(&b.1));
    let metric = of_version(analysis, LIMIT_USAGE);
    let most = most.map(|(unit, usage)| Evidence::of(&unit.name, metric, usage));
    most.into_iter().collect()
}

/// A metric of a limit, with the files that this version of control groups has.
fn of_version(analysis: &Analysis<'_>, metric: Metric) -> Metric {
    if analysis.is_first_version {
        metric.read_from("blkio.throttle.*")
    } else {
        metric
    }
}

/// The uses of a limit in the snapshots.
fn uses(analysis: &Analysis<'_>, unit: &UnitView, limit: &UnitLimit) -> Vec<f64> {
    let snapshots = analysis.window.snapshots.iter();
    let uses = snapshots.filter_map(|snapshot| {
        let mut units = snapshot.units.iter().flatten();
        let same = units.find(|it| it.path == unit.path)?;
        let limit = same.limits.iter().find(|it| it.device == limit.device)?;
        limit.usage
    });
    uses.collect()
}

fn cause(analysis: &Analysis<'_>, unit: &UnitView, limit: &UnitLimit) -> Option<Cause> {
    let (name, device) = (&unit.name, &limit.device);
    let uses = uses(analysis, unit, limit);
    let own = |waiter: &&Waiter| waiter.unit.as_ref() == Some(name);
    let waiting: Vec<&Waiter> = analysis.blocked(SUFFERING).filter(own).collect();
    // A process waits for one request all the time, and the device has none in flight: a throttled request
    // is counted as in flight only when the limit has let it pass.
    let summary = analysis.device(device).filter(|it| it.min_in_flight == 0);
    let is_held = |waiter: &&&Waiter| {
        summary.is_some_and(|it| analysis.is_on(&waiter.devices, it))
            && waiter.asleep >= HELD_BACK
            && waiter.waits_for(&AT_DEVICE) > 0.0
    };
    let held = waiting.iter().find(is_held);
    let is_pressed = unit.pressure_some >= Some(MIN_PRESSURE);
    let waits = !waiting.is_empty() || is_pressed;
    let requests = limit.read_ios_per_s.or(limit.write_ios_per_s);
    let is_of_few = requests.is_some_and(|it| it < FEW_REQUESTS);
    let least = if is_of_few { AT_LIMIT_OF_FEW } else { AT_LIMIT };
    let reached = uses.iter().filter(|usage| **usage >= least).count();
    let is_reached = reached > 0 && reached as f64 >= uses.len() as f64 * MIN_FRACTION;
    if !waits || held.is_none() && !is_reached {
        return None;
    }
    let cause = analysis.cause(Severity::Warning).on(device);
    let mut cause = cause.confirmed_if(held.is_none());
    let bytes = limit.read_bytes_per_s.or(limit.write_bytes_per_s);
    let (bytes, requests) = (bytes.map(|it| it as f64), requests.map(|it| it as f64));
    let usage = uses.iter().sum::<f64>() / uses.len() as f64;
    cause.prove(name, of_version(analysis, LIMIT_USAGE), usage);
    cause.prove(name, of_version(analysis, LIMIT_BYTES), bytes);
    cause.prove(name, of_version(analysis, LIMIT_IOPS), requests);
    cause.prove(name, GROUP_PRESSURE, unit.pressure_some);
    suffer(&mut cause, &waiting);
    if let Some(waiter) = held {
        analysis.prove_sleep(&mut cause, waiter);
    }
    cause.remedies = raise_limit(analysis, unit, limit);
    let value = bytes.map(units::format_throughput);
    let value = value.or(requests.map(|it| Unit::PerSecond.text(it)));
    let value = value.map_or_else(String::new, |value| format!(" of {value}"));
    cause.sentence = format!(
        "{} waits because {name} has reached its I/O limit on {device}{value}.",
        cause.victim(name)
    );
    Some(cause)
}

/// No limit of the control group for that device.
fn raise_limit(analysis: &Analysis<'_>, unit: &UnitView, limit: &UnitLimit) -> Vec<Remedy> {
    let device = &limit.device;
    let number = analysis.drive(device).map(|drive| drive.number);
    let of_first_version = [
        (limit.read_bytes_per_s, "read_bps"),
        (limit.write_bytes_per_s, "write_bps"),
        (limit.read_ios_per_s, "read_iops"),
        (limit.write_ios_per_s, "write_iops"),
    ];
    let files: Vec<(String, &str)> = if analysis.is_first_version {
        let set = of_first_version.iter().filter(|(limit, _)| limit.is_some());
        let file = |name| format!("blkio/{}/blkio.throttle.{name}_device", unit.path);
        set.map(|(_, name)| (file(name), "0")).collect()
    } else {
        let nothing = "rbps=max wbps=max riops=max wiops=max";
        vec![(format!("{}/io.max", unit.path), nothing)]
    };
    let remove = |(file, value): (String, &str)| {
        let file = SafeText::from(format!("/sys/fs/cgroup/{file}").replace("//", "/"));
        let path = exact_path(&file).and_then(shell::quote_word)?;
        let (major, minor) = number?;
        Some(Remedy::command(
            format!("echo '{major}:{minor} {value}' > {path}"),
            format!("removes the limit of {device}, until the group is made anew"),
        ))
    };
    files.into_iter().filter_map(remove).collect()
}
