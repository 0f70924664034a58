//! fstrim and blkdiscard: the discards of the device, of at most what can be discarded.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::operation::{OperationKind, OperationProgress, OperationSample};
use super::sources::OperationSources;
use crate::drive::mounts::device_number;
use crate::probe::sample::ProcessSample;
use crate::probe::text::read_word;

/// Bytes of a sector in `/proc/diskstats` and `size`.
const SECTOR: u64 = 512;

/// The operations of all processes.
pub(super) fn operations(sources: &OperationSources<'_>) -> Vec<OperationSample> {
    let processes = sources.processes_named(&[b"fstrim", b"blkdiscard"]);
    processes.filter_map(|it| operation(sources, it)).collect()
}

/// The device or the mount point is named last.
fn operation(sources: &OperationSources<'_>, process: &ProcessSample) -> Option<OperationSample> {
    let arguments = sources.arguments(process);
    let subject = arguments.last()?.clone();
    let (device, at_most) = match process.identity.name.as_slice() {
        b"fstrim" => {
            let mut systems = sources.file_systems.iter();
            let system = systems.find(|system| system.is_at(&subject))?;
            (
                system.block_device,
                system.usage.map(|usage| usage.free_bytes),
            )
        }
        _ => {
            let path = Path::new(OsStr::from_bytes(&subject));
            let device = device_number(sources.roots, path)?;
            let is_part = arguments
                .iter()
                .any(|it| it.starts_with(b"-o") || it.starts_with(b"-l") || it.starts_with(b"--"));
            let size = format!("dev/block/{}:{}/size", device.0, device.1);
            let sectors = read_word(&sources.roots.sys.join(size));
            let bytes = sectors.and_then(|word| word.parse::<u64>().ok()?.checked_mul(SECTOR));
            (device, bytes.filter(|_| !is_part))
        }
    };
    let mut disks = sources.disks.iter();
    let disk = disks.find(|disk| disk.device_number == device)?;
    let bytes = disk.discards?.sectors.saturating_mul(SECTOR);
    Some(OperationSample {
        kind: OperationKind::Discard,
        subject,
        pid: Some(process.identity.pid),
        device: Some(device),
        progress: OperationProgress::Counter { bytes, at_most },
        limit_bytes_per_s: None,
    })
}
