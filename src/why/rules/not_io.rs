//! The processors are the limit, not I/O.

use super::prelude::*;

/// Fraction of the processor time from which the processors are busy,
const BUSY: f64 = 0.9;
/// and of the time in which somebody waits for one, from which it matters.
const WAITING: f64 = 0.4;
/// Fraction of the time in which somebody waits for I/O, up to which I/O is not the limit.
const LITTLE_IO: f64 = 0.2;
/// Share of the processor time from which a process is named.
const MIN_SHARE: f64 = 0.1;
/// Processes that are named at most.
const MAX_PARTIES: usize = 3;

pub(super) fn evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    known_values([
        (CPU_BUSY, analysis.mean(|host| host.cpu_busy)),
        (CPU_PRESSURE, analysis.mean(|host| host.cpu_pressure_some)),
        (IO_PRESSURE, analysis.io_pressure),
        (MEMORY_PRESSURE, analysis.memory_pressure),
    ])
}

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let Some(busy) = analysis.mean(|host| host.cpu_busy) else {
        let reason = "the kernel does not report it";
        return Err(NotExamined::NotReported(reason));
    };
    let waiting = analysis.mean(|host| host.cpu_pressure_some);
    let is_limit = busy >= BUSY && waiting.is_none_or(|share| share >= WAITING);
    if !is_limit || analysis.io_pressure >= Some(LITTLE_IO) {
        return Ok(Vec::new());
    }
    // Who uses the processors makes nobody wait for I/O.
    let mut cause = analysis.proven(Severity::Note);
    cause.evidence = evidence(analysis);
    cause.culprits = processor_users(analysis);
    let most = cause.culprits.first().map(|party| {
        let share = units::format_percent(party.share.unwrap_or(0.0));
        format!("; {} uses {share} of what is used", party.name())
    });
    cause.sentence = format!(
        "The processors are the limit, not I/O: {} busy{}.",
        units::format_percent(busy),
        most.unwrap_or_default()
    );
    cause.remedies.push(processor_users_command());
    Ok(vec![cause])
}

/// Who uses the processors. ps(1) divides by the time since the start of a process, and so does the
/// first list of top(1).
pub(in crate::why) fn processor_users_command() -> Remedy {
    Remedy::command(
        "top -b -d 2 -n 2 -o %CPU | awk '$1 == \"PID\" { lists++ } lists == 2' | head | cat -v",
        "who uses the processors, in two seconds",
    )
}

/// Who used most processor time between the first and the last scan, with its share in that of all.
fn processor_users(analysis: &Analysis<'_>) -> Vec<Party> {
    let [first, .., last] = &analysis.window.scans[..] else {
        return Vec::new();
    };
    let ticks = last.processes.iter().map(|(pid, process)| {
        let before = first.processes.get(pid);
        let before = before.filter(|it| it.start_ticks == process.start_ticks);
        let before = before.map_or(0, |it| it.cpu_ticks);
        (*pid, process.cpu_ticks.saturating_sub(before) as f64)
    });
    let total: f64 = ticks.clone().map(|(_, ticks)| ticks).sum();
    let users = ticks.filter(|(_, ticks)| *ticks > 0.0 && *ticks >= total * MIN_SHARE);
    let mut users: Vec<Party> = users
        .map(|(pid, ticks)| Party {
            share: Some(ticks / total),
            ..analysis.party(pid)
        })
        .collect();
    users.sort_list_by(|a, b| b.share.unwrap_or(0.0).total_cmp(&a.share.unwrap_or(0.0)));
    users.truncate(MAX_PARTIES);
    users
}
