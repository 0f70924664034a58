//! The processors or the memory are the limit, not I/O.

use std::collections::BTreeMap;

use crate::files::safe_text::SafeText;
use crate::stats::sorting::SortList as _;
use crate::units;
use crate::why::analysis::Analysis;
use crate::why::cause::{NotExamined, Party, Remedy, Severity};
use crate::why::evidence::{CPU_BUSY, Evidence, IO_PRESSURE, MEMORY_PRESSURE, Metric, fraction};
use crate::why::parties::name;
use crate::why::remedies::memory_users;
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "not-io",
    explains: &[],
    examine,
};

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

/// Fraction of time in which at least one task waited for a processor.
const CPU_PRESSURE: Metric = fraction("cpu_pressure_some", "PSI cpu some", "/proc/pressure/cpu");

fn examine(analysis: &Analysis<'_>) -> Examination {
    let Some(busy) = analysis.mean(|host| host.cpu_busy) else {
        let reason = NotExamined::NotReported("the kernel does not report it");
        return Examination::NotExamined(reason);
    };
    let processors = analysis.mean(|host| host.cpu_pressure_some);
    let memory = analysis.mean(|host| host.memory_pressure_some);
    let io = analysis.mean(|host| host.pressure_some);
    let values = [
        (CPU_BUSY, Some(busy)),
        (CPU_PRESSURE, processors),
        (IO_PRESSURE, io),
        (MEMORY_PRESSURE, memory),
    ];
    let known = values.into_iter();
    let evidence = known
        .filter_map(|(metric, value)| Some(Evidence::of_machine(metric, value?)))
        .collect();
    let little_io = io.is_none_or(|io| io < LITTLE_IO);
    let by_processors = busy >= BUSY && processors.is_none_or(|share| share >= WAITING);
    let by_memory = memory.is_some_and(|share| share >= MEMORY);
    if !little_io || !(by_processors || by_memory) {
        return Examination::RuledOut(evidence);
    }
    let mut cause = analysis.cause(RULE.code, Severity::Warning).confirmed();
    cause.evidence = evidence;
    if by_processors {
        cause.culprits = processor_users(analysis);
        let most = cause.culprits.first().map(|party| {
            let share = units::format_percent(party.share.unwrap_or(0.0));
            format!("; {} uses {share} of what is used", name(party))
        });
        cause.headline = format!(
            "the processors are the limit, not I/O: {} busy{}",
            units::format_percent(busy),
            most.unwrap_or_default()
        );
        cause.remedies.push(processor_users_command());
    } else {
        cause.headline = format!(
            "the memory is the limit, not I/O: tasks wait for it {} of the time",
            units::format_percent(memory.unwrap_or(0.0))
        );
        cause.remedies.push(memory_users());
    }
    cause.sentence = format!("T{}.", &cause.headline[1..]);
    Examination::Found(vec![cause])
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
    let scans = &analysis.window.scans;
    let (Some(first), Some(last)) = (scans.first(), scans.last()) else {
        return Vec::new();
    };
    let used: BTreeMap<u32, u64> = last
        .processes
        .iter()
        .map(|(pid, process)| {
            let before = first.processes.get(pid);
            let before = before.filter(|it| it.start_ticks == process.start_ticks);
            let ticks = before.map_or(0, |it| it.cpu_ticks);
            (*pid, process.cpu_ticks.saturating_sub(ticks))
        })
        .collect();
    let total: u64 = used.values().sum();
    let mut users: Vec<(u32, f64)> = used
        .iter()
        .map(|(pid, ticks)| (*pid, *ticks as f64 / total.max(1) as f64))
        .filter(|(_, share)| *share >= MIN_SHARE)
        .collect();
    users.sort_list_by(|a, b| b.1.total_cmp(&a.1));
    users
        .into_iter()
        .take(MAX_PARTIES)
        .map(|(pid, share)| {
            let process = analysis.process(pid);
            Party {
                pid,
                command: process.map_or_else(
                    || SafeText::from_bytes(&last.processes[&pid].name),
                    |process| process.command.clone(),
                ),
                unit: process.and_then(|process| process.unit.clone()),
                share: Some(share),
            }
        })
        .collect()
}
