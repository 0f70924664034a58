//! A setting that does not suit a device in use.

use super::prelude::*;
use crate::snapshot::advice::{ObservedLoad, tuning_advice};

/// Requests per second from which a device is in use.
const IN_USE: f64 = 20.0;
/// Devices that are listed where nothing is unfit.
const MAX_LISTED: usize = 3;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    if analysis.last.drives.is_empty() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    let in_use = || analysis.devices.iter().filter(|it| it.iops >= IN_USE);
    let causes = in_use().flat_map(|device| causes(analysis, device));
    Examination::of(causes.collect(), || {
        let listed = in_use().take(MAX_LISTED);
        listed
            .map(|device| Evidence::of(&device.name, IOPS, device.iops))
            .collect()
    })
}

/// The advice that the drive of a device gets from `diskscope devices`.
fn causes(analysis: &Analysis<'_>, device: &DeviceSummary) -> Vec<Cause> {
    let name = &device.name;
    let mut drives = analysis.last.drives.iter();
    let Some(drive) = drives.find(|it| it.name == name.as_str()) else {
        return Vec::new();
    };
    let load = ObservedLoad {
        read_bytes_per_s: device.read_bytes,
        read_request_bytes: device.read_bytes / device.read_iops.max(1e-9),
    };
    let advice = tuning_advice(drive, &analysis.last.file_systems, Some(load));
    let causes = advice.into_iter().map(|advice| {
        let mut cause = analysis.cause(Severity::Note).confirmed().on(name);
        cause.prove(name, IOPS, device.iops);
        cause.prove(name, THROUGHPUT, device.throughput);
        cause.remedies.push(Remedy::command(
            SafeText::from(&advice.command),
            "a setting of the drive, for the reason that diskscope devices prints",
        ));
        cause.sentence = format!("{name}: {}.", SafeText::from(&advice.reason));
        cause
    });
    causes.collect()
}
