//! fsck, trim, scrub and the like take a large part of a device.

use super::device_saturated::{is_saturated, load_evidence};
use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, ProcessSummary};
use crate::diagnosis::blame::{blame, uses};
use crate::diagnosis::cause::{Cause, CauseDetail, Party};
use crate::diagnosis::code::Severity;
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
/// Share of the device's traffic from which the program matters.
const MIN_SHARE: f64 = 0.3;

/// Whether a process is a maintenance program, by the name of its executable.
fn is_maintenance(process: &ProcessSummary) -> bool {
    let program = process.command.split(' ').next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    PROGRAMS.contains(&name)
}

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let causes = analysis
        .whole_devices()
        .filter(|device| is_saturated(device))
        .filter_map(|device| {
            let blame = blame(analysis, device);
            let mut programs = analysis.processes.iter();
            let program = programs.find(|it| is_maintenance(it) && uses(analysis, it, device))?;
            let share = blame
                .culprits
                .iter()
                .find(|it| it.pid == program.pid)?
                .share?;
            let victims: Vec<Party> = blame
                .victims
                .into_iter()
                .filter(|it| it.pid != program.pid)
                .collect();
            if share < MIN_SHARE || victims.is_empty() {
                return None;
            }
            let mut cause = Cause::new(
                CauseDetail::Maintenance,
                Severity::Warning,
                analysis.begin(),
            );
            cause.certainty = blame.certainty;
            cause.device = Some(device.name.clone());
            cause.evidence = load_evidence(device);
            cause.evidence.extend(blame.evidence);
            let culprit = Party {
                pid: program.pid,
                command: program.command.clone(),
                unit: program.unit.clone(),
                share: Some(share),
            };
            cause.remedies = against(&culprit, device, analysis);
            cause.culprits = vec![culprit];
            cause.victims = victims;
            Some(cause)
        })
        .collect();
    Examination::of(causes, Vec::new)
}
