//! A file system that is written has no space left.

use super::examination::Examination;
use crate::diagnosis::analysis::Analysis;
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::drive::MountedFileSystem;
use crate::safe_text::SafeText;

/// Available bytes below which a file system is full: writes fail or are about to fail,
const FULL_BYTES: f64 = 16e6;
/// as a fraction of its size: a small file system counts as full later.
const FULL_FRACTION: f64 = 0.01;
/// Fraction of the inodes in use from which they are used up.
const FULL_INODES: f64 = 0.995;
/// Fraction in use and available bytes from which a file system is nearly full: allocation becomes
/// slow and fragmented.
const NEARLY_FULL: f64 = 0.97;
const NEARLY_FULL_BYTES: f64 = 1e9;
/// File systems that are full by design.
const IMAGES: [&str; 4] = ["squashfs", "iso9660", "udf", "erofs"];

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let file_systems = &analysis.last().file_systems;
    if analysis.window.facts.is_none() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    let writable = || {
        file_systems
            .iter()
            .filter(|it| !it.has_option("ro") && !IMAGES.contains(&it.kind.as_str()))
    };
    let causes = writable().filter_map(|it| cause(analysis, it)).collect();
    Examination::of(causes, || {
        let used = writable().filter_map(|it| {
            let used = it.usage?.used_fraction()?;
            Some(Measurement::of(
                &SafeText::from(&it.mount_point),
                Quantity::UsedFraction,
                used,
            ))
        });
        let fullest = used.max_by(|a, b| a.value.total_cmp(&b.value));
        fullest.into_iter().collect()
    })
}

fn cause(analysis: &Analysis<'_>, file_system: &MountedFileSystem) -> Option<Cause> {
    let usage = file_system.usage?;
    let available = usage.available_bytes as f64;
    let used = usage.used_fraction()?;
    let inodes = usage.used_inode_fraction().unwrap_or(0.0);
    let no_inodes = inodes >= FULL_INODES;
    let full = available < FULL_BYTES.min(usage.size_bytes as f64 * FULL_FRACTION);
    let nearly = used >= NEARLY_FULL && available < NEARLY_FULL_BYTES;
    if !(full || no_inodes || nearly) {
        return None;
    }
    let mut drives = analysis.last().drives.iter();
    let drive = drives.find(|drive| drive.number == file_system.block_device);
    let device = drive.map(|drive| SafeText::from(&drive.name));
    let in_use = device.as_ref().is_some_and(|name| is_used(analysis, name));
    let severity = match (full || no_inodes, in_use) {
        (true, true) => Severity::Critical,
        (false, true) => Severity::Warning,
        // Nobody writes to it: it may be meant to be full.
        (_, false) => Severity::Note,
    };
    let mount_point = SafeText::from(&file_system.mount_point);
    let detail = CauseDetail::FileSystemFull {
        mount_point: mount_point.clone(),
        inodes: no_inodes && !full,
    };
    let mut cause = Cause::new(detail, severity, analysis.begin());
    cause.certainty = Certainty::Confirmed;
    cause.device = device;
    let fraction = if no_inodes && !full { inodes } else { used };
    cause.evidence = vec![
        Measurement::of(&mount_point, Quantity::AvailableBytes, available),
        Measurement::of(&mount_point, Quantity::UsedFraction, fraction),
    ];
    cause.remedies = vec![Remedy::ShowDiskUsage { mount_point }];
    Some(cause)
}

/// Whether a process has files open there, or writes reach it.
fn is_used(analysis: &Analysis<'_>, name: &SafeText) -> bool {
    let written = analysis
        .device(name)
        .is_some_and(|device| device.write_iops > 0.0);
    let open = analysis
        .processes
        .iter()
        .any(|process| process.devices.contains(name));
    written || open
}
