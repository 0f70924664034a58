//! fsck, trim, scrub and the like take a large part of a device.

use super::prelude::*;

/// Programs whose purpose is maintenance of a file system or a device: names of their executables.
const PROGRAMS: &str = "fsck e2fsck fsck.ext2 fsck.ext3 fsck.ext4 fsck.xfs fsck.vfat fsck.fat \
    xfs_repair xfs_scrub xfs_fsr btrfs btrfsck badblocks updatedb updatedb.mlocate updatedb.plocate \
    e4defrag duperemove mdadm fstrim blkdiscard";
/// Those that discard.
const DISCARDING: &str = "fstrim blkdiscard";
/// Share of the device's traffic, or of the discards in the time of its requests, from which the
/// program matters.
const MIN_SHARE: f64 = 0.3;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let devices = analysis.whole_devices();
    let causes = devices
        .filter_map(|device| by_traffic(analysis, device).or_else(|| by_discards(analysis, device)))
        .collect();
    Examination::of(causes, Vec::new)
}

fn names_one_of(command: &str, programs: &str) -> bool {
    let program = program(command);
    programs.split_whitespace().any(|it| it == program)
}

/// A program that reads or writes a large part of the device. Several may run at once, each on a device of
/// its own.
fn by_traffic(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let blame = blame(analysis, device);
    let mut culprits = blame.culprits.iter();
    let program = culprits.find(|party| names_one_of(&party.command, PROGRAMS))?;
    // Whoever has as many requests in flight waits for it all the same.
    let mut victims = [&blame.victims[..], &blame.competitors].concat();
    victims.retain(|it| it.pid != program.pid);
    if !is_overloaded(device) || program.share? < MIN_SHARE || victims.is_empty() {
        return None;
    }
    let mut cause = cause(
        analysis,
        device,
        (program.clone(), victims),
        &blame.share_text(),
    );
    blame.prove(&mut cause);
    Some(cause)
}

/// A program that discards: no data are transferred, so that it has no share of the traffic, and a
/// drive that does not queue discards delays others without a long queue.
fn by_discards(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let mut waiting = analysis.blocked_on(device, SUFFERING);
    let mut programs = analysis.processes.iter();
    let program = programs.find(|it| {
        let waits = waiting.iter().any(|waiter| waiter.pid == it.pid);
        names_one_of(&it.command, DISCARDING) && (waits || analysis.is_on(&it.devices, device))
    })?;
    waiting.retain(|it| it.pid != program.pid);
    let share = device.discard_share;
    if !is_risen(device, device.latency()) || share < MIN_SHARE || waiting.is_empty() {
        return None;
    }
    let percent = units::format_percent(share);
    let text = format!("; {percent} of the time of all requests is that of discards");
    let parties = (program.party(Some(share)), parties(&waiting));
    let mut cause = cause(analysis, device, parties, &text);
    cause.prove(&device.name, DISCARD_SHARE, share);
    Some(cause)
}

fn cause(
    analysis: &Analysis<'_>,
    device: &DeviceSummary,
    (program, victims): (Party, Vec<Party>),
    share: &str,
) -> Cause {
    let name = &device.name;
    let mut cause = analysis.cause(Severity::Warning).on(name);
    prove_load(&mut cause, device);
    cause.remedies = against(&program, device, analysis);
    cause.victims = victims;
    cause.sentence = format!(
        "{} waits on {name}{} because of {}, a maintenance program{share}.",
        victim(&cause, "A process"),
        latency_text(device),
        culprit(&program)
    );
    cause.culprits = vec![program];
    cause
}
