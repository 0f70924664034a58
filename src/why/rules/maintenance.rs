//! fsck, trim, scrub and the like take a large part of a device.

use super::prelude::*;

pub(super) use super::prelude::no_evidence as evidence;

/// Programs whose purpose is maintenance of a file system or a device: names of their executables.
const PROGRAMS: &str = "fsck e2fsck fsck.ext2 fsck.ext3 fsck.ext4 fsck.xfs fsck.vfat fsck.fat \
    xfs_repair xfs_scrub xfs_fsr btrfs btrfsck badblocks updatedb updatedb.mlocate updatedb.plocate \
    e4defrag duperemove mdadm fstrim blkdiscard";
/// Those that discard: no data are transferred, so that they have no share of the traffic, and a drive that
/// does not queue discards delays others without a long queue.
const DISCARDING: &str = "fstrim blkdiscard";
/// Share of the device's traffic, or of the discards in the time of its requests, from which the
/// program matters.
const MIN_SHARE: f64 = 0.3;

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let devices = analysis.whole_devices();
    Ok(devices
        .filter_map(|device| cause(analysis, device))
        .collect())
}

fn names_one_of(party: &Party, programs: &str) -> bool {
    let program = party.program();
    programs.split_whitespace().any(|it| it == program)
}

/// The program that discards, with the share of the discards in the time of all requests.
fn discarding(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Party> {
    let share = device.discard_share;
    let waiting = analysis.blocked_on(device, SUFFERING);
    let uses_it = |it: &&ProcessSummary| {
        let waits = waiting.iter().any(|waiter| waiter.pid == it.pid);
        waits || analysis.is_on(&it.devices, device)
    };
    let users = analysis.processes.iter().filter(uses_it);
    let mut users = users.map(|it| it.party(Some(share)));
    let program = users.find(|it| names_one_of(it, DISCARDING));
    program.filter(|_| is_risen(device, device.latency()))
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let name = &device.name;
    let blame = blame(analysis, device);
    let mut culprits = blame.culprits.iter().filter(|_| is_overloaded(device));
    let by_traffic = culprits.find(|party| names_one_of(party, PROGRAMS));
    let program = match by_traffic.filter(|it| it.share >= Some(MIN_SHARE)) {
        Some(party) => party.clone(),
        None => discarding(analysis, device)?,
    };
    // Whoever has as many requests in flight waits for it all the same.
    let mut victims = [&blame.victims[..], &blame.competitors].concat();
    victims.retain(|it| it.pid != program.pid);
    if program.share < Some(MIN_SHARE) || victims.is_empty() {
        return None;
    }
    let cause = analysis.cause(Severity::Warning).on(name);
    let mut cause = cause.confirmed_if(by_traffic.is_some() && blame.is_proven());
    prove_load(&mut cause, device);
    let share = if by_traffic.is_some() {
        blame.prove(&mut cause);
        blame.share_text()
    } else {
        cause.prove(name, DISCARD_SHARE, device.discard_share);
        let percent = units::format_percent(device.discard_share);
        format!("; {percent} of the time of all requests is that of discards")
    };
    cause.remedies = against(&program, device, analysis);
    cause.victims = victims;
    cause.sentence = format!(
        "{} waits on {name}{} because of {}, a maintenance program{share}.",
        cause.victim("A process"),
        latency_text(device),
        program.identity()
    );
    cause.culprits = vec![program];
    Some(cause)
}
