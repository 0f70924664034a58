//! fsck, scrub and the like take a large part of a device.

use super::prelude::*;

pub(super) use super::prelude::no_evidence as evidence;

/// Programs whose purpose is maintenance of a file system or a device: names of their executables.
const PROGRAMS: &str = "fsck e2fsck fsck.ext2 fsck.ext3 fsck.ext4 fsck.xfs fsck.vfat fsck.fat \
    xfs_repair xfs_scrub xfs_fsr btrfs btrfsck badblocks updatedb updatedb.mlocate updatedb.plocate \
    e4defrag duperemove mdadm";
/// Share of the device's traffic from which the program matters.
const MIN_SHARE: f64 = 0.3;

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let overloaded = analysis.whole_devices().filter(|it| is_overloaded(it));
    let causes = overloaded.filter_map(|device| cause(analysis, device));
    Ok(causes.collect())
}

fn is_maintenance(party: &Party) -> bool {
    let program = party.program();
    PROGRAMS.split_whitespace().any(|it| it == program)
}

/// Several may run at once, each on a device of its own.
fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let name = &device.name;
    let blame = blame(analysis, device);
    let program = blame.culprits.iter().find(|it| is_maintenance(it))?;
    // Whoever has as many requests in flight waits for it all the same.
    let mut victims = [&blame.victims[..], &blame.competitors].concat();
    victims.retain(|it| it.pid != program.pid);
    if program.share < Some(MIN_SHARE) || victims.is_empty() {
        return None;
    }
    let cause = analysis.cause(Severity::Warning).on(name);
    let mut cause = cause.confirmed_if(blame.is_proven());
    prove_load(&mut cause, device);
    blame.prove(&mut cause);
    cause.remedies = against(program, device, analysis);
    cause.culprits = vec![program.clone()];
    cause.victims = victims;
    cause.sentence = format!(
        "{} waits on {name}{} because of {}, a maintenance program{}.",
        cause.victim("A process"),
        latency_text(device),
        program.identity(),
        blame.share_text()
    );
    Some(cause)
}
