//! Files are dropped from the page cache and read again shortly afterwards.

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
/// Share of all that is read, from which it is the machine's memory that is too small: beside a stream of new
/// files, a few pages of earlier ones come back on every machine.
const MIN_SHARE: f64 = 0.5;
/// Readers that are named at most.
const MAX_READERS: usize = 2;

fn refaults(host: &HostView) -> Option<f64> {
    host.refault_bytes_per_s
}

pub(super) fn evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    known_values([
        (REFAULTS, analysis.mean(refaults)),
        (MEMORY_PRESSURE, analysis.memory_pressure),
    ])
}

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let Some(mean) = analysis.mean(refaults) else {
        return Err(NotExamined::NotReported("/proc/vmstat is not readable"));
    };
    let often = analysis.fraction_at_least(refaults, MIN_REFAULTS) >= MIN_FRACTION;
    let waits_for_memory = analysis.memory_pressure >= Some(MIN_PRESSURE);
    let waits_for_io = analysis.io_pressure >= Some(HEAVY_IO_PRESSURE);
    let waits_for_files = mean >= HEAVY_REFAULTS && waits_for_io;
    let group = at_memory_limit(analysis);
    let members = group.as_ref().map(|it| &it.group.pids[..]);
    let is_member = |pid| members.is_some_and(|pids| pids.contains(&pid));
    let members_wait = analysis.blocked(SUFFERING).any(|it| is_member(it.pid));
    let read: f64 = analysis.lowest_devices().map(|it| it.read_bytes).sum();
    let is_much = group.is_some() || mean >= read * MIN_SHARE;
    if !often || !is_much || !(waits_for_memory || waits_for_files || members_wait) {
        return Ok(Vec::new());
    }
    // A task that waits less than that for files or memory is not harmed.
    let waiters = analysis.waiters.iter();
    let waits = waiters.map(|it| it.waits_for(&[WaitKind::Read, WaitKind::Memory]));
    let is_harmful = !analysis.window.has_blocked_tasks() || waits.sum::<f64>() >= SUFFERING;
    let cause = analysis.cause(Severity::warning_if(is_harmful));
    let mut cause = cause.confirmed_if(group.is_some() || waits_for_memory);
    cause.evidence = evidence(analysis);
    cause.victims = readers(analysis, members);
    if let Some(group) = &group {
        group.tell_memory(&mut cause);
    }
    cause.remedies.push(memory_users());
    let most = match names(&cause.victims, 0, "") {
        who if who.is_empty() => who,
        who => format!(", most by {who}"),
    };
    cause.sentence = format!(
        "Files are read again that were dropped from the page cache shortly before, {} in all{most}, because {} is {}too small for what is read.",
        units::format_throughput(mean),
        memory_text(group.as_ref()),
        cause.probably()
    );
    Ok(vec![cause])
}

/// Who reads most, of these processes if there are any, otherwise of those that were blocked: it reads what it
/// had before.
fn readers(analysis: &Analysis<'_>, members: Option<&[u32]>) -> Vec<Party> {
    let blocked = |pid: u32| {
        let mut waiters = analysis.blocked(0.0);
        waiters.find(|it| it.pid == pid).map(|it| it.blocked)
    };
    let may_be = |process: &&ProcessSummary| match members {
        Some(members) => members.contains(&process.pid),
        None => blocked(process.pid).is_some(),
    };
    let processes = analysis.processes.iter().filter(may_be);
    let mut readers: Vec<&ProcessSummary> = processes.filter(|it| it.read_bytes > 0.0).collect();
    readers.sort_list_by(|a, b| b.read_bytes.total_cmp(&a.read_bytes));
    let most = readers.into_iter().take(MAX_READERS);
    most.map(|it| it.party(blocked(it.pid))).collect()
}
