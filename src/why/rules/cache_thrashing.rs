//! Files are dropped from the page cache and read again shortly afterwards.

use std::collections::{BTreeMap, BTreeSet};

use super::group_limits::{at_memory_limit, memory_text};
use super::prelude::*;
use crate::snapshot::view::HostView;

/// Bytes per second that are read again,
const MIN_REFAULTS: f64 = 10e6;
/// in this fraction of the snapshots,
const MIN_FRACTION: f64 = 0.4;
/// while tasks wait for memory for this fraction of the time. Reading large files once makes no
/// refaults, and refaults without waiting tasks do no harm.
const MIN_PRESSURE: f64 = 0.05;
/// Bytes per second from which files go round whatever the memory pressure is: the kernel counts a
/// wait as memory pressure only for pages that were in active use when they were dropped, and
/// read-ahead brings most pages of a file that is read in order; what remains is a wait for I/O
/// (mm/filemap.c, `folio_wait_bit_common`),
const HEAVY_REFAULTS: f64 = 50e6;
/// for which tasks wait this fraction of the time.
const HEAVY_IO_PRESSURE: f64 = 0.05;
/// Fraction of what is read from devices that has to be read again: a copy of a large file drops some pages
/// of others.
const MOST_READS: f64 = 0.5;
/// The parent of all threads of the kernel, which read for others.
const KERNEL_THREAD_PARENT: u32 = 2;
/// Readers that are named at most.
const MAX_READERS: usize = 2;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let refaults = |host: &HostView| host.refault_bytes_per_s;
    let Some(mean) = analysis.mean(refaults) else {
        let reason = NotExamined::NotReported("/proc/vmstat is not readable");
        return Examination::NotExamined(reason);
    };
    let pressure = analysis.mean(|host| host.memory_pressure_some);
    let io = analysis.mean(|host| host.pressure_some);
    // A task that waits less than that for files or memory is not harmed.
    let waiters = analysis.waiters.iter();
    let waits = waiters.map(|it| it.waits_for(&[WaitKind::Read, WaitKind::Memory]));
    let is_harmful = !analysis.window.has_blocked_tasks() || waits.sum::<f64>() >= SUFFERING;
    let mut cause = analysis.cause(Severity::warning_if(is_harmful));
    cause.prove_of_machine(REFAULTS, mean);
    cause.prove_of_machine(MEMORY_PRESSURE, pressure);
    let lowest = analysis
        .whole_devices()
        .filter(|it| it.underlying.is_empty());
    let read: f64 = lowest.map(|device| device.read_bytes).sum();
    let is_most = mean >= read * MOST_READS;
    let often = analysis.fraction_at_least(refaults, MIN_REFAULTS) >= MIN_FRACTION;
    let waits_for_memory = pressure.is_some_and(|it| it >= MIN_PRESSURE);
    let waits_for_files = mean >= HEAVY_REFAULTS && io.is_some_and(|it| it >= HEAVY_IO_PRESSURE);
    let group = at_memory_limit(analysis);
    let members_wait = group.as_ref().is_some_and(|group| {
        let mut blocked = analysis.blocked(SUFFERING);
        blocked.any(|it| group.group.pids.contains(&it.pid))
    });
    if !often || !is_most || !(waits_for_memory || waits_for_files || members_wait) {
        return Examination::RuledOut(cause.evidence);
    }
    cause.victims = readers(analysis, group.as_ref().map(|it| &it.group.pids[..]));
    if let Some(group) = &group {
        group.prove_memory(&mut cause);
        cause.remedies.push(group.raise_memory());
    }
    let mut cause = cause.confirmed_if(group.is_some() || waits_for_memory);
    cause.remedies.push(memory_users());
    let most = names(&cause.victims, 0);
    let most = most.map_or_else(String::new, |who| format!(", most by {who}"));
    let probably = match cause.certainty {
        Certainty::Confirmed => "",
        Certainty::Probable => "probably ",
    };
    cause.sentence = format!(
        "Files are read again that were dropped from the page cache shortly before, {} in all{most}, because {} is {probably}too small for what is read.",
        units::format_throughput(mean),
        memory_text(group.as_ref())
    );
    Examination::Found(vec![cause])
}

/// Who reads most, of these processes if there are any: it reads what it had before. A process that is gone
/// at the end counts for the one that started it: nobody can do anything about the process itself.
fn readers(analysis: &Analysis<'_>, members: Option<&[u32]>) -> Vec<Party> {
    let alive = analysis.last.processes.iter().filter(|it| !it.exited);
    let alive: BTreeSet<u32> = alive.map(|it| it.pid).collect();
    let mut bytes: BTreeMap<u32, f64> = BTreeMap::new();
    let mut with_ended: BTreeSet<u32> = BTreeSet::new();
    for snapshot in &analysis.window.snapshots {
        let seconds = snapshot.interval.map_or(0.0, |it| it.as_secs_f64());
        let whole = snapshot.processes.iter().filter(|it| it.tid == it.pid);
        for view in whole.filter(|it| it.parent_pid != KERNEL_THREAD_PARENT) {
            let read = view.read_bytes_per_s.unwrap_or(0.0) * seconds;
            let mut named = [view.pid, view.parent_pid].into_iter();
            let named = named.find(|pid| *pid > 1 && alive.contains(pid));
            if let Some(pid) = named.filter(|_| read > 0.0) {
                *bytes.entry(pid).or_default() += read;
                with_ended.extend((pid != view.pid).then_some(pid));
            }
        }
    }
    let blocked = |pid: u32| Some(analysis.waiters.iter().find(|it| it.pid == pid)?.blocked);
    // Who has ended was seldom seen to wait.
    bytes.retain(|pid, _| match members {
        Some(members) => members.contains(pid),
        None => blocked(*pid).is_some() || with_ended.contains(pid),
    });
    let mut readers: Vec<(u32, f64)> = bytes.into_iter().collect();
    readers.sort_list_by(|a, b| b.1.total_cmp(&a.1));
    let most = readers.into_iter().take(MAX_READERS);
    most.filter_map(|(pid, _)| Some(analysis.process(pid)?.party(blocked(pid))))
        .collect()
}
