//! A setting that does not suit a device in use.

use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, DeviceSummary};
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::files::safe_text::SafeText;
use crate::snapshot::advice::{ObservedLoad, tuning_advice};

/// Requests per second from which a device is in use.
const IN_USE: f64 = 20.0;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let last = analysis.last();
    if last.drives.is_empty() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    let in_use: Vec<&DeviceSummary> = analysis
        .devices
        .iter()
        .filter(|it| it.iops >= IN_USE)
        .collect();
    let mut causes = Vec::new();
    for device in &in_use {
        let drive = last
            .drives
            .iter()
            .find(|drive| drive.name == device.name.as_str());
        let Some(drive) = drive else { continue };
        let load = ObservedLoad {
            read_bytes_per_s: device.read_bytes,
            read_request_bytes: device.read_bytes / device.read_iops.max(1e-9),
        };
        for advice in tuning_advice(drive, &last.file_systems, Some(load)) {
            let detail = CauseDetail::SetupUnfit {
                reason: SafeText::from(&advice.reason),
            };
            let mut cause = Cause::new(detail, Severity::Note, analysis.begin());
            cause.certainty = Certainty::Confirmed;
            cause.device = Some(device.name.clone());
            cause.evidence = vec![
                Measurement::of(&device.name, Quantity::Iops, device.iops),
                Measurement::of(&device.name, Quantity::Throughput, device.throughput),
            ];
            cause.remedies = vec![Remedy::Command {
                line: SafeText::from(&advice.command),
            }];
            causes.push(cause);
        }
    }
    Examination::of(causes, || {
        in_use
            .iter()
            .map(|device| Measurement::of(&device.name, Quantity::Iops, device.iops))
            .take(3)
            .collect()
    })
}
