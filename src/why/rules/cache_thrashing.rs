//! Files are dropped from the page cache and read again shortly afterwards.

use std::collections::{BTreeMap, BTreeSet};

use crate::snapshot::view::HostView;
use crate::stats::sorting::SortList as _;
use crate::units;
use crate::why::analysis::Analysis;
use crate::why::cause::{NotExamined, Party, Severity};
use crate::why::evidence::{Evidence, MEMORY_PRESSURE, Metric, rate};
use crate::why::parties::{memory_of, names, who_waits};
use crate::why::remedies::memory_users;
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "cache-thrashing",
    explains: &["device-saturated", "not-io"],
    examine,
};

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
/// Readers that are named at most.
const MAX_READERS: usize = 2;

/// Bytes of files per second that were read again shortly after they had been dropped.
const REFAULTS: Metric = rate("refaults", "refaults of files", "/proc/vmstat");

fn examine(analysis: &Analysis<'_>) -> Examination {
    let refaults = |host: &HostView| host.refault_bytes_per_s;
    let Some(mean) = analysis.mean(refaults) else {
        let reason = NotExamined::NotReported("/proc/vmstat is not readable");
        return Examination::NotExamined(reason);
    };
    let mut evidence = vec![Evidence::of_machine(REFAULTS, mean)];
    let pressure = analysis.mean(|host| host.memory_pressure_some);
    evidence.extend(pressure.map(|it| Evidence::of_machine(MEMORY_PRESSURE, it)));
    let often = analysis.fraction_at_least(refaults, MIN_REFAULTS);
    let waits_for_memory = pressure.is_some_and(|it| it >= MIN_PRESSURE);
    let io = analysis.mean(|host| host.pressure_some);
    let waits_for_files = mean >= HEAVY_REFAULTS && io.is_some_and(|it| it >= HEAVY_IO_PRESSURE);
    if often.unwrap_or(0.0) < MIN_FRACTION || !(waits_for_memory || waits_for_files) {
        return Examination::RuledOut(evidence);
    }
    let mut cause = analysis.cause(RULE.code, Severity::Warning).confirmed();
    cause.evidence = evidence;
    cause.victims = readers(analysis);
    cause.remedies.push(memory_users());
    let most = names(&cause.victims, 0);
    let most = most.map_or_else(String::new, |who| format!(", most by {who}"));
    cause.sentence = format!(
        "Files are read again that were dropped from the page cache shortly before, {} in all{most}: {} is too small for what is read.",
        units::format_throughput(mean),
        memory_of(&cause.victims)
    );
    let who = who_waits(&cause);
    cause.headline = format!("{who}: the page cache is too small for the files that are read");
    Examination::Found(vec![cause])
}

/// Who reads most: it reads what it had before. A process that is gone at the end counts for the one that
/// started it: nobody can do anything about the process itself.
fn readers(analysis: &Analysis<'_>) -> Vec<Party> {
    let alive = analysis.last().processes.iter().filter(|it| !it.exited);
    let alive: BTreeSet<u32> = alive.map(|it| it.pid).collect();
    let share = 1.0 / analysis.window.snapshots.len().max(1) as f64;
    let mut sums: BTreeMap<u32, ReaderSum> = BTreeMap::new();
    for snapshot in &analysis.window.snapshots {
        let seconds = snapshot.interval.map_or(0.0, |it| it.as_secs_f64());
        let mut blocked: BTreeSet<u32> = BTreeSet::new();
        for view in snapshot.processes.iter().filter(|it| it.tid == it.pid) {
            let bytes = view.read_bytes_per_s.unwrap_or(0.0) * seconds;
            let mut named = [view.pid, view.parent_pid].into_iter();
            let named = named.find(|pid| *pid > 1 && alive.contains(pid));
            let Some(pid) = named.filter(|_| bytes > 0.0) else {
                continue;
            };
            let sum = sums.entry(pid).or_default();
            sum.bytes += bytes;
            if view.state == Some('D') && blocked.insert(pid) {
                sum.blocked += share;
            }
        }
    }
    let mut readers: Vec<(u32, ReaderSum)> = sums.into_iter().collect();
    readers.sort_list_by(|a, b| b.1.bytes.total_cmp(&a.1.bytes));
    let most = readers.into_iter().take(MAX_READERS);
    most.filter_map(|(pid, sum)| Some(analysis.process(pid)?.party(Some(sum.blocked))))
        .collect()
}

/// What a reader did in the window.
#[derive(Debug, Default)]
struct ReaderSum {
    /// Bytes read.
    bytes: f64,
    /// Fraction of the snapshots in which one of its processes was blocked.
    blocked: f64,
}
