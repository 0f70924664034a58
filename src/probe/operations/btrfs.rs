//! Scrub and balance of btrfs. Need root.

use std::fs::File;

use super::operation::{OperationKind, OperationProgress, OperationSample, WorkUnit};
use super::sources::OperationSources;
use crate::probe::btrfs;
use crate::probe::file_systems::MountedFileSystem;

/// Names of the processes that scrub and balance: a scrub runs in the program that started it, a
/// balance that goes on after a mount in a thread of the kernel.
const PROCESSES: [&str; 2] = ["btrfs", "btrfs-balance"];

/// The scrubs and balances of all mounted btrfs.
pub(super) fn operations(sources: &OperationSources<'_>) -> Vec<OperationSample> {
    let Some(process) = sources.processes_named(PROCESSES).next() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for system in sources.file_systems.iter().filter(|it| it.kind == "btrfs") {
        let directory = system.path.as_ref().map(File::open);
        if let Some(Ok(directory)) = directory {
            let operations = scrubs(system, &directory)
                .into_iter()
                .chain(balance(system, &directory));
            found.extend(operations.map(|operation| OperationSample {
                pid: Some(process.identity.pid),
                device: Some(system.block_device),
                ..operation
            }));
        }
    }
    found
}

/// A scrub runs on each device by itself.
fn scrubs(system: &MountedFileSystem, directory: &File) -> Vec<OperationSample> {
    let devices = btrfs::devices(directory).unwrap_or_default();
    let occupied = btrfs::occupied_bytes(directory).unwrap_or(0);
    let allocated = devices.iter().map(|device| device.used_bytes);
    let allocated = allocated.fold(0, u64::saturating_add);
    let scrub = |device: btrfs::BtrfsDevice| {
        let done = btrfs::scrubbed_bytes(directory, device.id).ok()?;
        let subject = [system.mount_point.as_bytes(), b" ", &device.path].concat();
        let total = device_share(occupied, device.used_bytes, allocated).max(done);
        let progress = OperationProgress::bytes(done, total);
        let scrub = OperationSample::new(OperationKind::Scrub, &subject, progress);
        Some(scrub)
    };
    devices.into_iter().filter_map(scrub).collect()
}

/// The occupied bytes on a device, if they are spread like its allocated ones.
fn device_share(occupied: u64, of_device: u64, allocated: u64) -> u64 {
    let share = u128::from(occupied) * u128::from(of_device) / u128::from(allocated.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

fn balance(system: &MountedFileSystem, directory: &File) -> Option<OperationSample> {
    let (done, total) = btrfs::balanced_chunks(directory).ok()?;
    let unit = WorkUnit::Chunks;
    let progress = OperationProgress::Done { done, total, unit };
    let subject = system.mount_point.as_bytes();
    Some(OperationSample::new(
        OperationKind::Balance,
        subject,
        progress,
    ))
}
