//! fstrim and blkdiscard: the discards of the device, of at most what can be discarded.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::operation::{OperationKind, OperationProgress, OperationSample, SECTOR};
use super::sources::OperationSources;
use crate::drive::mounts::device_number;
use crate::probe::sample::ProcessSample;
use crate::probe::text::{read_start, read_word};

/// Arguments of a process that are read at most.
const MAX_ARGUMENT_BYTES: u64 = 64 << 10;

/// The discards that programs wait for.
pub(super) fn operations(sources: &OperationSources<'_>) -> Vec<OperationSample> {
    let processes = sources.processes_named(["fstrim", "blkdiscard"]);
    processes.filter_map(|it| operation(sources, it)).collect()
}

fn operation(sources: &OperationSources<'_>, process: &ProcessSample) -> Option<OperationSample> {
    // Those of a process that is idle so far are not in its sample.
    let path = format!("{}/cmdline", process.identity.pid);
    let text = read_start(&sources.roots.proc.join(path), MAX_ARGUMENT_BYTES)?;
    let arguments: Vec<&[u8]> = text.split(|byte| *byte == 0).skip(1).collect();
    let subject = arguments.iter().rfind(|argument| !argument.is_empty())?;
    let (device, at_most) = if process.identity.name == b"fstrim" {
        let mut systems = sources.file_systems.iter();
        let system = systems.find(|system| system.is_at(subject))?;
        let free = system.usage.map(|usage| usage.free_bytes);
        (system.block_device, free)
    } else {
        let device = device_number(sources.roots, Path::new(OsStr::from_bytes(subject)))?;
        let size = format!("dev/block/{}:{}/size", device.0, device.1);
        let sectors = read_word(&sources.roots.sys.join(size));
        let bytes = sectors.and_then(|word| word.parse::<u64>().ok()?.checked_mul(SECTOR));
        // An option may name a part of the device.
        let has_options = arguments.iter().any(|it| it.starts_with(b"-"));
        (device, bytes.filter(|_| !has_options))
    };
    let mut disks = sources.disks.iter();
    let disk = disks.find(|disk| disk.device_number == device)?;
    let bytes = disk.discards?.sectors.saturating_mul(SECTOR);
    let progress = OperationProgress::Counter { bytes, at_most };
    Some(OperationSample {
        pid: Some(process.identity.pid),
        device: Some(device),
        ..OperationSample::new(OperationKind::Discard, subject, progress)
    })
}
