//! Many small flushes: tasks wait for each other's journal commits and for the drive's cache.

use super::prelude::*;

pub(super) use super::prelude::busiest_evidence as evidence;

/// Flushes per second from which they are many, if each of them takes time.
const MANY_FLUSHES: f64 = 20.0;
/// Fraction of the time for which flushes have to be in flight, counted one after the other.
const FLUSHING_TIME: f64 = 0.3;
/// Writes with more bytes than this are no small commits.
const SMALL_WRITE: f64 = 128e3;
/// Tasks that have to wait.
const MIN_WAITING: usize = 2;
/// Latency of a write or a flush in nanoseconds that somebody notices, and one from which a single task that
/// waits for its own flushes has a problem.
const NOTICED: f64 = 0.5e6;
const SLOW_FLUSH: f64 = 20e6;
/// Mean fraction of the time that a task waits for commits from which the kernel's own word proves
/// the cause.
const PROVEN_COMMIT: f64 = 0.2;

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let devices = analysis.whole_devices();
    let causes = devices.filter_map(|device| cause(analysis, device));
    Ok(lowest(analysis, causes.collect()))
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let waiting = analysis.blocked_on(device, SUFFERING);
    let commits = |waiter: &&Waiter| waiter.waits_for(&[WaitKind::Commit]) >= PROVEN_COMMIT;
    let committing: Vec<&Waiter> = waiting.iter().copied().filter(commits).collect();
    let is_proven = committing.len() >= MIN_WAITING;
    let suffering = if is_proven { committing } else { waiting };
    let flushes = device.flushes.unwrap_or(0.0);
    let flush_await = device.flush_await.unwrap_or(0.0);
    let are_noticed = flushes >= MANY_FLUSHES || flush_await >= SLOW_FLUSH;
    let by_flushes = are_noticed && flushes * flush_await / 1e9 >= FLUSHING_TIME;
    let write_size = device.write_bytes / device.write_iops;
    let enough = suffering.len() >= MIN_WAITING || flush_await >= SLOW_FLUSH;
    if suffering.is_empty() || !enough || write_size > SMALL_WRITE || !(by_flushes || is_proven) {
        return None;
    }
    let name = &device.name;
    let is_noticed = flush_await.max(device.write_await.unwrap_or(0.0)) >= NOTICED;
    let cause = analysis.cause(Severity::warning_if(is_noticed));
    let mut cause = cause.on(name).confirmed_if(is_proven);
    cause.prove(name, FLUSHES, flushes);
    cause.prove(name, FLUSH_AWAIT, device.flush_await);
    cause.prove(name, WRITE_AWAIT, device.write_await);
    cause.prove(name, WRITE_SIZE, write_size);
    cause.prove(name, WAITING_TASKS, suffering.len() as f64);
    suffer(&mut cause, &suffering);
    cause.culprits = cause.victims.clone();
    for culprit in &mut cause.culprits {
        culprit.share = None;
    }
    cause.remedies.push(Remedy::advice(
        "combine transactions: group commit of the database, fewer fsync calls; a drive with a protected write cache completes flushes at once",
    ));
    let mut locked = suffering.iter();
    let lock = if locked.any(|it| it.waits_for(&[WaitKind::Lock]) >= SUFFERING) {
        ", some of them for a lock that another holds meanwhile"
    } else {
        ""
    };
    let what = if suffering.len() == 1 {
        format!("waits for the flushes of {name}, each of which takes long")
    } else {
        format!("wait for each other's flushes on {name}{lock}")
    };
    let each = device.flush_await.map(units::format_latency);
    cause.sentence = format!(
        "{} {what}: {} flushes per second{}{}.",
        names(&cause.victims, suffering.len(), ""),
        units::format_count(flushes.round()),
        each.map_or_else(String::new, |each| format!(", {each} each")),
        burst_text(analysis, device)
    );
    Some(cause)
}
