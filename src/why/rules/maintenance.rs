//! fsck, trim, scrub and the like take a large part of a device.

use crate::units;
use crate::why::analysis::{Analysis, DeviceSummary, ProcessSummary, Waiter};
use crate::why::blame::{SUFFERING, blame, parties, uses};
use crate::why::cause::{Cause, Party, Severity};
use crate::why::device_load::{is_overloaded, is_risen, latency_text, prove_load};
use crate::why::evidence::{DISKSTATS, Metric, fraction, ns};
use crate::why::parties::{by_whom, culprit, victim, who_waits};
use crate::why::remedies::against;
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "maintenance",
    explains: &["device-saturated", "dirty-throttled", "sync-storm"],
    examine,
};

/// Programs whose purpose is maintenance of a file system or a device: names of their executables.
const PROGRAMS: &str = "fsck e2fsck fsck.ext2 fsck.ext3 fsck.ext4 fsck.xfs fsck.vfat fsck.fat \
    xfs_repair xfs_scrub xfs_fsr btrfs btrfsck badblocks updatedb updatedb.mlocate updatedb.plocate \
    e4defrag duperemove mdadm";
/// Those that discard.
const DISCARDING: &str = "fstrim blkdiscard";
/// Share of the device's traffic, or of the discards in the time of its requests, from which the
/// program matters.
const MIN_SHARE: f64 = 0.3;
/// Share of the discards in the time that all requests take together, and their mean latency.
const DISCARD_SHARE: Metric = fraction("discard_share", "share of the discards", DISKSTATS);
const DISCARD_AWAIT: Metric = ns("d_await", "d_await", DISKSTATS);

fn names_one_of(process: &ProcessSummary, programs: &str) -> bool {
    let program = process.command.split(' ').next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    programs.split_whitespace().any(|it| it == name)
}

fn examine(analysis: &Analysis<'_>) -> Examination {
    let devices = analysis.whole_devices();
    let causes = devices
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
    let mut culprits = blame.culprits.iter();
    let program = culprits.find(|party| {
        analysis
            .process(party.pid)
            .is_some_and(|it| names_one_of(it, PROGRAMS) || names_one_of(it, DISCARDING))
    })?;
    let mut victims = blame.victims.clone();
    victims.retain(|it| it.pid != program.pid);
    if program.share? < MIN_SHARE || victims.is_empty() {
        return None;
    }
    let mut cause = cause(analysis, device, program.clone());
    cause.certainty = blame.certainty;
    blame.prove(&mut cause);
    cause.victims = victims;
    tell(&mut cause, device, &blame.share_text());
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
    let program = programs.find(|it| names_one_of(it, DISCARDING) && uses_it(it))?;
    let others = on_device.iter().copied();
    let others: Vec<&Waiter> = others.filter(|it| it.pid != program.pid).collect();
    let share = device.discard_share;
    if !is_risen(device, device.latency()) || share < MIN_SHARE || others.is_empty() {
        return None;
    }
    let mut cause = cause(analysis, device, program.party(Some(share)));
    cause.prove(&device.name, DISCARD_SHARE, share);
    cause.prove(&device.name, DISCARD_AWAIT, device.discard_await);
    cause.victims = parties(&others);
    let share = units::format_percent(share);
    tell(
        &mut cause,
        device,
        &format!("; {share} of the time of all requests is that of discards"),
    );
    Some(cause)
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary, program: Party) -> Cause {
    let mut cause = analysis
        .cause(RULE.code, Severity::Warning)
        .on(&device.name);
    prove_load(&mut cause, device);
    cause.remedies = against(&program, device, analysis);
    cause.culprits = vec![program];
    cause
}

fn tell(cause: &mut Cause, device: &DeviceSummary, share: &str) {
    let (name, latency) = (&device.name, latency_text(device));
    let program = cause.culprits.first().map(culprit).unwrap_or_default();
    let who = victim(cause, "A process");
    cause.sentence = format!(
        "{who} waits on {name}{latency} because of {program}, a maintenance program{share}."
    );
    let (who, by) = (who_waits(cause), by_whom(cause));
    cause.headline = format!("{who}{latency} on {name}: maintenance{by}");
}
