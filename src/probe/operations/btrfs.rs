//! Scrub and balance of btrfs. Need root.

use std::fs::File;

use super::operation::{OperationKind, OperationProgress, OperationSample, WorkUnit};
use super::sources::OperationSources;
use crate::probe::btrfs;
use crate::probe::file_systems::MountedFileSystem;

/// One of these runs during a scrub or a balance: the program, or the kernel's thread that resumes a
/// balance.
const PROCESSES: [&[u8]; 2] = [b"btrfs", b"btrfs-balance"];

/// The operations of all mounted file systems.
pub(super) fn operations(sources: &OperationSources<'_>) -> Vec<OperationSample> {
    let Some(process) = sources.processes_named(&PROCESSES).next() else {
        return Vec::new();
    };
    let pid = process.identity.pid;
    let systems = sources.file_systems.iter();
    systems
        .filter(|system| system.kind == "btrfs")
        .filter_map(|system| Some((system, File::open(system.path.as_ref()?).ok()?)))
        .flat_map(|(system, directory)| {
            let mut found = scrubs(system, &directory, pid);
            found.extend(balance(system, &directory, pid));
            found
        })
        .collect()
}

/// The scrub of each device.
fn scrubs(system: &MountedFileSystem, directory: &File, pid: u32) -> Vec<OperationSample> {
    let devices = btrfs::devices(directory).unwrap_or_default();
    let occupied = btrfs::occupied_bytes(directory).unwrap_or(0);
    let allocated = devices.iter().map(|device| device.used_bytes);
    let allocated = allocated.fold(0, u64::saturating_add);
    devices
        .into_iter()
        .filter_map(|device| {
            let done = btrfs::scrubbed_bytes(directory, device.id).ok()??;
            let subject = [system.mount_point.as_bytes(), b" ", &device.path].concat();
            let progress = OperationProgress::Done {
                done,
                total: device_share(occupied, device.used_bytes, allocated).max(done),
                unit: WorkUnit::Bytes,
            };
            Some(operation(
                OperationKind::Scrub,
                subject,
                pid,
                system,
                progress,
            ))
        })
        .collect()
}

/// The part of the occupied bytes that lies on a device, as its part of the allocated bytes.
fn device_share(occupied: u64, of_device: u64, allocated: u64) -> u64 {
    let share = u128::from(occupied) * u128::from(of_device) / u128::from(allocated.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

fn balance(system: &MountedFileSystem, directory: &File, pid: u32) -> Option<OperationSample> {
    let found = btrfs::balance_progress(directory).ok()??;
    let subject = system.mount_point.clone().into_bytes();
    let progress = OperationProgress::Done {
        done: found.completed,
        total: found.expected,
        unit: WorkUnit::Chunks,
    };
    Some(operation(
        OperationKind::Balance,
        subject,
        pid,
        system,
        progress,
    ))
}

fn operation(
    kind: OperationKind,
    subject: Vec<u8>,
    pid: u32,
    system: &MountedFileSystem,
    progress: OperationProgress,
) -> OperationSample {
    OperationSample {
        kind,
        subject,
        pid: Some(pid),
        device: Some(system.block_device),
        progress,
        limit_bytes_per_s: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupied_bytes_are_shared_by_the_devices() {
        assert_eq!(device_share(900, 100, 300), 300);
        assert_eq!(device_share(900, 300, 300), 900);
        assert_eq!(device_share(u64::MAX, 1, 0), u64::MAX);
    }
}
