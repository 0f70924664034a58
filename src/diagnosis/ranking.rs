//! Which cause is named first, and which are consequences of others.

use std::time::Duration;

use super::analysis::Analysis;
use super::cause::{Cause, Diagnosis};
use super::code::CauseCode;
use super::measurement::Quantity;
use super::rules::{Examination, examine_all};
use super::window::EvidenceWindow;
use crate::probe::process::numbers::ProcessNumbers;
use crate::stats::sorting::SortList as _;

/// For each cause the causes that it explains, on the same device or for the same process.
const EXPLAINS: &[(CauseCode, &[CauseCode])] = &[
    (
        CauseCode::HungIo,
        &[
            CauseCode::DeviceSlow,
            CauseCode::DirtyThrottled,
            CauseCode::SyncStorm,
        ],
    ),
    (
        CauseCode::DriveErrors,
        &[
            CauseCode::HungIo,
            CauseCode::DeviceSlow,
            CauseCode::DeviceSaturated,
            CauseCode::DirtyThrottled,
        ],
    ),
    (
        CauseCode::CgroupThrottled,
        &[
            CauseCode::DirtyThrottled,
            CauseCode::SyncStorm,
            CauseCode::DeviceSlow,
            CauseCode::DeviceSaturated,
            CauseCode::QueueStarved,
            CauseCode::HungIo,
        ],
    ),
    (
        CauseCode::RaidResync,
        &[
            CauseCode::DeviceSaturated,
            CauseCode::DeviceSlow,
            CauseCode::SyncStorm,
            CauseCode::DirtyThrottled,
        ],
    ),
    (
        CauseCode::Maintenance,
        &[
            CauseCode::DeviceSaturated,
            CauseCode::DirtyThrottled,
            CauseCode::SyncStorm,
        ],
    ),
    (
        CauseCode::SwapThrashing,
        &[
            CauseCode::CacheThrashing,
            CauseCode::DeviceSaturated,
            CauseCode::NotIo,
        ],
    ),
    (
        CauseCode::CacheThrashing,
        &[CauseCode::DeviceSaturated, CauseCode::NotIo],
    ),
    (
        CauseCode::SyncStorm,
        &[
            CauseCode::DeviceSaturated,
            CauseCode::DeviceSlow,
            CauseCode::QueueStarved,
        ],
    ),
    (
        CauseCode::DeviceSlow,
        &[
            CauseCode::DirtyThrottled,
            CauseCode::DeviceSaturated,
            CauseCode::QueueStarved,
        ],
    ),
    (CauseCode::DeviceSaturated, &[CauseCode::DirtyThrottled]),
];

/// Causes that concern the whole machine: they explain those of any device.
const MACHINE_WIDE: [CauseCode; 2] = [CauseCode::SwapThrashing, CauseCode::CacheThrashing];

/// Examines a window; `None` if it has no snapshot with rates.
#[must_use]
pub fn diagnose(window: &EvidenceWindow) -> Option<Diagnosis> {
    let analysis = Analysis::new(window)?;
    let mut diagnosis = Diagnosis {
        time: analysis.last().time.clone(),
        window: Duration::from_secs_f64(analysis.seconds),
        machine: [
            analysis.measure(Quantity::IoPressure, |host| host.pressure_some),
            analysis.measure(Quantity::CpuBusy, |host| host.cpu_busy),
            analysis.measure(Quantity::MemoryPressure, |host| host.memory_pressure_some),
        ]
        .into_iter()
        .flatten()
        .collect(),
        traced_requests: window.requests.as_ref().map(|requests| requests.requests),
        ..Diagnosis::default()
    };
    for (code, examination) in examine_all(&analysis) {
        match examination {
            Examination::Problem(causes) => diagnosis.causes.extend(causes),
            Examination::RuledOut(evidence) => diagnosis.ruled_out.push((code, evidence)),
            Examination::NotExamined(reason) => diagnosis.not_examined.push((code, reason)),
        }
    }
    if window.process_numbers == ProcessNumbers::Other {
        diagnosis.remove_process_remedies();
    }
    mark_consequences(&analysis, &mut diagnosis.causes);
    sort(&mut diagnosis.causes);
    Some(diagnosis)
}

/// Whether a cause explains another one.
fn explains(analysis: &Analysis<'_>, cause: &Cause, other: &Cause) -> bool {
    let listed = EXPLAINS
        .iter()
        .any(|(from, to)| *from == cause.code() && to.contains(&other.code()));
    if !listed || cause.severity < other.severity.min(super::code::Severity::Warning) {
        return false;
    }
    let same_device = match (&cause.device, &other.device) {
        (Some(own), Some(others)) => analysis.lies_on(own, others) || analysis.lies_on(others, own),
        _ => false,
    };
    let victims = |cause: &Cause| cause.victims.iter().map(|it| it.pid).collect::<Vec<_>>();
    let same_victim = victims(other)
        .iter()
        .any(|pid| victims(cause).contains(pid));
    same_device || same_victim || MACHINE_WIDE.contains(&cause.code())
}

fn mark_consequences(analysis: &Analysis<'_>, causes: &mut [Cause]) {
    for index in 0..causes.len() {
        let explained_by = causes
            .iter()
            .find(|cause| explains(analysis, cause, &causes[index]))
            .map(Cause::code);
        causes[index].consequence_of = explained_by;
    }
}

/// Causes before their consequences, the severe ones first, then in the order of the codes, then
/// where somebody waits longer.
fn sort(causes: &mut [Cause]) {
    let waiting = |cause: &Cause| cause.victims.first().and_then(|it| it.share).unwrap_or(0.0);
    causes.sort_list_by(|a, b| {
        let consequence = a.consequence_of.is_some().cmp(&b.consequence_of.is_some());
        let severity = b.severity.cmp(&a.severity);
        let code = a.code().cmp(&b.code());
        let waits = waiting(b).total_cmp(&waiting(a));
        consequence.then(severity).then(code).then(waits)
    });
}
