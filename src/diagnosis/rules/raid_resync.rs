//! A software RAID is rebuilt or checked.

use super::examination::Examination;
use crate::diagnosis::analysis::Analysis;
use crate::diagnosis::blame::{SUFFERING, parties};
use crate::diagnosis::cause::{Cause, CauseDetail};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::drive::DriveKind;
use crate::files::safe_text::SafeText;
use crate::probe::system::device_health::RaidAction;
use crate::snapshot::view::TransferKind;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let causes = active_arrays(analysis)
        .into_iter()
        .map(|(name, action)| cause(analysis, &name, action))
        .collect();
    Examination::of(causes, Vec::new)
}

/// The arrays that do something besides I/O. The snapshots of a recording list that as a transfer.
fn active_arrays(analysis: &Analysis<'_>) -> Vec<(SafeText, RaidAction)> {
    let Some((_, facts)) = &analysis.window.facts else {
        let transfers = analysis.last().transfers.iter();
        let is_array = |name: &SafeText| {
            let device = analysis.device(name);
            device.is_some_and(|device| device.kind == Some(DriveKind::Raid))
        };
        return transfers
            .filter(|it| is_array(&it.command))
            .filter_map(|it| Some((it.command.clone(), raid_action(it.kind)?)))
            .collect();
    };
    let devices = facts.devices.iter();
    devices
        .filter_map(|it| Some((SafeText::from(&it.name), it.raid_action?)))
        .collect()
}

fn raid_action(kind: TransferKind) -> Option<RaidAction> {
    Some(match kind {
        TransferKind::Resync => RaidAction::Resync,
        TransferKind::Rebuild => RaidAction::Recover,
        TransferKind::Check => RaidAction::Check,
        TransferKind::Repair => RaidAction::Repair,
        TransferKind::Reshape => RaidAction::Reshape,
        _ => return None,
    })
}

fn cause(analysis: &Analysis<'_>, name: &SafeText, action: RaidAction) -> Cause {
    let waiting: Vec<_> = analysis.waiters_on(name, SUFFERING).collect();
    let severity = if waiting.is_empty() {
        Severity::Note
    } else {
        Severity::Warning
    };
    let detail = CauseDetail::RaidResync { action };
    let mut cause = Cause::new(detail, severity, analysis.begin());
    cause.certainty = Certainty::Confirmed;
    let members = analysis
        .device(name)
        .map(|it| it.underlying.clone())
        .unwrap_or_default();
    for member in members
        .iter()
        .filter_map(|member| analysis.device(member))
        .take(2)
    {
        cause.evidence.push(Measurement::of(
            &member.name,
            Quantity::Throughput,
            member.throughput,
        ));
        cause.evidence.push(Measurement::of(
            &member.name,
            Quantity::Utilization,
            member.busy,
        ));
    }
    if let Some(waiter) = waiting.first() {
        cause.evidence.push(Measurement::of(
            &waiter.command,
            Quantity::BlockedTime,
            waiter.blocked,
        ));
    }
    cause.victims = parties(&waiting);
    cause.remedies = vec![Remedy::SlowResync {
        device: name.clone(),
    }];
    cause.device = Some(name.clone());
    cause
}
