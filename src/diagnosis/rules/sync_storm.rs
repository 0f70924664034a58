//! Many small flushes: tasks wait for each other's journal commits and for the drive's cache.

use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, DeviceSummary, Waiter};
use crate::diagnosis::blame::{SUFFERING, parties};
use crate::diagnosis::cause::{Cause, CauseDetail};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::diagnosis::wait_kind::WaitKind;

/// Flushes per second from which they are many, if each of them takes time.
const MANY_FLUSHES: f64 = 20.0;
/// Fraction of the time for which flushes have to be in flight, counted one after the other.
const FLUSHING_TIME: f64 = 0.3;
/// Writes with more bytes than this are no small commits.
const SMALL_WRITE: f64 = 128e3;
/// Tasks that have to wait.
const MIN_WAITING: usize = 2;
/// Mean fraction of the time that a task waits for commits from which the kernel's own word proves
/// the cause.
const PROVEN_COMMIT: f64 = 0.2;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let causes = analysis
        .whole_devices()
        .filter_map(|device| cause(analysis, device))
        .collect();
    Examination::of_devices(analysis, causes, || {
        let most = analysis.devices.iter().max_by(|a, b| {
            a.flushes
                .unwrap_or(0.0)
                .total_cmp(&b.flushes.unwrap_or(0.0))
        });
        most.and_then(|device| {
            Some(Measurement::of(
                &device.name,
                Quantity::FlushRate,
                device.flushes?,
            ))
        })
        .into_iter()
        .collect()
    })
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let waiting: Vec<&Waiter> = analysis.waiters_on(&device.name, SUFFERING).collect();
    let committing: Vec<&Waiter> = waiting
        .iter()
        .copied()
        .filter(|waiter| waiter.waits_for(&[WaitKind::Commit]) >= PROVEN_COMMIT)
        .collect();
    let flushes = device.flushes.unwrap_or(0.0);
    let flushing = flushes * device.flush_await.unwrap_or(0.0) / 1e9;
    let by_flushes = flushes >= MANY_FLUSHES && flushing >= FLUSHING_TIME;
    let small = device.write_size.is_none_or(|size| size <= SMALL_WRITE);
    let suffering = if committing.len() >= MIN_WAITING {
        &committing
    } else {
        &waiting
    };
    let is_storm =
        suffering.len() >= MIN_WAITING && small && (by_flushes || committing.len() >= MIN_WAITING);
    if !is_storm {
        return None;
    }
    let mut cause = Cause::new(CauseDetail::SyncStorm, Severity::Warning, analysis.begin());
    if committing.len() >= MIN_WAITING {
        cause.certainty = Certainty::Confirmed;
    }
    cause.device = Some(device.name.clone());
    let name = &device.name;
    cause.evidence = vec![Measurement::of(name, Quantity::FlushRate, flushes)];
    let more = [
        (Quantity::FlushAwait, device.flush_await),
        (Quantity::WriteAwait, device.write_await),
        (Quantity::WriteSize, device.write_size),
    ];
    cause.evidence.extend(
        more.into_iter()
            .filter_map(|(quantity, value)| Some(Measurement::of(name, quantity, value?))),
    );
    cause.evidence.push(Measurement::of(
        name,
        Quantity::WaitingTasks,
        suffering.len() as f64,
    ));
    cause.evidence.push(Measurement::of(
        &suffering[0].command,
        Quantity::BlockedTime,
        suffering[0].blocked,
    ));
    cause.victims = parties(suffering);
    cause.culprits = parties(suffering);
    for culprit in &mut cause.culprits {
        culprit.share = None;
    }
    cause.remedies = vec![Remedy::GroupCommits];
    Some(cause)
}
