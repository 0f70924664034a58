//! The processors or the memory are the limit, not I/O.

use std::collections::BTreeMap;

use super::examination::Examination;
use crate::diagnosis::analysis::Analysis;
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined, Party};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::files::safe_text::SafeText;
use crate::stats::sorting::SortList as _;

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

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let Some(busy) = analysis.mean(|host| host.cpu_busy) else {
        return Examination::NotExamined(NotExamined::NotReported);
    };
    let processors = analysis.mean(|host| host.cpu_pressure_some);
    let memory = analysis.mean(|host| host.memory_pressure_some);
    let io = analysis.mean(|host| host.pressure_some);
    let mut evidence = vec![Measurement::of_machine(Quantity::CpuBusy, busy)];
    let values = [
        (Quantity::CpuPressure, processors),
        (Quantity::IoPressure, io),
        (Quantity::MemoryPressure, memory),
    ];
    evidence.extend(
        values
            .into_iter()
            .filter_map(|(quantity, value)| Some(Measurement::of_machine(quantity, value?))),
    );
    let little_io = io.is_none_or(|io| io < LITTLE_IO);
    let by_processors = busy >= BUSY && processors.is_none_or(|share| share >= WAITING);
    let by_memory = memory.is_some_and(|share| share >= MEMORY);
    if !little_io || !(by_processors || by_memory) {
        return Examination::RuledOut(evidence);
    }
    let detail = CauseDetail::NotIo {
        memory: !by_processors,
    };
    let mut cause = Cause::new(detail, Severity::Warning, analysis.begin());
    cause.certainty = Certainty::Confirmed;
    cause.evidence = evidence;
    cause.culprits = match by_processors {
        true => processor_users(analysis),
        false => Vec::new(),
    };
    cause.remedies = vec![match by_processors {
        true => Remedy::ShowProcessorUsers,
        false => Remedy::ShowMemoryUsers,
    }];
    Examination::Problem(vec![cause])
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
