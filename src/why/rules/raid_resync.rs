//! A software RAID is rebuilt or checked.

use crate::drive::DriveKind;
use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::probe::operations::OperationKind;
use crate::roots;
use crate::snapshot::view::TransferKind;
use crate::why::analysis::Analysis;
use crate::why::blame::{SUFFERING, parties};
use crate::why::cause::{Cause, Remedy, Severity};
use crate::why::evidence::{BLOCKED, THROUGHPUT, UTILIZATION};
use crate::why::parties::{victim, who_waits};
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "raid-resync",
    explains: &[
        "device-saturated",
        "device-slow",
        "sync-storm",
        "dirty-throttled",
    ],
    examine,
};

fn examine(analysis: &Analysis<'_>) -> Examination {
    let causes = active_arrays(analysis)
        .into_iter()
        .map(|(name, action)| cause(analysis, &name, action))
        .collect();
    Examination::of(causes, Vec::new)
}

/// The arrays that do something besides I/O. The snapshots of a recording list that as a transfer.
fn active_arrays(analysis: &Analysis<'_>) -> Vec<(SafeText, OperationKind)> {
    if let Some((_, facts)) = &analysis.window.facts {
        let devices = facts.devices.iter();
        return devices
            .filter_map(|it| Some((SafeText::from(&it.name), it.raid_action?)))
            .collect();
    }
    let is_array = |name: &SafeText| {
        let device = analysis.device(name);
        device.is_some_and(|device| device.kind == Some(DriveKind::Raid))
    };
    let transfers = analysis.last().transfers.iter();
    transfers
        .filter(|it| is_array(&it.command))
        .filter_map(|it| Some((it.command.clone(), raid_action(it.kind)?)))
        .collect()
}

fn raid_action(kind: TransferKind) -> Option<OperationKind> {
    Some(match kind {
        TransferKind::Resync => OperationKind::Resync,
        TransferKind::Rebuild => OperationKind::Rebuild,
        TransferKind::Check => OperationKind::Check,
        TransferKind::Repair => OperationKind::Repair,
        TransferKind::Reshape => OperationKind::Reshape,
        _ => return None,
    })
}

fn cause(analysis: &Analysis<'_>, name: &SafeText, action: OperationKind) -> Cause {
    let waiting: Vec<_> = analysis.waiters_on(name, SUFFERING).collect();
    let severity = if waiting.is_empty() {
        Severity::Note
    } else {
        Severity::Warning
    };
    let mut cause = analysis.cause(RULE.code, severity).confirmed().on(name);
    let members = analysis.device(name).map(|it| &it.underlying);
    let members = members.into_iter().flatten();
    for member in members.filter_map(|it| analysis.device(it)).take(2) {
        cause.prove(&member.name, THROUGHPUT, member.throughput);
        cause.prove(&member.name, UTILIZATION, member.busy);
    }
    if let Some(waiter) = waiting.first() {
        cause.prove(&waiter.command, BLOCKED, waiter.blocked);
    }
    cause.victims = parties(&waiting);
    cause.remedies.push(slow_resync(name));
    let action = match action {
        OperationKind::Resync => "is resynchronized",
        OperationKind::Rebuild => "is rebuilt",
        OperationKind::Check => "is checked",
        OperationKind::Repair => "is repaired",
        _ => "is reshaped",
    };
    cause.headline = format!("{}: {name} {action}", who_waits(&cause));
    cause.sentence = if waiting.is_empty() {
        format!("{name} {action}; nobody waits for it.")
    } else {
        format!("{} waits on {name}, which {action}.", victim(&cause, ""))
    };
    cause
}

/// Limits the speed of a resynchronization, in KiB/s. The kernel ignores the maximum up to the minimum
/// (drivers/md/md.c, `md_do_sync`), which may be high: the minimum becomes the default of the kernel.
pub(in crate::why) fn slow_resync(device: &SafeText) -> Remedy {
    let set = |setting: &str, speed: u32| {
        let file = roots::device_directory(device)? + "/md/" + setting;
        Some(format!("echo {speed} > {}", shell::quote_word(file)?))
    };
    let limits = set("sync_speed_min", 1000).zip(set("sync_speed_max", 10_000));
    Remedy::command_or(
        limits.map(|(min, max)| format!("{min} && {max}")),
        "at most 10 MB/s, until the word system is written into both files",
        format!("lower md/sync_speed_min and md/sync_speed_max of {device} in /sys/block"),
    )
}
