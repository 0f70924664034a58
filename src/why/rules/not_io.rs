//! The processors or the memory are the limit, not I/O.

use super::prelude::*;

/// Fraction of the processor time from which the processors are busy,
const BUSY: f64 = 0.9;
/// and of the time in which somebody waits for one, from which it matters.
const WAITING: f64 = 0.4;
/// Fraction of the time in which somebody waits for I/O, up to which I/O is not the limit.
const LITTLE_IO: f64 = 0.2;
/// Fraction of the time in which somebody waits for memory, from which memory is the limit.
const MEMORY: f64 = 0.3;
/// Share of the processor time from which a process is named.
const MIN_SHARE: f64 = 0.1;
/// Processes that are named at most.
const MAX_PARTIES: usize = 3;

pub(super) fn evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    known_values([
        (CPU_BUSY, analysis.mean(|host| host.cpu_busy)),
        (CPU_PRESSURE, analysis.mean(|host| host.cpu_pressure_some)),
        (IO_PRESSURE, analysis.mean(|host| host.pressure_some)),
        (
            MEMORY_PRESSURE,
            analysis.mean(|host| host.memory_pressure_some),
        ),
    ])
}

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let Some(busy) = analysis.mean(|host| host.cpu_busy) else {
        let reason = NotExamined::NotReported("the kernel does not report it");
        return Err(reason);
    };
    let processors = analysis.mean(|host| host.cpu_pressure_some);
    let memory = analysis.mean(|host| host.memory_pressure_some);
    let io = analysis.mean(|host| host.pressure_some);
    let by_processors = busy >= BUSY && processors.is_none_or(|share| share >= WAITING);
    let by_memory = memory.filter(|share| *share >= MEMORY);
    if io >= Some(LITTLE_IO) || !by_processors && by_memory.is_none() {
        return Ok(Vec::new());
    }
    // Who uses the processors makes nobody wait for I/O.
    let mut cause = analysis.proven(Severity::warning_if(!by_processors));
    cause.evidence = evidence(analysis);
    let percent = units::format_percent;
    if by_processors {
        cause.culprits = processor_users(analysis);
        let most = cause.culprits.first().map_or_else(String::new, |party| {
            let share = percent(party.share.unwrap_or(0.0));
            format!("; {} uses {share} of what is used", party.name())
        });
        let busy = percent(busy);
        cause.sentence = format!("The processors are the limit, not I/O: {busy} busy{most}.");
        cause.remedies.push(processor_users_command());
    } else {
        let time = percent(memory.unwrap_or(0.0));
        cause.sentence =
            format!("The memory is the limit, not I/O: tasks wait for it {time} of the time.");
        cause.remedies.push(memory_users());
    }
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
