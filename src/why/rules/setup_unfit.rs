//! A setting that does not suit a device in use.

use crate::files::safe_text::SafeText;
use crate::snapshot::advice::{ObservedLoad, tuning_advice};
use crate::why::analysis::{Analysis, DeviceSummary};
use crate::why::cause::{NotExamined, Remedy, Severity};
use crate::why::evidence::{Evidence, IOPS, THROUGHPUT};
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "setup-unfit",
    explains: &[],
    examine,
};

/// Requests per second from which a device is in use.
const IN_USE: f64 = 20.0;
/// Devices that are listed where nothing is unfit.
const MAX_LISTED: usize = 3;

fn examine(analysis: &Analysis<'_>) -> Examination {
    let last = analysis.last();
    if last.drives.is_empty() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    let devices = analysis.devices.iter();
    let in_use: Vec<&DeviceSummary> = devices.filter(|it| it.iops >= IN_USE).collect();
    let mut causes = Vec::new();
    for device in &in_use {
        let name = &device.name;
        let drive = last.drives.iter().find(|it| it.name == name.as_str());
        let Some(drive) = drive else { continue };
        let load = ObservedLoad {
            read_bytes_per_s: device.read_bytes,
            read_request_bytes: device.read_bytes / device.read_iops.max(1e-9),
        };
        for advice in tuning_advice(drive, &last.file_systems, Some(load)) {
            let reason = SafeText::from(&advice.reason);
            let mut cause = analysis
                .cause(RULE.code, Severity::Note)
                .confirmed()
                .on(name);
            cause.prove(name, IOPS, device.iops);
            cause.prove(name, THROUGHPUT, device.throughput);
            cause.remedies.push(Remedy::command(
                SafeText::from(&advice.command),
                "a setting of the drive, for the reason that diskscope devices prints",
            ));
            cause.headline = format!("{name}: {reason}");
            cause.sentence = format!("{name}: {reason}.");
            causes.push(cause);
        }
    }
    Examination::of(causes, || {
        let in_use = in_use.iter().take(MAX_LISTED);
        in_use
            .map(|device| Evidence::of(&device.name, IOPS, device.iops))
            .collect()
    })
}
