//! fsck, trim, scrub and the like take a large part of a device.

use super::device_saturated::{is_overloaded, is_risen, load_evidence};
use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, DeviceSummary, ProcessSummary, Waiter};
use crate::diagnosis::blame::{SUFFERING, blame, parties, uses};
use crate::diagnosis::cause::{Cause, CauseDetail, Party};
use crate::diagnosis::code::Severity;
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::mitigation::against;

/// Programs whose purpose is maintenance of a file system or a device: names of their executables.
const PROGRAMS: [&str; 22] = [
    "fsck",
    "e2fsck",
    "fsck.ext2",
    "fsck.ext3",
    "fsck.ext4",
    "fsck.xfs",
    "fsck.vfat",
    "fsck.fat",
    "xfs_repair",
    "xfs_scrub",
    "xfs_fsr",
    "btrfs",
    "btrfsck",
    "fstrim",
    "blkdiscard",
    "badblocks",
    "updatedb",
    "updatedb.mlocate",
    "updatedb.plocate",
    "e4defrag",
    "duperemove",
    "mdadm",
];
/// Those that discard.
const DISCARDING: [&str; 2] = ["fstrim", "blkdiscard"];
/// Share of the device's traffic, or of the discards in the time of its requests, from which the
/// program matters.
const MIN_SHARE: f64 = 0.3;

/// Whether a process is a maintenance program, by the name of its executable.
fn is_maintenance(process: &ProcessSummary) -> bool {
    names_one_of(process, &PROGRAMS)
}

fn names_one_of(process: &ProcessSummary, programs: &[&str]) -> bool {
    let program = process.command.split(' ').next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    programs.contains(&name)
}

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let causes = analysis
        .whole_devices()
        .filter_map(|device| by_traffic(analysis, device).or_else(|| by_discards(analysis, device)))
        .collect();
    Examination::of(causes, Vec::new)
}

/// A program that reads or writes a large part of the device.
fn by_traffic(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    if !is_overloaded(device) {
        return None;
    }
    let blame = blame(analysis, device);
    // Several may run at once, each on a device of its own.
    let mut programs = analysis
        .processes
        .iter()
        .filter(|it| is_maintenance(it) && uses(analysis, it, device));
    let (program, share) = programs.find_map(|it| {
        let culprit = blame.culprits.iter().find(|one| one.pid == it.pid)?;
        Some((it, culprit.share?))
    })?;
    let victims: Vec<Party> = blame
        .victims
        .into_iter()
        .filter(|it| it.pid != program.pid)
        .collect();
    if share < MIN_SHARE || victims.is_empty() {
        return None;
    }
    let mut cause = cause(analysis, device, program, share);
    cause.certainty = blame.certainty;
    cause.evidence.extend(blame.evidence);
    cause.victims = victims;
    Some(cause)
}

/// A program that discards: no data are transferred, so that it has no share of the traffic, and a
/// drive that does not queue discards delays others without a long queue.
fn by_discards(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let on_device: Vec<&Waiter> = analysis.waiters_on(&device.name, SUFFERING).collect();
    let uses_it = |process: &ProcessSummary| {
        let waits = on_device.iter().any(|waiter| waiter.pid == process.pid);
        waits || uses(analysis, process, device)
    };
    let mut programs = analysis.processes.iter();
    let program = programs.find(|it| names_one_of(it, &DISCARDING) && uses_it(it))?;
    let others: Vec<&Waiter> = on_device
        .iter()
        .copied()
        .filter(|waiter| waiter.pid != program.pid)
        .collect();
    let is_delayed = is_risen(device, device.latency());
    if !is_delayed || device.discard_share < MIN_SHARE || others.is_empty() {
        return None;
    }
    let mut cause = cause(analysis, device, program, device.discard_share);
    let values = [
        (Quantity::DiscardShare, Some(device.discard_share)),
        (Quantity::DiscardAwait, device.discard_await),
    ];
    cause.evidence.extend(
        values
            .into_iter()
            .filter_map(|(quantity, value)| Some(Measurement::of(&device.name, quantity, value?))),
    );
    cause.victims = parties(&others);
    Some(cause)
}

fn cause(
    analysis: &Analysis<'_>,
    device: &DeviceSummary,
    program: &ProcessSummary,
    share: f64,
) -> Cause {
    let mut cause = Cause::new(
        CauseDetail::Maintenance,
        Severity::Warning,
        analysis.begin(),
    );
    cause.device = Some(device.name.clone());
    cause.evidence = load_evidence(device);
    let culprit = Party {
        pid: program.pid,
        command: program.command.clone(),
        unit: program.unit.clone(),
        share: Some(share),
    };
    cause.remedies = against(&culprit, device, analysis);
    cause.culprits = vec![culprit];
    cause
}
