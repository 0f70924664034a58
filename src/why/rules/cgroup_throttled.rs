//! A control group reaches its I/O limit, and its processes wait.

use std::time::Duration;

use super::prelude::*;
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
/// What a task waits for whose request is held back.
const IN_DEVICE: [WaitKind; 4] = [
    WaitKind::Read,
    WaitKind::Write,
    WaitKind::Commit,
    WaitKind::Request,
];
/// Pressure of the group that shows that its processes wait.
const MIN_PRESSURE: f64 = 0.1;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let Some(units) = &analysis.last.units else {
        let reason = NotExamined::NotReported("control groups are not readable");
        return Examination::NotExamined(reason);
    };
    let limits = |unit: &'_ UnitView| unit.limits.clone().into_iter();
    let limited = || {
        units
            .iter()
            .flat_map(|unit| limits(unit).map(move |it| (unit, it)))
    };
    let causes = limited().filter_map(|(unit, limit)| cause(analysis, unit, &limit));
    Examination::of(causes.collect(), || {
        let usages = limited().filter_map(|(unit, limit)| {
            let uses = uses(analysis, unit, &limit);
            let most = uses.into_iter().reduce(f64::max)?;
            Some(Evidence::of(&unit.name, metrics(analysis)[0], most))
        });
        usages.take(3).collect()
    })
}

/// Use of a limit, a limit of bytes, and one of requests.
fn metrics(analysis: &Analysis<'_>) -> [Metric; 3] {
    if analysis.is_first_version {
        [LIMIT_USAGE_V1, LIMIT_BYTES_V1, LIMIT_IOPS_V1]
    } else {
        [LIMIT_USAGE, LIMIT_BYTES, LIMIT_IOPS]
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

/// Whether a limit is reached in most snapshots. The slices do not permit the whole use of a limit of few
/// requests.
fn is_reached(uses: &[f64], limit: &UnitLimit) -> bool {
    let limits = [limit.read_ios_per_s, limit.write_ios_per_s];
    let permitted = limits.into_iter().flatten().map(|per_second| {
        let fit = per_second as f64 * SLICE;
        if fit < 1.0 { 1.0 } else { fit.floor() / fit }
    });
    let least = AT_LIMIT * permitted.fold(1.0, f64::min);
    let reached = uses.iter().filter(|usage| **usage >= least).count();
    !uses.is_empty() && reached as f64 >= uses.len() as f64 * MIN_FRACTION
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
    let waiting = analysis.blocked_on(device, SUFFERING).into_iter();
    let mut waiting = waiting.filter(|_| device.min_in_flight == 0);
    waiting.find(|waiter| {
        waiter.unit.as_ref() == Some(&unit.name)
            && waiter.asleep >= HELD_BACK
            && waiter.waits_for(&IN_DEVICE) > 0.0
    })
}

fn cause(analysis: &Analysis<'_>, unit: &UnitView, limit: &UnitLimit) -> Option<Cause> {
    let (name, device) = (&unit.name, &limit.device);
    let uses = uses(analysis, unit, limit);
    let held = held_back(analysis, unit, limit);
    let own = |waiter: &&Waiter| waiter.unit.as_ref() == Some(name);
    let waiting: Vec<&Waiter> = analysis.blocked(SUFFERING).filter(own).collect();
    let is_pressed = unit
        .pressure_some
        .is_some_and(|pressure| pressure >= MIN_PRESSURE);
    let waits = !waiting.is_empty() || is_pressed;
    if !waits || held.is_none() && !is_reached(&uses, limit) {
        return None;
    }
    let cause = analysis.cause(Severity::Warning).on(device);
    let mut cause = cause.confirmed_if(held.is_none());
    let bytes = limit.read_bytes_per_s.or(limit.write_bytes_per_s);
    let requests = limit.read_ios_per_s.or(limit.write_ios_per_s);
    let (bytes, requests) = (bytes.map(|it| it as f64), requests.map(|it| it as f64));
    let usage = uses.iter().sum::<f64>() / uses.len() as f64;
    let [usage_metric, bytes_metric, requests_metric] = metrics(analysis);
    cause.prove(name, usage_metric, usage);
    cause.prove(name, bytes_metric, bytes);
    cause.prove(name, requests_metric, requests);
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
        victim(&cause, name)
    );
    Some(cause)
}

/// A higher limit of the control group, or none.
fn raise_limit(analysis: &Analysis<'_>, unit: &UnitView, limit: &UnitLimit) -> Vec<Remedy> {
    let device = &limit.device;
    let mut drives = analysis.last.drives.iter();
    let number = drives.find(|drive| drive.name == device.as_str());
    let number = number.map(|drive| format!("{}:{}", drive.number.0, drive.number.1));
    let files = if analysis.is_first_version {
        let limits = [
            (limit.read_bytes_per_s, "read_bps"),
            (limit.write_bytes_per_s, "write_bps"),
            (limit.read_ios_per_s, "read_iops"),
            (limit.write_ios_per_s, "write_iops"),
        ];
        let set = limits.into_iter().filter(|(limit, _)| limit.is_some());
        set.map(|(_, name)| {
            (
                format!("blkio/{}/blkio.throttle.{name}_device", unit.path),
                "0",
            )
        })
        .collect()
    } else {
        let nothing = "rbps=max wbps=max riops=max wiops=max";
        vec![(format!("{}/io.max", unit.path), nothing)]
    };
    let remove = |(file, value): (String, &str)| {
        let file = SafeText::from(format!("/sys/fs/cgroup/{file}").replace("//", "/"));
        let path = exact_path(&file).and_then(shell::quote_word);
        let command = path.zip(number.as_ref());
        Remedy::command_or(
            command.map(|(path, number)| format!("echo '{number} {value}' > {path}")),
            format!("removes the limit of {device}, until the group is made anew"),
            format!("raise or remove the limit of {device} in {file}"),
        )
    };
    files.into_iter().map(remove).collect()
}
