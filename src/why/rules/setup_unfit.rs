//! A setting that does not suit a device in use.

use super::prelude::*;
use crate::snapshot::advice::{ObservedLoad, tuning_advice};

pub(super) use super::prelude::busiest_evidence as evidence;

/// Requests per second from which a device is in use.
const IN_USE: f64 = 20.0;

/// The advice that the drives in use get from `diskscope devices`.
pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    if analysis.facts().is_none() {
        return Err(NotExamined::NotRecorded);
    }
    let mut causes = Vec::new();
    for device in analysis.devices.iter().filter(|it| it.iops >= IN_USE) {
        let load = ObservedLoad {
            read_bytes_per_s: device.read_bytes,
            read_request_bytes: device.read_bytes / device.read_iops.max(1e-9),
        };
        let name = &device.name;
        let drive = analysis.drive(name).into_iter();
        let advice =
            drive.flat_map(|it| tuning_advice(it, &analysis.last.file_systems, Some(load)));
        causes.extend(advice.map(|advice| {
            let mut cause = analysis.proven(Severity::Note).on(name);
            cause.prove(name, IOPS, device.iops);
            cause.prove(name, THROUGHPUT, device.throughput);
            cause.remedies.push(Remedy::command(
                SafeText::from(&advice.command),
                "a setting of the drive, for the reason that diskscope devices prints",
            ));
            cause.sentence = format!("{name}: {}.", SafeText::from(&advice.reason));
            cause
        }));
    }
    Ok(causes)
}
