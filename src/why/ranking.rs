//! Which cause is named first, and which are consequences of others.

use std::time::Duration;

use super::analysis::{Analysis, DeviceSummary};
use super::cause::{Cause, Diagnosis, RuledOut, Severity, Unexamined};
use super::device_load::{busiest, busiest_evidence};
use super::evidence::{CPU_BUSY, Evidence, IO_PRESSURE, MEMORY_PRESSURE};
use super::rule::Examination;
use super::rules::RULES;
use super::window::EvidenceWindow;
use crate::probe::process::numbers::ProcessNumbers;
use crate::stats::sorting::SortList as _;
use crate::units;

/// Requests in flight from which a device is worth to be traced.
const MIN_QUEUE: f64 = 0.5;
/// Code of the notes about what limits work.
const AT_LIMIT: &str = "at-limit";

/// Examines a window; `None` if it has no snapshot with rates.
pub fn diagnose(window: &EvidenceWindow) -> Option<Diagnosis> {
    let analysis = Analysis::new(window)?;
    let busiest = busiest(&analysis);
    let mut diagnosis = Diagnosis {
        time: analysis.last.time.clone(),
        window: Duration::from_secs_f64(analysis.seconds),
        machine: machine_evidence(&analysis),
        busiest: busiest.map(busiest_text),
        had_queue: busiest.is_some_and(|device| device.queue >= MIN_QUEUE),
        traced_requests: window.requests.as_ref().map(|requests| requests.requests),
        ..Diagnosis::default()
    };
    for rule in &RULES {
        let code = rule.code;
        match (rule.examine)(&analysis) {
            Examination::Found(causes) => {
                let causes = causes.into_iter();
                diagnosis
                    .causes
                    .extend(causes.map(|cause| Cause { code, ..cause }));
            }
            Examination::RuledOut(evidence) => {
                diagnosis.ruled_out.push(RuledOut { code, evidence });
            }
            Examination::NotExamined(reason) => {
                diagnosis.not_examined.push(Unexamined { code, reason });
            }
        }
    }
    if window.process_numbers == ProcessNumbers::Other {
        diagnosis.remove_process_remedies();
    }
    let is_found = |causes: &[Cause]| causes.iter().any(|it| it.code == AT_LIMIT);
    let was_found = is_found(&diagnosis.causes);
    drop_explained(&mut diagnosis.causes);
    if was_found && !is_found(&diagnosis.causes) {
        // What limits the work is said by another cause: each code is in one of the three lists.
        let evidence = busiest_evidence(&analysis);
        let code = AT_LIMIT;
        diagnosis.ruled_out.push(RuledOut { code, evidence });
    }
    mark_consequences(&analysis, &mut diagnosis.causes);
    sort(&mut diagnosis.causes);
    Some(diagnosis)
}

/// Drops the notes about what limits a process or a device of which another cause tells.
fn drop_explained(causes: &mut Vec<Cause>) {
    let (notes, mut told): (Vec<Cause>, Vec<Cause>) = std::mem::take(causes)
        .into_iter()
        .partition(|it| it.code == AT_LIMIT);
    let pids = |cause: &Cause| {
        let parties = cause.victims.iter().chain(&cause.culprits);
        parties.map(|party| party.pid).collect::<Vec<u32>>()
    };
    let is_told = |note: &Cause, other: &Cause| {
        let same_device = other.device.is_some() && other.device == note.device;
        let known = pids(other);
        same_device && other.severity >= Severity::Warning
            || pids(note).iter().any(|pid| known.contains(pid))
    };
    let untold = notes
        .into_iter()
        .filter(|note| !told.iter().any(|other| is_told(note, other)));
    let untold: Vec<Cause> = untold.collect();
    told.extend(untold);
    *causes = told;
}

/// What the device with the most requests in flight does, in words.
fn busiest_text(device: &DeviceSummary) -> String {
    let rate = units::format_throughput(device.throughput);
    let name = &device.name;
    format!("nobody waits long for it, and the busiest device, {name}, moves {rate}")
}

fn machine_evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let values = [
        (IO_PRESSURE, analysis.mean(|host| host.pressure_some)),
        (CPU_BUSY, analysis.mean(|host| host.cpu_busy)),
        (
            MEMORY_PRESSURE,
            analysis.mean(|host| host.memory_pressure_some),
        ),
    ];
    let known = values.into_iter();
    known
        .filter_map(|(metric, value)| Some(Evidence::of_machine(metric, value?)))
        .collect()
}

/// Position of the rule of a cause.
fn rank(cause: &Cause) -> usize {
    let position = RULES.iter().position(|rule| rule.code == cause.code);
    position.unwrap_or(RULES.len())
}

/// Whether a cause explains another one: on the same device, for the same process, or where both are
/// of the machine as a whole.
fn explains(analysis: &Analysis<'_>, cause: &Cause, other: &Cause) -> bool {
    let rule = RULES.iter().find(|rule| rule.code == cause.code);
    let is_listed = rule.is_some_and(|rule| rule.explains(other.code));
    if !is_listed || cause.severity < other.severity.min(Severity::Warning) {
        return false;
    }
    let is_same_place = match (&cause.device, &other.device) {
        (Some(own), Some(others)) => analysis.lies_on(own, others) || analysis.lies_on(others, own),
        (None, None) => true,
        _ => false,
    };
    let suffers = |cause: &Cause, pid| cause.victims.iter().any(|it| it.pid == pid);
    is_same_place || other.victims.iter().any(|it| suffers(cause, it.pid))
}

fn mark_consequences(analysis: &Analysis<'_>, causes: &mut [Cause]) {
    for index in 0..causes.len() {
        let explained_by = causes
            .iter()
            .find(|cause| explains(analysis, cause, &causes[index]))
            .map(|cause| cause.code);
        causes[index].consequence_of = explained_by;
    }
}

/// Causes before their consequences, the severe ones first, then in the order of the rules, then
/// where somebody waits longer.
fn sort(causes: &mut [Cause]) {
    let waiting = |cause: &Cause| cause.victims.first().and_then(|it| it.share).unwrap_or(0.0);
    causes.sort_list_by(|a, b| {
        let consequence = a.consequence_of.is_some().cmp(&b.consequence_of.is_some());
        let severity = b.severity.cmp(&a.severity);
        let waits = waiting(b).total_cmp(&waiting(a));
        let rank = rank(a).cmp(&rank(b));
        consequence.then(severity).then(rank).then(waits)
    });
}
