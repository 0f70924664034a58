//! A software RAID is rebuilt or checked.

use super::prelude::*;
use crate::drive::DriveKind;
use crate::probe::operations::OperationKind;
use crate::roots;
use crate::snapshot::view::TransferKind;

pub(super) use super::prelude::no_evidence as evidence;

/// What an array does besides I/O, which is listed as a transfer.
const ACTIONS: [(OperationKind, &str); 5] = [
    (OperationKind::Resync, "is resynchronized"),
    (OperationKind::Rebuild, "is rebuilt"),
    (OperationKind::Check, "is checked"),
    (OperationKind::Repair, "is repaired"),
    (OperationKind::Reshape, "is reshaped"),
];

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let arrays = analysis.devices.iter();
    let arrays = arrays.filter(|it| it.kind == Some(DriveKind::Raid));
    let causes = arrays.filter_map(|array| {
        let mut transfers = analysis.last.transfers.iter();
        let transfer = transfers.find(|it| it.command == array.name)?;
        let mut actions = ACTIONS.iter();
        let (_, action) =
            actions.find(|(kind, _)| transfer.kind == TransferKind::Operation(*kind))?;
        Some(cause(analysis, array, action))
    });
    Ok(causes.collect())
}

fn cause(analysis: &Analysis<'_>, array: &DeviceSummary, action: &str) -> Cause {
    let name = &array.name;
    let waiting = analysis.blocked_on(array, SUFFERING);
    let severity = Severity::warning_if(!waiting.is_empty());
    let mut cause = analysis.proven(severity).on(name);
    cause.prove(name, IOPS, array.iops);
    cause.prove(name, THROUGHPUT, array.throughput);
    suffer(&mut cause, &waiting);
    cause.remedies.extend(slow_resync(name));
    cause.sentence = if waiting.is_empty() {
        format!("{name} {action}; nobody waits for it.")
    } else {
        format!("{} waits on {name}, which {action}.", cause.victim(""))
    };
    cause
}

/// Limits the speed of a resynchronization, in KiB/s. The kernel ignores the maximum up to the minimum
/// (drivers/md/md.c, `md_do_sync`), which may be high: the minimum becomes the default of the kernel.
pub(in crate::why) fn slow_resync(device: &SafeText) -> Option<Remedy> {
    let files = shell::quote_word(roots::device_directory(device)? + "/md/sync_speed")?;
    let command = format!("echo 1000 > {files}_min && echo 10000 > {files}_max");
    let text = "at most 10 MB/s, until the word system is written into both files";
    Some(Remedy::command(command, text))
}
