//! Operations that a program performs or waits for: swapoff, fstrim, blkdiscard, fsck.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::operation::{OperationKind, OperationProgress, OperationSample};
use super::sources::OperationSources;
use super::{fsck, swap};
use crate::drive::mounts::device_number;
use crate::foreign_tree::ForeignTree;
use crate::probe::sample::ProcessSample;
use crate::probe::text::read_file;
use crate::roots::SysPaths;

/// Bytes of a sector in `/proc/diskstats`.
const SECTOR: u64 = 512;

/// What a program does, and how its progress is read.
type ProgramReader = fn(&OperationSources<'_>, &ProcessSample) -> Option<OperationSample>;

/// The programs, by the kernel's name for them.
const PROGRAMS: [(&[u8], ProgramReader); 9] = [
    (b"swapoff", swapoff),
    (b"fstrim", fstrim),
    (b"blkdiscard", blkdiscard),
    (b"e2fsck", check),
    (b"fsck.ext2", check),
    (b"fsck.ext3", check),
    (b"fsck.ext4", check),
    (b"xfs_repair", check),
    (b"fsck.fat", check),
];

/// The operations of all processes.
pub(super) fn operations(sources: &OperationSources<'_>) -> Vec<OperationSample> {
    sources
        .processes
        .iter()
        .filter_map(|process| {
            let name = process.identity.name.as_slice();
            let (_, read) = PROGRAMS.iter().find(|(program, _)| *program == name)?;
            read(sources, process)
        })
        .collect()
}

fn operation(
    process: &ProcessSample,
    kind: OperationKind,
    subject: Vec<u8>,
    device: Option<(u32, u32)>,
    progress: OperationProgress,
) -> OperationSample {
    OperationSample {
        kind,
        subject,
        pid: Some(process.identity.pid),
        device,
        progress,
        limit_bytes_per_s: None,
    }
}

/// The area that its arguments name; all areas with `-a` or another name, such as a label.
fn swapoff(sources: &OperationSources<'_>, process: &ProcessSample) -> Option<OperationSample> {
    let arguments = sources.arguments(process);
    let areas = swap::parse_swaps(&read_file(&sources.roots.proc.join("swaps"))?);
    let named: Vec<&swap::SwapUsage> = areas
        .iter()
        .filter(|area| arguments.contains(&area.path))
        .collect();
    let counted = if named.is_empty() {
        areas.iter().collect()
    } else {
        named
    };
    let used = counted.iter().map(|area| area.used_bytes);
    let left = used.fold(0, u64::saturating_add);
    let (subject, device) = match counted.as_slice() {
        [area] => (area.path.clone(), device_of(sources.roots, &area.path)),
        [] => return None,
        _ => (b"all swap areas".to_vec(), None),
    };
    let progress = OperationProgress::Remaining(left);
    Some(operation(
        process,
        OperationKind::Swapoff,
        subject,
        device,
        progress,
    ))
}

/// The discards of the device of the mount point that is named last; at most the free space.
fn fstrim(sources: &OperationSources<'_>, process: &ProcessSample) -> Option<OperationSample> {
    let mount_point = sources.arguments(process).pop()?;
    let mut systems = sources.file_systems.iter();
    let system = systems.find(|system| system.is_at(&mount_point))?;
    let progress = OperationProgress::Counter {
        bytes: discarded_bytes(sources, system.block_device)?,
        at_most: system.usage.map(|usage| usage.free_bytes),
    };
    let device = Some(system.block_device);
    Some(operation(
        process,
        OperationKind::Discard,
        mount_point,
        device,
        progress,
    ))
}

/// The discards of the device that is named last; at most all of it.
fn blkdiscard(sources: &OperationSources<'_>, process: &ProcessSample) -> Option<OperationSample> {
    let arguments = sources.arguments(process);
    let is_part = arguments
        .iter()
        .any(|it| it.starts_with(b"-o") || it.starts_with(b"-l") || it.starts_with(b"--"));
    let path = arguments.last()?.clone();
    let device = device_number(sources.roots, Path::new(OsStr::from_bytes(&path)))?;
    let sectors = super::super::text::read_word(
        &sources
            .roots
            .sys
            .join(format!("dev/block/{}:{}/size", device.0, device.1)),
    );
    let size = sectors.and_then(|word| word.parse::<u64>().ok()?.checked_mul(SECTOR));
    let progress = OperationProgress::Counter {
        bytes: discarded_bytes(sources, device)?,
        at_most: size.filter(|_| !is_part),
    };
    Some(operation(
        process,
        OperationKind::Discard,
        path,
        Some(device),
        progress,
    ))
}

fn discarded_bytes(sources: &OperationSources<'_>, device: (u32, u32)) -> Option<u64> {
    let mut disks = sources.disks.iter();
    let disk = disks.find(|disk| disk.device_number == device)?;
    Some(disk.discards?.sectors.saturating_mul(SECTOR))
}

/// What it reports itself, otherwise the bytes that it has read.
fn check(sources: &OperationSources<'_>, process: &ProcessSample) -> Option<OperationSample> {
    let arguments = sources.arguments(process);
    let path = arguments.last()?.clone();
    let report = fsck::progress_descriptor(&arguments).and_then(|descriptor| {
        let pid = process.identity.pid;
        let link = sources.roots.proc.join(format!("{pid}/fd/{descriptor}"));
        fsck::read_report(&link)
    });
    let progress = report.or_else(|| {
        Some(OperationProgress::Counter {
            bytes: process.io.value()?.read_bytes,
            at_most: None,
        })
    })?;
    let device = device_number(sources.roots, Path::new(OsStr::from_bytes(&path)));
    Some(operation(
        process,
        OperationKind::Fsck,
        path,
        device,
        progress,
    ))
}

/// Number of the device that a swap area is or is on.
fn device_of(roots: &SysPaths, path: &[u8]) -> Option<(u32, u32)> {
    let path = Path::new(OsStr::from_bytes(path));
    device_number(roots, path).or_else(|| {
        let found = ForeignTree::own().find(path).ok()?;
        Some(found.status().device())
    })
}
